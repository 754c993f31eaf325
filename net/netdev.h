/* SPDX-License-Identifier: MIT */
/*
 * Network devices, addresses and routes.
 *
 * A device transmits packets (xmit consumes the pbuf and never sleeps) and
 * hands received ones to netif_rx(), in thread context.  Addresses form one
 * small table, changed under addr_lock and read without it (entries are only
 * added; a removed one has its dev cleared).
 */
#ifndef NET_NETDEV_H
#define NET_NETDEV_H

#include "net/pbuf.h"

struct netdev {
	const char *name;
	unsigned index; /* from 1 */
	unsigned mtu;   /* bytes of network header and payload */
	bool loopback;  /* checksums are skipped; every packet comes back */
	bool up;
	void (*xmit)(struct netdev *dev, struct pbuf *p);
	void *priv;
	_Atomic uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes, rx_dropped, tx_dropped;
	struct netdev *next;
};

void netdev_register(struct netdev *dev);
struct netdev *netdev_by_index(unsigned index);
struct netdev *netdev_by_name(const char *name);
struct netdev *netdev_first(void);
extern struct netdev loopback_dev;

/**
 * netif_rx - a packet has arrived: process it here and now
 * @p: consumed; head[start..end) holds the headers from the network header on,
 *     the rest is payload
 *
 * Run to completion on the calling thread.  Nested calls (a reply that loops
 * back) run directly up to a small depth, then wait for the outermost call.
 * Context: thread; never sleeps.
 */
void netif_rx(struct pbuf *p);

/* Addresses. */
struct ifaddr {
	_Atomic(struct netdev *) dev; /* NULL: free slot */
	struct ip_addr addr;
	unsigned prefix; /* of 128 bits, so 104 for 127.0.0.0/8 */
};
#define NR_IFADDRS 32
int ifaddr_add(struct netdev *dev, const struct ip_addr *a, unsigned prefix);
bool ifaddr_is_local(const struct ip_addr *a);
const struct ifaddr *ifaddr_table(void); /* NR_IFADDRS entries */
/* Where packets go that no address's prefix covers; NULL: nowhere. */
void route_set_default(struct netdev *dev);

struct route {
	struct netdev *dev;
	struct ip_addr src; /* address to use when the socket has none */
};
/* Return: 0, -ENETUNREACH, -EADDRNOTAVAIL. */
int route_lookup(const struct ip_addr *dst, struct route *out);

#endif /* NET_NETDEV_H */
