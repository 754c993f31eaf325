/* SPDX-License-Identifier: MIT */
/* IPv4 headers (RFC 791): net/ip.h. */
#include "net/ether.h"
#include "net/frag.h"
#include "net/icmp_err.h"
#include "net/mcast.h"

void ipv4_push_header(struct pbuf *p, uint8_t proto, uint8_t ttl, uint8_t tos)
{
	uint32_t total = p->end - p->start + p->len + 20;
	uint8_t *h = pbuf_push(p, 20);

	h[0] = 0x45;
	h[1] = tos;
	put_be16(h + 2, (uint16_t)total);
	/* A packet that nobody may cut needs no identification (RFC 6864). */
	if (unlikely(p->flags & PB_NO_DF) || pmtu_no_df(&p->dst))
		put_be32(h + 4, frag_next_id(&p->src, &p->dst) << 16);
	else
		put_be32(h + 4, 0x4000);
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

/* The header's checksum, anew. */
static void set_checksum(uint8_t *h, unsigned hlen)
{
	uint16_t sum;

	put_be16(h + 10, 0);
	sum = csum_fold(csum_add(0, h, hlen, false));
	memcpy(h + 10, &sum, 2);
}

void ipv4_set_fragment(struct pbuf *p, uint16_t id, unsigned off, bool more)
{
	uint8_t *h = p->head + p->nh;

	put_be16(h + 4, id);
	put_be16(h + 6, (uint16_t)(off / 8 | (more ? 0x2000 : 0)));
	set_checksum(h, 20);
}

/* Is the packet for this machine, and from outside if it came from there? */
static bool for_us(const struct pbuf *p)
{
	if (likely(ifaddr_is_local(&p->dst)))
		return p->dev->loopback ||
		       !ifaddr_is_local(&p->src); /* our own address from outside */
	/* To everybody: only for datagrams. */
	return p->proto != IPPROTO_TCP &&
	       (ifaddr_is_broadcast(p->dev, &p->dst) || mcast_wants(p->dev, &p->dst));
}

/* A fragment: NULL until its datagram is whole, whose header then says so. */
static struct pbuf *reassemble(struct pbuf *p, unsigned hlen)
{
	uint8_t *h = p->head + p->nh;
	unsigned off = (get_be16(h + 6) & 0x1fffu) * 8, n = pbuf_transport_len(p);
	bool more = get_be16(h + 6) & 0x2000;

	if ((more && n % 8) || hlen + off + n > IP_DATAGRAM_MAX) {
		net_count(frag_bad);
		pbuf_free(p);
		return NULL;
	}
	p = frag_input(p, get_be16(h + 4), p->proto, off, more);
	if (!p)
		return NULL;
	h = p->head + p->nh;
	hlen = p->th - p->nh; /* the first fragment's: options may differ */
	n = pbuf_transport_len(p);
	if (hlen + n > IP_DATAGRAM_MAX) {
		net_count(frag_bad);
		pbuf_free(p);
		return NULL;
	}
	put_be16(h + 2, (uint16_t)(hlen + n));
	put_be16(h + 6, 0);
	h[1] = p->tos;
	set_checksum(h, hlen);
	return p;
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
	if (unlikely(get_be16(h + 6) & 0x3fff)) { /* more fragments, or an offset */
		if (!for_us(p))
			goto bad;
		p = reassemble(p, hlen);
		if (!p)
			return;
	}
	if (p->proto == IPPROTO_UDP && NETDEV_ETHER(p->dev) && dhcp_input(p))
		return;
	if (!for_us(p))
		goto bad;
	ip_deliver(p);
	return;
bad:
	net_count(ip_bad);
	pbuf_free(p);
}
