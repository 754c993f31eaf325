/* SPDX-License-Identifier: MIT */
/*
 * Memory of the whole machine running short: the node's background thread, and what an
 * allocation does that finds no page.
 *
 * The page allocator keeps three marks: below "low" it wakes the thread, which reclaims
 * from the root downwards until "high" is reached; below "min" only allocations that may
 * not wait get pages, and the others reclaim for themselves before they look for a process
 * to kill.  A thread that finds nothing sleeps for FUTILE_NS before it looks again.
 */
#include "mm/memcg_tree.h"
#include "mm/page_int.h"
#include "mm/reclaim.h"
#include "mm/reclaim_int.h"
#include "kernel/log.h"
#include "kernel/thread.h"

#define FUTILE_NS (100 * NSEC_PER_MSEC)

static struct thread *_Atomic kswapd;
static _Atomic bool wanted; /* stays set while the thread works: waking is one look */

void kswapd_wake(void)
{
	struct thread *t = atomic_load_explicit(&kswapd, memory_order_acquire);

	if (t && !atomic_load_explicit(&wanted, memory_order_relaxed) &&
	    !atomic_exchange_explicit(&wanted, true, memory_order_seq_cst))
		thread_wake(t);
}

static void kswapd_main(void *arg)
{
	struct page_marks marks;

	page_marks(&marks);
	for (;;) {
		bool futile = false;

		for (;;) {
			thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
			if (atomic_load_explicit(&wanted, memory_order_seq_cst))
				break;
			schedule();
		}
		thread_finish_sleep();
		while (!futile && page_nr_free() < marks.high) {
			struct reclaim_request q = { .top = memcg_root, .background = true,
						     .want = marks.high - page_nr_free() };

			reclaim_run(&q);
			page_drain_this_cpu();
			futile = !q.freed;
		}
		if (futile)
			thread_sleep_until(clock_ns() + FUTILE_NS, false);
		atomic_store_explicit(&wanted, false, memory_order_seq_cst);
	}
}

bool reclaim_for_alloc(unsigned order)
{
	struct reclaim_request q = { .top = memcg_root, .stalls = true,
				     .want = max_t(uint64_t, RECLAIM_BATCH, 1UL << order) };

	if (!atomic_load_explicit(&kswapd, memory_order_relaxed) ||
	    atomic_load_explicit(&current->flags, memory_order_relaxed) & THREAD_F_RECLAIM)
		return false;
	reclaim_run(&q);
	return q.freed;
}

uint64_t page_available(void)
{
	uint64_t cached = lru_total(LRU_INACTIVE) + lru_total(LRU_ACTIVE), spare = page_nr_free();
	struct page_marks marks;

	/* Not all of the cache can go, nor all free pages: some of both is in constant use. */
	page_marks(&marks);
	spare = spare > marks.low ? spare - marks.low : 0;
	return spare + cached - min(cached / 2, marks.low);
}

void kswapd_init(void)
{
	struct thread *t = thread_create("kswapd0", kswapd_main, NULL, -1);

	if (IS_ERR(t))
		panic("kswapd: no memory for its thread");
	atomic_store_explicit(&kswapd, t, memory_order_release); /* keeps the reference */
	thread_start(t);
}
