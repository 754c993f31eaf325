/* SPDX-License-Identifier: MIT */
/*
 * Native benchmark of the accounting core: what a charge and its uncharge cost on
 * this machine, in one preset.  tests/bench/run.py starts it for every preset in
 * turn, many times, and compares.
 *
 *   bench PRESET [SLICES]           one line "CASE NS" per case: its best slice
 *   bench PRESET count [OPS]        under callgrind: run_ops() once per case that
 *                                   needs one CPU, in the order of `bench list`
 *   bench list                      the cases: name, threads, groups, depth, what
 *
 * A slice is about 300 us between two looks at the clock, so that among many some
 * pass undisturbed on a machine that has other things to do.  CPUs are threads of
 * the host machine (arch/host); they start a slice together.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/host/host.h"
#include "kernel/rcu.h"
#include "kernel/thread.h"
#include "mm/memcg_tree.h"
#include "mm/slab.h"
#include "mm/stock.h"
#include "tests/host/reclaim_stub.h"

/* What of the kernel is not linked: the slab's caches, processes. */
struct kmem_cache {
	size_t size, align;
};

struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align, unsigned flags)
{
	struct kmem_cache *c = malloc(sizeof(*c));

	if (c)
		*c = (struct kmem_cache){ size, align ? align : 8 };
	return c;
}
void *kmem_cache_alloc(struct kmem_cache *c, gfp_t gfp)
{
	void *p = aligned_alloc(c->align, ALIGN_UP(c->size, c->align));

	return p ? memset(p, 0, c->size) : NULL;
}
void kmem_cache_free(struct kmem_cache *c, void *obj)
{
	free(obj);
}
bool oom_kill(struct memcg *mg, const char *why, uint64_t pages)
{
	return false;
}
bool memcg_dying(void)
{
	return false;
}
bool memcg_wait_victim(void)
{
	return true;
}

#define MAX_GROUPS 36
#define SLICE_NS   300000

enum pattern {
	ONE,  /* charge a page, give it back */
	RUN,  /* charge 256 pages one by one, give them back one by one; per page */
	LARGE /* more pages than a stock with a batch of 64 holds: a walk each way */
};
#define RUN_PAGES   256
#define LARGE_PAGES 256
#define LARGE_BATCH 64

static const struct bench_case {
	const char *name;
	enum pattern pattern;
	unsigned cpus, groups, depth;
	bool apart; /* each CPU in groups of its own */
	const char *what;
} cases[] = {
	{ "hit", ONE, 1, 1, 1, false, "one page from and to the stock" },
	{ "run", RUN, 1, 1, 3, false, "256 pages, one by one, then back; per page" },
	{ "miss-d1", LARGE, 1, 1, 1, false, "a walk each way, depth 1" },
	{ "miss-d3", LARGE, 1, 1, 3, false, "a walk each way, depth 3" },
	{ "miss-d8", LARGE, 1, 1, 8, false, "a walk each way, depth 8" },
	{ "groups-1", ONE, 1, 1, 3, false, "1 group in turn on a CPU" },
	{ "groups-7", ONE, 1, 7, 3, false, "7 groups in turn on a CPU" },
	{ "groups-8", ONE, 1, 8, 3, false, "8 groups in turn on a CPU" },
	{ "groups-16", ONE, 1, 16, 3, false, "16 groups in turn on a CPU" },
	{ "groups-36", ONE, 1, 36, 3, false, "36 groups in turn on a CPU" },
	{ "two-1", ONE, 2, 1, 1, false, "two CPUs, one group" },
	{ "two-2", ONE, 2, 1, 1, true, "two CPUs, a group each" },
	{ "two-run", RUN, 2, 1, 3, false, "two CPUs, one group, 256 pages" },
	{ "two-miss", LARGE, 2, 1, 3, false, "two CPUs, one group, a walk each way" },
	{ "two-groups-36", ONE, 2, 36, 3, false, "two CPUs, 36 groups in turn on both" },
};
#define NR_CASES ARRAY_SIZE(cases)

static const char *preset;
static unsigned slices = 20, count_ops;
static struct owner *owners[2][MAX_GROUPS]; /* by CPU */

/* What callgrind counts: a function of its own that does nothing but charge. */
__attribute__((noinline, noclone)) void run_ops(struct owner **o, unsigned groups,
						enum pattern pattern, unsigned ops);
void run_ops(struct owner **o, unsigned groups, enum pattern pattern, unsigned ops)
{
	unsigned g = 0, failed = 0;

	if (pattern == RUN) {
		for (unsigned i = 0; i < ops; i += RUN_PAGES) {
			for (unsigned k = 0; k < RUN_PAGES; k++)
				failed += !!memcg_charge(o[0], 1, MEMCG_SOCK, CHARGE_NOSLEEP);
			for (unsigned k = 0; k < RUN_PAGES; k++)
				memcg_uncharge(o[0], 1, MEMCG_SOCK);
		}
	} else {
		unsigned pages = pattern == LARGE ? LARGE_PAGES : 1;

		for (unsigned i = 0; i < ops; i++) {
			failed += !!memcg_charge(o[g], pages, MEMCG_SOCK, CHARGE_NOSLEEP);
			memcg_uncharge(o[g], pages, MEMCG_SOCK);
			if (++g == groups)
				g = 0;
		}
	}
	HOST_CHECK_EQ(failed, 0);
}

/* One slice on one or both CPUs: they meet, run, and the last to end counts. */
static struct slice {
	const struct bench_case *c;
	unsigned ops;
	_Atomic unsigned arrived, left;
	_Atomic uint64_t begin, end;
} slice;

