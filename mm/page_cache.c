/* SPDX-License-Identifier: MIT */
/*
 * The page cache: how pages enter it, become dirty and leave.  Implements the first
 * half of mm/page_cache.h; reading is in mm/readahead.c, writing in mm/writeback.c.
 */
#include "mm/dirty.h"
#include "mm/lru.h"
#include "mm/page_cache.h"
#include "kernel/log.h"
#include "kernel/rcu.h"
#include "kernel/string.h"

int mapping_init(struct mapping *m, const struct mapping_ops *ops, const _Atomic int64_t *size,
		 void *host)
{
	memset(m, 0, sizeof(*m));
	m->index = page_index_create();
	if (!m->index)
		return -ENOMEM;
	m->ops = ops;
	m->size = size;
	m->host = host;
	mutex_init(&m->wb_lock, "writeback");
	spin_init(&m->areas_lock, "mapping.areas");
	list_init(&m->areas);
	list_init(&m->dirty_link);
	return 0;
}

void mapping_destroy(struct mapping *m)
{
	if (!m->index)
		return;
	mapping_truncate(m, 0);
	writeback_wait(m);
	dirty_forget(m);
	page_index_destroy(m->index);
}

struct page *page_cache_find(struct mapping *m, uint64_t n)
{
	struct page *p = page_index_lookup(m->index, n);

	if (p && !page_has(p, PG_uptodate)) {
		page_put(p);
		p = NULL;
	}
	return p;
}

/* Pages in mappings: changes are per CPU (kernel code is not preempted), so only the sum says something. */
static DEFINE_PER_CPU(_Atomic int64_t, in_mappings);

static void count_pages(int64_t n)
{
	_Atomic int64_t *c = &this_cpu(in_mappings);

	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

uint64_t page_cache_pages(void)
{
	int64_t n = 0;

	for_each_cpu(cpu)
		n += atomic_load_explicit(&per_cpu(in_mappings, cpu), memory_order_relaxed);
	return n > 0 ? (uint64_t)n : 0;
}

int page_cache_place(struct mapping *m, uint64_t n, struct page *p, struct owner *o,
		     unsigned charge)
{
	uintptr_t shadow = 0;
	int err = o ? memcg_charge_page(p, o, MEMCG_FILE, charge) : 0;

	if (err)
		return err;
	err = page_index_place(m->index, n, p, m, o, &shadow);
	if (err) {
		if (o)
			memcg_uncharge_page(p);
	} else {
		count_pages(1);
		if (shadow)
			workingset_refault(p, shadow);
	}
	return err;
}

static int add(struct mapping *m, uint64_t n, struct page *p, uint32_t flags)
{
	struct owner *o = current_owner();
	int err;

	owner_get(o);
	page_flag_set(p, flags);
	err = page_cache_place(m, n, p, o, 0);
	owner_put(o);
	if (!err)
		lru_add(p);
	else
		page_flag_clear(p, flags);
	return err;
}

int page_cache_add(struct mapping *m, uint64_t n, struct page *p)
{
	return add(m, n, p, PG_uptodate);
}

int page_cache_add_locked(struct mapping *m, uint64_t n, struct page *p)
{
	return add(m, n, p, PG_locked);
}

void page_mark_dirty(struct page *p)
{
	struct mapping *m;

	/*
	 * The bytes were written before; write-back clears the bit and then reads them.  Were
	 * this look to pass the writes, both could miss each other.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	if (page_has(p, PG_dirty))
		return;
	m = p->mapping;
	if (m && page_index_set_dirty(m->index, p))
		dirty_count(m, p);
}

/* Takes one page, locked, out.  What is under way to the store is waited for: its blocks may be given away next. */
static void drop_page(struct mapping *m, struct page *p)
{
	page_wait(p, PG_writeback);
	if (page_index_clear_dirty(m->index, p))
		dirty_uncount(m, p);
	if (page_has(p, PG_lru))
		lru_remove(p);
	if (page_index_detach(m->index, p)) {
		count_pages(-1);
		page_put(p);
	}
}

void page_cache_added(struct mapping *m, struct page *p, int err)
{
	if (err)
		drop_page(m, p);
	else
		page_flag_set(p, PG_uptodate);
	page_unlock(p);
}

#define GATHER 16 /* pages held at once */

/* Pages from *@at on, at most GATHER, referenced; moves *@at behind them. */
static unsigned gather_pages(struct mapping *m, uint64_t *at, struct page **out)
{
	unsigned n = 0;

	while (n < GATHER) {
		uint64_t i = page_index_next(m->index, *at);

		if (i == UINT64_MAX)
			break;
		*at = i + 1;
		out[n] = page_index_lookup(m->index, i);
		n += out[n] != NULL;
		if (!*at)
			break;
	}
	return n;
}

void mapping_truncate(struct mapping *m, uint64_t from)
{
	struct page *v[GATHER];
	uint64_t at = from;
	unsigned n;

	while ((n = gather_pages(m, &at, v))) {
		for (unsigned i = 0; i < n; i++) {
			page_lock(v[i]);
			if (v[i]->mapping == m)
				drop_page(m, v[i]);
			page_unlock(v[i]);
			page_put(v[i]);
		}
		cond_resched();
	}
	page_index_drop_shadows(m->index, from);
}

void mapping_forget(struct mapping *m, uint64_t n)
{
	struct page *p = page_index_lookup(m->index, n);

	if (!p)
		return;
	page_lock(p);
	if (p->mapping == m)
		drop_page(m, p);
	page_unlock(p);
	page_put(p);
}

uint64_t mapping_shrink(struct mapping *m)
{
	struct page *v[GATHER];
	uint64_t at = 0, freed = 0;
	unsigned n;

	while ((n = gather_pages(m, &at, v))) {
		for (unsigned i = 0; i < n; i++) {
			if (!page_has(v[i], PG_dirty | PG_writeback) &&
			    !atomic_load_explicit(&v[i]->mapcount, memory_order_relaxed) &&
			    page_trylock(v[i])) {
				if (v[i]->mapping == m &&
				    !page_index_evict(m->index, v[i], NULL)) {
					if (page_has(v[i], PG_lru))
						lru_remove(v[i]);
					count_pages(-1);
					freed++;
				}
				page_unlock(v[i]);
			}
			page_put(v[i]);
		}
		cond_resched();
	}
	page_index_drop_shadows(m->index, 0);
	return freed;
}

int page_cache_evict(struct page *p)
{
	struct mapping *m;
	int err = -EBUSY;

	if (!page_trylock(p))
		return -EBUSY;
	/* Locked, so it stays in the index, and the mapping with it. */
	m = p->mapping;
	if (!m)
		goto out;
	if (page_has(p, PG_writeback)) {
		err = -EAGAIN;
		goto out;
	}
	/* A stranger's reference: do not unmap it in vain. */
	if (atomic_load_explicit(&p->refs, memory_order_relaxed) !=
	    2 + (uint32_t)atomic_load_explicit(&p->mapcount, memory_order_relaxed))
		goto out;
	if (atomic_load_explicit(&p->mapcount, memory_order_relaxed) && !rmap_unmap(m, p))
		goto out;
	err = page_index_evict(m->index, p, workingset_eviction);
	if (!err)
		count_pages(-1);
	else if (err == -EAGAIN)
		writeback_urgent(p->owner);
out:
	page_unlock(p);
	return err;
}
