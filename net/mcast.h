/* SPDX-License-Identifier: MIT */
/*
 * Multicast groups that this machine listens to, per device: those that programs
 * joined (IP_ADD_MEMBERSHIP, IPV6_JOIN_GROUP), and for IPv6 those that addresses
 * bring (net/nd.c).  Routers are told of IPv6 groups (net/mld.c).
 */
#ifndef NET_MCAST_H
#define NET_MCAST_H

#include "net/pbuf.h"

struct netdev;

/* Does @dev take packets for the group @a? */
bool mcast_wants(struct netdev *dev, const struct ip_addr *a);
/*
 * One more, or one less, user of a group: 0, -EINVAL (no group), -ENOBUFS (table full),
 * -EADDRNOTAVAIL.
 */
int mcast_join(struct netdev *dev, const struct ip_addr *group);
int mcast_leave(struct netdev *dev, const struct ip_addr *group);
/* Calls @fn for each group of @dev that programs joined; under a lock, so @fn sends nothing. */
void mcast_for_each(struct netdev *dev,
		    void (*fn)(const struct ip_addr *group, unsigned users, void *arg), void *arg);

#endif /* NET_MCAST_H */
