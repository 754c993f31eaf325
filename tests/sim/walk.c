/* SPDX-License-Identifier: MIT */
/*
 * The walk of reclaim on simulated machines: many CPUs, each reading a file that does
 * not fit into its group, so that it reclaims all the time; the lock around the look-up
 * of a group by id is the variable (memcg.walk).
 *
 * The groups are those of "experiment walk": one container with the limit per CPU, then
 * one group inside each, where the reader is; made in that order, so the ids between a
 * container and its inner group are all the others', and a walk by ids looks them all up,
 * as that of 2011 did.
 * Real: the walk (mm/memcg_walk.c), the table and its locks (mm/memcg_id.c), and mkdir
 * and rmdir of a CPU that does nothing else.
 * Modelled: reading and evicting the 32 pages of a round is a fixed time, moved at random
 * by 10 %.  Not modelled: anything else that CPUs share there.
 * Seconds are of the whole published job, 50 times 256 MiB per CPU.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/sim/sim.h"
#include "kernel/rcu.h"
#include "mm/memcg_tree.h"
#include "mm/memcg_walk.h"

#define ROUND_PAGES 32
#define JOB_ROUNDS  (50 * 65536 / ROUND_PAGES)
#define MKDIR_EVERY 200000 /* ns */
#define MAX_CPUS_   73

static const unsigned sizes[] = { 4, 8, 16, 24, 32, 40, 48, 56, 64, 72 };
static const char *const walks[] = { "spin", "rwlock", "rcu" };
enum { SPIN, RWLOCK, RCU, NR_WALKS };
#define PUBLISHED (1710.778 / 152.227)

static struct sim_machine machine;
static double page_ns = 1500;
static unsigned rounds = 20;
static FILE *json;

/* One run. */
static unsigned readers, running;
static struct account *top[MAX_CPUS_];
static _Atomic uint64_t position[MAX_CPUS_][CACHE_LINE / 8];
static uint64_t took[MAX_CPUS_], visited, looked, worst_mkdir, mkdirs;

static void read_file(unsigned cpu)
{
	uint64_t start = sim_now(), seed = cpu + 1;

	for (unsigned i = 0; i < rounds; i++) {
		double work = ROUND_PAGES * page_ns;
		struct memcg_walk w;

		rcu_read_lock();
		memcg_walk_begin(&w, top[cpu], &position[cpu][0]);
		while (memcg_walk_next(&w))
			visited++;
		rcu_read_unlock();
		work *= 0.9 + 0.2 * (double)(sim_random(&seed) % 1000) / 1000;
		sim_work((uint64_t)work);
	}
	took[cpu] = sim_now() - start;
	running--;
}

static void make_dirs(void)
{
	while (running) {
		uint64_t start = sim_now(), ns;
		struct memcg *m = memcg_create(memcg_root, "new");

		ns = sim_now() - start;
		worst_mkdir = ns > worst_mkdir ? ns : worst_mkdir;
		mkdirs++;
		if (IS_ERR(m) || memcg_remove(m))
			exit(1);
		memcg_put(m);
		sim_work(MKDIR_EVERY);
	}
}

static void body(unsigned cpu)
{
	if (cpu < readers)
		read_file(cpu);
	else
		make_dirs();
}

static struct memcg *make(struct memcg *parent, const char *name)
{
	struct memcg *m = memcg_create(parent, name);

	if (IS_ERR(m) || memcg_control(m, MEMCG_CTL_MEMORY, 0)) {
		fprintf(stderr, "sim: no group %s\n", name);
		exit(1);
	}
	return m;
}

struct outcome {
	double seconds;   /* the first reader's */
	double mkdir_us;  /* worst */
	double lookups;   /* per round */
	double transfers; /* of cache lines, per round */
};

static struct outcome simulate_walk(unsigned cpus, unsigned walk, uint64_t seed)
{
	struct sim_machine m = machine;
	struct memcg *container[MAX_CPUS_];
	struct outcome o;
	uint64_t first = UINT64_MAX;
	char name[16];

