/* SPDX-License-Identifier: MIT */
/*
 * Slab caches: magazines and depot in front of the slabs (slab_slow.c).
 *
 * Each CPU has two magazines per cache, loaded and previous: objects come from
 * and go to the loaded one without any lock; when it is empty (or full) the two
 * change places, and only when both are empty (or full) is one exchanged with
 * the cache's depot.  So of 2 x M operations at most one takes a lock, whatever
 * the pattern, also when one CPU allocates and another frees.
 */
#include "mm/slab_int.h"
#include "mm/each_cpu.h"
#include "mm/memcg.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "kernel/thread.h"

DEFINE_PER_CPU(struct kmem_cpu, kmem_cpus[SLAB_MAX_CACHES]);
_Atomic(struct kmem_cache *) slab_caches;
static _Atomic int next_id;
static struct kmem_cache cache_cache;    /* of struct kmem_cache */
static struct kmem_cache magazine_cache; /* of struct magazine; has none itself */

static struct kmem_cpu *my_cpu(struct kmem_cache *c)
{
	return unlikely(!pcp_ready || c->id < 0) ? NULL : &this_cpu(kmem_cpus[c->id]);
}

static struct magazine *depot_exchange_empty(struct kmem_cache *c, struct magazine *empty)
{
	struct magazine *m;

	spin_lock(&c->depot_lock);
	m = c->full;
	if (m) {
		c->full = m->next;
		c->nr_full--;
		if (empty) {
			empty->next = c->empty;
			c->empty = empty;
			c->nr_emptymag++;
		}
	}
	spin_unlock(&c->depot_lock);
	return m;
}

/* A magazine with room, in exchange for a full one; NULL: the depot has no use for it. */
static struct magazine *depot_exchange_full(struct kmem_cache *c, struct magazine *full)
{
	struct magazine *m = NULL;

	spin_lock(&c->depot_lock);
	if (c->nr_full < c->depot_max) {
		m = c->empty;
		if (m) {
			c->empty = m->next;
			c->nr_emptymag--;
			full->next = c->full;
			c->full = full;
			c->nr_full++;
		}
	}
	spin_unlock(&c->depot_lock);
	return m;
}

static struct magazine *magazine_new(void)
{
	void *m = NULL;

	if (slab_take(&magazine_cache, &m, 1, GFP_ATOMIC | GFP_NOWARN))
		((struct magazine *)m)->n = 0;
	return m;
}

static __noinline void *alloc_slow(struct kmem_cache *c, struct kmem_cpu *k, gfp_t gfp)
{
	struct magazine *m;
	void *obj;

	if (!k)
		return slab_take(c, &obj, 1, gfp) ? obj : NULL;
	if (k->prev && k->prev->n) {
		m = k->prev;
		k->prev = k->loaded;
		k->loaded = m;
		return m->obj[--m->n];
	}
	m = depot_exchange_empty(c, k->prev);
	if (m) {
		k->prev = k->loaded;
		k->loaded = m;
		return m->obj[--m->n];
	}
	if (!k->loaded)
		k->loaded = magazine_new();
	if (!k->loaded)
		return slab_take(c, &obj, 1, gfp) ? obj : NULL;
	/*
	 * Making a slab may sleep and bring this thread to another CPU or let
	 * others fill the magazine, so the objects go over a local array.
	 */
	{
		void *objs[16];
		unsigned want = min_t(unsigned, c->mag_max / 2 + 1, ARRAY_SIZE(objs));
		unsigned n = slab_take(c, objs, want, gfp);

		if (!n)
			return NULL;
		k = my_cpu(c);
		m = k->loaded;
		obj = objs[--n];
		while (n && m && m->n < c->mag_max)
			m->obj[m->n++] = objs[--n];
		if (n)
			slab_give(c, objs, n);
		return obj;
	}
}

