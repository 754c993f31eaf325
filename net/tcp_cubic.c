/* SPDX-License-Identifier: MIT */
/*
 * CUBIC (RFC 9438): after a loss the window follows a cubic curve of the time
 * since then, flat where the last loss was: net/tcp_cc.h.
 *
 *	W(t) = C (t - K)^3 + W_max,  K = cbrt((W_max - cwnd) / C)
 *
 * with C = 0.4 segments / s^3 and a reduction to 0.7.  Where Reno would be
 * faster (short round trips), its window is the floor.  Integers only: times in
 * ms, C as 4 / (10 * 1000^3) segments per ms^3.
 */
#include "net/tcp.h"

#define BETA_NUM  7u
#define BETA_DEN  10u
#define T_MAX_MS                                                                                   \
	100000u /* the curve is cut off here: 400 segments/s^3 * 100^3 s^3 is beyond any window */

/* Largest r with r^3 <= v. */
static uint32_t cube_root(uint64_t v)
{
	uint64_t r = 0;

	for (int bit = 20; bit >= 0; bit--) {
		uint64_t t = r | 1ull << bit;

		if (t * t * t <= v)
			r = t;
	}
	return (uint32_t)r;
}

/* C * ms^3 in bytes. */
static uint64_t cubed_bytes(uint64_t ms, uint32_t mss)
{
	ms = min_t(uint64_t, ms, T_MAX_MS);
	return ms * ms * ms / 10000 * 4 * mss / 1000000;
}

static void cubic_init(struct tcp_sock *tp)
{
	tcp_hystart_init(tp);
}

static uint32_t cubic_ssthresh(struct tcp_sock *tp)
{
	struct tcp_cubic *c = &tp->cc_state.cubic;
	uint32_t w = min(tp->cwnd, tp->snd_nxt - tp->snd_una); /* what was in use */

	c->prior_w_max = c->w_max;
	/* Fast convergence: less than last time, so somebody else needs the room. */
	c->w_max =
		w < c->w_max ? (uint32_t)((uint64_t)w * (BETA_DEN + BETA_NUM) / (2 * BETA_DEN)) : w;
	c->epoch = 0;
	return max((uint32_t)((uint64_t)w * BETA_NUM / BETA_DEN), 2 * tp->mss);
}

static void epoch_begin(struct tcp_sock *tp, uint64_t now)
{
	struct tcp_cubic *c = &tp->cc_state.cubic;

	c->epoch = now;
	c->credit = 0;
	c->est_credit = 0;
	c->w_est = tp->cwnd;
	if (tp->cwnd < c->w_max) {
		/* ms^3 = segments / C = segments * 10^10 / 4 */
		uint64_t segs_x16 = (uint64_t)(c->w_max - tp->cwnd) * 16 / tp->mss;

		c->origin = c->w_max;
		c->k_ms = cube_root(segs_x16 * (2500000000ull / 16));
	} else {
		c->origin = tp->cwnd;
		c->k_ms = 0;
	}
}

/* The curve's value one round trip from now, within [cwnd, 1.5 cwnd]. */
static uint32_t target(struct tcp_sock *tp, uint64_t now)
{
	struct tcp_cubic *c = &tp->cc_state.cubic;
	uint64_t t = (now - c->epoch + tp->srtt) / NSEC_PER_MSEC, w, d;

	if (t < c->k_ms) {
		d = cubed_bytes(c->k_ms - t, tp->mss);
		w = c->origin > d ? c->origin - d : 0;
	} else {
		w = c->origin + cubed_bytes(t - c->k_ms, tp->mss);
	}
	return (uint32_t)max_t(uint64_t, tp->cwnd, min_t(uint64_t, w, tp->cwnd + tp->cwnd / 2));
}

/* Reno's window with a reduction to 0.7: alpha = 3 * 0.3 / 1.7 segments a round trip, later one. */
static void estimate_reno(struct tcp_sock *tp, uint32_t acked)
{
	struct tcp_cubic *c = &tp->cc_state.cubic;
	uint32_t alpha = c->w_est < c->w_max ? tp->mss * 9 / 17 : tp->mss;

	c->est_credit += acked;
	if (c->est_credit >= tp->cwnd) {
		c->est_credit -= tp->cwnd;
		c->w_est += alpha;
	}
}

static void cubic_avoid(struct tcp_sock *tp, uint32_t acked, uint64_t now)
{
	struct tcp_cubic *c = &tp->cc_state.cubic;
	uint32_t goal;
	uint64_t grow;

	if (!c->epoch)
		epoch_begin(tp, now);
	estimate_reno(tp, acked);
	goal = target(tp, now);
	/* (goal - cwnd) / cwnd bytes for each byte acknowledged; the remainder is kept. */
	grow = (uint64_t)(goal - tp->cwnd) * acked + c->credit;
	c->credit = (uint32_t)(grow % tp->cwnd);
	tp->cwnd += (uint32_t)(grow / tp->cwnd);
	if (tp->cwnd < c->w_est)
		tp->cwnd = c->w_est;
}

static void cubic_undo(struct tcp_sock *tp)
{
	struct tcp_cubic *c = &tp->cc_state.cubic;

	c->w_max = c->prior_w_max;
	c->epoch = 0;
}

static void cubic_restart(struct tcp_sock *tp, uint64_t idle)
{
	struct tcp_cubic *c = &tp->cc_state.cubic;

	if (c->epoch)
		c->epoch += idle;
}

const struct tcp_cc_ops tcp_cubic_ops = {
	.name = "cubic",
	.init = cubic_init,
	.ssthresh = cubic_ssthresh,
	.avoid = cubic_avoid,
	.undo = cubic_undo,
	.restart = cubic_restart,
	.hystart = true,
};
