/* SPDX-License-Identifier: MIT */
/*
 * Perf events: exact counts for groups and tasks under random switching,
 * migration, moves between groups, group removal and both ways to switch; and a
 * switch that does not look at PMUs without group events.
 *
 * SOURCES: kernel/perf/pmu.c kernel/perf/switch.c kernel/perf/event.c kernel/perf/slots.c mm/page_counter_packed.c mm/page_counter_split.c mm/stock.c mm/stock_sum.c mm/owner.c mm/memcg.c mm/memcg_limit.c mm/memcg_account.c mm/memcg_charge.c mm/memcg_exact.c mm/memcg_stat.c mm/memcg_events.c mm/memcg_config.c mm/memcg_id.c mm/memcg_walk.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "arch/host/host.h"
#include "kernel/perf/event.h"
#include "kernel/perf/perf.h"
#include "kernel/process.h"
#include "kernel/sched.h"
#include "kernel/string.h"
#include "tests/host/memcg_stub.h"

/* What is counted: steps that a thread takes on whatever CPU it is. */
DEFINE_PER_CPU(static _Atomic uint64_t, steps);
static struct pmu step_pmu = { .name = "steps", .what = "steps of workers", .counter = &steps };

#define WORKERS 12
#define GROUPS  4
static struct memcg *groups[GROUPS]; /* root, a, a/x, b */
static struct process procs[WORKERS];
static struct thread *threads[WORKERS];
static _Atomic uint64_t expected[GROUPS], expected_task[WORKERS];
static _Atomic int running;
static unsigned steps_per_phase = 300;
static uint64_t rnd = 88172645463325252ULL; /* the main thread's */
static uint64_t seeds[WORKERS];

static struct memcg *make(struct memcg *parent, const char *name)
{
	struct memcg *m = memcg_create(parent, name);

	HOST_CHECK(!IS_ERR(m));
	memcg_put(m);
	return m;
}

static void set_group(unsigned worker, unsigned group)
{
	atomic_store(&procs[worker].memcg, groups[group]);
	perf_regroup();
}

