/* SPDX-License-Identifier: MIT */
/*
 * What has been lost, by time: RACK and the tail loss probe (RFC 8985).
 *
 * A segment is lost when one that was sent later has arrived and as much time as
 * reordering can take has passed since then.  tp->tsq holds what is in flight in
 * the order in which it was sent (a retransmission moves its segment to the end),
 * so each acknowledgement looks only at what it may prove lost.
 * For connections with SACK; without it, duplicate acknowledgements count.
 */
#ifndef NET_TCP_RACK_H
#define NET_TCP_RACK_H

#include "kernel/types.h"

struct tcp_sock;
struct tcp_seg;
struct pbuf;

struct tcp_rack {
	uint64_t xmit_ns;  /* when the latest sent of all delivered segments was sent */
	uint64_t rtt;      /* ns, its round trip */
	uint32_t end_seq;  /* its end */
	uint32_t fack;     /* highest end delivered */
	/* a duplicate report counts once a round: until this is acknowledged */
	uint32_t dsack_round;
	uint8_t mult;      /* reordering window in quarters of the smallest round trip */
	uint8_t persist;   /* recoveries until mult is 1 again */
	bool reordered;    /* the path has been seen to reorder */
	bool in_dsack_round;
};

/* What one acknowledgement brought; filled by tcp_ack.c and tcp_sack.c. */
struct tcp_ack_info {
	uint32_t acked;     /* bytes, cumulatively */
	uint32_t delivered; /* bytes that are known to have arrived now and were not before */
	uint64_t rtt;       /* ns; 0: no sample */
	bool sacked;        /* blocks told something new */
	bool dsack;         /* a duplicate was reported (RFC 2883) */
	bool first_tx;      /* a segment that was sent only once is among the delivered */
};

/* @s, no longer in flight, has arrived; called once for each. */
void tcp_rack_delivered(struct tcp_sock *tp, const struct tcp_seg *s, const struct pbuf *p,
			uint64_t now);
/* A duplicate was reported: the window was too small. */
void tcp_rack_dsack(struct tcp_sock *tp);
/* A recovery has ended. */
void tcp_rack_recovered(struct tcp_sock *tp);
/* Marks what is lost and arms reo_at for what soon may be.  Return: something new. */
bool tcp_rack_detect(struct tcp_sock *tp, uint64_t now);
/* The time for reordering is over. */
void tcp_reo_expired(struct tcp_sock *tp, uint64_t now);
/* After a time-out: marks the first segment and what has been away too long. */
void tcp_rack_mark_timeout(struct tcp_sock *tp, uint64_t now);

/* Tail loss probe: (re)arms pto_at if this connection should have one. */
void tcp_tlp_arm(struct tcp_sock *tp, uint64_t now);
void tcp_tlp_expired(struct tcp_sock *tp, uint64_t now);
/* What an acknowledgement says about the probe. */
void tcp_tlp_acked(struct tcp_sock *tp, const struct pbuf *p, const struct tcp_ack_info *a);

#endif /* NET_TCP_RACK_H */
