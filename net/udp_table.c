/* SPDX-License-Identifier: MIT */
/* UDP sockets by port and by both ends: net/udp_table.h. */
#include "net/udp_table.h"
#include "net/icmp_err.h"
#include "net/sock_info.h"
#include "mm/slab.h"

#define UDP_BUCKETS  1024u
#define CONN_BUCKETS 4096u

static struct udp_bucket {
	_Atomic(struct dgram_sock *) first;
	struct spinlock lock;
} *buckets;
static _Atomic(struct dgram_sock *) *connected; /* chains of connected sockets, by both ends */
static struct spinlock conn_lock = SPINLOCK_INIT("udp_conn"); /* writers of those chains */

static struct udp_bucket *bucket_of(uint16_t port)
{
	return &buckets[port % UDP_BUCKETS];
}

void udp_table_add(struct dgram_sock *d)
{
	struct udp_bucket *b = bucket_of(d->lport);

	spin_lock(&b->lock);
	atomic_store_explicit(&d->next, atomic_load_explicit(&b->first, memory_order_relaxed),
			      memory_order_relaxed);
	d->hashed = true;
	rcu_assign_pointer(b->first, d);
	spin_unlock(&b->lock);
}

void udp_table_del(struct dgram_sock *d)
{
	struct udp_bucket *b = bucket_of(d->lport);
	_Atomic(struct dgram_sock *) *at = &b->first;
	struct dgram_sock *x;

	spin_lock(&b->lock);
	if (d->hashed) {
		while ((x = atomic_load_explicit(at, memory_order_relaxed)) != d)
			at = &x->next;
		rcu_assign_pointer(*at, atomic_load_explicit(&d->next, memory_order_relaxed));
		d->hashed = false;
	}
	spin_unlock(&b->lock);
}

static _Atomic(struct dgram_sock *) *conn_chain(const struct ip_addr *laddr, uint16_t lport,
						 const struct ip_addr *raddr, uint16_t rport)
{
	uint64_t w[5] = { laddr->q[0], laddr->q[1], raddr->q[0], raddr->q[1],
			  (uint64_t)lport << 16 | rport };

	return &connected[net_hash(w, 5) & (CONN_BUCKETS - 1)];
}

/*
 * A connected socket is in a chain of its two ends besides, where datagrams are
 * looked up first.  One that moves from one chain to another may hide others from
 * a reader for a moment; they are found by their port then.
 */
void udp_connected(struct dgram_sock *d)
{
	_Atomic(struct dgram_sock *) *c = conn_chain(&d->laddr, d->lport, &d->raddr, d->rport);

	spin_lock(&conn_lock);
	atomic_store_explicit(&d->next_conn, atomic_load_explicit(c, memory_order_relaxed),
			      memory_order_relaxed);
	d->conn_slot = (unsigned)(c - connected);
	d->conn_hashed = true;
	rcu_assign_pointer(*c, d);
	spin_unlock(&conn_lock);
}

void udp_disconnected(struct dgram_sock *d)
{
	_Atomic(struct dgram_sock *) *at;
	struct dgram_sock *x;

	spin_lock(&conn_lock);
	if (d->conn_hashed) {
		at = &connected[d->conn_slot];
		while ((x = atomic_load_explicit(at, memory_order_relaxed)) != d)
			at = &x->next_conn;
		rcu_assign_pointer(*at, atomic_load_explicit(&d->next_conn, memory_order_relaxed));
		d->conn_hashed = false;
	}
	spin_unlock(&conn_lock);
}

/* How well a socket fits a datagram; 0: not at all. */
static int udp_score(struct dgram_sock *d, const struct pbuf *p)
{
	uint16_t rport = __atomic_load_n(&d->rport, __ATOMIC_ACQUIRE);
	int score = 1;

	if (d->lport != p->udp.dport || !dgram_dev_ok(d, p))
		return 0;
	if (!addr_is_any(&d->laddr)) {
		if (!addr_equal(&d->laddr, &p->dst))
			return 0;
		score += 2;
	} else if (addr_is_v4(&p->dst) ? d->sk.family == AF_INET6 && d->sk.v6only :
					 d->sk.family == AF_INET) {
		return 0;
	}
	if (rport) {
		if (rport != p->udp.sport || !addr_equal(&d->raddr, &p->src))
			return 0;
		score += 4;
	}
	return score;
}

