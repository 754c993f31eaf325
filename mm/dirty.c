/* SPDX-License-Identifier: MIT */
/*
 * Which pages are dirty: counts for the machine and for groups, the list of mappings
 * with dirty pages, and how many there may be.
 *
 * The machine may have writeback.dirty_percent of its memory dirty, a group as much of
 * its limit; half of that starts the write-back thread.  A writer over a bound waits.
 *
 * Invariant: a mapping is on the list while nr_dirty > 0 (it may stay a little longer);
 *            who takes it off holds the lock and saw nr_dirty at 0 there.
 * Locks:     dirty_lock, inside an index's lock never: counts change after it is released.
 */
#include "mm/dirty.h"
#include "mm/memcg.h"
#include "mm/page_int.h"
#include "kernel/param.h"
#include "kernel/process.h"
#include "kernel/wait.h"

static unsigned dirty_percent = 20;
PARAM_UINT("writeback.dirty_percent", dirty_percent, 1, 90, PARAM_RW,
	   "of memory, and of each group's limit, that may be dirty before writers wait");

static struct spinlock dirty_lock = SPINLOCK_INIT("dirty");
static LIST_HEAD(dirty_list); /* longest dirty first, but for those just written */
static _Atomic uint64_t nr_dirty, nr_writeback; /* pages */

uint64_t writeback_nr_dirty(void)
{
	return atomic_load_explicit(&nr_dirty, memory_order_relaxed);
}

uint64_t writeback_nr_writeback(void)
{
	return atomic_load_explicit(&nr_writeback, memory_order_relaxed);
}

void dirty_count(struct mapping *m, struct page *p)
{
	atomic_fetch_add_explicit(&nr_dirty, 1, memory_order_relaxed);
	memcg_gauge_add(p->owner, MEMCG_FILE_DIRTY, 1);
	if (atomic_fetch_add_explicit(&m->nr_dirty, 1, memory_order_acq_rel))
		return;
	spin_lock(&dirty_lock);
	if (list_empty(&m->dirty_link)) {
		list_add_tail(&m->dirty_link, &dirty_list);
		m->dirtied_at = clock_ns();
		m->dirty_owner = p->owner;
		owner_get(m->dirty_owner);
	}
	spin_unlock(&dirty_lock);
}

void dirty_uncount(struct mapping *m, struct page *p)
{
	atomic_fetch_sub_explicit(&nr_dirty, 1, memory_order_relaxed);
	memcg_gauge_add(p->owner, MEMCG_FILE_DIRTY, -1);
	atomic_fetch_sub_explicit(&m->nr_dirty, 1, memory_order_acq_rel);
}

void writeback_count(struct mapping *m, struct page *p)
{
	atomic_fetch_add_explicit(&nr_writeback, 1, memory_order_relaxed);
	memcg_gauge_add(p->owner, MEMCG_FILE_WRITEBACK, 1);
	atomic_fetch_add_explicit(&m->nr_writeback, 1, memory_order_relaxed);
}

void writeback_uncount(struct mapping *m, struct page *p)
{
	atomic_fetch_sub_explicit(&nr_writeback, 1, memory_order_relaxed);
	memcg_gauge_add(p->owner, MEMCG_FILE_WRITEBACK, -1);
	atomic_fetch_sub_explicit(&m->nr_writeback, 1, memory_order_release);
}

/* dirty_lock held.  Return: the reference that the list held. */
static struct owner *unlist(struct mapping *m)
{
	struct owner *o = m->dirty_owner;

	list_del(&m->dirty_link);
	m->dirty_owner = NULL;
	return o;
}

void dirty_forget(struct mapping *m)
{
	struct owner *o = NULL;

	spin_lock(&dirty_lock);
	if (!list_empty(&m->dirty_link))
		o = unlist(m);
	spin_unlock(&dirty_lock);
	owner_put(o);
}

struct mapping *dirty_next(uint64_t before, bool over, bool (*want)(struct mapping *m, void *arg),
			   void *arg)
{
	struct mapping *found = NULL, *m, *next;
	struct owner *clean[16];
	unsigned n = 0;

	spin_lock(&dirty_lock);
	for (m = list_entry(dirty_list.next, struct mapping, dirty_link);
	     &m->dirty_link != &dirty_list && n < ARRAY_SIZE(clean); m = next) {
		next = list_entry(m->dirty_link.next, struct mapping, dirty_link);
		/* dirty_count() raises the count before it looks at the list. */
		if (!atomic_load_explicit(&m->nr_dirty, memory_order_acquire)) {
			clean[n++] = unlist(m);
			continue;
		}
		if (m->dirtied_at >= before || (want && !want(m, arg)) ||
		    (over && !memcg_dirty_over(m->dirty_owner, dirty_percent / 2)))
			continue;
		if (!m->ops->tryget(m))
			continue;
		list_move_tail(&m->dirty_link, &dirty_list);
		m->dirtied_at = clock_ns();
		found = m;
		break;
	}
	spin_unlock(&dirty_lock);
	while (n)
		owner_put(clean[--n]);
	return found;
}

void dirty_again(struct mapping *m, uint64_t when)
{
	spin_lock(&dirty_lock);
	m->dirtied_at = when;
	spin_unlock(&dirty_lock);
}

static bool over_share(unsigned percent)
{
	return (writeback_nr_dirty() + writeback_nr_writeback()) * 100 > page_nr_total * percent;
}

bool dirty_over_background(void)
{
	return over_share(DIV_ROUND_UP(dirty_percent, 2));
}

#define THROTTLE_NS    (20 * NSEC_PER_MSEC) /* one look */
#define THROTTLE_LOOKS 100                  /* then on, over the bound: the store is stuck */

static bool over_bound(struct owner *o)
{
	return over_share(dirty_percent) || memcg_dirty_over(o, dirty_percent);
}

void balance_dirty(void)
{
	struct owner *o = current_owner();

	if (!o && !dirty_over_background())
		return;
	owner_get(o);
	for (unsigned i = 0; i < THROTTLE_LOOKS && !kill_pending(current); i++) {
		if (!over_bound(o)) {
			if (dirty_over_background() || memcg_dirty_over(o, dirty_percent / 2))
				writeback_kick();
			break;
		}
		writeback_kick();
		(void)wait_event_timeout(&writeback_done, !over_bound(o), clock_ns() + THROTTLE_NS);
	}
	owner_put(o);
}
