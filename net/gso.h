/* SPDX-License-Identifier: MIT */
/*
 * Cutting on the way out, for devices that do not cut: a large TCP packet goes
 * through the stack as one and becomes segments just before the device.
 *
 * Each segment has the headers of the whole, with its own length, sequence number
 * and checksums; FIN and PSH are the last one's, CWR is the first one's.  Payload
 * is referenced, not copied.
 */
#ifndef NET_GSO_H
#define NET_GSO_H

#include "net/netdev.h"

/* Must @p be cut before @dev gets it? */
static inline bool gso_needed(const struct netdev *dev, const struct pbuf *p)
{
	return unlikely(p->gso_size) &&
	       !(dev->features & (addr_is_v4(&p->dst) ? NETDEV_TSO4 : NETDEV_TSO6));
}

/**
 * gso_cut - turn a packet into segments of at most p->gso_size bytes of payload
 * @p: complete from p->start on (the link header) and with PB_CSUM_PARTIAL; consumed
 * @out: what could be made of it, in order; without memory the end is missing
 *
 * Context: any thread; never sleeps.
 */
void gso_cut(struct netdev *dev, struct pbuf *p, struct pqueue *out);

#endif /* NET_GSO_H */
