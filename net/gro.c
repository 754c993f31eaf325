/* SPDX-License-Identifier: MIT */
/* Merging on receive: net/gro.h. */
#include "net/gro.h"
#include "net/ether.h"
#include "net/frag.h"
#include "net/tcp.h"
#include "kernel/param.h"

static bool gro_on = true;
PARAM_BOOL("net.gro", gro_on, PARAM_RW, "TCP segments that arrive together are merged");

/* What a frame is here. */
enum gro_class {
	GRO_OTHER,  /* not TCP: passes, nothing can overtake it */
	GRO_OPAQUE, /* may belong to any connection: fragments, options, extension headers */
	GRO_ALONE,  /* a segment that is merged with nothing */
	GRO_DATA,   /* may begin a packet, or continue one */
};

static inline bool same(const void *a, const void *b, size_t n)
{
	return __builtin_memcmp(a, b, n) == 0;
}

static inline bool is_v4(const struct pbuf *p)
{
	return p->head[p->start] >> 4 == 4;
}

/* Classifies a frame and sets p->th where it is a TCP segment. */
static enum gro_class classify(struct pbuf *p)
{
	const uint8_t *ip = p->head + p->start, *th;
	unsigned have = p->end - p->start, hlen, total;
	uint16_t type = get_be16(ip - 2);

	if (type == ETHER_IPV4) {
		if (have < 20 || ip[9] != IPPROTO_TCP)
			return GRO_OTHER;
		if (ip[0] != 0x45 || get_be16(ip + 6) & 0x3fff)
			return GRO_OPAQUE;
		hlen = 20;
		total = get_be16(ip + 2);
	} else if (type == ETHER_IPV6) {
		if (have < 40 || ip[6] == IPPROTO_UDP || ip[6] == IPPROTO_ICMPV6)
			return GRO_OTHER;
		if (ip[0] >> 4 != 6 || ip[6] != IPPROTO_TCP)
			return GRO_OPAQUE;
		hlen = 40;
		total = get_be16(ip + 4) + 40u;
	} else {
		return GRO_OTHER;
	}
	if (have < hlen + 20)
		return GRO_OPAQUE;
	p->th = (uint16_t)(p->start + hlen);
	th = ip + hlen;
	/* The head ends where the payload begins, and nothing lies behind the datagram. */
	if (have != hlen + (th[12] >> 4) * 4u || total != have + p->len || !p->len ||
	    p->off || p->len != p->data->len)
		return GRO_ALONE;
	/* Beside ACK, PSH and FIN only an echo of congestion, which is a state (RFC 3168). */
	if ((th[13] & ~(TH_PSH | TH_FIN | TH_ECE)) != TH_ACK)
		return GRO_ALONE;
	return GRO_DATA;
}

static bool same_flow(const struct gro_flow *f, const struct pbuf *p, uint32_t ports)
{
	const uint8_t *a = f->p->head + f->p->start, *b = p->head + p->start;

	if (f->ports != ports || (a[0] ^ b[0]) & 0xf0)
		return false;
	return is_v4(p) ? same(a + 12, b + 12, 8) : same(a + 8, b + 8, 32);
}

/* Are the checksums of header and segment right?  Then nobody needs to look again. */
static bool verified(struct pbuf *p)
{
	const uint8_t *ip = p->head + p->start;

	if (is_v4(p) && csum_fold(csum_add(0, ip, 20, false)))
		return false;
	if (p->flags & PB_CSUM_OK)
		return true;
	if (is_v4(p)) {
		p->src = addr_from_v4(ip + 12);
		p->dst = addr_from_v4(ip + 16);
	} else {
		p->src = addr_from_v6(ip + 8);
		p->dst = addr_from_v6(ip + 24);
	}
	if (pbuf_csum(p, IPPROTO_TCP))
		return false;
	p->flags |= PB_CSUM_OK;
	return true;
}

/* The same options, or timestamps alone with one echo and a value that does not go back. */
static bool same_options(const uint8_t *a, const uint8_t *b, unsigned len)
{
	if (len == 12 && get_be32(a) == 0x0101080au && get_be32(b) == 0x0101080au)
		return same(a + 8, b + 8, 4) && (int32_t)(get_be32(b + 4) - get_be32(a + 4)) >= 0;
	return same(a, b, len);
}

