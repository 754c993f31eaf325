/* SPDX-License-Identifier: MIT */
/*
 * Sequence numbers: 32 bits that wrap (RFC 9293 section 3.4).  Comparisons hold
 * for numbers less than 2^31 apart.
 */
#ifndef NET_TCP_SEQ_H
#define NET_TCP_SEQ_H

#include "kernel/types.h"

static inline bool seq_lt(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}
static inline bool seq_leq(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}
static inline bool seq_gt(uint32_t a, uint32_t b)
{
	return seq_lt(b, a);
}
static inline bool seq_geq(uint32_t a, uint32_t b)
{
	return seq_leq(b, a);
}
/* lo <= s < hi */
static inline bool seq_between(uint32_t s, uint32_t lo, uint32_t hi)
{
	return s - lo < hi - lo;
}
static inline uint32_t seq_max(uint32_t a, uint32_t b)
{
	return seq_lt(a, b) ? b : a;
}
static inline uint32_t seq_min(uint32_t a, uint32_t b)
{
	return seq_lt(a, b) ? a : b;
}

/**
 * seq_acceptable - is a segment in the receive window (RFC 9293, table 6)
 * @len: segment length, SYN and FIN counted
 */
static inline bool seq_acceptable(uint32_t seq, uint32_t len, uint32_t rcv_nxt, uint32_t wnd)
{
	if (!len)
		return wnd ? seq - rcv_nxt < wnd : seq == rcv_nxt;
	if (!wnd)
		return false;
	return seq - rcv_nxt < wnd || seq + len - 1 - rcv_nxt < wnd ||
	       (seq_lt(seq, rcv_nxt) && seq_geq(seq + len - 1, rcv_nxt));
}

#endif /* NET_TCP_SEQ_H */
