/* SPDX-License-Identifier: MIT */
/*
 * Taking pages out of address spaces: unmapping, the end of a space, the OOM
 * reaper.
 *
 * Entries are cleared first, then the TLBs are told (once per batch), then the
 * pages go.  At the end of a space nobody uses its addresses any more, so its
 * pages go without a flush; its tables go when every CPU has loaded others.
 */
#include "mm/vm_int.h"
#include "mm/slab.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "kernel/thread.h"

void gather_init(struct vm_gather *g, struct vm_space *s)
{
	g->space = s;
	g->nr_va = 0;
	g->tables = false;
	g->no_flush = false;
	g->n = 0;
	g->room = GATHER_SMALL;
	g->pages = g->small;
}

void gather_touch(struct vm_gather *g, uintptr_t va)
{
	if (g->nr_va < FLUSH_LIST)
		g->va[g->nr_va++] = va;
	else
		g->nr_va = FLUSH_LIST + 1;
}

static void gather_flush(struct vm_gather *g)
{
	if (g->nr_va && !g->no_flush)
		tlb_flush(g->space, g->va, g->nr_va, g->tables);
	for (unsigned i = 0; i < g->n; i++)
		page_put(g->pages[i]);
	g->nr_va = 0;
	g->tables = false;
	g->n = 0;
}

void gather_finish(struct vm_gather *g)
{
	gather_flush(g);
	if (g->pages != g->small) {
		page_put(virt_to_page(g->pages));
		g->pages = g->small;
		g->room = GATHER_SMALL;
	}
}

/* Room for one more. */
static __noinline void gather_more(struct vm_gather *g)
{
	struct page *p;

	if (g->pages == g->small && !g->no_flush) {
		p = page_alloc(0, PAGE_KERNEL, GFP_ATOMIC | GFP_NOWARN);
		if (p) {
			g->pages = page_virt(p);
			memcpy(g->pages, g->small, sizeof(g->small));
			g->room = GATHER_LARGE;
			return;
		}
	}
	gather_flush(g);
}

void gather_page(struct vm_gather *g, uintptr_t va, struct page *p, bool table)
{
	if (g->n == g->room)
		gather_more(g);
	g->tables |= table;
	gather_touch(g, va);
	g->pages[g->n++] = p;
}

/* Clears leaf entries of [start, end).  Under lock (or nobody else has the space). */
void vm_zap(struct vm_gather *g, uintptr_t start, uintptr_t end)
{
	struct vm_space *s = g->space;
	uintptr_t va = start, next;
	int64_t anon = 0, file = 0;

	while (va < end) {
		pte_t *e = pt_find(s, va, &next);
		uintptr_t stop = min(next, end);

		if (!e) {
			va = stop;
			continue;
		}
		for (; va < stop; va += PAGE_SIZE, e++) {
			uint64_t v = pte_get(e);
			struct page *p;

			if (!v)
				continue;
			/* Not a plain store: the CPU may be setting A or D. */
			v = g->no_flush ? v : atomic_exchange_explicit(e, 0, memory_order_acq_rel);
			if (g->no_flush)
				pte_set(e, 0);
			p = pte_page(v);
			page_map_put(p);
			if (v & PTE_ANON)
				anon++;
			else
				file++;
			gather_page(g, va, p, false);
		}
	}
	vm_count(&s->nr_anon, -anon);
	vm_count(&s->nr_file, -file);
}

#define TABLES_SPARE 32 /* empty ones that a space may keep: 128 KiB */

/*
 * Frees the tables between all areas.  Not done at each munmap: a table that was
 * emptied is soon used again (and the CPUs that are lazy need not be interrupted),
 * but a space that walks through its addresses must not collect them for ever.
 */
static void free_empty_tables(struct vm_gather *g)
{
	struct vm_space *s = g->space;
	uintptr_t from = 0;

	for (unsigned i = 0; i <= s->nr; i++) {
		uintptr_t to = i < s->nr ? s->areas[i]->start : USER_END;

		if (to > from)
			vm_free_tables(g, from, to, from, to);
		if (i < s->nr)
			from = s->areas[i]->end;
	}
	s->tables_limit = 2 * atomic_load_explicit(&s->nr_tables, memory_order_relaxed) +
			  TABLES_SPARE;
}

/**
 * vm_unmap_locked - unmap [start, end), page aligned
 * @dead: removed areas are added; areas_free() after unlocking
 * Return: 0, or -ENOMEM with nothing changed (a split was needed).
 */
int vm_unmap_locked(struct vm_space *s, uintptr_t start, uintptr_t end, struct vm_area **dead)
{
	struct vm_gather g;
	unsigned i = area_index(s, start), n = 0;
	int err;

	if (i == s->nr || s->areas[i]->start >= end)
		return 0;
	if (s->areas[i]->start < start ||
	    (area_find(s, end) && area_find(s, end)->start < end)) {
		err = area_reserve(s, 2);
		if (err)
			return err;
		if (s->areas[i]->start < start) {
			err = area_split(s, i, start);
			if (err)
				return err;
			i++;
		}
		n = area_index(s, end);
		if (n < s->nr && s->areas[n]->start < end) {
			err = area_split(s, n, end);
			if (err) {
				area_merge_range(s, start, start, dead);
				return err;
			}
		}
	}
	for (n = 0; i + n < s->nr && s->areas[i + n]->start < end; n++)
		;
	gather_init(&g, s);
	for (unsigned k = i; k < i + n; k++) {
		vm_zap(&g, s->areas[k]->start, s->areas[k]->end);
		s->areas[k]->next = *dead;
		*dead = s->areas[k];
	}
	area_remove(s, i, n);
	if (atomic_load_explicit(&s->nr_tables, memory_order_relaxed) > s->tables_limit)
		free_empty_tables(&g);
	gather_finish(&g);
	return 0;
}

