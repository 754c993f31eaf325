/* SPDX-License-Identifier: MIT */
/*
 * struct page: one per physical page of RAM, 64 bytes, and the page allocator.
 *
 * Interface: page_alloc() / page_put(); page_get() for a further reference.
 *            A page is freed when its last reference goes; if it carries an
 *            owner it is uncharged then.
 * Invariant: refs == 0 exactly while the page is free or in a per-CPU list.
 * Locks:     zone lock (thread context) for the buddy lists; per-CPU lists are
 *            touched with interrupts off by their CPU only.
 */
#ifndef MM_PAGE_H
#define MM_PAGE_H

#include "arch/arch.h"
#include "kernel/list.h"

struct owner;
struct mapping;
struct kmem_cache;

#define MAX_ORDER 10 /* largest block: 2^10 pages = 4 MiB */

/* What a page is used for: /proc/meminfo adds these up, and their sum is the total. */
enum page_kind {
	PAGE_FREE, PAGE_RESERVED, PAGE_KERNEL, PAGE_SLAB, PAGE_KSTACK, PAGE_PGTABLE, PAGE_ANON,
	PAGE_FILE, PAGE_NET, PAGE_PERCPU, NR_PAGE_KINDS
};

/*
 * Legend: [a] atomic, [o] whoever holds the only reference or allocated it,
 *         [k] as the owning subsystem says
 */
struct page {
	_Atomic uint32_t refs;    /* [a] */
	uint8_t kind;             /* [o] enum page_kind */
	uint8_t order;            /* [o] of the block this page heads */
	uint8_t charge_kind;      /* [o] enum memcg_kind, valid while owner is set */
	uint8_t pad;
	_Atomic uint32_t flags;   /* [a] PG_* */
	_Atomic int32_t mapcount; /* [a] user mappings */
	struct owner *owner;      /* [o] group that is charged; NULL: nobody */
	struct list_head lru;     /* [k] free list, LRU, subsystem's list */
	union {
		struct {                    /* file pages */
			_Atomic(struct mapping *) mapping; /* [a] written under the page index's lock; NULL: a memory file's, or cut off */
			uint64_t index;          /* page number in the file */
		};
		struct {                    /* slab pages */
			struct kmem_cache *cache;
			void *freelist;
		};
	};
	union {
		uint64_t priv;
		struct { uint16_t inuse, total; uint32_t slab_cpu; };
	};
};
_Static_assert(sizeof(struct page) == 64, "struct page must stay one cache line");

#define PG_dirty   (1u << 0)
#define PG_locked  (1u << 1)
#define PG_lru     (1u << 2)
#define PG_active  (1u << 3)
#define PG_unevictable (1u << 4)
#define PG_uptodate (1u << 5)
#define PG_head    (1u << 6)
#define PG_buddy   (1u << 7) /* in a free list of the zone */
#define PG_pcp     (1u << 8) /* in a per-CPU list */
#define PG_writeback (1u << 9) /* on its way to the backing store */
#define PG_readahead (1u << 10) /* a reader who gets here asks for the next window */
#define PG_checked (1u << 11) /* its file system has found its bytes to make sense */
#define PG_referenced (1u << 16) /* used since it came to its list (mm/lru.h) */
#define PG_again   (1u << 17) /* … and used once more while inactive */
#define PG_workingset (1u << 19) /* was on the active list once (mm/workingset.c) */
#define PG_lru_root (1u << 18) /* on the machine's lists, for want of memory for its group's */

static inline bool page_has(const struct page *p, uint32_t flags)
{
	return atomic_load_explicit(&p->flags, memory_order_acquire) & flags;
}
/* Return: the flags before. */
static inline uint32_t page_flag_set(struct page *p, uint32_t flags)
{
	return atomic_fetch_or_explicit(&p->flags, flags, memory_order_acq_rel);
}
static inline uint32_t page_flag_clear(struct page *p, uint32_t flags)
{
	return atomic_fetch_and_explicit(&p->flags, ~flags, memory_order_acq_rel);
}

