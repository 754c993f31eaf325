/* SPDX-License-Identifier: MIT */
/*
 * Refaults: was a page that is read again evicted too early?
 *
 * The clock of a group's lists counts pages that were evicted or promoted; each makes
 * the inactive list one shorter at its old end.  A shadow keeps the clock of the
 * eviction.  Clock now less clock then is how many more pages the list would have had
 * to hold for the page to be there still: its refault distance.  If the active list
 * holds that many, pages there have been unused for longer than this one, so it goes
 * straight to the active list and one of those will have to prove itself.
 *
 * A page that has been on the active list is part of the working set; one that comes
 * straight back to it is *restored*.
 *
 * A shadow has 63 bits and a 1: 32 bits of the group's id (never used twice, so a group
 * that is gone is not mistaken for another), 1 for "was part of the working set", 30 of
 * the clock, which wraps at 4 TiB of evictions.
 */
#include "mm/reclaim_int.h"
#include "mm/memcg_tree.h"
#include "mm/memcg_walk.h"
#include "mm/owner.h"

#define AGE_BITS 30
#define AGE_MASK ((1ULL << AGE_BITS) - 1)
#define AGE_SHIFT (64 - AGE_BITS)
#define SHADOW_WORKINGSET (1ULL << 33)

uintptr_t workingset_eviction(struct page *p)
{
	struct owner *o = p->owner ? p->owner : &root_owner;
	struct account *a;
	struct reclaim *r;
	uint64_t age = 0, set = page_has(p, PG_workingset) ? SHADOW_WORKINGSET : 0;
	uint32_t id;

	rcu_read_lock();
	a = owner_account(o);
	r = account_reclaim(a);
	id = a->group->id;
	if (r)
		age = atomic_fetch_add_explicit(&r->lru.age, 1, memory_order_relaxed);
	rcu_read_unlock();
	return (uintptr_t)((age & AGE_MASK) << AGE_SHIFT | set | (uint64_t)id << 1 | 1);
}

void workingset_refault(struct page *p, uintptr_t shadow)
{
	uint32_t id = (uint32_t)(shadow >> 1);
	uint64_t then = (uint64_t)shadow >> AGE_SHIFT, distance;
	struct account *here, *there = NULL;
	struct reclaim *r = NULL;
	struct memcg *m;

	rcu_read_lock();
	here = owner_account(p->owner ? p->owner : &root_owner);
	if (!account_reclaim_make(here))
		goto out; /* no memory: it starts like any other */
	reclaim_count(here, RS_workingset_refault_file, 1);
	m = memcg_by_id(id);
	if (m)
		there = memcg_account(m);
	if (there)
		r = account_reclaim(there);
	if (r) {
		distance =
			(atomic_load_explicit(&r->lru.age, memory_order_relaxed) - then) & AGE_MASK;
		if (distance <= lru_nr(&r->lru, LRU_ACTIVE)) {
			page_flag_set(p, PG_active);
			reclaim_count(here, RS_active_file, 1);
			atomic_fetch_add_explicit(&r->lru.age, 1, memory_order_relaxed);
			reclaim_count(here, RS_workingset_activate_file, 1);
			if (shadow & SHADOW_WORKINGSET) {
				page_flag_set(p, PG_workingset);
				reclaim_count(here, RS_workingset_restore_file, 1);
			}
		}
	}
out:
	rcu_read_unlock();
}