	m.cpus = cpus + 1; /* one makes directories */
	sim_reset(m.cpus, SIM_COST, &m, seed);
	readers = running = cpus;
	visited = worst_mkdir = mkdirs = 0;
	memset((void *)position, 0, sizeof(position));
	memcg_config_preset("tally");
	memcg_init();
	memcg_config_set("memcg.walk", walks[walk]);
	memcg_control(memcg_root, MEMCG_CTL_MEMORY, 0);
	for (unsigned i = 0; i < cpus; i++) {
		snprintf(name, sizeof(name), "c%u", i);
		container[i] = make(memcg_root, name);
		top[i] = memcg_account(container[i]);
	}
	for (unsigned i = 0; i < cpus; i++)
		make(container[i], "job");
	looked = memcg_lookup_count();
	sim_count(true);
	sim_run(body);
	sim_count(false);
	for (unsigned i = 0; i < cpus; i++)
		first = took[i] < first ? took[i] : first;
	o.seconds = (double)first / rounds * JOB_ROUNDS / 1e9;
	o.mkdir_us = (double)worst_mkdir / 1e3;
	o.lookups = (double)(memcg_lookup_count() - looked) / rounds / cpus;
	o.transfers = (double)sim_transfers() / rounds / cpus;
	/* Each round visits the container and the group in it, whatever the lock. */
	if (visited != 2UL * rounds * cpus) {
		fprintf(stderr, "sim: walk: %lu groups visited in %u rounds of %u CPUs\n",
			(unsigned long)visited, rounds, cpus);
		exit(1);
	}
	return o;
}

static void record(unsigned walk, unsigned cpus, const struct outcome *o)
{
	if (json)
		fprintf(json,
			"{\"record\":\"sim-walk\",\"walk\":\"%s\",\"cpus\":%u,\"seconds\":%.3f,"
			"\"lookups_per_round\":%.1f,\"transfers_per_round\":%.2f,"
			"\"mkdir_worst_us\":%.1f,"
			"\"page_ns\":%.0f,\"preset\":\"tally\",\"machine\":\"sim\","
			"\"commit\":\"%s\"}\n",
			walks[walk], cpus, o->seconds, o->lookups, o->transfers, o->mkdir_us,
			page_ns, getenv("SIM_COMMIT") ? getenv("SIM_COMMIT") : "");
}

/* Between the two sizes around it, on a straight line; 0: not reached. */
static double crossing(const double *ratio, unsigned n)
{
	for (unsigned i = 1; i < n; i++)
		if (ratio[i] >= PUBLISHED && ratio[i - 1] < PUBLISHED)
			return sizes[i - 1] + (PUBLISHED - ratio[i - 1]) /
						      (ratio[i] - ratio[i - 1]) *
						      (sizes[i] - sizes[i - 1]);
	return 0;
}

static void table(bool quick)
{
	double ratio[2][ARRAY_SIZE(sizes)]; /* spin over rcu, over rwlock */
	struct outcome o[ARRAY_SIZE(sizes)][NR_WALKS];
	unsigned n = 0;

	printf("\nThe reclaim walk: each CPU reads 50 x 256 MiB in a group of 128 MiB; "
	       "%.1f us per page\n"
	       "beside the walk.  Seconds until the first is done; worst mkdir meanwhile.\n",
	       page_ns / 1e3);
	printf("%-5s %9s | %9s %9s %9s | %8s %8s | %10s %10s %10s\n", "CPUs", "lookups", "spin",
	       "rwlock", "rcu", "spin/rcu", "rw/rcu", "mkdir spin", "rwlock", "rcu, us");
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i += quick ? 3 : 1, n++) {
		for (unsigned w = 0; w < NR_WALKS; w++) {
			o[n][w] = simulate_walk(sizes[i], w, 1);
			record(w, sizes[i], &o[n][w]);
		}
		ratio[0][n] = o[n][SPIN].seconds / o[n][RCU].seconds;
		ratio[1][n] = o[n][SPIN].seconds / o[n][RWLOCK].seconds;
		printf("%-5u %9.1f | %9.1f %9.1f %9.1f | %7.1fx %7.1fx | %10.1f %10.1f %10.1f\n",
		       sizes[i], o[n][RCU].lookups, o[n][SPIN].seconds, o[n][RWLOCK].seconds,
		       o[n][RCU].seconds, ratio[0][n], o[n][RWLOCK].seconds / o[n][RCU].seconds,
		       o[n][SPIN].mkdir_us, o[n][RWLOCK].mkdir_us, o[n][RCU].mkdir_us);
	}
	if (quick)
		return;
	printf("Published: 1710.8 s with the spinlock, 152.2 s with the reader-writer lock, "
	       "%.1fx.\n",
	       PUBLISHED);
	for (unsigned i = 0; i < 2; i++) {
		double at = crossing(ratio[i], n);

		if (at)
			printf("The curve of spin over %s passes %.1fx at %.0f CPUs.\n",
			       i ? "rwlock" : "rcu", PUBLISHED, at);
	}
	printf("rcu: %.1f %% slower on %u CPUs than on %u.\n",
	       100 * (o[n - 1][RCU].seconds / o[0][RCU].seconds - 1), sizes[n - 1], sizes[0]);
}

