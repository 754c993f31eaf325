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
	s = (s & 0xffffffffu) + (s >> 32) + carries;
	for (; n >= 4; n -= 4, b += 4) {
		uint32_t v;

		__builtin_memcpy(&v, b, 4);
		s += v;
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

uint32_t csum_pseudo(const struct ip_addr *src, const struct ip_addr *dst, uint32_t len, uint8_t proto)
{
	uint8_t tail[8] = { 0 };
	uint32_t sum;

	if (addr_is_v4(src)) {
		sum = csum_add(0, &src->b[12], 4, false);
		sum = csum_add(sum, &dst->b[12], 4, false);
	} else {
		sum = csum_add(0, src->b, 16, false);
		sum = csum_add(sum, dst->b, 16, false);
	}
	put_be32(tail, len);
	tail[7] = proto;
	return csum_add(sum, tail, 8, false);
}

uint16_t pbuf_csum(const struct pbuf *p, uint8_t proto)
{
	uint32_t hlen = p->end - p->th, len = p->len, off = p->off, at = hlen;
	uint32_t sum = csum_pseudo(&p->src, &p->dst, hlen + len, proto);

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
