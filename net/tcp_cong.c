/* SPDX-License-Identifier: MIT */
/*
 * Round-trip time (RFC 6298) and the states of congestion: when the window is
 * reduced, what a recovery ends with (RFC 5681, 6582, 6675), and the undo of
 * reductions that were mistakes (RFC 3522 Eifel by timestamps, RFC 3708 by
 * duplicate reports, RFC 5682 F-RTO by what arrives after a time-out).
 *
 *	CA_OPEN       nothing is known to be lost
 *	CA_CWR        the window was reduced without a loss to repair (ECN, a tail
 *	              probe); it does not grow until a round trip is over
 *	CA_RECOVERY   losses are being repaired, paced by PRR (tcp_prr.c)
 *	CA_LOSS       a time-out: slow start from one segment
 */
#include "net/tcp.h"
#include "kernel/param.h"

/* the smallest round trip is that of the last five minutes */
#define MIN_RTT_LIFE (300 * NSEC_PER_SEC)

static unsigned initial_window = 10;
PARAM_UINT("net.tcp.iw", initial_window, 1, 64, PARAM_RW,
	   "initial congestion window, segments (RFC 6928)");

uint32_t tcp_initial_cwnd(const struct tcp_sock *tp)
{
	return __atomic_load_n(&initial_window, __ATOMIC_RELAXED) * tp->mss;
}

void tcp_cong_init(struct tcp_sock *tp)
{
	tp->cwnd = tcp_initial_cwnd(tp);
	tp->ssthresh = UINT32_MAX / 2;
	tp->ca = CA_OPEN;
	tp->recover = tp->snd_una;
	tp->rack.mult = 1;
	tcp_cc_set(tp, tp->cc);
}

void tcp_rtt_sample(struct tcp_sock *tp, uint64_t rtt, uint64_t now)
{
	uint64_t diff;

	if (!tp->min_rtt || rtt <= tp->min_rtt || now - tp->min_rtt_ns > MIN_RTT_LIFE) {
		tp->min_rtt = rtt;
		tp->min_rtt_ns = now;
	}
	if (!tp->srtt) {
		tp->srtt = max(rtt, 1ull);
		tp->rttvar = rtt / 2;
	} else {
		diff = rtt > tp->srtt ? rtt - tp->srtt : tp->srtt - rtt;
		tp->rttvar += (diff >> 2) - (tp->rttvar >> 2);
		tp->srtt += (rtt >> 3) - (tp->srtt >> 3);
		if (!tp->srtt)
			tp->srtt = 1;
	}
	/*
	 * The minimum counts for the variance: the peer may hold an acknowledgement
	 * back so long.
	 */
	tp->rto = min(tp->srtt + max(4 * tp->rttvar, TCP_RTO_MIN), TCP_RTO_MAX);
	if (tp->cc->hystart && tp->cwnd < tp->ssthresh && !tp->loopback)
		tcp_hystart_rtt(tp, rtt);
}

/* Notes what undo needs and lowers the threshold. */
static void reduce(struct tcp_sock *tp)
{
	tp->prior_cwnd = tp->cwnd;
	tp->prior_ssthresh = tp->ssthresh;
	tp->undo_una = tp->snd_una;
	tp->undo_retrans = 0;
	tp->retrans_ts = 0;
	tp->recover = tp->snd_nxt;
	tp->ssthresh = tp->cc->ssthresh(tp);
	tp->tlp_out = false;
	tp->pto_at = 0;
	tcp_ecn_reduced(tp);
}

void tcp_enter_cwr(struct tcp_sock *tp)
{
	reduce(tp);
	tp->ca = CA_CWR;
	tp->cwnd = min(tp->cwnd, tp->ssthresh);
}

void tcp_enter_recovery(struct tcp_sock *tp)
{
	bool again = tp->ca == CA_CWR; /* this window was reduced already */

	if (again) {
		tp->undo_retrans = 0;
		tp->retrans_ts = 0;
		tp->undo_una = tp->snd_una;
		tp->recover = tp->snd_nxt;
	} else {
		reduce(tp);
	}
	tp->ca = CA_RECOVERY;
	tcp_prr_begin(tp);
}

