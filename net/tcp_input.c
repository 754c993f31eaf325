/* SPDX-License-Identifier: MIT */
/*
 * TCP input: finds the connection of a segment and takes it through the steps
 * of RFC 9293 section 3.10.7, with the hardening of RFC 5961.
 */
#include "net/tcp.h"

void tcp_input(struct pbuf *p)
{
	struct tcp_sock *tp;
	struct ep *e;

	net_count(tcp_in);
	/* From or to more than one station, or nobody: never a connection (MUST-57). */
	if (!tcp_parse(p) || addr_is_multicast(&p->dst) || addr_is_any(&p->src) ||
	    (!p->dev->loopback && ifaddr_is_broadcast(p->dev, &p->src))) {
		net_count(tcp_bad);
		pbuf_free(p);
		return;
	}
	e = ep_lookup(&p->dst, p->tcp.dport, &p->src, p->tcp.sport);
	if (likely(e && e->kind == EP_SOCK)) {
		tp = ep_sock(e);
		p->node.kind = NODE_PACKET;
		if (own_get_or_push(&tp->own, &p->node)) {
			tcp_segment(tp, p);
			tcp_release(tp);
		} else {
			net_count(tcp_backlog);
		}
		tcp_put(tp);
		return;
	}
	if (e) {
		if (e->kind == EP_REQ)
			tcp_req_input(e, p);
		else
			tcp_tw_input(e, p);
		ep_put(e);
		return;
	}
	tp = listen_lookup(&p->dst, p->tcp.dport, &p->src, p->tcp.sport);
	if (tp) {
		tcp_listen_input(tp, p);
		tcp_put(tp);
		return;
	}
	tcp_reply_stray(p);
	pbuf_free(p);
}

/*
 * One per TCP_CHALLENGE_GAP and connection, so that nobody can make us chatter or
 * count (RFC 5961).
 */
void tcp_challenge_ack(struct tcp_sock *tp, uint64_t now)
{
	if (tp->last_challenge_ns && now - tp->last_challenge_ns < TCP_CHALLENGE_GAP)
		return;
	tp->last_challenge_ns = now;
	net_count(tcp_challenge_acks);
	tcp_send_ack(tp, now);
}

/* RFC 7323 section 5: is the timestamp not older than what we have seen? */
bool tcp_ts_ok(const struct tcp_sock *tp, const struct pbuf *p, uint64_t now)
{
	if (!(tp->opts & TCP_OPT_TS) || !(p->tcp.opts & TCP_OPT_TS))
		return true; /* some peers leave it out; the sequence check remains */
	if ((int32_t)(p->tcp.tsval - tp->ts_recent) >= 0)
		return true;
	/* a connection idle for 24 days */
	return now - tp->ts_recent_ns > 24ull * 86400 * NSEC_PER_SEC;
}

/* Options of the peer's SYN, on either side of the handshake. */
static void take_syn(struct tcp_sock *tp, const struct pbuf *p, uint64_t now)
{
	tp->irs = p->tcp.seq;
	tp->rcv_nxt = p->tcp.seq + 1;
	tp->rcv_wup = tp->rcv_nxt;
	tp->rcv_adv = tp->rcv_nxt;
	tp->answered = tp->rcv_nxt;
	if (p->tcp.opts & TCP_OPT_MSS)
		tp->peer_mss = p->tcp.mss;
	else
		tp->peer_mss = addr_is_v4(&tp->ep.raddr) ? TCP_MSS_DEFAULT4 : TCP_MSS_DEFAULT6;
	tp->opts &= p->tcp.opts;
	/* Our SYN asked, and the answer says yes: ECE alone (RFC 3168 section 6.1.1). */
	if (tcp_ecn_asks(tp) &&
	    (p->tcp.tcp_flags & (TH_ACK | TH_ECE | TH_CWR)) == (TH_ACK | TH_ECE))
		tp->opts |= TCP_OPT_ECN;
	if (tp->opts & TCP_OPT_WSCALE)
		tp->snd_wscale = p->tcp.wscale;
	else
		tp->rcv_wscale = 0;
	if (tp->opts & TCP_OPT_TS) {
		tp->ts_recent = p->tcp.tsval;
		tp->ts_recent_ns = now;
	}
	tcp_set_mss(tp);
}

