/* SPDX-License-Identifier: MIT */
/*
 * TCP headers and options: parsed without reading past the header, whatever
 * lengths a segment claims (RFC 9293 section 3.2, RFC 7323, RFC 2018).
 */
#include "net/tcp.h"

#define OPT_EOL    0
#define OPT_NOP    1
#define OPT_MSS    2
#define OPT_WSCALE 3
#define OPT_SACKOK 4
#define OPT_SACK   5
#define OPT_TS     8

static void parse_options(struct pbuf *p, const uint8_t *o, unsigned len)
{
	unsigned at = 0;

	/* What nearly every segment has: NOP NOP timestamps. */
	if (len == 12 && get_be32(o) == 0x0101080au) {
		p->tcp.opts = TCP_OPT_TS;
		p->tcp.tsval = get_be32(o + 4);
		p->tcp.tsecr = get_be32(o + 8);
		return;
	}
	while (at < len) {
		unsigned kind = o[at], olen;

		if (kind == OPT_EOL)
			return;
		if (kind == OPT_NOP) {
			at++;
			continue;
		}
		if (at + 2 > len)
			return;
		olen = o[at + 1];
		if (olen < 2 || at + olen > len)
			return; /* an illegal length ends the options (MUST-7) */
		switch (kind) {
		case OPT_MSS:
			if (olen == 4 && (p->tcp.tcp_flags & TH_SYN)) {
				p->tcp.mss = get_be16(o + at + 2);
				p->tcp.opts |= TCP_OPT_MSS;
			}
			break;
		case OPT_WSCALE:
			if (olen == 3 && (p->tcp.tcp_flags & TH_SYN)) {
				p->tcp.wscale = min_t(uint8_t, o[at + 2], 14);
				p->tcp.opts |= TCP_OPT_WSCALE;
			}
			break;
		case OPT_SACKOK:
			if (olen == 2 && (p->tcp.tcp_flags & TH_SYN))
				p->tcp.opts |= TCP_OPT_SACKOK;
			break;
		case OPT_SACK:
			if (olen >= 10 && (olen - 2) % 8 == 0 && !(p->tcp.tcp_flags & TH_SYN)) {
				p->tcp.nr_sack = (uint8_t)min((olen - 2) / 8, 4u);
				p->tcp.sack_off = (uint16_t)(o + at + 2 - p->head);
			}
			break;
		case OPT_TS:
			if (olen == 10) {
				p->tcp.tsval = get_be32(o + at + 2);
				p->tcp.tsecr = get_be32(o + at + 6);
				p->tcp.opts |= TCP_OPT_TS;
			}
			break;
		}
		at += olen;
	}
}

bool tcp_parse(struct pbuf *p)
{
	const uint8_t *h = p->head + p->th;
	unsigned have = p->end - p->th, hlen;

	if (p->end < p->th + 20)
		return false;
	hlen = (h[12] >> 4) * 4;
	if (hlen < 20 || hlen > have)
		return false;
	/* Payload is by reference only: bytes behind the header in head[] would be lost. */
	if (have > hlen) {
		struct pdata *d = pdata_from_bytes(h + hlen, have - hlen), *both;

		if (!d)
			return false;
		if (p->len) {
			both = pdata_join(d, 0, d->len, p->data, p->off, p->len);
			pdata_put(d);
			if (!both)
				return false;
			d = both;
		}
		pdata_put(p->data);
		p->data = d;
		p->off = 0;
		p->len = d->len;
		if (!(p->flags & PB_CSUM_OK)) {
			p->end = p->th + hlen;
			if (pbuf_csum(p, IPPROTO_TCP))
				return false;
			p->flags |= PB_CSUM_OK;
		}
		p->end = p->th + hlen;
	} else if (!(p->flags & PB_CSUM_OK)) {
		if (pbuf_csum(p, IPPROTO_TCP)) {
			net_count(tcp_csum);
			return false;
		}
		p->flags |= PB_CSUM_OK;
	}
	p->tcp.sport = get_be16(h);
	p->tcp.dport = get_be16(h + 2);
	p->tcp.seq = get_be32(h + 4);
	p->tcp.ack = get_be32(h + 8);
	p->tcp.tcp_flags = h[13];
	p->tcp.wnd = get_be16(h + 14);
	p->tcp.urg = get_be16(h + 18);
	p->tcp.opts = 0;
	p->tcp.nr_sack = 0;
	p->tcp.mss = 0;
	p->tcp.wscale = 0;
	if (hlen > 20)
		parse_options(p, h + 20, hlen - 20);
	return true;
}

/* Writes options for which @opts has bits; @o has room for 40.  Return: bytes, a multiple of 4. */
unsigned tcp_put_options(uint8_t *o, unsigned opts, bool syn, uint32_t mss, uint8_t wscale,
			 uint32_t tsval, uint32_t tsecr)
{
	bool sack = syn && (opts & TCP_OPT_SACKOK);
	unsigned n = 0;

	if (syn) {
		o[0] = OPT_MSS;
		o[1] = 4;
		put_be16(o + 2, (uint16_t)min_t(uint32_t, mss, 65535));
		n = 4;
	}
	if (sack || (opts & TCP_OPT_TS)) { /* a word of its own, or in front of the timestamps */
		o[n] = OPT_NOP;
		o[n + 1] = OPT_NOP;
		if (sack) {
			unsigned at = opts & TCP_OPT_TS ? n : n + 2;

			o[at] = OPT_SACKOK;
			o[at + 1] = 2;
		}
		n += sack && !(opts & TCP_OPT_TS) ? 4 : 2;
	}
	if (opts & TCP_OPT_TS) {
		o[n] = OPT_TS;
		o[n + 1] = 10;
		put_be32(o + n + 2, tsval);
		put_be32(o + n + 6, tsecr);
		n += 10;
	}
	if (syn && (opts & TCP_OPT_WSCALE)) {
		o[n] = OPT_NOP;
		o[n + 1] = OPT_WSCALE;
		o[n + 2] = 3;
		o[n + 3] = wscale;
		n += 4;
	}
	return n;
}
