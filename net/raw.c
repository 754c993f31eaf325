/* SPDX-License-Identifier: MIT */
/*
 * Raw and ping sockets, for ICMP and every other protocol.
 *
 * A raw socket (root's) receives a copy of each packet of its protocol, for IPv4
 * with its network header, and sends what the program made up, with IP_HDRINCL
 * the network header too.  A ping socket (SOCK_DGRAM) sends echo requests and
 * receives the replies to its own identifier.  The few sockets hang in one list,
 * read under RCU.
 */
#include "net/dgram.h"
#include "net/icmp_err.h"
#include "net/sock_info.h"
#include "kernel/errno.h"

#define ICMP_FILTER  1 /* SOL_RAW */
#define ICMP6_FILTER 1 /* IPPROTO_ICMPV6 */

static struct spinlock raw_lock = SPINLOCK_INIT("raw_list"); /* writers of the list */
static _Atomic(struct dgram_sock *) raw_list;
static const struct sock_ops raw_ops;

struct sock *raw_create(int family, int type, int protocol)
{
	struct dgram_sock *d;

	if (protocol < 0 || protocol > 255)
		return ERR_PTR(-EINVAL);
	if (type == SOCK_DGRAM && protocol != (family == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6))
		return ERR_PTR(-EPROTONOSUPPORT);
	d = dgram_alloc(&raw_ops, family, type, protocol);
	if (!d)
		return ERR_PTR(-ENOMEM);
	d->csum_off = type == SOCK_RAW && family == AF_INET6 && protocol == IPPROTO_ICMPV6 ? 2 : -1;
	d->sk.ip.hdrincl = type == SOCK_RAW && family == AF_INET && protocol == IPPROTO_RAW;
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

	ip_opts_destroy(s); /* not when the last packet has left */
	spin_lock(&raw_lock);
	while ((x = atomic_load_explicit(at, memory_order_relaxed)) != d)
		at = &x->next;
	rcu_assign_pointer(*at, atomic_load_explicit(&d->next, memory_order_relaxed));
	spin_unlock(&raw_lock);
	dgram_put(d);
}

/* Does the program's filter let this ICMP message through? */
static bool filter_ok(const struct dgram_sock *d, const struct pbuf *p, bool v4)
{
	uint8_t type = p->head[p->th];

	if (p->proto != (v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6) || p->end <= p->th)
		return true;
	if (v4)
		return type > 31 || !(d->icmp_filter[0] & (1u << type));
	return !(d->icmp_filter[type / 32] & (1u << type % 32));
}

static bool raw_wants(struct dgram_sock *d, const struct pbuf *p, bool v4)
{
	const uint8_t *h = p->head + p->th;

	if ((d->sk.family == AF_INET) != v4 || d->sk.protocol != p->proto || !dgram_dev_ok(d, p))
		return false;
	if (d->rport && !addr_equal(&d->raddr, &p->src))
		return false;
	if (!addr_is_any(&d->laddr) && !addr_equal(&d->laddr, &p->dst))
		return false;
	if (d->sk.type == SOCK_DGRAM)
		return p->end >= p->th + 8 && h[0] == (v4 ? ICMP4_ECHO_REPLY : ICMP6_ECHO_REPLY) &&
		       get_be16(h + 4) == d->lport;
	return filter_ok(d, p, v4);
}

bool raw_input(const struct pbuf *p)
{
	bool v4 = addr_is_v4(&p->dst), any = false;
	struct dgram_sock *d;

	if (likely(!atomic_load_explicit(&raw_list, memory_order_relaxed)))
		return false;
	rcu_read_lock();
	for (d = rcu_dereference(raw_list); d; d = rcu_dereference(d->next)) {
		struct pbuf *c;

		if (!raw_wants(d, p, v4) || !dgram_try_get(d))
			continue;
		any = true;
		c = pbuf_clone(p);
		if (c) {
			pbuf_renew_csum(c, c->nh);
			dgram_queue(d, c);
		}
		/* The last reference frees by RCU and may be dropped here. */
		dgram_put(d);
	}
	rcu_read_unlock();
	return any;
}

