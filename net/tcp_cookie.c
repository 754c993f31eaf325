/* SPDX-License-Identifier: MIT */
/*
 * SYN cookies (RFC 4987 section 3.6): when the queue of half-open requests is
 * full, the state goes into our initial sequence number, which the peer's
 * acknowledgement brings back:
 *
 *	bits 27..31  the minute (of 64 s) modulo 32
 *	bits 24..26  index of the peer's segment size in a table
 *	bits  0..23  a secret function of the addresses, the peer's number and these
 *
 * What else the SYN offered goes into the low six bits of our timestamp, if the
 * peer has timestamps; without them the connection does without the rest.
 * A cookie is good for 64 to 128 seconds.
 */
#include "net/tcp_listen.h"
#include "kernel/param.h"

/* 0 never, 1 when the queue of half-open requests is full, 2 always. */
static unsigned syn_cookies = 1;
PARAM_UINT("net.tcp.syncookies", syn_cookies, 0, 2, PARAM_RW,
	   "SYN cookies: 0 never, 1 when the SYN queue is full, 2 always");

#define PERIOD       (64 * NSEC_PER_SEC)
#define TS_BITS      6u
#define TS_MASK      ((1u << TS_BITS) - 1)
#define TS_NO_WSCALE 15u      /* low four bits: the peer's window scale */
#define TS_SACK      (1u << 4)
#define TS_ECN       (1u << 5)

/* Sizes that are common on the way: below a tunnel, Ethernet, jumbo frames, loopback. */
static const uint16_t sizes[8] = { 536, 1220, 1340, 1400, 1440, 1460, 8940, 65464 };

static uint32_t secret(const struct ep *e, uint32_t irs, unsigned minute, unsigned size)
{
	uint64_t w[6] = { e->laddr.q[0], e->laddr.q[1], e->raddr.q[0], e->raddr.q[1],
			  (uint64_t)e->lport << 16 | e->rport,
			  (uint64_t)irs << 32 | (minute & 0xffffff) << 8 | size };

	return (uint32_t)(net_hash(w, 6) >> 40);
}

static uint32_t cookie(const struct ep *e, uint32_t irs, unsigned minute, unsigned size)
{
	return (minute & 31) << 27 | size << 24 | secret(e, irs, minute, size);
}

static void addresses(struct ep *e, const struct pbuf *p)
{
	memset(e, 0, sizeof(*e));
	e->laddr = p->dst;
	e->raddr = p->src;
	e->lport = p->tcp.dport;
	e->rport = p->tcp.sport;
}

bool tcp_cookie_syn(struct tcp_sock *l, const struct pbuf *p, bool full)
{
	unsigned mode = __atomic_load_n(&syn_cookies, __ATOMIC_RELAXED), size = 0;
	uint64_t now = clock_ns();
	uint32_t ts = tcp_ts(now);
	struct tcp_offer o;
	struct ep e;

	if (mode < (full ? 1 : 2))
		return false;
	addresses(&e, p);
	tcp_offer_read(&o, p);
	while (size < ARRAY_SIZE(sizes) - 1 && sizes[size + 1] <= o.mss)
		size++;
	if (o.opts & TCP_OPT_TS) {
		uint32_t bits = (o.opts & TCP_OPT_WSCALE ? o.wscale : TS_NO_WSCALE) |
				(o.opts & TCP_OPT_SACKOK ? TS_SACK : 0) |
				(o.opts & TCP_OPT_ECN ? TS_ECN : 0);

		/* Never ahead of the clock: the connection's timestamps must not go back. */
		ts = (ts & TS_MASK) >= bits ? (ts & ~TS_MASK) | bits
					    : ((ts - TS_MASK - 1) & ~TS_MASK) | bits;
	} else {
		o.opts = 0;
	}
	o.iss = cookie(&e, o.irs, (unsigned)(now / PERIOD), size);
	net_count(tcp_cookies_sent);
	atomic_store_explicit(&l->listener->cookie_ns, now, memory_order_relaxed);
	tcp_send_syn_ack(l, &e, &o, ts);
	return true;
}

/* Is @iss a cookie that we made for this peer?  Fills in what it says. */
static bool cookie_good(const struct ep *e, uint32_t iss, struct tcp_offer *o, uint64_t now)
{
	unsigned minute = (unsigned)(now / PERIOD), size = iss >> 24 & 7;

	if (iss >> 27 != (minute & 31))
		minute--;
	if (cookie(e, o->irs, minute, size) != iss)
		return false;
	o->iss = iss;
	o->mss = sizes[size];
	return true;
}

bool tcp_cookie_ack(struct tcp_sock *l, struct pbuf *p)
{
	uint64_t now = clock_ns();
	uint64_t last = atomic_load_explicit(&l->listener->cookie_ns, memory_order_relaxed);
	struct tcp_offer o = { .irs = p->tcp.seq - 1, .dev = p->dev };
	struct tcp_sock *tp;
	struct ep e;

	/* Only while cookies are about: else every stray acknowledgement were a guess at one. */
	if (!last || now - last > 2 * PERIOD || (p->tcp.tcp_flags & (TH_SYN | TH_RST)))
		return false;
	addresses(&e, p);
	if (!cookie_good(&e, p->tcp.ack - 1, &o, now)) {
		net_count(tcp_cookies_bad);
		return false;
	}
	net_count(tcp_cookies_good);
	if (p->tcp.opts & TCP_OPT_TS) {
		uint32_t bits = p->tcp.tsecr & TS_MASK;

		o.opts = TCP_OPT_TS | (bits & TS_SACK ? TCP_OPT_SACKOK : 0) |
			 (bits & TS_ECN ? TCP_OPT_ECN : 0);
		o.ts_recent = p->tcp.tsval;
		if ((bits & 15) != TS_NO_WSCALE) {
			o.opts |= TCP_OPT_WSCALE;
			o.wscale = bits & 15;
		}
	}
	if (tcp_accept_full(l->listener))
		goto drop;
	tp = tcp_child(l, &e, &o, now);
	if (!tp) {
		net_count(tcp_no_memory);
		goto drop;
	}
	if (ep_insert(&tp->ep, false)) {
		/* Another thread was faster: its connection gets the segment. */
		tcp_set_state(tp, TCP_CLOSE);
		tcp_release(tp);
		tcp_put(tp);
		tcp_input(p);
		return true;
	}
	tcp_child_ready(l, tp, p);
	return true;
drop:
	pbuf_free(p);
	return true;
}
