/* SPDX-License-Identifier: MIT */
/*
 * IPv6 extension headers: net/ipv6_ext.h.
 *
 * Headers come in any order (RFC 8200 section 4.1: "must accept"), but hop-by-hop
 * only first and a fragment header only once.  The first fragment must hold the
 * whole chain (RFC 7112); a fragment that is the whole datagram is no fragment
 * (RFC 6946).
 */
#include "net/ipv6_ext.h"
#include "net/frag.h"
#include "net/icmp_err.h"
#include "net/ip.h"

#define EXT_MAX     8u  /* headers in a chain; more is nobody's honest packet */
#define OPTIONS_MAX 16u /* options in a header, padding included (RFC 8504 section 5.3) */
#define OPT_PAD1    0
#define OPT_PADN    1
#define OPT_ALERT   5   /* router alert (RFC 2711): for routers */

static struct pbuf *drop(struct pbuf *p)
{
	net_count(ip_bad);
	pbuf_free(p);
	return NULL;
}

static struct pbuf *refuse(struct pbuf *p, enum icmp_error_kind kind, unsigned at)
{
	icmp_send_error(p, kind, at);
	return drop(p);
}

/* What an unknown option wants (RFC 8200 section 4.2).  False: the packet is gone. */
static bool unknown_option(struct pbuf *p, uint8_t type, unsigned at)
{
	switch (type >> 6) {
	case 0:
		return true;
	case 1:
		drop(p);
		return false;
	case 3:
		if (addr_is_multicast(&p->dst)) {
			drop(p);
			return false;
		}
	}
	refuse(p, ICMP_BAD_OPTION, at);
	return false;
}

/* Options at @at..@end from the network header.  False: the packet is gone. */
static bool options_ok(struct pbuf *p, unsigned at, unsigned end)
{
	const uint8_t *h = p->head + p->nh;

	for (unsigned n = 0; at < end; n++) {
		uint8_t type = h[at];
		unsigned len = 1;

		if (n == OPTIONS_MAX) {
			drop(p);
			return false;
		}
		if (type != OPT_PAD1) {
			if (at + 2 > end || at + 2 + h[at + 1] > end) {
				drop(p);
				return false;
			}
			len = 2u + h[at + 1];
		}
		if (type != OPT_PAD1 && type != OPT_PADN && type != OPT_ALERT &&
		    !unknown_option(p, type, at))
			return false;
		at += len;
	}
	return true;
}

/* The headers before the fragment header move up to the data behind it. */
static void cut_header(struct pbuf *p, unsigned at, unsigned next_at)
{
	uint8_t next = p->head[p->nh + at];

	memmove(p->head + p->nh + 8, p->head + p->nh, at);
	p->nh += 8;
	p->start += 8;
	p->head[p->nh + next_at] = next;
}

/* Does a first fragment's chain, from @next at @at on, end within the fragment (RFC 7112)? */
static bool chain_complete(const struct pbuf *p, uint8_t next, unsigned at)
{
	const uint8_t *h = p->head + p->nh;
	unsigned have = p->end - p->nh;

	for (unsigned n = 0; ipv6_is_extension(next) && next != IPPROTO_FRAGMENT; n++) {
		if (n == EXT_MAX || at + 8 > have)
			return false;
		next = h[at];
		at += (h[at + 1] + 1u) * 8;
	}
	return next == IPPROTO_NONE || at + 8 <= have + p->len;
}

/* The fragment header is at @at; NULL: waits for others, or dropped. */
static struct pbuf *fragment(struct pbuf *p, unsigned at)
{
	const uint8_t *h = p->head + p->nh + at;
	unsigned off = get_be16(h + 2) & 0xfff8, n, next_at = p->next_at;
	bool more = h[3] & 1;
	uint32_t id = get_be32(h + 4);

	p->proto = ipv6_is_extension(h[0]) ? 0 : h[0];
	p->th = (uint16_t)(p->nh + at + 8);
	n = pbuf_transport_len(p);
	if (!off && !more) { /* alone: RFC 6946 */
		cut_header(p, at, next_at);
		return p;
	}
	if (more && n % 8)
		return refuse(p, ICMP_BAD_HEADER, 4); /* payload length */
	if (off + n + at - 40 > IP_DATAGRAM_MAX)
		return refuse(p, ICMP_BAD_HEADER, at + 2);
	if (!off && !chain_complete(p, h[0], at + 8))
		return refuse(p, ICMP_SHORT_CHAIN, next_at);
	p = frag_input(p, id, 0, off, more);
	if (!p)
		return NULL;
	/* The first fragment's headers count; its own fragment header is right before the data. */
	cut_header(p, p->th - p->nh - 8u, p->next_at);
	n = pbuf_transport_len(p) + p->th - p->nh - 40u;
	if (n > IP_DATAGRAM_MAX)
		return drop(p);
	put_be16(p->head + p->nh + 4, (uint16_t)n);
	p->head[p->nh + 1] = (uint8_t)((p->head[p->nh + 1] & 0x0f) | p->tos << 4);
	return p;
}

struct pbuf *ipv6_extensions(struct pbuf *p)
{
	bool was_fragment = false;

	for (unsigned n = 0;; n++) {
		const uint8_t *h = p->head + p->nh;
		unsigned at = p->th - p->nh, len;
		uint8_t next = h[p->next_at];

		if (!ipv6_is_extension(next))
			return pbuf_pull_transport(p) ? p : drop(p);
		if (n == EXT_MAX || !pbuf_pull(p, 8))
			return drop(p);
		if (next == EXT_HOP_BY_HOP && at != 40)
			return refuse(p, ICMP_PROTO_UNREACHABLE, p->next_at);
		if (next == IPPROTO_FRAGMENT) {
			if (was_fragment)
				return drop(p);
			p = fragment(p, at);
			if (!p)
				return NULL;
			was_fragment = true;
			continue;
		}
		len = (h[at + 1] + 1u) * 8;
		if (!pbuf_pull(p, len))
			return drop(p);
		if (next == EXT_ROUTING &&
		    h[at + 3] != 0) /* segments left: we are no router (RFC 5095) */
			return refuse(p, ICMP_BAD_HEADER, at + 2);
		if (next != EXT_ROUTING && !options_ok(p, at + 2, at + len))
			return NULL;
		p->next_at = (uint16_t)at;
		p->th += (uint16_t)len;
	}
}
