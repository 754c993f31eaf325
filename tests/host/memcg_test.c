/* SPDX-License-Identifier: MIT */
/*
 * Accounting: counters in both layouts, and under every preset the invariants of
 * mm/stock.h while CPUs charge, give back, lower limits and remove groups.
 *
 * SOURCES: mm/page_counter_packed.c mm/page_counter_split.c mm/stock.c mm/stock_sum.c mm/owner.c mm/memcg.c mm/memcg_limit.c mm/memcg_account.c mm/memcg_charge.c mm/memcg_exact.c mm/memcg_stat.c mm/memcg_events.c mm/memcg_config.c mm/memcg_id.c mm/memcg_walk.c net/sock_mem.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "arch/host/host.h"
#include "kernel/rcu.h"
#include "kernel/string.h"
#include "mm/memcg_tree.h"
#include "mm/slab.h"
#include "mm/stock.h"
#include "tests/host/memcg_stub.h"

static const char *preset;
static const char *const presets[] = { "tally", "linux-4.13", "linux-6.0", "linux-6.1",
				       "linux-6.16" };

static void run_presets(unsigned cpus, void (*fn)(void))
{
	for (unsigned i = 0; i < ARRAY_SIZE(presets); i++) {
		preset = presets[i];
		print_message("preset %s\n", preset);
		assert_int_equal(host_run(cpus, fn), 0);
	}
}

static void start(void)
{
	memcg_config_preset(preset);
	memcg_init();
	HOST_CHECK_EQ(memcg_control(memcg_root, MEMCG_CTL_MEMORY, 0), 0);
}

static struct memcg *make(struct memcg *parent, const char *name, bool inner)
{
	struct memcg *m = memcg_create(parent, name);

	HOST_CHECK(!IS_ERR(m));
	memcg_put(m); /* the directory's reference is enough here */
	if (inner)
		HOST_CHECK_EQ(memcg_control(m, MEMCG_CTL_MEMORY, 0), 0);
	return m;
}

static struct owner *owner_of(struct memcg *m)
{
	return atomic_load(&m->owner);
}

static int64_t usage(struct memcg *m)
{
	return account_usage(memcg_account(m));
}

static void expect_empty(struct memcg *m)
{
	int64_t st[NR_MEMCG_STATS];

	HOST_CHECK_EQ(usage(m), 0);
	memcg_stat_read(memcg_account(m), st);
	for (unsigned i = 0; i < NR_MEMCG_KINDS; i++)
		HOST_CHECK_EQ(st[i], 0);
}

/* Runs @fn on every CPU and waits. */
static _Atomic int running;
static void parallel(void (*fn)(void *))
{
	atomic_store(&running, (int)nr_cpus);
	for_each_cpu(c) {
		struct thread *t = thread_create("worker", fn, (void *)(uintptr_t)c, (int)c);

		HOST_CHECK(!IS_ERR(t));
		thread_start(t);
		thread_put(t);
	}
	while (atomic_load(&running))
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
}

/* ---- counters ---- */

static void counters(const struct page_counter_ops *pc)
{
	struct page_counter *c[3], *refused = NULL;
	struct page_counter_walk w;

	for (int i = 0; i < 3; i++) {
		c[i] = kzalloc(ALIGN_UP(pc->size, 64) + 64, GFP_KERNEL);
		c[i] = (void *)ALIGN_UP((uintptr_t)c[i], 64UL);
		pc->init(c[i], i ? c[i - 1] : NULL);
	}
	assert_true(pc->try_charge(c[2], 10, &refused, &w));
	assert_int_equal(w.headroom, PAGE_COUNTER_MAX - 10);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pc->usage(c[i]), 10);
	pc->set(c[1], PC_MAX, 12);
	assert_true(pc->try_charge(c[2], 2, &refused, &w)); /* usage == max is legal */
	assert_int_equal(w.headroom, 0);
	assert_false(pc->try_charge(c[2], 1, &refused, &w));
	assert_ptr_equal(refused, c[1]);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pc->usage(c[i]), 12);
	pc->charge(c[2], 5, &w);
	assert_int_equal(pc->usage(c[0]), 17);
	assert_int_equal(pc->headroom(c[2]), -5);
	pc->set(c[1], PC_MIN, 8);
	assert_int_equal(pc->children_protected(c[0], PC_MIN), 8);
	pc->uncharge(c[2], 13);
	assert_int_equal(pc->children_protected(c[0], PC_MIN), 4);
	pc->set(c[2], PC_HIGH, 3);
	assert_true(pc->over_high(c[2]));
	pc->uncharge(c[2], 4);
	assert_false(pc->over_high(c[2]));
	for (int i = 0; i < 3; i++)
		assert_int_equal(pc->usage(c[i]), 0);
	assert_int_equal(pc->children_protected(c[0], PC_MIN), 0);
	assert_int_equal(pc->peak(c[0]), 17);
}

