/* SPDX-License-Identifier: MIT */
/*
 * Acknowledgements: what they free, what they say about the network and about
 * the peer's window (RFC 9293 section 3.10.7.4, RFC 5961, 6582, 6675).
 */
#include "net/tcp.h"

/* @n bytes from @s on have left the scoreboard. */
static void uncount(struct tcp_sock *tp, const struct tcp_seg *s, uint32_t n)
{
	if (s->flags & SEG_SACKED)
		tp->sacked -= n;
	if (s->flags & SEG_LOST)
		tp->lost -= n;
	if (s->flags & SEG_RETRANS)
		tp->retrans -= n;
}

/* @s has arrived: not known before. */
static inline void arrived(struct tcp_sock *tp, const struct tcp_seg *s, const struct pbuf *p,
			   uint64_t now, struct tcp_ack_info *a)
{
	a->delivered += seg_span(s);
	if (s->tx == 1) { /* Karn: only what was sent once */
		a->rtt = max(now - s->sent_ns, 1ull);
		a->first_tx = true;
	}
	if (tp->opts & TCP_OPT_SACKOK)
		tcp_rack_delivered(tp, s, p, now);
}

/* Takes what the acknowledgement covers off the send queue. */
static void clean_queue(struct tcp_sock *tp, const struct pbuf *p, uint64_t now,
			struct tcp_ack_info *a)
{
	uint32_t ack = p->tcp.ack;
	struct tcp_seg *s, *n;

	list_for_each_entry_safe (s, n, &tp->txq, link) {
		uint32_t span = seg_span(s);

		if (s == tp->tx_next)
			break;
		if (seq_gt(s->seq + span, ack)) {
			uint32_t part = ack - s->seq;

			if (!seq_lt(s->seq, ack) || part > s->len)
				break;
			uncount(tp, s, part);
			if (!(s->flags & SEG_SACKED)) {
				struct tcp_seg head = { .seq = s->seq,
							.len = part,
							.tx = s->tx,
							.sent_ns = s->sent_ns };

				arrived(tp, &head, p, now, a);
			}
			s->seq += part;
			s->off += part;
			s->len -= part;
			break;
		}
		uncount(tp, s, span);
		if (s->flags & SEG_SACKED) {
			tp->nr_sacked--;
		} else {
			arrived(tp, s, p, now, a);
		}
		tcp_seg_free(tp, s);
	}
	/* A timestamp tells which transmission was answered (RFC 7323 section 4.1), in ms. */
	if (!a->rtt && (tp->opts & TCP_OPT_TS) && (p->tcp.opts & TCP_OPT_TS) && p->tcp.tsecr) {
		uint32_t ms = tcp_ts(now) - p->tcp.tsecr;

		if (ms < TCP_RTO_MAX / NSEC_PER_MSEC)
			a->rtt = max(ms, 1u) * NSEC_PER_MSEC;
	}
}

/**
 * tcp_ack - process the acknowledgement and window of a segment
 * Return: false if the segment is to be dropped (it acknowledges what was never sent).
 */
