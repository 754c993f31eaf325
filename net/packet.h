/* SPDX-License-Identifier: MIT */
/*
 * AF_PACKET: sockets that see and send whole frames (net/packet.c).
 *
 * Devices show every frame that passes; while no such socket exists that costs one
 * look at a word.
 */
#ifndef NET_PACKET_H
#define NET_PACKET_H

#include "net/netdev.h"

extern _Atomic unsigned packet_sockets; /* how many watch */
/*
 * @start: offset of the Ethernet header in p->head; or of the network header, if @dev has none
 * (loopback).
 */
void packet_show(struct netdev *dev, const struct pbuf *p, unsigned start, bool outgoing);
static inline void packet_tap(struct netdev *dev, const struct pbuf *p, unsigned start,
			      bool outgoing)
{
	if (unlikely(atomic_load_explicit(&packet_sockets, memory_order_relaxed)))
		packet_show(dev, p, start, outgoing);
}
void packet_init(void);

#endif /* NET_PACKET_H */
