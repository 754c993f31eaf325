/* SPDX-License-Identifier: MIT */
/* What tests that link groups (mm/memcg.c) leave out: the slab, processes, reclaim. */
#ifndef TESTS_HOST_MEMCG_STUB_H
#define TESTS_HOST_MEMCG_STUB_H

#include <stdlib.h>

#include "arch/host/host.h"
#include "kernel/string.h"
#include "mm/memcg_tree.h"
#include "mm/slab.h"
#include "tests/host/reclaim_stub.h"

/* The slab on the C library's heap, where the address sanitizer sees every object. */
struct kmem_cache {
	size_t size, align;
};

static _Atomic int64_t objects_alive; /* of all caches */

struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align, unsigned flags)
{
	struct kmem_cache *c = malloc(sizeof(*c));

	*c = (struct kmem_cache){ size, align ? align : 8 };
	return c;
}

void *kmem_cache_alloc(struct kmem_cache *c, gfp_t gfp)
{
	void *p = aligned_alloc(c->align, ALIGN_UP(c->size, c->align));

	memset(p, 0, c->size);
	atomic_fetch_add_explicit(&objects_alive, 1, memory_order_relaxed);
	return p;
}

void kmem_cache_free(struct kmem_cache *c, void *obj)
{
	atomic_fetch_sub_explicit(&objects_alive, 1, memory_order_relaxed);
	free(obj);
}

bool oom_kill(struct memcg *mg, const char *why, uint64_t pages)
{
	return false;
}
bool memcg_dying(void)
{
	return false;
}
bool memcg_wait_victim(void)
{
	return true;
}

#endif /* TESTS_HOST_MEMCG_STUB_H */
