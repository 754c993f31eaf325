/* SPDX-License-Identifier: MIT */
/*
 * Taking pages from one group's lists.
 *
 * From the old end of the inactive list: used twice since it came there: goes to the
 * active list.  Mapped and not yet looked at: one more turn.  Else it is evicted, and if
 * that cannot be now (dirty, locked, in use) it goes back to the young end.  When the
 * inactive list is too short, pages from the old end of the active list come over: they
 * have the length of the inactive list to prove themselves.
 */
#include "mm/reclaim.h"
#include "mm/page_cache.h"
#include "mm/reclaim_int.h"
#include "mm/memcg_tree.h"
#include "kernel/thread.h"

/* Under RCU. */
static struct reclaim *lists_of(struct memcg *m)
{
	struct account *a = memcg_account(m);

	return a ? account_reclaim(a) : NULL;
}

static void count(struct memcg *m, enum reclaim_stat which, int64_t n)
{
	if (!n)
		return;
	rcu_read_lock();
	reclaim_count(memcg_effective_account(m), which, n);
	rcu_read_unlock();
}

/*
 * How many times longer than the inactive list the active one may be: 1 below a GiB, then
 * as the square root of ten times the GiB, so that a big cache may keep more for certain.
 */
static bool inactive_is_short(const struct lru *l)
{
	uint64_t inactive = lru_nr(l, LRU_INACTIVE), active = lru_nr(l, LRU_ACTIVE);
	uint64_t gib = (inactive + active) >> (30 - PAGE_SHIFT), ratio = 1;

	while (ratio * ratio < 10 * gib)
		ratio++;
	return inactive * ratio < active;
}

/* @any: of the active list also when the inactive one is long enough. */
static unsigned isolate(struct memcg *m, enum lru_list which, bool any, struct page **out,
			uint64_t most)
{
	struct reclaim *r;
	unsigned n = 0;

	rcu_read_lock();
	r = lists_of(m);
	if (r && (which == LRU_INACTIVE || any || inactive_is_short(&r->lru)))
		n = lru_isolate(&r->lru, which, out,
				most < RECLAIM_BATCH ? (unsigned)most : RECLAIM_BATCH);
	rcu_read_unlock();
	return n;
}

static void deactivate_page(struct page *p)
{
	page_flag_set(p, PG_workingset);
	lru_uncount_active(p);
}

static void deactivate(struct memcg *m, bool any, uint64_t most)
{
	struct page *batch[RECLAIM_BATCH];
	unsigned n;

	for (; most && (n = isolate(m, LRU_ACTIVE, any, batch, most)); most -= n) {
		for (unsigned i = 0; i < n; i++)
			deactivate_page(batch[i]);
		lru_putback(batch, n);
		count(m, RS_pgrefill, n);
		count(m, RS_pgdeactivate, n);
		cond_resched();
	}
}

/* Evicted pages: uncharged together where they belong together, then freed. */
static void free_pages(struct page *const *p, unsigned n)
{
	unsigned run = 0;

	for (unsigned i = 0; i < n; i++) {
		struct owner *o = p[i]->owner;
		enum memcg_kind kind = p[i]->charge_kind;

		if (unlikely(page_has(p[i], PG_active | PG_again)))
			lru_uncount_active(p[i]); /* used at the last moment */
		p[i]->owner = NULL;
		run++;
		if (i + 1 < n && p[i + 1]->owner == o && p[i + 1]->charge_kind == kind)
			continue;
		if (o)
			memcg_uncharge(o, run, kind);
		run = 0;
	}
	for (unsigned i = 0; i < n; i++)
		page_put(p[i]);
}

enum fate { EVICTED, KEPT, PROMOTED, LATER };

static enum fate try_evict(struct page *p)
{
	uint32_t f = atomic_load_explicit(&p->flags, memory_order_relaxed);

	if (f & PG_again) {
		page_flag_set(p, PG_active); /* first: it stays counted as active */
		page_flag_clear(p, PG_again | PG_referenced);
		return PROMOTED;
	}
	if (!(f & PG_referenced) && atomic_load_explicit(&p->mapcount, memory_order_relaxed) > 0) {
		page_flag_set(p, PG_referenced);
		return KEPT;
	}
	return page_cache_evict(p) ? LATER : EVICTED;
}

static unsigned shrink_batch(struct memcg *m, struct page **batch, unsigned n,
			     struct reclaim_request *q)
{
	struct page *back[RECLAIM_BATCH];
	unsigned kept = 0, gone = 0;

	for (unsigned i = 0; i < n; i++) {
		enum fate fate = try_evict(batch[i]);

		q->later += fate == LATER;
		if (fate == EVICTED)
			batch[gone++] = batch[i];
		else
			back[kept++] = batch[i];
	}
	free_pages(batch, gone);
	if (kept)
		lru_putback(back, kept);
	count(m, q->background ? RS_pgscan_kswapd : RS_pgscan_direct, n);
	count(m, q->background ? RS_pgsteal_kswapd : RS_pgsteal_direct, gone);
	q->scanned += n;
	q->freed += gone;
	return gone;
}

void reclaim_lists(struct memcg *m, uint64_t inactive, uint64_t active, struct reclaim_request *q)
{
	struct page *batch[RECLAIM_BATCH];
	unsigned n;

	if (active)
		deactivate(m, q->desperate, active);
	for (; inactive && q->freed < q->want; inactive -= n) {
		n = isolate(m, LRU_INACTIVE, false, batch, min(inactive, q->want - q->freed));
		if (!n)
			break;
		shrink_batch(m, batch, n, q);
		cond_resched();
	}
}
