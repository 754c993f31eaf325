/* SPDX-License-Identifier: MIT */
/* What the files of the page allocator share; nobody else includes this. */
#ifndef MM_PAGE_INT_H
#define MM_PAGE_INT_H

#include "mm/page.h"

#define PCP_ORDERS    4 /* orders 0..3 have per-CPU lists: pages, stacks, slabs, packet blocks */
#define PCP_IRQ_PAGES 8 /* reserve for GFP_IRQ, filled once a handler has asked */

/*
 * Per-CPU lists: touched by their own CPU in thread context only.  The counts
 * are atomics so that others may read them for statistics.
 */
struct pcp {
	struct page *list[PCP_ORDERS];       /* through lru.next */
	_Atomic unsigned count[PCP_ORDERS];  /* blocks */
	unsigned high;                       /* pages per order before a flush; halved by it */
	unsigned batch_shift;                /* log2 of pages per refill */
	struct page *irq_list;               /* interrupts off */
	unsigned irq_count;                  /* interrupts off */
	bool irq_wanted;
	_Atomic int64_t kind[NR_PAGE_KINDS]; /* pages in use, may be negative: only the sum counts */
};
DECLARE_PER_CPU(struct pcp, pcp);
extern bool pcp_ready;
extern uint64_t page_nr_total;

/* Written by one CPU, read by all: no read-modify-write needed. */
static inline void pcp_add(_Atomic unsigned *c, int n)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + (unsigned)n,
			      memory_order_relaxed);
}
static inline unsigned pcp_read(const _Atomic unsigned *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

/* Free pages below which the background thread works (low), stops (high), and only GFP_ATOMIC is served (min). */
struct page_marks {
	uint64_t min, low, high;
};
void page_marks(struct page_marks *out);
void page_count_kind(enum page_kind kind, long pages);
uint64_t page_zone_free(void);
struct page *page_alloc_slow(unsigned order, gfp_t gfp);
struct page *page_alloc_try(unsigned order, gfp_t gfp);
void page_drain_this_cpu(void);

#endif /* MM_PAGE_INT_H */
