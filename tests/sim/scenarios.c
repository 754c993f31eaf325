/* SPDX-License-Identifier: MIT */
/*
 * What is explored: small scenarios on 2 to 4 CPUs, and what must hold in them.
 *
 * Before every access, for the limited group (bytes):
 *   surely in use <= usage <= possibly in use + held by stocks + in limbo + remainders
 * where a charge is possibly in use from its call on and surely from its return, the
 * other way round for giving back; no more is held than memory.error says; no more is
 * surely in use than the limit allows.  At the end everything is exactly zero.
 */
#include <stdio.h>
#include <string.h>

#include "arch/sim/explorer.h"
#include "arch/sim/sim.h"
#include "kernel/log.h"
#include "kernel/plant.h"
#include "mm/memcg_tree.h"
#include "mm/stock.h"
#include "tests/sim/scenarios.h"

#define MAX_EXPLORED 4
#define LIMIT  12 /* pages */
#define LEAVES 3  /* one more than a CPU's stock has entries (mk/sim.mk) */
static struct memcg *top, *limited, *leaf[LEAVES];
static struct owner *owner[LEAVES];
static int64_t surely, possibly; /* bytes below `limited` */
static int permits;              /* pages that may still be charged with a promise */

static const struct scenario *now;
static uint64_t seed;
static bool failed;

static void fail(const char *what, long long a, long long b)
{
	if (!failed)
		fprintf(stderr, "FAIL %s seed %llu step %llu: %s (%lld, %lld)\n", now->name,
			(unsigned long long)seed, (unsigned long long)explore_steps(), what, a, b);
	failed = true;
}

/* Bytes that CPUs hold in their stocks. */
static int64_t amounts(void)
{
	int64_t sum = 0;

	for_each_cpu(c) {
		struct stock_table *t = per_cpu(stock_cpu, c).table;

		for (unsigned i = 0; i < STOCK_ENTRIES; i++)
			if (t->owners[i])
				sum += (int64_t)(t->entries[i].word & WORD_AMOUNT);
	}
	return sum;
}

/* Bytes in limbo, at most, and in remainders. */
static int64_t on_the_way(void)
{
	int64_t sum = 0;

	for_each_cpu(c) {
		struct stock_cpu *s = &per_cpu(stock_cpu, c);

		if (s->limbo)
			sum += (int64_t)s->limbo_pages * (int64_t)PAGE_SIZE;
	}
	for (unsigned i = 0; i < LEAVES; i++)
		if (owner[i])
			sum += owner[i]->remainder;
	return sum;
}

/* CPUs that hold stock of leaf 2, which nobody may call in (scenario independence). */
static bool keeps[MAX_EXPLORED];

static void check_keeps(void)
{
	for_each_cpu(c) {
		struct stock_table *t = per_cpu(stock_cpu, c).table;
		bool open = false;

		for (unsigned i = 0; i < STOCK_ENTRIES; i++)
			open |= t->owners[i] == owner[2] && !(t->entries[i].word & WORD_CLOSED);
		if (keeps[c] && !open)
			fail("another group's stock was called in", c, 0);
	}
}

static void check(void)
{
	struct account *a = memcg_account(limited);
	int64_t usage = account_usage(a) * (int64_t)PAGE_SIZE, way = on_the_way();

	if (usage < surely)
		fail("usage below what is in use", usage, surely);
	if (usage > possibly + amounts() + way)
		fail("usage above in use + held back", usage, possibly + amounts() + way);
	if (usage > possibly + way && usage > possibly + (int64_t)stock_bound(a) + way)
		fail("more held back than memory.error", usage - possibly - way,
		     (int64_t)stock_bound(a));
	if (now->most && surely > now->most * (int64_t)PAGE_SIZE)
		fail("more in use than may be", surely, now->most);
	if (now->flags & SCENARIO_BESIDE)
		check_keeps();
	if (sim_warnings)
		fail("warning", sim_warnings, 0);
}

