/* SPDX-License-Identifier: MIT */
/*
 * Path MTU cache (RFC 1191, RFC 8201): net/icmp_err.h.
 *
 * What:      destinations whose path takes less than their device.  Few have one,
 *            and while there is none nobody looks.
 * Bounds:    ENTRIES_MAX entries; the oldest of a bucket makes room.  An entry is
 *            forgotten after AGE_NS, so that a path that got better is found.
 * Reading:   under RCU.  Locks: pmtu_lock protects writers.
 */
#include "net/icmp_err.h"
#include "net/ip.h"
#include "kernel/errno.h"
#include "kernel/lock.h"
#include "kernel/rcu.h"
#include "mm/slab.h"

#define BUCKETS     256u
#define ENTRIES_MAX 1024u
#define BUCKET_MAX  8u
#define AGE_NS      (600 * NSEC_PER_SEC) /* RFC 8201 section 4: 5 minutes or more */
#define MIN_V4      552u  /* packets are not made smaller: below, routers may cut them */
#define MIN_V6      1280u

struct pmtu {
	_Atomic(struct pmtu *) next;
	struct ip_addr dst;
	_Atomic unsigned mtu;
	_Atomic uint64_t until; /* clock_ns */
	_Atomic bool no_df;
	struct rcu_head rcu;
};

static struct spinlock pmtu_lock = SPINLOCK_INIT("pmtu");
static _Atomic(struct pmtu *) buckets[BUCKETS];
static _Atomic unsigned nr_entries;
static struct kmem_cache *cache;

static _Atomic(struct pmtu *) *bucket_of(const struct ip_addr *a)
{
	return &buckets[net_hash(a->q, 2) & (BUCKETS - 1)];
}

/* Under RCU or pmtu_lock. */
static struct pmtu *find(const struct ip_addr *dst)
{
	struct pmtu *e;

	for (e = rcu_dereference(*bucket_of(dst)); e; e = rcu_dereference(e->next)) {
		if (addr_equal(&e->dst, dst))
			return e;
	}
	return NULL;
}

static struct pmtu *find_valid(const struct ip_addr *dst)
{
	struct pmtu *e = find(dst);

	return e && atomic_load_explicit(&e->until, memory_order_relaxed) > clock_ns() ? e : NULL;
}

static bool empty(void)
{
	return likely(!atomic_load_explicit(&nr_entries, memory_order_relaxed));
}

unsigned pmtu_get(const struct ip_addr *dst, unsigned dev_mtu)
{
	unsigned mtu = dev_mtu;
	struct pmtu *e;

	if (empty())
		return mtu;
	rcu_read_lock();
	e = find_valid(dst);
	if (e)
		mtu = min(mtu, atomic_load_explicit(&e->mtu, memory_order_relaxed));
	rcu_read_unlock();
	return mtu;
}

bool pmtu_no_df(const struct ip_addr *dst)
{
	bool no_df = false;
	struct pmtu *e;

	if (empty() || !addr_is_v4(dst))
		return false;
	rcu_read_lock();
	e = find_valid(dst);
	if (e)
		no_df = atomic_load_explicit(&e->no_df, memory_order_relaxed);
	rcu_read_unlock();
	return no_df;
}

static void free_rcu(struct rcu_head *h)
{
	kmem_cache_free(cache, container_of(h, struct pmtu, rcu));
}

/* pmtu_lock held: drops what is out of date, and the last of a chain that is too long. */
static void prune(_Atomic(struct pmtu *) *at, unsigned most)
{
	uint64_t now = clock_ns();
	unsigned n = 0;
	struct pmtu *e;

	while ((e = atomic_load_explicit(at, memory_order_relaxed))) {
		if (atomic_load_explicit(&e->until, memory_order_relaxed) > now && ++n <= most) {
			at = &e->next;
			continue;
		}
		rcu_assign_pointer(*at, atomic_load_explicit(&e->next, memory_order_relaxed));
		atomic_fetch_sub_explicit(&nr_entries, 1, memory_order_relaxed);
		call_rcu(&e->rcu, free_rcu);
	}
}

/* pmtu_lock held. */
static struct pmtu *create(const struct ip_addr *dst)
{
	_Atomic(struct pmtu *) *b = bucket_of(dst);
	struct pmtu *e;

	prune(b, BUCKET_MAX - 1);
	if (atomic_load_explicit(&nr_entries, memory_order_relaxed) >= ENTRIES_MAX) {
		for (unsigned i = 0; i < BUCKETS; i++)
			prune(&buckets[i], BUCKET_MAX);
		if (atomic_load_explicit(&nr_entries, memory_order_relaxed) >= ENTRIES_MAX)
			return NULL;
	}
	e = kmem_cache_alloc(cache, GFP_ATOMIC);
	if (!e)
		return NULL;
	memset(e, 0, sizeof(*e));
	e->dst = *dst;
	atomic_store_explicit(&e->next, atomic_load_explicit(b, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&e->mtu, UINT_MAX, memory_order_relaxed);
	rcu_assign_pointer(*b, e);
	atomic_fetch_add_explicit(&nr_entries, 1, memory_order_relaxed);
	return e;
}

void pmtu_update(const struct ip_addr *dst, unsigned mtu)
{
	bool v4 = addr_is_v4(dst), small = v4 && mtu < MIN_V4;
	struct pmtu *e;

	if (!v4 && mtu < MIN_V6)
		return; /* RFC 8201 section 4: no link is smaller */
	if (small)
		mtu = MIN_V4;
	spin_lock(&pmtu_lock);
	e = find(dst);
	if (!e)
		e = create(dst);
	/* Only a router that knows less than we believe changes anything: never upwards. */
	if (e && (mtu < atomic_load_explicit(&e->mtu, memory_order_relaxed) || small ||
		  atomic_load_explicit(&e->until, memory_order_relaxed) <= clock_ns())) {
		atomic_store_explicit(&e->mtu, mtu, memory_order_relaxed);
		atomic_store_explicit(&e->no_df, small, memory_order_relaxed);
		atomic_store_explicit(&e->until, clock_ns() + AGE_NS, memory_order_relaxed);
		ip_path_changed();
		net_count(pmtu_lowered);
	}
	spin_unlock(&pmtu_lock);
}

int pmtu_init(void)
{
	cache = kmem_cache_create("pmtu", sizeof(struct pmtu), 0, 0);
	return cache ? 0 : -ENOMEM;
}
