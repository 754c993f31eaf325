/* SPDX-License-Identifier: MIT */
/*
 * Memory of the host machine: one anonymous mapping as "physical" memory, the
 * page array, kernel stacks and vmalloc() on mmap with guard pages.
 *
 * kmalloc() and friends are weak here, on the C library's heap, where the
 * address sanitizer sees every object.  A test that links mm/slab.c gets that
 * one instead, and with mm/bootmem.c and mm/page_alloc.c the page allocator is
 * started on the mapping.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "arch/host/host.h"
#include "arch/host/host_internal.h"
#include "kernel/log.h"
#include "kernel/thread.h"
#include "mm/bootmem.h"
#include "mm/page.h"
#include "mm/slab.h"
#include "mm/vmalloc.h"

size_t host_memory_bytes = 256u << 20;
char *host_arena, *host_page_array;
size_t host_arena_pages;

#pragma weak bootmem_add
#pragma weak page_alloc_init
#pragma weak slab_init

#if defined(__SANITIZE_ADDRESS__)
void __asan_unpoison_memory_region(const volatile void *p, size_t size);
#else
#define __asan_unpoison_memory_region(p, n) ((void)0)
#endif

/*
 * What was mapped here before may have left marks in the address sanitizer's
 * shadow: stack frames that a thread never left, the sanitizer's own heap.
 */
static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		panic("host memory: mmap of %zu bytes failed", size);
	__asan_unpoison_memory_region(p, size);
	return p;
}

void host_memory_init(void)
{
	uint64_t start = HOST_FIRST_PFN << PAGE_SHIFT;

	if (host_arena_pages)
		return;
	host_arena_pages = host_memory_bytes >> PAGE_SHIFT;
	/* 4 MiB aligned, so that blocks of the largest order are aligned virtually, too. */
	host_arena = (char *)ALIGN_UP((uintptr_t)map(host_memory_bytes + start + (4u << 20)),
				      4u << 20);
	/* For whole blocks of the largest order: merging looks at all entries of a block. */
	host_page_array = map(ALIGN_UP(HOST_FIRST_PFN + host_arena_pages, 1UL << MAX_ORDER) *
			      PAGE_STRUCT_SIZE);
	if (bootmem_add)
		bootmem_add(start, start + host_memory_bytes);
	if (page_alloc_init)
		page_alloc_init();
	if (slab_init)
		slab_init();
}

__weak void *kmalloc(size_t size, gfp_t gfp)
{
	void *p = malloc(size ? size : 1);

	if (p)
		memset(p, gfp & GFP_ZERO ? 0 : 0xa5, size);
	return p;
}
__weak void *kzalloc(size_t size, gfp_t gfp)
{
	return kmalloc(size, gfp | GFP_ZERO);
}
__weak void kfree(const void *p)
{
	free((void *)(uintptr_t)p);
}

void *kstack_alloc(struct owner *o)
{
	char *p = map(KSTACK_SIZE + PAGE_SIZE);

	(void)o;
	mprotect(p, PAGE_SIZE, PROT_NONE);
	return p + PAGE_SIZE;
}
void kstack_free(void *stack)
{
	munmap((char *)stack - PAGE_SIZE, KSTACK_SIZE + PAGE_SIZE);
}
bool kstack_is_guard(uintptr_t addr)
{
	(void)addr;
	return false;
}

/* The size sits in the page below what the caller gets. */
void *vmalloc(size_t size, gfp_t gfp)
{
	size_t total = ALIGN_UP(size, PAGE_SIZE) + PAGE_SIZE;
	char *p = map(total);

	(void)gfp;
	*(size_t *)(void *)p = total;
	return p + PAGE_SIZE;
}
void vfree(void *p)
{
	char *base = p ? (char *)p - PAGE_SIZE : NULL;

	if (base)
		munmap(base, *(size_t *)(void *)base);
}
