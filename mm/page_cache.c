/* SPDX-License-Identifier: MIT */
/*
 * Per-file page index: implements mm/page_cache.h.
 *
 * A node has 64 slots; @shift says which bits of the page number choose one
 * (0 in the lowest level, whose slots are pages).  A tree grows by putting a new
 * root above the old one, so a reader that holds an old root still finds
 * everything below it.  Nodes are freed by RCU; pages are found by a speculative
 * reference that is checked against the slot again.
 */
#include "mm/page_cache.h"
#include "mm/slab.h"
#include "kernel/lock.h"
#include "kernel/log.h"
#include "kernel/rcu.h"
#include "kernel/string.h"

#define NODE_BITS  6
#define NODE_SLOTS (1u << NODE_BITS)
#define MAX_SHIFT  60

struct index_node {
	unsigned shift; /* constant */
	unsigned used;  /* slots in use, under the index lock */
	struct rcu_head rcu;
	_Atomic(void *) slot[NODE_SLOTS]; /* written under the index lock, read under RCU */
};

struct page_index {
	struct spinlock lock;
	_Atomic(struct index_node *) root; /* written under lock */
	_Atomic uint64_t count;            /* written under lock */
};

static struct kmem_cache *node_cache;

static unsigned slot_of(const struct index_node *n, uint64_t at)
{
	return (at >> n->shift) & (NODE_SLOTS - 1);
}
static bool covers(const struct index_node *n, uint64_t at)
{
	return n->shift >= MAX_SHIFT || !(at >> n->shift >> NODE_BITS);
}
/* Under the lock, or before the node is published. */
static void *peek(struct index_node *n, unsigned i)
{
	return atomic_load_explicit(&n->slot[i], memory_order_relaxed);
}
static void poke(struct index_node *n, unsigned i, void *v)
{
	n->used += (v != NULL) - (peek(n, i) != NULL);
	atomic_store_explicit(&n->slot[i], v, memory_order_release);
}

static void node_free_rcu(struct rcu_head *h)
{
	kmem_cache_free(node_cache, container_of(h, struct index_node, rcu));
}

struct page_index *page_index_create(void)
{
	struct page_index *idx = kzalloc(sizeof(*idx), GFP_ACCOUNT);

	if (idx)
		spin_init(&idx->lock, "page_index");
	return idx;
}

/* The lowest-level node that would hold @at, or NULL.  Under RCU. */
static struct index_node *leaf_of(struct page_index *idx, uint64_t at)
{
	struct index_node *n = rcu_dereference(idx->root);

	if (!n || !covers(n, at))
		return NULL;
	while (n && n->shift)
		n = atomic_load_explicit(&n->slot[slot_of(n, at)], memory_order_acquire);
	return n;
}

/* The page in @slot with a reference, or NULL.  Under RCU. */
static struct page *slot_get(_Atomic(void *) *slot)
{
	for (;;) {
		struct page *p = atomic_load_explicit(slot, memory_order_acquire);

		if (!p)
			return NULL;
		/* It may be freed and used for something else at this moment. */
		if (page_get_unless_free(p)) {
			if (atomic_load_explicit(slot, memory_order_acquire) == p)
				return p;
			page_put(p);
		}
	}
}

struct page *page_index_lookup(struct page_index *idx, uint64_t at)
{
	struct index_node *n;
	struct page *p;

	rcu_read_lock();
	n = leaf_of(idx, at);
	p = n ? slot_get(&n->slot[slot_of(n, at)]) : NULL;
	rcu_read_unlock();
	return p;
}

void page_index_lookup_some(struct page_index *idx, uint64_t first, unsigned want,
			    struct page **out)
{
	struct index_node *n;
	uint64_t at;

