/* SPDX-License-Identifier: MIT */
/* IPv4 headers (RFC 791): net/ip.h. */
#include "net/ip.h"
#include "net/ether.h"

void ipv4_push_header(struct pbuf *p, uint8_t proto, uint8_t ttl, uint8_t tos)
{
	uint32_t total = p->end - p->start + p->len + 20;
	uint8_t *h = pbuf_push(p, 20);

	h[0] = 0x45;
	h[1] = tos;
	put_be16(h + 2, (uint16_t)total);
	put_be32(h + 4, 0x4000); /* identification 0, do not fragment: RFC 6864 */
	h[8] = ttl;
	h[9] = proto;
	h[10] = 0;
	h[11] = 0;
	memcpy(h + 12, &p->src.b[12], 4);
	memcpy(h + 16, &p->dst.b[12], 4);
	if (!p->dev->loopback) {
		uint16_t sum = csum_fold(csum_add(0, h, 20, false));

		memcpy(h + 10, &sum, 2);
	}
	p->nh = p->start;
}

void ipv4_input(struct pbuf *p)
{
	const uint8_t *h = p->head + p->start;
	unsigned have = p->end - p->start, hlen, total;

	if (have < 20)
		goto bad;
	hlen = (h[0] & 15) * 4;
	total = get_be16(h + 2);
	if (hlen < 20 || hlen > have || total < hlen || total > have + p->len)
		goto bad;
	if (!p->dev->loopback && csum_fold(csum_add(0, h, hlen, false)))
		goto bad;
	if (get_be16(h + 6) & 0x3fff) { /* more fragments, or an offset */
		net_count(ip_fragments);
		pbuf_free(p);
		return;
	}
	/* Link-layer padding behind the datagram. */
	if (total < have) {
		p->end = p->start + total;
		p->len = 0;
	} else {
		p->len = total - have;
	}
	p->src = addr_from_v4(h + 12);
	p->dst = addr_from_v4(h + 16);
	p->tos = h[1];
	p->ttl = h[8];
	p->proto = h[9];
	p->th = p->start + hlen;
	if (addr_is_multicast(&p->src) || (!p->dev->loopback && addr_is_loopback(&p->src)))
		goto bad;
	if (p->proto == IPPROTO_UDP && NETDEV_ETHER(p->dev) && dhcp_input(p))
		return;
	if (unlikely(!ifaddr_is_local(&p->dst))) {
		/* To everybody: only for datagrams. */
		if (p->proto == IPPROTO_TCP ||
		    (!ifaddr_is_broadcast(p->dev, &p->dst) && p->dst.d[3] != be32(0xe0000001)))
			goto bad;
	} else if (unlikely(!p->dev->loopback && ifaddr_is_local(&p->src))) {
		goto bad; /* our own address from outside */
	}
	ip_deliver(p);
	return;
bad:
	net_count(ip_bad);
	pbuf_free(p);
}