static void slice_on(unsigned cpu)
{
	uint64_t now;

	atomic_fetch_add(&slice.arrived, 1);
	while (atomic_load(&slice.arrived) < slice.c->cpus)
		cpu_relax();
	now = clock_ns();
	if (!cpu)
		atomic_store(&slice.begin, now);
	run_ops(owners[cpu], slice.c->groups, slice.c->pattern, slice.ops);
	now = clock_ns();
	if (now > atomic_load(&slice.end))
		atomic_store(&slice.end, now);
	atomic_fetch_sub(&slice.left, 1);
}

static _Atomic unsigned turn; /* the other CPU's slice number */
static _Atomic bool stop;

static void helper(void *arg)
{
	unsigned seen = 0;

	while (!atomic_load(&stop)) {
		if (atomic_load(&turn) == seen) {
			cpu_relax();
			continue;
		}
		seen = atomic_load(&turn);
		slice_on(1);
	}
}

static uint64_t run_slice(const struct bench_case *c, unsigned ops)
{
	slice.c = c;
	slice.ops = ops;
	atomic_store(&slice.arrived, 0);
	atomic_store(&slice.end, 0);
	atomic_store(&slice.left, c->cpus);
	if (c->cpus > 1)
		atomic_fetch_add(&turn, 1);
	slice_on(0);
	while (atomic_load(&slice.left))
		cpu_relax();
	return atomic_load(&slice.end) - atomic_load(&slice.begin);
}

static struct memcg *make(struct memcg *parent, const char *name, bool inner)
{
	struct memcg *m = memcg_create(parent, name);

	HOST_CHECK(!IS_ERR(m));
	memcg_put(m);
	if (inner)
		HOST_CHECK_EQ(memcg_control(m, MEMCG_CTL_MEMORY, 0), 0);
	return m;
}

static void set_batch(unsigned pages)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", pages);
	HOST_CHECK_EQ(memcg_config_set("memcg.batch", pages ? text : "adaptive"), 0);
}

/* What the preset has, and what cases with LARGE have. */
static unsigned preset_batch;
static void begin_case(const struct bench_case *c)
{
	set_batch(c->pattern == LARGE ? LARGE_BATCH : preset_batch);
}

/* The case's groups, all below one path of the case's depth. */
static void make_groups(const struct bench_case *c)
{
	struct memcg *parent = make(memcg_root, c->name, c->depth > 1);
	unsigned sets = c->apart ? 2 : 1;
	char name[16];

	/* Depth 1 with several groups is not asked for: the top group is the group. */
	for (unsigned d = 2; d < c->depth; d++)
		parent = make(parent, "inner", true);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		for (unsigned g = 0; g < c->groups; g++) {
			struct memcg *m = parent;

			if (cpu >= sets) {
				owners[cpu][g] = owners[0][g];
				continue;
			}
			snprintf(name, sizeof(name), "%u.%u", cpu, g);
			if (c->depth > 1)
				m = make(parent, name, false);
			else if (cpu)
				m = make(memcg_root, name, false);
			owners[cpu][g] = atomic_load(&m->owner);
			memcg_user_get(owners[cpu][g]);
		}
	}
}

static void setup(void)
{
	memcg_config_preset(preset);
	memcg_init();
	HOST_CHECK_EQ(memcg_control(memcg_root, MEMCG_CTL_MEMORY, 0), 0);
	preset_batch = atomic_load(&memcg_config.batch);
}

static void measure(void)
{
	struct thread *t;

	setup();
	t = thread_create("second", helper, NULL, 1);
	HOST_CHECK(!IS_ERR(t));
	thread_start(t);
	for (unsigned i = 0; i < NR_CASES; i++) {
		const struct bench_case *c = &cases[i];
		unsigned ops = 16 * RUN_PAGES;
		double best = 1e18;
		uint64_t ns;

		begin_case(c);
		make_groups(c);
		run_slice(c, ops); /* stocks fill, caches warm */
		ns = run_slice(c, ops);
		ops = (unsigned)(SLICE_NS * (double)ops / (ns + 1));
		ops = ops < RUN_PAGES ? RUN_PAGES : ops / RUN_PAGES * RUN_PAGES;
		for (unsigned k = 0; k < slices; k++) {
			double per_op;

			cond_resched();
			per_op = (double)run_slice(c, ops) / ops;
			if (per_op < best)
				best = per_op;
		}
		printf("%s %.3f\n", c->name, best);
	}
	atomic_store(&stop, true);
}

static void count(void)
{
	setup();
	for (unsigned i = 0; i < NR_CASES; i++) {
		const struct bench_case *c = &cases[i];

		if (c->cpus > 1)
			continue;
		begin_case(c);
		make_groups(c);
		run_ops(owners[0], c->groups, c->pattern, count_ops); /* not counted by the reader */
		run_ops(owners[0], c->groups, c->pattern, count_ops);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "list")) {
		for (unsigned i = 0; i < NR_CASES; i++)
			printf("%s %u %u %u %s\n", cases[i].name, cases[i].cpus, cases[i].groups,
			       cases[i].depth, cases[i].what);
		return 0;
	}
	if (argc < 2) {
		fprintf(stderr, "usage: bench PRESET [SLICES | count [OPS]] | list\n");
		return 2;
	}
	preset = argv[1];
	if (argc > 2 && !strcmp(argv[2], "count")) {
		count_ops = argc > 3 ? (unsigned)atoi(argv[3]) : 4096;
		host_run_here(1, count);
	}
	if (argc > 2)
		slices = (unsigned)atoi(argv[2]);
	host_run_here(2, measure);
}
