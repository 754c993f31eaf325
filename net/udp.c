/* SPDX-License-Identifier: MIT */
/*
 * UDP (RFC 768, RFC 8200 section 8.1).
 *
 * Sockets hang in a hash by local port; a connected socket that matches both
 * ends wins over one that is only bound.
 */
#include "net/dgram.h"
#include "net/icmp_err.h"
#include "net/sock_info.h"
#include "mm/slab.h"

#define UDP_BUCKETS     1024u
#define CONN_BUCKETS    4096u
#define UDP_PAYLOAD_MAX 65507u /* an IPv4 datagram's */

static struct udp_bucket {
	_Atomic(struct dgram_sock *) first;
	struct spinlock lock;
} *buckets;
static _Atomic(struct dgram_sock *) *connected; /* chains of connected sockets, by both ends */
static struct spinlock conn_lock = SPINLOCK_INIT("udp_conn"); /* writers of those chains */
static struct port_table udp_ports;
static const struct sock_ops udp_ops;

static struct udp_bucket *bucket_of(uint16_t port)
{
	return &buckets[port % UDP_BUCKETS];
}

struct sock *udp_create(int family)
{
	struct dgram_sock *d = dgram_alloc(&udp_ops, family, SOCK_DGRAM, IPPROTO_UDP);

	return d ? &d->sk : ERR_PTR(-ENOMEM);
}

static void udp_hash(struct dgram_sock *d)
{
	struct udp_bucket *b = bucket_of(d->lport);

	spin_lock(&b->lock);
	atomic_store_explicit(&d->next, atomic_load_explicit(&b->first, memory_order_relaxed),
			      memory_order_relaxed);
	d->hashed = true;
	rcu_assign_pointer(b->first, d);
	spin_unlock(&b->lock);
}

static void udp_unhash(struct dgram_sock *d)
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
static void conn_hash(struct dgram_sock *d)
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

static void conn_unhash(struct dgram_sock *d)
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

static int udp_bind_to(struct dgram_sock *d, const struct ip_addr *addr, uint16_t port)
{
	int ret;

	if (d->lport)
		return -EINVAL;
	d->port.addr = *addr;
	d->port.v6only = d->sk.v6only || d->sk.family == AF_INET;
	d->port.reuseaddr = d->sk.reuseaddr;
	d->port.reuseport = d->sk.reuseport;
	ret = port_bind(&udp_ports, &d->port, port, NULL, NULL);
	if (ret)
		return ret;
	d->laddr = *addr;
	d->lport = d->port.port;
	udp_hash(d);
	return 0;
}

static int udp_bind(struct sock *s, const union sockaddr_any *a, unsigned len)
{
	struct ip_addr addr;
	uint16_t port;
	int ret = addr_import(s->family, a, len, &addr, &port);

	if (ret)
		return ret;
	if (!addr_is_any(&addr) && !ifaddr_is_local(&addr) && !addr_is_multicast(&addr) &&
	    !s->ip.freebind)
		return -EADDRNOTAVAIL;
	return udp_bind_to(dgram_of(s), &addr, port);
}

/* Peer of a connected socket: what the chains and both lookups go by. */
static void udp_set_peer(struct dgram_sock *d, const struct ip_addr *addr, uint16_t port)
{
	conn_unhash(d);
	__atomic_store_n(&d->rport, 0, __ATOMIC_RELEASE);
	d->raddr = *addr;
	__atomic_store_n(&d->rport, port, __ATOMIC_RELEASE);
	if (port)
		conn_hash(d);
}

