/* SPDX-License-Identifier: MIT */
/* Remote calls and work queues. */
#include "arch/arch.h"
#include "kernel/log.h"
#include "kernel/selftest.h"
#include "kernel/smp.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "kernel/work.h"

#ifdef TALLY_HOSTED
#define mark_command(text, len) ((void)0)
#else
#include "kernel/mark.h"
#endif

static _Atomic unsigned hits[MAX_CPUS];

static void hit(void *arg)
{
	unsigned want = (unsigned)(uintptr_t)arg;

	if (irqs_enabled())
		selftest_fail(__FILE__, __LINE__, "interrupts are on in a remote call");
	if (want != MAX_CPUS && want != cpu_id())
		selftest_fail(__FILE__, __LINE__, "remote call on the wrong CPU");
	atomic_fetch_add(&hits[cpu_id()], 1);
}

SELFTEST(smp_call_each, 10000)
{
	for_each_cpu(cpu)
		atomic_store(&hits[cpu], 0);
	for_each_cpu(cpu)
		smp_call(cpu, hit, (void *)(uintptr_t)cpu);
	for_each_cpu(cpu)
		SELFTEST_CHECK(atomic_load(&hits[cpu]) == 1);
	smp_call_all(hit, (void *)(uintptr_t)MAX_CPUS);
	for_each_cpu(cpu)
		SELFTEST_CHECK(atomic_load(&hits[cpu]) == 2);
}

/* Many callers at once, also to each other. */
static void call_crew(unsigned index)
{
	uint64_t seed = index + 1;

	for (unsigned i = 0; i < 50; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		if (i % 10 == 9)
			smp_call_all(hit, (void *)(uintptr_t)MAX_CPUS);
		else
			smp_call((unsigned)(seed >> 33) % nr_cpus, hit, (void *)(uintptr_t)MAX_CPUS);
		cond_resched();
	}
}

SELFTEST(smp_call_storm, 20000)
{
	unsigned n = min(nr_cpus * 2, 16u), total = 0;

	for_each_cpu(cpu)
		atomic_store(&hits[cpu], 0);
	selftest_threads(n, call_crew);
	for_each_cpu(cpu)
		total += atomic_load(&hits[cpu]);
	SELFTEST_CHECK(total == n * (45 + 5 * nr_cpus));
}

static struct work works[64];
static _Atomic unsigned worked;

static void count_work(struct work *w)
{
	if (w == &works[0])
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false); /* it may */
	atomic_fetch_add(&worked, 1);
}

SELFTEST(work_queues, 5000)
{
	unsigned scheduled = 0;

	atomic_store(&worked, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(works); i++)
		work_init(&works[i], count_work);
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < ARRAY_SIZE(works); i++)
			scheduled += work_schedule_on((i + round) % nr_cpus, &works[i]);
		if (round % 4 == 0)
			work_flush_all();
	}
	work_flush_all();
	SELFTEST_CHECK(atomic_load(&worked) == scheduled);
}

/* What a wake-up on another CPU costs, there and back. */
static struct thread *_Atomic partner[2];
static _Atomic unsigned turn;
#define TURNS 2000u

static void turn_crew(unsigned index)
{
	uint64_t cpu_mask[MAX_CPUS / 64] = { 0 };
	unsigned cpu = index % nr_cpus;

	cpu_mask[cpu / 64] = 1ULL << (cpu % 64);
	thread_set_affinity(current, cpu_mask, ARRAY_SIZE(cpu_mask));
	atomic_store(&partner[index], current);
	while (!atomic_load(&partner[!index]))
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	if (!index)
		mark_command("begin 6", 7); /* instructions per turn, with the insns plugin */
	for (unsigned i = 0; i < TURNS; i++) {
		for (;;) {
			thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
			if (atomic_load(&turn) % 2 == index)
				break;
			schedule();
		}
		thread_finish_sleep();
		atomic_fetch_add(&turn, 1);
		thread_wake(atomic_load(&partner[!index]));
	}
	if (!index)
		mark_command("end", 3);
	/* Nobody may go before the last wake-up of the other has been made. */
	while (atomic_load(&turn) < 2 * TURNS)
		yield_cpu();
	thread_sleep_until(clock_ns() + 20 * NSEC_PER_MSEC, false);
}

SELFTEST(sched_wake_latency, 20000)
{
	uint64_t start;

	atomic_store(&turn, 0);
	atomic_store(&partner[0], NULL);
	atomic_store(&partner[1], NULL);
	start = clock_ns();
	selftest_threads(2, turn_crew);
	pr_info("sched: wake-up and switch %lu ns one way, %u CPUs",
		(unsigned long)((clock_ns() - start - 20 * NSEC_PER_MSEC) / (2 * TURNS)), nr_cpus);
	SELFTEST_CHECK(atomic_load(&turn) == 2 * TURNS);
}
