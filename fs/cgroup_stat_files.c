/* SPDX-License-Identifier: MIT */
/*
 * memory.stat and memory.numa_stat: the keys of Linux 6.1, in its order.  What Tally
 * has nothing of is 0.
 */
#include "fs/cgroup.h"
#include "mm/reclaim_int.h"

/*
 * One line: a name, the kinds of charge that it adds up in bytes, and statistics of
 * reclaim that it adds or (minus) takes off, pages as bytes or counts as they are.
 */
#define K(kind) (1u << MEMCG_##kind)
#define R(name) (1u << RS_##name)
#define STAT_KERNEL (K(SLAB) | K(KERNEL) | K(PGTABLE) | K(KSTACK) | K(PERCPU) | K(VMALLOC))
struct stat_line {
	const char *name;
	unsigned kinds, plus, minus;
	unsigned gauge; /* 1 + a gauge of pages, shown as bytes */
	unsigned pages; /* 1 + a count of pages, shown as bytes */
	bool count;   /* of events, not bytes */
	bool no_node; /* not in numa_stat */
};
static const struct stat_line stat_lines[] = {
	{ .name = "anon", .kinds = K(ANON) },
	{ .name = "file", .kinds = K(FILE) | K(SHMEM) },
	{ .name = "kernel", .kinds = STAT_KERNEL, .no_node = true },
	{ .name = "kernel_stack", .kinds = K(KSTACK) },
	{ .name = "pagetables", .kinds = K(PGTABLE) },
	{ .name = "sec_pagetables" },
	{ .name = "percpu", .kinds = K(PERCPU), .no_node = true },
	{ .name = "sock", .kinds = K(SOCK), .no_node = true },
	{ .name = "vmalloc", .kinds = K(VMALLOC), .no_node = true },
	{ .name = "shmem", .kinds = K(SHMEM) },
	{ .name = "zswap", .no_node = true },
	{ .name = "zswapped", .no_node = true },
	{ .name = "file_mapped", .pages = 1 + MEMCG_FILE_MAPPED },
	{ .name = "file_dirty", .gauge = 1 + MEMCG_FILE_DIRTY },
	{ .name = "file_writeback", .gauge = 1 + MEMCG_FILE_WRITEBACK },
	{ .name = "swapcached" },
	{ .name = "anon_thp" },
	{ .name = "file_thp" },
	{ .name = "shmem_thp" },
	{ .name = "inactive_anon", .kinds = K(ANON) },
	{ .name = "active_anon" },
	{ .name = "inactive_file", .kinds = K(FILE), .minus = R(active_file) },
	{ .name = "active_file", .plus = R(active_file) },
	{ .name = "unevictable", .kinds = K(SHMEM) }, /* memory files: there is no swap */
	{ .name = "slab_reclaimable" },
	{ .name = "slab_unreclaimable", .kinds = K(SLAB) },
	{ .name = "slab", .kinds = K(SLAB), .no_node = true },
	{ .name = "workingset_refault_anon", .count = true },
	{ .name = "workingset_refault_file", .plus = R(workingset_refault_file), .count = true },
	{ .name = "workingset_activate_anon", .count = true },
	{ .name = "workingset_activate_file", .plus = R(workingset_activate_file), .count = true },
	{ .name = "workingset_restore_anon", .count = true },
	{ .name = "workingset_restore_file", .plus = R(workingset_restore_file), .count = true },
	{ .name = "workingset_nodereclaim", .count = true },
	{ .name = "pgscan", .plus = R(pgscan_kswapd) | R(pgscan_direct), .count = true,
	  .no_node = true },
	{ .name = "pgsteal", .plus = R(pgsteal_kswapd) | R(pgsteal_direct), .count = true,
	  .no_node = true },
	{ .name = "pgscan_kswapd", .plus = R(pgscan_kswapd), .count = true, .no_node = true },
	{ .name = "pgscan_direct", .plus = R(pgscan_direct), .count = true, .no_node = true },
	{ .name = "pgsteal_kswapd", .plus = R(pgsteal_kswapd), .count = true, .no_node = true },
	{ .name = "pgsteal_direct", .plus = R(pgsteal_direct), .count = true, .no_node = true },
};
#undef K
#undef R

