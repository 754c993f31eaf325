/* SPDX-License-Identifier: MIT */
/* IPv6 headers (RFC 8200): net/ip.h. */
#include "net/ip.h"
#include "net/ipv6_ext.h"
#include "net/mcast.h"

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

/* Is the packet for this machine, and from outside if it came from there? */
static bool for_us(const struct pbuf *p)
{
	if (unlikely(!p->dev->loopback && !(p->flags & PB_LOCAL) && ifaddr_is_local(&p->src)))
		return false;
	return likely(ifaddr_is_local(&p->dst)) ||
	       (addr_is_multicast(&p->dst) && mcast_wants(p->dev, &p->dst));
}

void ipv6_input(struct pbuf *p)
{
	const uint8_t *h = p->head + p->start;
	unsigned have = p->end - p->start, payload;

	if (have < 40)
		goto bad;
	payload = get_be16(h + 4);
	if (payload + 40 > have + p->len)
		goto bad;
	if (payload + 40 < have) {
		p->end = (uint16_t)(p->start + payload + 40);
		p->len = 0;
	} else {
		p->len = payload + 40 - have;
	}
	p->src = addr_from_v6(h + 8);
	p->dst = addr_from_v6(h + 24);
	p->tos = (uint8_t)(get_be16(h) >> 4);
	p->ttl = h[7];
	if (addr_is_multicast(&p->src) || addr_is_v4(&p->src) || addr_is_v4(&p->dst) ||
	    (!p->dev->loopback && (addr_is_loopback(&p->src) || addr_is_loopback(&p->dst))) ||
	    !for_us(p))
		goto bad;
	p->next_at = 6;
	p->th = p->start + 40;
	if (unlikely(ipv6_is_extension(h[6]))) {
		p = ipv6_extensions(p);
		if (!p)
			return;
	}
	p->proto = p->head[p->nh + p->next_at];
	if (p->proto == IPPROTO_TCP && addr_is_multicast(&p->dst))
		goto bad;
	ip_deliver(p);
	return;
bad:
	net_count(ip_bad);
	pbuf_free(p);
}
