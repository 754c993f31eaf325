/* SPDX-License-Identifier: MIT */
/*
 * The promises of the `tally` preset (docs/accounting.md) with real threads, and so under
 * the thread sanitizer: the self-tests of tests/guest/promise.c, and groups that come and
 * go for long.
 *
 * CYCLES=10000000 build/host/plain/promise_test goes through ten million groups.
 *
 * SOURCES: kernel/selftest.c tests/guest/promise.c mm/page_counter_packed.c mm/page_counter_split.c mm/stock.c mm/stock_sum.c mm/owner.c mm/memcg.c mm/memcg_limit.c mm/memcg_account.c mm/memcg_charge.c mm/memcg_exact.c mm/memcg_stat.c mm/memcg_events.c mm/memcg_config.c mm/memcg_id.c mm/memcg_walk.c net/sock_mem.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "arch/host/host.h"
#include "kernel/rcu.h"
#include "kernel/selftest.h"
#include "kernel/string.h"
#include "mm/memcg_tree.h"
#include "mm/stock.h"
#include "tests/host/memcg_stub.h"

static const struct selftest *chosen;

static void start(void)
{
	memcg_config_preset("tally");
	memcg_init();
	HOST_CHECK_EQ(memcg_control(memcg_root, MEMCG_CTL_MEMORY, 0), 0);
}

static void run_chosen(void)
{
	start();
	HOST_CHECK(selftest_run(chosen));
	HOST_CHECK_EQ(atomic_load(&memcg_exact_unsure), 0);
}

static void test_one(void **state)
{
	chosen = *state;
	assert_int_equal(host_run(1, run_chosen), 0);
	assert_int_equal(host_run(4, run_chosen), 0);
	assert_int_equal(host_run(8, run_chosen), 0);
}

/* A group is made, entered, charged, left and removed, again and again: nothing may grow. */
static long cycles;

static void one_cycle(void)
{
	struct memcg *m = memcg_create(memcg_root, "m");
	struct owner *o;

	HOST_CHECK(!IS_ERR(m));
	o = atomic_load(&m->owner);
	memcg_user_get(o);
	HOST_CHECK_EQ(memcg_charge(o, 3, MEMCG_ANON, 0), 0);
	HOST_CHECK_EQ(memcg_charge_bytes(o, 700, MEMCG_SLAB, 0), 0);
	memcg_uncharge_bytes(o, 700, MEMCG_SLAB);
	memcg_uncharge(o, 3, MEMCG_ANON);
	memcg_user_put(o);
	HOST_CHECK_EQ(account_usage(memcg_account(m)), 0);
	HOST_CHECK_EQ(memcg_remove(m), 0);
	memcg_put(m);
}

static void cycles_body(void)
{
	int64_t most;

	start();
	/* What this CPU's stock still names after a group has gone is bounded by its entries. */
	most = atomic_load(&objects_alive) + 2 * STOCK_ENTRIES * (int64_t)nr_cpus;
	for (long i = 0; i < cycles; i++) {
		one_cycle();
		if (i % 64 == 0)
			cond_resched();
		if (i % 100000)
			continue;
		rcu_barrier();
		HOST_CHECK(atomic_load(&objects_alive) <= most);
		HOST_CHECK_EQ(memcg_root->nr_descendants, 0);
	}
	rcu_barrier();
	HOST_CHECK(atomic_load(&objects_alive) <= most);
	HOST_CHECK(atomic_load(&owners_alive) <= STOCK_ENTRIES * (int64_t)nr_cpus);
}

static void test_cycles(void **state)
{
	const char *said = getenv("CYCLES");

	cycles = said ? atol(said) : 100000;
	/* Three microseconds each on an idle machine; the bound is for hangs. */
	assert_int_equal(host_run_for(2, cycles_body, 60 + (unsigned)(cycles / 50000)), 0);
}

int main(void)
{
	static struct CMUnitTest tests[64] = { cmocka_unit_test(test_cycles) };
	size_t n = 1;

	for (const struct selftest *t = selftest_next(NULL); t && n < 64; t = selftest_next(t))
		tests[n++] = (struct CMUnitTest){ .name = t->name, .test_func = test_one,
						  .initial_state = (void *)t };
	return _cmocka_run_group_tests("promises", tests, n, NULL, NULL);
}