/* One charge of @bytes; @promised: it must be granted. */
static bool charge_flags(struct owner *o, uint64_t bytes, bool promised, unsigned flags)
{
	int err;

	possibly += (int64_t)bytes;
	err = memcg_charge_bytes(o, bytes, MEMCG_SOCK, flags);
	if (err)
		possibly -= (int64_t)bytes;
	else
		surely += (int64_t)bytes;
	if (err && promised)
		fail("charge refused with room to spare", (long long)bytes, permits);
	return !err;
}

static bool charge(struct owner *o, uint64_t bytes, bool promised)
{
	return charge_flags(o, bytes, promised, CHARGE_NOSLEEP);
}

static void give_back(struct owner *o, uint64_t bytes)
{
	surely -= (int64_t)bytes;
	memcg_uncharge_bytes(o, bytes, MEMCG_SOCK);
	possibly -= (int64_t)bytes;
}

static bool take_permits(int n)
{
	if (permits < n)
		return false;
	permits -= n;
	return true;
}

/* ---- scenarios ---- */

#define OPS 14

/* Charges with permits are granted, whoever holds stock; too large ones disturb nobody. */
static void promise(unsigned cpu)
{
	uint64_t rnd = sim_cpus[cpu].rnd;
	struct { struct owner *o; int n; } have[4] = { 0 };

	for (unsigned i = 0; i < OPS; i++) {
		unsigned k = sim_random(&rnd) % 4;
		int n = 1 + (int)(sim_random(&rnd) % 3);

		if (have[k].o) {
			give_back(have[k].o, (uint64_t)have[k].n * PAGE_SIZE);
			permits += have[k].n;
			have[k].o = NULL;
		} else if (sim_random(&rnd) % 8 == 0) {
			charge(owner[sim_random(&rnd) % 2], (LIMIT + 1) * PAGE_SIZE, false);
		} else if (take_permits(n)) {
			have[k].o = owner[sim_random(&rnd) % LEAVES];
			have[k].n = n;
			if (!charge(have[k].o, (uint64_t)n * PAGE_SIZE, true)) {
				permits += n;
				have[k].o = NULL;
			}
		}
	}
	for (unsigned k = 0; k < 4; k++)
		if (have[k].o)
			give_back(have[k].o, (uint64_t)have[k].n * PAGE_SIZE);
}

/* Bytes: the remainders find together again. */
static void pieces(unsigned cpu)
{
	uint64_t rnd = sim_cpus[cpu].rnd;
	uint64_t have[3] = { 0 };
	struct owner *of[3];

	for (unsigned i = 0; i < OPS; i++) {
		unsigned k = sim_random(&rnd) % 3;

		if (have[k]) {
			give_back(of[k], have[k]);
			have[k] = 0;
			continue;
		}
		have[k] = 1 + sim_random(&rnd) % 6000;
		of[k] = owner[sim_random(&rnd) % LEAVES];
		if (!charge(of[k], have[k], false))
			have[k] = 0;
	}
	for (unsigned k = 0; k < 3; k++)
		if (have[k])
			give_back(of[k], have[k]);
}

/* CPU 0 moves the limit, the others charge. */
static void limits(unsigned cpu)
{
	uint64_t rnd = sim_cpus[cpu].rnd;

	if (cpu) {
		pieces(cpu);
		return;
	}
	for (unsigned i = 0; i < 5; i++)
		memcg_set_max(limited, sim_random(&rnd) % 20);
}

/* CPU 0 removes the group that the others charge. */
static void removal(unsigned cpu)
{
	if (cpu) {
		pieces(cpu);
		return;
	}
	if (memcg_remove(leaf[0]))
		fail("group not removed", 0, 0);
	if (memcg_remove(leaf[1]))
		fail("group not removed", 1, 0);
}

/* The last user leaves while others give back: nothing may stay behind. */
static void leaving(unsigned cpu)
{
	struct owner *o = owner[cpu % 2];

	if (charge(o, 3 * PAGE_SIZE, false))
		give_back(o, 3 * PAGE_SIZE);
	if (charge(o, 5000, false)) {
		memcg_user_put(o);
		give_back(o, 5000);
	} else {
		memcg_user_put(o);
	}
}

