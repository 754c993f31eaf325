/* SPDX-License-Identifier: MIT */
/*
 * From a page of the cache to the address spaces that map it.
 *
 * A mapping lists the areas that map its file (memory files have no mapping, so what
 * most programs map costs nothing here).  An area is on the list while it is in its
 * space's array, and a little longer, until it is freed; so whoever found a space by
 * the list locks it and then believes only the array.
 *
 * Locks: areas_lock (spinlock) is taken under a space's lock; the other way round
 *        only mutex_trylock() is used.  rmap_unmap() never waits, since reclaim may
 *        be at work in a thread that holds its own space's lock.
 */
#include "mm/page_cache.h"
#include "mm/vm_int.h"
#include "kernel/thread.h"

void rmap_add(struct vm_space *s, struct vm_area *a)
{
	struct mapping *m = a->mapping;

	a->space = s;
	if (!m)
		return;
	if ((a->flags & VM_SHARED) && (a->flags & VM_MAYWRITE))
		atomic_store_explicit(&m->mapped_write, true, memory_order_release);
	spin_lock(&m->areas_lock);
	a->walk = 0;
	list_add(&a->map_link, &m->areas);
	spin_unlock(&m->areas_lock);
}

void rmap_remove(struct vm_area *a)
{
	if (!a->mapping || !a->space)
		return;
	spin_lock(&a->mapping->areas_lock);
	list_del(&a->map_link);
	spin_unlock(&a->mapping->areas_lock);
}

static bool covers(const struct vm_area *a, uint64_t index)
{
	uint64_t first = a->off >> PAGE_SHIFT;

	return index >= first && index - first < (a->end - a->start) >> PAGE_SHIFT;
}

/* Takes @p out of every area of @s that maps it.  Lock held.  False: some of it is locked into memory. */
static bool unmap_in(struct vm_space *s, struct mapping *m, struct page *p)
{
	struct vm_gather g;
	bool ok = true;

	gather_init(&g, s);
	for (unsigned i = 0; i < s->nr; i++) {
		struct vm_area *a = s->areas[i];
		uintptr_t va, next;
		pte_t *e;
		uint64_t v;

		if (a->mapping != m || !covers(a, p->index))
			continue;
		va = a->start + ((p->index << PAGE_SHIFT) - a->off);
		e = pt_find(s, va, &next);
		v = e ? pte_get(e) : 0;
		if (!v || (v & PTE_ANON) || pte_page(v) != p)
			continue;
		if (a->flags & VM_LOCKED) {
			ok = false;
			break;
		}
		atomic_exchange_explicit(e, 0, memory_order_acq_rel);
		page_map_put(p);
		vm_count(&s->nr_file, -1);
		gather_page(&g, va, p, false);
	}
	gather_finish(&g);
	return ok;
}

static bool own_lock(struct vm_space *s)
{
	return (atomic_load_explicit(&s->lock.owner, memory_order_relaxed) & ~(uintptr_t)1) ==
	       (uintptr_t)current;
}

/*
 * The space of the first area from number *@at on that maps @p; *@at moves behind it.
 * It is locked and referenced (*@own: by this thread already).  NULL: no more, or
 * (*@busy) it is in use.
 */
static struct vm_space *next_space(struct mapping *m, struct page *p, unsigned *at, bool *own,
				   bool *busy)
{
	struct vm_space *found = NULL;
	struct vm_area *a;
	unsigned i = 0;

	spin_lock(&m->areas_lock);
	list_for_each_entry(a, &m->areas, map_link) {
		if (i++ < *at || !covers(a, p->index))
			continue;
		*own = own_lock(a->space);
		if (*own) {
			found = a->space;
		} else if (vm_tryget(a->space)) {
			if (mutex_trylock(&a->space->lock))
				found = a->space;
			else
				vm_put_later(a->space);
		}
		*busy = !found;
		break;
	}
	spin_unlock(&m->areas_lock);
	*at = i;
	return found;
}

bool rmap_unmap(struct mapping *m, struct page *p)
{
	unsigned at = 0;

	while (atomic_load_explicit(&p->mapcount, memory_order_relaxed)) {
		bool own = false, busy = false, ok;
		struct vm_space *s = next_space(m, p, &at, &own, &busy);

		if (!s)
			return false;
		ok = unmap_in(s, m, p);
		if (!own) {
			mutex_unlock(&s->lock);
			vm_put_later(s);
		}
		if (!ok)
			return false;
	}
	return true;
}

static void protect_in(struct vm_space *s, struct mapping *m, uint64_t first, uint64_t last)
{
	struct vm_gather g;

	gather_init(&g, s);
	for (unsigned i = 0; i < s->nr; i++) {
		struct vm_area *a = s->areas[i];
		uint64_t from = a->off >> PAGE_SHIFT, to, n = (a->end - a->start) >> PAGE_SHIFT;
		uintptr_t va, end, next;

		if (a->mapping != m || !(a->flags & VM_SHARED) || last < from || first >= from + n)
			continue;
		to = min(last, from + n - 1);
		va = a->start + ((max(first, from) - from) << PAGE_SHIFT);
		end = a->start + ((to + 1 - from) << PAGE_SHIFT);
		while (va < end) {
			pte_t *e = pt_find(s, va, &next);
			uintptr_t stop = min(next, end);

			if (!e) {
				va = stop;
				continue;
			}
			for (; va < stop; va += PAGE_SIZE, e++) {
				if (!(pte_get(e) & PTE_W))
					continue;
				atomic_fetch_and_explicit(e, ~(uint64_t)(PTE_W | PTE_D),
							  memory_order_acq_rel);
				gather_touch(&g, va);
			}
		}
	}
	gather_finish(&g);
}

void rmap_write_protect(struct mapping *m, uint64_t first, uint64_t last)
{
	uint32_t walk = ++m->walk ? m->walk : ++m->walk; /* 0: never visited */

	/*
	 * Visited areas move to the end; new ones, and halves of split ones, begin at the
	 * front unvisited.  So none is missed, whatever happens between two steps.
	 */
	for (;;) {
		struct vm_space *s = NULL;
		struct vm_area *a;

		spin_lock(&m->areas_lock);
		if (!list_empty(&m->areas)) {
			a = list_first_entry(&m->areas, struct vm_area, map_link);
			if (a->walk != walk) {
				a->walk = walk;
				list_move_tail(&a->map_link, &m->areas);
				s = a->space;
				if (!vm_tryget(s)) { /* being taken down: nobody writes there */
					spin_unlock(&m->areas_lock);
					continue;
				}
			}
		}
		spin_unlock(&m->areas_lock);
		if (!s)
			return;
		mutex_lock(&s->lock);
		protect_in(s, m, first, last);
		mutex_unlock(&s->lock);
		vm_put_later(s);
	}
}
