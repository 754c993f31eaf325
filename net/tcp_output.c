/* SPDX-License-Identifier: MIT */
/*
 * TCP output: which bytes may be sent now.  The elements of the queue are
 * tcp_seg.c's business, the packets tcp_xmit.c's.
 *
 * Partial segments wait while anything is unacknowledged (Nagle, RFC
 * 9293 section 3.7.4): on loopback a reader acknowledges what it has read, so
 * this gathers small writes into large packets exactly while the reader is busy.
 */
#include "net/tcp.h"
#include "kernel/trace.h"

/* Bytes thought to be in the network (RFC 6675 "pipe"). */
uint32_t tcp_pipe(const struct tcp_sock *tp)
{
	uint32_t out = tp->snd_nxt - tp->snd_una, gone = tp->sacked + tp->lost;

	return (out > gone ? out - gone : 0) + tp->retrans;
}

/* Sends lost segments again as far as the congestion window lets us. */
static void tcp_retransmit(struct tcp_sock *tp, uint64_t now)
{
	struct tcp_seg *s;

	if (likely(tp->lost <= tp->retrans) || tp->frto == FRTO_SECOND)
		return;
	/* Before rtx_hint everything lost has been sent again. */
	s = tp->rtx_hint ? tp->rtx_hint : list_first_entry(&tp->txq, struct tcp_seg, link);
	for (; &s->link != &tp->txq && s != tp->tx_next;
	     s = list_entry(s->link.next, struct tcp_seg, link)) {
		if ((s->flags & (SEG_LOST | SEG_RETRANS)) != SEG_LOST)
			continue;
		tp->rtx_hint = s;
		/* sent in one, or the path takes less now */
		if (s->len > tp->mss && !tcp_seg_split(tp, s, tp->mss))
			break;
		if (tp->retrans && tcp_pipe(tp) + s->len > tp->cwnd)
			break;
		if (!tcp_send_seg(tp, s, now))
			break;
		s->flags |= SEG_RETRANS;
		tp->retrans += seg_span(s);
		tp->total_retrans++;
		tp->undo_retrans++;
		if (!tp->retrans_ts)
			tp->retrans_ts = tcp_ts(now);
		net_count(tcp_retransmits);
		trace(tcp_retransmit, tp->ep.lport, s->seq);
		if (tp->ca == CA_RECOVERY)
			net_count(tcp_fast_retransmits);
		/* its answer may take a whole round trip from now on */
		if (!tp->rto_at || s->link.prev == &tp->txq)
			tcp_rto_restart(tp, now);
		if (tp->lost <= tp->retrans)
			break;
	}
}

/* May the last, partial segment leave now? */
static bool tcp_may_send_partial(const struct tcp_sock *tp, const struct tcp_seg *s)
{
	if (s->flags & (SEG_FIN | SEG_SYN))
		return true;
	if (s->link.next != &tp->txq)
		return true; /* more follows: it can't grow */
	if (unlikely(tp->urg_send)) /* what is urgent waits for nothing */
		return true;
	if (tp->cork || tp->more)
		return false;
	if (tp->nodelay)
		return true;
	if (tp->snd_nxt == tp->snd_una)
		return true;
	if (tp->loopback)
		return false;
	/* Off this machine only an unacknowledged partial segment holds us back (Minshall). */
	return !seq_gt(tp->small_end, tp->snd_una);
}

/*
 * The network was empty for longer than a time-out: what we knew of it is old (RFC
 * 5681 section 4.1).
 */
static void idle_restart(struct tcp_sock *tp, uint64_t now)
{
	uint64_t idle = now - tp->last_tx_ns;

	if (tp->loopback || !tp->last_tx_ns || idle < tp->rto)
		return;
	tcp_set_mss(tp); /* the way may take more by now */
	tp->cwnd = min(tp->cwnd, tcp_initial_cwnd(tp));
	tp->cc->restart(tp, idle);
}

/* @s has been sent for the first time. */
static void sent(struct tcp_sock *tp, struct tcp_seg *s, uint64_t now)
{
	tp->probe_byte = false;
	if (unlikely(tp->notsent_lowat)) /* who polls may write more now */
		tp->wake_wr = true;
	tp->tx_next =
		s->link.next == &tp->txq ? NULL : list_entry(s->link.next, struct tcp_seg, link);
	tp->snd_nxt = seg_end(s);
	if (s->len < tp->mss || (s->len > tp->mss && s->len % tp->mss))
		tp->small_end = tp->snd_nxt;
	if (!tp->rto_at)
		tcp_rto_restart(tp, now);
}

/*
 * Most bytes that may leave as one packet: several segments, which the device cuts,
 * or net/gso.c before it.  What only the first of them may carry goes alone.
 */
