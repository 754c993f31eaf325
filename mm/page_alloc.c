/* SPDX-License-Identifier: MIT */
/*
 * The page allocator: buddy lists per zone, per-CPU lists in front.
 *
 * What:      blocks of 2^order pages.  A zone's free lists are merged buddies;
 *            each CPU keeps a few blocks of the small orders for itself, moved
 *            from and to the zone in batches.
 * Lazy:      RAM that was wholly free at boot stays in "deferred" ranges of
 *            whole MAX_ORDER blocks, whose struct pages are not even zeroed
 *            until the block is first needed.  A buddy is always inside the
 *            same MAX_ORDER block, so no untouched struct page is ever read.
 * Invariant: refs == 0 exactly while a page is free; PG_buddy: heads a block in
 *            a zone list; PG_pcp: heads one in a per-CPU list.
 * Locks:     zone->lock over the lists and deferred ranges.  Per-CPU lists
 *            belong to their CPU's thread context (kernel code is not
 *            preempted, interrupt handlers do not come here but for the GFP_IRQ
 *            reserve, which is touched with interrupts off).
 */
#include "mm/page.h"
#include "mm/page_int.h"
#include "mm/bootmem.h"
#include "mm/lru.h"
#include "mm/memcg.h"
#include "mm/reclaim.h"
#include "mm/slab.h"
#include "kernel/lock.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/process.h"
#include "kernel/string.h"

#define BLOCK_PAGES  (1UL << MAX_ORDER)
#define MAX_DEFERRED 256 /* ranges; more than a firmware map has */

struct deferred {
	uint64_t pfn, end;
};

struct zone {
	struct spinlock lock;
	struct list_head free[MAX_ORDER + 1]; /* struct page.lru, under lock */
	uint64_t nr_blocks[MAX_ORDER + 1];    /* under lock */
	size_t nr_deferred;
	struct deferred deferred[MAX_DEFERRED]; /* under lock */
	/* Pages in lists and deferred ranges; written under lock, read by anyone. */
	_Atomic uint64_t nr_free __cacheline_aligned;
	uint64_t total;   /* constant after init, but for page_release_range() */
	uint64_t reserve; /* pages that only GFP_ATOMIC may take; constant after init */
	uint64_t low;     /* free pages below which kswapd is woken; constant after init */
};

static struct zone zone0 = { .lock = SPINLOCK_INIT("zone") };
uint64_t page_nr_total;
DEFINE_PER_CPU(struct pcp, pcp);
bool pcp_ready; /* set once per-CPU areas are what they will be */

#ifdef CONFIG_DEBUG
#define POISON_FREE 0x6b
static void poison_page(struct page *p, unsigned order)
{
	memset(page_virt(p), POISON_FREE, PAGE_SIZE << order);
}
static void poison_check(struct page *p, unsigned order)
{
	const uint64_t *w = page_virt(p);

	for (size_t i = 0; i < (PAGE_SIZE << order) / 8; i++)
		if (w[i] != 0x6b6b6b6b6b6b6b6bULL)
			panic("page_alloc: free page %#llx was written at offset %#zx: %#llx",
			      (unsigned long long)(page_to_pfn(p) << PAGE_SHIFT), i * 8,
			      (unsigned long long)w[i]);
}
#else
static void poison_page(struct page *p, unsigned order)
{
	(void)p, (void)order;
}
static void poison_check(struct page *p, unsigned order)
{
	(void)p, (void)order;
}
#endif

void page_bad(const struct page *p, const char *what)
{
	panic("page %#llx: %s; refs %u kind %u order %u flags %#x mapcount %d owner %p",
	      (unsigned long long)(page_to_pfn(p) << PAGE_SHIFT), what,
	      atomic_load_explicit(&p->refs, memory_order_relaxed), p->kind, p->order,
	      atomic_load_explicit(&p->flags, memory_order_relaxed),
	      atomic_load_explicit(&p->mapcount, memory_order_relaxed), (void *)p->owner);
}

static inline uint32_t page_flags(const struct page *p)
{
	return atomic_load_explicit(&p->flags, memory_order_relaxed);
}
/* Only for pages nobody else can see change: plain store, no read-modify-write. */
static inline void page_set_flags(struct page *p, uint32_t f)
{
	atomic_store_explicit(&p->flags, f, memory_order_relaxed);
}

