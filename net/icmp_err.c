/* SPDX-License-Identifier: MIT */
/*
 * ICMP errors that come back: net/icmp_err.h.
 *
 * Reads the quoted packet, which may be cut off anywhere and need not be ours,
 * and finds the protocol that can tell.
 */
#include "net/icmp_err.h"
#include "net/ip.h"
#include "kernel/errno.h"

#define QUOTED_MIN 8u /* bytes of the quoted transport header: ports, sequence number */

/* Errno and finality of an IPv4 destination unreachable, by code (RFC 1122 section 4.2.3.9). */
static const struct {
	int err;
	bool hard;
} unreach4[] = {
	{ ENETUNREACH, false },	 { EHOSTUNREACH, false }, { ENOPROTOOPT, true },
	{ ECONNREFUSED, true },	 { EMSGSIZE, false },	  { EOPNOTSUPP, false },
	{ ENETUNREACH, false },	 { EHOSTDOWN, false },	  { ENONET, false },
	{ ENETUNREACH, true },	 { EHOSTUNREACH, true },  { ENETUNREACH, false },
	{ EHOSTUNREACH, false }, { EHOSTUNREACH, true },  { EHOSTUNREACH, true },
	{ EHOSTUNREACH, true },
};
static const struct {
	int err;
	bool hard;
} unreach6[] = {
	{ ENETUNREACH, false }, { EACCES, true }, { EHOSTUNREACH, false }, { EHOSTUNREACH, false },
	{ ECONNREFUSED, true }, { EACCES, true }, { EACCES, true },
};

/* Next smaller MTU of a path whose router does not name it (RFC 1191 section 7.1). */
static unsigned plateau(unsigned total)
{
	static const uint16_t mtus[] = { 32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68 };

	for (unsigned i = 0; i < ARRAY_SIZE(mtus); i++) {
		if (mtus[i] < total)
			return mtus[i];
	}
	return 68;
}

/* What the message says.  False: nothing that anybody acts on. */
static bool read_message(const uint8_t *h, bool v4, unsigned quoted_total, struct icmp_error *e)
{
	e->type = h[0];
	e->code = h[1];
	if (v4 && e->type == ICMP4_UNREACH && e->code < ARRAY_SIZE(unreach4)) {
		e->err = unreach4[e->code].err;
		e->hard = unreach4[e->code].hard;
		if (e->err == EMSGSIZE) {
			e->mtu = get_be16(h + 6);
			if (!e->mtu)
				e->mtu = plateau(quoted_total);
			return e->mtu >= 68;
		}
		return true;
	}
	if (!v4 && e->type == ICMP6_UNREACH && e->code < ARRAY_SIZE(unreach6)) {
		e->err = unreach6[e->code].err;
		e->hard = unreach6[e->code].hard;
		return true;
	}
	if (!v4 && e->type == ICMP6_TOO_BIG) {
		e->err = EMSGSIZE;
		e->mtu = get_be32(h + 4);
		return e->mtu >= 1280;
	}
	if (e->type == (v4 ? ICMP4_TIME : ICMP6_TIME)) {
		e->err = EHOSTUNREACH;
		return true;
	}
	if (e->type == (v4 ? ICMP4_PARAM : ICMP6_PARAM)) {
		e->err = EPROTO;
		e->hard = !v4;
		return true;
	}
	return false; /* source quench (RFC 6633), redirects (a router's business), news to us */
}

/*
 * Finds the quoted packet's transport header in @q (@have bytes).  Return: its
 * offset, or 0: cut off before it, malformed, a later fragment.
 */
static unsigned quoted_transport(const uint8_t *q, unsigned have, struct icmp_error *e)
{
	unsigned at = 40;

	if (have >= 20 && q[0] >> 4 == 4) {
		at = (q[0] & 15) * 4u;
		e->proto = q[9];
		e->src = addr_from_v4(q + 12);
		e->dst = addr_from_v4(q + 16);
		return at >= 20 && !(get_be16(q + 6) & 0x1fff) ? at : 0;
	}
	if (have < 40 || q[0] >> 4 != 6)
		return 0;
	e->proto = q[6];
	e->src = addr_from_v6(q + 8);
	e->dst = addr_from_v6(q + 24);
	if (e->proto == IPPROTO_FRAGMENT &&
	    have >= 48) { /* the one extension header that we send */
		if (get_be16(q + 42) & 0xfff8)
			return 0;
		e->proto = q[40];
		at = 48;
	}
	return at;
}

static void tell(const struct icmp_error *e)
{
	switch (e->proto) {
	case IPPROTO_TCP:
		tcp_icmp_error(e);
		break;
	case IPPROTO_UDP:
		udp_icmp_error(e);
		break;
	default:
		raw_icmp_error(e);
		break;
	}
}

void icmp_err_input(const struct pbuf *in)
{
	const uint8_t *h = in->head + in->th, *q = h + 8;
	struct icmp_error e = { .from = in->src };
	unsigned have = in->end - in->th - 8, at;
	bool v4 = addr_is_v4(&in->src);
	struct pbuf quote;

	at = quoted_transport(q, have, &e);
	if (!at || at + QUOTED_MIN > have || addr_is_v4(&e.src) != v4 ||
	    !read_message(h, v4, v4 ? get_be16(q + 2) : 0, &e) || !ifaddr_is_local(&e.src)) {
		net_count(icmp_errors_bad);
		return;
	}
	net_count(icmp_errors_in);
	e.sport = get_be16(q + at);
	e.dport = get_be16(q + at + 2);
	e.seq = get_be32(q + at + 4);
	if (e.proto == IPPROTO_ICMP || e.proto == IPPROTO_ICMPV6) {
		e.sport = get_be16(q + at + 4);
		e.dport = 0;
	}
	quote = *in;
	quote.th = (uint16_t)(in->th + 8 + at);
	e.quote = &quote;
	tell(&e);
}

void icmp_err_local(const struct pbuf *p, int err)
{
	const uint8_t *h = p->head + p->th;
	struct icmp_error e = { .src = p->src,
				.dst = p->dst,
				.from = p->src,
				.proto = p->proto,
				.err = err,
				.quote = p };

	if (p->end < p->th + QUOTED_MIN)
		return;
	e.sport = get_be16(h);
	e.dport = get_be16(h + 2);
	e.seq = get_be32(h + 4);
	if (e.proto == IPPROTO_ICMP || e.proto == IPPROTO_ICMPV6) {
		e.sport = get_be16(h + 4);
		e.dport = 0;
	}
	tell(&e);
}
