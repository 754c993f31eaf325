/* SPDX-License-Identifier: MIT */
/*
 * ICMP for IPv4 (RFC 792) and IPv6 (RFC 4443): echo replies, port-unreachable
 * in both directions.
 */
#include "net/ip.h"
#include "net/dgram.h"
#include "net/ether.h"

#define ICMP4_ECHO_REPLY 0
#define ICMP4_UNREACH    3
#define ICMP4_ECHO       8
#define ICMP6_UNREACH    1
#define ICMP6_ECHO       128
#define ICMP6_ECHO_REPLY 129
#define QUOTE_MAX        128u /* bytes of the offending packet that we send back, in head[] */
#define ICMP_ERROR_GAP   (NSEC_PER_MSEC) /* at most a thousand errors a second and CPU (RFC 4443 2.4 f) */

static DEFINE_PER_CPU(uint64_t, icmp_last_error);

static void set_checksum(struct pbuf *p, uint8_t proto)
{
	uint8_t *h = p->head + p->th;
	uint16_t sum;

	put_be16(h + 2, 0);
	if (proto == IPPROTO_ICMPV6) {
		sum = pbuf_csum(p, proto);
	} else { /* ICMP for IPv4 has no pseudo-header: take it out again */
		uint32_t s = (uint16_t)~pbuf_csum(p, proto), ps;

		ps = csum_pseudo(&p->src, &p->dst, pbuf_transport_len(p), proto);
		sum = csum_fold(s + csum_fold(ps));
	}
	memcpy(h + 2, &sum, 2);
}

/* Sends an ICMP packet whose header begins at p->th. Consumes. */
static void icmp_send(struct pbuf *p)
{
	uint8_t proto = addr_is_v4(&p->dst) ? IPPROTO_ICMP : IPPROTO_ICMPV6;

	set_checksum(p, proto);
	net_count(icmp_out);
	ip_output(p, proto, IP_TTL_DEFAULT, 0);
}

static void echo(struct pbuf *in)
{
	struct pbuf *p;
	unsigned hlen = in->end - in->th;

	if (addr_is_multicast(&in->dst) || addr_is_any(&in->src) || !ifaddr_is_local(&in->dst))
		return;
	p = pbuf_alloc(56);
	if (!p)
		return;
	if (hlen > PBUF_HEAD - 56u) {
		pbuf_free(p);
		return;
	}
	p->src = in->dst;
	p->dst = in->src;
	p->th = p->start;
	memcpy(pbuf_put(p, hlen), in->head + in->th, hlen);
	p->head[p->th] = addr_is_v4(&in->src) ? ICMP4_ECHO_REPLY : ICMP6_ECHO_REPLY;
	if (in->data) {
		pdata_get(in->data);
		p->data = in->data;
		p->off = in->off;
		p->len = in->len;
	}
	icmp_send(p);
}

void icmp_port_unreachable(const struct pbuf *in)
{
	unsigned quote = min(min(in->end - in->nh, QUOTE_MAX), (unsigned)(PBUF_HEAD - 56 - 8));
	bool v4 = addr_is_v4(&in->dst);
	uint64_t now = clock_ns();
	struct pbuf *p;
	uint8_t *h;

	if (addr_is_any(&in->src) || addr_is_multicast(&in->src) ||
	    (!in->dev->loopback && now - this_cpu(icmp_last_error) < ICMP_ERROR_GAP))
		return;
	this_cpu(icmp_last_error) = now;
	p = pbuf_alloc(56);
	if (!p)
		return;
	p->src = in->dst;
	p->dst = in->src;
	p->th = p->start;
	h = pbuf_put(p, 8 + quote);
	memset(h, 0, 8);
	h[0] = v4 ? ICMP4_UNREACH : ICMP6_UNREACH;
	h[1] = v4 ? 3 : 4;
	memcpy(h + 8, in->head + in->nh, quote);
	icmp_send(p);
}

/* An error that quotes one of our packets. */
static void unreachable(struct pbuf *in)
{
	const uint8_t *q = in->head + in->th + 8;
	unsigned have = in->end - in->th - 8, hlen;
	struct ip_addr src, dst;
	uint8_t proto;
	int err = ECONNREFUSED;

	if (in->end < in->th + 8u)
		return;
	if (addr_is_v4(&in->src)) {
		uint8_t code = in->head[in->th + 1];

		if (have < 28)
			return;
		hlen = (q[0] & 15) * 4u;
		if ((q[0] >> 4) != 4 || hlen < 20 || have < hlen + 8)
			return;
		proto = q[9];
		src = addr_from_v4(q + 12);
		dst = addr_from_v4(q + 16);
		if (code != 3 && code != 2) /* MUST-56: the others are no reason to give up */
			return;
	} else {
		if (have < 48 || (q[0] >> 4) != 6)
			return;
		hlen = 40;
		proto = q[6];
		src = addr_from_v6(q + 8);
		dst = addr_from_v6(q + 24);
		if (in->head[in->th + 1] != 4)
			return;
	}
	q += hlen;
	if (proto == IPPROTO_UDP)
		udp_error(&src, &dst, get_be16(q), get_be16(q + 2), err);
	else if (proto == IPPROTO_TCP)
		tcp_icmp_error(&src, &dst, get_be16(q), get_be16(q + 2), get_be32(q + 4), err);
}

void icmp_input(struct pbuf *p)
{
	bool v4 = addr_is_v4(&p->dst);
	uint8_t type;

	net_count(icmp_in);
	if (p->end < p->th + 8u)
		goto out;
	if (!(p->flags & PB_CSUM_OK)) {
		if (v4) {
			uint32_t s = (uint16_t)~pbuf_csum(p, IPPROTO_ICMP);
			uint32_t ps = csum_pseudo(&p->src, &p->dst, pbuf_transport_len(p), IPPROTO_ICMP);

			if (csum_fold(s + csum_fold(ps)))
				goto out;
		} else if (pbuf_csum(p, IPPROTO_ICMPV6)) {
			goto out;
		}
	}
	type = p->head[p->th];
	raw_input(p);
	if (type == (v4 ? ICMP4_ECHO : ICMP6_ECHO))
		echo(p);
	else if (type == (v4 ? ICMP4_UNREACH : ICMP6_UNREACH))
		unreachable(p);
	else if (!v4 && type >= 133 && type <= 137)
		nd_input(p);
out:
	pbuf_free(p);
}
