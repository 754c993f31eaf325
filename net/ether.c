/* SPDX-License-Identifier: MIT */
/*
 * Ethernet frames in and out: net/ether.h.
 *
 * Out: the next hop's hardware address comes from the route and the neighbour
 * table; multicast and broadcast are mapped (RFC 1112, RFC 2464).  In: a frame's
 * headers are cut off exactly where the payload begins, so payload needs no copy.
 */
#include "net/event.h"
#include "net/gso.h"
#include "net/packet.h"
#include "kernel/errno.h"
#include "kernel/log.h"

const uint8_t ether_broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

#define RX_RESERVE 16u /* the Ethernet header lies before the network header, which is aligned */

/* The device does not cut. */
static void send_cut(struct netdev *dev, struct pbuf *p)
{
	struct pqueue q;

	gso_cut(dev, p, &q);
	if (dev->start_many) {
		dev->start_many(dev, &q);
		return;
	}
	while ((p = pqueue_pop(&q)))
		dev->start(dev, p);
}

void ether_send(struct netdev *dev, struct pbuf *p, const uint8_t *dst, uint16_t type)
{
	uint8_t *h;

	if (!dev->up || p->start < ETHER_HEADER) {
		atomic_fetch_add_explicit(&dev->tx_dropped, 1, memory_order_relaxed);
		pbuf_free(p);
		return;
	}
	h = pbuf_push(p, ETHER_HEADER);
	memcpy(h, dst, 6);
	memcpy(h + 6, dev->mac, 6);
	put_be16(h + 12, type);
	packet_tap(dev, p, p->start, true);
	if (gso_needed(dev, p))
		send_cut(dev, p);
	else
		dev->start(dev, p);
}

static void ether_output(struct netdev *dev, struct pbuf *p)
{
	uint8_t mac[6] = { 0x33, 0x33 };
	struct ip_addr hop;
	bool v4 = addr_is_v4(&p->dst);

	if (v4 && ifaddr_is_broadcast(dev, &p->dst)) {
		ether_send(dev, p, ether_broadcast, ETHER_IPV4);
		return;
	}
	if (addr_is_multicast(&p->dst)) {
		memcpy(mac + 2, &p->dst.b[12], 4);
		if (v4) {
			mac[0] = 0x01;
			mac[1] = 0x00;
			mac[2] = 0x5e;
			mac[3] &= 0x7f;
		}
		ether_send(dev, p, mac, v4 ? ETHER_IPV4 : ETHER_IPV6);
		return;
	}
	if (!route_next_hop(dev, &p->dst, &hop)) {
		atomic_fetch_add_explicit(&dev->tx_dropped, 1, memory_order_relaxed);
		pbuf_free(p);
		return;
	}
	neigh_output(dev, &hop, p);
}

/* Bytes of @h (@have of them, behind the Ethernet header) that are headers. */
static unsigned header_bytes(uint16_t type, const uint8_t *h, unsigned have)
{
	unsigned at = 40;
	uint8_t proto;

	if (type == ETHER_IPV4) {
		if (have < 20)
			return have;
		at = (h[0] & 15) * 4u;
		proto = get_be16(h + 6) & 0x1fff ? 0 : h[9];
	} else if (type == ETHER_IPV6) {
		if (have < 40)
			return have;
		proto = h[6];
	} else {
		return min(have, 28u); /* ARP */
	}
	if (proto == IPPROTO_TCP && at + 20 <= have)
		return at + max((h[at + 12] >> 4) * 4u, 20u);
	if (proto == IPPROTO_UDP)
		return at + 8;
	if (type == ETHER_IPV4 && proto != IPPROTO_ICMP)
		return at;
	return at + 84; /* ICMP with what it quotes, extension headers */
}

struct pbuf *ether_rx_head(struct netdev *dev, const uint8_t *frame, unsigned avail, unsigned total)
{
	unsigned have = avail - ETHER_HEADER, n;
	uint16_t type;
	struct pbuf *p;

	(void)total;
	if (avail < ETHER_HEADER)
		return NULL;
	type = get_be16(frame + 12);
	if (type != ETHER_IPV4 && type != ETHER_IPV6 && type != ETHER_ARP)
		return NULL;
	if (!(frame[0] & 1) && memcmp(frame, dev->mac, 6))
		return NULL; /* a promiscuous device */
	p = pbuf_alloc(RX_RESERVE);
	if (!p)
		return NULL;
	n = min(min(header_bytes(type, frame + ETHER_HEADER, have), have), PBUF_HEAD - RX_RESERVE);
	memcpy(p->head + p->start - ETHER_HEADER, frame, ETHER_HEADER + n);
	pbuf_put(p, n);
	p->dev = dev;
	return p;
}

void ether_rx(struct pbuf *p)
{
	const uint8_t *h = p->head + p->start;
	uint16_t type = get_be16(h - 2);

	if (!p->dev->up) {
		pbuf_free(p);
		return;
	}
	packet_tap(p->dev, p, p->start - ETHER_HEADER, false);
	if (type == ETHER_ARP)
		arp_input(p);
	else if (p->end > p->start && h[0] >> 4 == (type == ETHER_IPV4 ? 4 : 6))
		netif_rx(p);
	else
		pbuf_free(p);
}