static void syn_sent(struct tcp_sock *tp, struct pbuf *p, uint64_t now)
{
	uint8_t f = p->tcp.tcp_flags;

	if ((f & TH_ACK) && (seq_leq(p->tcp.ack, tp->iss) || seq_gt(p->tcp.ack, tp->snd_nxt))) {
		tcp_reply_reset(p);
		return;
	}
	if (f & TH_RST) {
		if (f & TH_ACK)
			tcp_reset(tp, ECONNREFUSED);
		return;
	}
	if (!(f & TH_SYN))
		return;
	take_syn(tp, p, now);
	tp->snd_wnd = p->tcp.wnd; /* never scaled in a SYN */
	tp->snd_max_wnd = tp->snd_wnd;
	tp->snd_wl1 = p->tcp.seq;
	tp->snd_wl2 = p->tcp.ack;
	tcp_cong_init(tp);
	if (f & TH_ACK) {
		struct tcp_seg *s = list_first_entry(&tp->txq, struct tcp_seg, link);
		unsigned tries = s->tx;

		if (tries == 1)
			tcp_rtt_sample(tp, max(now - s->sent_ns, 1ull), now);
		tcp_seg_free(tp, s);
		tp->snd_una = p->tcp.ack;
		tp->small_end = tp->snd_una;
		tp->rto_at = 0;
		tp->backoff = 0;
		tp->retries = 0;
		tp->lost = 0;
		tp->retrans = 0;
		tp->ca = CA_OPEN;
		tcp_established(tp, now);
		if (tries > 2) /* the network is in trouble (RFC 5681 section 3.1) */
			tp->cwnd = tp->mss;
		/* data behind a SYN-ACK: let the peer send it again */
		if (p->len || (f & TH_FIN)) {
			tp->ack_now = true;
		}
		tcp_send_ack(tp, now);
		return;
	}
	/* Crossing SYNs (simultaneous open): answer, and wait for the acknowledgement. */
	tcp_set_state(tp, TCP_SYN_RECV);
	if (!list_empty(&tp->txq))
		tcp_send_seg(tp, list_first_entry(&tp->txq, struct tcp_seg, link), now);
	tcp_rto_restart(tp, now);
}

/* Our FIN has been acknowledged. Return: false when the connection has ended. */
static bool fin_acked(struct tcp_sock *tp, uint64_t now)
{
	switch (tcp_state(tp)) {
	case TCP_FIN_WAIT1:
		tcp_set_state(tp, TCP_FIN_WAIT2);
		tp->wake_wr = true;
		if (tp->orphan)
			tp->close_at =
				now + (tp->linger2 ? tp->linger2 * NSEC_PER_SEC : TCP_FIN2_TIME);
		return true;
	case TCP_CLOSING:
		tcp_time_wait(tp, now);
		return false;
	case TCP_LAST_ACK:
		tcp_done(tp);
		return false;
	}
	return true;
}

/* Closed, or shut down both ways (RFC 1122 section 4.2.2.13). */
static bool nobody_reads(struct tcp_sock *tp)
{
	return tp->orphan || (tcp_in(tp, TCPF(TCP_FIN_WAIT1) | TCPF(TCP_FIN_WAIT2)) &&
			      (sock_shut(&tp->sk) & SOCK_RCV_SHUT));
}

/* The segment lies outside of the window. */
static void unacceptable(struct tcp_sock *tp, struct pbuf *p, uint64_t now)
{
	if (p->tcp.tcp_flags & TH_RST)
		return;
	if (p->tcp.tcp_flags & TH_SYN) {
		tcp_challenge_ack(tp, now);
		return;
	}
	/* Data or a FIN that we have already: our acknowledgement was lost. */
	if (p->len && seq_lt(p->tcp.seq, tp->rcv_nxt) &&
	    seq_leq(p->tcp.seq + p->len, tp->rcv_nxt)) {
		tp->dsack_start = p->tcp.seq;
		tp->dsack_end = p->tcp.seq + p->len;
	}
	/*
	 * At a zero window the acknowledgement and the urgent pointer in a probe still count
	 * (MUST-66).  One to the left lies the peer for whom the byte of its own probe is not
	 * sent yet: if both ends probed and both took the byte, each waits for the other's
	 * acknowledgement.
	 */
	if ((p->tcp.tcp_flags & TH_ACK) && tp->rcv_nxt - p->tcp.seq <= 1 &&
	    !tcp_in(tp, TCPF(TCP_SYN_RECV))) {
		bool valid = tcp_ack(tp, p, now);

		if (valid && (p->tcp.tcp_flags & TH_URG) && p->tcp.seq == tp->rcv_nxt)
			tcp_urg_received(tp, p);
		if (valid && tp->fin_queued && tp->snd_una == tp->write_seq && !fin_acked(tp, now))
			return;
	}
	/* Two ends that do not accept each other's acknowledgements must not chatter. */
	if (!p->len && !(p->tcp.tcp_flags & TH_FIN))
		tcp_challenge_ack(tp, now);
	else
		tcp_send_ack(tp, now);
}