void raw_icmp_error(const struct icmp_error *e)
{
	bool v4 = addr_is_v4(&e->dst);
	struct dgram_sock *d;

	rcu_read_lock();
	for (d = rcu_dereference(raw_list); d; d = rcu_dereference(d->next)) {
		if ((d->sk.family == AF_INET) != v4 || d->sk.protocol != e->proto ||
		    (d->sk.type == SOCK_DGRAM && d->lport != e->sport) ||
		    (d->rport && !addr_equal(&d->raddr, &e->dst)) ||
		    (!addr_is_any(&d->laddr) && !addr_equal(&d->laddr, &e->src)) ||
		    !dgram_try_get(d))
			continue;
		dgram_error(d, e, d->rport != 0 || d->sk.type == SOCK_DGRAM);
		dgram_put(d);
	}
	rcu_read_unlock();
}

bool raw_for_each(bool (*fn)(struct dgram_sock *d, void *arg), void *arg)
{
	struct dgram_sock *d;
	bool go = true;

	rcu_read_lock();
	for (d = rcu_dereference(raw_list); d && go; d = rcu_dereference(d->next))
		go = fn(d, arg);
	rcu_read_unlock();
	return go;
}

static int raw_bind(struct sock *s, const union sockaddr_any *a, unsigned len)
{
	struct dgram_sock *d = dgram_of(s);
	struct ip_addr addr;
	uint16_t port;
	int ret = ip_bind_address(s, a, len, &addr, &port);

	if (ret)
		return ret;
	mutex_lock(&d->naming);
	d->laddr = addr;
	d->addr_locked = true;
	if (s->type == SOCK_DGRAM && port)
		d->lport = port;
	mutex_unlock(&d->naming);
	return 0;
}

static int raw_connect(struct sock *s, const union sockaddr_any *a, unsigned len, bool nonblock)
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
	ret = dgram_addr_import(d, a, len, &addr, &port);
	if (!ret)
		ret = dgram_route(d, a, &addr, &rt);
	if (ret)
		return ret;
	mutex_lock(&d->naming);
	if (addr_is_any(&d->laddr))
		d->laddr = rt.src;
	d->raddr = addr;
	d->rport = 1;
	mutex_unlock(&d->naming);
	return 0;
}

/* IP_HDRINCL: the program's own IPv4 header; length, checksum and an empty source are ours. */
static ssize_t send_with_header(struct sock *s, struct sock_msg *m, const struct dgram_way *w)
{
	size_t len = m->it->count;
	struct pbuf *p;
	uint16_t sum;
	unsigned hlen;
	ssize_t err;
	uint8_t *h;

	if (len < 20)
		return -EINVAL;
	if (len > w->dev->mtu)
		return -EMSGSIZE;
	p = pbuf_alloc(PBUF_RESERVE - 20);
	if (!p)
		return -ENOBUFS;
	p->dev = w->dev;
	err = dgram_pay(dgram_of(s), m, p, dgram_cost(w, 0, len - 20));
	if (err)
		goto fail;
	h = pbuf_put(p, 20);
	err = -EFAULT;
	if (copy_from_iter(h, 20, m->it) != 20)
		goto fail;
	err = -EINVAL;
	hlen = (h[0] & 15) * 4u;
	if (h[0] >> 4 != 4 || hlen < 20 || hlen > len || (hlen > 20 &&
	    copy_from_iter(pbuf_put(p, hlen - 20), hlen - 20, m->it) != hlen - 20))
		goto fail;
	if (len > hlen) {
		struct pdata *data = pdata_from_iter(m->it, len - hlen);

		err = IS_ERR(data) ? PTR_ERR(data) : 0;
		if (err)
			goto fail;
		p->data = data;
	}
	p->len = (uint32_t)(len - hlen);
	put_be16(h + 2, (uint16_t)len);
	if (!get_be32(h + 12))
		memcpy(h + 12, &w->src.b[12], 4);
	put_be16(h + 10, 0);
	sum = csum_fold(csum_add(0, h, hlen, false));
	memcpy(h + 10, &sum, 2);
	p->nh = p->start;
	p->th = (uint16_t)(p->start + hlen);
	p->proto = h[9];
	p->src = addr_from_v4(h + 12);
	p->dst = w->dst;
	w->dev->xmit(w->dev, p);
	return (ssize_t)len;
fail:
	pbuf_free(p);
	return err;
}

/* The checksum of a message whose first bytes are in the head, at the socket's offset. */
static int set_checksum(struct dgram_sock *d, struct pbuf *p)
{
	unsigned off = (unsigned)d->csum_off;
	uint16_t sum;

	if (d->csum_off < 0)
		return 0;
	if (off + 2 > (unsigned)(p->end - p->th))
		return -EINVAL;
	put_be16(p->head + p->th + off, 0);
	sum = pbuf_csum(p, (uint8_t)d->sk.protocol);
	if (!sum)
		sum = 0xffff;
	memcpy(p->head + p->th + off, &sum, 2);
	return 0;
}

