/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing through the page cache: implements fs/cached_file.h.
 *
 * A reader gets up to BATCH cached pages by one walk of the index, each with a
 * reference, and copies without a lock: what a truncate takes away meanwhile stays
 * readable until the copy is done, and the size is looked at again for each page.
 */
#include "fs/cached_file.h"
#include "fs/internal.h"
#include "mm/lru.h"

#define BATCH 16 /* pages */

static loff_t file_size(const struct mapping *m)
{
	return atomic_load_explicit(m->size, memory_order_acquire);
}

/* Copies the part of @p that the reader wants.  Return: bytes; short (or 0): a fault, or the end. */
static size_t copy_part(struct mapping *m, struct page *p, struct iov_iter *to, loff_t *pos,
			size_t *wanted)
{
	size_t off = (size_t)*pos & (PAGE_SIZE - 1), n = min(PAGE_SIZE - off, to->count);
	loff_t size = file_size(m);

	n = *pos < size ? (size_t)min_t(loff_t, (loff_t)n, size - *pos) : 0;
	*wanted = n;
	n = n ? copy_to_iter((char *)page_virt(p) + off, n, to) : 0;
	*pos += (loff_t)n;
	return n;
}

/* Cached pages from @n on: a bit of the result for each of the first that are there in a row. */
static unsigned cached_batch(struct mapping *m, struct ra_state *ra, uint64_t n, unsigned want,
			     struct page **v)
{
	unsigned got = 0;

	memset(v, 0, want * sizeof(*v));
	page_index_lookup_some(m->index, n, (1u << want) - 1, v);
	while (got < want && v[got] && page_has(v[got], PG_uptodate) &&
	       !page_has(v[got], PG_readahead))
		got++;
	for (unsigned i = got; i < want; i++)
		if (v[i])
			page_put(v[i]);
	if (got)
		ra_read_up_to(ra, n + got);
	return got;
}

ssize_t cached_read(struct mapping *m, struct ra_state *ra, struct iov_iter *to, loff_t *pos)
{
	ssize_t done = 0, err = 0;

	while (to->count && *pos < file_size(m) && !err) {
		uint64_t n = (uint64_t)*pos >> PAGE_SHIFT;
		uint64_t left = (((uint64_t)*pos & (PAGE_SIZE - 1)) + to->count + PAGE_SIZE - 1) >>
				PAGE_SHIFT;
		struct page *v[BATCH];
		unsigned k = cached_batch(m, ra, n, (unsigned)min_t(uint64_t, left, BATCH), v);

		if (!k) {
			v[0] = page_cache_read(m, ra, n, (unsigned)min_t(uint64_t, left, RUN_PAGES));
			if (IS_ERR(v[0])) {
				err = PTR_ERR(v[0]) == -ENODATA ? 0 : PTR_ERR(v[0]);
				break;
			}
			k = 1;
		}
		for (unsigned i = 0; i < k; i++) {
			size_t want = 0, got = err ? 0 : copy_part(m, v[i], to, pos, &want);

			if (want)
				lru_touch(v[i]);
			page_put(v[i]);
			done += (ssize_t)got;
			if (got < want)
				err = -EFAULT;
		}
		cond_resched();
	}
	return done ? done : err;
}

/*
 * Page @n is not in the cache and need not be read from the store: a new one, filled
 * before anybody can see it.  -EAGAIN: it has to go the other way.
 */
static ssize_t write_new(struct mapping *m, uint64_t n, size_t off, size_t len,
			 struct iov_iter *from)
{
	bool beyond = (loff_t)(n << PAGE_SHIFT) >= file_size(m);
	struct iov_iter saved = *from;
	struct page *p;
	size_t k;
	int err;

	if (len < PAGE_SIZE && !beyond)
		return -EAGAIN;
	p = page_alloc(0, PAGE_FILE, len < PAGE_SIZE ? GFP_ZERO : 0);
	if (!p)
		return -ENOMEM;
	k = copy_from_iter((char *)page_virt(p) + off, len, from);
	if (k < len && !beyond)
		err = -EAGAIN; /* the rest of the page is the store's */
	else
		err = k ? 0 : -EFAULT;
	if (!err) {
		memset((char *)page_virt(p) + off + k, 0, PAGE_SIZE - off - k);
		err = page_cache_add_locked(m, n, p);
	}
	/* Not the other way round: a place that nothing is written to would show what was there before. */
	if (!err) {
		err = m->ops->prepare_write(m, n, false);
		if (!err)
			page_mark_dirty(p);
		page_cache_added(m, p, err);
	}
	if (err)
		*from = saved;
	page_put(p);
	return !err ? (ssize_t)k : err == -EEXIST ? -EAGAIN : err;
}

static ssize_t write_old(struct mapping *m, uint64_t n, size_t off, size_t len,
			 struct iov_iter *from)
{
	struct page *p = page_cache_read(m, NULL, n, 1);
	ssize_t k;

	if (IS_ERR(p))
		return PTR_ERR(p);
	k = m->ops->prepare_write(m, n, false);
	if (!k) {
		k = (ssize_t)copy_from_iter((char *)page_virt(p) + off, len, from);
		/* Even if nothing arrived: the store's new place must get this page's bytes. */
		page_mark_dirty(p);
		lru_touch(p);
		if (!k)
			k = -EFAULT;
	}
	page_put(p);
	return k;
}

/* The size as far as it may be grown to @end; the file's lock is held. */
static void grow(struct mapping *m, loff_t end)
{
	if (end > file_size(m))
		atomic_store_explicit((_Atomic int64_t *)m->size, end, memory_order_release);
}

ssize_t cached_write(struct mapping *m, struct iov_iter *from, loff_t *pos)
{
	ssize_t done = 0, k = 0;

	while (from->count) {
		uint64_t n = (uint64_t)*pos >> PAGE_SHIFT;
		size_t off = (size_t)*pos & (PAGE_SIZE - 1), len = min(PAGE_SIZE - off, from->count);
		struct page *p = page_cache_find(m, n);

		if (p)
			page_put(p);
		k = p ? -EAGAIN : write_new(m, n, off, len, from);
		if (k == -EAGAIN)
			k = write_old(m, n, off, len, from);
		if (k == -ENODATA)
			continue; /* it was there, and left */
		if (k < 0)
			break;
		*pos += k;
		done += k;
		grow(m, *pos);
		if ((size_t)k < len || kill_pending(current))
			break;
		cond_resched();
	}
	return done ? done : k;
}

int cached_zero(struct mapping *m, loff_t from, loff_t to)
{
	struct page *p = page_cache_read(m, NULL, (uint64_t)from >> PAGE_SHIFT, 1);

	if (IS_ERR(p))
		return PTR_ERR(p) == -ENODATA ? 0 : (int)PTR_ERR(p);
	memset((char *)page_virt(p) + (from & (loff_t)(PAGE_SIZE - 1)), 0, (size_t)(to - from));
	page_mark_dirty(p);
	page_put(p);
	return 0;
}
