/* SPDX-License-Identifier: MIT */
/*
 * HyStart++ (RFC 9406): slow start that stops before it loses.
 *
 * Round trips are compared round by round.  When they rise by an eighth (but at
 * least 4 ms, at most 16 ms), a queue is growing: the window then grows four
 * times slower for up to five rounds (conservative slow start).  If the round
 * trips come back down, it was jitter, and slow start goes on.
 */
#include "net/tcp.h"

#define MIN_THRESH_US 4000u
#define MAX_THRESH_US 16000u
#define THRESH_DIV    8u
#define SAMPLES       8u
#define CSS_DIVISOR   4u
#define CSS_ROUNDS    5u

void tcp_hystart_init(struct tcp_sock *tp)
{
	memset(&tp->hystart, 0, sizeof(tp->hystart));
	tp->hystart.round_end = tp->snd_nxt;
}

void tcp_hystart_rtt(struct tcp_sock *tp, uint64_t rtt_ns)
{
	struct tcp_hystart *h = &tp->hystart;
	uint32_t us = (uint32_t)max_t(uint64_t, min_t(uint64_t, rtt_ns / 1000, UINT32_MAX), 1);

	if (!h->min_us || us < h->min_us)
		h->min_us = us;
	if (h->samples < SAMPLES)
		h->samples++;
}

/* snd_una passed round_end. */
static void next_round(struct tcp_sock *tp)
{
	struct tcp_hystart *h = &tp->hystart;

	h->round_end = tp->snd_nxt;
	h->last_min_us = h->min_us;
	h->min_us = 0;
	h->samples = 0;
	if (h->css_rounds && h->css_rounds++ == CSS_ROUNDS) {
		h->css_rounds = 0;
		tp->ssthresh = tp->cwnd; /* the rise was real: congestion avoidance */
	}
}

uint32_t tcp_hystart_grow(struct tcp_sock *tp, uint32_t acked)
{
	struct tcp_hystart *h = &tp->hystart;

	if (h->samples == SAMPLES && h->last_min_us && h->min_us) {
		uint32_t thresh =
			min(max(h->last_min_us / THRESH_DIV, MIN_THRESH_US), MAX_THRESH_US);

		if (!h->css_rounds && h->min_us >= h->last_min_us + thresh) {
			h->css_base_us = h->min_us;
			h->css_rounds = 1;
		} else if (h->css_rounds && h->min_us < h->css_base_us) {
			h->css_rounds = 0;
		}
	}
	if (seq_geq(tp->snd_una, h->round_end))
		next_round(tp);
	return h->css_rounds ? acked / CSS_DIVISOR : acked;
}