static int udp_connect(struct sock *s, const union sockaddr_any *a, unsigned len, bool nonblock)
{
	struct dgram_sock *d = dgram_of(s);
	struct ip_addr addr;
	struct route rt;
	uint16_t port;
	int ret;

	(void)nonblock;
	if (len >= 2 && a->family == AF_UNSPEC) {
		struct ip_addr any = s->family == AF_INET ? addr_from_v4("\0\0\0\0") : ADDR_ANY6;

		udp_set_peer(d, &any, 0);
		return 0;
	}
	ret = addr_import(s->family, a, len, &addr, &port);
	if (ret)
		return ret;
	if (addr_is_any(&addr))
		addr = addr_is_v4(&addr) ? addr_from_v4("\x7f\0\0\1")
					 : (struct ip_addr){ .b[15] = 1 };
	ret = dgram_route(d, a, &addr, &rt);
	if (ret)
		return ret;
	if (ifaddr_is_broadcast(rt.dev, &addr) && !s->broadcast)
		return -EACCES;
	if (!d->lport) {
		ret = udp_bind_to(d, &rt.src, 0);
		if (ret)
			return ret;
	} else if (addr_is_any(&d->laddr)) {
		d->laddr = rt.src;
	}
	udp_set_peer(d, &addr, port);
	return 0;
}

/* The UDP header before the payload that @p has; the checksum by the device if it can. */
static void udp_push_header(struct pbuf *p, uint16_t sport, uint16_t dport)
{
	unsigned len = p->len + 8;
	uint16_t sum = 0;
	uint8_t *h = pbuf_put(p, 8);

	put_be16(h, sport);
	put_be16(h + 2, dport);
	put_be16(h + 4, (uint16_t)len);
	put_be16(h + 6, 0);
	if (p->dev->loopback)
		return;
	if ((p->dev->features & NETDEV_CSUM) &&
	    len + ip_header_len(&p->dst) <= ip_path_mtu(p->dev, &p->dst)) {
		p->flags |= PB_CSUM_PARTIAL;
		sum = (uint16_t)~csum_fold(csum_pseudo(&p->src, &p->dst, len, IPPROTO_UDP));
	} else {
		sum = pbuf_csum(p, IPPROTO_UDP);
		if (!sum)
			sum = 0xffff;
	}
	memcpy(h + 6, &sum, 2);
}

static ssize_t udp_sendmsg(struct sock *s, struct sock_msg *m)
{
	struct dgram_sock *d = dgram_of(s);
	size_t len = m->it->count;
	struct pdata *data = NULL;
	struct dgram_way w;
	struct pbuf *p;
	int ret = sock_take_error(s);

	if (ret)
		return ret;
	if (sock_shut(s) & SOCK_SND_SHUT)
		return -EPIPE;
	ret = dgram_way(d, m, &w);
	if (ret)
		return ret;
	if (!w.port)
		return -EINVAL;
	if (len > UDP_PAYLOAD_MAX)
		return -EMSGSIZE;
	if (!d->lport) {
		struct ip_addr any = s->family == AF_INET ? addr_from_v4("\0\0\0\0") : ADDR_ANY6;

		ret = udp_bind_to(d, &any, 0);
		if (ret)
			return ret;
	}
	if (len) {
		data = pdata_from_iter(m->it, len);
		if (IS_ERR(data))
			return PTR_ERR(data);
	}
	p = pbuf_alloc(PBUF_RESERVE);
	if (!p) {
		pdata_put(data);
		return -ENOBUFS;
	}
	p->data = data;
	p->len = (uint32_t)len;
	p->src = w.src;
	p->dst = w.dst;
	p->dev = w.dev;
	p->th = p->start;
	udp_push_header(p, d->lport, w.port);
	net_count(udp_out);
	ret = dgram_transmit(d, m, p, IPPROTO_UDP);
	return ret ? ret : (ssize_t)len;
}

static ssize_t udp_recvmsg(struct sock *s, struct sock_msg *m)
{
	struct dgram_sock *d = dgram_of(s);
	int err = 0;
	struct pbuf *p;
	size_t n, want;
	ssize_t ret;

	if (m->flags & MSG_ERRQUEUE)
		return dgram_recv_error(d, m);
	p = dgram_next(d, m, &err);
	if (!p)
		return err;
	n = p->len;
	want = min_t(size_t, n, m->it->count);
	if (p->data && pdata_copy_to_iter(p->data, p->off, want, m->it) < want) {
		ret = -EFAULT;
	} else {
		if (want < n)
			m->out_flags |= MSG_TRUNC;
		ret = (ssize_t)(m->flags & MSG_TRUNC ? n : want);
	}
	dgram_describe(d, m, p);
	if (m->name)
		m->name_len = addr_export_scoped(s->family, &p->src, p->udp.sport, p->dev->index,
						 m->name);
	pbuf_free(p);
	return ret;
}

