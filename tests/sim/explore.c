/* SPDX-License-Identifier: MIT */
/*
 * Schedule exploration of the accounting core: small scenarios on 2 to 4 CPUs under
 * many schedules, with store buffers, the invariants looked at before every access.
 *
 *   explore --seeds N [--from S]   seeds S .. S+N-1 of every scenario
 *   explore --seconds N            as many seeds as fit, each scenario its share
 *   explore --seed S --scenario X  one run again
 *
 * Invariants at every step, for the limited group (bytes):
 *   surely in use <= usage <= possibly in use + held by stocks + in limbo + remainders
 * where a charge is possibly in use from its call on and surely from its return,
 * the other way round for giving back.  At the end everything is exactly zero.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/sim/explorer.h"
#include "arch/sim/sim.h"
#include "kernel/log.h"
#include "kernel/plant.h"
#include "mm/memcg_tree.h"
#include "mm/stock.h"

#define MAX_EXPLORED 4
#define LIMIT        12 /* pages */

extern int sim_warnings;

static uint64_t seed;
static const char *scenario_name;
#define LEAVES 3 /* one more than a CPU's stock has entries (mk/sim.mk) */
static struct memcg *top, *limited, *leaf[LEAVES];
static struct owner *owner[LEAVES];
static int64_t surely, possibly; /* bytes below `limited` */
static int permits;              /* pages that may still be charged with a promise */
static bool failed;

static void fail(const char *what, long long a, long long b)
{
	if (!failed)
		fprintf(stderr, "FAIL %s seed %llu step %llu: %s (%lld, %lld)\n", scenario_name,
			(unsigned long long)seed, (unsigned long long)explore_steps(), what, a, b);
	failed = true;
}

static int64_t held_back(void)
{
	int64_t sum = 0;

	for_each_cpu(c) {
		struct stock_cpu *s = &per_cpu(stock_cpu, c);

		for (unsigned i = 0; i < STOCK_ENTRIES; i++)
			if (s->table->owners[i])
				sum += (int64_t)(s->table->entries[i].word & WORD_AMOUNT);
		if (s->limbo)
			sum += (int64_t)s->limbo_pages * (int64_t)PAGE_SIZE;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(owner); i++)
		if (owner[i])
			sum += owner[i]->remainder;
	return sum;
}

static void check(void)
{
	int64_t usage = account_usage(memcg_account(limited)) * (int64_t)PAGE_SIZE;

	if (usage < surely)
		fail("usage below what is in use", usage, surely);
	if (usage > possibly + held_back())
		fail("usage above in use + held back", usage, possibly + held_back());
	if (sim_warnings)
		fail("warning", sim_warnings, 0);
}