int vm_unmap(struct vm_space *s, uintptr_t addr, size_t len)
{
	struct vm_area *dead = NULL;
	int err;

	len = ALIGN_UP(len, PAGE_SIZE);
	if ((addr & ~PAGE_MASK) || !len || addr > USER_TOP || len > USER_TOP - addr)
		return -EINVAL;
	mutex_lock(&s->lock);
	err = vm_unmap_locked(s, addr, addr + len, &dead);
	mutex_unlock(&s->lock);
	areas_free(dead);
	return err;
}

/* The last user has gone: nobody runs on these tables, though CPUs may still have them loaded. */
static void vm_destroy(struct vm_space *s)
{
	struct vm_area *dead = NULL;
	struct vm_gather g;
	struct page *root;

	/* If this thread sleeps below, it must come back without the space. */
	if (current && current->space == s)
		current->space = NULL;
	mutex_lock(&s->lock);
	s->dead = true;
	gather_init(&g, s);
	g.no_flush = true;
	for (unsigned i = 0; i < s->nr; i++) {
		vm_zap(&g, s->areas[i]->start, s->areas[i]->end);
		s->areas[i]->next = dead;
		dead = s->areas[i];
	}
	gather_finish(&g);
	s->nr = 0;
	mutex_unlock(&s->lock);
	areas_free(dead);

	for (unsigned w = 0; w < ARRAY_SIZE(s->root_used); w++)
		for (uint64_t m = s->root_used[w]; m; m &= m - 1)
			pte_set(&s->pml4[w * 64 + (unsigned)__builtin_ctzll(m)], 0);
	root = virt_to_page((void *)s->pml4);
	if (root->owner)
		memcg_uncharge_page(root);
	if (tlb_drop(s))
		page_put(root);
	while (!list_empty(&s->tables)) {
		struct page *p = list_first_entry(&s->tables, struct page, lru);

		list_del(&p->lru);
		page_put(p);
	}
	kfree(s->areas);
	kfree(s);
}

void vm_get(struct vm_space *s)
{
	atomic_fetch_add_explicit(&s->users, 1, memory_order_relaxed);
}

void vm_put(struct vm_space *s)
{
	if (atomic_fetch_sub_explicit(&s->users, 1, memory_order_acq_rel) == 1)
		vm_destroy(s);
}

bool vm_tryget(struct vm_space *s)
{
	unsigned n = atomic_load_explicit(&s->users, memory_order_relaxed);

	while (n)
		if (atomic_compare_exchange_weak_explicit(&s->users, &n, n + 1,
							  memory_order_acquire,
							  memory_order_relaxed))
			return true;
	return false;
}

static void put_work(struct work *w)
{
	vm_destroy(container_of(w, struct vm_space, put_work));
}

void vm_put_later(struct vm_space *s)
{
	if (atomic_fetch_sub_explicit(&s->users, 1, memory_order_acq_rel) == 1) {
		work_init(&s->put_work, put_work);
		work_schedule(&s->put_work);
	}
}

void vm_zap_file(struct vm_space *s, uint64_t key, uint64_t from)
{
	struct vm_gather g;

	mutex_lock(&s->lock);
	gather_init(&g, s);
	for (unsigned i = 0; i < s->nr; i++) {
		struct vm_area *a = s->areas[i];
		uint64_t first = a->off >> PAGE_SHIFT, skip = from > first ? from - first : 0;

		if (!a->file || skip >= (a->end - a->start) >> PAGE_SHIFT ||
		    vm_file_key(a->file) != key)
			continue;
		vm_zap(&g, a->start + (skip << PAGE_SHIFT), a->end);
		s->seq++;
	}
	gather_finish(&g);
	mutex_unlock(&s->lock);
}

#define REAP_WAIT_NS (20 * NSEC_PER_MSEC)

/**
 * vm_reap - free the anonymous memory of a process that is being killed
 *
 * Its threads can do nothing with it any more but die; a fault fails from now on.
 * Gives up after a bounded wait if the space stays locked.
 */
void vm_reap(struct vm_space *s)
{
	uint64_t give_up = clock_ns() + REAP_WAIT_NS;
	struct vm_gather g;

	while (!mutex_trylock(&s->lock)) {
		if (clock_ns() >= give_up)
			return;
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	}
	s->dead = true;
	gather_init(&g, s);
	for (unsigned i = 0; i < s->nr; i++)
		if (!(s->areas[i]->flags & VM_SHARED))
			vm_zap(&g, s->areas[i]->start, s->areas[i]->end);
	gather_finish(&g);
	mutex_unlock(&s->lock);
}