static void udp_close(struct sock *s)
{
	struct dgram_sock *d = dgram_of(s);

	if (d->lport) {
		conn_unhash(d);
		udp_unhash(d);
		port_release(&udp_ports, &d->port);
	}
	dgram_put(d);
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

/* Whose datagram it is, referenced; NULL: nobody's.  Connected sockets first. */
static struct dgram_sock *udp_lookup(const struct pbuf *p)
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

/* Broadcast and multicast: every socket that fits gets it.  Consumes. */
static void udp_deliver_all(struct pbuf *p)
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

void udp_input(struct pbuf *p)
{
	const uint8_t *h = p->head + p->th;
	unsigned have = p->end - p->th, ulen, extra;
	struct dgram_sock *d;

	net_count(udp_in);
	if (have < 8)
		goto drop;
	ulen = get_be16(h + 4);
	if (ulen < 8 || ulen > have + p->len)
		goto drop;
	if (!(p->flags & PB_CSUM_OK) && (get_be16(h + 6) || !addr_is_v4(&p->src)) &&
	    pbuf_csum(p, IPPROTO_UDP))
		goto drop;
	p->len -= min(p->len, have + p->len - ulen);
	extra = min(have, ulen) - 8;
	if (extra) { /* payload that a device left in the head */
		struct pdata *both = pdata_from_bytes(h + 8, extra);

		if (both && p->len) {
			struct pdata *j = pdata_join(both, 0, extra, p->data, p->off, p->len);

			pdata_put(both);
			both = j;
		}
		if (!both)
			goto drop;
		pdata_put(p->data);
		p->data = both;
		p->off = 0;
		p->len = both->len;
		p->end = p->th + 8;
	}
	p->udp.sport = get_be16(h);
	p->udp.dport = get_be16(h + 2);
	if (unlikely(addr_is_multicast(&p->dst) || !ifaddr_is_local(&p->dst))) {
		udp_deliver_all(p);
		return;
	}
	d = udp_lookup(p);
	if (!d) {
		net_count(udp_noport);
		icmp_send_error(p, ICMP_PORT_UNREACHABLE, 0);
		goto drop;
	}
	dgram_queue(d, p);
	dgram_put(d);
	return;
drop:
	pbuf_free(p);
}

/* The socket that can have sent a datagram with these ends; referenced, or NULL. */
static struct dgram_sock *udp_sender(const struct icmp_error *e)
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

void udp_icmp_error(const struct icmp_error *e)
{
	struct dgram_sock *d = udp_sender(e);

	if (!d)
		return;
	dgram_error(d, e, __atomic_load_n(&d->rport, __ATOMIC_ACQUIRE) != 0);
	dgram_put(d);
}

bool udp_for_each(bool (*fn)(struct dgram_sock *d, void *arg), void *arg)
{
	bool go = true;

	for (unsigned i = 0; go && i < UDP_BUCKETS; i++) {
		struct dgram_sock *d;

		rcu_read_lock();
		for (d = rcu_dereference(buckets[i].first); d && go; d = rcu_dereference(d->next))
			go = fn(d, arg);
		rcu_read_unlock();
	}
	return go;
}

static const struct sock_ops udp_ops = {
	.bind = udp_bind,
	.connect = udp_connect,
	.getname = dgram_getname,
	.sendmsg = udp_sendmsg,
	.recvmsg = udp_recvmsg,
	.shutdown = dgram_shutdown,
	.poll = dgram_poll,
	.setsockopt = ip_setsockopt,
	.getsockopt = ip_getsockopt,
	.ioctl = dgram_ioctl,
	.close = udp_close,
};

int udp_init(void)
{
	buckets = kzalloc(UDP_BUCKETS * sizeof(*buckets), GFP_KERNEL);
	connected = kzalloc(CONN_BUCKETS * sizeof(*connected), GFP_KERNEL);
	if (!buckets || !connected)
		return -ENOMEM;
	for (unsigned i = 0; i < UDP_BUCKETS; i++)
		spin_init(&buckets[i].lock, "udp_bucket");
	return port_table_init(&udp_ports);
}