/* ---- zone: all under zone->lock ---- */

static void list_block(struct zone *z, struct page *p, unsigned order)
{
	p->order = order;
	p->kind = PAGE_FREE;
	page_set_flags(p, PG_buddy);
	list_add(&p->lru, &z->free[order]);
	z->nr_blocks[order]++;
}

static void unlist_block(struct zone *z, struct page *p, unsigned order)
{
	list_del(&p->lru);
	page_set_flags(p, 0);
	z->nr_blocks[order]--;
}

/* Gives a block back, merging with its buddy as long as that is free too. */
static void zone_free(struct zone *z, struct page *p, unsigned order)
{
	uint64_t pfn = page_to_pfn(p);

	while (order < MAX_ORDER) {
		struct page *b = pfn_to_page(pfn ^ (1UL << order));

		if (!(page_flags(b) & PG_buddy) || b->order != order)
			break;
		unlist_block(z, b, order);
		pfn &= ~(1UL << order);
		order++;
	}
	list_block(z, pfn_to_page(pfn), order);
}

/* Brings one MAX_ORDER block in from the deferred ranges; false when none is left. */
static bool zone_grow(struct zone *z)
{
	struct deferred *d;
	struct page *p;

	if (!z->nr_deferred)
		return false;
	d = &z->deferred[z->nr_deferred - 1];
	p = pfn_to_page(d->pfn);
	memset((void *)p, 0, BLOCK_PAGES * sizeof(*p));
	d->pfn += BLOCK_PAGES;
	if (d->pfn >= d->end)
		z->nr_deferred--;
	poison_page(p, MAX_ORDER);
	list_block(z, p, MAX_ORDER);
	return true;
}

static struct page *zone_take(struct zone *z, unsigned order)
{
	for (unsigned o = order;; o++) {
		struct page *p;

		if (o > MAX_ORDER) {
			if (!zone_grow(z))
				return NULL;
			o = MAX_ORDER;
		}
		if (list_empty(&z->free[o]))
			continue;
		p = list_first_entry(&z->free[o], struct page, lru);
		unlist_block(z, p, o);
		while (o > order) {
			o--;
			list_block(z, p + (1UL << o), o);
		}
		return p;
	}
}

static void zone_count(struct zone *z, int64_t pages)
{
	atomic_fetch_add_explicit(&z->nr_free, (uint64_t)pages, memory_order_relaxed);
}

/* ---- per-CPU lists ---- */

static void pcp_push(struct pcp *c, struct page *p, unsigned order)
{
	page_set_flags(p, PG_pcp);
	p->order = order;
	p->lru.next = (struct list_head *)c->list[order];
	c->list[order] = p;
	pcp_add(&c->count[order], 1);
}

static struct page *pcp_pop(struct pcp *c, unsigned order)
{
	struct page *p = c->list[order];

	if (p) {
		c->list[order] = (struct page *)p->lru.next;
		page_set_flags(p, 0);
		pcp_add(&c->count[order], -1);
	}
	return p;
}

static struct page *pcp_refill(struct zone *z, struct pcp *c, unsigned order, gfp_t gfp)
{
	unsigned shift = c->batch_shift > order ? c->batch_shift - order : 0;
	struct page *p;

	/* One larger block, cut outside the lock, costs the same as one page. */
	for (;; shift = shift > 2 ? shift - 2 : 0) {
		uint64_t pages = 1UL << (order + shift);

		spin_lock(&z->lock);
		p = NULL;
		if ((gfp & GFP_ATOMIC) ||
		    atomic_load_explicit(&z->nr_free, memory_order_relaxed) >=
			    z->reserve + pages)
			p = zone_take(z, order + shift);
		if (p)
			zone_count(z, -(int64_t)pages);
		spin_unlock(&z->lock);
		if (p || !shift)
			break;
	}
	if (unlikely(atomic_load_explicit(&z->nr_free, memory_order_relaxed) < z->low))
		kswapd_wake();
	if (!p)
		return NULL;
	for (unsigned i = (1u << shift) - 1; i > 0; i--)
		pcp_push(c, p + ((size_t)i << order), order);
	return p;
}

