/* SPDX-License-Identifier: MIT */
/*
 * The pages of one file, by page number.
 *
 * What:      a radix tree of 64-way nodes with a dirty mark per slot.  A memory
 *            file keeps its data in it; a file with a backing store has it as
 *            its cache (mm/page_cache.h).  Knows nothing of files.
 * Interface: page_index_lookup() for readers, page_index_get() to find or make
 *            a page, page_index_insert(), page_index_remove(),
 *            page_index_truncate().
 * Invariant: the index holds one reference to each page it contains.  A page
 *            that was removed lives on (and stays charged) until its mappings
 *            and packets let go of it.
 * Locks:     lookups take none (RCU and a speculative reference); changes take
 *            the index's own spinlock inside, so callers need no lock for the
 *            index itself.
 */
#ifndef MM_PAGE_INDEX_H
#define MM_PAGE_INDEX_H

#include "mm/page.h"
#include "mm/memcg.h"

struct page_index;
struct mapping;

/* Empty index, or NULL without memory.  Context: thread, may sleep. */
struct page_index *page_index_create(void);

/* Removes all pages and frees the index.  Nobody else may use it any more.  Sleeps. */
void page_index_destroy(struct page_index *idx);

/**
 * page_index_lookup - find page number @n
 * Context: thread; does not sleep.  Return: page with a reference for the
 * caller, or NULL if there is none (a hole: reads as zeroes).
 */
struct page *page_index_lookup(struct page_index *idx, uint64_t n);

/**
 * page_index_lookup_some - page numbers @first + i for the bits i of @want
 * @out: out[i] is set to a referenced page where there is one, else left alone
 *
 * For a window that begins at a multiple of its size (at most 32), or not: then
 * only the part that shares a node with the first wanted page is looked at.
 */
void page_index_lookup_some(struct page_index *idx, uint64_t first, unsigned want,
			    struct page **out);

/**
 * page_index_get - find page number @n, or put a zeroed page there
 * @o: group that is charged (MEMCG_FILE) for a new page; NULL: nobody
 *
 * Context: thread, sleeps.  Return: page with a reference for the caller, or
 * ERR_PTR(-ENOMEM) (no memory, or the group's limit).
 */
struct page *page_index_get(struct page_index *idx, uint64_t n, struct owner *o);

/**
 * page_index_insert - add @p as page number @n
 * @o: group that is charged one page MEMCG_FILE; NULL: nobody
 *
 * Takes its own reference of @p, sets p->index, kind PAGE_FILE.  @p must not
 * be charged yet.
 * Context: thread, sleeps.  Return: 0, -EEXIST, -ENOMEM (nothing changed).
 */
int page_index_insert(struct page_index *idx, uint64_t n, struct page *p, struct owner *o) __must_check;

/*
 * page_index_place - as page_index_insert(), charging nobody but @o for nodes
 * @m: becomes p->mapping
 * @shadow: set to what page_index_evict() left there, or 0; may be NULL
 */
int page_index_place(struct page_index *idx, uint64_t n, struct page *p, struct mapping *m,
		     struct owner *o, uintptr_t *shadow) __must_check;

/**
 * page_index_evict - take @p out if nobody but the index and the caller holds it
 * @leave: says, for a page that does go, what is left in its place: an odd number,
 *         or 0 for nothing; called under the index's lock; may be NULL
 *
 * Who finds the page at this moment sees its count at zero and looks again; so
 * nobody can write to a page that has left.
 * Context: thread; the page is locked.
 * Return: 0 (the index's reference is gone, p->mapping is NULL), -EBUSY
 * (referenced, or not in the index), -EAGAIN (dirty or under write-back).
 */
int page_index_evict(struct page_index *idx, struct page *p,
		     uintptr_t (*leave)(struct page *p)) __must_check;

/* Takes @p out whoever holds it; the index's reference passes to the caller.  False: it was not there. */
bool page_index_detach(struct page_index *idx, struct page *p) __must_check;

/* Shadows of pages >= @from go; pages stay. */
void page_index_drop_shadows(struct page_index *idx, uint64_t from);

/*
 * PG_dirty of a page in the index, and the marks by which dirty pages are found.
 * Return: true if it changed.
 */
bool page_index_set_dirty(struct page_index *idx, struct page *p);
bool page_index_clear_dirty(struct page_index *idx, struct page *p);
/* First dirty page number >= @from, or UINT64_MAX. */
uint64_t page_index_next_dirty(struct page_index *idx, uint64_t from);

/* Removes page number @n if it is there and drops the index's reference.  May sleep. */
void page_index_remove(struct page_index *idx, uint64_t n);

/* Removes all pages whose number is >= @from.  May sleep. */
void page_index_truncate(struct page_index *idx, uint64_t from);

/* Number of pages in the index (st_blocks). */
uint64_t page_index_count(const struct page_index *idx);

/* First page number >= @from that is present (SEEK_DATA), or UINT64_MAX. */
uint64_t page_index_next(struct page_index *idx, uint64_t from);

void page_index_init(void); /* after slab_init() */

#endif /* MM_PAGE_INDEX_H */
