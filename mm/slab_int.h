/* SPDX-License-Identifier: MIT */
/*
 * Inside of the slab allocator, for mm/slab*.c only.
 *
 * Object layout, from its start:
 *
 *	size bytes       what the caller uses
 *	owner            accounted caches: group charged for this object
 *	free link        where it may not overlay the object (RCU, debug)
 *	red zone, state  debug build
 */
#ifndef MM_SLAB_INT_H
#define MM_SLAB_INT_H

#include "mm/slab.h"
#include "mm/page_int.h"
#include "kernel/lock.h"

#define SLAB_MAX_CACHES 192 /* with per-CPU magazines; further ones work without */
#define MAG_SLOTS       62  /* a magazine is 512 bytes */
#define SLAB_MAX_ORDER  3

struct magazine {
	struct magazine *next; /* in the depot */
	unsigned n;            /* objects held */
	void *obj[MAG_SLOTS];
};
_Static_assert(sizeof(struct magazine) == 512, "a magazine is meant to fill its slab slot");

/* One CPU's magazines for one cache: thread context of that CPU only, but for counted. */
struct kmem_cpu {
	struct magazine *loaded, *prev; /* NULL: none yet */
	_Atomic uint32_t counted; /* objects in both when slab_for_each() last asked this CPU */
};

/*
 * Legend: [I] constant after creation, [l] cache->lock, [d] depot_lock, [a] atomic
 */
struct kmem_cache {
	const char *name;       /* [I] */
	uint32_t size;          /* [I] what the caller asked for */
	uint32_t stride;        /* [I] distance of objects */
	uint32_t off_owner;     /* [I] 0: not accounted */
	uint32_t off_link;      /* [I] free link */
	uint32_t off_red;       /* [I] debug: red zone, then state; 0: none */
	unsigned flags;         /* [I] */
	unsigned order;         /* [I] of a slab */
	unsigned per_slab;      /* [I] objects */
	unsigned mag_max;       /* [I] objects per magazine */
	unsigned depot_max;     /* [I] full magazines kept */
	int id;                 /* [I] index into the per-CPU tables, -1: no magazines */

	struct spinlock lock __cacheline_aligned;
	struct list_head partial; /* [l] slabs with free objects, through page->lru */
	unsigned nr_empty;        /* [l] slabs in partial without objects in use */
	uint64_t nr_slabs;        /* [l] */
	uint64_t nr_free;         /* [l] objects free in slabs */

	struct spinlock depot_lock __cacheline_aligned;
	struct magazine *full, *empty; /* [d] */
	unsigned nr_full, nr_emptymag; /* [d] */
	struct kmem_cache *next_cache; /* [I] list of all, newest first */
};

DECLARE_PER_CPU(struct kmem_cpu, kmem_cpus[SLAB_MAX_CACHES]);
extern _Atomic(struct kmem_cache *) slab_caches;

/* slab.c */
void slab_register(struct kmem_cache *c, const char *name, size_t size, size_t align,
		   unsigned flags, bool magazines);
void kmalloc_init(void);
/* slab_slow.c: slabs themselves. */
void slab_trim(struct kmem_cache *c); /* frees all empty slabs */
unsigned slab_take(struct kmem_cache *c, void **obj, unsigned n, gfp_t gfp);
void slab_give(struct kmem_cache *c, void **obj, unsigned n);
struct page *slab_head(const void *obj);
void slab_setup(struct kmem_cache *c, const char *name, size_t size, size_t align, unsigned flags);

static inline void **obj_link(const struct kmem_cache *c, void *obj)
{
	return (void **)((char *)obj + c->off_link);
}
static inline struct owner **obj_owner(const struct kmem_cache *c, void *obj)
{
	return (struct owner **)((char *)obj + c->off_owner);
}

#ifdef CONFIG_DEBUG
void slab_debug_new(struct kmem_cache *c, void *obj);   /* object of a fresh slab */
void slab_debug_alloc(struct kmem_cache *c, void *obj); /* checks poison, marks in use */
void slab_debug_free(struct kmem_cache *c, void *obj);  /* checks red zone, poisons */
#else
static inline void slab_debug_new(struct kmem_cache *c, void *obj)
{
	(void)c, (void)obj;
}
static inline void slab_debug_alloc(struct kmem_cache *c, void *obj)
{
	(void)c, (void)obj;
}
static inline void slab_debug_free(struct kmem_cache *c, void *obj)
{
	(void)c, (void)obj;
}
#endif

#endif /* MM_SLAB_INT_H */