static void pcp_flush(struct zone *z, struct pcp *c, unsigned order, unsigned keep)
{
	unsigned n = 0;

	spin_lock(&z->lock);
	while (pcp_read(&c->count[order]) > keep) {
		zone_free(z, pcp_pop(c, order), order);
		n++;
	}
	zone_count(z, (int64_t)n << order);
	spin_unlock(&z->lock);
}

void page_drain_this_cpu(void)
{
	if (!pcp_ready)
		return;
	for (unsigned o = 0; o < PCP_ORDERS; o++)
		pcp_flush(&zone0, &this_cpu(pcp), o, 0);
}

/* Interrupt reserve: filled by thread context when a handler has asked. */
static struct page *irq_take(void)
{
	irqstate_t s = irq_save();
	struct pcp *c = &this_cpu(pcp);
	struct page *p = c->irq_list;

	if (p) {
		c->irq_list = (struct page *)p->lru.next;
		c->irq_count--;
		page_set_flags(p, 0);
	}
	c->irq_wanted = true;
	irq_restore(s);
	return p;
}

static void irq_refill(struct zone *z, struct pcp *c)
{
	while (c->irq_count < PCP_IRQ_PAGES) {
		struct page *p;
		irqstate_t s;

		spin_lock(&z->lock);
		p = zone_take(z, 0);
		if (p)
			zone_count(z, -1);
		spin_unlock(&z->lock);
		if (!p)
			return;
		page_set_flags(p, PG_pcp);
		s = irq_save();
		p->lru.next = (struct list_head *)c->irq_list;
		c->irq_list = p;
		c->irq_count++;
		irq_restore(s);
	}
	c->irq_wanted = false;
}

/* ---- allocation ---- */

static struct page *take_direct(struct zone *z, unsigned order, gfp_t gfp)
{
	struct page *p = NULL;

	spin_lock(&z->lock);
	if ((gfp & GFP_ATOMIC) || atomic_load_explicit(&z->nr_free, memory_order_relaxed) >=
					  z->reserve + (1UL << order))
		p = zone_take(z, order);
	if (p)
		zone_count(z, -(1LL << order));
	spin_unlock(&z->lock);
	return p;
}

static struct page *take(struct zone *z, unsigned order, gfp_t gfp)
{
	struct pcp *c;
	struct page *p;

	if (unlikely(!pcp_ready) || order >= PCP_ORDERS)
		return take_direct(z, order, gfp);
	c = &this_cpu(pcp);
	p = pcp_pop(c, order);
	if (likely(p))
		return p;
	if (unlikely(c->irq_wanted))
		irq_refill(z, c);
	/* The spinlock inside may halt, but this thread does not move. */
	return pcp_refill(z, c, order, gfp);
}

struct page *page_alloc(unsigned order, enum page_kind kind, gfp_t gfp)
{
	struct page *p;

	if (unlikely(order > MAX_ORDER)) {
		WARN_ON(order > MAX_ORDER);
		return NULL;
	}
	if (unlikely(gfp & GFP_IRQ)) {
		p = order ? NULL : irq_take();
	} else {
		if (!(gfp & GFP_ATOMIC) && pcp_ready)
			might_sleep();
		if (alloc_should_fail())
			return NULL;
		p = take(&zone0, order, gfp);
		if (unlikely(!p))
			p = page_alloc_slow(order, gfp);
	}
	if (unlikely(!p))
		return NULL;
#ifdef CONFIG_DEBUG
	if (atomic_load_explicit(&p->refs, memory_order_relaxed) || p->owner ||
	    atomic_load_explicit(&p->mapcount, memory_order_relaxed))
		page_bad(p, "allocated while in use");
#endif
	poison_check(p, order);
	p->kind = kind;
	p->order = order;
	p->priv = 0;
	list_init(&p->lru);
	atomic_store_explicit(&p->refs, 1, memory_order_release);
	page_count_kind(kind, 1L << order);
	if (gfp & GFP_ACCOUNT) {
		struct owner *o = current_owner();

		if (o && memcg_charge_page(p, o, MEMCG_KERNEL,
					   gfp & GFP_ATOMIC ? CHARGE_NOSLEEP : 0)) {
			page_put(p);
			return NULL;
		}
	}
	if (gfp & GFP_ZERO)
		for (unsigned i = 0; i < 1u << order; i++)
			clear_page((char *)page_virt(p) + i * PAGE_SIZE);
	return p;
}