/* Steps, sleeps, moves to other CPUs and groups; notes what events must see. */
static void work(void *arg)
{
	unsigned w = (unsigned)(uintptr_t)arg, group = w % GROUPS;
	uint64_t r = seeds[w];

	for (unsigned i = 0; i < steps_per_phase; i++) {
		uint64_t n = host_random(&r) % 5, mask[MAX_CPUS / 64] = { 0 };

		count_add(&this_cpu(steps), n);
		atomic_fetch_add(&expected_task[w], n);
		for (unsigned g = 0; g < GROUPS; g++)
			if (group_is_under(groups[group], groups[g]))
				atomic_fetch_add(&expected[g], n);
		switch (host_random(&r) % 8) {
		case 0:
			mask[0] = host_random(&r) | 1ULL << (host_random(&r) % nr_cpus);
			thread_set_affinity(current, mask, ARRAY_SIZE(mask));
			break;
		case 1:
			group = (unsigned)(host_random(&r) % GROUPS);
			set_group(w, group);
			break;
		case 2:
			thread_sleep_until(clock_ns() + host_random(&r) % 20000, false);
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
		atomic_store(&procs[w].memcg, groups[w % GROUPS]);
		threads[w] = thread_create("worker", work, (void *)(uintptr_t)w, -1);
		HOST_CHECK(!IS_ERR(threads[w]));
		threads[w]->process = &procs[w];
		seeds[w] = host_random(&rnd);
	}
	for (unsigned g = 0; g < GROUPS; g++)
		atomic_store(&expected[g], 0);
	for (unsigned w = 0; w < WORKERS; w++)
		atomic_store(&expected_task[w], 0);
}

static void go_and_wait(void (*meanwhile)(void))
{
	for (unsigned w = 0; w < WORKERS; w++)
		thread_start(threads[w]);
	while (atomic_load(&running)) {
		if (meanwhile)
			meanwhile();
		thread_sleep_until(clock_ns() + 50000, false);
	}
	for (unsigned w = 0; w < WORKERS; w++)
		thread_put(threads[w]);
}

static struct perf_event *event(struct memcg *group, int cpu, bool task)
{
	struct perf_event *e = perf_event_create(pmu_get(step_pmu.type), group, cpu, task);

	HOST_CHECK(!IS_ERR(e));
	return e;
}

static void start(void)
{
	memcg_config_preset("tally");
	memcg_init();
	HOST_CHECK_EQ(pmu_register(&step_pmu), 0);
	groups[0] = memcg_root;
	groups[1] = make(memcg_root, "a");
	groups[2] = make(groups[1], "x");
	groups[3] = make(memcg_root, "b");
}

static void flip(void)
{
	if (host_random(&rnd) % 2)
		__atomic_store_n(&perf_switch_variant, !perf_switch_variant, __ATOMIC_RELAXED);
}

/* Every group on every CPU, tasks beside, some phases with fewer events; counts are exact. */
static void exact_body(void)
{
	struct perf_event *ev[GROUPS][64], *task[WORKERS], *cpu[64];

	start();
	for (unsigned phase = 0; phase < 12; phase++) {
		unsigned on = phase < 4 ? 15 : (unsigned)host_random(&rnd) % 16;
		uint64_t all = 0, sum;

		__atomic_store_n(&perf_switch_variant, phase % 2, __ATOMIC_RELAXED);
		for (unsigned g = 0; g < GROUPS; g++)
			for_each_cpu(c)
				ev[g][c] = event(groups[g], (int)c, false);
		start_workers();
		for (unsigned w = 0; w < WORKERS; w++) {
			task[w] = event(NULL, -1, true);
			HOST_CHECK_EQ(perf_event_attach(task[w], threads[w]), 0);
			perf_event_enable(task[w]);
		}
		for_each_cpu(c) {
			cpu[c] = event(NULL, (int)c, false);
			perf_event_enable(cpu[c]);
			for (unsigned g = 0; g < GROUPS; g++)
				if (on >> g & 1)
					perf_event_enable(ev[g][c]);
		}
		go_and_wait(phase >= 6 ? flip : NULL);
		for (unsigned g = 0; g < GROUPS; g++) {
			sum = 0;
			for_each_cpu(c)
				sum += perf_event_read(ev[g][c]);
			HOST_CHECK_EQ(sum, on >> g & 1 ? atomic_load(&expected[g]) : 0);
		}
		for (unsigned w = 0; w < WORKERS; w++) {
			HOST_CHECK_EQ(perf_event_read(task[w]), atomic_load(&expected_task[w]));
			all += atomic_load(&expected_task[w]);
			perf_event_close(task[w]);
		}
		sum = 0;
		for_each_cpu(c) {
			sum += perf_event_read(cpu[c]);
			perf_event_close(cpu[c]);
			for (unsigned g = 0; g < GROUPS; g++)
				perf_event_close(ev[g][c]);
		}
		HOST_CHECK_EQ(sum, all);
	}
	rcu_barrier();
	HOST_CHECK(!atomic_load(&sched_switch_hook));
}

static void test_exact(void **state)
{
	assert_int_equal(host_run(1, exact_body), 0);
	assert_int_equal(host_run(2, exact_body), 0);
	assert_int_equal(host_run(6, exact_body), 0);
}

/*
 * Random enabling while workers run: twins (same CPU, group and PMU) are enabled
 * together and stay equal whatever happens in between; nothing is counted twice.
 */
static struct perf_event *twin[2][GROUPS][64];

static void toggle(void)
{
	unsigned g = (unsigned)(host_random(&rnd) % GROUPS), c = (unsigned)(host_random(&rnd) % nr_cpus);
	bool on = host_random(&rnd) % 2;

	flip();
	for (unsigned k = 0; k < 2; k++)
		(on ? perf_event_enable : perf_event_disable)(twin[k][g][c]);
	if (!(host_random(&rnd) % 8))
		(void)perf_event_read(twin[0][g][c]);
}

static void random_body(void)
{
	start();
	for (unsigned k = 0; k < 2; k++)
		for (unsigned g = 0; g < GROUPS; g++)
			for_each_cpu(c)
				twin[k][g][c] = event(groups[g], (int)c, false);
	for (unsigned phase = 0; phase < 6; phase++) {
		start_workers();
		go_and_wait(toggle);
	}
	/* Quiet now: what is enabled is exact again, whatever happened. */
	for_each_cpu(c)
		for (unsigned g = 0; g < GROUPS; g++)
			for (unsigned k = 0; k < 2; k++) {
				perf_event_enable(twin[k][g][c]);
				perf_event_reset(twin[k][g][c]);
			}
	start_workers();
	go_and_wait(flip);
	for (unsigned k = 0; k < 2; k++)
		for (unsigned g = 0; g < GROUPS; g++) {
			uint64_t sum = 0;

			for_each_cpu(c)
				sum += perf_event_read(twin[k][g][c]);
			HOST_CHECK_EQ(sum, atomic_load(&expected[g]));
		}
	for_each_cpu(c)
		for (unsigned g = 0; g < GROUPS; g++)
			for (unsigned k = 0; k < 2; k++)
				perf_event_close(twin[k][g][c]);
	HOST_CHECK(!atomic_load(&sched_switch_hook));
}

static void test_random(void **state)
{
	assert_int_equal(host_run(1, random_body), 0);
	assert_int_equal(host_run(6, random_body), 0);
}

/* A removed group keeps its count; a new group at its place does not add to it. */
static void removal_body(void)
{
	struct perf_event *old[64], *new[64];
	uint64_t sum = 0, again = 0;

	start();
	for (unsigned phase = 0; phase < 5; phase++) {
		for_each_cpu(c) {
			old[c] = event(groups[2], (int)c, false);
			perf_event_enable(old[c]);
		}
		start_workers();
		go_and_wait(flip);
		sum = again = 0;
		for_each_cpu(c)
			sum += perf_event_read(old[c]);
		HOST_CHECK_EQ(sum, atomic_load(&expected[2]));
		for (unsigned w = 0; w < WORKERS; w++)
			atomic_store(&procs[w].memcg, memcg_root);
		HOST_CHECK_EQ(memcg_remove(groups[2]), 0);
		groups[2] = make(groups[1], "x");
		for_each_cpu(c) {
			new[c] = event(groups[2], (int)c, false);
			perf_event_enable(new[c]);
		}
		start_workers();
		go_and_wait(flip);
		for_each_cpu(c)
			again += perf_event_read(old[c]);
		HOST_CHECK_EQ(again, sum);
		sum = 0;
		for_each_cpu(c) {
			sum += perf_event_read(new[c]);
			perf_event_close(old[c]);
			perf_event_close(new[c]);
		}
		HOST_CHECK_EQ(sum, atomic_load(&expected[2]));
	}
}

static void test_removal(void **state)
{
	assert_int_equal(host_run(4, removal_body), 0);
}

/* Contexts that a switch looks at: all of them, or those with group events. */
static uint64_t contexts_per_switch(int variant, uint64_t *switches)
{
	struct perf_switch_stats st;

	perf_switch_variant = variant;
	start_workers();
	perf_switch_reset();
	go_and_wait(NULL);
	perf_switch_stats(&st);
	HOST_CHECK(st.switches > 100);
	HOST_CHECK_EQ(st.contexts % st.switches, 0);
	*switches = st.switches;
	return st.contexts / st.switches;
}

static void growth_body(void)
{
	struct perf_event *e;
	uint64_t switches;

	start();
	e = event(groups[1], 0, false);
	perf_event_enable(e);
	for (unsigned idle = 0; idle <= 200; idle += 100) {
		HOST_CHECK_EQ(pmu_set_idle(idle), 0);
		HOST_CHECK_EQ(pmu_count(), 1 + idle);
		HOST_CHECK_EQ(contexts_per_switch(PERF_SWITCH_ACTIVE, &switches), 1);
		HOST_CHECK_EQ(contexts_per_switch(PERF_SWITCH_ALL, &switches), 1 + idle);
	}
	HOST_CHECK_EQ(pmu_set_idle(0), 0);
	perf_event_close(e);
}

static void test_growth(void **state)
{
	assert_int_equal(host_run(1, growth_body), 0);
}

static void refuse_body(void)
{
	struct pmu *p;

	start();
	HOST_CHECK(IS_ERR(perf_event_create(pmu_get(step_pmu.type), NULL, -1, false)));
	HOST_CHECK(IS_ERR(perf_event_create(pmu_get(step_pmu.type), groups[1], -1, true)));
	HOST_CHECK(IS_ERR(perf_event_create(pmu_get(step_pmu.type), NULL, (int)nr_cpus, false)));
	HOST_CHECK(!pmu_get(1));
	HOST_CHECK(!pmu_get_name("nothing"));
	HOST_CHECK_EQ(pmu_set_idle(3), 0);
	p = pmu_get_name("idle2");
	HOST_CHECK(p);
	HOST_CHECK_EQ(pmu_set_idle(0), -EBUSY);
	pmu_put(p);
	HOST_CHECK_EQ(pmu_set_idle(0), 0);
	HOST_CHECK_EQ(atomic_load(&step_pmu.users), 0);
}

static void test_refuse(void **state)
{
	assert_int_equal(host_run(2, refuse_body), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),	cmocka_unit_test(test_random),
		cmocka_unit_test(test_removal), cmocka_unit_test(test_growth),
		cmocka_unit_test(test_refuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
