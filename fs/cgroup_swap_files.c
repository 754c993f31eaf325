/* SPDX-License-Identifier: MIT */
/* memory.swap.*: as on a machine without swap.  Limits are remembered and never met. */
#include "fs/cgroup.h"

static int zero_show(struct seq *s, struct memcg *m)
{
	seq_printf(s, "0\n");
	return 0;
}

/* Swap files as on a machine without swap: limits are remembered and never met. */
static int swap_show(struct seq *s, struct memcg *m, unsigned which)
{
	struct account *a;
	int64_t pages = PAGE_COUNTER_MAX;

	rcu_read_lock();
	a = cg_own_account(m);
	if (a)
		pages = PAGE_COUNTER_MAX -
			atomic_load_explicit(&a->swap_below_max[which], memory_order_relaxed);
	rcu_read_unlock();
	cg_show_pages(s, pages);
	return 0;
}

static int swap_write(struct memcg *m, char *text, unsigned which)
{
	struct account *a;
	int64_t pages;
	int err = cg_parse_limit(text, &pages);

	if (err)
		return err;
	rcu_read_lock();
	a = cg_own_account(m);
	if (a)
		atomic_store_explicit(&a->swap_below_max[which], PAGE_COUNTER_MAX - pages,
				      memory_order_relaxed);
	rcu_read_unlock();
	return 0;
}

static int swap_max_show(struct seq *s, struct memcg *m)
{
	return swap_show(s, m, 0);
}

static int swap_max_write(struct memcg *m, char *text)
{
	return swap_write(m, text, 0);
}

static int swap_high_show(struct seq *s, struct memcg *m)
{
	return swap_show(s, m, 1);
}

static int swap_high_write(struct memcg *m, char *text)
{
	return swap_write(m, text, 1);
}

/* A reset, whatever is written: the peak of nothing stays. */
static int peak_write(struct memcg *m, char *text)
{
	return 0;
}

static int swap_events_show(struct seq *s, struct memcg *m)
{
	seq_printf(s, "high 0\nmax 0\nfail 0\n");
	return 0;
}

const struct cg_file cg_swap_files[] = {
	{ .name = "memory.swap.current", .mode = 0444, .flags = CG_NOT_ROOT | CG_MEMORY,
	  .show = zero_show },
	{ .name = "memory.swap.events", .mode = 0444,
	  .flags = CG_NOT_ROOT | CG_MEMORY | CG_NOTIFIES(SWAP),
	  .show = swap_events_show },
	{ .name = "memory.swap.high", .mode = 0644, .flags = CG_NOT_ROOT | CG_MEMORY,
	  .show = swap_high_show, .write = swap_high_write },
	{ .name = "memory.swap.max", .mode = 0644, .flags = CG_NOT_ROOT | CG_MEMORY,
	  .show = swap_max_show, .write = swap_max_write },
	{ .name = "memory.swap.peak", .mode = 0644, .flags = CG_NOT_ROOT | CG_MEMORY,
	  .show = zero_show, .write = peak_write },
};
const unsigned nr_cg_swap_files = ARRAY_SIZE(cg_swap_files);
