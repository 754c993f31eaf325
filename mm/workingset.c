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
 * A shadow has 63 bits and a 1: 32 bits of the group's id (never used twice, so a group
 * that is gone is not mistaken for another), 31 of the clock, which wraps at 8 TiB of
 * evictions.
 */
#include "mm/reclaim_int.h"
#include "mm/memcg_tree.h"
#include "mm/memcg_walk.h"
#include "mm/owner.h"

#define AGE_BITS 31
#define AGE_MASK ((1ULL << AGE_BITS) - 1)

uintptr_t workingset_eviction(struct page *p)
{
	struct owner *o = p->owner ? p->owner : &root_owner;
	struct account *a;
	struct reclaim *r;
	uint64_t age = 0;
	uint32_t id;

	rcu_read_lock();
	a = owner_account(o);
	r = account_reclaim(a);
	id = a->group->id;
	if (r)
		age = atomic_fetch_add_explicit(&r->lru.age, 1, memory_order_relaxed);
	rcu_read_unlock();
	return (uintptr_t)((age & AGE_MASK) << 33 | (uint64_t)id << 1 | 1);
}

void workingset_refault(struct page *p, uintptr_t shadow)
{
	uint32_t id = (uint32_t)(shadow >> 1);
	uint64_t then = (uint64_t)shadow >> 33, distance;
	struct account *here, *there = NULL;
	struct reclaim *r = NULL;
	struct memcg *m;

	rcu_read_lock();
	here = owner_account(p->owner ? p->owner : &root_owner);
	account_reclaim_make(here);
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
			atomic_fetch_or_explicit(&p->flags, PG_active, memory_order_relaxed);
			atomic_fetch_add_explicit(&r->lru.age, 1, memory_order_relaxed);
			reclaim_count(here, RS_workingset_activate_file, 1);
		}
	}
	rcu_read_unlock();
}