static void ping_checksum4(struct pbuf *p)
{
	uint16_t sum;

	put_be16(p->head + p->th + 2, 0);
	sum = pbuf_csum_plain(p);
	memcpy(p->head + p->th + 2, &sum, 2);
}

static ssize_t raw_sendmsg(struct sock *s, struct sock_msg *m)
{
	struct dgram_sock *d = dgram_of(s);
	bool ping = s->type == SOCK_DGRAM, v4 = s->family == AF_INET;
	size_t len = m->it->count;
	struct dgram_way w;
	unsigned head = (unsigned)min_t(size_t, len, ping ? 8 : 40);
	struct pbuf *p;
	int ret = sock_take_error(s);

	if (!ret)
		ret = dgram_way(d, m, &w);
	if (ret)
		return ret;
	if (s->ip.hdrincl)
		return send_with_header(s, m, &w);
	if (ping && len < 8)
		return -EINVAL;
	if (len > 65535 - 20)
		return -EMSGSIZE;
	p = pbuf_alloc(PBUF_RESERVE);
	if (!p)
		return -ENOBUFS;
	p->src = w.src;
	p->dst = w.dst;
	p->dev = w.dev;
	p->th = p->start;
	ret = dgram_pay(d, m, p, dgram_cost(&w, head, len - head));
	if (!ret && copy_from_iter(pbuf_put(p, head), head, m->it) != head)
		ret = -EFAULT;
	if (!ret && len > head) {
		struct pdata *rest = pdata_from_iter(m->it, len - head);

		if (IS_ERR(rest))
			ret = (int)PTR_ERR(rest);
		else
			p->data = rest;
		p->len = ret ? 0 : (uint32_t)(len - head);
	}
	if (!ret && ping) {
		uint8_t *h = p->head + p->th;

		if (h[0] != (v4 ? ICMP4_ECHO : ICMP6_ECHO) || h[1])
			ret = -EINVAL;
		put_be16(h + 4, d->lport);
		if (v4)
			ping_checksum4(p);
		else
			d->csum_off = 2;
	}
	if (!ret)
		ret = set_checksum(d, p);
	if (ret) {
		pbuf_free(p);
		return ret;
	}
	ret = dgram_transmit(d, m, p, (uint8_t)s->protocol);
	return ret ? ret : (ssize_t)len;
}

static ssize_t raw_recvmsg(struct sock *s, struct sock_msg *m)
{
	struct dgram_sock *d = dgram_of(s);
	int err = 0;
	struct pbuf *p;
	size_t total, want, got;
	unsigned from, hlen;
	ssize_t ret;

	if (m->flags & MSG_ERRQUEUE)
		return dgram_recv_error(d, m);
	p = dgram_next(d, m, &err);
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
	dgram_describe(d, m, p);
	if (m->name)
		m->name_len = addr_export_scoped(s->family, &p->src, 0, p->dev->index, m->name);
	pbuf_free(p);
	return ret;
}

static int raw_setsockopt(struct sock *s, int level, int name, const void *val, unsigned len)
{
	struct dgram_sock *d = dgram_of(s);
	int v, ret;

	if (level == SOL_RAW && name == ICMP_FILTER && s->family == AF_INET) {
		ret = sockopt_int(val, len, &v);
		if (!ret)
			d->icmp_filter[0] = (uint32_t)v;
		return ret;
	}
	if (level == IPPROTO_ICMPV6 && name == ICMP6_FILTER && s->family == AF_INET6) {
		if (len < sizeof(d->icmp_filter))
			return -EINVAL;
		memcpy(d->icmp_filter, val, sizeof(d->icmp_filter));
		return 0;
	}
	if ((level == SOL_RAW || level == SOL_IPV6) && name == IPV6_CHECKSUM &&
	    s->family == AF_INET6) {
		ret = sockopt_int(val, len, &v);
		if (!ret && s->protocol == IPPROTO_ICMPV6)
			return v == 2 ? 0 : -EINVAL; /* RFC 3542 section 3.1 */
		if (!ret)
			d->csum_off = v < 0 ? -1 : v;
		return ret || v % 2 == 0 || v < 0 ? ret : -EINVAL;
	}
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
