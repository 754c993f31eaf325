/* SPDX-License-Identifier: MIT */
/*
 * Events that take turns at few counters: exact while there are enough, never
 * too high and each in its turn when there are not, groups together or not at all.
 *
 * SOURCES: kernel/perf/pmu.c kernel/perf/switch.c kernel/perf/event.c kernel/perf/slots.c mm/page_counter_packed.c mm/page_counter_split.c mm/stock.c mm/stock_sum.c mm/owner.c mm/memcg.c mm/memcg_limit.c mm/memcg_account.c mm/memcg_charge.c mm/memcg_exact.c mm/memcg_stat.c mm/memcg_events.c mm/memcg_config.c mm/memcg_id.c mm/memcg_walk.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/host/host.h"
#include "kernel/errno.h"
#include "kernel/perf/event.h"
#include "kernel/perf/perf.h"
#include "kernel/process.h"
#include "kernel/sched.h"
#include "tests/host/memcg_stub.h"

/*
 * A PMU of three counters, 20 bits wide, of which the first counts config 0 only.
 * Config c counts c + 1 for each step that a thread takes on the CPU.
 */
#define SLOTS   3
#define MASK    0xfffffu
#define MOST    5 /* configs */

struct fake {
	bool on[SLOTS];
	uint64_t config[SLOTS], base[SLOTS];
};
DEFINE_PER_CPU(static _Atomic uint64_t, steps);
DEFINE_PER_CPU(static struct fake, fake);

static int fake_check(const struct pmu *p, uint64_t config)
{
	return config < MOST ? 0 : -ENOENT;
}
static bool fake_fits(const struct pmu *p, uint64_t config, unsigned slot)
{
	return slot || !config;
}
static uint64_t raw(uint64_t config)
{
	return atomic_load(&this_cpu(steps)) * (config + 1);
}
static void fake_start(const struct pmu *p, uint64_t config, unsigned slot)
{
	struct fake *f = &this_cpu(fake);

	HOST_CHECK(slot < SLOTS && !f->on[slot] && fake_fits(p, config, slot) && !irqs_enabled());
	f->on[slot] = true;
	f->config[slot] = config;
	f->base[slot] = raw(config);
}
static uint64_t fake_count(const struct pmu *p, unsigned slot)
{
	struct fake *f = &this_cpu(fake);

	HOST_CHECK(f->on[slot]);
	return (raw(f->config[slot]) - f->base[slot]) & MASK;
}
static void fake_stop(const struct pmu *p, unsigned slot)
{
	HOST_CHECK(this_cpu(fake).on[slot]);
	this_cpu(fake).on[slot] = false;
}
static struct pmu fake_pmu = {
	.name = "fake", .what = "steps", .slots = SLOTS, .count_mask = MASK, .check = fake_check,
	.fits = fake_fits, .start = fake_start, .count = fake_count, .stop = fake_stop,
};

#define WORKERS 6
static struct process procs[WORKERS];
static struct thread *threads[WORKERS];
static _Atomic uint64_t taken[WORKERS];
static _Atomic int running;
static unsigned rounds;

static void work(void *arg)
{
	unsigned w = (unsigned)(uintptr_t)arg;
	uint64_t r = w + 1;

	for (unsigned i = 0; i < rounds; i++) {
		uint64_t n = host_random(&r) % 4000, mask[MAX_CPUS / 64] = { 0 };

		count_add(&this_cpu(steps), n);
		atomic_fetch_add(&taken[w], n);
		switch (host_random(&r) % 6) {
		case 0:
			mask[0] = host_random(&r) | 1ULL << (host_random(&r) % nr_cpus);
			thread_set_affinity(current, mask, ARRAY_SIZE(mask));
			break;
		case 1:
			thread_sleep_until(clock_ns() + host_random(&r) % 30000, false);
			break;
		default:
			yield_cpu();
			cond_resched();
		}
	}
	perf_exit();
	current->process = NULL;
	atomic_fetch_sub(&running, 1);
}