/* May @b follow @a in one packet that the device cuts into segments of @mss? */
static bool mergeable(const struct pbuf *a, const struct pbuf *b, unsigned mss)
{
	const uint8_t *x = a->head + a->th, *y = b->head + b->th;
	unsigned hlen = a->end - a->th;

	return a->len && b->len && mss && a->len % mss == 0 && b->len <= mss &&
	       b->end - b->th == hlen && a->flags == b->flags && (a->flags & PB_CSUM_PARTIAL) &&
	       a->len + b->len + hlen <= 65000 && !memcmp(x, y, 4) &&
	       get_be32(x + 4) + a->len == get_be32(y + 4) && !memcmp(x + 8, y + 8, 5) &&
	       (x[13] & ~0x08) == 0x10 && (y[13] & ~0x09) == 0x10 && !memcmp(x + 14, y + 14, 2) &&
	       !memcmp(x + 18, y + 18, hlen - 18);
}

/* Appends the payload of @b to that of @a.  False without memory or room. */
static bool append(struct pbuf *a, struct pbuf *b)
{
	if (a->data != b->data || a->off + a->len != b->off) {
		struct pdata *both;

		if (a->data->nr + b->data->nr > PDATA_FRAGS)
			return false;
		both = pdata_join(a->data, a->off, a->len, b->data, b->off, b->len);
		if (!both)
			return false;
		pdata_put(a->data);
		a->data = both;
		a->off = 0;
	}
	a->len += b->len;
	return true;
}

/* A packet with its headers complete grows by @b, which it consumes; false: they don't fit. */
bool ether_grow(struct netdev *dev, struct pbuf *a, struct pbuf *b)
{
	unsigned mss = a->gso_size ? a->gso_size : a->len;
	uint8_t *h = a->head + a->th, *ip = a->head + a->nh;
	uint16_t sum;

	if (!(dev->features & (addr_is_v4(&a->dst) ? NETDEV_TSO4 : NETDEV_TSO6)) ||
	    a->proto != IPPROTO_TCP || b->proto != IPPROTO_TCP || b->gso_size ||
	    !addr_equal(&a->src, &b->src) || !addr_equal(&a->dst, &b->dst) ||
	    !mergeable(a, b, mss) || !append(a, b))
		return false;
	h[13] |= b->head[b->th + 13];
	a->gso_size = (uint16_t)mss;
	sum = (uint16_t)~csum_fold(
		csum_pseudo(&a->src, &a->dst, pbuf_transport_len(a), IPPROTO_TCP));
	memcpy(h + 16, &sum, 2);
	if (addr_is_v4(&a->dst)) {
		put_be16(ip + 2, (uint16_t)(a->end - a->nh + a->len));
		put_be16(ip + 10, 0);
		sum = csum_fold(csum_add(0, ip, 20, false));
		memcpy(ip + 10, &sum, 2);
	} else {
		put_be16(ip + 4, (uint16_t)(a->end - a->nh - 40 + a->len));
	}
	pbuf_free(b);
	return true;
}

void ether_merge(struct pqueue *q, struct netdev *dev, unsigned mss)
{
	struct pqueue out = { 0 };
	struct pbuf *a = NULL, *b;

	while ((b = pqueue_pop(q))) {
		uint16_t sum;
		uint8_t *h;

		if (!a || !(dev->features & (addr_is_v4(&a->dst) ? NETDEV_TSO4 : NETDEV_TSO6)) ||
		    !mergeable(a, b, mss) || !append(a, b)) {
			pqueue_push(&out, b);
			a = b;
			continue;
		}
		h = a->head + a->th;
		h[13] |= b->head[b->th + 13];
		a->gso_size = (uint16_t)mss;
		sum = (uint16_t)~csum_fold(
			csum_pseudo(&a->src, &a->dst, pbuf_transport_len(a), IPPROTO_TCP));
		memcpy(h + 16, &sum, 2);
		pbuf_free(b);
	}
	*q = out;
}

unsigned ether_flow_hash(const struct pbuf *p)
{
	uint32_t h = p->src.d[3] ^ p->dst.d[3];

	if (p->proto == IPPROTO_TCP || p->proto == IPPROTO_UDP)
		h ^= get_be32(p->head + p->th);
	return (h * 0x9e3779b1u) >> 16;
}

void ether_announce(struct netdev *dev)
{
	const struct ifaddr *t = ifaddr_table();

	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		if (atomic_load_explicit(&t[i].dev, memory_order_acquire) == dev &&
		    addr_is_v4(&t[i].addr))
			arp_announce(dev, &t[i].addr);
	}
	nd_announce(dev);
}

void netdev_carrier_changed(struct netdev *dev)
{
	/* Who was there may be gone. */
	neigh_flush(dev);
	net_event_link(dev);
	if (!atomic_load_explicit(&dev->carrier, memory_order_acquire))
		return;
	/*
	 * We may be somewhere else: who remembers us learns where, and what is ours is
	 * asked about.
	 */
	ether_announce(dev);
	nd_start(dev);
	dhcp_link_up(dev);
}

void ether_register(struct netdev *dev)
{
	static bool ready;

	if (!ready) {
		if (neigh_init()) {
			pr_err("net: no memory for the neighbour table, %s is not used", dev->name);
			return;
		}
		nd_init();
		igmp_init();
		mld_init();
		ready = true;
	}
	dev->xmit = ether_output;
	netdev_register(dev);
}
