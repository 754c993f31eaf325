/* SPDX-License-Identifier: MIT */
/*
 * AF_PACKET sockets: net/packet.h.
 *
 * A frame's copy shares its payload; its headers are its own, so a checksum that
 * the device would complete is completed in the copy.  Frames that the device cuts
 * or has merged are shown whole.  Loopback frames get an Ethernet header of zeroes,
 * as on Linux.
 *
 * Locks: packet_lock over the list's writers; readers under RCU.
 */
#include "net/packet.h"
#include "net/dgram.h"
#include "net/ether.h"
#include "kernel/errno.h"

#define ETH_P_ALL 3
#define PACKET_HOST      0
#define PACKET_BROADCAST 1
#define PACKET_MULTICAST 2
#define PACKET_OUTGOING  4
#define SOL_PACKET 263
#define PACKET_ADD_MEMBERSHIP  1
#define PACKET_DROP_MEMBERSHIP 2
#define PACKET_STATISTICS      6

struct sa_ll {
	uint16_t family, protocol; /* protocol: network order */
	int32_t ifindex;
	uint16_t hatype;
	uint8_t pkttype, halen, addr[8];
};

_Atomic unsigned packet_sockets;
static struct spinlock packet_lock = SPINLOCK_INIT("packet");
static _Atomic(struct dgram_sock *) sockets;
static const struct sock_ops packet_ops;

/* lport: protocol wanted (ETH_P_ALL: all; 0: none yet); sk.ip.bound: device, or NULL for all. */
static struct sock *packet_create(int type, int protocol)
{
	struct dgram_sock *d;

	if (type != SOCK_RAW && type != SOCK_DGRAM)
		return ERR_PTR(-ESOCKTNOSUPPORT);
	d = dgram_alloc(&packet_ops, AF_PACKET, type, protocol);
	if (!d)
		return ERR_PTR(-ENOMEM);
	d->lport = be16((uint16_t)protocol);
	spin_lock(&packet_lock);
	atomic_store_explicit(&d->next, atomic_load_explicit(&sockets, memory_order_relaxed),
			      memory_order_relaxed);
	rcu_assign_pointer(sockets, d);
	atomic_fetch_add_explicit(&packet_sockets, 1, memory_order_relaxed);
	spin_unlock(&packet_lock);
	return &d->sk;
}

static void packet_close(struct sock *s)
{
	struct dgram_sock *d = dgram_of(s), *x;
	_Atomic(struct dgram_sock *) *at = &sockets;

	spin_lock(&packet_lock);
	while ((x = atomic_load_explicit(at, memory_order_relaxed)) != d)
		at = &x->next;
	rcu_assign_pointer(*at, atomic_load_explicit(&d->next, memory_order_relaxed));
	atomic_fetch_sub_explicit(&packet_sockets, 1, memory_order_relaxed);
	spin_unlock(&packet_lock);
	dgram_put(d);
}

/* Completes what the device would have: the transport checksum of an outgoing packet. */
static void complete_checksum(struct pbuf *c)
{
	unsigned at = c->proto == IPPROTO_TCP ? 16 : 6;
	uint16_t sum;

	if (!(c->flags & PB_CSUM_PARTIAL))
		return;
	put_be16(c->head + c->th + at, 0);
	sum = pbuf_csum(c, c->proto);
	memcpy(c->head + c->th + at, &sum, 2);
}

/* Nothing is summed up for loopback, where nothing can be damaged; who looks sees right sums. */
static void make_checksums(struct pbuf *c, unsigned nh)
{
	uint8_t *ip = c->head + nh;
	bool fragment = false;

	if (nh + 20 > c->end)
		return;
	if (ip[0] >> 4 == 4) {
		unsigned hlen = (ip[0] & 15) * 4u;
		uint16_t sum;

		if (hlen < 20 || nh + hlen > c->end)
			return;
		put_be16(ip + 10, 0);
		sum = csum_fold(csum_add(0, ip, hlen, false));
		memcpy(ip + 10, &sum, 2);
		fragment = get_be16(ip + 6) & 0x3fff; /* its checksum is that of the whole */
	}
	if (!fragment)
		c->flags |= PB_CSUM_STALE;
}