static void test_counters(void **state)
{
	assert_int_equal(page_counter_packed.size, 112);
	assert_int_equal(page_counter_split.size % 64, 0);
	for (int xchg = 0; xchg < 2; xchg++) {
		atomic_store(&page_counter_protect_xchg, xchg);
		counters(&page_counter_packed);
		counters(&page_counter_split);
	}
}

/* ---- charge and give back on all CPUs, everything returns to zero ---- */

#define ROUNDS 20000
static struct memcg *leaf[4];

struct held {
	struct owner *o;
	unsigned amount;
	enum memcg_kind kind;
	bool bytes;
};

static void churn(void *arg)
{
	uint64_t rnd = (uintptr_t)arg + 7;
	struct held held[64] = { 0 };

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct held *h = &held[host_random(&rnd) % ARRAY_SIZE(held)];

		if (h->o) {
			if (h->bytes)
				memcg_uncharge_bytes(h->o, h->amount, h->kind);
			else
				memcg_uncharge(h->o, h->amount, h->kind);
			h->o = NULL;
		} else {
			h->bytes = host_random(&rnd) % 2;
			h->amount = 1 + host_random(&rnd) % (h->bytes ? 9000 : 20);
			h->kind = host_random(&rnd) % NR_MEMCG_KINDS;
			h->o = owner_of(leaf[host_random(&rnd) % 4]);
			HOST_CHECK_EQ(h->bytes ? memcg_charge_bytes(h->o, h->amount, h->kind, 0)
					       : memcg_charge(h->o, h->amount, h->kind, 0), 0);
		}
		if (i % 256 == 0)
			cond_resched();
	}
	for (unsigned i = 0; i < ARRAY_SIZE(held); i++) {
		if (!held[i].o)
			continue;
		if (held[i].bytes)
			memcg_uncharge_bytes(held[i].o, held[i].amount, held[i].kind);
		else
			memcg_uncharge(held[i].o, held[i].amount, held[i].kind);
	}
	atomic_fetch_sub(&running, 1);
}

static void churn_body(void)
{
	struct memcg *a, *b;
	static const char names[4][2] = { "0", "1", "2", "3" };

	start();
	a = make(memcg_root, "a", true);
	b = make(a, "b", true);
	for (int i = 0; i < 4; i++) {
		leaf[i] = make(b, names[i], false);
		memcg_user_get(owner_of(leaf[i]));
	}
	memcg_set_limit(a, PC_MIN, 50);
	memcg_set_limit(a, PC_LOW, 100);
	parallel(churn);
	for (int i = 0; i < 4; i++)
		memcg_user_put(owner_of(leaf[i]));
	for (int i = 0; i < 4; i++)
		expect_empty(leaf[i]);
	expect_empty(a);
	expect_empty(b);
	HOST_CHECK_EQ(account_usage(root_account), 0);
	HOST_CHECK_EQ(memcg_remove(b), -EBUSY);
	for (int i = 0; i < 4; i++)
		HOST_CHECK_EQ(memcg_remove(leaf[i]), 0);
	HOST_CHECK_EQ(memcg_remove(b), 0);
	HOST_CHECK_EQ(memcg_remove(a), 0);
	HOST_CHECK_EQ(memcg_root->nr_descendants, 0);
	HOST_CHECK_EQ(atomic_load(&memcg_exact_unsure), 0);
}

static void test_churn(void **state)
{
	run_presets(4, churn_body);
}

/* ---- promise 1: who has a permit is never refused ---- */

#define LIMIT 300
static _Atomic int permits;
static struct memcg *limited;
static _Atomic int denied; /* expected refusals: charges without permit */

