/* SPDX-License-Identifier: MIT */
/*
 * The scheduler: wake-ups that race with going to sleep, placement, affinity,
 * threads that come and go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/host/host.h"
#include "kernel/lock.h"
#include "kernel/rcu.h"
#include "kernel/thread.h"
#include "kernel/wait.h"
#include "kernel/work.h"

static struct thread *spawn(const char *name, void (*fn)(void *), void *arg)
{
	struct thread *t = thread_create(name, fn, arg, -1);

	HOST_CHECK(!IS_ERR(t));
	thread_start(t);
	return t;
}

static void hello(void)
{
	HOST_CHECK(nr_cpus >= 1);
	yield_cpu();
}

static void test_boot(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, hello), 0);
	assert_int_equal(host_run(8, hello), 0);
}

/* Two threads hand a ball to each other with the raw protocol: no wake-up may be lost. */
static _Atomic int ball;
static _Atomic int players_done;
static struct thread *_Atomic player[2];
static int rallies = 20000;

static void play(void *arg)
{
	int me = (int)(intptr_t)arg;

	while (!atomic_load(&player[0]) || !atomic_load(&player[1]))
		yield_cpu();
	for (int i = 0; i < rallies; i++) {
		for (;;) {
			thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
			if (atomic_load_explicit(&ball, memory_order_acquire) == me)
				break;
			schedule();
		}
		thread_finish_sleep();
		atomic_store_explicit(&ball, !me, memory_order_release);
		thread_wake(atomic_load(&player[!me]));
	}
	atomic_fetch_add(&players_done, 1);
}

static void ping_pong(void)
{
	for (int i = 0; i < 2; i++)
		atomic_store(&player[i], spawn("player", play, (void *)(intptr_t)i));
	while (atomic_load(&players_done) < 2)
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
}

static void test_wake_race(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, ping_pong), 0);
	assert_int_equal(host_run(2, ping_pong), 0);
	assert_int_equal(host_run(4, ping_pong), 0);
}

/* Many sleepers, many wakers that pick at random; every sleeper must be woken each time. */
#define NR_MANY 24
static struct {
	_Atomic int tickets;
	struct thread *_Atomic thread;
} many[NR_MANY];
static _Atomic int many_left;
static _Atomic bool many_stop;

static void sleeper(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < 2000; i++) {
		for (;;) {
			thread_prepare_sleep(THREAD_INTERRUPTIBLE);
			if (atomic_load_explicit(&many[me].tickets, memory_order_acquire) > 0)
				break;
			schedule();
		}
		thread_finish_sleep();
		atomic_fetch_sub(&many[me].tickets, 1);
	}
	atomic_fetch_sub(&many_left, 1);
}

static void waker(void *arg)
{
	uint64_t seed = (uintptr_t)arg;

	while (!atomic_load(&many_stop)) {
		unsigned i = host_random(&seed) % NR_MANY;
		struct thread *t = atomic_load(&many[i].thread);

		if (atomic_load(&many[i].tickets) < 4) {
			atomic_fetch_add(&many[i].tickets, 1);
			thread_wake(t);
		} else {
			yield_cpu();
		}
	}
}

static void many_sleepers(void)
{
	atomic_store(&many_left, NR_MANY);
	for (int i = 0; i < NR_MANY; i++)
		atomic_store(&many[i].thread, spawn("sleeper", sleeper, (void *)(intptr_t)i));
	for (uintptr_t i = 1; i <= 3; i++)
		thread_put(spawn("waker", waker, (void *)(i * 7919)));
	while (atomic_load(&many_left))
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	atomic_store(&many_stop, true);
}

static void test_many(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, many_sleepers), 0);
	assert_int_equal(host_run(4, many_sleepers), 0);
	assert_int_equal(host_run(8, many_sleepers), 0);
}

/* Threads that never block share one CPU, and surplus moves to idle CPUs. */
static _Atomic unsigned long spins[4];
static _Atomic uint64_t cpus_seen;
static _Atomic bool spin_stop;

static void spin(void *arg)
{
	while (!atomic_load(&spin_stop)) {
		atomic_fetch_add(&spins[(uintptr_t)arg], 1);
		atomic_fetch_or(&cpus_seen, 1ULL << cpu_id());
		cond_resched();
	}
}

static void spinners(void)
{
	unsigned long max_spins = 0, min_spins = ULONG_MAX;

	for (uintptr_t i = 0; i < 4; i++)
		spawn("spin", spin, (void *)i);
	thread_sleep_until(clock_ns() + 400 * NSEC_PER_MSEC, false);
	atomic_store(&spin_stop, true);
	for (int i = 0; i < 4; i++) {
		max_spins = max(max_spins, atomic_load(&spins[i]));
		min_spins = min(min_spins, atomic_load(&spins[i]));
	}
	HOST_CHECK(min_spins > 0);
	HOST_CHECK(__builtin_popcountll(atomic_load(&cpus_seen)) == (int)min(nr_cpus, 4u));
	if (nr_cpus == 1)
		HOST_CHECK(min_spins * 4 > max_spins);
}

static void test_share(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, spinners), 0);
	assert_int_equal(host_run(4, spinners), 0);
}


static void roam(void *arg)
{
	(void)arg;
	while (!atomic_load(&spin_stop)) {
		thread_sleep_until(clock_ns() + 20000, false);
		cond_resched();
	}
}
static void stay(void *arg)
{
	(void)arg;
	while (!atomic_load(&spin_stop))
		cond_resched();
}

static void affinity(void)
{
	struct thread *t[4];
	uint64_t seed = 5;

	for (int i = 0; i < 4; i++)
		t[i] = spawn("roam", i & 1 ? stay : roam, NULL);
	for (int round = 0; round < 100; round++) {
		unsigned cpu = host_random(&seed) % nr_cpus;
		uint64_t mask = 1ULL << cpu;
		int i = round % 4;
		uint64_t until = clock_ns() + 5 * NSEC_PER_SEC;

		HOST_CHECK(thread_set_affinity(t[i], &mask, 1) == 0);
		while (atomic_load(&t[i]->cpu) != cpu) {
			HOST_CHECK(clock_ns() < until);
			thread_sleep_until(clock_ns() + 100000, false);
		}
	}
	uint64_t none = 0, self = 1;
	HOST_CHECK(thread_set_affinity(t[0], &none, 1) == -EINVAL);
	HOST_CHECK(thread_set_affinity(current, &self, 1) == 0);
	HOST_CHECK(cpu_id() == 0);
	atomic_store(&spin_stop, true);
}

static void test_affinity(void **state)
{
	(void)state;
	assert_int_equal(host_run(4, affinity), 0);
}

static _Atomic int born_alive;

static void short_life(void *arg)
{
	(void)arg;
	atomic_fetch_sub(&born_alive, 1);
}

static void births(void)
{
	for (int i = 0; i < 2000; i++) {
		atomic_fetch_add(&born_alive, 1);
		thread_put(spawn("short", short_life, NULL));
		if (i % 16 == 0)
			thread_sleep_until(clock_ns() + 50000, false);
	}
	while (atomic_load(&born_alive))
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	work_flush_all();
	rcu_barrier();
}

static void test_births(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, births), 0);
	assert_int_equal(host_run(4, births), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boot),  cmocka_unit_test(test_wake_race),
		cmocka_unit_test(test_many),  cmocka_unit_test(test_share),
		cmocka_unit_test(test_affinity), cmocka_unit_test(test_births),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