/* The copy that a socket gets; nh: link header, th: network header. */
static struct pbuf *copy_frame(struct netdev *dev, const struct pbuf *p, unsigned start,
			       bool outgoing)
{
	struct pbuf *c = pbuf_clone(p);

	if (!c)
		return NULL;
	complete_checksum(c);
	if (dev->loopback)
		make_checksums(c, start);
	pbuf_renew_csum(c, start + (dev->loopback ? 0 : ETHER_HEADER));
	c->start = (uint16_t)start;
	if (dev->loopback) {
		bool v6 = c->head[start] >> 4 == 6;

		if (start < ETHER_HEADER) {
			pbuf_free(c);
			return NULL;
		}
		memset(pbuf_push(c, ETHER_HEADER), 0, ETHER_HEADER);
		put_be16(c->head + c->start + 12, v6 ? ETHER_IPV6 : ETHER_IPV4);
	}
	c->nh = c->start;
	c->th = (uint16_t)(c->start + ETHER_HEADER);
	c->dev = dev;
	c->link.proto = get_be16(c->head + c->start + 12);
	c->link.type = outgoing ? PACKET_OUTGOING :
		       !memcmp(c->head + c->start, ether_broadcast, 6) ? PACKET_BROADCAST :
		       c->head[c->start] & 1 ? PACKET_MULTICAST : PACKET_HOST;
	c->stamp = clock_ns() + clock_realtime_offset_ns();
	return c;
}

void packet_show(struct netdev *dev, const struct pbuf *p, unsigned start, bool outgoing)
{
	struct dgram_sock *d;

	rcu_read_lock();
	for (d = rcu_dereference(sockets); d; d = rcu_dereference(d->next)) {
		struct pbuf *c;

		if (!d->lport || (d->sk.ip.bound && d->sk.ip.bound != dev) ||
		    (outgoing && d->lport != ETH_P_ALL) || !dgram_try_get(d))
			continue;
		c = copy_frame(dev, p, start, outgoing);
		if (c && d->lport != ETH_P_ALL && d->lport != c->link.proto) {
			pbuf_free(c);
			c = NULL;
		}
		if (c)
			dgram_queue(d, c);
		dgram_put(d);
	}
	rcu_read_unlock();
}

static int packet_bind(struct sock *s, const union sockaddr_any *a, unsigned len)
{
	struct dgram_sock *d = dgram_of(s);
	struct netdev *dev = NULL;
	struct sa_ll ll;

	if (len < 12 || a->family != AF_PACKET)
		return -EINVAL;
	memcpy(&ll, a, sizeof(ll));
	if (ll.ifindex) {
		dev = netdev_by_index((unsigned)ll.ifindex);
		if (!dev)
			return -ENODEV;
	}
	s->ip.bound = dev;
	if (ll.protocol)
		d->lport = be16(ll.protocol);
	return 0;
}

static int packet_getname(struct sock *s, union sockaddr_any *a, enum sock_end end)
{
	struct sa_ll ll = { .family = AF_PACKET, .protocol = be16(dgram_of(s)->lport) };

	if (end != SOCK_END_OWN)
		return -EOPNOTSUPP;
	if (s->ip.bound) {
		ll.ifindex = (int)s->ip.bound->index;
		ll.hatype = s->ip.bound->loopback ? 772 : 1;
		ll.halen = 6;
		memcpy(ll.addr, s->ip.bound->mac, 6);
	}
	memcpy(a, &ll, sizeof(ll));
	return 18;
}

static uint32_t frame_cost(size_t payload)
{
	return (uint32_t)(sizeof(struct pbuf) + sizeof(struct pdata) +
			  ALIGN_UP(payload, (size_t)TRUESIZE_ROUND));
}