static void with_permits(void *arg)
{
	uint64_t rnd = (uintptr_t)arg + 99;
	unsigned have[16] = { 0 };
	unsigned from[16];

	for (unsigned i = 0; i < ROUNDS / 4; i++) {
		unsigned k = host_random(&rnd) % 16, n = 1 + host_random(&rnd) % 30;

		if (have[k]) {
			memcg_uncharge(owner_of(leaf[from[k]]), have[k], MEMCG_ANON);
			atomic_fetch_add(&permits, (int)have[k]);
			have[k] = 0;
		} else if (atomic_fetch_sub(&permits, (int)n) >= (int)n) {
			from[k] = host_random(&rnd) % 4;
			HOST_CHECK_EQ(memcg_charge(owner_of(leaf[from[k]]), n, MEMCG_ANON,
						   CHARGE_NOSLEEP), 0);
			have[k] = n;
		} else {
			atomic_fetch_add(&permits, (int)n);
			/* Larger than the limit: always refused, must disturb nobody. */
			HOST_CHECK_EQ(memcg_charge(owner_of(leaf[k % 4]), LIMIT + 1, MEMCG_ANON,
						   CHARGE_NOSLEEP), -ENOMEM);
			atomic_fetch_add(&denied, 1);
		}
		if (i % 64 == 0)
			cond_resched();
	}
	for (unsigned k = 0; k < 16; k++)
		if (have[k])
			memcg_uncharge(owner_of(leaf[from[k]]), have[k], MEMCG_ANON);
	atomic_fetch_sub(&running, 1);
}

static void permits_body(void)
{
	struct memcg *top;
	static const char names[4][2] = { "0", "1", "2", "3" };

	start();
	top = make(memcg_root, "top", true);
	limited = make(top, "limited", true);
	for (int i = 0; i < 4; i++) {
		leaf[i] = make(limited, names[i], false);
		memcg_user_get(owner_of(leaf[i]));
	}
	memcg_set_max(limited, LIMIT);
	memcg_set_max(leaf[3], LIMIT);
	atomic_store(&permits, LIMIT);
	parallel(with_permits);
	for (int i = 0; i < 4; i++)
		memcg_user_put(owner_of(leaf[i]));
	expect_empty(top);
	HOST_CHECK(atomic_load(&memcg_account(limited)->events[MEMCG_EV_MAX]) +
		   atomic_load(&memcg_account(leaf[3])->events_local[MEMCG_EV_MAX]) ==
		   (uint64_t)atomic_load(&denied) +
		   atomic_load(&memcg_account(leaf[3])->events_local[MEMCG_EV_MAX]));
	HOST_CHECK_EQ(atomic_load(&memcg_exact_unsure), 0);
}

static void test_no_false_refusal(void **state)
{
	preset = "tally";
	assert_int_equal(host_run(1, permits_body), 0);
	assert_int_equal(host_run(2, permits_body), 0);
	assert_int_equal(host_run(6, permits_body), 0);
}

/* The last real page, with every CPU and many groups holding stock. */
static struct memcg *many[20];
static void hold_stock(void *arg)
{
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++) {
		HOST_CHECK_EQ(memcg_charge(owner_of(many[i]), 1, MEMCG_SOCK, 0), 0);
		memcg_uncharge(owner_of(many[i]), 1, MEMCG_SOCK);
	}
	atomic_fetch_sub(&running, 1);
}

static void last_page_body(void)
{
	struct memcg *top;
	struct owner *o;
	char name[8];
	int64_t n;

	start();
	top = make(memcg_root, "top", true);
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++) {
		snprintf(name, sizeof(name), "%u", i);
		many[i] = make(top, name, false);
		memcg_user_get(owner_of(many[i]));
	}
	parallel(hold_stock);
	HOST_CHECK(usage(top) > 1000);
	memcg_set_limit(top, PC_MAX, 1000);
	o = owner_of(many[7]);
	for (n = 0; n < 1000; n++)
		HOST_CHECK_EQ(memcg_charge(o, 1, MEMCG_ANON, CHARGE_NOSLEEP), 0);
	HOST_CHECK_EQ(memcg_charge(o, 1, MEMCG_ANON, CHARGE_NOSLEEP), -ENOMEM);
	HOST_CHECK_EQ(usage(top), 1000);
	HOST_CHECK_EQ(memcg_charge(o, 1, MEMCG_ANON, CHARGE_NOFAIL), 0);
	HOST_CHECK_EQ(usage(top), 1001);
	for (n = 0; n < 1001; n++)
		memcg_uncharge(o, 1, MEMCG_ANON);
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++)
		memcg_user_put(owner_of(many[i]));
	expect_empty(top);
}

