/* SPDX-License-Identifier: MIT */
/*
 * Write-back: dirty pages on their way to the store, and the thread that sends them.
 *
 *	page_mark_dirty()      wb_lock holder                        the store
 *	  dirty                  lock page, set writeback, clear dirty
 *	                         write-protect where it is mapped
 *	  dirty again            write_pages(), unlock page            …
 *	                                                             page_write_done()
 *
 * The thread "writeback" wakes every writeback.interval_ms and writes what has been
 * dirty for writeback.expire_ms; when it is kicked (dirty_over_background(), a group
 * over half of its share, reclaim that met a dirty page) it writes those groups' files
 * first, a chunk of each in turn, so one group's stream does not hold up the others.
 */
#include "mm/dirty.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/string.h"
#include "kernel/wait.h"

static unsigned interval_ms = 1000, expire_ms = 5000;
PARAM_UINT("writeback.interval_ms", interval_ms, 10, 600000, PARAM_RW,
	   "milliseconds between looks for pages that have been dirty for long");
PARAM_UINT("writeback.expire_ms", expire_ms, 0, 600000, PARAM_RW,
	   "milliseconds that a page may stay dirty before it is written");

#define CHUNK 1024 /* pages of one mapping before it is another's turn */

struct wait_queue writeback_done;
static struct wait_queue kick_queue;
static _Atomic bool kicked, started;

/* Whose dirty pages stand in reclaim's way; a later call replaces an earlier one, which will come again. */
static _Atomic(struct owner *) urgent_owner; /* referenced */
static _Atomic bool urgent;

void page_write_done(struct page *p, int err)
{
	struct mapping *m = p->mapping; /* stays while the page is under write-back */

	if (err) {
		if (err == -ENOMEM ||
		    atomic_load_explicit(&m->metadata, memory_order_relaxed))
			page_mark_dirty(p);
		atomic_fetch_add_explicit(&m->wb_errors, 1, memory_order_relaxed);
	}
	/* The mapping may go once nothing of it is on its way: it is not touched after that. */
	page_flag_wake(p, PG_writeback);
	writeback_uncount(m, p);
	if (wq_active(&writeback_done))
		wake_up(&writeback_done);
	page_put(p);
}

/* The bytes of the last page behind the end of the file are not the file's. */
static void clear_tail(struct mapping *m, struct page *p)
{
	uint64_t size = (uint64_t)atomic_load_explicit(m->size, memory_order_acquire);
	size_t used = size & (PAGE_SIZE - 1);

	if (p->index == size >> PAGE_SHIFT && used)
		memset((char *)page_virt(p) + used, 0, PAGE_SIZE - used);
}

/* Readies page @n for writing: locked, PG_writeback, clean, referenced; or NULL. */
static struct page *take_dirty(struct mapping *m, uint64_t n, bool wait)
{
	struct page *p = page_index_lookup(m->index, n);

	if (!p)
		return NULL;
	if (wait)
		page_lock(p);
	else if (!page_trylock(p))
		goto put;
	if (p->mapping != m || !page_has(p, PG_dirty))
		goto unlock;
	if (wait)
		page_wait(p, PG_writeback);
	else if (page_has(p, PG_writeback))
		goto unlock;
	page_flag_set(p, PG_writeback);
	writeback_count(m, p);
	if (page_index_clear_dirty(m->index, p))
		dirty_uncount(m, p);
	clear_tail(m, p);
	return p;
unlock:
	page_unlock(p);
put:
	page_put(p);
	return NULL;
}

/* Starts writing the next run of dirty pages in [*at, last]; *at moves behind it.  Return: pages. */
static unsigned write_run(struct mapping *m, uint64_t *at, uint64_t last)
{
	struct page *run[RUN_PAGES];
	unsigned n = 0;
	bool mapped = false;
	uint64_t first;

	for (;;) {
		first = page_index_next_dirty(m->index, *at);
		if (first > last || first == UINT64_MAX) {
			*at = UINT64_MAX;
			return 0;
		}
		*at = first + 1;
		run[0] = take_dirty(m, first, true);
		if (run[0])
			break;
	}
	for (n = 1; n < RUN_PAGES && first + n <= last; n++) {
		run[n] = take_dirty(m, first + n, false);
		if (!run[n])
			break;
	}
	*at = first + n;
	for (unsigned i = 0; i < n; i++)
		mapped |= atomic_load_explicit(&run[i]->mapcount, memory_order_acquire) > 0;
	if (mapped && atomic_load_explicit(&m->mapped_write, memory_order_acquire))
		rmap_write_protect(m, first, first + n - 1);
	for (unsigned i = 0; i < n; i++)
		page_unlock(run[i]);
	m->ops->write_pages(m, run, n);
	return n;
}

