/* SPDX-License-Identifier: MIT */
/*
 * fork(): a copy-on-write clone of an address space.
 *
 * Every mapped page is mapped in the child, too, file pages included: under
 * emulation a copied entry costs a tenth of the fault it saves.  Writable
 * private pages become read-only on both sides; the parent's TLBs are told
 * once at the end.
 */
#include "mm/vm_int.h"
#include "mm/slab.h"
#include "kernel/thread.h"

static int clone_entries(struct vm_space *child, struct vm_gather *g, const struct vm_area *a)
{
	uintptr_t va = a->start, next;
	int64_t anon = 0, file = 0;
	int err = 0;

	while (va < a->end) {
		pte_t *e = pt_find(g->space, va, &next), *c = NULL;
		uintptr_t stop = min(next, a->end);

		if (!e) {
			va = stop;
			continue;
		}
		for (; va < stop; va += PAGE_SIZE, e++) {
			uint64_t v = pte_get(e);
			struct page *p;

			/*
			 * Pages that reclaim may take are left to faults: a walk of the mapping
			 * that makes them read-only cannot see a table that is still being made.
			 */
			if (!v || (a->mapping && !(v & PTE_ANON)))
				continue;
			if (!c) {
				c = pt_make(child, va);
				if (!c) {
					err = -ENOMEM;
					goto out;
				}
				c -= PT_INDEX(va);
			}
			if ((v & PTE_W) && !(a->flags & VM_SHARED)) {
				v = atomic_fetch_and_explicit(e, ~PTE_W, memory_order_acq_rel);
				v &= ~PTE_W;
				gather_touch(g, va);
			}
			p = pte_page(v);
			page_get(p);
			atomic_fetch_add_explicit(&p->mapcount, 1, memory_order_relaxed);
			if (v & PTE_ANON)
				anon++;
			else
				file++;
			pte_set(&c[PT_INDEX(va)], v);
		}
	}
out:
	vm_count(&child->nr_anon, anon);
	vm_count(&child->nr_file, file);
	return err;
}

struct vm_space *vm_clone(struct vm_space *parent)
{
	struct vm_space *s = vm_create();
	struct vm_gather g;
	int err;

	if (!s)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&parent->lock);
	gather_init(&g, parent);
	s->brk_start = parent->brk_start;
	s->brk = parent->brk;
	err = parent->dead ? -ENOMEM : area_reserve(s, parent->nr);
	for (unsigned i = 0; !err && i < parent->nr; i++) {
		const struct vm_area *a = parent->areas[i];
		/* Locks on memory are not inherited (mlock(2)). */
		struct vm_area *b = area_new(a->start, a->end, a->flags & ~VM_LOCKED, a->file, a->off);

		if (!b) {
			err = -ENOMEM;
			break;
		}
		area_insert(s, b);
		err = clone_entries(s, &g, a);
	}
	gather_finish(&g);
	mutex_unlock(&parent->lock);
	if (err) {
		vm_put(s);
		return ERR_PTR(err);
	}
	return s;
}