static void test_last_page(void **state)
{
	preset = "tally";
	assert_int_equal(host_run(8, last_page_body), 0);
}

/* ---- removal ---- */

static struct memcg *victims[8];
static struct owner *victim_owner[8];
static _Atomic int stop;

static void charge_removed(void *arg)
{
	uint64_t rnd = (uintptr_t)arg + 3;
	unsigned n[8] = { 0 };

	while (!atomic_load(&stop)) {
		unsigned k = host_random(&rnd) % 8;

		if (n[k] < 50 && host_random(&rnd) % 2) {
			HOST_CHECK_EQ(memcg_charge_bytes(victim_owner[k], 5000, MEMCG_SLAB, 0), 0);
			n[k]++;
		} else if (n[k]) {
			memcg_uncharge_bytes(victim_owner[k], 5000, MEMCG_SLAB);
			n[k]--;
		}
		if (host_random(&rnd) % 64 == 0)
			yield_cpu();
	}
	for (unsigned k = 0; k < 8; k++)
		while (n[k]--)
			memcg_uncharge_bytes(victim_owner[k], 5000, MEMCG_SLAB);
	atomic_fetch_sub(&running, 1);
}

static struct memcg *remove_top;
static void removal_body(void)
{
	char name[8];

	start();
	remove_top = make(memcg_root, "top", true);
	for (unsigned round = 0; round < 20; round++) {
		atomic_store(&stop, 0);
		for (unsigned k = 0; k < 8; k++) {
			snprintf(name, sizeof(name), "%u", k);
			/* 0/1/2/3 nested, the others beside each other */
			victims[k] = make(k && k < 4 ? victims[k - 1] : remove_top, name, k < 3);
			victim_owner[k] = owner_of(victims[k]);
			owner_get(victim_owner[k]);
			memcg_user_get(victim_owner[k]);
		}
		atomic_store(&running, (int)nr_cpus);
		for_each_cpu(c) {
			struct thread *t = thread_create("w", charge_removed, (void *)(uintptr_t)c,
							 (int)c);

			thread_start(t);
			thread_put(t);
		}
		thread_sleep_until(clock_ns() + 2 * NSEC_PER_MSEC, false);
		for (unsigned k = 8; k-- > 0;)
			HOST_CHECK_EQ(memcg_remove(victims[k]), 0);
		HOST_CHECK_EQ(remove_top->nr_descendants, 0);
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
		atomic_store(&stop, 1);
		while (atomic_load(&running))
			thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
		for (unsigned k = 0; k < 8; k++) {
			memcg_user_put(victim_owner[k]);
			owner_put(victim_owner[k]);
		}
		expect_empty(remove_top);
	}
	HOST_CHECK_EQ(memcg_remove(remove_top), 0);
}

static void test_removal(void **state)
{
	run_presets(4, removal_body);
}

#define NEST 1000
static void nested_body(void)
{
	static struct memcg *m[NEST];
	struct owner *o;

	start();
	remove_top = make(memcg_root, "top", true);
	for (int i = 0; i < NEST; i++)
		m[i] = make(i ? m[i - 1] : remove_top, "x", i < NEST - 1);
	o = owner_of(m[NEST - 1]);
	HOST_CHECK_EQ(memcg_charge(o, 1, MEMCG_FILE, 0), 0);
	for (int i = NEST - 1; i >= 0; i--)
		HOST_CHECK_EQ(memcg_remove(m[i]), 0);
	HOST_CHECK_EQ(usage(remove_top), 1);
	HOST_CHECK_EQ(remove_top->nr_descendants, 0);
	memcg_uncharge(o, 1, MEMCG_FILE);
	expect_empty(remove_top);
	rcu_barrier();
	/* Only the top group's owner is left, and what this CPU's entries still name. */
	HOST_CHECK(atomic_load(&owners_alive) <= 1 + STOCK_ENTRIES);
	HOST_CHECK_EQ(memcg_remove(remove_top), 0);
}