static ssize_t packet_sendmsg(struct sock *s, struct sock_msg *m)
{
	struct netdev *dev = s->ip.bound;
	bool raw = s->type == SOCK_RAW;
	size_t len = m->it->count;
	struct sa_ll ll = { .protocol = be16(dgram_of(s)->lport) };
	struct pbuf *p;
	unsigned head;
	ssize_t ret;

	if (m->name) {
		if (m->name_len < 12 || m->name->family != AF_PACKET)
			return -EINVAL;
		memcpy(&ll, m->name, min_t(size_t, m->name_len, sizeof(ll)));
		if (ll.ifindex)
			dev = netdev_by_index((unsigned)ll.ifindex);
	} else if (!raw) {
		return -EDESTADDRREQ;
	}
	if (!dev || !NETDEV_ETHER(dev))
		return -ENXIO;
	if (raw && len < ETHER_HEADER)
		return -EINVAL;
	if (len > dev->mtu + (raw ? ETHER_HEADER : 0u))
		return -EMSGSIZE;
	if (!dev->up)
		return -ENETDOWN;
	p = pbuf_alloc(ETHER_HEADER + 2);
	if (!p)
		return -ENOBUFS;
	if (raw)
		p->start = p->end = 2;
	p->dev = dev;
	head = (unsigned)min_t(size_t, len, raw ? ETHER_HEADER : 20u);
	ret = dgram_pay(dgram_of(s), m, p, frame_cost(len - head));
	if (!ret && copy_from_iter(pbuf_put(p, head), head, m->it) != head)
		ret = -EFAULT;
	if (!ret && len > head) {
		struct pdata *data = pdata_from_iter(m->it, len - head);

		if (IS_ERR(data))
			ret = PTR_ERR(data);
		else
			p->data = data;
	}
	if (ret) {
		pbuf_free(p);
		return ret;
	}
	p->len = (uint32_t)(len - head);
	if (raw) {
		packet_tap(dev, p, p->start, true);
		dev->start(dev, p);
	} else {
		ether_send(dev, p, ll.addr, be16(ll.protocol));
	}
	return (ssize_t)len;
}

static ssize_t packet_recvmsg(struct sock *s, struct sock_msg *m)
{
	struct dgram_sock *d = dgram_of(s);
	int err = 0;
	struct pbuf *p = dgram_next(d, m, &err);
	size_t total, want, got;
	unsigned from, hlen;
	ssize_t ret;

	if (!p)
		return err;
	from = s->type == SOCK_RAW ? p->nh : p->th;
	hlen = p->end - from;
	total = hlen + p->len;
	want = min_t(size_t, total, m->it->count);
	got = copy_to_iter(p->head + from, min_t(size_t, hlen, want), m->it);
	if (want > hlen && got == hlen)
		got += pdata_copy_to_iter(p->data, p->off, want - hlen, m->it);
	if (want < total)
		m->out_flags |= MSG_TRUNC;
	ret = got < want ? -EFAULT : (ssize_t)(m->flags & MSG_TRUNC ? total : want);
	if (s->timestamp) {
		m->anc.have = ANC_STAMP;
		m->anc.stamp = p->stamp;
	}
	if (m->name) {
		struct sa_ll ll = { .family = AF_PACKET,
				    .protocol = be16(p->link.proto),
				    .pkttype = p->link.type,
				    .ifindex = (int)p->dev->index,
				    .hatype = p->dev->loopback ? 772 : 1,
				    .halen = 6 };

		memcpy(ll.addr, p->head + p->nh + 6, 6);
		memcpy(m->name, &ll, sizeof(ll));
		m->name_len = sizeof(ll);
	}
	pbuf_free(p);
	return ret;
}

static int packet_setsockopt(struct sock *s, int level, int name, const void *val, unsigned len)
{
	(void)s;
	(void)val;
	(void)len;
	/* What the device passes is all there is to see: promiscuous mode changes nothing. */
	if (level == SOL_PACKET &&
	    (name == PACKET_ADD_MEMBERSHIP || name == PACKET_DROP_MEMBERSHIP))
		return 0;
	return -ENOPROTOOPT;
}

static int packet_getsockopt(struct sock *s, int level, int name, void *val, unsigned *len)
{
	uint32_t v[2] = { 0 };

	if (level != SOL_PACKET || name != PACKET_STATISTICS)
		return -ENOPROTOOPT;
	v[1] = atomic_exchange_explicit(&dgram_of(s)->drops, 0, memory_order_relaxed);
	*len = min_t(unsigned, *len, sizeof(v));
	memcpy(val, v, *len);
	return 0;
}

static const struct sock_ops packet_ops = {
	.bind = packet_bind,
	.getname = packet_getname,
	.sendmsg = packet_sendmsg,
	.recvmsg = packet_recvmsg,
	.poll = dgram_poll,
	.setsockopt = packet_setsockopt,
	.getsockopt = packet_getsockopt,
	.ioctl = dgram_ioctl,
	.close = packet_close,
};

void packet_init(void)
{
	sock_register_family(AF_PACKET, packet_create);
}
