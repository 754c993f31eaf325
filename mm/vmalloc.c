/* SPDX-License-Identifier: MIT */
/*
 * Kernel virtual memory: implements mm/vmalloc.h.
 *
 * The area is one PML4 slot.  Its lower half holds general mappings, kept in a
 * sorted list (there are few); each has an unmapped page behind it.
 */
#include "mm/vmalloc.h"
#include "mm/vmalloc_int.h"
#include "mm/slab.h"
#include "arch/x86_64/paging.h"
#include "arch/x86_64/pgtable.h"
#include "kernel/lock.h"
#include "kernel/log.h"

struct vmap {
	struct list_head link; /* by address */
	uintptr_t va;
	size_t pages; /* mapped; one more stays free behind */
};

struct mutex vmalloc_lock = MUTEX_INIT(vmalloc_lock, "vmalloc"); /* list, kernel_map() in the area */
static LIST_HEAD(vmaps);

/* Finds room and links @v in.  Under the lock. */
static bool place(struct vmap *v)
{
	uintptr_t at = VMALLOC_BASE;
	size_t need = (v->pages + 1) * PAGE_SIZE;
	struct vmap *o;

	list_for_each_entry(o, &vmaps, link) {
		if (o->va - at >= need)
			break;
		at = o->va + (o->pages + 1) * PAGE_SIZE;
	}
	if (at + need > KSTACK_AREA || need > KSTACK_AREA - VMALLOC_BASE)
		return false;
	v->va = at;
	list_add_tail(&v->link, &o->link);
	return true;
}

/* Unmaps and frees the first @n pages. */
static void unmap(struct vmap *v, size_t n)
{
	struct page *p;
	LIST_HEAD(pages);

	for (size_t i = 0; i < n; i++) {
		p = kernel_unmap(v->va + i * PAGE_SIZE);
		if (p)
			list_add(&p->lru, &pages);
	}
	if (n)
		kernel_flush_range(v->va, n);
	while (!list_empty(&pages)) {
		p = list_first_entry(&pages, struct page, lru);
		list_del(&p->lru);
		page_put(p);
	}
}

void *vmalloc(size_t size, gfp_t gfp)
{
	struct vmap *v;
	size_t n = 0;

	if (!size)
		return NULL;
	v = kmalloc(sizeof(*v), gfp & GFP_NOWARN);
	if (!v)
		return NULL;
	v->pages = DIV_ROUND_UP(size, PAGE_SIZE);
	mutex_lock(&vmalloc_lock);
	if (!place(v))
		goto no_room;
	for (; n < v->pages; n++) {
		struct page *p = page_alloc(0, PAGE_KERNEL, gfp | GFP_ZERO);

		if (!p)
			goto no_page;
		if (kernel_map(v->va + n * PAGE_SIZE, page_to_pfn(p) << PAGE_SHIFT, PAGE_SIZE,
			       KPROT_RW)) {
			page_put(p);
			goto no_page;
		}
	}
	mutex_unlock(&vmalloc_lock);
	return (void *)v->va;
no_page:
	unmap(v, n);
	list_del(&v->link);
no_room:
	mutex_unlock(&vmalloc_lock);
	kfree(v);
	return NULL;
}

void vfree(void *p)
{
	struct vmap *v;

	if (!p)
		return;
	mutex_lock(&vmalloc_lock);
	list_for_each_entry(v, &vmaps, link)
		if (v->va == (uintptr_t)p)
			goto found;
	mutex_unlock(&vmalloc_lock);
	panic("vfree: %p did not come from vmalloc", p);
found:
	unmap(v, v->pages);
	list_del(&v->link);
	mutex_unlock(&vmalloc_lock);
	kfree(v);
}

void *ioremap(uint64_t phys, size_t size)
{
	void *p;

	mutex_lock(&vmalloc_lock);
	p = mmio_map(phys, size, false);
	mutex_unlock(&vmalloc_lock);
	return p;
}

void vmalloc_init(void)
{
	kstack_init();
}
