/* SPDX-License-Identifier: MIT */
/* What TCP_INFO and `ss -i` say of a connection, and what is measured only for them. */
#include "net/tcp.h"

static uint32_t us(uint64_t ns)
{
	return (uint32_t)min_t(uint64_t, ns / 1000, UINT32_MAX);
}

static uint32_t ms_since(uint64_t then, uint64_t now)
{
	return then ? (uint32_t)((now - then) / NSEC_PER_MSEC) : 0;
}

/* Time in the present state, and before, in microseconds. */
static uint64_t limited_us(const struct tcp_sock *tp, unsigned limit, uint64_t now)
{
	uint64_t units = tp->limited[limit];

	if (tp->limit == limit)
		units += (uint32_t)(now >> TCP_LIMIT_SHIFT) - tp->limit_at;
	return (units << TCP_LIMIT_SHIFT) / 1000;
}

/*
 * The three times of TCP_INFO.  Points of time are rounded, not differences, so that
 * many short states add up to what they took together.
 */
void tcp_limit_change(struct tcp_sock *tp, uint8_t limit, uint64_t now)
{
	uint32_t at = (uint32_t)(now >> TCP_LIMIT_SHIFT), n = at - tp->limit_at;

	/* the network was empty: what is delivered from here on is a rate */
	if (tp->limit == LIMIT_NONE) {
		tp->rate_at = now;
		tp->rate_mark = (uint32_t)tp->delivered;
	} else {
		tp->limited[tp->limit] += min(n, UINT32_MAX - tp->limited[tp->limit]);
	}
	tp->limit = limit;
	tp->limit_at = at;
}

/* One sample a round trip, at most one a millisecond after the first: what was delivered in it. */
void tcp_rate_sample(struct tcp_sock *tp, uint64_t now)
{
	uint64_t ns = now - tp->rate_at;
	uint32_t bytes = (uint32_t)tp->delivered - tp->rate_mark;

	if (!ns || ns < (tp->rate ? max(tp->min_rtt, NSEC_PER_MSEC) : tp->min_rtt))
		return;
	tp->rate = bytes * NSEC_PER_SEC / ns;
	tp->rate_at = now;
	tp->rate_mark = (uint32_t)tp->delivered;
}

/* Linux's names for the states of congestion: open, CWR, recovery, loss. */
static const uint8_t ca_state[] = { [CA_OPEN] = 0, [CA_CWR] = 2, [CA_RECOVERY] = 3, [CA_LOSS] = 4 };

/* Counts of segments, from bytes. */
static void fill_segments(const struct tcp_sock *tp, struct abi_tcp_info *i)
{
	uint32_t mss = tp->mss;

	if (!mss)
		return;
	i->unacked = (tp->snd_nxt - tp->snd_una + mss - 1) / mss;
	i->sacked = (tp->sacked + mss - 1) / mss;
	i->lost = (tp->lost + mss - 1) / mss;
	i->retrans = (tp->retrans + mss - 1) / mss;
	i->snd_cwnd = max(tp->cwnd / mss, 1u);
	i->snd_ssthresh = tp->ssthresh >= UINT32_MAX / 2 ? INT32_MAX : tp->ssthresh / mss;
	i->delivered = (uint32_t)(tp->delivered / mss);
}

/**
 * tcp_fill_info - fill in struct tcp_info
 *
 * Context: owned, or the figures may be a moment apart.
 */
void tcp_fill_info(struct tcp_sock *tp, struct abi_tcp_info *i)
{
	uint64_t now = clock_ns();

	memset(i, 0, sizeof(*i));
	i->state = (uint8_t)tcp_state(tp);
	if (i->state == TCP_LISTEN) {
		i->unacked = tcp_accept_waiting(tp, &i->sacked);
		return;
	}
	i->ca_state = ca_state[tp->ca];
	i->retransmits = tp->retries;
	i->probes = tp->probes_out ? tp->probes_out : (uint8_t)min(tp->keep_probes, 255u);
	i->backoff = tp->backoff;
	i->options = (tp->opts & TCP_OPT_TS ? 1 : 0) | (tp->opts & TCP_OPT_SACKOK ? 2 : 0) |
		     (tp->opts & TCP_OPT_WSCALE ? 4 : 0) | (tp->opts & TCP_OPT_ECN ? 8 : 0);
	i->wscale = (uint8_t)(tp->snd_wscale | tp->rcv_wscale << 4);
	i->app_limited = !tp->tx_next;
	i->rto = us(tp->rto);
	i->ato = us(TCP_DELACK);
	i->snd_mss = tp->mss;
	i->rcv_mss = min(tp->adv_mss, tp->mss);
	fill_segments(tp, i);
	i->last_data_sent = ms_since(tp->last_tx_ns, now);
	i->last_data_recv = ms_since(tp->last_data_ns, now);
	i->last_ack_recv = ms_since(tp->last_rx_ns, now);
	i->pmtu = tp->dev ? ip_path_mtu(tp->dev, &tp->ep.raddr) : 0;
	i->rcv_ssthresh = tp->rcv_wnd_last;
	i->rtt = us(tp->srtt);
	i->rttvar = us(tp->rttvar);
	i->min_rtt = us(tp->min_rtt);
	i->advmss = tp->adv_mss;
	i->reordering = 3;
	i->reord_seen = tp->rack.reordered;
	i->rcv_space = atomic_load_explicit(&tp->sk.rcvbuf, memory_order_relaxed) / 2;
	i->pacing_rate = UINT64_MAX; /* nothing is paced */
	i->max_pacing_rate = UINT64_MAX;
	i->bytes_acked = tp->bytes_acked_total;
	i->bytes_received = tp->bytes_in;
	i->bytes_sent = tp->bytes_sent;
	i->bytes_retrans = tp->bytes_retrans;
	i->total_retrans = tp->total_retrans;
	i->segs_out = tp->segs_out;
	i->segs_in = tp->segs_in;
	i->data_segs_in = tp->data_segs_in;
	i->data_segs_out = tp->data_segs_out;
	i->delivered_ce = tp->mss ? (tp->delivered_ce + tp->mss - 1) / tp->mss : 0;
	i->delivery_rate = tp->rate;
	i->rwnd_limited = limited_us(tp, LIMIT_RWND, now);
	i->sndbuf_limited = limited_us(tp, LIMIT_SNDBUF, now);
	i->busy_time = limited_us(tp, LIMIT_BUSY, now) + i->rwnd_limited + i->sndbuf_limited;
	i->notsent_bytes = tp->write_seq - tp->snd_nxt;
	i->snd_wnd = tp->snd_wnd;
	i->dsack_dups = tp->dsacks;
	i->rcv_ooopack = tp->ofo_in;
}
