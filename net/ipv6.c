/* SPDX-License-Identifier: MIT */
/* IPv6 headers (RFC 8200): net/ip.h. */
#include "net/ip.h"
#include "net/ether.h"

#define EXT_HOP_BY_HOP  0
#define EXT_ROUTING     43
#define EXT_FRAGMENT    44
#define EXT_DESTINATION 60
#define EXT_MAX         8 /* headers in a chain; more is nobody's honest packet */

void ipv6_push_header(struct pbuf *p, uint8_t proto, uint8_t ttl, uint8_t tos)
{
	uint32_t payload = p->end - p->start + p->len;
	uint8_t *h = pbuf_push(p, 40);

	put_be32(h, 0x60000000u | ((uint32_t)tos << 20));
	put_be16(h + 4, (uint16_t)payload);
	h[6] = proto;
	h[7] = ttl;
	memcpy(h + 8, p->src.b, 16);
	memcpy(h + 24, p->dst.b, 16);
	p->nh = p->start;
}

void ipv6_input(struct pbuf *p)
{
	const uint8_t *h = p->head + p->start;
	unsigned have = p->end - p->start, payload, at = 40;
	uint8_t next;

	if (have < 40)
		goto bad;
	payload = get_be16(h + 4);
	if (payload + 40 > have + p->len)
		goto bad;
	if (payload + 40 < have) {
		p->end = p->start + payload + 40;
		have = payload + 40;
		p->len = 0;
	} else {
		p->len = payload + 40 - have;
	}
	p->src = addr_from_v6(h + 8);
	p->dst = addr_from_v6(h + 24);
	p->tos = (uint8_t)(get_be16(h) >> 4);
	p->ttl = h[7];
	if (addr_is_multicast(&p->src) || addr_is_v4(&p->src) || addr_is_v4(&p->dst) ||
	    (!p->dev->loopback && addr_is_loopback(&p->src)))
		goto bad;
	if (unlikely(!ifaddr_is_local(&p->dst)) &&
	    !(NETDEV_ETHER(p->dev) && addr_is_multicast(&p->dst) && nd_wants(p->dev, &p->dst)))
		goto bad;
	if (unlikely(!p->dev->loopback && ifaddr_is_local(&p->src)))
		goto bad;
	next = h[6];
	for (unsigned n = 0;; n++) {
		if (next == EXT_FRAGMENT) {
			net_count(ip_fragments);
			pbuf_free(p);
			return;
		}
		if (next != EXT_HOP_BY_HOP && next != EXT_ROUTING && next != EXT_DESTINATION)
			break;
		if (n == EXT_MAX || (next == EXT_HOP_BY_HOP && n) || at + 8 > have)
			goto bad;
		if (next == EXT_ROUTING && h[at + 3] != 0)
			goto bad; /* segments left: we are no router (RFC 5095) */
		next = h[at];
		at += (h[at + 1] + 1u) * 8;
		if (at > have)
			goto bad;
	}
	if (next == IPPROTO_TCP && addr_is_multicast(&p->dst))
		goto bad;
	p->proto = next;
	p->th = p->start + at;
	ip_deliver(p);
	return;
bad:
	net_count(ip_bad);
	pbuf_free(p);
}
