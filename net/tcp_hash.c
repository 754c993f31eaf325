/* SPDX-License-Identifier: MIT */
/*
 * The connection table and the listener table.
 *
 * Readers walk the chains under RCU and take a reference if the count has not
 * reached zero.  Writers hold the bucket's lock.  A chain ends in a tagged
 * bucket number: a reader whose element moved to another chain notices the
 * foreign end and starts again.  Sizes follow memory; the hash is keyed.
 */
#include "net/tcp.h"
#include "mm/vmalloc.h"
#include "mm/slab.h"

struct ep_bucket {
	_Atomic(struct ep *) first;
	struct spinlock lock;
};
struct listen_bucket {
	_Atomic(struct tcp_sock *) first;
	struct spinlock lock;
};

#define LISTEN_BUCKETS 1024

static struct ep_bucket *table;
static unsigned table_mask;
static struct listen_bucket *listeners;
struct port_table tcp_ports;

static inline struct ep *chain_end(unsigned bucket)
{
	return (struct ep *)((uintptr_t)bucket << 1 | 1);
}
static inline bool is_end(const struct ep *e)
{
	return (uintptr_t)e & 1;
}

int tcp_hash_init(void)
{
	struct page_stats st;
	uint64_t want;
	unsigned n = 1024;

	/* One bucket for each 128 KiB of memory: 8192 for 1 GiB. */
	page_stats(&st);
	want = st.total / 32;
	while (n < want && n < 1u << 17)
		n <<= 1;
	table = kmalloc(n * sizeof(*table), GFP_KERNEL);
	while (!table && n > 64) {
		n >>= 1;
		table = kmalloc(n * sizeof(*table), GFP_KERNEL);
	}
	listeners = kmalloc(LISTEN_BUCKETS * sizeof(*listeners), GFP_KERNEL);
	if (!table || !listeners)
		return -ENOMEM;
	table_mask = n - 1;
	for (unsigned i = 0; i < n; i++) {
		atomic_init(&table[i].first, chain_end(i));
		spin_init(&table[i].lock, "ep_bucket");
	}
	for (unsigned i = 0; i < LISTEN_BUCKETS; i++) {
		atomic_init(&listeners[i].first, NULL);
		spin_init(&listeners[i].lock, "listen_bucket");
	}
	return port_table_init(&tcp_ports);
}

uint64_t ep_hash(const struct ip_addr *l, uint16_t lport, const struct ip_addr *r, uint16_t rport)
{
	uint64_t w[5] = { l->q[0], l->q[1], r->q[0], r->q[1], (uint64_t)lport << 16 | rport };

	return net_hash(w, 5);
}

static inline bool ep_matches(const struct ep *e, const struct ip_addr *l, uint16_t lport,
			      const struct ip_addr *r, uint16_t rport)
{
	return e->lport == lport && e->rport == rport && addr_equal(&e->raddr, r) &&
	       addr_equal(&e->laddr, l);
}

static bool ep_try_get(struct ep *e)
{
	int n = atomic_load_explicit(&e->refs, memory_order_relaxed);

	while (n > 0) {
		if (atomic_compare_exchange_weak_explicit(&e->refs, &n, n + 1, memory_order_acquire,
							  memory_order_relaxed))
			return true;
	}
	return false;
}

struct ep *ep_lookup(const struct ip_addr *l, uint16_t lport, const struct ip_addr *r,
		     uint16_t rport)
{
	uint64_t hash = ep_hash(l, lport, r, rport);
	unsigned b = (unsigned)hash & table_mask;
	struct ep *e;

	rcu_read_lock();
again:
	for (e = rcu_dereference(table[b].first); !is_end(e); e = rcu_dereference(e->next)) {
		if (e->hash == hash && ep_matches(e, l, lport, r, rport)) {
			if (!ep_try_get(e))
				e = NULL;
			rcu_read_unlock();
			return e;
		}
	}
	if (unlikely(e != chain_end(b)))
		goto again;
	rcu_read_unlock();
	return NULL;
}

void ep_put(struct ep *e)
{
	switch (e->kind) {
	case EP_SOCK:
		tcp_put(ep_sock(e));
		return;
	case EP_REQ:
		if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1)
			tcp_req_free(e);
		return;
	default:
		if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1)
			tcp_tw_free(e);
	}
}

