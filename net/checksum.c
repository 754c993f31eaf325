/* SPDX-License-Identifier: MIT */
/*
 * The Internet checksum (RFC 1071): 16-bit one's complement sums.
 *
 * Sums are kept as 32-bit numbers whose two halves still have to be added;
 * csum_fold() does that and complements.  Not used on loopback.
 */
#include "net/pbuf.h"

static uint32_t add_carry(uint32_t a, uint32_t b)
{
	uint64_t s = (uint64_t)a + b;

	return (uint32_t)s + (uint32_t)(s >> 32);
}

/* @odd: the bytes start at an odd offset of the whole. */
uint32_t csum_add(uint32_t sum, const void *p, size_t n, bool odd)
{
	const uint8_t *b = p;
	uint64_t s = 0, carries = 0;
	uint32_t folded;

	for (; n >= 32; n -= 32, b += 32) {
		uint64_t v[4];

		__builtin_memcpy(v, b, 32);
		for (unsigned i = 0; i < 4; i++) {
			s += v[i];
			carries += s < v[i];
		}
	}
	for (; n >= 8; n -= 8, b += 8) {
		uint64_t v;

		__builtin_memcpy(&v, b, 8);
		s += v;
		carries += s < v;
	}
	s = (s & 0xffffffffu) + (s >> 32) + carries;
	if (n >= 4) {
		uint32_t v;

		__builtin_memcpy(&v, b, 4);
		s += v;
		b += 4;
		n -= 4;
	}
	if (n >= 2) {
		uint16_t v;

		__builtin_memcpy(&v, b, 2);
		s += v;
		b += 2;
		n -= 2;
	}
	if (n)
		s += b[0];
	s = (s & 0xffffffffu) + (s >> 32);
	s = (s & 0xffffffffu) + (s >> 32);
	folded = (uint32_t)(s & 0xffff) + (uint32_t)(s >> 16);
	folded = (folded & 0xffff) + (folded >> 16);
	if (odd)
		folded = ((folded & 0xff) << 8) | (folded >> 8);
	return add_carry(sum, folded);
}

uint16_t csum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

uint32_t csum_pseudo(const struct ip_addr *src, const struct ip_addr *dst, uint32_t len,
		     uint8_t proto)
{
	uint64_t s = (uint64_t)src->d[3] + dst->d[3] + be32(len) + be32(proto);

	if (!addr_is_v4(src)) {
		for (unsigned i = 0; i < 3; i++)
			s += (uint64_t)src->d[i] + dst->d[i];
	}
	return add_carry((uint32_t)s, (uint32_t)(s >> 32));
}

void pbuf_renew_csum(struct pbuf *c, unsigned nh)
{
	const uint8_t *ip = c->head + nh;
	uint16_t th = c->th, sum;
	unsigned hlen, at;
	uint8_t proto;

	if (!(c->flags & PB_CSUM_STALE))
		return;
	c->flags &= (uint8_t)~PB_CSUM_STALE;
	/* Only whole segments without extension headers are so marked. */
	if (ip[0] >> 4 == 4) {
		hlen = (ip[0] & 15) * 4u;
		proto = ip[9];
		c->src = addr_from_v4(ip + 12);
		c->dst = addr_from_v4(ip + 16);
	} else {
		hlen = 40;
		proto = ip[6];
		c->src = addr_from_v6(ip + 8);
		c->dst = addr_from_v6(ip + 24);
	}
	at = nh + hlen + (proto == IPPROTO_TCP ? 16 : 6);
	if ((proto != IPPROTO_TCP && proto != IPPROTO_UDP) || at + 2 > c->end)
		return;
	c->th = (uint16_t)(nh + hlen);
	put_be16(c->head + at, 0);
	sum = pbuf_csum(c, proto);
	memcpy(c->head + at, &sum, 2);
	c->th = th;
}

static uint16_t pbuf_sum(const struct pbuf *p, uint32_t sum)
{
	uint32_t hlen = p->end - p->th, len = p->len, off = p->off, at = hlen;

	sum = csum_add(sum, p->head + p->th, hlen, false);
	for (unsigned i = 0; p->data && i < p->data->nr && len; i++) {
		const struct frag *f = &p->data->frags[i];
		uint32_t n;

		if (off >= f->len) {
			off -= f->len;
			continue;
		}
		n = min(f->len - off, len);
		sum = csum_add(sum, (char *)page_virt(f->page) + f->off + off, n, at & 1);
		at += n;
		len -= n;
		off = 0;
	}
	return csum_fold(sum);
}

uint16_t pbuf_csum(const struct pbuf *p, uint8_t proto)
{
	return pbuf_sum(p, csum_pseudo(&p->src, &p->dst, pbuf_transport_len(p), proto));
}

uint16_t pbuf_csum_plain(const struct pbuf *p)
{
	return pbuf_sum(p, 0);
}
