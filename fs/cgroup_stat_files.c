/* SPDX-License-Identifier: MIT */
/*
 * memory.stat and memory.numa_stat: the keys of Linux 6.1, in its order.  What Tally
 * has nothing of is 0.
 */
#include "fs/cgroup.h"

/* One line of memory.stat: a name and what it adds up; no kinds: Tally has nothing of the sort. */
#define K(kind) (1u << MEMCG_##kind)
#define STAT_KERNEL (K(SLAB) | K(KERNEL) | K(PGTABLE) | K(KSTACK) | K(PERCPU) | K(VMALLOC))
static const struct {
	const char *name;
	unsigned kinds;
} stat_lines[] = {
	{ "anon", K(ANON) }, { "file", K(FILE) | K(SHMEM) }, { "kernel", STAT_KERNEL },
	{ "kernel_stack", K(KSTACK) }, { "pagetables", K(PGTABLE) }, { "sec_pagetables", 0 },
	{ "percpu", K(PERCPU) }, { "sock", K(SOCK) }, { "vmalloc", K(VMALLOC) },
	{ "shmem", K(SHMEM) }, { "zswap", 0 }, { "zswapped", 0 }, { "file_mapped", 0 },
	{ "file_dirty", 0 }, { "file_writeback", 0 }, { "swapcached", 0 }, { "anon_thp", 0 },
	{ "file_thp", 0 }, { "shmem_thp", 0 }, { "inactive_anon", K(ANON) | K(SHMEM) }, { "active_anon", 0 },
	{ "inactive_file", K(FILE) }, { "active_file", 0 }, { "unevictable", 0 },
	{ "slab_reclaimable", 0 }, { "slab_unreclaimable", K(SLAB) }, { "slab", K(SLAB) },
	{ "workingset_refault_anon", 0 }, { "workingset_refault_file", 0 },
	{ "workingset_activate_anon", 0 }, { "workingset_activate_file", 0 },
	{ "workingset_restore_anon", 0 }, { "workingset_restore_file", 0 },
	{ "workingset_nodereclaim", 0 }, { "pgscan", 0 }, { "pgsteal", 0 },
	{ "pgscan_kswapd", 0 }, { "pgscan_direct", 0 }, { "pgsteal_kswapd", 0 },
	{ "pgsteal_direct", 0 },
};
#undef K

static int stat_show(struct seq *s, struct memcg *m)
{
	int64_t st[NR_MEMCG_STATS] = { 0 };
	struct account *a;

	rcu_read_lock();
	a = cg_own_account(m);
	if (a && memcg_config.enabled)
		memcg_stat_read(a, st);
	rcu_read_unlock();
	for (unsigned i = 0; i < ARRAY_SIZE(stat_lines); i++) {
		int64_t n = 0;

		for (unsigned k = 0; k < NR_MEMCG_KINDS; k++)
			if (stat_lines[i].kinds >> k & 1)
				n += st[k];
		seq_printf(s, "%s %lld\n", stat_lines[i].name, (long long)n);
	}
	seq_printf(s, "pgfault %lld\npgmajfault %lld\n",
		   (long long)st[NR_MEMCG_KINDS + MEMCG_PGFAULT],
		   (long long)st[NR_MEMCG_KINDS + MEMCG_PGMAJFAULT]);
	/* What does not happen here. */
	seq_printf(s, "pgrefill 0\npgactivate 0\npgdeactivate 0\npglazyfree 0\npglazyfreed 0\n"
		      "zswpin 0\nzswpout 0\nthp_fault_alloc 0\nthp_collapse_alloc 0\n");
	return 0;
}

/* The kinds of memory that belong to a node; there is one. */
static int numa_show(struct seq *s, struct memcg *m)
{
	static const char *const not_here[] = { "kernel", "percpu", "sock", "vmalloc", "zswap",
						"zswapped", "slab", "pgscan" };
	int64_t st[NR_MEMCG_STATS] = { 0 };
	struct account *a;

	rcu_read_lock();
	a = cg_own_account(m);
	if (a && memcg_config.enabled)
		memcg_stat_read(a, st);
	rcu_read_unlock();
	for (unsigned i = 0; i < ARRAY_SIZE(stat_lines); i++) {
		int64_t n = 0;
		bool skip = false;

		for (unsigned k = 0; k < ARRAY_SIZE(not_here); k++)
			skip |= !strcmp(stat_lines[i].name, not_here[k]);
		if (skip)
			continue;
		for (unsigned k = 0; k < NR_MEMCG_KINDS; k++)
			if (stat_lines[i].kinds >> k & 1)
				n += st[k];
		seq_printf(s, "%s N0=%lld\n", stat_lines[i].name, (long long)n);
		if (!strcmp(stat_lines[i].name, "workingset_nodereclaim"))
			break;
	}
	return 0;
}

const struct cg_file cg_stat_files[] = {
	{ .name = "memory.numa_stat", .mode = 0444, .flags = CG_MEMORY,
	  .show = numa_show },
	{ .name = "memory.stat", .mode = 0444, .flags = CG_MEMORY,
	  .show = stat_show },
};
const unsigned nr_cg_stat_files = ARRAY_SIZE(cg_stat_files);
