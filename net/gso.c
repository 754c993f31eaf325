/* SPDX-License-Identifier: MIT */
/* Cutting on the way out: net/gso.h. */
#include "net/gso.h"
#include "net/frag.h"
#include "net/tcp.h"

/* The @n bytes at @at of @p's payload with headers of their own; NULL without memory. */
static struct pbuf *piece(struct netdev *dev, const struct pbuf *p, uint32_t at, uint32_t n)
{
	struct pbuf *s = pbuf_alloc(p->start);
	bool first = at == 0, last = at + n == p->len;
	uint8_t *ip, *th;
	uint16_t sum;

	if (!s)
		return NULL;
	memcpy(pbuf_put(s, p->end - p->start), p->head + p->start, p->end - p->start);
	s->proto = p->proto;
	s->ttl = p->ttl;
	s->tos = p->tos;
	s->nh = p->nh;
	s->th = p->th;
	s->home = p->home;
	s->flags = p->flags & (uint8_t)~PB_CSUM_PARTIAL;
	s->dev = dev;
	s->src = p->src;
	s->dst = p->dst;
	s->data = p->data;
	s->off = p->off + at;
	s->len = n;
	pdata_get(p->data);

	ip = s->head + s->nh;
	if (addr_is_v4(&p->dst)) {
		put_be16(ip + 2, (uint16_t)(s->end - s->nh + n));
		if (!first && !(ip[6] & 0x40)) /* may be cut again, so it needs a name of its own */
			put_be16(ip + 4, (uint16_t)frag_next_id(&p->src, &p->dst));
		put_be16(ip + 10, 0);
		sum = csum_fold(csum_add(0, ip, 20, false));
		memcpy(ip + 10, &sum, 2);
	} else {
		put_be16(ip + 4, (uint16_t)(s->end - s->nh - 40 + n));
	}
	th = s->head + s->th;
	put_be32(th + 4, get_be32(th + 4) + at);
	if (!last)
		th[13] &= (uint8_t)~(TH_FIN | TH_PSH);
	if (!first)
		th[13] &= (uint8_t)~TH_CWR;
	if (dev->features & NETDEV_CSUM) {
		sum = (uint16_t)~csum_fold(
			csum_pseudo(&s->src, &s->dst, pbuf_transport_len(s), IPPROTO_TCP));
		s->flags |= PB_CSUM_PARTIAL;
	} else {
		put_be16(th + 16, 0);
		sum = pbuf_csum(s, IPPROTO_TCP);
	}
	memcpy(th + 16, &sum, 2);
	return s;
}

void gso_cut(struct netdev *dev, struct pbuf *p, struct pqueue *out)
{
	uint32_t n;

	*out = (struct pqueue){ 0 };
	for (uint32_t at = 0; at < p->len; at += n) {
		struct pbuf *s;

		n = min_t(uint32_t, p->gso_size, p->len - at);
		s = piece(dev, p, at, n);
		if (!s) {
			atomic_fetch_add_explicit(&dev->tx_dropped, 1, memory_order_relaxed);
			break;
		}
		pqueue_push(out, s);
	}
	net_count(gso_packets);
	net_count_add(NS_gso_segments, out->count);
	pbuf_free(p);
}