	if (!want)
		return;
	at = first + (unsigned)__builtin_ctz(want);
	rcu_read_lock();
	n = leaf_of(idx, at);
	for (; n && want; want &= want - 1) {
		unsigned i = (unsigned)__builtin_ctz(want);

		if ((first + i) >> NODE_BITS != at >> NODE_BITS)
			break;
		out[i] = slot_get(&n->slot[slot_of(n, first + i)]);
	}
	rcu_read_unlock();
}

/*
 * The lowest-level node for @at, made if missing.  Under the lock.  NULL: a node
 * is needed; *spare was empty.
 */
static struct index_node *make_path(struct page_index *idx, uint64_t at, struct index_node **spare)
{
	struct index_node *n = atomic_load_explicit(&idx->root, memory_order_relaxed), *c;

	while (!n || !covers(n, at)) {
		c = *spare;
		if (!c)
			return NULL;
		*spare = NULL;
		c->shift = n ? n->shift + NODE_BITS : 0;
		if (n)
			poke(c, 0, n);
		rcu_assign_pointer(idx->root, c);
		n = c;
	}
	while (n->shift) {
		unsigned i = slot_of(n, at);

		c = peek(n, i);
		if (!c) {
			c = *spare;
			if (!c)
				return NULL;
			*spare = NULL;
			c->shift = n->shift - NODE_BITS;
			poke(n, i, c);
		}
		n = c;
	}
	return n;
}

int page_index_insert(struct page_index *idx, uint64_t at, struct page *p, struct owner *o)
{
	struct index_node *n, *spare = NULL;
	int err = 0;

	if (o) {
		err = memcg_charge_page(p, o, MEMCG_SHMEM, 0); /* every file is a memory file */
		if (err)
			return err;
	}
	for (;;) {
		spin_lock(&idx->lock);
		n = make_path(idx, at, &spare);
		if (n)
			break;
		spin_unlock(&idx->lock);
		spare = kmem_cache_alloc_for(node_cache, GFP_KERNEL, o);
		if (!spare) {
			err = -ENOMEM;
			goto uncharge;
		}
	}
	if (peek(n, slot_of(n, at))) {
		err = -EEXIST;
	} else {
		page_get(p);
		p->index = at;
		page_set_kind(p, PAGE_FILE);
		poke(n, slot_of(n, at), p);
		atomic_fetch_add_explicit(&idx->count, 1, memory_order_relaxed);
	}
	spin_unlock(&idx->lock);
	if (spare)
		kmem_cache_free(node_cache, spare);
uncharge:
	if (err && o)
		memcg_uncharge_page(p);
	return err;
}

struct page *page_index_get(struct page_index *idx, uint64_t at, struct owner *o)
{
	for (;;) {
		struct page *p = page_index_lookup(idx, at);
		int err;

		if (p)
			return p;
		p = page_alloc(0, PAGE_FILE, GFP_ZERO);
		if (!p)
			return ERR_PTR(-ENOMEM);
		err = page_index_insert(idx, at, p, o);
		if (!err)
			return p;
		page_put(p);
		if (err != -EEXIST)
			return ERR_PTR(err);
	}
}

/*
 * Takes pages >= @from out of the tree below @n (first number @base), at most
 * @room of them, and frees nodes that become empty.  Under the lock.
 */
static unsigned cut(struct page_index *idx, struct index_node *n, uint64_t base, uint64_t from,
		    struct page **out, unsigned room)
{
	unsigned got = 0;
	unsigned i = from > base ? slot_of(n, from) : 0;

	for (; i < NODE_SLOTS && got < room && n->used; i++) {
		uint64_t at = base + ((uint64_t)i << n->shift);
		void *v = peek(n, i);

		if (!v)
			continue;
		if (!n->shift) {
			poke(n, i, NULL);
			out[got++] = v;
			continue;
		}
		got += cut(idx, v, at, max(at, from), out + got, room - got);
		if (!((struct index_node *)v)->used) {
			poke(n, i, NULL);
			call_rcu(&((struct index_node *)v)->rcu, node_free_rcu);
		}
	}
	return got;
}

