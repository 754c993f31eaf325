/* SPDX-License-Identifier: MIT */
/*
 * The page cache: pages of files that have a backing store.
 *
 * What:      a struct mapping ties one file's page index to whatever can read
 *            and write its pages.  Pages come in by reading (read-ahead) or by
 *            writing, become dirty, are written back, and leave by truncation
 *            or because reclaim wants them.  Memory files (ramfs, shared
 *            anonymous memory) have an index and no mapping: their pages never
 *            leave but by truncation.
 * Interface: mapping_init()/mapping_destroy(); page_cache_read() to find or
 *            read a page, page_cache_add() for a page made by a writer,
 *            page_mark_dirty(), mapping_truncate(), mapping_sync(); for reclaim
 *            page_cache_evict().
 * States of a page in a mapping's index:
 *
 *	locked, not uptodate    being read; nobody looks at its bytes
 *	uptodate                readable; may be mapped
 *	  + dirty               newer than the store; marked in the index, counted
 *	  + writeback           on its way there; may become dirty again meanwhile
 *	not uptodate, unlocked  its reading failed; who wants it tries again
 *
 * Invariants: a page is clean and not under write-back when it is evicted; a
 *            page that is mapped writable is dirty, or about to be marked so by
 *            the fault that holds the space's lock; p->mapping is set exactly
 *            while the page is in the mapping's index; p->mapping does not
 *            change while the page is locked.
 * Locks:     page lock (a bit in p->flags, sleeps) -> index lock.  A thread that
 *            holds a space's lock does not wait for a page.  Who copies from or to user memory
 *            holds a reference and no page lock.
 */
#ifndef MM_PAGE_CACHE_H
#define MM_PAGE_CACHE_H

#include "mm/page_index.h"
#include "kernel/lock.h"

#define RUN_PAGES 64 /* pages that one call of read_pages() or write_pages() gets at most */

struct mapping_ops {
	/*
	 * Start reading @n consecutive pages (locked, not uptodate, in the
	 * index).  For each page_read_done() is called once, now or later, even
	 * if the call fails.
	 */
	void (*read_pages)(struct mapping *m, struct page **pages, unsigned n);
	/*
	 * Start writing @n consecutive pages (PG_writeback, references held by
	 * the cache).  For each page_write_done() is called once, now or later.
	 */
	void (*write_pages)(struct mapping *m, struct page **pages, unsigned n);
	/*
	 * Page @index, which the caller keeps in the cache, is going to be dirty: see that
	 * the store has a place.  @within: by a mapping, so only if the file reaches there
	 * (the page is locked); else by a writer, who has the file's lock and may make it
	 * longer.  0, -ENODATA (beyond the end), -ENOSPC, -EIO …
	 */
	int (*prepare_write)(struct mapping *m, uint64_t index, bool within);
	/*
	 * Pages that may only be written in an order that the file system knows: it is
	 * asked to do so soon and says true; false: write them like others.  May be NULL.
	 * Context: the write-back thread, or who syncs.
	 */
	bool (*write_ordered)(struct mapping *m);
	/* A reference to whatever holds the mapping, for the write-back thread.  False: it is dying. */
	bool (*tryget)(struct mapping *m);
	void (*put)(struct mapping *m);
};

/*
 * Legend: [I] constant after mapping_init(), [a] atomic, [d] under the dirty
 *         list's lock, [v] under areas_lock, [w] under wb_lock
 */
struct mapping {
	struct page_index *index;      /* [I] */
	const struct mapping_ops *ops; /* [I] */
	const _Atomic int64_t *size;   /* [I] the file's size, bytes; its owner changes it */
	void *host;                    /* [I] the owner's */
	_Atomic uint64_t nr_dirty;     /* [a] pages */
	_Atomic uint64_t nr_writeback; /* [a] pages */
	_Atomic uint32_t wb_errors;    /* [a] failed write-backs; who calls fsync compares */
	_Atomic bool mapped_write;     /* [a] somebody may have it mapped writable and shared */
	_Atomic bool metadata;         /* [a] must be read and written, see page_cache_read() */
	struct mutex wb_lock;          /* one writer at a time */

	struct list_head dirty_link;   /* [d] */
	uint64_t dirtied_at;           /* [d] clock_ns(), since when it has been dirty */
	struct owner *dirty_owner;     /* [d] group of the first dirty page; referenced */

	struct spinlock areas_lock;    /* after spaces' locks */
	struct list_head areas;        /* [v] struct vm_area that map it, not yet visited ones first */
	uint32_t walk;                 /* [w] number of the last walk over them */
};

/*
 * mapping_init - an empty mapping
 * Context: thread.  Return: 0 or -ENOMEM.
 */
int mapping_init(struct mapping *m, const struct mapping_ops *ops, const _Atomic int64_t *size,
		 void *host) __must_check;
/*
 * Drops all pages, dirty ones included, and the index.  Nobody may use the mapping any
 * more, but page_cache_evict() may still look at it: free it by RCU.  Sleeps.
 */
void mapping_destroy(struct mapping *m);

/**
 * page_cache_find - page @n if it is in the cache and uptodate
 * Context: thread; does not sleep.  Return: referenced page, or NULL.
 */
struct page *page_cache_find(struct mapping *m, uint64_t n);

/*
 * Where a reader is, for read-ahead; one per open file.  Threads that share it may mix
 * their windows up, which costs time and nothing else: a size is never above RUN_PAGES.
 */
