/* SPDX-License-Identifier: MIT */
/*
 * Reclaim: taking clean file pages back from groups.
 *
 * Who asks:  a charge that meets memory.max, a group above memory.high, writes to
 *            memory.reclaim, .max and .high: from that group downwards; an allocation
 *            that finds no page and the background threads: from the root downwards.
 * How:       mm/reclaim_group.c walks the subtree and says how much each group gives,
 *            by its size and its protection (mm/protection.c); mm/reclaim.c takes it
 *            from the group's lists.
 * Locks:     none held while pages are evicted.  Callers may hold their own space's lock
 *            and sleeping locks that page_cache_evict() does not need; no spinlock.
 */
#ifndef MM_RECLAIM_H
#define MM_RECLAIM_H

#include "mm/memcg.h"

#define RECLAIM_BATCH 32 /* pages taken off a list at a time */

struct reclaim_request {
	struct memcg *top;   /* referenced by the caller */
	uint64_t want;       /* pages */
	bool background;     /* by a background thread, for the statistics */
	bool stalls;         /* the time counts as lost to memory (mm/psi.h) */
	/* Results: */
	uint64_t freed;
	uint64_t scanned;
	uint64_t later;      /* seen dirty, locked or in use: may be had another time */
	bool desperate;      /* also the active list down to the last page */
};

/**
 * reclaim_run - take q->want pages from a group and all below it
 *
 * Looks harder and harder until it has them, has seen every page that it may take, or the
 * caller is being killed.  Groups below memory.low give only if nobody else has anything,
 * those below memory.min never.
 * Context: thread, sleeps.
 */
void reclaim_run(struct reclaim_request *q);

/* Reads of the walk: rounds (calls of reclaim_run()) ever, for /proc/tally. */
uint64_t reclaim_rounds(void);

/* memory.min and .low of @a as they count for reclaim from @top downwards, pages. Under RCU. */
struct protection {
	uint64_t min, low;
};
struct account;
void protection_of(struct account *a, struct account *top, struct protection *out);
/*
 * Mount option memory_recursiveprot: what children do not claim protects what they have
 * beyond their claims.
 */
extern _Atomic bool protection_recursive;

/* Takes up to @n pages each off the old ends of a group's lists (mm/reclaim.c). */
void reclaim_lists(struct memcg *m, uint64_t inactive, uint64_t active, struct reclaim_request *q);

/* mm/kswapd.c: the page allocator has fewer free pages than it likes; wakes the node's thread. */
void kswapd_wake(void);
void kswapd_init(void);
/* An allocation found no page: reclaims from the root.  True: something was freed, try again. */
bool reclaim_for_alloc(unsigned order);

#endif /* MM_RECLAIM_H */
