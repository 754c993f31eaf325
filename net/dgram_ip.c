/* SPDX-License-Identifier: MIT */
/*
 * What datagram sockets do with the IP layer: way and source of a datagram, how
 * it leaves, what is told about a received one, and ICMP errors: net/dgram.h.
 */
#include "net/dgram.h"
#include "net/icmp_err.h"
#include "net/mcast.h"
#include "fs/vfs.h"
#include "kernel/errno.h"

#define ERRORS_MAX 16u /* entries of a socket's error queue */

int dgram_route(struct dgram_sock *d, const union sockaddr_any *a, const struct ip_addr *dst,
		struct route *rt)
{
	struct netdev *dev = d->sk.ip.bound;

	if (a && a->family == AF_INET6 && a->in6.scope_id && addr_is_link_local(dst)) {
		dev = netdev_by_index(a->in6.scope_id);
		if (!dev)
			return -ENODEV;
	} else if (!dev && addr_is_multicast(dst)) {
		dev = d->sk.ip.mcast_dev;
	}
	return route_lookup_on(dst, dev, rt);
}

int dgram_addr_import(const struct dgram_sock *d, const union sockaddr_any *sa, unsigned len,
		      struct ip_addr *out, uint16_t *port)
{
	bool udp = d->sk.protocol == IPPROTO_UDP;
	bool v4 = d->sk.family == AF_INET ||
		  (udp && len >= sizeof(sa->family) && sa->family == AF_INET);
	union sockaddr_any named = *sa;
	int ret;

	if (d->sk.family == AF_INET && len >= sizeof(struct sa_in) && sa->family == AF_UNSPEC)
		named.family = AF_INET; /* programs of old leave it out */
	ret = addr_import(v4 ? AF_INET : AF_INET6, &named, len, out, port);

	if (ret || d->sk.family == AF_INET || !addr_is_v4(out))
		return ret;
	return !udp ? -EINVAL : d->sk.v6only ? -ENETUNREACH : 0;
}

int dgram_way(struct dgram_sock *d, struct sock_msg *m, struct dgram_way *w)
{
	const struct sock_anc *anc = &m->anc;
	struct sock *s = &d->sk;
	struct route rt;
	bool other; /* from an IPv6 address to an IPv4 one, or the other way round */
	int ret = 0;

	w->dst = d->raddr;
	w->port = d->rport;
	if (m->name && !(s->family == AF_INET6 && m->name->family == AF_UNSPEC && m->name_len >= 2))
		ret = dgram_addr_import(d, m->name, m->name_len, &w->dst, &w->port);
	else if (!d->rport)
		ret = -EDESTADDRREQ;
	if (ret)
		return ret;
	if (addr_is_any(&w->dst))
		w->dst = addr_is_v4(&w->dst) || s->family == AF_INET
				 ? addr_from_v4("\x7f\0\0\1")
				 : (struct ip_addr){ .b[15] = 1 };
	if ((anc->have & ANC_PKTINFO) && anc->ifindex) {
		struct netdev *dev = netdev_by_index(anc->ifindex);

		ret = dev ? route_lookup_on(&w->dst, dev, &rt) : -ENODEV;
	} else {
		ret = dgram_route(d, m->name, &w->dst, &rt);
	}
	if (ret)
		return ret;
	if (!s->broadcast && ifaddr_is_broadcast(rt.dev, &w->dst))
		return -EACCES;
	w->dev = rt.dev;
	other = !addr_is_any(&d->laddr) && addr_is_v4(&d->laddr) != addr_is_v4(&w->dst);
	if (other && d->addr_locked)
		return -ENETUNREACH;
	w->src =
		other || addr_is_any(&d->laddr) || addr_is_multicast(&d->laddr) ? rt.src : d->laddr;
	if ((anc->have & ANC_PKTINFO) && !addr_is_any(&anc->local)) {
		if (addr_is_v4(&anc->local) != addr_is_v4(&w->dst) ||
		    (!ifaddr_is_local(&anc->local) && !s->ip.freebind))
			return -EINVAL;
		w->src = anc->local;
	}
	return 0;
}

/* This machine listens to the group it sends to. */
static void loop_back(const struct pbuf *p, uint8_t proto, uint8_t ttl, uint8_t tos)
{
	struct pbuf *c = pbuf_clone(p);

	if (!c)
		return;
	c->flags = PB_LOCAL | PB_CSUM_OK;
	c->proto = proto;
	if (addr_is_v4(&c->dst))
		ipv4_push_header(c, proto, ttl, tos);
	else
		ipv6_push_header(c, proto, ttl, tos);
	netif_rx(c);
}

