/* SPDX-License-Identifier: MIT */
/* Owners: life time and the chain of closed ones (mm/owner.h). */
#include "mm/owner.h"
#include "mm/memcg.h"
#include "mm/slab.h"
#include "kernel/plant.h"

struct owner root_owner = { .refs = 1, .users = 1 };
_Atomic int64_t owners_alive;
static struct kmem_cache *owner_cache;

bool owner_init(void)
{
	owner_cache = kmem_cache_create("owner", sizeof(struct owner), CACHE_LINE, SLAB_ZERO);
	return owner_cache;
}

struct owner *owner_create(struct account *a)
{
	struct owner *o = kmem_cache_alloc(owner_cache, GFP_KERNEL);

	if (!o)
		return NULL;
	atomic_init(&o->account, a);
	atomic_init(&o->refs, 1);
	atomic_fetch_add_explicit(&owners_alive, 1, memory_order_relaxed);
	return o;
}

static void owner_free_rcu(struct rcu_head *h)
{
	struct owner *o = container_of(h, struct owner, rcu);

	atomic_fetch_sub_explicit(&owners_alive, 1, memory_order_relaxed);
	kmem_cache_free(owner_cache, o);
}

/*
 * Both halves of the end, refs and bytes, are written before the other is read
 * (sequentially consistent), so the later of the two writers sees both at zero;
 * if both do, freed picks one.  RCU keeps the object for the loser's look.
 */
static bool owner_ended(struct owner *o)
{
	return !atomic_load_explicit(&o->refs, memory_order_seq_cst) &&
	       !atomic_load_explicit(&o->bytes, memory_order_seq_cst) &&
	       !atomic_exchange_explicit(&o->freed, true, memory_order_seq_cst);
}

/*
 * The lowest bit of parent: the reference on the next owner is dropped, or about to
 * be, by who frees this one.  A reader may still stand here and go on from here, but
 * may not shorten the chain: it would drop that reference once more.
 */
#define PARENT_DROPPED 1UL

static struct owner *owner_parent(struct owner *o)
{
	uintptr_t p = (uintptr_t)atomic_load_explicit(&o->parent, memory_order_acquire);

	return (struct owner *)(p & ~PARENT_DROPPED);
}

static struct owner *owner_drop_parent(struct owner *o)
{
	struct owner *p = atomic_load_explicit(&o->parent, memory_order_acquire);

	while (p && !atomic_compare_exchange_weak_explicit(
			    &o->parent, &p, (struct owner *)((uintptr_t)p | PARENT_DROPPED),
			    memory_order_acq_rel, memory_order_acquire))
		;
	return p;
}

/* Frees @o and drops its reference to the next; a long chain goes without recursion. */
static void owner_release(struct owner *o)
{
	while (o) {
		struct owner *next = owner_drop_parent(o);

		call_rcu(&o->rcu, owner_free_rcu);
		if (!next || next == &root_owner)
			return;
		atomic_fetch_sub_explicit(&next->refs, 1, memory_order_seq_cst);
		o = owner_ended(next) ? next : NULL;
	}
}

void owner_get(struct owner *o)
{
	if (o)
		atomic_fetch_add_explicit(&o->refs, 1, memory_order_seq_cst);
}

void owner_put(struct owner *o)
{
	if (!o || o == &root_owner)
		return;
	rcu_read_lock();
	atomic_fetch_sub_explicit(&o->refs, 1, memory_order_seq_cst);
	if (owner_ended(o))
		owner_release(o);
	rcu_read_unlock();
}

void owner_add_bytes(struct owner *o, int64_t n)
{
	if (!n)
		return;
	atomic_fetch_add_explicit(&o->bytes, n, memory_order_seq_cst);
	if (n < 0 && unlikely(owner_ended(o)))
		owner_release(o);
}

void owner_close(struct owner *o, struct owner *parent)
{
	if (PLANTED(CLOSE_WINDOW))
		atomic_store_explicit(&o->account, NULL, memory_order_seq_cst);
	if (parent != &root_owner && !PLANTED(REFERENCE_LOST))
		owner_get(parent);
	atomic_store_explicit(&o->parent, parent, memory_order_release);
	if (PLANTED(CLOSE_WEAK)) {
		atomic_store_explicit(&o->account, NULL, memory_order_release);
		return;
	}
	atomic_store_explicit(&o->account, NULL, memory_order_seq_cst);
}

/*
 * A closed owner whose parent is closed too is re-pointed to the grandparent.
 * Losing the exchange means that somebody else did it, or that @o is being freed.  The reference on
 * the old parent is dropped at once: readers that still stand on it are
 * protected by RCU.
 */
static struct owner *chain_step(struct owner *o)
{
	struct owner *p = owner_parent(o);
	struct owner *g;

	if (!owner_is_closed(p))
		return p;
	g = owner_parent(p);
	if (!g)
		return p;
	if (g != &root_owner) {
		int64_t refs = atomic_load_explicit(&g->refs, memory_order_relaxed);

		/* Not from zero: then the last reference is going and p with it. */
		do {
			if (refs <= 0)
				return p;
		} while (!atomic_compare_exchange_weak_explicit(&g->refs, &refs, refs + 1,
								memory_order_seq_cst,
								memory_order_relaxed));
	}
	if (atomic_compare_exchange_strong_explicit(&o->parent, &p, g, memory_order_acq_rel,
						    memory_order_acquire))
		owner_put(p);
	else
		owner_put(g);
	return g;
}

struct account *owner_account(struct owner *o)
{
	for (;;) {
		struct account *a = atomic_load_explicit(&o->account, memory_order_acquire);

		if (likely(a))
			return a;
		o = chain_step(o);
	}
}

unsigned owner_chain_length(struct owner *o)
{
	unsigned n = 0;

	while (owner_is_closed(o)) {
		o = owner_parent(o);
		n++;
	}
	return n;
}
