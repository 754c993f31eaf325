/* SPDX-License-Identifier: MIT */
/* The scheduler inside the machine: every CPU runs something, spreading, many sleepers. */
#include "arch/arch.h"
#include "kernel/selftest.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "kernel/wait.h"

static _Atomic uint64_t seen[MAX_CPUS / 64];

static void see_crew(unsigned index)
{
	uint64_t mask[MAX_CPUS / 64] = { 0 };

	mask[index / 64] = 1ULL << (index % 64);
	SELFTEST_CHECK(thread_set_affinity(current, mask, ARRAY_SIZE(mask)) == 0);
	SELFTEST_CHECK(cpu_id() == index);
	atomic_fetch_or(&seen[index / 64], mask[index / 64]);
}

SELFTEST(sched_every_cpu, 10000)
{
	selftest_threads(nr_cpus, see_crew);
	for_each_cpu(cpu)
		SELFTEST_CHECK(atomic_load(&seen[cpu / 64]) >> (cpu % 64) & 1);
}

/* Threads that do not block: each gets a CPU of its own if there are enough. */
static _Atomic uint64_t spread[MAX_CPUS / 64];

static void spread_crew(unsigned index)
{
	uint64_t until = clock_ns() + 300 * NSEC_PER_MSEC;

	(void)index;
	while (clock_ns() < until)
		cond_resched();
	atomic_fetch_or(&spread[cpu_id() / 64], 1ULL << (cpu_id() % 64));
}

SELFTEST(sched_spread, 10000)
{
	unsigned n = 0, want = min(nr_cpus, 8u);

	for (unsigned w = 0; w < ARRAY_SIZE(spread); w++)
		atomic_store(&spread[w], 0);
	selftest_threads(want, spread_crew);
	for (unsigned w = 0; w < ARRAY_SIZE(spread); w++)
		n += (unsigned)__builtin_popcountll(atomic_load(&spread[w]));
	SELFTEST_CHECK(n + 1 >= want); /* the one that waits may have been on the last */
}

/* A pot that everybody takes from and gives to, through wait queues. */
static struct wait_queue pot_wait = { .lock = SPINLOCK_INIT("selftest_pot"),
				      .entries = LIST_HEAD_INIT(pot_wait.entries) };
static _Atomic int pot;
static _Atomic unsigned taken;

static bool take(void)
{
	int n = atomic_load_explicit(&pot, memory_order_acquire);

	while (n > 0)
		if (atomic_compare_exchange_weak(&pot, &n, n - 1))
			return true;
	return false;
}

static void pot_crew(unsigned index)
{
	for (unsigned i = 0; i < 200; i++) {
		if (index & 1) {
			atomic_fetch_add(&pot, 1);
			if (i & 1)
				wake_up_one(&pot_wait);
			else
				wake_up(&pot_wait);
			if (i % 16 == 0)
				yield_cpu();
		} else {
			if (wait_event_full(&pot_wait, take(), THREAD_UNINTERRUPTIBLE, UINT64_MAX,
					    i % 2) == 0)
				atomic_fetch_add(&taken, 1);
		}
	}
}

SELFTEST(sched_wait_queue, 20000)
{
	unsigned n = min(nr_cpus * 4, 64u);

	atomic_store(&pot, 0);
	atomic_store(&taken, 0);
	selftest_threads(n, pot_crew);
	SELFTEST_CHECK(atomic_load(&taken) == n / 2 * 200 && atomic_load(&pot) == 0);
}

/*
 * A thread that is to move elsewhere, woken by one that would have it here: it must not be picked
 * and put back for ever.  Both start on one CPU, so that the sleeper is off it when it is woken.
 */
static struct wait_queue near_wait = { .lock = SPINLOCK_INIT("selftest_near"),
				       .entries = LIST_HEAD_INIT(near_wait.entries) };
static struct wait_queue near_done = { .lock = SPINLOCK_INIT("selftest_near_done"),
				       .entries = LIST_HEAD_INIT(near_done.entries) };
static _Atomic(struct thread *) near_sleeper;
static _Atomic bool near_go, near_ran;

static void near_crew(unsigned index)
{
	uint64_t first[MAX_CPUS / 64] = { 1 }, all[MAX_CPUS / 64];
	struct thread *t;

	memset(all, 0xff, sizeof(all));
	SELFTEST_CHECK(thread_set_affinity(current, first, ARRAY_SIZE(first)) == 0);
	if (index) {
		atomic_store(&near_sleeper, current);
		wait_event(&near_wait, atomic_load(&near_go));
		atomic_store(&near_ran, true);
		wake_up(&near_done);
		return;
	}
	while (!(t = atomic_load(&near_sleeper)) || !(atomic_load(&t->state) & THREAD_PARKED))
		yield_cpu();
	SELFTEST_CHECK(thread_set_affinity(t, all, ARRAY_SIZE(all)) == 0);
	t->pull = 1 % nr_cpus + 1;
	current->wakes_near = true;
	atomic_store(&near_go, true);
	wake_up(&near_wait);
	wait_event(&near_done, atomic_load(&near_ran));
	current->wakes_near = false;
}

SELFTEST(sched_near_pull, 10000)
{
	for (unsigned i = 0; i < 20; i++) {
		atomic_store(&near_sleeper, NULL);
		atomic_store(&near_go, false);
		atomic_store(&near_ran, false);
		selftest_threads(2, near_crew);
		SELFTEST_CHECK(atomic_load(&near_ran));
	}
}