void tcp_enter_repair(struct tcp_sock *tp)
{
	if (tp->ca == CA_RECOVERY || tp->ca == CA_LOSS)
		return;
	tp->prior_cwnd = tp->cwnd;
	tp->prior_ssthresh = tp->ssthresh;
	tp->undo_una = tp->snd_una;
	tp->undo_retrans = 0;
	tp->retrans_ts = 0;
	tp->recover = tp->snd_nxt;
	tp->ssthresh = max(tp->cwnd, 2 * tp->mss);
	tp->tlp_out = false;
	tp->pto_at = 0;
	tp->ca = CA_RECOVERY;
	tcp_prr_begin(tp);
	tp->cwnd = max(tp->cwnd, tp->mss);
}

void tcp_enter_loss(struct tcp_sock *tp, uint64_t now)
{
	if (tp->ca != CA_LOSS) {
		/* F-RTO: was it only late?  What comes back next will tell. */
		tp->frto = !tp->loopback && tp->ca == CA_OPEN ? FRTO_FIRST : FRTO_OFF;
		reduce(tp);
	} else {
		tp->frto = FRTO_OFF;
	}
	tp->ca = CA_LOSS;
	tp->recover = tp->snd_nxt;
	tp->reo_at = 0;
	tp->pto_at = 0;
	tcp_mark_timeout(tp, now);
	tp->cwnd = tcp_pipe(tp) + tp->mss;
	tp->dupacks = 0;
}

static void settle(struct tcp_sock *tp)
{
	tp->ca = CA_OPEN;
	tp->dupacks = 0;
	tp->retrans_ts = 0;
	tp->undo_retrans = 0;
	tp->frto = FRTO_OFF;
}

/* Everything that was out when the window fell has been acknowledged. */
static void leave(struct tcp_sock *tp)
{
	if (tp->ca == CA_RECOVERY)
		tp->cwnd = tp->ssthresh;
	if (tp->ca != CA_CWR)
		tcp_rack_recovered(tp);
	if (!(tp->opts & TCP_OPT_SACKOK))
		tp->sacked = 0;
	settle(tp);
	if (tp->lost) /* of what was sent since then */
		tcp_enter_recovery(tp);
}

/* The retransmission was not needed: take back what it did to the window. */
static void undo(struct tcp_sock *tp)
{
	net_count(tcp_spurious);
	tp->cwnd = max(tp->cwnd, tp->prior_cwnd);
	tp->ssthresh = max(tp->ssthresh, tp->prior_ssthresh);
	tp->cc->undo(tp);
	tcp_clear_lost(tp);
	tp->backoff = 0;
	settle(tp);
}

/* Does the acknowledgement answer the original transmission (Eifel, DSACK)? */
static bool was_spurious(const struct tcp_sock *tp, const struct pbuf *p,
			 const struct tcp_ack_info *a)
{
	if (!tp->retrans_ts)
		return false;
	if (a->acked && (tp->opts & TCP_OPT_TS) && (p->tcp.opts & TCP_OPT_TS) && p->tcp.tsecr &&
	    (int32_t)(p->tcp.tsecr - tp->retrans_ts) < 0)
		return true;
	return a->dsack && !tp->undo_retrans; /* every retransmission was reported as a duplicate */
}

static void mark_head_lost(struct tcp_sock *tp)
{
	struct tcp_seg *s;

	if (list_empty(&tp->txq))
		return;
	s = list_first_entry(&tp->txq, struct tcp_seg, link);
	if (s == tp->tx_next || (s->flags & (SEG_LOST | SEG_SACKED)))
		return; /* known, and sent again or about to be */
	s->flags |= SEG_LOST;
	tp->lost += seg_span(s);
	list_del(&s->tlink);
	tp->rtx_hint = NULL;
}

/*
 * Without SACK a duplicate acknowledgement stands for one segment that arrived
 * (RFC 5681 section 3.2), which is what sacked then counts.  Return: bytes delivered.
 */
