/* SPDX-License-Identifier: MIT */
/*
 * Round-trip time (RFC 6298) and congestion control: NewReno (RFC 5681, 6582)
 * with the initial window of RFC 6928, and the undo of what a spurious
 * time-out or retransmission did (RFC 3522 Eifel by timestamps, RFC 3708 by
 * duplicate reports).
 */
#include "net/tcp.h"

#define CWND_MAX (32u << 20) /* bytes: beyond every buffer */

void tcp_cong_init(struct tcp_sock *tp)
{
	tp->cwnd = max(10 * tp->mss, 14600u);
	tp->ssthresh = UINT32_MAX / 2;
	tp->bytes_acked = 0;
	tp->ca = CA_OPEN;
}

void tcp_rtt_sample(struct tcp_sock *tp, uint64_t rtt)
{
	uint64_t diff;

	if (!tp->min_rtt || rtt < tp->min_rtt)
		tp->min_rtt = rtt;
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
	tp->rto = min(max(tp->srtt + max(4 * tp->rttvar, NSEC_PER_MSEC), TCP_RTO_MIN), TCP_RTO_MAX);
}

/* @acked new bytes were acknowledged outside of fast recovery. */
void tcp_cong_acked(struct tcp_sock *tp, uint32_t acked)
{
	/* A window that was not filled says nothing about the path (RFC 7661). */
	if (tp->ca == CA_OPEN && (uint64_t)(tp->snd_nxt - tp->snd_una + acked) * 2 < tp->cwnd)
		return;
	if (tp->cwnd >= CWND_MAX)
		return;
	if (tp->cwnd < tp->ssthresh) {
		tp->cwnd += acked; /* by bytes, so that stretched acknowledgements do not slow us down */
		return;
	}
	tp->bytes_acked += acked;
	if (tp->bytes_acked >= tp->cwnd) {
		tp->bytes_acked -= tp->cwnd;
		tp->cwnd += tp->mss;
	}
}

static void remember(struct tcp_sock *tp)
{
	tp->prior_cwnd = tp->cwnd;
	tp->prior_ssthresh = tp->ssthresh;
	tp->undo_una = tp->snd_una;
	tp->undo_retrans = 0;
	tp->retrans_ts = 0;
	tp->recover = tp->snd_nxt;
	tp->ssthresh = max((tp->snd_nxt - tp->snd_una) / 2, 2 * tp->mss);
	tp->bytes_acked = 0;
}

void tcp_enter_recovery(struct tcp_sock *tp)
{
	remember(tp);
	tp->ca = CA_RECOVERY;
	tp->cwnd = tp->ssthresh;
}

void tcp_enter_loss(struct tcp_sock *tp)
{
	if (tp->ca != CA_LOSS)
		remember(tp);
	tp->ca = CA_LOSS;
	tp->recover = tp->snd_nxt;
	tcp_mark_all_lost(tp);
	tp->cwnd = tp->mss;
	tp->dupacks = 0;
}

void tcp_leave_recovery(struct tcp_sock *tp)
{
	if (tp->ca == CA_RECOVERY)
		tp->cwnd = tp->ssthresh;
	tcp_clear_marks(tp, SEG_LOST | SEG_RETRANS);
	tp->ca = CA_OPEN;
	tp->dupacks = 0;
	tp->retrans_ts = 0;
	tp->undo_retrans = 0;
}

/* The retransmission was not needed: take back what it did to the window. */
void tcp_undo(struct tcp_sock *tp)
{
	net_count(tcp_spurious);
	tp->cwnd = max(tp->cwnd, tp->prior_cwnd);
	tp->ssthresh = max(tp->ssthresh, tp->prior_ssthresh);
	tcp_clear_marks(tp, SEG_LOST | SEG_RETRANS);
	tp->ca = CA_OPEN;
	tp->dupacks = 0;
	tp->backoff = 0;
	tp->retrans_ts = 0;
	tp->undo_retrans = 0;
}
