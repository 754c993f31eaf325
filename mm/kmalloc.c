/* SPDX-License-Identifier: MIT */
/*
 * kmalloc: slab caches of rising size, page blocks above them.
 *
 * Two sets of caches: plain, and accounted for GFP_ACCOUNT.  A pointer finds
 * its cache (or page block) through its struct page, so kfree() needs no size.
 */
#include "mm/slab_int.h"
#include "mm/memcg.h"
#include "kernel/log.h"
#include "kernel/string.h"

static const uint16_t class_size[] = { 16,  32,  48,  64,   96,   128,  192,  256,
				       384, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192 };
#define NR_CLASSES ARRAY_SIZE(class_size)
#define CLASS_MAX  8192 /* bytes; larger requests take whole pages */

static struct kmem_cache plain[NR_CLASSES], accounted[NR_CLASSES];
static uint8_t small_class[1024 / 16 + 1]; /* by size / 16 rounded up */

static const char *const names[2][NR_CLASSES] = {
	{ "kmalloc-16", "kmalloc-32", "kmalloc-48", "kmalloc-64", "kmalloc-96", "kmalloc-128",
	  "kmalloc-192", "kmalloc-256", "kmalloc-384", "kmalloc-512", "kmalloc-768", "kmalloc-1k",
	  "kmalloc-1536", "kmalloc-2k", "kmalloc-3k", "kmalloc-4k", "kmalloc-8k" },
	{ "kmalloc-cg-16", "kmalloc-cg-32", "kmalloc-cg-48", "kmalloc-cg-64", "kmalloc-cg-96",
	  "kmalloc-cg-128", "kmalloc-cg-192", "kmalloc-cg-256", "kmalloc-cg-384", "kmalloc-cg-512",
	  "kmalloc-cg-768", "kmalloc-cg-1k", "kmalloc-cg-1536", "kmalloc-cg-2k", "kmalloc-cg-3k",
	  "kmalloc-cg-4k", "kmalloc-cg-8k" },
};

static unsigned class_of(size_t size)
{
	unsigned i;

	if (size <= 1024)
		return small_class[(size + 15) / 16];
	for (i = 12; class_size[i] < size; i++)
		;
	return i;
}

static unsigned order_of(size_t size)
{
	unsigned order = 0;

	while ((PAGE_SIZE << order) < size)
		order++;
	return order;
}

void *kmalloc(size_t size, gfp_t gfp)
{
	struct page *p;

	if (likely(size <= CLASS_MAX)) {
		unsigned i = class_of(size);

		return kmem_cache_alloc(gfp & GFP_ACCOUNT ? &accounted[i] : &plain[i], gfp);
	}
	if (size > PAGE_SIZE << MAX_ORDER)
		return NULL;
	p = page_alloc(order_of(size), PAGE_KERNEL, gfp);
	return p ? page_virt(p) : NULL;
}

void *kzalloc(size_t size, gfp_t gfp)
{
	return kmalloc(size, gfp | GFP_ZERO);
}

void kfree(const void *ptr)
{
	struct page *p;

	if (!ptr)
		return;
	p = virt_to_page(ptr);
	if (likely(p->kind == PAGE_SLAB)) {
		kmem_cache_free(p->cache, (void *)ptr);
		return;
	}
	if (unlikely(p->kind != PAGE_KERNEL || ((uintptr_t)ptr & (PAGE_SIZE - 1))))
		panic("kfree: %p did not come from kmalloc (page kind %u)", ptr, p->kind);
	page_put(p);
}

size_t ksize(const void *ptr)
{
	struct page *p = virt_to_page(ptr);

	return p->kind == PAGE_SLAB ? p->cache->size : PAGE_SIZE << p->order;
}

char *kstrdup(const char *s, gfp_t gfp)
{
	size_t n = strlen(s) + 1;
	char *d = kmalloc(n, gfp);

	return d ? memcpy(d, s, n) : NULL;
}

void kmalloc_init(void)
{
	unsigned c = 0;

	for (size_t i = 0; i < ARRAY_SIZE(small_class); i++) {
		while (class_size[c] < i * 16)
			c++;
		small_class[i] = (uint8_t)c;
	}
	for (unsigned i = 0; i < NR_CLASSES; i++) {
		/* Powers of two are aligned to their size up to a line: no object straddles two. */
		size_t align = class_size[i] & (class_size[i] - 1) ? 16 :
			       min_t(size_t, class_size[i], CACHE_LINE);

		slab_register(&plain[i], names[0][i], class_size[i], align, 0, true);
		slab_register(&accounted[i], names[1][i], class_size[i], 16, SLAB_ACCOUNT, true);
	}
}