/* One charge of @bytes; @promised: it must be granted. */
static bool charge(struct owner *o, uint64_t bytes, bool promised)
{
	int err;

	possibly += (int64_t)bytes;
	err = memcg_charge_bytes(o, bytes, MEMCG_SOCK, CHARGE_NOSLEEP);
	if (err)
		possibly -= (int64_t)bytes;
	else
		surely += (int64_t)bytes;
	if (err && promised)
		fail("charge refused with room to spare", (long long)bytes, permits);
	return !err;
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

static const struct scenario {
	const char *name;
	void (*fn)(unsigned cpu);
	unsigned cpus;
	int limit, top_limit; /* pages; 0: none */
	bool users_left;      /* the scenario gives up its users itself */
	bool removed;
	void (*irq)(unsigned cpu);
} scenarios[] = {
	{ "promise", promise, 3, LIMIT, 0, false, false, NULL },
	{ "pieces", pieces, 3, 0, 0, false, false, NULL },
	{ "limits", limits, 3, LIMIT, 0, false, false, NULL },
	{ "removal", removal, 3, 0, 0, false, true, NULL },
	{ "leaving", leaving, 4, 0, 0, true, false, NULL },
	{ "levels", levels, 3, LIMIT, 9, false, false, NULL },
	{ "undecided", undecided, 2, LIMIT, 9, false, false, NULL },
	{ "interrupts", interrupts, 3, LIMIT, 0, false, false, interrupt },
};

static const struct scenario *now;

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

		leaf[i] = memcg_create(limited, names[i]);
		owner[i] = leaf[i]->owner;
		owner_get(owner[i]);
	}
	if (now->users_left) {
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

	if (!now->users_left) {
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
		if (!now->removed && account_usage(memcg_account(leaf[i])))
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

static bool run_one(const struct scenario *s, uint64_t which)
{
	now = s;
	seed = which;
	scenario_name = s->name;
	failed = false;
	sim_warnings = 0;
	sim_reset(s->cpus, SIM_EXPLORE, NULL, which);
	set_up();
	memset(arrived, 0, sizeof(arrived));
	explore_begin(which, which % 4 != 3, check);
	explore_interrupts(s->irq);
	sim_run(s->fn);
	finish();
	return !failed;
}

#ifdef TALLY_PLANT
enum plant planted;

static const struct {
	const char *scenario, *what;
} plants[NR_PLANTS] = {
#define X(name, scenario, what) [PLANT_##name] = { scenario, what },
	PLANTS(X)
#undef X
};

/* Seeds of the fault's scenario, or all, until one fails.  In a process of its own: it may crash. */
static void search(unsigned seconds)
{
	const char *only = plants[planted].scenario;
	time_t end = time(NULL) + seconds;

	for (uint64_t s = 1; time(NULL) < end; s++)
		for (unsigned i = 0; i < ARRAY_SIZE(scenarios); i++) {
			if (only && strcmp(only, scenarios[i].name))
				continue;
			alarm(20); /* a schedule that never ends is a finding, too */
			if (!run_one(&scenarios[i], s)) {
				printf("     found by --fault %d --scenario %s --seed %llu\n", planted,
				       scenarios[i].name, (unsigned long long)s);
				fflush(stdout);
				_exit(1);
			}
		}
	_exit(0);
}

/* Each planted fault must be found within @seconds.  Return: how many were not. */
static unsigned find_faults(unsigned seconds)
{
	unsigned missed = 0;

	if (!freopen("/dev/null", "w", stderr))
		return NR_PLANTS;
	for (unsigned p = 0; p < NR_PLANTS; p++) {
		int status = 0;
		pid_t child;
		bool ok;

		planted = (enum plant)p;
		fflush(stdout);
		child = fork();
		if (!child)
			search(p ? seconds : 3);
		waitpid(child, &status, 0);
		/* Without a fault nothing may be found. */
		ok = p ? status != 0 : status == 0;
		printf("%s %s%s\n", ok ? "ok  " : "FAIL", p ? plants[p].what : "no fault",
		       WIFSIGNALED(status) ? " (crash)" : "");
		missed += !ok;
	}
	printf("%u passed, %u failed\n", NR_PLANTS - missed, missed);
	return missed;
}
#endif

int main(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "seeds", 1, 0, 'n' }, { "from", 1, 0, 'f' }, { "seed", 1, 0, 's' },
		{ "scenario", 1, 0, 'x' }, { "faults", 1, 0, 'p' },
		{ "fault", 1, 0, 'P' }, { "seconds", 1, 0, 't' }, { 0 },
	};
	uint64_t n = 2000, from = 1, steps = 0, seconds = 0, k;
	const char *only = NULL;
	unsigned bad = 0, good = 0;
	int c;

	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (c == 'n')
			n = strtoull(optarg, NULL, 0);
		else if (c == 'f')
			from = strtoull(optarg, NULL, 0);
		else if (c == 's') {
			from = strtoull(optarg, NULL, 0);
			n = 1;
		} else if (c == 't') {
			seconds = strtoull(optarg, NULL, 0);
			n = UINT64_MAX - from;
		} else if (c == 'x')
			only = optarg;
#ifdef TALLY_PLANT
		else if (c == 'p')
			return find_faults((unsigned)atoi(optarg)) != 0;
		else if (c == 'P')
			planted = (enum plant)atoi(optarg);
#endif
		else
			return 2;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(scenarios); i++) {
		time_t end = time(NULL) + (time_t)(seconds / (only ? 1 : ARRAY_SIZE(scenarios)));
		bool ok = true;

		if (only && strcmp(only, scenarios[i].name))
			continue;
		steps = 0;
		for (k = 0; k < n && ok && (!seconds || time(NULL) < end); k++) {
			ok = run_one(&scenarios[i], from + k);
			steps += explore_steps();
		}
		printf("%s %s: %llu schedules, %llu steps\n", ok ? "ok  " : "FAIL", scenarios[i].name,
		       (unsigned long long)k, (unsigned long long)steps);
		fflush(stdout);
		good += ok;
		bad += !ok;
	}
	printf("%u passed, %u failed\n", good, bad);
	return bad != 0;
}
