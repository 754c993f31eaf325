/* SPDX-License-Identifier: MIT */
/*
 * ICMP errors that we send: net/icmp_err.h.
 *
 * An error quotes as much as fits into 576 bytes (RFC 1812 section 4.3.2.3) or
 * 1280 (RFC 4443 section 3), the payload by reference.  The rate is bounded for
 * each peer (net/rate.h).
 */
#include "net/icmp_err.h"
#include "net/icmp.h"
#include "net/ip.h"
#include "net/rate.h"

#define QUOTE_V4    (576u - 20 - 8)
#define QUOTE_V6    (1280u - 40 - 8)

static struct rate errors = { .gap = 10 * NSEC_PER_MSEC, .burst = 20 };

/* Is @in an ICMP error itself, or something we can't tell from one? */
static bool is_error(const struct pbuf *in)
{
	uint8_t type;

	if (in->proto != IPPROTO_ICMP && in->proto != IPPROTO_ICMPV6)
		return false;
	if (in->end <= in->th)
		return true;
	type = in->head[in->th];
	if (addr_is_v4(
		    &in->src)) /* queries: echo, timestamp, information, mask, router discovery */
		return type == ICMP4_UNREACH || type == ICMP4_QUENCH || type == 5 ||
		       type == ICMP4_TIME || type == ICMP4_PARAM || type > 18;
	return type < 128;
}

static void type_and_code(enum icmp_error_kind kind, bool v4, uint8_t *type, uint8_t *code)
{
	static const struct {
		uint8_t type4, code4, type6, code6;
	} table[] = {
		[ICMP_PORT_UNREACHABLE] = { ICMP4_UNREACH, 3, ICMP6_UNREACH, 4 },
		[ICMP_PROTO_UNREACHABLE] = { ICMP4_UNREACH, 2, ICMP6_PARAM, 1 },
		[ICMP_REASSEMBLY_TIMEOUT] = { ICMP4_TIME, 1, ICMP6_TIME, 1 },
		[ICMP_BAD_HEADER] = { ICMP4_PARAM, 0, ICMP6_PARAM, 0 },
		[ICMP_BAD_OPTION] = { ICMP4_PARAM, 0, ICMP6_PARAM, 2 },
		[ICMP_SHORT_CHAIN] = { ICMP4_PARAM, 0, ICMP6_PARAM, 3 },
	};

	*type = v4 ? table[kind].type4 : table[kind].type6;
	*code = v4 ? table[kind].code4 : table[kind].code6;
}

void icmp_send_error(const struct pbuf *in, enum icmp_error_kind kind, uint32_t at)
{
	bool v4 = addr_is_v4(&in->dst);
	unsigned room = v4 ? QUOTE_V4 : QUOTE_V6, head = in->end - in->nh;
	struct pbuf *p;
	uint8_t *h;

	if (addr_is_any(&in->src) || addr_is_multicast(&in->src) || is_error(in) ||
	    ifaddr_is_broadcast(in->dev, &in->dst) ||
	    (addr_is_multicast(&in->dst) && kind != ICMP_BAD_OPTION) ||
	    (!in->dev->loopback && !rate_ok(&errors, &in->src)))
		return;
	p = pbuf_alloc(PBUF_RESERVE);
	if (!p)
		return;
	p->src = in->dst;
	p->dst = in->src;
	if (addr_is_multicast(&in->dst) && !route_source(in->dev, &in->src, &p->src)) {
		pbuf_free(p);
		return;
	}
	p->th = p->start;
	h = pbuf_put(p, 8);
	memset(h, 0, 8);
	type_and_code(kind, v4, &h[0], &h[1]);
	if (h[0] == (v4 ? ICMP4_PARAM : ICMP6_PARAM))
		put_be32(h + 4, v4 ? at << 24 : at);
	/*
	 * The quote: headers as bytes, at most as many as our head has room for; payload by
	 * reference.
	 */
	if (head > PBUF_HEAD - PBUF_RESERVE - 8u) {
		p->data = pdata_from_bytes(in->head + in->nh, head);
		p->len = p->data ? min(head, room) : 0;
	} else {
		memcpy(pbuf_put(p, head), in->head + in->nh, head);
		if (in->data && room > head && in->len) {
			pdata_get(in->data);
			p->data = in->data;
			p->off = in->off;
			p->len = min(in->len, room - head);
		}
	}
	net_count(icmp_errors_out);
	icmp_send(p);
}