static __noinline void free_slow(struct kmem_cache *c, struct kmem_cpu *k, void *obj)
{
	struct magazine *m;

	if (!k) {
		slab_give(c, &obj, 1);
		return;
	}
	if (!k->loaded) {
		k->loaded = magazine_new();
	} else if (!k->prev || k->prev->n < c->mag_max) {
		m = k->prev ? k->prev : magazine_new();
		if (m) {
			k->prev = k->loaded;
			k->loaded = m;
		}
	} else {
		m = depot_exchange_full(c, k->prev);
		if (m) {
			k->prev = k->loaded;
			k->loaded = m;
		} else if (c->nr_full < c->depot_max && (m = magazine_new())) {
			/* The depot had no empty one: give the full one, keep a new one. */
			spin_lock(&c->depot_lock);
			k->prev->next = c->full;
			c->full = k->prev;
			c->nr_full++;
			spin_unlock(&c->depot_lock);
			k->prev = k->loaded;
			k->loaded = m;
		} else {
			/* Enough is cached: half of it goes back to the slabs. */
			m = k->prev;
			m->n = c->mag_max / 2;
			slab_give(c, &m->obj[m->n], c->mag_max - m->n);
			k->prev = k->loaded;
			k->loaded = m;
		}
	}
	m = k->loaded;
	if (m && m->n < c->mag_max)
		m->obj[m->n++] = obj;
	else
		slab_give(c, &obj, 1);
}

static inline void *cache_alloc(struct kmem_cache *c, gfp_t gfp)
{
	struct kmem_cpu *k;
	struct magazine *m;

	if (!(gfp & GFP_ATOMIC) && pcp_ready)
		might_sleep();
	if (alloc_should_fail())
		return NULL;
	k = my_cpu(c);
	m = k ? k->loaded : NULL;
	if (likely(m && m->n))
		return m->obj[--m->n];
	return alloc_slow(c, k, gfp);
}

static inline void cache_free(struct kmem_cache *c, void *obj)
{
	struct kmem_cpu *k = my_cpu(c);
	struct magazine *m = k ? k->loaded : NULL;

	slab_debug_free(c, obj);
	if (likely(m && m->n < c->mag_max))
		m->obj[m->n++] = obj;
	else
		free_slow(c, k, obj);
}

void *kmem_cache_alloc_for(struct kmem_cache *c, gfp_t gfp, struct owner *o)
{
	void *obj;

	/* Charging may sleep, so it comes first: an object in hand is never given back half made. */
	if (c->off_owner && o &&
	    memcg_charge_bytes(o, c->stride, MEMCG_SLAB, gfp & GFP_ATOMIC ? CHARGE_NOSLEEP : 0))
		return NULL;
	obj = cache_alloc(c, gfp);
	if (unlikely(!obj)) {
		if (c->off_owner && o)
			memcg_uncharge_bytes(o, c->stride, MEMCG_SLAB);
		return NULL;
	}
	slab_debug_alloc(c, obj);
	if (c->off_owner)
		*obj_owner(c, obj) = o;
	if ((gfp & GFP_ZERO) || (c->flags & SLAB_ZERO))
		memset(obj, 0, c->size);
	return obj;
}

void *kmem_cache_alloc(struct kmem_cache *c, gfp_t gfp)
{
	return kmem_cache_alloc_for(c, gfp, c->off_owner ? current_owner() : NULL);
}

void kmem_cache_free(struct kmem_cache *c, void *obj)
{
	if (c->off_owner) {
		struct owner *o = *obj_owner(c, obj);

		if (o)
			memcg_uncharge_bytes(o, c->stride, MEMCG_SLAB);
	}
	cache_free(c, obj);
}

struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align, unsigned flags)
{
	struct kmem_cache *c;

	if (!size || size > (PAGE_SIZE << SLAB_MAX_ORDER) / 2 - 64 || (align & (align - 1))) {
		pr_err("slab: cache %s: size %zu or alignment %zu is out of range", name, size, align);
		return NULL;
	}
	c = kmem_cache_alloc(&cache_cache, GFP_KERNEL);
	if (!c)
		return NULL;
	slab_register(c, name, size, align, flags, true);
	return c;
}