/* May @b, of the same connection, continue @f? */
static bool follows(const struct gro_flow *f, const struct pbuf *b)
{
	const struct pbuf *a = f->p;
	const uint8_t *x = a->head + a->th, *y = b->head + b->th;
	const uint8_t *i = a->head + a->start, *j = b->head + b->start;
	unsigned hlen = a->end - a->th;

	if (get_be32(y + 4) != f->next || !same(x + 8, y + 8, 4) || b->end - b->th != hlen ||
	    (x[13] ^ y[13]) & ~(TH_PSH | TH_FIN))
		return false;
	if (is_v4(b)) {
		/* Type of service; may it be cut; time to live. */
		if (i[1] != j[1] || i[6] != j[6] || i[8] != j[8])
			return false;
	} else if (!same(i, j, 4) || i[7] != j[7]) { /* traffic class and flow label; hop limit */
		return false;
	}
	return (unsigned)(a->end - a->start) + a->len + b->len <= IP_DATAGRAM_MAX &&
	       same_options(x + 20, y + 20, hlen - 20);
}

/* Makes the header say what the packet has become, and hands it to the stack. */
static void deliver(struct pbuf *p)
{
	uint8_t *ip = p->head + p->start;
	unsigned total = p->end - p->start + p->len;
	uint16_t sum;

	if (p->segs > 1) {
		net_count(gro_packets);
		net_count_add(NS_gro_segments, p->segs);
		p->flags |= PB_CSUM_STALE;
		if (is_v4(p)) {
			put_be16(ip + 2, (uint16_t)total);
			put_be16(ip + 10, 0);
			sum = csum_fold(csum_add(0, ip, 20, false));
			memcpy(ip + 10, &sum, 2);
		} else {
			put_be16(ip + 4, (uint16_t)(total - 40));
		}
	}
	ether_rx(p);
}

static void let_go(struct gro *g, unsigned i)
{
	struct pbuf *p = g->flows[i].p;

	g->nr--;
	for (; i < g->nr; i++)
		g->flows[i] = g->flows[i + 1];
	deliver(p);
}

void gro_flush(struct gro *g)
{
	while (g->nr)
		let_go(g, 0);
}

/* @p has become part of f->p.  Return: true if nothing may follow it. */
static bool merge(struct gro_flow *f, struct pbuf *p)
{
	uint8_t *x = f->p->head + f->p->th, *y = p->head + p->th;

	f->next += p->len;
	f->p->len = f->p->data->len;
	f->p->segs++;
	x[13] |= y[13];
	memcpy(x + 14, y + 14, 2);
	pbuf_free(p);
	return x[13] & (TH_PSH | TH_FIN);
}

void gro_receive(struct gro *g, struct pbuf *p)
{
	enum gro_class class = classify(p);
	uint32_t ports;
	unsigned i;

	if (class == GRO_OTHER || !__atomic_load_n(&gro_on, __ATOMIC_RELAXED)) {
		if (class != GRO_OTHER)
			gro_flush(g);
		ether_rx(p);
		return;
	}
	if (class == GRO_OPAQUE) {
		gro_flush(g);
		ether_rx(p);
		return;
	}
	memcpy(&ports, p->head + p->th, 4);
	for (i = 0; i < g->nr && !same_flow(&g->flows[i], p, ports); i++)
		;
	if (class == GRO_DATA && !verified(p))
		class = GRO_ALONE;
	if (i < g->nr) {
		if (class == GRO_DATA && follows(&g->flows[i], p) &&
		    pdata_absorb(g->flows[i].p->data, &p->data)) {
			if (merge(&g->flows[i], p))
				let_go(g, i);
			return;
		}
		let_go(g, i);
	}
	/* What ends a packet need not begin one. */
	if (class == GRO_ALONE || p->head[p->th + 13] & (TH_PSH | TH_FIN)) {
		ether_rx(p);
		return;
	}
	if (g->nr == GRO_FLOWS)
		let_go(g, 0);
	p->segs = 1;
	g->flows[g->nr++] = (struct gro_flow){ p, get_be32(p->head + p->th + 4) + p->len, ports };
}