/* Allocation flags. */
typedef unsigned gfp_t;
#define GFP_KERNEL  0u        /* may sleep and reclaim */
#define GFP_ATOMIC  (1u << 0) /* may not sleep; may use the reserve */
#define GFP_ZERO    (1u << 1)
#define GFP_ACCOUNT (1u << 2) /* charge to the current process's group */
#define GFP_NOWARN  (1u << 3)
#define GFP_IRQ     (1u << 4) /* interrupt handler: per-CPU reserve only */

/**
 * page_alloc - get 2^order pages in one block
 * @kind: what for (accounting of the machine, not of groups)
 * @gfp: GFP_ACCOUNT charges MEMCG_KERNEL pages to current_owner()
 *
 * Context: thread unless GFP_IRQ.  Return: first page with one reference, or
 * NULL (no memory, or the group's limit).  fail.alloc=N makes every Nth fail.
 */
struct page *page_alloc(unsigned order, enum page_kind kind, gfp_t gfp);
static inline void page_get(struct page *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
}
void page_free_block(struct page *p); /* last reference gone; not for general use */
void page_bad(const struct page *p, const char *what); /* debug build: panics with the page's fields */
static inline void page_put(struct page *p)
{
	uint32_t old = atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel);

	if (old == 1)
		page_free_block(p);
#ifdef CONFIG_DEBUG
	else if (old == 0)
		page_bad(p, "reference dropped that nobody holds (double free?)");
#endif
}
/* A reference to a page that may be freed at this moment: false if it was free.  Then check that it is still the page you wanted. */
static inline bool page_get_unless_free(struct page *p)
{
	uint32_t n = atomic_load_explicit(&p->refs, memory_order_relaxed);

	do {
		if (n == 0)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&p->refs, &n, n + 1, memory_order_acquire,
							memory_order_relaxed));
	return true;
}
static inline void *page_virt(const struct page *p)
{
	return pfn_to_virt(page_to_pfn(p));
}
static inline struct page *virt_to_page(const void *v)
{
	return pfn_to_page(virt_to_pfn(v));
}

/* One page, page aligned: zeroed; copied. */
#if defined(TALLY_HOSTED)
static inline void clear_page(void *p)
{
	__builtin_memset(p, 0, PAGE_SIZE);
}
static inline void copy_page(void *d, const void *s)
{
	__builtin_memcpy(d, s, PAGE_SIZE);
}
#else
void clear_page(void *p);
void copy_page(void *d, const void *s);
#endif

/* Machine-wide figures, pages. */
struct page_stats {
	uint64_t total, free, kind[NR_PAGE_KINDS], pcp; /* pcp: part of free, in per-CPU lists */
};
void page_stats(struct page_stats *out); /* exact when nothing is in flight */
uint64_t page_nr_free(void);             /* cheap, may be a little stale */
uint64_t page_available(void);           /* free, or cached and to be had without hurting anybody; an estimate */

/* Changes what an allocated page counts as.  Context: thread, the page's owner. */
void page_set_kind(struct page *p, enum page_kind kind);

/*
 * fail.alloc=N: should this allocation of a user process fail?  Both page_alloc()
 * and the slab ask; kernel threads are spared.
 */
extern unsigned fail_alloc_every;
bool alloc_fail_slow(void);
static inline bool alloc_should_fail(void)
{
	return unlikely(fail_alloc_every != 0) && alloc_fail_slow();
}

/*
 * For those who look at all pages: the end of RAM as a page number, and whether the
 * struct pages from @pfn on have been filled in.  No: no RAM, or never used so far;
 * the same holds up to *@stop.
 */
uint64_t page_pfn_end(void);
bool page_is_known(uint64_t pfn, uint64_t *stop);

void page_alloc_init(void);   /* takes over from bootmem */
void page_alloc_init_percpu(void); /* once nr_cpus is known: sizes the per-CPU lists */
void page_drain_pcp(void);    /* returns all per-CPU lists to the buddy; sleeps */
/* Gives RAM that was reserved at boot (modules, start-up code) to the allocator; bytes, page aligned. */
void page_release_range(uint64_t start, uint64_t end);

#endif /* MM_PAGE_H */
