/* SPDX-License-Identifier: MIT */
/*
 * UDP (RFC 768, RFC 8200 section 8.1): the program's calls, and what a datagram's
 * header says.  Whose a received one is, net/udp_table.c knows.
 */
#include "net/udp_table.h"
#include "net/icmp_err.h"

#define UDP_PAYLOAD_MAX 65507u /* an IPv4 datagram's */

static struct port_table udp_ports;
static const struct sock_ops udp_ops;

struct sock *udp_create(int family)
{
	struct dgram_sock *d = dgram_alloc(&udp_ops, family, SOCK_DGRAM, IPPROTO_UDP);

	return d ? &d->sk : ERR_PTR(-ENOMEM);
}

static struct ip_addr any_of(int family)
{
	return family == AF_INET ? addr_from_v4("\0\0\0\0") : ADDR_ANY6;
}

/* naming held; it has no port. */
static int udp_bind_to(struct dgram_sock *d, const struct ip_addr *addr, uint16_t port)
{
	int ret;

	d->port.addr = *addr;
	d->port.v6only = d->sk.v6only || d->sk.family == AF_INET;
	d->port.reuseaddr = d->sk.reuseaddr;
	d->port.reuseport = d->sk.reuseport;
	ret = port_bind(&udp_ports, &d->port, port, NULL, NULL);
	if (ret)
		return ret;
	d->laddr = *addr;
	d->lport = d->port.port;
	udp_table_add(d);
	return 0;
}

static int udp_bind(struct sock *s, const union sockaddr_any *a, unsigned len)
{
	struct ip_addr addr;
	uint16_t port;
	struct dgram_sock *d = dgram_of(s);
	int ret = ip_bind_address(s, a, len, &addr, &port);

	if (ret)
		return ret;
	mutex_lock(&d->naming);
	ret = d->lport ? -EINVAL : udp_bind_to(d, &addr, port);
	if (!ret) {
		d->addr_locked = !addr_is_any(&addr);
		d->port_locked = port != 0;
		ip_bound_to(s, &addr);
	}
	mutex_unlock(&d->naming);
	return ret;
}

/* Peer of a connected socket: what the chains and both lookups go by.  naming held. */
static void udp_set_peer(struct dgram_sock *d, const struct ip_addr *addr, uint16_t port)
{
	udp_disconnected(d);
	__atomic_store_n(&d->rport, 0, __ATOMIC_RELEASE);
	d->raddr = *addr;
	__atomic_store_n(&d->rport, port, __ATOMIC_RELEASE);
	if (port)
		udp_connected(d);
}

/* What bind() did not give goes with the peer.  naming held. */
static void forget_name(struct dgram_sock *d)
{
	if (!d->addr_locked)
		d->laddr = any_of(d->sk.family);
	if (d->port_locked || !d->lport)
		return;
	udp_table_del(d);
	port_release(&udp_ports, &d->port);
	d->lport = 0;
}

/* naming held. */
static int connect_to(struct dgram_sock *d, const union sockaddr_any *a, unsigned len)
{
	struct sock *s = &d->sk;
	struct ip_addr addr, any = any_of(s->family);
	struct route rt;
	uint16_t port;
	int ret;

	if (len < sizeof(a->family))
		return -EINVAL;
	if (a->family == AF_UNSPEC) {
		udp_set_peer(d, &any, 0);
		forget_name(d);
		return 0;
	}
	if (!d->lport) {
		ret = udp_bind_to(d, &any, 0);
		if (ret)
			return ret;
	}
	ret = dgram_addr_import(d, a, len, &addr, &port);
	if (ret)
		return ret;
	if (addr_is_any(&addr))
		addr = addr_is_v4(&addr) || addr_is_v4(&d->laddr) ? addr_from_v4("\x7f\0\0\1")
					 : (struct ip_addr){ .b[15] = 1 };
	ret = dgram_route(d, a, &addr, &rt);
	if (ret)
		return ret;
	if (ifaddr_is_broadcast(rt.dev, &addr) && !s->broadcast)
		return -EACCES;
	if (addr_is_any(&d->laddr) ||
	    (!d->addr_locked && addr_is_v4(&d->laddr) != addr_is_v4(&addr)))
		d->laddr = rt.src;
	else if (addr_is_v4(&d->laddr) != addr_is_v4(&addr))
		return -ENETUNREACH;
	udp_set_peer(d, &addr, port);
	return 0;
}

static int udp_connect(struct sock *s, const union sockaddr_any *a, unsigned len, bool nonblock)
{
	struct dgram_sock *d = dgram_of(s);
	int ret;

	(void)nonblock;
	mutex_lock(&d->naming);
	ret = connect_to(d, a, len);
	mutex_unlock(&d->naming);
	return ret;
}

/* A port for who sends without bind(). */
static int autobind(struct dgram_sock *d)
{
	struct ip_addr any = any_of(d->sk.family);
	int ret;

	mutex_lock(&d->naming);
	ret = d->lport ? 0 : udp_bind_to(d, &any, 0); /* another thread may have been faster */
	mutex_unlock(&d->naming);
	return ret;
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
	struct dgram_way w;
	struct pbuf *p;
	int ret = d->lport ? 0 : autobind(d);

	if (ret)
		return ret;
	if (len > UDP_PAYLOAD_MAX)
		return -EMSGSIZE;
	ret = dgram_way(d, m, &w);
	if (ret)
		return ret;
	if (!w.port)
		return -EINVAL;
	ret = sock_take_error(s);
	if (ret || (sock_shut(s) & SOCK_SND_SHUT))
		return ret ? ret : -EPIPE;
	p = pbuf_alloc(PBUF_RESERVE);
	if (!p)
		return -ENOBUFS;
	p->src = w.src;
	p->dst = w.dst;
	p->dev = w.dev;
	ret = dgram_pay(d, m, p, dgram_cost(&w, 8, len));
	if (!ret && len) {
		struct pdata *data = pdata_from_iter(m->it, len);

		if (IS_ERR(data))
			ret = (int)PTR_ERR(data);
		else
			p->data = data;
	}
	if (ret) {
		pbuf_free(p);
		return ret;
	}
	p->len = (uint32_t)len;
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

	ip_opts_destroy(s); /* not when the last datagram has left */
	if (d->lport) {
		udp_disconnected(d);
		udp_table_del(d);
		port_release(&udp_ports, &d->port);
	}
	dgram_put(d);
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

void udp_icmp_error(const struct icmp_error *e)
{
	struct dgram_sock *d = udp_sender(e);

	if (!d)
		return;
	dgram_error(d, e, __atomic_load_n(&d->rport, __ATOMIC_ACQUIRE) != 0);
	dgram_put(d);
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
	int ret = udp_table_init();

	return ret ? ret : port_table_init(&udp_ports);
}
