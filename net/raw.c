/* SPDX-License-Identifier: MIT */
/*
 * Raw and ping sockets: enough for ping over IPv4 and IPv6.
 *
 * A SOCK_RAW socket of IPPROTO_ICMP receives every ICMP packet, for IPv4 with
 * its network header; a ping socket (SOCK_DGRAM) only the replies to its own
 * identifier.  The few sockets hang in one list, read under RCU.
 */
#include "net/dgram.h"

static struct spinlock raw_lock = SPINLOCK_INIT("raw_list"); /* writers of the list */
static _Atomic(struct dgram_sock *) raw_list;
static const struct sock_ops raw_ops;

struct sock *raw_create(int family, int type, int protocol)
{
	struct dgram_sock *d;

	if (protocol != (family == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6) && protocol != 255)
		return ERR_PTR(-EPROTONOSUPPORT);
	d = dgram_alloc(&raw_ops, family, type, protocol);
	if (!d)
		return ERR_PTR(-ENOMEM);
	if (type == SOCK_DGRAM)
		d->lport = (uint16_t)(net_random() | 1); /* identifier */
	spin_lock(&raw_lock);
	atomic_store_explicit(&d->next, atomic_load_explicit(&raw_list, memory_order_relaxed),
			      memory_order_relaxed);
	rcu_assign_pointer(raw_list, d);
	spin_unlock(&raw_lock);
	return &d->sk;
}

static void raw_close(struct sock *s)
{
	struct dgram_sock *d = dgram_of(s), *x;
	_Atomic(struct dgram_sock *) *at = &raw_list;

	spin_lock(&raw_lock);
	while ((x = atomic_load_explicit(at, memory_order_relaxed)) != d)
		at = &x->next;
	rcu_assign_pointer(*at, atomic_load_explicit(&d->next, memory_order_relaxed));
	spin_unlock(&raw_lock);
	dgram_put(d);
}

static bool raw_wants(struct dgram_sock *d, const struct pbuf *p, bool v4)
{
	const uint8_t *h = p->head + p->th;

	if ((d->sk.family == AF_INET) != v4)
		return false;
	if (d->rport && !addr_equal(&d->raddr, &p->src))
		return false;
	if (d->sk.type == SOCK_DGRAM)
		return h[0] == (v4 ? 0 : 129) && get_be16(h + 4) == d->lport;
	return !v4 || h[0] > 31 || !(d->icmp_filter & (1u << h[0]));
}

void raw_input(const struct pbuf *p)
{
	bool v4 = addr_is_v4(&p->dst);
	struct dgram_sock *d;

	rcu_read_lock();
	for (d = rcu_dereference(raw_list); d; d = rcu_dereference(d->next)) {
		struct pbuf *c;

		if (!raw_wants(d, p, v4) || !dgram_try_get(d))
			continue;
		c = pbuf_clone(p);
		if (c)
			dgram_queue(d, c);
		/* The last reference frees by RCU and may be dropped here. */
		dgram_put(d);
	}
	rcu_read_unlock();
}

static int raw_bind(struct sock *s, const union sockaddr_any *a, unsigned len)
{
	struct dgram_sock *d = dgram_of(s);
	struct ip_addr addr;
	uint16_t port;
	int ret = addr_import(s->family, a, len, &addr, &port);

	if (ret)
		return ret;
	if (!addr_is_any(&addr) && !ifaddr_is_local(&addr))
		return -EADDRNOTAVAIL;
	d->laddr = addr;
	if (s->type == SOCK_DGRAM && port)
		d->lport = port;
	return 0;
}

static int raw_connect(struct sock *s, const union sockaddr_any *a, unsigned len, bool nonblock)
{
	struct dgram_sock *d = dgram_of(s);
	struct ip_addr addr;
	struct route rt;
	uint16_t port;
	int ret = addr_import(s->family, a, len, &addr, &port);

	(void)nonblock;
	if (!ret)
		ret = route_lookup(&addr, &rt);
	if (ret)
		return ret;
	if (addr_is_any(&d->laddr))
		d->laddr = rt.src;
	d->raddr = addr;
	d->rport = 1;
	return 0;
}

