/* SPDX-License-Identifier: MIT */
/*
 * Reclaim from a group downwards: who gives how much.
 *
 * A pass goes once through the subtree, in the turns that all reclaimers of that subtree
 * share (mm/memcg_walk.h), and asks each group for a part of its lists: what its
 * protection leaves unprotected, divided by two to the power of the priority.  The first
 * priority is such that the whole subtree would give about what is wanted; each pass
 * that does not find enough looks at twice as much.  So groups give in proportion to what
 * they have unprotected, whoever asks.
 *
 * A group that is within its memory.min gives nothing.  One within memory.low gives
 * nothing as long as another has something; only when a whole reclaim came back with
 * empty hands is it repeated without looking at low, and that is counted as an event.
 */
#include "mm/reclaim.h"
#include "mm/memcg_tree.h"
#include "mm/memcg_walk.h"
#include "mm/psi.h"
#include "mm/reclaim_int.h"
#include "kernel/thread.h"

#define MAX_PRIORITY 12
#define DIRTY_WAIT_NS (2 * NSEC_PER_MSEC) /* between passes, when pages wait for their write-back */

/* Reclaims begun, by CPU. */
struct round_count {
	_Atomic uint64_t n;
};
static DEFINE_PER_CPU(struct round_count, rounds);

uint64_t reclaim_rounds(void)
{
	uint64_t n = 0;

	for_each_cpu(c)
		n += atomic_load_explicit(&per_cpu(rounds, c).n, memory_order_relaxed);
	return n;
}

struct pass {
	struct reclaim_request *q;
	unsigned priority;
	bool low_too;     /* memory.low does not protect any more */
	bool low_skipped; /* it has protected somebody */
};

static uint64_t unprotected(uint64_t pages, uint64_t usage, uint64_t protection)
{
	uint64_t of = usage > protection ? usage : protection;

	if (!protection)
		return pages;
	return pages - (uint64_t)((unsigned __int128)pages * protection / (of + 1));
}

/* What @a is asked for in this pass.  Under RCU.  false: nothing. */
static bool ask(struct pass *s, struct account *top, struct account *a, uint64_t part[NR_LRU_LISTS])
{
	struct reclaim *r = account_reclaim(a);
	struct protection p;
	uint64_t usage, protection;

	if (!r)
		return false;
	usage = (uint64_t)account_usage(a);
	protection_of(a, top, &p);
	if (p.min && usage <= p.min)
		return false;
	if (p.low && usage <= p.low) {
		if (!s->low_too) {
			s->low_skipped = true;
			return false;
		}
		account_event(a, MEMCG_EV_LOW);
	}
	protection = p.min;
	if (!s->low_too && p.low > p.min) {
		protection = p.low;
		s->low_skipped = true;
	}
	for (unsigned i = 0; i < NR_LRU_LISTS; i++)
		part[i] = unprotected(lru_nr(&r->lru, i), usage, protection) >> s->priority;
	if (s->q->desperate)
		part[LRU_INACTIVE] += part[LRU_ACTIVE]; /* which are there by then */
	return part[LRU_INACTIVE] || part[LRU_ACTIVE];
}

/*
 * One pass.  The account of the top may be closed while we sleep; its group is
 * referenced, so we see that and stop.
 */
static void run_pass(struct pass *s)
{
	struct reclaim_request *q = s->q;
	struct account *top, *a;
	struct memcg_walk w;
	bool begun = false;

	for (;;) {
		uint64_t part[NR_LRU_LISTS];
		struct memcg *m = NULL;
		struct reclaim *r;

		rcu_read_lock();
		top = memcg_account(q->top);
		r = top ? account_reclaim(top) : NULL;
		if (!r || (begun && (w.top != top || w.at != &r->walk)))
			break;
		if (!begun)
			memcg_walk_begin(&w, top, &r->walk);
		begun = true;
		while (!m && (a = memcg_walk_next(&w)))
			if (ask(s, top, a, part))
				m = memcg_tryget(a->group);
		if (!m)
			break;
		rcu_read_unlock();
		reclaim_lists(m, part[LRU_INACTIVE], part[LRU_ACTIVE], q);
		memcg_put(m);
		if (q->freed >= q->want || memcg_dying())
			return;
	}
	rcu_read_unlock();
}

/*
 * At which a pass over the whole subtree would give what is wanted, or a little less, so
 * that a large request comes to everybody.  A small one may end with whom it meets first:
 * the next goes on behind him.
 */
static unsigned first_priority(struct reclaim_request *q)
{
	uint64_t want = max_t(uint64_t, q->want, 2 * RECLAIM_BATCH), all;
	struct account *top;
	unsigned p = 0;

	rcu_read_lock();
	top = memcg_account(q->top);
	all = !top ? 0 : top->parent ? (uint64_t)account_usage(top)
				     : lru_total(LRU_INACTIVE) + lru_total(LRU_ACTIVE);
	rcu_read_unlock();
	while (p < MAX_PRIORITY && all >> p > want)
		p++;
	return p;
}

static void run(struct reclaim_request *q)
{
	struct pass s = { .q = q };
	unsigned first = first_priority(q);
	_Atomic uint64_t *here = &this_cpu(rounds).n;

	q->freed = 0;
	q->scanned = 0;
	q->later = 0;
	q->desperate = false;
	atomic_store_explicit(here, atomic_load_explicit(here, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	do {
		for (unsigned left = first + 2; left--;) {
			uint64_t later = q->later;

			/* The last one is a second at priority 0 that spares no active page. */
			s.priority = left ? left - 1 : 0;
			q->desperate = !left;
			run_pass(&s);
			if (q->freed >= q->want || memcg_dying())
				return;
			if (q->later != later && left <= first)
				thread_sleep_until(clock_ns() + DIRTY_WAIT_NS, false);
		}
		if (q->freed || !s.low_skipped || s.low_too)
			return;
		s.low_too = true;
	} while (true);
}

void reclaim_run(struct reclaim_request *q)
{
	struct psi_stall stall;

	uint32_t was = atomic_fetch_or_explicit(&current->flags, THREAD_F_RECLAIM,
						memory_order_relaxed);

	if (q->stalls)
		psi_stall_begin(&stall);
	run(q);
	if (!(was & THREAD_F_RECLAIM))
		atomic_fetch_and_explicit(&current->flags, ~THREAD_F_RECLAIM, memory_order_relaxed);
	if (q->stalls)
		psi_stall_end(&stall);
}

uint64_t memcg_reclaim_group(struct memcg *group, uint64_t pages)
{
	struct reclaim_request q = { .top = group, .want = pages };

	reclaim_run(&q);
	return q.freed;
}