struct ra_state {
	_Atomic uint64_t next;  /* the page behind the last one that was read */
	_Atomic uint64_t start; /* window under way or read last: first page */
	_Atomic uint32_t size;  /* pages in it; 0: none */
};
static inline void ra_read_up_to(struct ra_state *ra, uint64_t next)
{
	if (ra)
		atomic_store_explicit(&ra->next, next, memory_order_relaxed);
}

/**
 * page_cache_read - page @n, read from the store if need be
 * @ra: the reader's state; NULL: read just this page
 * @want: pages that the caller is going to read from @n on
 *
 * Missing pages are charged as file pages to the current group; metadata that a process
 * needs while it is being killed also past the limit, or what it leaves (an unlinked file)
 * would stay for ever.
 * Context: thread; sleeps.
 * Return: referenced, uptodate page, or ERR_PTR: -EIO (the store), -ENOMEM (no
 * memory or the group's limit), -EINTR (being killed, and @ra given), -ENODATA (beyond the end).
 */
struct page *page_cache_read(struct mapping *m, struct ra_state *ra, uint64_t n, unsigned want);

/**
 * page_cache_add - put @p, which the caller has filled, in as page @n
 * Charged as a file page to the current group.  Context: thread; sleeps.
 * Return: 0, -EEXIST, -ENOMEM.
 */
int page_cache_add(struct mapping *m, uint64_t n, struct page *p) __must_check;

/*
 * The same in two steps, for a page that needs a place in the store before anybody may see
 * its bytes: after success @p is locked, and page_cache_added() shows it, or takes it out
 * again (@err), and unlocks it.
 */
int page_cache_add_locked(struct mapping *m, uint64_t n, struct page *p) __must_check;
void page_cache_added(struct mapping *m, struct page *p, int err);

/* Reading of @p has ended: uptodate unless @err; unlocks it and drops the reader's reference. */
void page_read_done(struct page *p, int err);
/*
 * Writing of @p has ended; drops the writer's reference.  After an error the page is not
 * tried again, unless there just was no memory (-ENOMEM) or it is metadata: it stays dirty.
 */
void page_write_done(struct page *p, int err);

/*
 * @p has been written to, or mapped writable.  No-op for a page that was cut off.
 * Context: thread, reference held; does not sleep.
 */
void page_mark_dirty(struct page *p);

/*
 * Pages >= @from leave the cache and all address spaces' way: waits for those being
 * read or written.  The caller has made the file shorter and holds its lock.
 */
void mapping_truncate(struct mapping *m, uint64_t from);

/* Page @n leaves the cache as it is, dirty or not.  Sleeps. */
void mapping_forget(struct mapping *m, uint64_t n);

/*
 * Clean pages that nobody uses leave the cache (drop_caches, umount).  Return: pages freed.
 */
uint64_t mapping_shrink(struct mapping *m);

/**
 * page_cache_evict - take a page out of the cache so that it can be used again
 * @p: isolated from its LRU by the caller, who holds one reference
 *
 * Unmaps it where it is mapped.  Leaves what workingset_eviction() says in its place (mm/lru.h).
 * Context: thread; may hold the lock of the current thread's space; does not
 * wait for other spaces, pages or the store.
 * Return: 0 (it is freed with the caller's reference), -EBUSY (referenced,
 * locked, not evictable, or a space that maps it is locked), -EAGAIN (dirty, its
 * write-back was asked for, or it is under way).
 */
int page_cache_evict(struct page *p) __must_check;
/* Can reclaim ever get it back?  False: page of a memory file. */
static inline bool page_evictable(const struct page *p)
{
	return p->mapping != NULL;
}

/* Write-back (mm/writeback.c). */
/* Writes all dirty pages of @m that are dirty now and waits: 0 or the first error.  Not the metadata. */
int mapping_write_wait(struct mapping *m, uint64_t first, uint64_t last);
/* The same with wb_lock held by the caller, who may write parts in an order of his own. */
int mapping_write_locked(struct mapping *m, uint64_t first, uint64_t last);
/* Every dirty mapping that @want says yes to (NULL: all), and wait: 0 or the first error.  Not the metadata. */
int writeback_sync(bool (*want)(struct mapping *m, void *arg), void *arg);
/* Wakes the write-back thread: the machine or a group is over its share.  Context: any thread. */
void writeback_kick(void);
/* Reclaim met a dirty page of @o (NULL: root): its group's files are written at once. */
void writeback_urgent(struct owner *o);
/* A writer has dirtied pages: waits (bounded) while the machine or its group has too many. */
void balance_dirty(void);
/* Machine-wide, pages. */
uint64_t page_cache_pages(void); /* in mappings: those of memory files do not count */
uint64_t writeback_nr_dirty(void);
uint64_t writeback_nr_writeback(void);

/* Page lock (mm/page_lock.c). */
bool page_trylock(struct page *p);
void page_lock(struct page *p); /* sleeps */
void page_unlock(struct page *p);
void page_wait(struct page *p, uint32_t flag); /* sleeps until PG_locked or PG_writeback is clear */
void page_flag_wake(struct page *p, uint32_t flag); /* clears it and wakes who waits */

/* Address spaces (mm/rmap.c). */
/* Takes @p, locked, out of all tables without waiting: false if it is still mapped somewhere. */
bool rmap_unmap(struct mapping *m, struct page *p);
/* Makes pages [first, last] read-only in all tables, so that the next write faults.  Sleeps; wb_lock held. */
void rmap_write_protect(struct mapping *m, uint64_t first, uint64_t last);

void page_cache_init(void); /* after slab_init() */
void writeback_init(void);  /* starts the write-back thread */

#endif /* MM_PAGE_CACHE_H */
