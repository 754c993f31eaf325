/* SPDX-License-Identifier: MIT */
/*
 * Per-file page index: implements mm/page_index.h.
 *
 * A node has 64 slots; @shift says which bits of the page number choose one
 * (0 in the lowest level, whose slots are pages).  A tree grows by putting a new
 * root above the old one, so a reader that holds an old root still finds
 * everything below it.  Nodes are freed by RCU; pages are found by a speculative
 * reference that is checked against the slot again.  A slot of the lowest level
 * may hold a number instead (bit 0 set): the shadow of a page that was evicted.
 */
#include "mm/page_index.h"
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
	unsigned used;  /* slots in use, shadows included; under the index lock */
	uint64_t dirty; /* bit per slot: a dirty page is there or below; under the index lock */
	struct rcu_head rcu;
	_Atomic(void *) slot[NODE_SLOTS]; /* written under the index lock, read under RCU */
};

struct page_index {
	struct spinlock lock;
	_Atomic(struct index_node *) root; /* written under lock */
	_Atomic uint64_t count;            /* pages; written under lock */
	struct rcu_head rcu;               /* who evicts a page may still look */
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
static bool is_shadow(const void *v)
{
	return (uintptr_t)v & 1;
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

		if (!p || is_shadow(p))
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
		if (n) {
			poke(c, 0, n);
			c->dirty = n->dirty != 0;
		}
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

int page_index_place(struct page_index *idx, uint64_t at, struct page *p, struct mapping *m,
		     struct owner *o, uintptr_t *shadow)
{
	struct index_node *n, *spare = NULL;
	void *old;
	int err = 0;

	for (;;) {
		spin_lock(&idx->lock);
		n = make_path(idx, at, &spare);
		if (n)
			break;
		spin_unlock(&idx->lock);
		spare = kmem_cache_alloc_for(node_cache, GFP_KERNEL, o);
		if (!spare)
			return -ENOMEM;
	}
	old = peek(n, slot_of(n, at));
	if (old && !is_shadow(old)) {
		err = -EEXIST;
	} else {
		if (shadow)
			*shadow = (uintptr_t)old;
		page_get(p);
		p->mapping = m;
		p->index = at;
		page_set_kind(p, PAGE_FILE);
		poke(n, slot_of(n, at), p);
		atomic_fetch_add_explicit(&idx->count, 1, memory_order_relaxed);
	}
	spin_unlock(&idx->lock);
	if (spare)
		kmem_cache_free(node_cache, spare);
	return err;
}

int page_index_insert(struct page_index *idx, uint64_t at, struct page *p, struct owner *o)
{
	int err = 0;

	if (o)
		err = memcg_charge_page(p, o, MEMCG_SHMEM, 0);
	if (err)
		return err;
	err = page_index_place(idx, at, p, NULL, o, NULL);
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
 * @room of them (none: pages stay), and all shadows; frees nodes that become
 * empty.  Under the lock.
 */
static unsigned cut(struct page_index *idx, struct index_node *n, uint64_t base, uint64_t from,
		    struct page **out, unsigned room)
{
	bool pages = room;
	unsigned got = 0;
	unsigned i = from > base ? slot_of(n, from) : 0;

	for (; i < NODE_SLOTS && (!pages || got < room) && n->used; i++) {
		uint64_t at = base + ((uint64_t)i << n->shift);
		void *v = peek(n, i);

		if (!v)
			continue;
		if (!n->shift) {
			if (!is_shadow(v) && !pages)
				continue;
			poke(n, i, NULL);
			if (!is_shadow(v))
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

static unsigned cut_from(struct page_index *idx, uint64_t from, struct page **out, unsigned room)
{
	struct index_node *root;
	unsigned n = 0;

	spin_lock(&idx->lock);
	root = atomic_load_explicit(&idx->root, memory_order_relaxed);
	if (root && covers(root, from)) {
		n = cut(idx, root, 0, from, out, room);
		atomic_fetch_sub_explicit(&idx->count, n, memory_order_relaxed);
		if (!root->used) {
			rcu_assign_pointer(idx->root, NULL);
			call_rcu(&root->rcu, node_free_rcu);
		}
	}
	spin_unlock(&idx->lock);
	return n;
}

void page_index_truncate(struct page_index *idx, uint64_t from)
{
	struct page *batch[32];
	unsigned n;

	do {
		n = cut_from(idx, from, batch, ARRAY_SIZE(batch));
		for (unsigned i = 0; i < n; i++)
			page_put(batch[i]);
		cond_resched();
	} while (n == ARRAY_SIZE(batch));
}

void page_index_drop_shadows(struct page_index *idx, uint64_t from)
{
	cut_from(idx, from, NULL, 0);
}

/* The lowest-level node of @at and the nodes above it.  Under the lock.  NULL: there is none. */
static struct index_node *find_path(struct page_index *idx, uint64_t at, struct index_node **path,
				    unsigned *depth)
{
	struct index_node *n = atomic_load_explicit(&idx->root, memory_order_relaxed);

	*depth = 0;
	if (n && !covers(n, at))
		return NULL;
	for (; n && n->shift; n = peek(n, slot_of(n, at)))
		path[(*depth)++] = n;
	return n;
}

/* The dirty mark of @at goes, and those above that stood for it alone.  Under the lock. */
static void unmark(struct index_node *n, uint64_t at, struct index_node **path, unsigned depth)
{
	n->dirty &= ~(1ULL << slot_of(n, at));
	while (!n->dirty && depth) {
		n = path[--depth];
		n->dirty &= ~(1ULL << slot_of(n, at));
	}
}

/* Empties the slot of @at in the leaf @n and frees nodes that hold nothing any more.  Under the lock. */
static void take_out(struct page_index *idx, struct index_node *n, uint64_t at,
		     struct index_node **path, unsigned depth)
{
	unmark(n, at, path, depth);
	poke(n, slot_of(n, at), NULL);
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

void page_index_remove(struct page_index *idx, uint64_t at)
{
	struct index_node *n, *path[MAX_SHIFT / NODE_BITS + 1];
	unsigned depth;
	struct page *p;

	spin_lock(&idx->lock);
	n = find_path(idx, at, path, &depth);
	p = n ? peek(n, slot_of(n, at)) : NULL;
	if (p && is_shadow(p))
		p = NULL;
	if (p) {
		atomic_fetch_sub_explicit(&idx->count, 1, memory_order_relaxed);
		take_out(idx, n, at, path, depth);
	}
	spin_unlock(&idx->lock);
	if (p)
		page_put(p);
}

bool page_index_detach(struct page_index *idx, struct page *p)
{
	struct index_node *n, *path[MAX_SHIFT / NODE_BITS + 1];
	unsigned depth;
	bool mine;

	spin_lock(&idx->lock);
	n = find_path(idx, p->index, path, &depth);
	mine = n && peek(n, slot_of(n, p->index)) == p;
	if (mine) {
		atomic_fetch_sub_explicit(&idx->count, 1, memory_order_relaxed);
		p->mapping = NULL;
		take_out(idx, n, p->index, path, depth);
	}
	spin_unlock(&idx->lock);
	return mine;
}

int page_index_evict(struct page_index *idx, struct page *p, uintptr_t (*leave)(struct page *p))
{
	uint32_t refs = 2; /* the index's and the caller's */
	struct index_node *n, *path[MAX_SHIFT / NODE_BITS + 1];
	uintptr_t shadow;
	unsigned depth;
	int err = 0;

	spin_lock(&idx->lock);
	n = find_path(idx, p->index, path, &depth);
	if (!n || peek(n, slot_of(n, p->index)) != p) {
		err = -EBUSY;
	} else if (!atomic_compare_exchange_strong_explicit(&p->refs, &refs, 0,
							    memory_order_acq_rel,
							    memory_order_relaxed)) {
		err = -EBUSY;
	} else if (page_has(p, PG_dirty | PG_writeback)) {
		atomic_store_explicit(&p->refs, 2, memory_order_release);
		err = -EAGAIN;
	} else {
		atomic_fetch_sub_explicit(&idx->count, 1, memory_order_relaxed);
		shadow = leave ? leave(p) : 0;
		ASSERT(!shadow || (shadow & 1));
		p->mapping = NULL;
		if (shadow)
			poke(n, slot_of(n, p->index), (void *)shadow);
		else
			take_out(idx, n, p->index, path, depth);
		atomic_store_explicit(&p->refs, 1, memory_order_release);
	}
	spin_unlock(&idx->lock);
	return err;
}

bool page_index_set_dirty(struct page_index *idx, struct page *p)
{
	struct index_node *n, *path[MAX_SHIFT / NODE_BITS + 1];
	unsigned depth;
	bool fresh = false;

	spin_lock(&idx->lock);
	n = find_path(idx, p->index, path, &depth);
	if (n && peek(n, slot_of(n, p->index)) == p && !page_has(p, PG_dirty)) {
		fresh = true;
		page_flag_set(p, PG_dirty);
		n->dirty |= 1ULL << slot_of(n, p->index);
		while (depth--)
			path[depth]->dirty |= 1ULL << slot_of(path[depth], p->index);
	}
	spin_unlock(&idx->lock);
	return fresh;
}

bool page_index_clear_dirty(struct page_index *idx, struct page *p)
{
	struct index_node *n, *path[MAX_SHIFT / NODE_BITS + 1];
	unsigned depth;
	bool was = false;

	spin_lock(&idx->lock);
	n = find_path(idx, p->index, path, &depth);
	if (n && peek(n, slot_of(n, p->index)) == p && page_has(p, PG_dirty)) {
		was = true;
		page_flag_clear(p, PG_dirty);
		unmark(n, p->index, path, depth);
	}
	spin_unlock(&idx->lock);
	return was;
}

/* First dirty page number >= @from below @n, or UINT64_MAX.  Under the lock. */
static uint64_t dirty_in(struct index_node *n, uint64_t base, uint64_t from)
{
	unsigned first = from > base ? slot_of(n, from) : 0;

	for (uint64_t m = n->dirty & (~0ULL << first); m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctzll(m);
		uint64_t at = base + ((uint64_t)i << n->shift), r;

		r = n->shift ? dirty_in(peek(n, i), at, max(at, from)) : at;
		if (r != UINT64_MAX)
			return r;
	}
	return UINT64_MAX;
}

uint64_t page_index_next_dirty(struct page_index *idx, uint64_t from)
{
	struct index_node *n;
	uint64_t r = UINT64_MAX;

	spin_lock(&idx->lock);
	n = atomic_load_explicit(&idx->root, memory_order_relaxed);
	if (n && covers(n, from))
		r = dirty_in(n, 0, from);
	spin_unlock(&idx->lock);
	return r;
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
	kfree_rcu_obj(&idx->rcu, idx);
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

		if (!v || is_shadow(v))
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

void page_index_init(void)
{
	node_cache = kmem_cache_create("page_index", sizeof(struct index_node), 0,
				       SLAB_ACCOUNT | SLAB_ZERO);
	if (!node_cache)
		panic("page_index: no memory at start-up");
}
