/* SPDX-License-Identifier: MIT */
/*
 * Proportional rate reduction (RFC 6937, RFC 9937): how much may be sent during
 * a recovery.
 *
 * What arrives clocks what leaves: while more is in the network than the new
 * threshold, in the ratio threshold / flight at the beginning; below it, as much
 * as arrives, and one segment more each time if nothing new was lost (slow start
 * back to the threshold).
 */
#include "net/tcp.h"

void tcp_prr_begin(struct tcp_sock *tp)
{
	tp->prr_delivered = 0;
	tp->prr_out = 0;
	tp->prr_flight = max(tp->snd_nxt - tp->snd_una, 1u);
}

/**
 * tcp_prr_update - the congestion window after an acknowledgement
 * @delivered: bytes that it says have arrived
 * @safe: snd_una moved and nothing further was marked lost
 *
 * Context: owned, in CA_RECOVERY.
 */
void tcp_prr_update(struct tcp_sock *tp, uint32_t delivered, bool safe)
{
	uint32_t pipe = tcp_pipe(tp), may;

	tp->prr_delivered += delivered;
	if (pipe > tp->ssthresh) {
		uint64_t due = ((uint64_t)tp->prr_delivered * tp->ssthresh + tp->prr_flight - 1) /
			       tp->prr_flight;

		may = due > tp->prr_out ? (uint32_t)min_t(uint64_t, due - tp->prr_out, TCP_CWND_MAX)
					: 0;
	} else {
		uint32_t limit =
			tp->prr_delivered > tp->prr_out ? tp->prr_delivered - tp->prr_out : 0;

		limit = max(limit, delivered) + (safe ? tp->mss : 0);
		may = min(tp->ssthresh - pipe, limit);
	}
	/* The first retransmission always leaves. */
	if (!tp->prr_out)
		may = max(may, tp->mss);
	tp->cwnd = pipe + may;
}
