/* SPDX-License-Identifier: MIT */
/*
 * memory.peak: the highest usage so far.  Whatever is written makes this descriptor
 * show the highest usage since then; others, and those opened later, go on as before.
 *
 * The counter's own peak counts from the last reset by anybody.  What it showed before
 * that is kept in two places: memcg.peak_before for those that never reset, and each
 * resetting descriptor's own value.
 *
 * Locks: peak_lock over all of that.  The peak of a counter is raised by charges
 *        without it; one that is raised while it is being set back belongs to either side.
 */
#include "fs/cgroup.h"

static struct spinlock peak_lock = SPINLOCK_INIT("cgroup_peak");

static int peak_show(struct seq *s, struct cg_opened *o)
{
	struct memcg *m = o->node->group;
	struct account *a;
	int64_t pages = 0;

	rcu_read_lock();
	spin_lock(&peak_lock);
	a = cg_own_account(m);
	if (a) {
		pages = memcg_config.pc->peak(account_counter(a));
		pages = max(pages, o->peak_reset ? o->peak : m->peak_before);
	}
	spin_unlock(&peak_lock);
	rcu_read_unlock();
	cg_show_pages(s, pages);
	return 0;
}

static int peak_write(struct cg_opened *o, char *text)
{
	struct memcg *m = o->node->group;
	struct cg_opened *other;
	struct account *a;
	int64_t so_far;

	rcu_read_lock();
	spin_lock(&peak_lock);
	a = cg_own_account(m);
	if (a) {
		so_far = memcg_config.pc->peak(account_counter(a));
		m->peak_before = max(m->peak_before, so_far);
		list_for_each_entry(other, &m->peak_readers, peak_link)
			other->peak = max(other->peak, so_far);
		memcg_config.pc->peak_restart(account_counter(a));
		o->peak = memcg_config.pc->peak(account_counter(a));
		if (!o->peak_reset)
			list_add_tail(&o->peak_link, &m->peak_readers);
		o->peak_reset = true;
	}
	spin_unlock(&peak_lock);
	rcu_read_unlock();
	return a ? 0 : -ENODEV;
}

void cg_peak_release(struct cg_opened *o)
{
	if (!o->peak_reset)
		return;
	spin_lock(&peak_lock);
	list_del(&o->peak_link);
	spin_unlock(&peak_lock);
}

const struct cg_file cg_peak_files[] = {
	{ .name = "memory.peak", .mode = 0644, .flags = CG_NOT_ROOT | CG_MEMORY,
	  .show_as = peak_show, .write_as = peak_write },
};
const unsigned nr_cg_peak_files = ARRAY_SIZE(cg_peak_files);