struct page *page_alloc_try(unsigned order, gfp_t gfp)
{
	return take(&zone0, order, gfp);
}

void page_free_block(struct page *p)
{
	unsigned order = p->order;
	struct pcp *c;

	if (unlikely(page_flags(p) & (PG_lru | PG_active | PG_again)))
		lru_forget(p); /* while it still has its owner */
	if (p->owner)
		memcg_uncharge_page(p);
#ifdef CONFIG_DEBUG
	if (page_flags(p) & (PG_buddy | PG_pcp))
		page_bad(p, "freed twice");
	if (atomic_load_explicit(&p->mapcount, memory_order_relaxed))
		page_bad(p, "freed while mapped");
#endif
	page_count_kind(p->kind, -(1L << order));
	p->kind = PAGE_FREE;
	page_set_flags(p, 0);
	poison_page(p, order);
	if (unlikely(!pcp_ready) || order >= PCP_ORDERS) {
		spin_lock(&zone0.lock);
		zone_free(&zone0, p, order);
		zone_count(&zone0, 1LL << order);
		spin_unlock(&zone0.lock);
		return;
	}
	c = &this_cpu(pcp);
	pcp_push(c, p, order);
	if (unlikely(pcp_read(&c->count[order]) > c->high >> order))
		pcp_flush(&zone0, c, order, c->high >> (order + 1));
}

/* ---- start-up ---- */

static void free_range(uint64_t pfn, uint64_t end)
{
	struct zone *z = &zone0;

	if (pfn >= end)
		return;
	zone_count(z, (int64_t)(end - pfn));
	while (pfn < end) {
		unsigned order = pfn ? min_t(unsigned, __builtin_ctzll(pfn), MAX_ORDER) : MAX_ORDER;

		while ((1UL << order) > end - pfn)
			order--;
		poison_page(pfn_to_page(pfn), order);
		zone_free(z, pfn_to_page(pfn), order);
		pfn += 1UL << order;
	}
}

static uint64_t init_done; /* struct pages below this pfn are zeroed or deferred */
static size_t init_region;

/*
 * Zeroes the struct pages of [pfn, end) as far as they are RAM or share a
 * MAX_ORDER block with RAM (merging looks at those).  The machine maps the page
 * array for whole blocks.
 */
static void init_structs(uint64_t pfn, uint64_t end)
{
	const struct mem_region *r;
	size_t n = bootmem_regions(&r);

	for (; init_region < n; init_region++) {
		uint64_t first = ALIGN_DOWN(r[init_region].start >> PAGE_SHIFT, BLOCK_PAGES);
		uint64_t last = ALIGN_UP(r[init_region].end >> PAGE_SHIFT, BLOCK_PAGES);
		uint64_t s = max(first, pfn), e = min(last, end);

		if (s < e)
			memset((void *)pfn_to_page(s), 0, (e - s) * sizeof(struct page));
		if (last > end)
			break;
	}
	init_done = end;
}

static void init_free(uint64_t start, uint64_t stop)
{
	struct zone *z = &zone0;
	uint64_t pfn = start >> PAGE_SHIFT, end = stop >> PAGE_SHIFT;
	uint64_t lo = ALIGN_UP(pfn, BLOCK_PAGES), hi = ALIGN_DOWN(end, BLOCK_PAGES);

	if (lo >= hi || z->nr_deferred == MAX_DEFERRED) {
		lo = end;
		hi = end;
	}
	/* Reserved RAM before the range, and the part in front of the first whole block. */
	init_structs(init_done, lo);
	init_done = hi;
	if (lo < hi) {
		z->deferred[z->nr_deferred++] = (struct deferred){ lo, hi };
		zone_count(z, (int64_t)(hi - lo));
	}
	if (hi < end)
		init_structs(hi, end);
	/*
	 * Merging looks at buddies up to the end of the MAX_ORDER block; those
	 * further up have not been zeroed yet, so the lists are filled later.
	 */
}

