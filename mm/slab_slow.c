/* SPDX-License-Identifier: MIT */
/*
 * Slabs: page blocks cut into objects.
 *
 * A slab is a block of 2^order pages; its head page carries the cache, the list
 * of free objects and their number, every other page points to the head.  Slabs
 * with a free object are in cache->partial; full ones are in no list.  A few
 * empty slabs are kept.  With SLAB_RCU the pages of an empty slab go back only
 * after a grace period, so a reader under RCU may still look at an object that
 * has been freed (and find it reused for another of the same type).
 */
#include "mm/slab_int.h"
#include "mm/memcg.h"
#include "kernel/log.h"
#include "kernel/rcu.h"
#include "kernel/string.h"

#define KEEP_EMPTY 2 /* slabs per cache: a burst of frees and allocations costs no page work */

struct page *slab_head(const void *obj)
{
	struct page *p = virt_to_page(obj);

	if (!(atomic_load_explicit(&p->flags, memory_order_relaxed) & PG_head))
		p = p->freelist;
	return p;
}

void slab_setup(struct kmem_cache *c, const char *name, size_t size, size_t align, unsigned flags)
{
	size_t at = ALIGN_UP(size, 8), need;

	align = max_t(size_t, align, 8);
	c->name = name;
	c->size = (uint32_t)size;
	c->flags = flags;
	if (flags & SLAB_ACCOUNT) {
		c->off_owner = (uint32_t)at;
		at += 8;
	}
	c->off_link = 0;
	if (flags & SLAB_RCU)
		c->off_link = (uint32_t)at;
#ifdef CONFIG_DEBUG
	c->off_link = (uint32_t)at;
#endif
	if (c->off_link)
		at += 8;
#ifdef CONFIG_DEBUG
	c->off_red = (uint32_t)at;
	at += 16;
#endif
	c->stride = (uint32_t)ALIGN_UP(at, align);
	/* Smallest block that wastes at most an eighth and holds eight objects, if there is one. */
	for (c->order = 0; c->order < SLAB_MAX_ORDER; c->order++) {
		need = PAGE_SIZE << c->order;
		if (need / c->stride >= 8 && need % c->stride <= need / 8)
			break;
	}
	c->per_slab = (unsigned)((PAGE_SIZE << c->order) / c->stride);
	c->mag_max = c->stride <= 256 ? 62 : c->stride <= 1024 ? 30 : c->stride <= 2048 ? 14 : 6;
	c->depot_max = 16;
	spin_init(&c->lock, "slab");
	spin_init(&c->depot_lock, "slab depot");
	list_init(&c->partial);
}

/* A new slab with all objects free, not in any list yet. */
static struct page *slab_new(struct kmem_cache *c, gfp_t gfp)
{
	struct page *p = page_alloc(c->order, PAGE_SLAB,
				    gfp & (GFP_ATOMIC | GFP_NOWARN));
	char *base;
	void *list = NULL;

	if (!p)
		return NULL;
	base = page_virt(p);
	for (unsigned i = c->per_slab; i-- > 0;) {
		void *obj = base + (size_t)i * c->stride;

		slab_debug_new(c, obj);
		*obj_link(c, obj) = list;
		list = obj;
	}
	p->cache = c;
	p->freelist = list;
	p->inuse = 0;
	p->total = (uint16_t)c->per_slab;
	atomic_store_explicit(&p->flags, PG_head, memory_order_relaxed);
	for (unsigned i = 1; i < 1u << c->order; i++) {
		p[i].kind = PAGE_SLAB;
		p[i].cache = c;
		p[i].freelist = p;
		atomic_store_explicit(&p[i].flags, 0, memory_order_relaxed);
	}
	return p;
}

static void slab_put_pages(struct page *p)
{
	for (unsigned i = 1; i < 1u << p->order; i++)
		p[i].kind = PAGE_FREE;
	page_put(p);
}

static void slab_rcu_free(struct rcu_head *h)
{
	struct page *p = container_of((struct list_head *)h, struct page, lru);

	list_init(&p->lru);
	slab_put_pages(p);
}
_Static_assert(sizeof(struct rcu_head) <= sizeof(struct list_head),
	       "the RCU head of a dying slab lives in page->lru");

static void slab_free_pages(struct kmem_cache *c, struct page *p)
{
	if (c->flags & SLAB_RCU)
		call_rcu((struct rcu_head *)&p->lru, slab_rcu_free);
	else
		slab_put_pages(p);
}

/**
 * slab_take - up to @n free objects of @c into @obj
 * Context: thread; makes a slab (which may sleep) only if none is free.
 * Return: how many, 0 without memory.
 */