int dgram_transmit(struct dgram_sock *d, struct sock_msg *m, struct pbuf *p, uint8_t proto)
{
	const struct ip_opts *o = &d->sk.ip;
	bool mcast = addr_is_multicast(&p->dst) && !ifaddr_is_broadcast(p->dev, &p->dst);
	uint8_t ttl = mcast ? o->mcast_ttl : d->sk.ttl, tos = d->sk.tos;

	if (m->anc.have & ANC_TTL)
		ttl = (uint8_t)m->anc.ttl;
	if (m->anc.have & ANC_TOS)
		tos = (uint8_t)m->anc.tos;
	if (o->pmtudisc == PMTUDISC_DONT || o->pmtudisc == PMTUDISC_OMIT)
		p->flags |= PB_NO_DF;
	else if (o->pmtudisc != PMTUDISC_WANT)
		p->flags |= PB_DF;
	if (mcast && o->mcast_loop && !p->dev->loopback && mcast_wants(p->dev, &p->dst))
		loop_back(p, proto, ttl, tos);
	if (mcast && !ttl) { /* not beyond this machine */
		pbuf_free(p);
		return 0;
	}
	return ip_output(p, proto, ttl, tos);
}

void dgram_describe(struct dgram_sock *d, struct sock_msg *m, const struct pbuf *p)
{
	const struct ip_opts *o = &d->sk.ip;
	struct sock_anc *a = &m->anc;

	a->have = (o->recvttl ? ANC_TTL : 0) | (o->recvtos ? ANC_TOS : 0) |
		  (o->pktinfo ? ANC_PKTINFO : 0) | (p->stamp ? ANC_STAMP : 0);
	a->ttl = p->ttl;
	a->tos = p->tos;
	a->ifindex = p->dev->index;
	a->local = p->dst;
	a->stamp = p->stamp;
}

/* Keeps what was said, with the beginning of the datagram it is about. */
static void queue_error(struct dgram_sock *d, const struct icmp_error *e)
{
	struct pbuf *p = e->quote ? pbuf_clone(e->quote) : pbuf_alloc(0);
	bool ok = false;
	uint32_t ts;

	if (!p)
		return;
	if (!e->quote)
		p->th = p->start;
	if (e->proto == IPPROTO_UDP && p->end >= p->th + 8)
		p->th += 8; /* the program's bytes begin behind the header */
	p->src = e->from;
	p->dst = e->dst;
	p->icmp.err = (uint32_t)e->err;
	p->icmp.info = e->mtu;
	p->icmp.port = e->dport;
	p->icmp.type = e->type;
	p->icmp.code = e->code;
	ts = pdata_truesize(p->data, p->off, p->len);
	spin_lock(&d->lock);
	if (d->errors.count < ERRORS_MAX && !sock_mem_charge(&d->sk.mem, ts, CHARGE_NOSLEEP)) {
		p->charged = ts;
		pqueue_push(&d->errors, p);
		atomic_fetch_add_explicit(&d->nr_errors, 1, memory_order_relaxed);
		ok = true;
	}
	spin_unlock(&d->lock);
	if (!ok)
		pbuf_free(p);
}

void dgram_error(struct dgram_sock *d, const struct icmp_error *e, bool connected)
{
	const struct ip_opts *o = &d->sk.ip;
	bool made_here = !e->type && !e->code, hard = e->hard || made_here;

	if (e->err == EMSGSIZE) {
		if (!made_here)
			pmtu_update(&e->dst, e->mtu);
		if (o->pmtudisc == PMTUDISC_DONT)
			return;
		hard = true;
	}
	if (o->recverr)
		queue_error(d, e);
	else if (!hard || !connected)
		return;
	atomic_store_explicit(&d->sk.err, e->err, memory_order_seq_cst);
	if (atomic_load_explicit(&d->sk.rd.count, memory_order_seq_cst))
		wake_up_poll(&d->sk.rd, EPOLLERR);
	if (atomic_load_explicit(&d->sk.wr.count, memory_order_seq_cst))
		wake_up_poll(&d->sk.wr, EPOLLERR);
}

ssize_t dgram_recv_error(struct dgram_sock *d, struct sock_msg *m)
{
	bool v6 = d->sk.family == AF_INET6;
	struct sock_anc *a = &m->anc;
	size_t head, n, got;
	struct pbuf *p;

	spin_lock(&d->lock);
	p = pqueue_pop(&d->errors);
	if (p) {
		atomic_fetch_sub_explicit(&d->nr_errors, 1, memory_order_relaxed);
		sock_mem_uncharge(&d->sk.mem, p->charged);
	}
	spin_unlock(&d->lock);
	if (!p)
		return -EAGAIN;
	head = p->end - p->th;
	n = min_t(size_t, head + p->len, m->it->count);
	got = copy_to_iter(p->head + p->th, min(head, n), m->it);
	if (n > head && got == head)
		got += pdata_copy_to_iter(p->data, p->off, n - head, m->it);
	m->out_flags |= MSG_ERRQUEUE | (n < head + p->len ? MSG_TRUNC : 0);
	if (m->name)
		m->name_len = addr_export(d->sk.family, &p->dst, p->icmp.port, m->name);
	a->have = ANC_ERROR;
	a->from = p->src;
	a->err = (struct abi_ext_err){
		.err = p->icmp.err,
		.origin = !p->icmp.type && !p->icmp.code ? ERR_ORIGIN_LOCAL
			  : v6				 ? ERR_ORIGIN_ICMP6
							 : ERR_ORIGIN_ICMP,
		.type = p->icmp.type,
		.code = p->icmp.code,
		.info = p->icmp.info,
	};
	pbuf_free(p);
	return got < n ? -EFAULT : (ssize_t)n;
}