static int passed, failed;
static void expect(bool ok, const char *what)
{
	printf("%s %s\n", ok ? "ok  " : "FAIL", what);
	passed += ok;
	failed += !ok;
}

static void check(void)
{
	struct outcome few = simulate_walk(4, RCU, 1), many[NR_WALKS], again;

	for (unsigned w = 0; w < NR_WALKS; w++)
		many[w] = simulate_walk(72, w, 1);
	again = simulate_walk(72, SPIN, 1);
	expect(again.seconds == many[SPIN].seconds, "walk: same seed, same run");
	expect(many[SPIN].seconds > 11 * many[RCU].seconds,
	       "walk: spin at least 11 times rcu on 72 CPUs");
	expect(many[RCU].seconds < 1.1 * few.seconds,
	       "walk: rcu within 10 % of linear from 4 to 72 CPUs");
	expect(fabs(many[SPIN].lookups / many[RCU].lookups - 1) < 0.01 &&
	       fabs(many[RWLOCK].lookups / many[RCU].lookups - 1) < 0.01,
	       "walk: the same look-ups whatever the lock");
	expect(many[RCU].transfers > 0 && many[SPIN].transfers > 2 * many[RCU].transfers,
	       "walk: the lock's line moves at each lookup");
	expect(many[RWLOCK].mkdir_us > 100 * many[RCU].mkdir_us,
	       "walk: readers starve mkdir under rwlock");
	printf("%d passed, %d failed\n", passed, failed);
	exit(failed != 0);
}

int main(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "quick", 0, 0, 'q' }, { "check", 0, 0, 'c' }, { "json", 1, 0, 'j' },
		{ "page-ns", 1, 0, 'p' }, { "machine", 1, 0, 'f' }, { "rounds", 1, 0, 'r' }, { 0 },
	};
	const char *path = "tests/sim/machines/fitted.conf";
	bool quick = false, checks = false;
	int c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (c == 'q')
			quick = true;
		else if (c == 'c')
			checks = true;
		else if (c == 'f')
			path = optarg;
		else if (c == 'p')
			page_ns = atof(optarg);
		else if (c == 'r')
			rounds = (unsigned)atoi(optarg);
		else if (c != 'j' || !(json = fopen(optarg, "a"))) {
			fprintf(stderr, "usage: walk [--quick] [--check] [--json FILE, appended "
					"to] [--machine FILE]\n"
					"            [--page-ns NS] [--rounds N]\n");
			return 2;
		}
	}
	if (!sim_machine_read(&machine, path) || !rounds || page_ns <= 0)
		return 2;
	/* The recipe's fit hides hits in its other work; a walk is little else. */
	if (!machine.hit)
		machine.hit = 1;
	if (checks)
		check();
	table(quick);
	if (json && fclose(json)) {
		perror("records");
		return 1;
	}
	return 0;
}