bool tcp_ack(struct tcp_sock *tp, struct pbuf *p, uint64_t now)
{
	uint32_t ack = p->tcp.ack, acked, flight, wnd;
	struct tcp_ack_info a = { 0 };
	bool window_moved = false, dup;

	if (unlikely(seq_gt(ack, tp->snd_nxt)) &&
	    !(ack == tp->snd_nxt + 1 && tcp_claim_probe(tp))) {
		tcp_challenge_ack(tp, now);
		return false;
	}
	flight = tp->snd_nxt - tp->snd_una;
	if (seq_lt(ack, tp->snd_una)) {
		if (tp->snd_una - ack > tp->snd_max_wnd) { /* RFC 5961 section 5 */
			tcp_challenge_ack(tp, now);
			return false;
		}
		tcp_sack_update(tp, p, now, &a);
		tp->delivered += a.delivered;
		if (a.sacked || a.dsack)
			tcp_congestion(tp, p, &a, false, now);
		return true;
	}
	wnd = p->tcp.wnd << tp->snd_wscale;
	if (seq_lt(tp->snd_wl1, p->tcp.seq) ||
	    (tp->snd_wl1 == p->tcp.seq && seq_leq(tp->snd_wl2, ack))) {
		window_moved = wnd != tp->snd_wnd;
		tp->snd_wnd = wnd;
		tp->snd_wl1 = p->tcp.seq;
		tp->snd_wl2 = ack;
		if (wnd > tp->snd_max_wnd)
			tp->snd_max_wnd = wnd;
		if (window_moved && wnd && tp->probe_at) {
			tp->probe_at = 0;
			tp->backoff = 0;
		}
	}
	acked = ack - tp->snd_una;
	a.acked = acked;
	if (acked) {
		clean_queue(tp, p, now, &a);
		tp->snd_una = ack;
		tp->bytes_acked_total += acked;
		tp->backoff = 0;
		tp->retries = 0;
		tp->rto_probes = 0;
		if (a.rtt)
			tcp_rtt_sample(tp, a.rtt, now);
		if (tp->snd_una == tp->snd_nxt)
			tp->rto_at = 0;
		else
			tcp_rto_restart(tp, now);
	}
	/* After the queue is clean: what came together with the first report was not reordered. */
	if (unlikely(p->tcp.nr_sack))
		tcp_sack_update(tp, p, now, &a);
	tp->delivered += a.delivered;
	if (likely(a.delivered)) {
		tcp_rate_sample(tp, now);
		if (unlikely(tp->opts & TCP_OPT_ECN) && (p->tcp.tcp_flags & TH_ECE))
			tp->delivered_ce += a.delivered;
	}
	if (acked && tp->snd_una == tp->write_seq)
		tcp_limited(tp, LIMIT_NONE, now);
	tp->probes_out = 0;
	if (unlikely(tp->tlp_out))
		tcp_tlp_acked(tp, p, &a);
	dup = !acked && !p->len && !window_moved && flight &&
	      !(p->tcp.tcp_flags & (TH_SYN | TH_FIN));
	if (flight)
		tcp_congestion(tp, p, &a, dup, now);
	if (unlikely(tp->opts & TCP_OPT_ECN))
		tcp_ecn_echoed(tp, p);
	if (acked)
		tcp_tlp_arm(tp, now);
	/*
	 * The answer to a probe shows that the time-out was a loss.  What was sent
	 * before the probe is no answer: both ends have the same clock.
	 */
	if (tp->rto_probes && !acked && flight && ack == tp->snd_una && tp->ca == CA_OPEN &&
	    (!(p->tcp.opts & TCP_OPT_TS) || (int32_t)(p->tcp.tsval - tp->probe_ts) >= 0)) {
		tp->rto_probes = 0;
		net_count(tcp_timeouts);
		tcp_enter_loss(tp, now);
		tcp_rto_restart(tp, now);
	}
	if (acked) {
		unsigned sndbuf = atomic_load_explicit(&tp->sk.sndbuf, memory_order_relaxed);

		tp->soft_err = 0;
		if (!tp->loopback)
			tp->more = false; /* MSG_MORE holds bytes back while nothing else happens */
		/* Room for two congestion windows, as long as memory is easy. */
		if (!tp->sk.sndbuf_locked && sndbuf < TCP_SNDBUF_MAX && sndbuf < 2 * tp->cwnd &&
		    !sock_mem_pressure(&tp->sk.mem) && !tcp_memory_short(tp)) {
			sndbuf = min(2 * tp->cwnd, TCP_SNDBUF_MAX);
			atomic_store_explicit(&tp->sk.sndbuf, sndbuf, memory_order_relaxed);
		}
		/* Writers wake when a third of the buffer is free: fewer, longer runs. */
		if (atomic_load_explicit(&tp->wmem, memory_order_relaxed) <= sndbuf - sndbuf / 3)
			tp->wake_wr = true;
		if (tp->frag && tp->snd_una == tp->write_seq)
			tcp_frag_idle(tp);
	}
	return true;
}