static void start_workers(void)
{
	atomic_store(&running, WORKERS);
	for (unsigned w = 0; w < WORKERS; w++) {
		atomic_store(&taken[w], 0);
		atomic_store(&procs[w].memcg, memcg_root);
		threads[w] = thread_create("worker", work, (void *)(uintptr_t)w, -1);
		HOST_CHECK(!IS_ERR(threads[w]));
		threads[w]->process = &procs[w];
	}
}

static void go_and_wait(void)
{
	for (unsigned w = 0; w < WORKERS; w++)
		thread_start(threads[w]);
	while (atomic_load(&running))
		thread_sleep_until(clock_ns() + 50000, false);
	for (unsigned w = 0; w < WORKERS; w++)
		thread_put(threads[w]);
}

static void start(void)
{
	memcg_config_preset("tally");
	memcg_init();
	slots_init();
	HOST_CHECK_EQ(pmu_register(&fake_pmu), 0);
}

static struct perf_event *event(uint64_t config, int cpu)
{
	struct perf_event *e = perf_event_create(pmu_get(fake_pmu.type), NULL, cpu, cpu < 0);

	HOST_CHECK(!IS_ERR(e));
	HOST_CHECK_EQ(perf_event_config(e, config), 0);
	return e;
}

static struct perf_event *task_event(unsigned w, uint64_t config)
{
	struct perf_event *e = event(config, -1);

	HOST_CHECK_EQ(perf_event_attach(e, threads[w]), 0);
	perf_event_enable(e);
	return e;
}

/* As many as there are counters: every count is exact, and ran all the time. */
static void enough_body(void)
{
	struct perf_event *task[WORKERS][SLOTS];
	uint64_t enabled, ran;

	start();
	rounds = 400;
	start_workers();
	for (unsigned w = 0; w < WORKERS; w++)
		for (unsigned k = 0; k < SLOTS; k++)
			task[w][k] = task_event(w, k);
	go_and_wait();
	for (unsigned w = 0; w < WORKERS; w++)
		for (unsigned k = 0; k < SLOTS; k++) {
			HOST_CHECK_EQ(perf_event_read(task[w][k]), atomic_load(&taken[w]) * (k + 1));
			perf_event_times(task[w][k], &enabled, &ran);
			/* Coming in and getting the slot are two looks at the clock. */
			HOST_CHECK(ran && ran <= enabled);
			perf_event_close(task[w][k]);
		}
	rcu_barrier();
	HOST_CHECK_EQ(atomic_load(&fake_pmu.users), 0);
	for_each_cpu(c)
		for (unsigned i = 0; i < SLOTS; i++)
			HOST_CHECK(!per_cpu(fake, c).on[i]);
}

static void test_enough(void **state)
{
	assert_int_equal(host_run(1, enough_body), 0);
	assert_int_equal(host_run(4, enough_body), 0);
}

/* On CPUs: everybody's steps there; tasks beside them want the same counters. */
static void cpus_body(void)
{
	struct perf_event *cpu[64], *beside;
	uint64_t sum = 0, all = 0;

	start();
	rounds = 400;
	for_each_cpu(c) {
		cpu[c] = event(1, (int)c);
		perf_event_enable(cpu[c]);
	}
	start_workers();
	beside = task_event(0, 2);
	go_and_wait();
	for_each_cpu(c) {
		sum += perf_event_read(cpu[c]);
		perf_event_close(cpu[c]);
	}
	for (unsigned w = 0; w < WORKERS; w++)
		all += atomic_load(&taken[w]);
	HOST_CHECK_EQ(sum, 2 * all);
	HOST_CHECK_EQ(perf_event_read(beside), 3 * atomic_load(&taken[0]));
	perf_event_close(beside);
}

static void test_cpus(void **state)
{
	assert_int_equal(host_run(1, cpus_body), 0);
	assert_int_equal(host_run(4, cpus_body), 0);
}