unsigned slab_take(struct kmem_cache *c, void **obj, unsigned n, gfp_t gfp)
{
	unsigned got = 0;
	struct page *p, *fresh = NULL;

	for (;;) {
		spin_lock(&c->lock);
		if (fresh) {
			list_add(&fresh->lru, &c->partial);
			c->nr_empty++;
			c->nr_slabs++;
			c->nr_free += c->per_slab;
			fresh = NULL;
		}
		while (got < n && !list_empty(&c->partial)) {
			p = list_first_entry(&c->partial, struct page, lru);
			if (!p->inuse)
				c->nr_empty--;
			while (got < n && p->freelist) {
				void *o = p->freelist;

				p->freelist = *obj_link(c, o);
				p->inuse++;
				obj[got++] = o;
				c->nr_free--;
			}
			if (!p->freelist)
				list_del(&p->lru);
		}
		spin_unlock(&c->lock);
		if (got)
			return got;
		fresh = slab_new(c, gfp);
		if (!fresh)
			return 0;
	}
}

void slab_give(struct kmem_cache *c, void **obj, unsigned n)
{
	struct list_head dead;
	struct page *p, *next;

	list_init(&dead);
	spin_lock(&c->lock);
	for (unsigned i = 0; i < n; i++) {
		p = slab_head(obj[i]);
		if (unlikely(p->cache != c))
			panic("slab: object %p of cache %s freed to %s", obj[i],
			      p->kind == PAGE_SLAB && p->cache ? p->cache->name : "(none)",
			      c->name);
		if (!p->freelist)
			list_add(&p->lru, &c->partial);
		*obj_link(c, obj[i]) = p->freelist;
		p->freelist = obj[i];
		c->nr_free++;
		if (--p->inuse)
			continue;
		if (c->nr_empty < KEEP_EMPTY) {
			c->nr_empty++;
			list_move_tail(&p->lru, &c->partial);
		} else {
			list_move_tail(&p->lru, &dead);
			c->nr_slabs--;
			c->nr_free -= c->per_slab;
		}
	}
	spin_unlock(&c->lock);
	list_for_each_entry_safe(p, next, &dead, lru) {
		list_del(&p->lru);
		slab_free_pages(c, p);
	}
}

void slab_trim(struct kmem_cache *c)
{
	struct list_head dead;
	struct page *p, *next;

	list_init(&dead);
	spin_lock(&c->lock);
	list_for_each_entry_safe(p, next, &c->partial, lru) {
		if (p->inuse)
			continue;
		list_move_tail(&p->lru, &dead);
		c->nr_slabs--;
		c->nr_free -= c->per_slab;
	}
	c->nr_empty = 0;
	spin_unlock(&c->lock);
	list_for_each_entry_safe(p, next, &dead, lru) {
		list_del(&p->lru);
		slab_free_pages(c, p);
	}
}

#ifdef CONFIG_DEBUG
/* What the trailing words say. */
#define RED_WORD   0x5ad1c0de5ad1c0deULL
#define STATE_FREE 0xf4eef4eef4eef4eeULL
#define STATE_USED 0x05ed05ed05ed05edULL
#define POISON     0x6b /* a freed object */

static uint64_t *red(struct kmem_cache *c, void *obj)
{
	return (uint64_t *)((char *)obj + c->off_red);
}

static void poison(struct kmem_cache *c, void *obj)
{
	if (!(c->flags & SLAB_RCU))
		memset(obj, POISON, c->size);
}

void slab_debug_new(struct kmem_cache *c, void *obj)
{
	red(c, obj)[0] = RED_WORD;
	red(c, obj)[1] = STATE_FREE;
	poison(c, obj);
}

void slab_debug_alloc(struct kmem_cache *c, void *obj)
{
	const uint8_t *b = obj;

	if (red(c, obj)[1] != STATE_FREE || red(c, obj)[0] != RED_WORD)
		panic("slab %s: free object %p was overwritten behind its end", c->name, obj);
	for (unsigned i = 0; !(c->flags & SLAB_RCU) && i < c->size; i++)
		if (b[i] != POISON)
			panic("slab %s: object %p was written at offset %u after it was freed (%#x)",
			      c->name, obj, i, b[i]);
	red(c, obj)[1] = STATE_USED;
}

void slab_debug_free(struct kmem_cache *c, void *obj)
{
	struct page *p = slab_head(obj);

	if (p->cache != c || p->kind != PAGE_SLAB)
		panic("slab %s: %p is not an object of this cache", c->name, obj);
	if (((uintptr_t)obj - (uintptr_t)page_virt(p)) % c->stride)
		panic("slab %s: %p is not the start of an object", c->name, obj);
	if (red(c, obj)[1] == STATE_FREE)
		panic("slab %s: object %p freed twice", c->name, obj);
	if (red(c, obj)[0] != RED_WORD || red(c, obj)[1] != STATE_USED)
		panic("slab %s: object %p was written past its %u bytes", c->name, obj, c->size);
	red(c, obj)[1] = STATE_FREE;
	poison(c, obj);
}
#endif