struct dgram_sock *udp_lookup(const struct pbuf *p)
{
	uint32_t spread = p->src.d[3] ^ (uint32_t)p->udp.sport << 16 ^ p->udp.sport;
	struct dgram_sock *d, *best = NULL;
	int best_score = 0;
	unsigned alike = 0;

	rcu_read_lock();
	d = rcu_dereference(*conn_chain(&p->dst, p->udp.dport, &p->src, p->udp.sport));
	for (; d && !best; d = rcu_dereference(d->next_conn)) {
		if (udp_score(d, p) > 2 && __atomic_load_n(&d->rport, __ATOMIC_RELAXED))
			best = d;
	}
	d = best ? NULL : rcu_dereference(bucket_of(p->udp.dport)->first);
	for (; d; d = rcu_dereference(d->next)) {
		int score = udp_score(d, p);

		if (score > best_score) {
			best = d;
			best_score = score;
			alike = 1;
		} else if (score && score == best_score && d->sk.reuseport) {
			/* SO_REUSEPORT: a flow's datagrams always go to the same one. */
			spread = spread * 0x9e3779b1u + 1;
			if ((uint32_t)((uint64_t)spread * ++alike >> 32) == 0)
				best = d;
		}
	}
	if (best && !dgram_try_get(best))
		best = NULL;
	rcu_read_unlock();
	return best;
}

void udp_deliver_all(struct pbuf *p)
{
	struct dgram_sock *d;

	rcu_read_lock();
	for (d = rcu_dereference(bucket_of(p->udp.dport)->first); d; d = rcu_dereference(d->next)) {
		struct pbuf *c;

		if (!udp_score(d, p) || !dgram_try_get(d))
			continue;
		c = pbuf_clone(p);
		if (c)
			dgram_queue(d, c);
		dgram_put(d);
	}
	rcu_read_unlock();
	pbuf_free(p);
}

struct dgram_sock *udp_sender(const struct icmp_error *e)
{
	struct dgram_sock *d, *best = NULL;

	rcu_read_lock();
	for (d = rcu_dereference(bucket_of(e->sport)->first); d; d = rcu_dereference(d->next)) {
		uint16_t rport = __atomic_load_n(&d->rport, __ATOMIC_ACQUIRE);

		if (d->lport != e->sport ||
		    (!addr_is_any(&d->laddr) && !addr_equal(&d->laddr, &e->src)))
			continue;
		if (rport && (rport != e->dport || !addr_equal(&d->raddr, &e->dst)))
			continue;
		if (!best || rport)
			best = d;
	}
	if (best && !dgram_try_get(best))
		best = NULL;
	rcu_read_unlock();
	return best;
}

bool udp_walk(struct sock_place *at, bool (*fn)(struct dgram_sock *d, void *arg), void *arg)
{
	bool go = true;

	for (; at->bucket < UDP_BUCKETS; at->bucket++, at->entry = 0) {
		struct dgram_sock *d;
		unsigned n = 0;

		rcu_read_lock();
		for (d = rcu_dereference(buckets[at->bucket].first); d && go;
		     d = rcu_dereference(d->next)) {
			if (n++ < at->entry)
				continue;
			go = fn(d, arg);
			at->entry += go;
		}
		rcu_read_unlock();
		if (!go)
			return false;
		if ((at->bucket & 255) == 255)
			cond_resched();
	}
	return true;
}

bool udp_for_each(bool (*fn)(struct dgram_sock *d, void *arg), void *arg)
{
	struct sock_place start = { 0 };

	return udp_walk(&start, fn, arg);
}

int udp_table_init(void)
{
	buckets = kzalloc(UDP_BUCKETS * sizeof(*buckets), GFP_KERNEL);
	connected = kzalloc(CONN_BUCKETS * sizeof(*connected), GFP_KERNEL);
	if (!buckets || !connected)
		return -ENOMEM;
	for (unsigned i = 0; i < UDP_BUCKETS; i++)
		spin_init(&buckets[i].lock, "udp_bucket");
	return 0;
}
