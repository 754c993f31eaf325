/* SPDX-License-Identifier: MIT */
/*
 * Merging on receive: segments of one TCP connection that came in one burst and
 * follow each other go through the stack as one packet.
 *
 * What:      a few packets are held back, one per connection, and grow while what
 *            comes next is the next piece of the same stream.  The driver lets all
 *            of them go at the end of its burst, so nothing waits for anything.
 * Rules:     the same ends, type of service (with its congestion mark), hop limit,
 *            acknowledgement and flags but PSH and FIN, which the last one may bring;
 *            the same options, where timestamps may go forward if their echo is the
 *            same; checksums verified before.  Everything else passes, after what is
 *            held of its connection, so that no connection's packets change places.
 * Result:    pbuf.segs says how many segments a packet was.  Sequence number and
 *            timestamp are the first one's (RFC 7323 section 4.3), the window the last
 *            one's.  The TCP checksum in the header is not renewed (PB_CSUM_STALE).
 * Truesize:  a merged packet references the pages of all its segments.
 * Locks:     none; a struct gro belongs to one thread.
 */
#ifndef NET_GRO_H
#define NET_GRO_H

#include "net/pbuf.h"

#define GRO_FLOWS 8u /* connections in one burst; the oldest goes when there are more */

struct gro_flow {
	struct pbuf *p;
	uint32_t next;  /* sequence number that follows */
	uint32_t ports; /* as in the header */
};
struct gro {
	struct gro_flow flows[GRO_FLOWS]; /* oldest first */
	unsigned nr;
};

/**
 * gro_receive - a frame has arrived, and others are held or follow at once
 * @p: as from ether_rx_head(), with its payload; consumed: held, merged, or handed to ether_rx()
 *
 * Context: thread, between the first packet of a burst and gro_flush().
 */
void gro_receive(struct gro *g, struct pbuf *p);
/* Hands everything held to ether_rx(): the burst has ended. */
void gro_flush(struct gro *g);

#endif /* NET_GRO_H */