static void test_nested_removal(void **state)
{
	run_presets(2, nested_body);
}

/* Create, charge, remove for long: nothing may grow. */
static void cycles_body(void)
{
	start();
	for (int i = 0; i < 20000; i++) {
		struct memcg *m = make(memcg_root, "m", false);
		struct owner *o = owner_of(m);

		memcg_user_get(o);
		HOST_CHECK_EQ(memcg_charge(o, 3, MEMCG_ANON, 0), 0);
		memcg_uncharge(o, 3, MEMCG_ANON);
		memcg_user_put(o);
		HOST_CHECK_EQ(usage(m), 0);
		HOST_CHECK_EQ(memcg_remove(m), 0);
		if (i % 64 == 0)
			cond_resched();
	}
	rcu_barrier();
	HOST_CHECK(atomic_load(&owners_alive) <= STOCK_ENTRIES * (long)nr_cpus);
}

static void test_cycles(void **state)
{
	run_presets(2, cycles_body);
}

/* ---- controllers switched on and off over living charges ---- */

static void control_body(void)
{
	struct memcg *a, *b;
	struct owner *o;

	start();
	a = make(memcg_root, "a", false);
	b = make(a, "b", false);
	HOST_CHECK(!memcg_account(b));
	HOST_CHECK(owner_of(b) == owner_of(a));
	o = owner_of(b);
	HOST_CHECK_EQ(memcg_charge(o, 7, MEMCG_ANON, 0), 0);
	HOST_CHECK_EQ(memcg_control(a, MEMCG_CTL_MEMORY, 0), 0);
	HOST_CHECK(owner_of(b) != owner_of(a));
	HOST_CHECK_EQ(usage(b), 0);
	HOST_CHECK_EQ(memcg_charge(owner_of(b), 5, MEMCG_ANON, 0), 0);
	HOST_CHECK_EQ(usage(b), 5);
	HOST_CHECK_EQ(usage(a), 12);
	o = owner_of(b);
	HOST_CHECK_EQ(memcg_control(memcg_root, 0, MEMCG_CTL_MEMORY), -EBUSY);
	HOST_CHECK_EQ(memcg_control(a, 0, MEMCG_CTL_MEMORY), 0);
	HOST_CHECK_EQ(memcg_control(b, MEMCG_CTL_MEMORY, 0), -ENOENT);
	HOST_CHECK_EQ(usage(a), 12);
	memcg_uncharge(o, 5, MEMCG_ANON);
	memcg_uncharge(owner_of(a), 7, MEMCG_ANON);
	expect_empty(a);
	HOST_CHECK_EQ(memcg_remove(a), -EBUSY);
	HOST_CHECK_EQ(memcg_remove(b), 0);
	HOST_CHECK_EQ(memcg_remove(a), 0);
}

static void test_control(void **state)
{
	run_presets(1, control_body);
}

/* ---- sockets ---- */

