/* SPDX-License-Identifier: MIT */
/*
 * Reading into the page cache, ahead of who reads in order.
 *
 * A reader who goes on where he stopped gets a window that doubles up to RUN_PAGES;
 * the page in the middle of a window is marked, and who reaches the mark starts the
 * next window without waiting for it.  Any other reader gets what he asked for.
 *
 *	window 1        window 2                window 3
 *	|....|....|     |........|........|     |……
 *	     ^ mark: starts 2    ^ mark: starts 3
 *
 * Pages ahead are a favour: if they cannot be charged without killing somebody, fewer
 * are read.
 */
#include "mm/dirty.h"
#include "mm/lru.h"
#include "mm/psi.h"
#include "kernel/process.h"
#include "kernel/rcu.h"

#define FIRST_WINDOW 8 /* pages, at least */

static uint64_t file_pages(const struct mapping *m)
{
	return ((uint64_t)atomic_load_explicit(m->size, memory_order_acquire) + PAGE_SIZE - 1) >>
	       PAGE_SHIFT;
}

/* Sends a run of new pages to the store. */
static void send(struct mapping *m, struct page **run, unsigned *n)
{
	if (!*n)
		return;
	lru_add_pages(run, *n);
	m->ops->read_pages(m, run, *n);
	*n = 0;
}

/*
 * Starts reading those of @n pages from @first on that are missing, marking page @mark.
 * Return: 0, or why page @first could not be had (-ENOMEM, -ENODATA).
 */
static int start_read(struct mapping *m, uint64_t first, unsigned n, uint64_t mark)
{
	struct owner *o = current_owner();
	struct page *run[RUN_PAGES]; /* n is at most that */
	unsigned k = 0, force = 0;
	uint64_t i;
	int err = 0;

	if (atomic_load_explicit(&m->metadata, memory_order_relaxed) && kill_pending(current))
		force = CHARGE_NOFAIL;

	if (first >= file_pages(m))
		return -ENODATA;
	n = (unsigned)min_t(uint64_t, n, file_pages(m) - first);
	owner_get(o); /* for the sleeping in between */
	for (i = first; i < first + n; i++) {
		struct page *p = page_alloc(0, PAGE_FILE, i == first ? 0 : GFP_NOWARN);

		err = -ENOMEM;
		if (!p)
			break;
		page_flag_set(p, PG_locked | (i == mark ? PG_readahead : 0));
		err = page_cache_place(m, i, p, o, i == first ? force : CHARGE_NOOOM);
		if (!err) {
			run[k++] = p;
			continue;
		}
		page_flag_clear(p, PG_locked | PG_readahead);
		page_put(p);
		if (err == -ENOMEM)
			break;
		err = 0; /* it is there already: the run ends before it */
		send(m, run, &k);
	}
	send(m, run, &k);
	owner_put(o);
	return i == first ? err : 0;
}

static unsigned size_of(const struct ra_state *ra)
{
	return ra ? atomic_load_explicit(&ra->size, memory_order_relaxed) : 0;
}

static uint64_t start_of(const struct ra_state *ra)
{
	return atomic_load_explicit(&ra->start, memory_order_relaxed);
}

/* The next window: @size pages, bounded, from @start on.  Return: how many it is. */
static unsigned set_window(struct ra_state *ra, uint64_t start, unsigned size)
{
	size = min(size, (unsigned)RUN_PAGES);
	atomic_store_explicit(&ra->start, start, memory_order_relaxed);
	atomic_store_explicit(&ra->size, size, memory_order_relaxed);
	return size;
}

/* The window for a reader who misses page @n and wants @want pages from there. */
static unsigned window(struct ra_state *ra, uint64_t n, unsigned want)
{
	unsigned size = max(want, 1u), last = size_of(ra);

	if (!ra)
		return min(size, (unsigned)RUN_PAGES);
	if (n && n != atomic_load_explicit(&ra->next, memory_order_relaxed)) { /* here and there */
		atomic_store_explicit(&ra->size, 0, memory_order_relaxed);
		return min(size, (unsigned)RUN_PAGES);
	}
	size = last && n == start_of(ra) + last ? 2 * last : max(size, (unsigned)FIRST_WINDOW);
	return set_window(ra, n, size);
}

/* A reader at page @n has reached a mark: the window behind the one it lies in. */
static void read_ahead(struct mapping *m, struct ra_state *ra, uint64_t n)
{
	unsigned size = size_of(ra);
	uint64_t start;

	if (!size)
		return;
	start = start_of(ra);
	if (n < start || n >= start + size)
		return;
	start += size;
	size = set_window(ra, start, 2 * size);
	(void)start_read(m, start, size, start + size / 2);
}

/* Who waits for a page that was evicted from the working set waits for memory. */
static void lock_read(struct page *p)
{
	struct psi_stall stall;
	bool lost = page_has(p, PG_workingset);

	if (lost)
		psi_stall_begin(&stall);
	page_lock(p);
	if (lost)
		psi_stall_end(&stall);
}

/* @p is there, but has not been read: waits, or tries again once.  0: look again. */
static int wait_read(struct mapping *m, struct page *p, bool *tried)
{
	lock_read(p);
	if (p->mapping != m || page_has(p, PG_uptodate)) {
		page_unlock(p);
		return 0;
	}
	if (*tried) {
		page_unlock(p);
		return -EIO;
	}
	*tried = true;
	page_get(p);
	m->ops->read_pages(m, &p, 1); /* unlocks it */
	return 0;
}

struct page *page_cache_read(struct mapping *m, struct ra_state *ra, uint64_t n, unsigned want)
{
	bool tried = false;
	int err;

	for (;;) {
		struct page *p = page_index_lookup(m->index, n);

		if (!p) {
			unsigned size = window(ra, n, want);

			if (ra && kill_pending(current))
				return ERR_PTR(-EINTR);
			err = start_read(m, n, size, size_of(ra) ? n + size / 2 : UINT64_MAX);
			if (err)
				return ERR_PTR(err);
			continue;
		}
		if (likely(page_has(p, PG_uptodate))) {
			if (unlikely(page_has(p, PG_readahead))) {
				page_flag_clear(p, PG_readahead);
				read_ahead(m, ra, n);
			}
			ra_read_up_to(ra, n + 1);
			return p;
		}
		err = wait_read(m, p, &tried);
		page_put(p);
		if (err)
			return ERR_PTR(err);
	}
}

void page_read_done(struct page *p, int err)
{
	if (!err)
		page_flag_set(p, PG_uptodate);
	page_unlock(p);
	page_put(p);
}
