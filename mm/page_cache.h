/* SPDX-License-Identifier: MIT */
/*
 * The pages of one file, by page number.
 *
 * What:      a radix tree of 64-way nodes.  ramfs keeps a file's data in it;
 *            mmap and sendfile share the same pages.
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
#ifndef MM_PAGE_CACHE_H
#define MM_PAGE_CACHE_H

#include "mm/page.h"
#include "mm/memcg.h"

struct page_index;

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

/* Removes page number @n if it is there and drops the index's reference.  May sleep. */
void page_index_remove(struct page_index *idx, uint64_t n);

/* Removes all pages whose number is >= @from.  May sleep. */
void page_index_truncate(struct page_index *idx, uint64_t from);

/* Number of pages in the index (st_blocks). */
uint64_t page_index_count(const struct page_index *idx);

/* First page number >= @from that is present (SEEK_DATA), or UINT64_MAX. */
uint64_t page_index_next(struct page_index *idx, uint64_t from);

void page_cache_init(void); /* after slab_init() */

#endif /* MM_PAGE_CACHE_H */