static uint32_t count_dups(struct tcp_sock *tp, const struct tcp_ack_info *a, bool dup)
{
	uint32_t out = tp->snd_nxt - tp->snd_una, n;

	if (dup) {
		n = min(tp->mss, out - min(out, tp->sacked + tp->lost));
		tp->sacked += n;
		return n;
	}
	if (!a->acked)
		return 0;
	/* The first of the acknowledged segments filled the hole; the others had been counted. */
	n = min(tp->sacked, a->acked > tp->mss ? a->acked - tp->mss : 0);
	tp->sacked -= n;
	if (tp->ca == CA_OPEN || tp->ca == CA_CWR)
		tp->sacked = 0;
	return a->acked - n;
}

/*
 * F-RTO (RFC 5682): after a time-out only the first segment is repeated.  If
 * the answer acknowledges more, new data follow instead of further repetitions,
 * and if then something arrives that was sent only once, before the time-out,
 * everything had been on its way.  Return: the time-out was spurious.
 */
static bool frto(struct tcp_sock *tp, const struct tcp_ack_info *a)
{
	if (a->first_tx && ((tp->opts & TCP_OPT_SACKOK) || tp->frto == FRTO_SECOND))
		return true;
	if (tp->frto == FRTO_FIRST && a->acked && tp->tx_next &&
	    seq_gt(tp->snd_una + tp->snd_wnd, tp->snd_nxt)) {
		tp->frto = FRTO_SECOND;
		tp->cwnd = tcp_pipe(tp) + 2 * tp->mss;
	} else {
		tp->frto = FRTO_OFF;
	}
	return false;
}

/**
 * tcp_congestion - what an acknowledgement says about the network
 * @p: the segment; @a: what it brought
 * @dup: it is a duplicate in the sense of RFC 5681
 *
 * Context: owned; snd_una and the scoreboard are up to date.
 */
void tcp_congestion(struct tcp_sock *tp, const struct pbuf *p, struct tcp_ack_info *a, bool dup,
		    uint64_t now)
{
	bool sack = tp->opts & TCP_OPT_SACKOK, more_lost = false;
	uint32_t ack = p->tcp.ack;

	if (tp->ca > CA_CWR && was_spurious(tp, p, a)) {
		undo(tp);
		return;
	}
	if (!sack)
		a->delivered = count_dups(tp, a, dup);
	else if (tp->sacked || tp->retrans || tp->ca > CA_CWR)
		more_lost = tcp_rack_detect(tp, now);
	if (a->acked)
		tp->dupacks = 0;
	switch (tp->ca) {
	case CA_CWR:
		if (a->acked && seq_geq(ack, tp->recover))
			leave(tp);
		/* fallthrough */
	case CA_OPEN:
		if (dup && tp->dupacks < 255)
			tp->dupacks++;
		/*
		 * Without SACK a third duplicate, unless our own repetitions made it
		 * (RFC 6582 section 3.2).
		 */
		if (!sack && tp->dupacks == 3 && seq_gt(ack, tp->recover)) {
			mark_head_lost(tp);
			more_lost = true;
		}
		if (more_lost) {
			tcp_enter_recovery(tp);
			tcp_prr_update(tp, a->delivered, false);
			return;
		}
		if (tp->ca == CA_CWR)
			return;
		if (a->acked && seq_gt(ack, tp->recover))
			tp->recover = ack - 1; /* keeps up, so that comparisons hold */
		break;
	case CA_RECOVERY:
		if (a->acked && seq_geq(ack, tp->recover)) {
			leave(tp);
			return;
		}
		if (!sack && a->acked) /* NewReno: the next hole */
			mark_head_lost(tp);
		tcp_prr_update(tp, a->delivered, a->acked && !more_lost);
		return;
	case CA_LOSS:
		if (tp->frto && frto(tp, a)) {
			undo(tp);
			return;
		}
		if (tp->frto && seq_lt(ack, tp->recover))
			return;
		if (a->acked && seq_geq(ack, tp->recover))
			leave(tp);
		break;
	}
	/*
	 * What reports had told of before opened the window then: new segments left
	 * for it (RFC 3042).
	 */
	if (a->acked && tp->ca != CA_RECOVERY)
		tcp_cc_acked(tp, min(a->acked, a->delivered), now);
}