struct figures {
	int64_t stat[NR_MEMCG_STATS];
	int64_t reclaim[NR_RECLAIM_STATS];
	int64_t gauge[NR_MEMCG_GAUGES];
};

static void read_figures(struct memcg *m, struct figures *f)
{
	struct account *a;

	*f = (struct figures){ 0 };
	rcu_read_lock();
	a = cg_own_account(m);
	if (a && memcg_config.enabled)
		memcg_stat_read(a, f->stat);
	for (unsigned i = 0; a && i < NR_RECLAIM_STATS; i++)
		f->reclaim[i] = reclaim_stat_read(a, i);
	for (unsigned i = 0; a && i < NR_MEMCG_GAUGES; i++)
		f->gauge[i] = atomic_load_explicit(&a->gauge[i], memory_order_relaxed);
	rcu_read_unlock();
}

static int64_t value_of(const struct stat_line *l, const struct figures *f)
{
	int64_t n = l->gauge ? f->gauge[l->gauge - 1] * (int64_t)PAGE_SIZE : 0;

	if (l->pages)
		n += f->stat[NR_MEMCG_KINDS + l->pages - 1] * (int64_t)PAGE_SIZE;
	for (unsigned k = 0; k < NR_MEMCG_KINDS; k++)
		if (l->kinds >> k & 1)
			n += f->stat[k];
	for (unsigned r = 0; r < NR_RECLAIM_STATS; r++) {
		int64_t v = f->reclaim[r] * (l->count ? 1 : (int64_t)PAGE_SIZE);

		n += (l->plus >> r & 1) ? v : (l->minus >> r & 1) ? -v : 0;
	}
	return n > 0 ? n : 0;
}

static int stat_show(struct seq *s, struct memcg *m)
{
	struct figures f;

	read_figures(m, &f);
	for (unsigned i = 0; i < ARRAY_SIZE(stat_lines); i++)
		seq_printf(s, "%s %lld\n", stat_lines[i].name,
			   (long long)value_of(&stat_lines[i], &f));
	seq_printf(s,
		   "pgfault %lld\npgmajfault %lld\npgrefill %lld\npgactivate %lld\n"
		   "pgdeactivate %lld\n",
		   (long long)f.stat[NR_MEMCG_KINDS + MEMCG_PGFAULT],
		   (long long)f.stat[NR_MEMCG_KINDS + MEMCG_PGMAJFAULT],
		   (long long)f.reclaim[RS_pgrefill], (long long)f.reclaim[RS_pgactivate],
		   (long long)f.reclaim[RS_pgdeactivate]);
	/* What does not happen here. */
	seq_printf(s, "pglazyfree 0\npglazyfreed 0\n"
		      "zswpin 0\nzswpout 0\nthp_fault_alloc 0\nthp_collapse_alloc 0\n");
	return 0;
}

/* The kinds of memory that belong to a node; there is one. */
static int numa_show(struct seq *s, struct memcg *m)
{
	struct figures f;

	read_figures(m, &f);
	for (unsigned i = 0; i < ARRAY_SIZE(stat_lines); i++)
		if (!stat_lines[i].no_node)
			seq_printf(s, "%s N0=%lld\n", stat_lines[i].name,
				   (long long)value_of(&stat_lines[i], &f));
	return 0;
}

const struct cg_file cg_stat_files[] = {
	{ .name = "memory.numa_stat", .mode = 0444, .flags = CG_MEMORY,
	  .show = numa_show },
	{ .name = "memory.stat", .mode = 0444, .flags = CG_MEMORY,
	  .show = stat_show },
};
const unsigned nr_cg_stat_files = ARRAY_SIZE(cg_stat_files);
