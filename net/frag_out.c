/* SPDX-License-Identifier: MIT */
/*
 * Cutting packets that are too large for their path: net/frag.h.
 *
 * Pieces share the payload by reference.  Each but the last carries a multiple of
 * eight bytes behind the network header; the first carries the transport header.
 */
#include "net/frag.h"
#include "net/ip.h"
#include "kernel/errno.h"

#define FRAG6_HEADER 8u

/*
 * Identifications are counted for each pair of hosts, under a keyed hash: a peer
 * learns nothing about our traffic with others (RFC 7739).
 */
#define ID_COUNTERS 1024u
static _Atomic uint32_t counters[ID_COUNTERS];

uint32_t frag_next_id(const struct ip_addr *src, const struct ip_addr *dst)
{
	uint64_t w[5] = { src->q[0], src->q[1], dst->q[0], dst->q[1], 0x1d };
	uint64_t h = net_hash(w, 5);

	return (uint32_t)(h >> 32) +
	       atomic_fetch_add_explicit(&counters[h % ID_COUNTERS], 1, memory_order_relaxed);
}

/* Puts the network header before a piece whose data begins at p->th. */
static void push_headers(struct pbuf *p, uint8_t proto, uint8_t ttl, uint8_t tos, uint32_t id,
			 unsigned off, bool more)
{
	if (addr_is_v4(&p->dst)) {
		ipv4_push_header(p, proto, ttl, tos);
		ipv4_set_fragment(p, (uint16_t)id, off, more);
	} else {
		uint8_t *h = pbuf_push(p, FRAG6_HEADER);

		h[0] = proto;
		h[1] = 0;
		put_be16(h + 2, (uint16_t)(off | (more ? 1 : 0)));
		put_be32(h + 4, id);
		ipv6_push_header(p, IPPROTO_FRAGMENT, ttl, tos);
	}
	p->proto = proto;
}

/* A piece without transport header: a view of @n payload bytes at @at; NULL. */
static struct pbuf *piece(const struct pbuf *p, unsigned at, unsigned n)
{
	struct pbuf *q = pbuf_alloc(PBUF_RESERVE);

	if (!q)
		return NULL;
	q->src = p->src;
	q->dst = p->dst;
	q->dev = p->dev;
	q->th = q->start;
	pdata_get(p->data);
	q->data = p->data;
	q->off = p->off + at;
	q->len = n;
	return q;
}

static uint32_t piece_cost(unsigned n)
{
	return (uint32_t)sizeof(struct pbuf) + ALIGN_UP(n, (unsigned)TRUESIZE_ROUND);
}

int frag_output(struct pbuf *p, uint8_t proto, uint8_t ttl, uint8_t tos, unsigned mtu)
{
	bool v4 = addr_is_v4(&p->dst);
	unsigned head = p->end - p->start, total = head + p->len;
	unsigned most = (mtu - (v4 ? 20 : 40 + FRAG6_HEADER)) & ~7u, first_len, sent;
	uint32_t id = frag_next_id(&p->src, &p->dst);
	struct pbuf *first;
	int ret = 0;

	if (mtu < 68 || head > most || p->start < (v4 ? 34u : 54u + FRAG6_HEADER) ||
	    total > IP_DATAGRAM_MAX - (v4 ? 20 : 0)) {
		pbuf_free(p);
		return -EMSGSIZE;
	}
	/* The original stays for its payload; its twin becomes the first piece. */
	first = pbuf_clone(p);
	if (!first) {
		pbuf_free(p);
		return -ENOBUFS;
	}
	first_len = most - head;
	first->len = first_len;
	pbuf_pay_from(first, p, piece_cost(first_len));
	push_headers(first, proto, ttl, tos, id, 0, true);
	net_count(frag_out);
	p->dev->xmit(p->dev, first);
	for (sent = first_len; sent < p->len;) {
		unsigned n = min(most, p->len - sent);
		struct pbuf *q = piece(p, sent, n);

		if (!q) {
			ret = -ENOBUFS;
			break;
		}
		pbuf_pay_from(q, p, piece_cost(n));
		push_headers(q, proto, ttl, tos, id, head + sent, sent + n < p->len);
		sent += n;
		net_count(frag_out);
		p->dev->xmit(p->dev, q);
	}
	pbuf_free(p);
	return ret;
}