static void init_lists(uint64_t start, uint64_t stop)
{
	uint64_t pfn = start >> PAGE_SHIFT, end = stop >> PAGE_SHIFT;
	uint64_t lo = ALIGN_UP(pfn, BLOCK_PAGES), hi = ALIGN_DOWN(end, BLOCK_PAGES);

	if (lo >= hi) {
		free_range(pfn, end);
		return;
	}
	free_range(pfn, lo);
	/* Was it deferred?  If the table was full, free it the plain way. */
	for (size_t i = 0; i < zone0.nr_deferred; i++)
		if (zone0.deferred[i].pfn == lo) {
			free_range(hi, end);
			return;
		}
	free_range(lo, end);
}

void page_alloc_init(void)
{
	struct zone *z = &zone0;
	const struct mem_region *r;
	size_t n = bootmem_regions(&r);
	uint64_t last = 0;

	for (unsigned o = 0; o <= MAX_ORDER; o++)
		list_init(&z->free[o]);
	for (size_t i = 0; i < n; i++) {
		z->total += (r[i].end - r[i].start) >> PAGE_SHIFT;
		last = r[i].end >> PAGE_SHIFT;
	}
	bootmem_release(init_free);
	init_structs(init_done, ALIGN_UP(last, BLOCK_PAGES));
	bootmem_release(init_lists);
	page_nr_total = z->total;
	page_count_kind(PAGE_RESERVED,
			(long)(z->total - atomic_load_explicit(&z->nr_free, memory_order_relaxed)));
	z->reserve = min_t(uint64_t, z->total / 256, 4096);
	z->low = z->reserve * 2;
	pr_info("memory: %llu MiB in %zu ranges, %llu MiB free",
		(unsigned long long)z->total >> 8, n,
		(unsigned long long)atomic_load_explicit(&z->nr_free, memory_order_relaxed) >> 8);
}

void page_alloc_init_percpu(void)
{
	/* An eighth of memory at most may sit in per-CPU lists. */
	uint64_t share = zone0.total / 8 / nr_cpus / PCP_ORDERS;

	for_each_cpu(cpu) {
		struct pcp *c = &per_cpu(pcp, cpu);

		c->high = (unsigned)max_t(uint64_t, min_t(uint64_t, share, 256), 16);
		c->batch_shift = c->high >= 256 ? 6 : c->high >= 64 ? 4 : 2;
	}
	pcp_ready = true;
}

void page_release_range(uint64_t start, uint64_t end)
{
	uint64_t pfn = DIV_ROUND_UP(start, PAGE_SIZE), stop = end >> PAGE_SHIFT;

	if (pfn >= stop)
		return;
	spin_lock(&zone0.lock);
	free_range(pfn, stop);
	spin_unlock(&zone0.lock);
	page_count_kind(PAGE_RESERVED, -(long)(stop - pfn));
}

uint64_t page_pfn_end(void)
{
	const struct mem_region *r;
	size_t n = bootmem_regions(&r);

	return n ? r[n - 1].end >> PAGE_SHIFT : 0;
}

bool page_is_known(uint64_t pfn, uint64_t *stop)
{
	const struct mem_region *r;
	size_t n = bootmem_regions(&r), i = 0;
	bool known = true;

	while (i < n && r[i].end >> PAGE_SHIFT <= pfn)
		i++;
	*stop = i < n ? r[i].start >> PAGE_SHIFT : UINT64_MAX;
	if (pfn < *stop)
		return false;
	*stop = r[i].end >> PAGE_SHIFT;
	spin_lock(&zone0.lock);
	for (i = 0; i < zone0.nr_deferred; i++) {
		const struct deferred *d = &zone0.deferred[i];

		if (pfn >= d->pfn && pfn < d->end) {
			known = false;
			*stop = min(*stop, d->end);
		} else if (pfn < d->pfn) {
			*stop = min(*stop, d->pfn);
		}
	}
	spin_unlock(&zone0.lock);
	return known;
}

void page_marks(struct page_marks *out)
{
	*out = (struct page_marks){ zone0.reserve, zone0.low, zone0.low + zone0.reserve };
}

uint64_t page_zone_free(void)
{
	return atomic_load_explicit(&zone0.nr_free, memory_order_relaxed);
}
