/* SPDX-License-Identifier: MIT */
/*
 * Slab caches with per-CPU magazines, kmalloc on top.
 *
 * Accounted caches (SLAB_ACCOUNT) charge each object's size in bytes to the
 * current process's group (memcg_charge_bytes) and give it back on free, from
 * whatever context and CPU.  Thread context only; interrupt handlers allocate
 * nothing.
 */
#ifndef MM_SLAB_H
#define MM_SLAB_H

#include "mm/page.h"

struct kmem_cache;

#define SLAB_ACCOUNT (1u << 0)
#define SLAB_ZERO    (1u << 1) /* every object is handed out zeroed */
#define SLAB_RCU     (1u << 2) /* memory of a freed object stays of that type for a grace period */

/* @align: power of two, 0 for 8.  NULL without memory. */
struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align, unsigned flags);
void *kmem_cache_alloc(struct kmem_cache *c, gfp_t gfp);
/* Charge @o instead of the current process's group (SLAB_ACCOUNT caches; NULL: nobody). */
void *kmem_cache_alloc_for(struct kmem_cache *c, gfp_t gfp, struct owner *o);
void kmem_cache_free(struct kmem_cache *c, void *obj);

void *kmalloc(size_t size, gfp_t gfp);  /* any size up to 4 MiB; GFP_ACCOUNT charges bytes */
void *kzalloc(size_t size, gfp_t gfp);
void kfree(const void *p);              /* NULL is fine */
size_t ksize(const void *p);
char *kstrdup(const char *s, gfp_t gfp);

void slab_init(void);
/* For /proc/slabinfo: calls @fn for every cache. */
struct slab_info { const char *name; size_t size; uint64_t objects, active, pages; };
void slab_for_each(void (*fn)(const struct slab_info *i, void *arg), void *arg);
void slab_drain(void); /* empties all magazines and frees empty slabs; sleeps */

/* One slab: where, and how its objects lie in it. */
struct slab_range {
	const char *cache;
	uint32_t size, stride; /* bytes of an object, from one to the next */
	uintptr_t start;
	size_t bytes;
};
/* Calls @fn for every slab (mm/slab_map.c).  Sleeps now and then. */
void slab_map_for_each(void (*fn)(const struct slab_range *r, void *arg), void *arg);

#endif /* MM_SLAB_H */