void slab_register(struct kmem_cache *c, const char *name, size_t size, size_t align,
		   unsigned flags, bool magazines)
{
	struct kmem_cache *head;

	slab_setup(c, name, size, align, flags);
	c->id = -1;
	if (magazines) {
		int id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);

		if (id < SLAB_MAX_CACHES)
			c->id = id;
	}
	head = atomic_load_explicit(&slab_caches, memory_order_relaxed);
	do {
		c->next_cache = head;
	} while (!atomic_compare_exchange_weak_explicit(&slab_caches, &head, c,
							memory_order_release,
							memory_order_relaxed));
}

/* ---- draining and figures ---- */

static void magazine_flush(struct kmem_cache *c, struct magazine *m)
{
	void *p = m;

	slab_give(c, m->obj, m->n);
	slab_give(&magazine_cache, &p, 1);
}

static void drain_this_cpu(void)
{
	if (!pcp_ready)
		return;
	for (struct kmem_cache *c = atomic_load_explicit(&slab_caches, memory_order_acquire); c;
	     c = c->next_cache) {
		struct kmem_cpu *k = my_cpu(c);
		struct magazine *a, *b;

		if (!k)
			continue;
		a = k->loaded;
		b = k->prev;
		k->loaded = NULL;
		k->prev = NULL;
		if (a)
			magazine_flush(c, a);
		if (b)
			magazine_flush(c, b);
	}
}

void slab_drain(void)
{
	each_cpu_run(drain_this_cpu);
	for (struct kmem_cache *c = atomic_load_explicit(&slab_caches, memory_order_acquire); c;
	     c = c->next_cache) {
		struct magazine *f, *e, *m;

		spin_lock(&c->depot_lock);
		f = c->full;
		e = c->empty;
		c->full = NULL;
		c->empty = NULL;
		c->nr_full = 0;
		c->nr_emptymag = 0;
		spin_unlock(&c->depot_lock);
		for (; f; f = m) {
			m = f->next;
			magazine_flush(c, f);
		}
		for (; e; e = m) {
			m = e->next;
			magazine_flush(c, e);
		}
		slab_trim(c);
	}
}

static void count_this_cpu(void)
{
	if (!pcp_ready)
		return;
	for (struct kmem_cache *c = atomic_load_explicit(&slab_caches, memory_order_acquire); c;
	     c = c->next_cache) {
		struct kmem_cpu *k = my_cpu(c);

		if (k)
			atomic_store_explicit(&k->counted, (k->loaded ? k->loaded->n : 0) +
						  (k->prev ? k->prev->n : 0), memory_order_relaxed);
	}
}

/* Sleeps: only a CPU itself can look into its magazines. */
void slab_for_each(void (*fn)(const struct slab_info *i, void *arg), void *arg)
{
	each_cpu_run(count_this_cpu);
	for (struct kmem_cache *c = atomic_load_explicit(&slab_caches, memory_order_acquire); c;
	     c = c->next_cache) {
		struct slab_info i = { .name = c->name, .size = c->stride };
		uint64_t idle;

		spin_lock(&c->lock);
		i.objects = c->nr_slabs * c->per_slab;
		i.pages = c->nr_slabs << c->order;
		idle = c->nr_free;
		spin_unlock(&c->lock);
		spin_lock(&c->depot_lock);
		idle += (uint64_t)c->nr_full * c->mag_max;
		spin_unlock(&c->depot_lock);
		for_each_cpu(cpu)
			if (pcp_ready && c->id >= 0)
				idle += atomic_load_explicit(&per_cpu(kmem_cpus[c->id], cpu).counted,
							     memory_order_relaxed);
		i.active = i.objects > idle ? i.objects - idle : 0;
		fn(&i, arg);
	}
}

void slab_init(void)
{
	slab_register(&magazine_cache, "magazine", sizeof(struct magazine), 64, 0, false);
	slab_register(&cache_cache, "kmem_cache", sizeof(struct kmem_cache), 64, SLAB_ZERO, false);
	kmalloc_init();
}