/* The element with the same four, under the bucket's lock. */
static struct ep *bucket_find(struct ep_bucket *b, uint64_t hash, const struct ip_addr *l,
			      uint16_t lport, const struct ip_addr *r, uint16_t rport)
{
	struct ep *e;

	for (e = atomic_load_explicit(&b->first, memory_order_relaxed); !is_end(e);
	     e = atomic_load_explicit(&e->next, memory_order_relaxed)) {
		if (e->hash == hash && ep_matches(e, l, lport, r, rport))
			return e;
	}
	return NULL;
}

static void bucket_add(struct ep_bucket *b, struct ep *e)
{
	atomic_store_explicit(&e->next, atomic_load_explicit(&b->first, memory_order_relaxed),
			      memory_order_relaxed);
	e->hashed = true;
	rcu_assign_pointer(b->first, e);
}

static void bucket_del(struct ep_bucket *b, struct ep *e)
{
	_Atomic(struct ep *) *at = &b->first;
	struct ep *x;

	while ((x = atomic_load_explicit(at, memory_order_relaxed)) != e)
		at = &x->next;
	rcu_assign_pointer(*at, atomic_load_explicit(&e->next, memory_order_relaxed));
	e->hashed = false;
}

int ep_insert(struct ep *e, bool reuse_tw)
{
	struct ep_bucket *b;
	struct ep *old;

	e->hash = ep_hash(&e->laddr, e->lport, &e->raddr, e->rport);
	b = &table[(unsigned)e->hash & table_mask];
	spin_lock(&b->lock);
	old = bucket_find(b, e->hash, &e->laddr, e->lport, &e->raddr, e->rport);
	if (old && !(reuse_tw && old->kind == EP_TW && tcp_tw_reusable(old))) {
		spin_unlock(&b->lock);
		return -EADDRNOTAVAIL;
	}
	if (old)
		bucket_del(b, old);
	atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
	bucket_add(b, e);
	spin_unlock(&b->lock);
	if (old) {
		net_count(tcp_timewait_reused);
		tcp_tw_kill(old);
		ep_put(old);
	}
	return 0;
}

bool ep_taken(const struct ip_addr *l, uint16_t lport, const struct ip_addr *r, uint16_t rport,
	      bool reuse_tw)
{
	uint64_t hash = ep_hash(l, lport, r, rport);
	struct ep_bucket *b = &table[(unsigned)hash & table_mask];
	struct ep *old;
	bool taken;

	spin_lock(&b->lock);
	old = bucket_find(b, hash, l, lport, r, rport);
	taken = old && !(reuse_tw && old->kind == EP_TW && tcp_tw_reusable(old));
	spin_unlock(&b->lock);
	return taken;
}

bool ep_remove(struct ep *e)
{
	struct ep_bucket *b = &table[(unsigned)e->hash & table_mask];
	bool was;

	spin_lock(&b->lock);
	was = e->hashed;
	if (was)
		bucket_del(b, e);
	spin_unlock(&b->lock);
	if (was)
		ep_put(e);
	return was;
}

bool ep_replace(struct ep *old, struct ep *new)
{
	struct ep_bucket *b = &table[(unsigned)old->hash & table_mask];
	bool was;

	new->hash = old->hash;
	spin_lock(&b->lock);
	was = old->hashed;
	if (was) {
		/* The new one goes in first: no reader finds neither. */
		atomic_fetch_add_explicit(&new->refs, 1, memory_order_relaxed);
		bucket_add(b, new);
		bucket_del(b, old);
	}
	spin_unlock(&b->lock);
	if (was)
		ep_put(old);
	return was;
}

void ep_for_each(void (*fn)(struct ep *e, void *arg), void *arg)
{
	for (unsigned i = 0; i <= table_mask; i++) {
		struct ep *e;

		rcu_read_lock();
		for (e = rcu_dereference(table[i].first); !is_end(e); e = rcu_dereference(e->next))
			fn(e, arg);
		rcu_read_unlock();
		if ((i & 255) == 255)
			cond_resched();
	}
}

bool ep_walk(struct sock_place *at, bool (*fn)(struct ep *e, void *arg), void *arg)
{
	for (; at->bucket <= table_mask; at->bucket++, at->entry = 0) {
		struct ep *e;
		unsigned n = 0;

		rcu_read_lock();
		for (e = rcu_dereference(table[at->bucket].first); !is_end(e);
		     e = rcu_dereference(e->next), n++) {
			if (n < at->entry)
				continue;
			if (!fn(e, arg)) {
				at->entry = n;
				rcu_read_unlock();
				return false;
			}
		}
		rcu_read_unlock();
		if ((at->bucket & 255) == 255)
			cond_resched();
	}
	return true;
}

