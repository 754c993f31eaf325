/* SPDX-License-Identifier: MIT */
/* Reno (RFC 5681): half on a loss, then one segment a round trip: net/tcp_cc.h. */
#include "net/tcp.h"

static void reno_init(struct tcp_sock *tp)
{
	tp->bytes_acked = 0;
}

static uint32_t reno_ssthresh(struct tcp_sock *tp)
{
	tp->bytes_acked = 0;
	return max((tp->snd_nxt - tp->snd_una) / 2, 2 * tp->mss);
}

static void reno_avoid(struct tcp_sock *tp, uint32_t acked, uint64_t now)
{
	(void)now;
	tp->bytes_acked += acked;
	if (tp->bytes_acked >= tp->cwnd) {
		tp->bytes_acked -= tp->cwnd;
		tp->cwnd += tp->mss;
	}
}

static void reno_undo(struct tcp_sock *tp)
{
	(void)tp;
}

static void reno_restart(struct tcp_sock *tp, uint64_t idle)
{
	(void)tp;
	(void)idle;
}

const struct tcp_cc_ops tcp_reno = {
	.name = "reno",
	.init = reno_init,
	.ssthresh = reno_ssthresh,
	.avoid = reno_avoid,
	.undo = reno_undo,
	.restart = reno_restart,
};