/* More than fit: nobody counts what did not happen, everybody gets turns, groups stay whole. */
static void turns_body(void)
{
	struct perf_event *e[WORKERS][6];
	uint64_t enabled, ran, n;

	start();
	rounds = 1500;
	start_workers();
	for (unsigned w = 0; w < WORKERS; w++) {
		for (unsigned k = 0; k < 6; k++)
			e[w][k] = event(k < 2 ? 1 : k < 4 ? 2 : 4, -1);
		/* 0 and 1 are a group, as are 2 and 3; 4 and 5 are by themselves. */
		HOST_CHECK_EQ(perf_event_join(e[w][1], e[w][0]), 0);
		HOST_CHECK_EQ(perf_event_join(e[w][3], e[w][2]), 0);
		HOST_CHECK_EQ(perf_event_join(e[w][4], e[w][3]), -EINVAL);
		for (unsigned k = 0; k < 6; k++) {
			HOST_CHECK_EQ(perf_event_attach(e[w][k], threads[w]), 0);
			perf_event_enable(e[w][k]);
		}
	}
	go_and_wait();
	for (unsigned w = 0; w < WORKERS; w++) {
		HOST_CHECK_EQ(perf_event_read(e[w][0]), perf_event_read(e[w][1]));
		HOST_CHECK_EQ(perf_event_read(e[w][2]), perf_event_read(e[w][3]));
		for (unsigned k = 0; k < 6; k++) {
			n = perf_event_read(e[w][k]);
			HOST_CHECK(n && n < atomic_load(&taken[w]) * (e[w][k]->config + 1));
			perf_event_times(e[w][k], &enabled, &ran);
			HOST_CHECK(ran && ran < enabled);
			perf_event_close(e[w][k]);
		}
	}
}

static void test_turns(void **state)
{
	assert_int_equal(host_run(1, turns_body), 0);
	assert_int_equal(host_run(4, turns_body), 0);
}

static void sum_one(struct perf_event *e, void *arg)
{
	*(uint64_t *)arg += perf_event_read(e);
}

/* A group that does not fit never counts; a sibling counts while its leader is enabled. */
static void groups_body(void)
{
	struct perf_event *big[SLOTS + 1], *leader, *sibling;
	uint64_t sum = 0, enabled, ran;

	start();
	rounds = 200;
	start_workers();
	for (unsigned k = 0; k <= SLOTS; k++) {
		big[k] = event(1, -1);
		if (k)
			HOST_CHECK_EQ(perf_event_join(big[k], big[0]), 0);
		HOST_CHECK_EQ(perf_event_attach(big[k], threads[0]), 0);
		perf_event_enable(big[k]);
	}
	leader = event(1, -1);
	sibling = event(2, -1);
	HOST_CHECK_EQ(perf_event_join(sibling, leader), 0);
	HOST_CHECK_EQ(perf_event_attach(leader, threads[1]), 0);
	HOST_CHECK_EQ(perf_event_attach(sibling, threads[1]), 0);
	perf_event_enable(sibling); /* in vain: the leader is not */
	go_and_wait();
	for (unsigned k = 0; k <= SLOTS; k++) {
		HOST_CHECK_EQ(perf_event_read(big[k]), 0);
		perf_event_times(big[k], &enabled, &ran);
		HOST_CHECK(enabled && !ran);
		perf_event_close(big[k]);
	}
	HOST_CHECK_EQ(perf_event_read(sibling), 0);
	perf_event_close(leader); /* the sibling goes on by itself */
	perf_event_close(sibling);

	start_workers();
	leader = event(0, -1);
	sibling = event(2, -1);
	HOST_CHECK_EQ(perf_event_join(sibling, leader), 0);
	HOST_CHECK_EQ(perf_event_attach(leader, threads[1]), 0);
	HOST_CHECK_EQ(perf_event_attach(sibling, threads[1]), 0);
	perf_group_set(leader, 1);
	go_and_wait();
	perf_group_each(sibling, sum_one, &sum);
	HOST_CHECK_EQ(sum, (1 + 3) * atomic_load(&taken[1]));
	perf_group_set(leader, -1);
	HOST_CHECK_EQ(perf_event_read(leader) + perf_event_read(sibling), 0);
	perf_event_close(sibling);
	perf_event_close(leader);
}

static void test_groups(void **state)
{
	assert_int_equal(host_run(3, groups_body), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enough), cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_turns), cmocka_unit_test(test_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
