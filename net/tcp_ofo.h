/* SPDX-License-Identifier: MIT */
/*
 * What waits out of order: runs of packets without a hole, in a tree.
 *
 * What:      a run is a range of sequence numbers and the packets that fill it; runs
 *            neither touch nor overlap.  They are nodes of a treap: by key a search
 *            tree over tp->ofo, by random priority a heap, so that no order in which
 *            segments can be sent makes it deep (CVE-2018-5390).  A segment costs one
 *            descent and what it makes superfluous.
 * Bounds:    each packet is charged by truesize, each run as a kernel object of the
 *            group; there are TCP_OFO_MAX runs at most.  Small packets that continue a
 *            run share blocks (tcp_pack.c).
 * Locks:     ownership of the connection.
 */
#ifndef NET_TCP_OFO_H
#define NET_TCP_OFO_H

#include "net/pbuf.h"
#include "kernel/list.h"

struct tcp_sock;

struct tcp_run {
	struct tcp_run *kid[2];  /* before, behind */
	uint32_t prio;           /* not less than the kids' */
	uint32_t start, end;
	struct pqueue q;         /* each packet begins where the one before ends */
	/* tp->ofo_recent: changed last first, the order of reports (RFC 2018) */
	struct list_head recent;
};

int tcp_ofo_init(void);
/**
 * tcp_ofo_insert - keep a segment that lies beyond a hole
 *
 * Notes what of it was there already for the next report (RFC 2883).
 * Context: owned.  Consumes @p, whether or not there is memory for it.
 */
void tcp_ofo_insert(struct tcp_sock *tp, struct pbuf *p);
/* Moves what is in order by now to the receive queue. Owned. */
void tcp_ofo_drain(struct tcp_sock *tp);
/* Drops everything: the peer still has it (RFC 2018 section 8). Owned. */
void tcp_ofo_purge(struct tcp_sock *tp);

#endif /* NET_TCP_OFO_H */
