/* SPDX-License-Identifier: MIT */
/*
 * Which memory belongs to which slab cache, for tools that have addresses and
 * want names.  Looks at every page of RAM without locks: a slab that comes or
 * goes meanwhile may be missing.
 */
#include "mm/slab_int.h"
#include "mm/bootmem.h"
#include "kernel/thread.h"

/* Page structures that were never used may hold anything: believe only caches that exist. */
static const struct kmem_cache *known(const struct kmem_cache *c)
{
	struct kmem_cache *k = atomic_load_explicit(&slab_caches, memory_order_acquire);

	while (k && k != c)
		k = k->next_cache;
	return k;
}

void slab_map_for_each(void (*fn)(const struct slab_range *r, void *arg), void *arg)
{
	const struct mem_region *r;
	size_t n = bootmem_regions(&r);

	for (size_t i = 0; i < n; i++) {
		for (uint64_t pfn = r[i].start >> PAGE_SHIFT; pfn < r[i].end >> PAGE_SHIFT; pfn++) {
			const struct page *p = pfn_to_page(pfn);
			const struct kmem_cache *c;
			size_t bytes;

			if (!(pfn & 4095))
				cond_resched();
			if (p->kind != PAGE_SLAB ||
			    !(atomic_load_explicit(&p->flags, memory_order_relaxed) & PG_head))
				continue;
			c = known(p->cache);
			if (!c || p->order != c->order)
				continue;
			bytes = PAGE_SIZE << p->order;
			fn(&(struct slab_range){ c->name, c->size, c->stride,
						 (uintptr_t)pfn_to_virt(pfn), bytes }, arg);
		}
	}
}