static void sockets_body(void)
{
	struct memcg *a, *b;
	struct sock_mem m, n;
	int64_t st[NR_MEMCG_STATS];

	start();
	a = make(memcg_root, "a", false);
	b = make(memcg_root, "b", false);
	sock_mem_init(&m, owner_of(a));
	sock_mem_init(&n, NULL);
	HOST_CHECK_EQ(sock_mem_headroom(&n), SIZE_MAX);
	HOST_CHECK_EQ(sock_mem_charge(&n, 100000, 0), 0);
	sock_mem_uncharge(&n, 100000);
	HOST_CHECK_EQ(sock_mem_charge(&m, 10000, 0), 0);
	HOST_CHECK_EQ(m.charged, 3 * 4096);
	HOST_CHECK_EQ(m.credit, 3 * 4096 - 10000);
	HOST_CHECK_EQ(sock_mem_charge(&m, 2000, 0), 0);
	HOST_CHECK_EQ(m.charged, 3 * 4096);
	memcg_stat_read(memcg_account(a), st);
	HOST_CHECK_EQ(st[MEMCG_SOCK], 3 * 4096);
	/* A busy socket may keep some credit, an idle one keeps none. */
	HOST_CHECK_EQ(sock_mem_charge(&m, 60000, 0), 0);
	sock_mem_uncharge(&m, 60000);
	HOST_CHECK_EQ(sock_mem_used(&m), 12000);
	HOST_CHECK(m.charged <= (3 + 33) * 4096);
	sock_mem_uncharge(&m, 12000);
	HOST_CHECK_EQ(m.charged, 0);
	HOST_CHECK_EQ(sock_mem_charge(&m, 12000, 0), 0);
	sock_mem_move(&m, owner_of(b));
	HOST_CHECK_EQ(sock_mem_used(&m), 12000);
	expect_empty(a);
	sock_mem_uncharge(&m, 12000);
	memcg_set_max(b, 4);
	HOST_CHECK_EQ(sock_mem_charge(&m, 12000, CHARGE_NOSLEEP), 0);
	HOST_CHECK(sock_mem_headroom(&m) <= 4096);
	HOST_CHECK_EQ(sock_mem_charge(&m, 5000, CHARGE_NOSLEEP), -ENOMEM);
	HOST_CHECK_EQ(sock_mem_used(&m), 12000);
	HOST_CHECK_EQ(sock_mem_charge(&m, 4300, CHARGE_NOSLEEP), 0);
	HOST_CHECK_EQ(m.credit, 4 * 4096 - 16300);
	HOST_CHECK(sock_mem_pressure(&m));
	HOST_CHECK_EQ(sock_mem_charge(&m, 5000, CHARGE_NOFAIL), 0);
	HOST_CHECK_EQ(m.charged, 6 * 4096);
	sock_mem_uncharge(&m, 5000);
	HOST_CHECK_EQ(m.charged, 4 * 4096);
	sock_mem_count_dropped(&m);
	HOST_CHECK_EQ(atomic_load(&memcg_account(b)->events[MEMCG_EV_SOCK_DROPPED]), 1);
	/* The group goes, the socket stays: its charge counts above. */
	HOST_CHECK_EQ(memcg_remove(b), 0);
	HOST_CHECK_EQ(sock_mem_charge(&m, 100, 0), 0);
	HOST_CHECK_EQ(account_usage(root_account), memcg_config.root ? 5 : 0);
	sock_mem_uncharge(&m, 100);
	sock_mem_uncharge(&m, 16300);
	HOST_CHECK_EQ(m.charged, 0);
	sock_mem_destroy(&m);
	HOST_CHECK_EQ(account_usage(root_account), 0);
	HOST_CHECK_EQ(memcg_remove(a), 0);
}

static void test_sockets(void **state)
{
	run_presets(2, sockets_body);
}

/* memcg=off: groups exist, accept limits, count nothing. */
static void off_body(void)
{
	struct memcg *a, *b;
	struct sock_mem m;

	start();
	HOST_CHECK(!memcg_enabled());
	a = make(memcg_root, "a", true);
	b = make(a, "b", false);
	HOST_CHECK(!owner_of(b));
	memcg_set_max(b, 1);
	sock_mem_init(&m, owner_of(b));
	HOST_CHECK_EQ(sock_mem_charge(&m, 1 << 20, 0), 0);
	HOST_CHECK_EQ(sock_mem_used(&m), 1 << 20);
	sock_mem_uncharge(&m, 1 << 20);
	sock_mem_destroy(&m);
	HOST_CHECK_EQ(memcg_charge(owner_of(b), 5, MEMCG_ANON, 0), 0);
	HOST_CHECK_EQ(usage(b), 0);
	HOST_CHECK_EQ(stock_counter(SC_charged_pages), 0);
	HOST_CHECK_EQ(memcg_remove(b), 0);
	HOST_CHECK_EQ(memcg_remove(a), 0);
}

static void test_off(void **state)
{
	preset = "off";
	assert_int_equal(host_run(2, off_body), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters),       cmocka_unit_test(test_churn),
		cmocka_unit_test(test_no_false_refusal), cmocka_unit_test(test_last_page),
		cmocka_unit_test(test_removal),        cmocka_unit_test(test_nested_removal),
		cmocka_unit_test(test_cycles),         cmocka_unit_test(test_control),
		cmocka_unit_test(test_sockets),        cmocka_unit_test(test_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