void page_index_truncate(struct page_index *idx, uint64_t from)
{
	struct page *batch[32];
	unsigned n;

	do {
		struct index_node *root;

		n = 0;
		spin_lock(&idx->lock);
		root = atomic_load_explicit(&idx->root, memory_order_relaxed);
		if (root && covers(root, from)) {
			n = cut(idx, root, 0, from, batch, ARRAY_SIZE(batch));
			atomic_fetch_sub_explicit(&idx->count, n, memory_order_relaxed);
			if (!root->used) {
				rcu_assign_pointer(idx->root, NULL);
				call_rcu(&root->rcu, node_free_rcu);
			}
		}
		spin_unlock(&idx->lock);
		for (unsigned i = 0; i < n; i++)
			page_put(batch[i]);
		cond_resched();
	} while (n == ARRAY_SIZE(batch));
}

void page_index_remove(struct page_index *idx, uint64_t at)
{
	struct index_node *n, *path[MAX_SHIFT / NODE_BITS + 1];
	unsigned depth = 0;
	struct page *p;

	spin_lock(&idx->lock);
	n = atomic_load_explicit(&idx->root, memory_order_relaxed);
	if (n && !covers(n, at))
		n = NULL;
	for (; n && n->shift; n = peek(n, slot_of(n, at)))
		path[depth++] = n;
	p = n ? peek(n, slot_of(n, at)) : NULL;
	if (p) {
		poke(n, slot_of(n, at), NULL);
		atomic_fetch_sub_explicit(&idx->count, 1, memory_order_relaxed);
		while (!n->used) {
			call_rcu(&n->rcu, node_free_rcu);
			if (!depth) {
				rcu_assign_pointer(idx->root, NULL);
				break;
			}
			n = path[--depth];
			poke(n, slot_of(n, at), NULL);
		}
	}
	spin_unlock(&idx->lock);
	if (p)
		page_put(p);
}

/* A failed insertion may leave nodes without pages. */
static void free_empty(struct index_node *n)
{
	if (!n)
		return;
	for (unsigned i = 0; n->shift && i < NODE_SLOTS; i++)
		free_empty(peek(n, i));
	call_rcu(&n->rcu, node_free_rcu);
}

void page_index_destroy(struct page_index *idx)
{
	if (!idx)
		return;
	page_index_truncate(idx, 0);
	BUG_ON(atomic_load_explicit(&idx->count, memory_order_relaxed));
	spin_lock(&idx->lock);
	free_empty(atomic_load_explicit(&idx->root, memory_order_relaxed));
	spin_unlock(&idx->lock);
	kfree(idx);
}

uint64_t page_index_count(const struct page_index *idx)
{
	return atomic_load_explicit(&idx->count, memory_order_relaxed);
}

/* First page number >= @from below @n, or UINT64_MAX.  Under RCU. */
static uint64_t next_in(struct index_node *n, uint64_t base, uint64_t from)
{
	for (unsigned i = from > base ? slot_of(n, from) : 0; i < NODE_SLOTS; i++) {
		uint64_t at = base + ((uint64_t)i << n->shift), r;
		void *v = atomic_load_explicit(&n->slot[i], memory_order_acquire);

		if (!v)
			continue;
		r = n->shift ? next_in(v, at, max(at, from)) : at;
		if (r != UINT64_MAX)
			return r;
	}
	return UINT64_MAX;
}

uint64_t page_index_next(struct page_index *idx, uint64_t from)
{
	struct index_node *n;
	uint64_t r = UINT64_MAX;

	rcu_read_lock();
	n = rcu_dereference(idx->root);
	if (n && covers(n, from))
		r = next_in(n, 0, from);
	rcu_read_unlock();
	return r;
}

void page_cache_init(void)
{
	node_cache = kmem_cache_create("page_index", sizeof(struct index_node), 0,
				       SLAB_ACCOUNT | SLAB_ZERO);
	if (!node_cache)
		panic("page_cache: no memory at start-up");
}
