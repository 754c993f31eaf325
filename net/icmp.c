/* SPDX-License-Identifier: MIT */
/*
 * ICMP for IPv4 (RFC 792) and IPv6 (RFC 4443): received messages are checked,
 * shown to raw sockets, and answered (echo) or handed on: errors to
 * net/icmp_err.c, neighbour discovery to net/nd.c.
 */
#include "net/icmp.h"
#include "net/dgram.h"
#include "net/ether.h"
#include "net/icmp_err.h"
#include "net/ip.h"

#define QUOTE_PULL \
	80u /* bytes of an error that are looked at: its header, the quoted ones with options, 8 \
	       more */

/* Folded checksum over a message; 0 is good.  IPv4's has no pseudo-header. */
static uint16_t checksum(const struct pbuf *p)
{
	return addr_is_v4(&p->dst) ? pbuf_csum_plain(p) : pbuf_csum(p, IPPROTO_ICMPV6);
}

void icmp_send(struct pbuf *p)
{
	uint8_t *h = p->head + p->th;
	uint16_t sum;

	put_be16(h + 2, 0);
	sum = checksum(p);
	memcpy(h + 2, &sum, 2);
	net_count(icmp_out);
	ip_output(p, addr_is_v4(&p->dst) ? IPPROTO_ICMP : IPPROTO_ICMPV6, 0, 0);
}

/* The answer carries what the question did, by reference. */
static void echo(struct pbuf *in)
{
	unsigned hlen = in->end - in->th;
	struct pbuf *p;

	if (addr_is_multicast(&in->dst) || addr_is_any(&in->src) || !ifaddr_is_local(&in->dst) ||
	    hlen > PBUF_HEAD - PBUF_RESERVE)
		return;
	p = pbuf_alloc(PBUF_RESERVE);
	if (!p)
		return;
	p->src = in->dst;
	p->dst = in->src;
	p->th = p->start;
	p->flags = PB_NO_DF;
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

static bool is_error(uint8_t type, bool v4)
{
	return v4 ? type == ICMP4_UNREACH || type == ICMP4_TIME || type == ICMP4_PARAM : type < 128;
}

/* RFC 792, for hosts: the quoted packet is one of ours, the gateway on our network. */
static void redirect(const struct pbuf *p)
{
	const uint8_t *h = p->head + p->th;
	struct ip_addr gw = addr_from_v4(h + 4), src, dst;

	if (p->end < p->th + 28u || h[1] > 3 || h[8] >> 4 != 4 || !NETDEV_ETHER(p->dev))
		return;
	src = addr_from_v4(h + 20);
	dst = addr_from_v4(h + 24);
	if (ifaddr_is_local(&src) && !addr_equal(&gw, &dst))
		route_redirect(p->dev, &p->src, &dst, &gw);
}

void icmp_input(struct pbuf *p)
{
	bool v4 = addr_is_v4(&p->dst);
	uint8_t type;

	net_count(icmp_in);
	if (p->end < p->th + 8u || (!(p->flags & PB_CSUM_OK) && checksum(p)))
		goto out;
	type = p->head[p->th];
	raw_input(p);
	if (type == (v4 ? ICMP4_ECHO : ICMP6_ECHO))
		echo(p);
	else if (is_error(type, v4) && pbuf_pull(p, min(pbuf_transport_len(p), QUOTE_PULL)))
		icmp_err_input(p);
	else if (v4 && type == ICMP4_REDIRECT &&
		 pbuf_pull(p, min(pbuf_transport_len(p), QUOTE_PULL)))
		redirect(p);
	else if (!v4 && type >= 130 && type <= 143)
		nd_input(p);
out:
	pbuf_free(p);
}