/* Nobody else starts writing (wb_lock, or the mapping is going), so the count comes down. */
void writeback_wait(struct mapping *m)
{
	wait_event(&writeback_done, !atomic_load_explicit(&m->nr_writeback, memory_order_acquire));
}

int mapping_write_locked(struct mapping *m, uint64_t first, uint64_t last)
{
	uint32_t errors = atomic_load_explicit(&m->wb_errors, memory_order_relaxed);

	while (first <= last && write_run(m, &first, last))
		cond_resched();
	writeback_wait(m);
	return atomic_load_explicit(&m->wb_errors, memory_order_relaxed) == errors ? 0 : -EIO;
}

int mapping_write_wait(struct mapping *m, uint64_t first, uint64_t last)
{
	int err;

	mutex_lock(&m->wb_lock);
	err = mapping_write_locked(m, first, last);
	mutex_unlock(&m->wb_lock);
	return err;
}

static bool left_to_owner(struct mapping *m)
{
	return m->ops->write_ordered && m->ops->write_ordered(m);
}

int writeback_sync(bool (*want)(struct mapping *m, void *arg), void *arg)
{
	uint64_t start = clock_ns();
	struct mapping *m;
	int err = 0;

	/* What becomes dirty from now on is listed, or listed again, later than @start. */
	while ((m = dirty_next(start, false, want, arg))) {
		int e = left_to_owner(m) ? 0 : mapping_write_wait(m, 0, UINT64_MAX);

		m->ops->put(m);
		err = err ? err : e;
	}
	return err;
}

void writeback_kick(void)
{
	if (atomic_load_explicit(&started, memory_order_acquire) &&
	    !atomic_exchange_explicit(&kicked, true, memory_order_seq_cst))
		wake_up(&kick_queue);
}

void writeback_urgent(struct owner *o)
{
	owner_get(o);
	owner_put(atomic_exchange_explicit(&urgent_owner, o, memory_order_acq_rel));
	atomic_store_explicit(&urgent, true, memory_order_release);
	writeback_kick();
}

/*
 * Chunks of the mappings that dirty_next() gives with these arguments, one of each in
 * turn, until none is left.  Return: pages.
 */
static uint64_t write_turns(uint64_t before, bool over, bool (*enough)(void),
			    bool (*want)(struct mapping *m, void *arg), void *arg)
{
	struct mapping *m;
	uint64_t all = 0;

	while ((!enough || !enough()) && (m = dirty_next(before, over, want, arg))) {
		uint64_t at = 0, n = 0, k;

		if (!left_to_owner(m) && mutex_trylock(&m->wb_lock)) {
			while (n < CHUNK && (k = write_run(m, &at, UINT64_MAX)))
				n += k;
			mutex_unlock(&m->wb_lock);
		}
		if (n >= CHUNK)
			dirty_again(m, before - 1);
		all += n;
		m->ops->put(m);
		cond_resched();
	}
	return all;
}

static bool below_background(void)
{
	return !dirty_over_background();
}

static bool of_owner(struct mapping *m, void *arg)
{
	return m->dirty_owner == arg;
}

static void write_urgent(uint64_t now)
{
	struct owner *o;

	if (!atomic_exchange_explicit(&urgent, false, memory_order_acq_rel))
		return;
	o = atomic_exchange_explicit(&urgent_owner, NULL, memory_order_acq_rel);
	/* Another group may have been the first to dirty the file; then everything goes. */
	if (!write_turns(now, false, NULL, of_owner, o))
		(void)write_turns(now, false, NULL, NULL, NULL);
	owner_put(o);
}

static void writeback_thread(void *arg)
{
	for (;;) {
		uint64_t now, age = (uint64_t)expire_ms * NSEC_PER_MSEC;

		(void)wait_event_timeout(&kick_queue,
					 atomic_load_explicit(&kicked, memory_order_acquire),
					 clock_ns() + interval_ms * NSEC_PER_MSEC);
		now = clock_ns();
		if (atomic_exchange_explicit(&kicked, false, memory_order_acq_rel)) {
			write_urgent(now);
			(void)write_turns(now, true, NULL, NULL, NULL); /* groups over their share */
			(void)write_turns(now, false, below_background, NULL, NULL);
		}
		(void)write_turns(now > age ? now - age : 0, false, NULL, NULL, NULL);
	}
}

void writeback_init(void)
{
	struct thread *t;

	wq_init(&kick_queue, "writeback.kick");
	wq_init(&writeback_done, "writeback.done");
	t = thread_create("writeback", writeback_thread, NULL, -1);
	if (IS_ERR(t))
		panic("writeback: no memory for its thread");
	atomic_store_explicit(&started, true, memory_order_release);
	thread_start(t);
	thread_put(t);
}
