/* SPDX-License-Identifier: MIT */
/*
 * UDP (RFC 768, RFC 8200 section 8.1): datagrams up to one packet of the
 * device; 64 KiB on loopback.
 *
 * Sockets hang in a hash by local port; a connected socket that matches both
 * ends wins over one that is only bound.
 */
#include "net/dgram.h"
#include "mm/slab.h"

#define UDP_BUCKETS 1024

static struct udp_bucket {
	_Atomic(struct dgram_sock *) first;
	struct spinlock lock;
} *buckets;
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
	if (!addr_is_any(&addr) && !ifaddr_is_local(&addr))
		return -EADDRNOTAVAIL;
	return udp_bind_to(dgram_of(s), &addr, port);
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
		d->rport = 0;
		return 0;
	}
	ret = addr_import(s->family, a, len, &addr, &port);
	if (!ret)
		ret = route_lookup(&addr, &rt);
	if (ret)
		return ret;
	if (!d->lport) {
		ret = udp_bind_to(d, &rt.src, 0);
		if (ret)
			return ret;
	} else if (addr_is_any(&d->laddr)) {
		d->laddr = rt.src;
	}
	d->raddr = addr;
	__atomic_store_n(&d->rport, port, __ATOMIC_RELEASE);
	return 0;
}

static ssize_t udp_sendmsg(struct sock *s, struct sock_msg *m)
{
	struct dgram_sock *d = dgram_of(s);
	size_t len = m->it->count;
	struct pdata *data = NULL;
	struct ip_addr dst = d->raddr;
	uint16_t dport = d->rport, sum;
	struct route rt;
	struct pbuf *p;
	uint8_t *h;
	int ret = sock_take_error(s);

	if (ret)
		return ret;
	if (sock_shut(s) & SOCK_SND_SHUT)
		return -EPIPE;
	if (m->name) {
		ret = addr_import(s->family, m->name, m->name_len, &dst, &dport);
		if (ret)
			return ret;
		if (!dport)
			return -EINVAL;
	} else if (!dport) {
		return -EDESTADDRREQ;
	}
	if (len > 65507)
		return -EMSGSIZE;
	if (addr_is_any(&dst))
		dst = addr_is_v4(&dst) || s->family == AF_INET ? addr_from_v4("\x7f\0\0\1") :
								  (struct ip_addr){ .b[15] = 1 };
	ret = route_lookup(&dst, &rt);
	if (ret)
		return ret;
	if (!rt.dev->loopback && len + 8 + ip_header_len(&dst) > rt.dev->mtu)
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
	p = pbuf_alloc(56);
	if (!p) {
		pdata_put(data);
		return -ENOBUFS;
	}
	p->data = data;
	p->len = (uint32_t)len;
	p->src = addr_is_any(&d->laddr) ? rt.src : d->laddr;
	p->dst = dst;
	p->dev = rt.dev;
	p->th = p->start;
	h = pbuf_put(p, 8);
	put_be16(h, d->lport);
	put_be16(h + 2, dport);
	put_be16(h + 4, (uint16_t)(len + 8));
	put_be16(h + 6, 0);
	if (!rt.dev->loopback) {
		sum = pbuf_csum(p, IPPROTO_UDP);
		if (!sum)
			sum = 0xffff;
		memcpy(h + 6, &sum, 2);
	}
	net_count(udp_out);
	ret = ip_output(p, IPPROTO_UDP, s->ttl, s->tos);
	return ret ? ret : (ssize_t)len;
}

static ssize_t udp_recvmsg(struct sock *s, struct sock_msg *m)
{
	struct dgram_sock *d = dgram_of(s);
	int err = 0;
	struct pbuf *p = dgram_next(d, m, &err);
	size_t n, want;
	ssize_t ret;

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
	if (s->recvttl)
		m->ttl = p->ttl;
	if (m->name)
		m->name_len = addr_export(s->family, &p->src, p->udp.sport, m->name);
	pbuf_free(p);
	return ret;
}

static void udp_close(struct sock *s)
{
	struct dgram_sock *d = dgram_of(s);

	if (d->lport) {
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

	if (d->lport != p->udp.dport)
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

void udp_input(struct pbuf *p)
{
	const uint8_t *h = p->head + p->th;
	unsigned have = p->end - p->th, ulen, extra;
	struct dgram_sock *d, *best = NULL;
	int best_score = 0;

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
	}
	p->udp.sport = get_be16(h);
	p->udp.dport = get_be16(h + 2);
	rcu_read_lock();
	for (d = rcu_dereference(bucket_of(p->udp.dport)->first); d; d = rcu_dereference(d->next)) {
		int score = udp_score(d, p);

		if (score > best_score) {
			best = d;
			best_score = score;
		}
	}
	if (best && !dgram_try_get(best))
		best = NULL;
	rcu_read_unlock();
	if (!best) {
		net_count(udp_noport);
		if (!addr_is_multicast(&p->dst))
			icmp_port_unreachable(p);
		goto drop;
	}
	dgram_queue(best, p);
	dgram_put(best);
	return;
drop:
	pbuf_free(p);
}

/* A port-unreachable came back for a datagram of ours: only a connected socket hears of it. */
void udp_error(const struct ip_addr *src, const struct ip_addr *dst, uint16_t sport, uint16_t dport, int err)
{
	struct dgram_sock *d, *hit = NULL;

	rcu_read_lock();
	for (d = rcu_dereference(bucket_of(sport)->first); d; d = rcu_dereference(d->next)) {
		if (d->lport == sport && __atomic_load_n(&d->rport, __ATOMIC_ACQUIRE) == dport &&
		    addr_equal(&d->raddr, dst) && (addr_is_any(&d->laddr) || addr_equal(&d->laddr, src)))
			hit = d;
	}
	if (hit && !dgram_try_get(hit))
		hit = NULL;
	rcu_read_unlock();
	if (!hit)
		return;
	atomic_store_explicit(&hit->sk.err, err, memory_order_seq_cst);
	if (atomic_load_explicit(&hit->sk.rd.count, memory_order_seq_cst))
		wake_up(&hit->sk.rd);
	dgram_put(hit);
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
	if (!buckets)
		return -ENOMEM;
	for (unsigned i = 0; i < UDP_BUCKETS; i++)
		spin_init(&buckets[i].lock, "udp_bucket");
	return port_table_init(&udp_ports);
}