/* A walk that fails higher up must not refuse a small charge below (LIMIT pages fit there). */
static void levels(unsigned cpu)
{
	if (cpu == 0) {
		/* Fits below `limited`, not below `top`. */
		charge(owner[0], 10 * PAGE_SIZE, false);
		charge(owner[0], 11 * PAGE_SIZE, false);
		return;
	}
	for (unsigned i = 0; i < 4; i++)
		if (charge(owner[1], 2 * PAGE_SIZE, true))
			give_back(owner[1], 2 * PAGE_SIZE);
}

/* Charges that will fail higher up come and go while small ones, which fit, are settled. */
static void undecided(unsigned cpu)
{
	for (unsigned i = 0; i < 6; i++) {
		if (cpu == 0)
			charge(owner[0], 11 * PAGE_SIZE, false);
		else if (charge(owner[1], 2 * PAGE_SIZE, true))
			give_back(owner[1], 2 * PAGE_SIZE);
	}
}

/*
 * What an interrupt brings waits for the thread, which charges it: handlers charge nothing
 * (mm/stock.h).  Planted, the handler charges at once, in the middle of whatever it meets.
 */
static struct {
	unsigned waiting, charged; /* pages */
} arrived[MAX_EXPLORED];

static void interrupt(unsigned cpu)
{
	if (arrived[cpu].waiting + arrived[cpu].charged >= 3 || !take_permits(1))
		return;
	if (!PLANTED(IRQ_CHARGES))
		arrived[cpu].waiting++;
	else if (charge(owner[cpu % 2], PAGE_SIZE, true))
		arrived[cpu].charged++;
	else
		permits++;
}

static void receive(unsigned cpu)
{
	while (arrived[cpu].waiting) {
		arrived[cpu].waiting--;
		if (charge(owner[cpu % 2], PAGE_SIZE, true))
			arrived[cpu].charged++;
		else
			permits++;
	}
	while (arrived[cpu].charged) {
		arrived[cpu].charged--;
		give_back(owner[cpu % 2], PAGE_SIZE);
		permits++;
	}
}

static void interrupts(unsigned cpu)
{
	for (unsigned i = 0; i < OPS; i++) {
		if (take_permits(2)) {
			if (charge(owner[cpu % 2], 2 * PAGE_SIZE, true))
				give_back(owner[cpu % 2], 2 * PAGE_SIZE);
			permits += 2;
		}
		receive(cpu);
	}
	explore_interrupts(NULL); /* on no CPU from here on: what has come is received */
	receive(cpu);
}

/* A socket with nothing queued may take one page past the limit, no more. */
static void overrun(unsigned cpu)
{
	struct owner *o = owner[cpu % 2];

	for (unsigned i = 0; i < 6; i++) {
		if (charge(o, 5 * PAGE_SIZE, false)) {
			give_back(o, 5 * PAGE_SIZE);
		} else {
			charge_flags(o, PAGE_SIZE, true, CHARGE_NOFAIL | CHARGE_NOSLEEP);
			give_back(o, PAGE_SIZE);
		}
	}
}

/* Two CPUs drive `limited` into its limit; what all hold for the group beside it stays. */
static void independence(unsigned cpu)
{
	for (unsigned i = 0; i < 6; i++) {
		if (memcg_charge(owner[2], 1, MEMCG_SOCK, CHARGE_NOSLEEP))
			fail("charge without a limit refused", cpu, 0);
		memcg_uncharge(owner[2], 1, MEMCG_SOCK);
		keeps[cpu] = true;
		if (cpu == 2)
			continue;
		charge(owner[cpu], (LIMIT + 1) * PAGE_SIZE, false);
		if (charge(owner[cpu], 7 * PAGE_SIZE, false))
			give_back(owner[cpu], 7 * PAGE_SIZE);
	}
}