static void synchronised(struct tcp_sock *tp, struct pbuf *p, uint64_t now)
{
	uint32_t wnd = seq_gt(tp->rcv_adv, tp->rcv_nxt) ? tp->rcv_adv - tp->rcv_nxt : 0, span;
	struct pbuf *data = NULL;
	uint8_t f;

	/*
	 * Crossing SYNs: the peer's SYN-ACK repeats the SYN we have and brings our
	 * acknowledgement.
	 */
	if (unlikely(tcp_in(tp, TCPF(TCP_SYN_RECV))) && p->tcp.seq == tp->irs &&
	    (p->tcp.tcp_flags & (TH_SYN | TH_ACK)) == (TH_SYN | TH_ACK)) {
		p->tcp.seq++;
		p->tcp.tcp_flags &= ~TH_SYN;
	}
	f = p->tcp.tcp_flags;
	span = p->len + !!(f & TH_SYN) + !!(f & TH_FIN);
	if (unlikely(!tcp_ts_ok(tp, p, now)) && !(f & TH_RST)) {
		net_count(tcp_paws);
		tcp_send_ack(tp, now);
		goto out;
	}
	if (unlikely(!seq_acceptable(p->tcp.seq, span, tp->rcv_nxt, wnd))) {
		unacceptable(tp, p, now);
		goto out;
	}
	if (unlikely(f & TH_RST)) {
		net_count(tcp_resets_in);
		if (p->tcp.seq == tp->rcv_nxt)
			tcp_reset(tp, tcp_in(tp, TCPF(TCP_SYN_RECV)) ? ECONNREFUSED :
				      tcp_in(tp, TCPF(TCP_CLOSE_WAIT)) ? EPIPE : ECONNRESET);
		else
			tcp_challenge_ack(tp, now);
		goto out;
	}
	if (unlikely(f & TH_SYN)) {
		tcp_challenge_ack(tp, now);
		goto out;
	}
	if (!(f & TH_ACK))
		goto out;
	if (tcp_in(tp, TCPF(TCP_SYN_RECV))) {
		if (seq_leq(p->tcp.ack, tp->snd_una) || seq_gt(p->tcp.ack, tp->snd_nxt)) {
			tcp_reply_reset(p);
			goto out;
		}
		tp->snd_wl1 = p->tcp.seq - 1;
		tcp_established(tp, now);
	}
	if (!tcp_ack(tp, p, now))
		goto out;
	if ((tp->opts & TCP_OPT_TS) && (p->tcp.opts & TCP_OPT_TS) &&
	    seq_leq(p->tcp.seq, tp->rcv_wup)) {
		tp->ts_recent = p->tcp.tsval;
		tp->ts_recent_ns = now;
	}
	if (unlikely(tp->fin_queued && tp->snd_una == tp->write_seq) && !fin_acked(tp, now))
		goto out;
	if ((f & TH_FIN) &&
	    tcp_in(tp, TCPF(TCP_ESTABLISHED) | TCPF(TCP_FIN_WAIT1) | TCPF(TCP_FIN_WAIT2)) &&
	    seq_leq(p->tcp.seq + p->len, tp->rcv_adv)) {
		tp->fin_rcvd = true;
		tp->fin_seq = p->tcp.seq + p->len;
	}
	if (p->len) {
		if (tcp_in(tp, TCPF(TCP_ESTABLISHED) | TCPF(TCP_FIN_WAIT1) | TCPF(TCP_FIN_WAIT2))) {
			/* Nobody will ever read it: the peer must not think otherwise. */
			if (unlikely(nobody_reads(tp)) &&
			    seq_gt(p->tcp.seq + p->len, tp->rcv_nxt)) {
				tcp_reply_reset(p);
				tcp_reset(tp, ECONNRESET);
				goto out;
			}
			if (unlikely(f & TH_URG))
				tcp_urg_received(tp, p);
			if (unlikely(tp->opts & TCP_OPT_ECN))
				tcp_ecn_received(tp, p);
			data = p;
			p = NULL;
			tcp_data(tp, data, now);
		} else if (seq_leq(p->tcp.seq + p->len, tp->rcv_nxt)) {
			tp->ack_now = true;
		}
	} else if ((f & TH_FIN) && seq_lt(p->tcp.seq, tp->rcv_nxt)) {
		tp->ack_now = true;
	}
	if (unlikely(tp->fin_rcvd) && tp->fin_seq == tp->rcv_nxt)
		tcp_fin_received(tp, now);
	else if (unlikely(tp->fin_rcvd))
		tp->ack_now = true;
out:
	if (p)
		pbuf_free(p);
}

/**
 * tcp_segment - a segment for this connection
 *
 * Context: owned.  Consumes @p.
 */
void tcp_segment(struct tcp_sock *tp, struct pbuf *p)
{
	uint64_t now = clock_ns();

	tp->segs_in += pbuf_segs(p);
	switch (tcp_state(tp)) {
	case TCP_CLOSE:
	case TCP_LISTEN:
	case TCP_TIME_WAIT:
		pbuf_free(p);
		return;
	case TCP_SYN_SENT:
		syn_sent(tp, p, now);
		pbuf_free(p);
		break;
	default:
		tp->last_rx_ns = now;
		tp->keep_probes = 0;
		synchronised(tp, p, now);
	}
	if (tcp_in(tp, TCPF(TCP_CLOSE)))
		return;
	if (tp->tx_next || tp->lost)
		tcp_output(tp, now);
	if (tp->ack_now)
		tcp_send_ack(tp, now);
	tcp_timer_update(tp);
}
