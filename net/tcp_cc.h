/* SPDX-License-Identifier: MIT */
/*
 * Congestion control as a set of calls: how the window grows, and how far it
 * falls when the network is full.
 *
 * What:      one table of functions per algorithm (tcp_reno.c, tcp_cubic.c), chosen
 *            by net.tcp.cc for new sockets and by TCP_CONGESTION for one.  When a
 *            loss is one, what is sent again and how much meanwhile are decided
 *            elsewhere (tcp_rack.c, tcp_cong.c, tcp_prr.c).
 * Units:     windows are bytes; an algorithm's state lies in tp->cc_state.
 * Context:   all calls with the connection owned; none sleeps.
 */
#ifndef NET_TCP_CC_H
#define NET_TCP_CC_H

#include "kernel/types.h"

#define TCP_CC_NAME_MAX 16 /* with its end: what TCP_CONGESTION exchanges */
#define TCP_CWND_MAX    (32u << 20) /* bytes: beyond every buffer */

struct tcp_sock;

/* CUBIC (RFC 9438).  Windows in bytes, times in ns of clock_ns(). */
struct tcp_cubic {
	uint64_t epoch;       /* when the present growth began; 0: at the next acknowledgement */
	uint64_t k_ms;        /* from then until the window is origin again */
	uint32_t origin;      /* W_max: where the curve is flat */
	/* the window before the last reduction, lower if it had not recovered */
	uint32_t w_max;
	uint32_t w_est;       /* what Reno would have by now */
	uint32_t prior_w_max; /* for undo */
	uint32_t credit;      /* byte-windows acknowledged and not yet turned into growth */
	uint32_t est_credit;  /* the same for w_est */
};

/* HyStart++ (RFC 9406): leaves slow start when the round-trip time rises. */
struct tcp_hystart {
	uint32_t round_end;    /* the round ends when this is acknowledged */
	uint32_t last_min_us, min_us; /* smallest samples of the last and of this round; 0: none */
	uint32_t css_base_us;  /* before conservative slow start */
	uint8_t samples;       /* in this round, saturating */
	uint8_t css_rounds;    /* of conservative slow start so far; 0: not in it */
};

struct tcp_cc_ops {
	const char *name;
	/* A new connection, or one that changes its algorithm: cc_state is all zero. */
	void (*init)(struct tcp_sock *tp);
	/* A loss or an ECN mark: the new threshold.  Remembers what undo needs. */
	uint32_t (*ssthresh)(struct tcp_sock *tp);
	/* @acked bytes were acknowledged in congestion avoidance: grows tp->cwnd. */
	void (*avoid)(struct tcp_sock *tp, uint32_t acked, uint64_t now);
	/* The last reduction was a mistake: tp->cwnd and ssthresh are restored already. */
	void (*undo)(struct tcp_sock *tp);
	/* Nothing was in flight for @idle ns: growth does not count that time. */
	void (*restart)(struct tcp_sock *tp, uint64_t idle);
	bool hystart; /* slow start watches the round-trip time */
};

extern const struct tcp_cc_ops tcp_reno, tcp_cubic_ops;

/* The one that net.tcp.cc names now. */
const struct tcp_cc_ops *tcp_cc_default(void);
/* Return: NULL if there is none of this name. */
const struct tcp_cc_ops *tcp_cc_find(const char *name);
/* Changes the algorithm of a connection; its window stays. */
void tcp_cc_set(struct tcp_sock *tp, const struct tcp_cc_ops *cc);
/* @acked bytes, new and outside of recovery: slow start or avoidance. */
void tcp_cc_acked(struct tcp_sock *tp, uint32_t acked, uint64_t now);

/* tcp_hystart.c */
void tcp_hystart_init(struct tcp_sock *tp);
void tcp_hystart_rtt(struct tcp_sock *tp, uint64_t rtt_ns);
/* Return: by how much the window may grow for @acked bytes; may end slow start. */
uint32_t tcp_hystart_grow(struct tcp_sock *tp, uint32_t acked);

#endif /* NET_TCP_CC_H */
