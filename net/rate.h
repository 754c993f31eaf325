/* SPDX-License-Identifier: MIT */
/*
 * How often a peer gets an answer that it need not get: ICMP errors, resets.
 *
 * A bucket for each peer, in the virtual scheduling form (a time instead of a level), in
 * a table under a keyed hash: no memory per peer, nothing to be cleaned up, and nobody
 * learns from one peer's answers what another provoked.  Peers that share a slot share
 * its rate.
 */
#ifndef NET_RATE_H
#define NET_RATE_H

#include "net/addr.h"

#define RATE_SLOTS 256u

struct rate {
	uint64_t gap;    /* ns: one answer in as long, on average */
	unsigned burst;  /* answers at once after a rest */
	/* clock_ns at which the slot's bucket will be empty */
	_Atomic uint64_t empty_at[RATE_SLOTS];
};

/**
 * rate_ok - may @to have one more answer now?  If so it is counted.
 * Context: thread; takes no lock.
 */
bool rate_ok(struct rate *r, const struct ip_addr *to);

#endif /* NET_RATE_H */
