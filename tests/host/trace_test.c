/* SPDX-License-Identifier: MIT */
/*
 * Rings of trace points: records come whole and in order while they are
 * overwritten under the reader, counts are exact, and points that are off leave
 * nothing behind.
 *
 * SOURCES: kernel/trace.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "arch/host/host.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "kernel/trace.h"
#include "mm/slab.h"

#define WRITERS 4
#define PASSES  20000u

static _Atomic unsigned running;
static _Atomic uint64_t hooked;

void *kzalloc(size_t size, gfp_t gfp)
{
	return calloc(1, size);
}

/* Four numbers of which each tells the others. */
static void write_points(void *arg)
{
	uint64_t w = (uint64_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < PASSES; i++) {
		trace_emit(TRACE_sched_wakeup, (const uint64_t[TRACE_ARGS]){ w, i, w ^ i, w + i });
		if (i % 64 == 0)
			cond_resched();
	}
	atomic_fetch_sub(&running, 1);
}

static void check(const struct trace_copy *r)
{
	HOST_CHECK_EQ(r->point, TRACE_sched_wakeup);
	HOST_CHECK(r->arg[0] < WRITERS && r->arg[1] < PASSES);
	HOST_CHECK_EQ(r->arg[2], r->arg[0] ^ r->arg[1]);
	HOST_CHECK_EQ(r->arg[3], r->arg[0] + r->arg[1]);
}

/* What can be read of all rings now; checks it. */
static unsigned read_rings(void)
{
	unsigned good = 0;

	for_each_cpu(cpu) {
		uint64_t newest = trace_newest(cpu), ns = 0;

		for (uint64_t n = newest > TRACE_RECORDS ? newest - TRACE_RECORDS : 1; n <= newest; n++) {
			struct trace_copy r;

			if (!trace_read(cpu, n, &r))
				continue;
			check(&r);
			HOST_CHECK(r.ns >= ns);
			ns = r.ns;
			good++;
		}
	}
	return good;
}

static void hook(enum trace_point point, const void *frame)
{
	HOST_CHECK(frame);
	atomic_fetch_add(&hooked, 1);
}

static void start(void)
{
	atomic_store(&running, WRITERS);
	for (uintptr_t w = 0; w < WRITERS; w++) {
		struct thread *t = thread_create("writer", write_points, (void *)w, -1);

		HOST_CHECK(!IS_ERR(t));
		thread_start(t);
		thread_put(t);
	}
}

static uint64_t counted(void)
{
	uint64_t n = 0;

	for_each_cpu(cpu)
		n += atomic_load(&per_cpu(trace_counts, cpu).n[TRACE_sched_wakeup]);
	return n;
}

static void rings_body(void)
{
	uint64_t all = 0;

	/* Only counted. */
	start();
	while (atomic_load(&running))
		thread_sleep_until(clock_ns() + 100000, false);
	HOST_CHECK_EQ(counted(), WRITERS * PASSES);
	HOST_CHECK_EQ(read_rings(), 0);

	/* Into the rings, read meanwhile. */
	HOST_CHECK_EQ(trace_rings_make(), 0);
	atomic_store(&trace_to_ring, 1ULL << TRACE_sched_wakeup);
	atomic_store(&trace_hook, hook);
	start();
	while (atomic_load(&running)) {
		read_rings();
		thread_sleep_until(clock_ns() + 20000, false);
	}
	HOST_CHECK_EQ(counted(), 2 * WRITERS * PASSES);
	HOST_CHECK_EQ(atomic_load(&hooked), WRITERS * PASSES);
	for_each_cpu(cpu)
		all += trace_newest(cpu);
	HOST_CHECK_EQ(all, WRITERS * PASSES);
	/* Quiet: all that fits is there. */
	HOST_CHECK(read_rings() >= TRACE_RECORDS);

	/* Off again. */
	atomic_store(&trace_to_ring, 0);
	start();
	while (atomic_load(&running))
		thread_sleep_until(clock_ns() + 100000, false);
	for_each_cpu(cpu)
		all -= trace_newest(cpu);
	HOST_CHECK_EQ(all, 0);
}

static void test_rings(void **state)
{
	assert_int_equal(host_run(1, rings_body), 0);
	assert_int_equal(host_run(4, rings_body), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rings) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
