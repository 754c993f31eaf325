/* SPDX-License-Identifier: MIT */
/*
 * The table of groups by id, and the locks that a look-up can take (mm/memcg_walk.h).
 *
 * A tree of 64-way nodes, written under memcg_mutex, read under RCU whatever the lock:
 * what "spin" and "rwlock" add is the cost of the lock and the waiting of those who
 * change the table, as in the kernels that needed them.
 */
#include "mm/memcg_id_lock.h"
#include "mm/memcg_walk.h"
#include "mm/memcg_tree.h"
#include "mm/each_cpu.h"
#include "mm/slab.h"
#include "kernel/log.h"
#include "kernel/rcu.h"
#include "kernel/thread.h"

#define NODE_BITS  6
#define NODE_SLOTS (1u << NODE_BITS)

struct id_node {
	unsigned shift; /* of the id bits that choose a slot; 0: slots are groups */
	unsigned used;  /* slots in use, memcg_mutex */
	struct rcu_head rcu;
	_Atomic(void *) slot[NODE_SLOTS]; /* memcg_mutex; read under RCU */
};

static _Atomic(struct id_node *) root; /* memcg_mutex; read under RCU */

static struct id_locks *locks; /* constant after memcg_id_init() */

/* A line of its own: counted on every look-up. */
struct lookups {
	__cacheline_aligned _Atomic uint64_t n; /* written by its CPU */
};
static DEFINE_PER_CPU(struct lookups, id_lookups);

uint64_t memcg_lookup_count(void)
{
	uint64_t n = 0;

	for_each_cpu(c)
		n += atomic_load_explicit(&per_cpu(id_lookups, c).n, memory_order_relaxed);
	return n;
}

/* Return: what to hand to the other. */
static enum memcg_walk_lock change_begin(void)
{
	enum memcg_walk_lock how = atomic_load_explicit(&memcg_config.walk, memory_order_relaxed);

	if (how == WALK_SPIN)
		id_spin_lock(&locks->spin);
	else if (how == WALK_RWLOCK)
		id_write_lock(locks);
	return how;
}

static void change_end(enum memcg_walk_lock how)
{
	if (how == WALK_SPIN)
		id_spin_unlock(&locks->spin);
	else if (how == WALK_RWLOCK)
		id_write_unlock(locks);
}

static unsigned slot_of(const struct id_node *n, uint32_t id)
{
	return id >> n->shift & (NODE_SLOTS - 1);
}

static bool covers(const struct id_node *n, uint32_t id)
{
	return !((uint64_t)id >> n->shift >> NODE_BITS);
}

static void *peek(struct id_node *n, unsigned i)
{
	return atomic_load_explicit(&n->slot[i], memory_order_acquire);
}

static void poke(struct id_node *n, unsigned i, void *v)
{
	n->used += (v != NULL) - (peek(n, i) != NULL);
	atomic_store_explicit(&n->slot[i], v, memory_order_release);
}

static void node_free_rcu(struct rcu_head *h)
{
	kfree(container_of(h, struct id_node, rcu));
}

static struct id_node *node_make(unsigned shift)
{
	struct id_node *n = kzalloc(sizeof(*n), GFP_KERNEL);

	if (n)
		n->shift = shift;
	return n;
}

/* The lowest node for @id, made if missing; NULL without memory. */
static struct id_node *make_path(uint32_t id)
{
	struct id_node *n = atomic_load_explicit(&root, memory_order_relaxed), *c;

	while (!n || !covers(n, id)) {
		c = node_make(n ? n->shift + NODE_BITS : 0);
		if (!c)
			return NULL;
		if (n)
			poke(c, 0, n);
		rcu_assign_pointer(root, c);
		n = c;
	}
	while (n->shift) {
		c = peek(n, slot_of(n, id));
		if (!c) {
			c = node_make(n->shift - NODE_BITS);
			if (!c)
				return NULL;
			poke(n, slot_of(n, id), c);
		}
		n = c;
	}
	return n;
}

bool memcg_id_init(struct memcg *first)
{
	struct kmem_cache *c =
		kmem_cache_create("memcg_id_locks", sizeof(*locks), CACHE_LINE, SLAB_ZERO);

	locks = c ? kmem_cache_alloc(c, GFP_KERNEL) : NULL;
	if (!locks)
		return false;
	id_spin_init(&locks->spin);
	return memcg_id_add(first);
}

bool memcg_id_add(struct memcg *m)
{
	struct id_node *n = make_path(m->id);
	enum memcg_walk_lock how;

	if (!n)
		return false; /* an empty node may stay: the next id wants it */
	how = change_begin();
	poke(n, slot_of(n, m->id), m);
	change_end(how);
	return true;
}

void memcg_id_remove(struct memcg *m)
{
	struct id_node *path[32 / NODE_BITS + 1];
	struct id_node *n = atomic_load_explicit(&root, memory_order_relaxed);
	enum memcg_walk_lock how = change_begin();
	unsigned depth = 0;

	for (; n->shift; n = peek(n, slot_of(n, m->id)))
		path[depth++] = n;
	poke(n, slot_of(n, m->id), NULL);
	/* The root stays: its id is the first and it is never empty. */
	while (!n->used && depth) {
		call_rcu(&n->rcu, node_free_rcu);
		n = path[--depth];
		poke(n, slot_of(n, m->id), NULL);
	}
	change_end(how);
}

/* The first group below @n with an id >= @from; ids below @n begin at @base. */
static struct memcg *first_in(struct id_node *n, uint64_t base, uint64_t from)
{
	for (unsigned i = from > base ? slot_of(n, (uint32_t)from) : 0; i < NODE_SLOTS; i++) {
		void *v = peek(n, i);
		uint64_t at;
		struct memcg *m;

		if (!v)
			continue;
		if (!n->shift)
			return v;
		at = base + ((uint64_t)i << n->shift);
		m = first_in(v, at, from > at ? from : at);
		if (m)
			return m;
	}
	return NULL;
}

struct memcg *memcg_lookup_from(uint32_t from)
{
	enum memcg_walk_lock how = atomic_load_explicit(&memcg_config.walk, memory_order_relaxed);
	_Atomic uint64_t *count = &this_cpu(id_lookups).n;
	struct id_node *n;
	struct memcg *m;

	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	if (how == WALK_SPIN)
		id_spin_lock(&locks->spin);
	else if (how == WALK_RWLOCK)
		id_read_lock(locks);
	n = rcu_dereference(root);
	m = n && covers(n, from) ? first_in(n, 0, from) : NULL;
	if (how == WALK_SPIN)
		id_spin_unlock(&locks->spin);
	else if (how == WALK_RWLOCK)
		id_read_unlock(locks);
	return m;
}

struct memcg *memcg_by_id(uint32_t id)
{
	struct id_node *n = rcu_dereference(root);

	if (!n || !covers(n, id))
		return NULL;
	while (n && n->shift)
		n = peek(n, slot_of(n, id));
	return n ? peek(n, slot_of(n, id)) : NULL;
}