/* Listeners. */

static struct listen_bucket *listen_bucket(uint16_t port)
{
	return &listeners[port % LISTEN_BUCKETS];
}

int listen_insert(struct tcp_sock *tp)
{
	struct listen_bucket *b = listen_bucket(tp->port.port);

	tcp_get(tp);
	spin_lock(&b->lock);
	atomic_store_explicit(&tp->lnext, atomic_load_explicit(&b->first, memory_order_relaxed),
			      memory_order_relaxed);
	tp->listen_hashed = true;
	rcu_assign_pointer(b->first, tp);
	spin_unlock(&b->lock);
	return 0;
}

void listen_remove(struct tcp_sock *tp)
{
	struct listen_bucket *b = listen_bucket(tp->ep.lport);
	_Atomic(struct tcp_sock *) *at = &b->first;
	struct tcp_sock *x;
	bool was;

	spin_lock(&b->lock);
	was = tp->listen_hashed;
	tp->listen_hashed = false;
	while (was && (x = atomic_load_explicit(at, memory_order_relaxed)) != tp)
		at = &x->lnext;
	if (was)
		rcu_assign_pointer(*at, atomic_load_explicit(&tp->lnext, memory_order_relaxed));
	spin_unlock(&b->lock);
	if (was)
		tcp_put(tp);
}

/* How well a listener fits: 0 not at all, more is better. */
static int listen_score(const struct tcp_sock *tp, const struct ip_addr *l, uint16_t lport)
{
	if (tp->ep.lport != lport)
		return 0;
	if (addr_equal(&tp->ep.laddr, l))
		return 4;
	if (!addr_is_any(&tp->ep.laddr))
		return 0;
	if (addr_is_v4(l)) {
		if (tp->sk.family == AF_INET)
			return 3;
		return tp->sk.v6only || addr_is_v4(&tp->ep.laddr) ? 0 : 2;
	}
	return tp->sk.family == AF_INET6 ? 3 : 0;
}

struct tcp_sock *listen_lookup(const struct ip_addr *l, uint16_t lport, const struct ip_addr *r,
			       uint16_t rport)
{
	struct tcp_sock *tp, *best = NULL;
	int best_score = 0;
	unsigned same = 0;
	uint64_t hash = 0;

	rcu_read_lock();
	for (tp = rcu_dereference(listen_bucket(lport)->first); tp;
	     tp = rcu_dereference(tp->lnext)) {
		int score = listen_score(tp, l, lport);

		if (!score || score < best_score)
			continue;
		if (score > best_score) {
			best = tp;
			best_score = score;
			same = 1;
			continue;
		}
		/* SO_REUSEPORT: each of n equals is chosen with probability 1/n, by flow. */
		if (!hash)
			hash = ep_hash(l, lport, r, rport) | 1;
		same++;
		if ((hash >> 8) % same == 0)
			best = tp;
	}
	if (best && !ep_try_get(&best->ep))
		best = NULL;
	rcu_read_unlock();
	return best;
}

void listen_for_each(void (*fn)(struct tcp_sock *tp, void *arg), void *arg)
{
	for (unsigned i = 0; i < LISTEN_BUCKETS; i++) {
		struct tcp_sock *tp;

		rcu_read_lock();
		for (tp = rcu_dereference(listeners[i].first); tp; tp = rcu_dereference(tp->lnext))
			fn(tp, arg);
		rcu_read_unlock();
	}
}

bool listen_walk(struct sock_place *at, bool (*fn)(struct tcp_sock *tp, void *arg), void *arg)
{
	bool go = true;

	for (; at->bucket < LISTEN_BUCKETS; at->bucket++, at->entry = 0) {
		struct tcp_sock *tp;
		unsigned n = 0;

		rcu_read_lock();
		for (tp = rcu_dereference(listeners[at->bucket].first); tp && go;
		     tp = rcu_dereference(tp->lnext)) {
			if (n++ < at->entry)
				continue;
			go = fn(tp, arg);
			at->entry += go;
		}
		rcu_read_unlock();
		if (!go)
			return false;
	}
	return true;
}