static uint32_t packet_max(const struct tcp_sock *tp)
{
	if (likely(tp->loopback) || !tp->dev || !NETDEV_ETHER(tp->dev) || tp->ecn_cwr ||
	    tp->urg_send)
		return tp->mss;
	return TCP_SEG_MAX / tp->mss * tp->mss;
}

/* One new segment within the peer's window, whatever the congestion window says: a tail probe. */
void tcp_output_one(struct tcp_sock *tp, uint64_t now)
{
	struct tcp_seg *s = tp->tx_next;
	uint32_t len = min(s->len, tp->mss);

	if (seq_gt(s->seq + len, tp->snd_una + tp->snd_wnd) || (s->flags & SEG_SYN) ||
	    (len < s->len && !tcp_seg_split(tp, s, len)))
		return;
	if (tcp_send_seg(tp, s, now))
		sent(tp, s, now);
}

/**
 * tcp_output - send what the windows and the rules allow
 *
 * Context: owned.  Packets go to tp->outq; tcp_release() hands them over.
 */
void tcp_output(struct tcp_sock *tp, uint64_t now)
{
	uint32_t most, mss;
	uint8_t limit = LIMIT_BUSY;
	unsigned burst = 0;
	struct tcp_seg *s;

	if (tcp_in(tp, TCPF(TCP_CLOSE) | TCPF(TCP_LISTEN)))
		return;
	tcp_path_check(tp);
	mss = tp->mss;
	most = packet_max(tp);
	tcp_retransmit(tp, now);
	if (tp->tx_next && tp->snd_una == tp->snd_nxt)
		idle_restart(tp, now);
	/*
	 * Much waits in front of the device: as if the network had marked it (once a
	 * round trip).
	 */
	if (tp->tx_next && tp->dev && tp->ca == CA_OPEN && !tp->loopback &&
	    unlikely(atomic_load_explicit(&tp->dev->congested, memory_order_relaxed)) &&
	    tp->snd_una != tp->snd_nxt)
		tcp_enter_cwr(tp);
	while ((s = tp->tx_next)) {
		uint32_t flight = tcp_pipe(tp), cw, wnd, room, len;

		if (s->flags & SEG_SYN)
			break; /* sent by connect() and the timer */
		if (tcp_in(tp, TCPF(TCP_SYN_SENT) | TCPF(TCP_SYN_RECV)))
			break;
		cw = tp->cwnd > flight ? tp->cwnd - flight : 0;
		wnd = seq_gt(tp->snd_una + tp->snd_wnd, s->seq) ? tp->snd_una + tp->snd_wnd - s->seq
								: 0;
		if (s->len && s->len < mss && s->link.next != &tp->txq)
			tcp_seg_fill(tp, s);
		len = min(s->len, most);
		room = min(cw, wnd);
		/* The first segment in an empty network may exceed the congestion window. */
		if (!flight && wnd && room < len)
			room = min(wnd, max(cw, mss));
		if (unlikely(wnd < len && wnd <= cw))
			limit = LIMIT_RWND;
		if (s->len && !room)
			break;
		if (room < len) {
			/*
			 * Sender's silly window rule: a full segment, or half of the
			 * largest window.
			 */
			if (room < mss && (flight || room < tp->snd_max_wnd / 2))
				break;
			len = room;
		}
		/* Several segments end with a partial one only where the stream does. */
		if (len > mss && len % mss &&
		    !(len == s->len && s->link.next == &tp->txq && tcp_may_send_partial(tp, s)))
			len -= len % mss;
		if (len == s->len && len < mss && !tcp_may_send_partial(tp, s)) {
			if ((tp->cork || tp->more) && !tp->cork_at)
				tp->cork_at = now + TCP_CORK_MAX;
			break;
		}
		if (len < s->len && !tcp_seg_split(tp, s, len))
			break;
		if (!tcp_send_seg(tp, s, now))
			break;
		sent(tp, s, now);
		burst++;
	}
	if (tp->snd_una == tp->write_seq)
		limit = LIMIT_NONE;
	else if (!tp->tx_next)
		limit = unlikely(tp->no_room) ? LIMIT_SNDBUF : LIMIT_BUSY;
	tcp_limited(tp, limit, now);
	if (burst)
		tcp_tlp_arm(tp, now);
	/* A device that cuts gets at least pairs, and the second of a pair is marked. */
	if (burst && burst % 2 == 0 && !tp->loopback)
		tcp_push_last(tp);
	if (!tp->tx_next)
		tp->cork_at = 0;
	/* Nothing in flight will open the window: ask for it (persist). */
	if (tp->tx_next && tp->snd_una == tp->snd_nxt && !tp->rto_at && !tp->probe_at &&
	    !tp->cork_at && !tcp_in(tp, TCPF(TCP_SYN_SENT) | TCPF(TCP_SYN_RECV)))
		tp->probe_at = now + max(tp->rto, TCP_RTO_MIN);
	tcp_timer_update(tp);
}