static ssize_t raw_sendmsg(struct sock *s, struct sock_msg *m)
{
	struct dgram_sock *d = dgram_of(s);
	size_t len = m->it->count;
	struct ip_addr dst = d->raddr;
	struct pdata *rest = NULL;
	struct route rt;
	uint16_t port, sum;
	struct pbuf *p;
	uint8_t *h;
	int ret;

	if (m->name) {
		ret = addr_import(s->family, m->name, m->name_len, &dst, &port);
		if (ret)
			return ret;
	} else if (!d->rport) {
		return -EDESTADDRREQ;
	}
	if (len < 8)
		return -EINVAL;
	if (len > 65535 - 20)
		return -EMSGSIZE;
	ret = route_lookup(&dst, &rt);
	if (ret)
		return ret;
	p = pbuf_alloc(56);
	if (!p)
		return -ENOBUFS;
	p->src = addr_is_any(&d->laddr) ? rt.src : d->laddr;
	p->dst = dst;
	p->dev = rt.dev;
	p->th = p->start;
	h = pbuf_put(p, 8);
	if (copy_from_iter(h, 8, m->it) != 8) {
		pbuf_free(p);
		return -EFAULT;
	}
	if (len > 8) {
		rest = pdata_from_iter(m->it, len - 8);
		if (IS_ERR(rest)) {
			pbuf_free(p);
			return PTR_ERR(rest);
		}
	}
	p->data = rest;
	p->len = (uint32_t)len - 8;
	if (s->type == SOCK_DGRAM)
		put_be16(h + 4, d->lport);
	/* Programs compute the IPv4 checksum of raw sockets; the other two are ours (RFC 3542). */
	if (s->family == AF_INET6) {
		put_be16(h + 2, 0);
		sum = pbuf_csum(p, IPPROTO_ICMPV6);
		memcpy(h + 2, &sum, 2);
	}
	ret = ip_output(p, (uint8_t)(s->family == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6), s->ttl, s->tos);
	return ret ? ret : (ssize_t)len;
}

static ssize_t raw_recvmsg(struct sock *s, struct sock_msg *m)
{
	struct dgram_sock *d = dgram_of(s);
	int err = 0;
	struct pbuf *p = dgram_next(d, m, &err);
	size_t total, want, got;
	unsigned from, hlen;
	ssize_t ret;

	if (!p)
		return err;
	from = s->family == AF_INET && s->type == SOCK_RAW ? p->nh : p->th;
	hlen = p->end - from;
	total = hlen + p->len;
	want = min_t(size_t, total, m->it->count);
	got = copy_to_iter(p->head + from, min_t(size_t, hlen, want), m->it);
	if (want > hlen && got == hlen)
		got += pdata_copy_to_iter(p->data, p->off, want - hlen, m->it);
	if (want < total)
		m->out_flags |= MSG_TRUNC;
	ret = got < want ? -EFAULT : (ssize_t)(m->flags & MSG_TRUNC ? total : want);
	if (s->recvttl)
		m->ttl = p->ttl;
	if (m->name)
		m->name_len = addr_export(s->family, &p->src, 0, m->name);
	pbuf_free(p);
	return ret;
}

static int raw_setsockopt(struct sock *s, int level, int name, const void *val, unsigned len)
{
	int v;

	if (level == SOL_RAW && name == 1 && !sockopt_int(val, len, &v)) { /* ICMP_FILTER */
		dgram_of(s)->icmp_filter = (uint32_t)v;
		return 0;
	}
	if (level == SOL_RAW || level == IPPROTO_ICMPV6)
		return 0; /* checksum offset, ICMPv6 filter: nothing to hide on loopback */
	return ip_setsockopt(s, level, name, val, len);
}

static const struct sock_ops raw_ops = {
	.bind = raw_bind,
	.connect = raw_connect,
	.getname = dgram_getname,
	.sendmsg = raw_sendmsg,
	.recvmsg = raw_recvmsg,
	.shutdown = dgram_shutdown,
	.poll = dgram_poll,
	.setsockopt = raw_setsockopt,
	.getsockopt = ip_getsockopt,
	.ioctl = dgram_ioctl,
	.close = raw_close,
};