/* In the order of the columns: see scenarios.h. */
const struct scenario scenarios[] = {
	{ "promise", promise, 3, LIMIT, 0, LIMIT, 0, NULL },
	{ "pieces", pieces, 3, 0, 0, 0, 0, NULL },
	{ "limits", limits, 3, LIMIT, 0, 0, 0, NULL },
	{ "removal", removal, 3, 0, 0, 0, SCENARIO_REMOVES, NULL },
	{ "leaving", leaving, 4, 0, 0, 0, SCENARIO_LEAVES, NULL },
	{ "levels", levels, 3, LIMIT, 9, 9, 0, NULL },
	{ "undecided", undecided, 2, LIMIT, 9, 9, 0, NULL },
	{ "overrun", overrun, 3, LIMIT, 0, LIMIT + 3, 0, NULL },
	{ "independence", independence, 3, LIMIT, 0, LIMIT, SCENARIO_BESIDE, NULL },
	{ "interrupts", interrupts, 3, LIMIT, 0, LIMIT, 0, interrupt },
};
const unsigned nr_scenarios = ARRAY_SIZE(scenarios);

static void set_up(void)
{
	static const char *const batches[] = { "1", "2", "4", "adaptive" };
	uint64_t rnd = seed * 77 + 5;

	memcg_config_preset("tally");
	memcg_config_set("memcg.batch", batches[sim_random(&rnd) % 4]);
	if (sim_random(&rnd) % 2)
		memcg_config_set("memcg.layout", "packed");
	memcg_init();
	memcg_control(memcg_root, MEMCG_CTL_MEMORY, 0);
	top = memcg_create(memcg_root, "top");
	memcg_control(top, MEMCG_CTL_MEMORY, 0);
	limited = memcg_create(top, "limited");
	memcg_control(limited, MEMCG_CTL_MEMORY, 0);
	for (unsigned i = 0; i < LEAVES; i++) {
		static const char *const names[LEAVES] = { "0", "1", "2" };

		leaf[i] = memcg_create(i == 2 && now->flags & SCENARIO_BESIDE ? top : limited,
				       names[i]);
		owner[i] = leaf[i]->owner;
		owner_get(owner[i]);
	}
	if (now->flags & SCENARIO_LEAVES) {
		for_each_cpu(c)
			memcg_user_get(owner[c % 2]);
	} else {
		for (unsigned i = 0; i < LEAVES; i++)
			memcg_user_get(owner[i]);
	}
	if (now->limit)
		memcg_set_max(limited, now->limit);
	if (now->top_limit)
		memcg_set_max(top, now->top_limit);
	permits = LIMIT;
	surely = possibly = 0;
}

static void finish(void)
{
	int64_t st[NR_MEMCG_STATS];

	if (!(now->flags & SCENARIO_LEAVES)) {
		for (unsigned i = 0; i < LEAVES; i++)
			memcg_user_put(owner[i]);
	}
	if (account_usage(memcg_account(top)) || account_usage(memcg_account(limited)))
		fail("usage left", account_usage(memcg_account(top)),
		     account_usage(memcg_account(limited)));
	memcg_stat_read(memcg_account(top), st);
	if (st[MEMCG_SOCK])
		fail("statistics left", st[MEMCG_SOCK], 0);
	for (unsigned i = 0; i < LEAVES; i++) {
		if (!(now->flags & SCENARIO_REMOVES) && account_usage(memcg_account(leaf[i])))
			fail("usage left in a leaf", account_usage(memcg_account(leaf[i])), i);
		if (owner[i]->remainder)
			fail("remainder left", owner[i]->remainder, i);
	}
	for (unsigned i = 0; i < LEAVES; i++)
		owner_put(owner[i]);
	if (limited->owner->freed || limited->owner->refs < 1)
		fail("the owner of a live group has lost its reference", limited->owner->refs, 0);
	for_each_cpu(c)
		if (per_cpu(stock_cpu, c).limbo)
			fail("limbo left open", c, 0);
	if (memcg_account(limited)->pressure || memcg_account(top)->pressure)
		fail("pressure left up", 0, 0);
}

bool run_scenario(const struct scenario *s, uint64_t which)
{
	now = s;
	seed = which;
	failed = false;
	sim_warnings = 0;
	sim_reset(s->cpus, SIM_EXPLORE, NULL, which);
	memset(arrived, 0, sizeof(arrived));
	memset(keeps, 0, sizeof(keeps));
	set_up();
	explore_begin(which, which % 4 != 3, check);
	explore_interrupts(s->irq);
	sim_run(s->fn);
	memset(keeps, 0, sizeof(keeps));
	finish();
	return !failed;
}
