/* SPDX-License-Identifier: MIT */
/*
 * Acknowledgements: what they free, what they say about the network and about
 * the peer's window (RFC 9293 section 3.10.7.4, RFC 5961, 6582, 6675).
 */
#include "net/tcp.h"

/* Takes what @ack covers off the send queue.  Return: RTT sample in ns, 0 none (Karn). */
static uint64_t clean_queue(struct tcp_sock *tp, uint32_t ack, uint64_t now)
{
	struct tcp_seg *s, *n;
	uint64_t rtt = 0;

	list_for_each_entry_safe (s, n, &tp->txq, link) {
		uint32_t span = seg_span(s);

		if (s == tp->tx_next)
			break;
		if (seq_gt(s->seq + span, ack)) {
			uint32_t part = ack - s->seq;

			if (!seq_lt(s->seq, ack) || part > s->len)
				break;
			if (s->flags & SEG_SACKED)
				tp->sacked -= part;
			if (s->flags & SEG_LOST)
				tp->lost -= part;
			if (s->flags & SEG_RETRANS)
				tp->retrans -= part;
			s->seq += part;
			s->off += part;
			s->len -= part;
			break;
		}
		if (s->flags & SEG_SACKED)
			tp->sacked -= span;
		else if (s->tx == 1)
			rtt = max(now - s->sent_ns, 1ull);
		if (s->flags & SEG_LOST)
			tp->lost -= span;
		if (s->flags & SEG_RETRANS)
			tp->retrans -= span;
		list_del(&s->link);
		tcp_seg_free(tp, s);
	}
	return rtt;
}

/* Does the acknowledgement answer the original transmission (Eifel, DSACK)? */
static bool was_spurious(const struct tcp_sock *tp, const struct pbuf *p, uint32_t acked)
{
	if (!tp->retrans_ts)
		return false;
	if (acked && (tp->opts & TCP_OPT_TS) && (p->tcp.opts & TCP_OPT_TS) && p->tcp.tsecr &&
	    (int32_t)(p->tcp.tsecr - tp->retrans_ts) < 0)
		return true;
	return !tp->undo_retrans && p->tcp.nr_sack; /* every retransmission was reported as a duplicate */
}

static void mark_head_lost(struct tcp_sock *tp)
{
	struct tcp_seg *s;

	if (list_empty(&tp->txq))
		return;
	s = list_first_entry(&tp->txq, struct tcp_seg, link);
	if (s == tp->tx_next || (s->flags & (SEG_LOST | SEG_SACKED)))
		return;
	s->flags |= SEG_LOST;
	tp->lost += seg_span(s);
}

static void congestion(struct tcp_sock *tp, const struct pbuf *p, uint32_t acked, bool dup)
{
	bool sack = tp->opts & TCP_OPT_SACKOK;
	uint32_t ack = p->tcp.ack;

	if (tp->ca != CA_OPEN && was_spurious(tp, p, acked)) {
		tcp_undo(tp);
		return;
	}
	switch (tp->ca) {
	case CA_OPEN:
		if (acked)
			tp->dupacks = 0;
		if (dup && tp->dupacks < 255)
			tp->dupacks++;
		if (sack ? tcp_mark_lost(tp) : tp->dupacks == 3) {
			if (!sack)
				mark_head_lost(tp);
			tcp_enter_recovery(tp);
			return;
		}
		break;
	case CA_RECOVERY:
		if (acked && seq_geq(ack, tp->recover)) {
			tcp_leave_recovery(tp);
			break;
		}
		if (sack) {
			tcp_mark_lost(tp);
		} else if (acked) { /* NewReno: the next hole */
			mark_head_lost(tp);
			tp->dupacks = 0;
		}
		return;
	case CA_LOSS:
		if (acked && seq_geq(ack, tp->recover))
			tcp_leave_recovery(tp);
		break;
	}
	if (acked)
		tcp_cong_acked(tp, acked);
}

/**
 * tcp_ack - process the acknowledgement and window of a segment
 * Return: false if the segment is to be dropped (it acknowledges what was never sent).
 */
bool tcp_ack(struct tcp_sock *tp, struct pbuf *p, uint64_t now)
{
	uint32_t ack = p->tcp.ack, acked, flight = tp->snd_nxt - tp->snd_una, wnd;
	bool window_moved = false, news;
	uint64_t rtt = 0;

	if (seq_gt(ack, tp->snd_nxt)) {
		tcp_challenge_ack(tp, now);
		return false;
	}
	if (seq_lt(ack, tp->snd_una)) {
		if (tp->snd_una - ack > tp->snd_max_wnd) { /* RFC 5961 section 5 */
			tcp_challenge_ack(tp, now);
			return false;
		}
		if (p->tcp.nr_sack && tcp_sack_update(tp, p))
			congestion(tp, p, 0, false);
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
		if (window_moved && wnd)
			tp->probe_at = 0;
	}
	acked = ack - tp->snd_una;
	news = p->tcp.nr_sack && tcp_sack_update(tp, p);
	if (acked) {
		rtt = clean_queue(tp, ack, now);
		tp->snd_una = ack;
		tp->bytes_acked_total += acked;
		tp->backoff = 0;
		tp->retries = 0;
		tp->rto_probes = 0;
		if (rtt)
			tcp_rtt_sample(tp, rtt);
		if (tp->snd_una == tp->snd_nxt)
			tp->rto_at = 0;
		else
			tcp_rto_restart(tp, now);
	}
	tp->probes_out = 0;
	if (flight || acked)
		congestion(tp, p, acked,
			   !acked && !p->len && !window_moved && flight && !news &&
				   !(p->tcp.tcp_flags & (TH_SYN | TH_FIN)));
	/*
	 * The answer to a probe shows that the time-out was a loss.  What was sent
	 * before the probe is no answer: both ends have the same clock.
	 */
	if (tp->rto_probes && !acked && flight && ack == tp->snd_una && tp->ca == CA_OPEN &&
	    (!(p->tcp.opts & TCP_OPT_TS) || (int32_t)(p->tcp.tsval - tp->probe_ts) >= 0)) {
		tp->rto_probes = 0;
		net_count(tcp_timeouts);
		tcp_enter_loss(tp);
		tcp_rto_restart(tp, now);
	}
	if (acked) {
		unsigned sndbuf = atomic_load_explicit(&tp->sk.sndbuf, memory_order_relaxed);

		/* Room for two congestion windows, as long as memory is easy. */
		if (!tp->sk.sndbuf_locked && sndbuf < TCP_SNDBUF_MAX && sndbuf < 2 * tp->cwnd &&
		    !sock_mem_pressure(&tp->sk.mem)) {
			sndbuf = min(2 * tp->cwnd, TCP_SNDBUF_MAX);
			atomic_store_explicit(&tp->sk.sndbuf, sndbuf, memory_order_relaxed);
		}
		/* Writers wake when a third of the buffer is free: fewer, longer runs. */
		if (atomic_load_explicit(&tp->wmem, memory_order_relaxed) <= sndbuf - sndbuf / 3)
			tp->wake_wr = true;
	}
	return true;
}
