/* SPDX-License-Identifier: MIT */
/* Changing and describing devices, for ioctl() and rtnetlink alike (net/if_config.c). */
#ifndef NET_IF_CONFIG_H
#define NET_IF_CONFIG_H

#include "net/netdev.h"

#define IFF_UP         0x1
#define IFF_BROADCAST  0x2
#define IFF_LOOPBACK   0x8
#define IFF_RUNNING    0x40
#define IFF_MULTICAST  0x1000
#define IFF_LOWER_UP   0x10000

unsigned netdev_flags(const struct netdev *dev); /* IFF_* */
int netdev_set_up(struct netdev *dev, bool up);  /* 0, -EOPNOTSUPP (loopback) */
/*
 * @mac: 6 bytes of one station.  0, -EADDRNOTAVAIL (it is not), -EOPNOTSUPP, -EIO (the
 * device refuses).  May sleep.
 */
int netdev_set_mac(struct netdev *dev, const uint8_t *mac);
int netdev_set_mtu(struct netdev *dev, unsigned mtu); /* 0, -EINVAL */
/*
 * 0, -EEXIST (the prefix is replaced), -ENOBUFS.  Ethernet: announced, or duplicate detection
 * begins.
 */
int netdev_add_address(struct netdev *dev, const struct ip_addr *a, unsigned prefix);
int netdev_del_address(struct netdev *dev, const struct ip_addr *a); /* 0, -EADDRNOTAVAIL */
/* The Ethernet device whose networks hold @gw; NULL. */
struct netdev *netdev_for_gateway(const struct ip_addr *gw);

struct netdev_counts {
	uint64_t rx_bytes, rx_packets, rx_dropped, tx_bytes, tx_packets, tx_dropped;
};
void netdev_counts(struct netdev *dev, struct netdev_counts *c);

#endif /* NET_IF_CONFIG_H */
