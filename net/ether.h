/* SPDX-License-Identifier: MIT */
/*
 * Ethernet, and what finds out who gets a frame: ARP and neighbour discovery.
 */
#ifndef NET_ETHER_H
#define NET_ETHER_H

#include "net/ip.h"
#include "net/netdev.h"

#define ETHER_HEADER 14
#define ETHER_IPV4 0x0800
#define ETHER_ARP  0x0806
#define ETHER_IPV6 0x86dd

/* Makes @dev (name, mac, mtu, features, start, carrier set) known to the stack. */
void ether_register(struct netdev *dev);
void netdev_carrier_changed(struct netdev *dev);
/*
 * Tells everybody on the link which addresses are here: gratuitous ARP, unsolicited
 * advertisements.
 */
void ether_announce(struct netdev *dev);

/**
 * ether_rx_head - packet with the headers of a received frame
 * @frame: its first @avail bytes, of @total
 * Return: packet whose head holds the bytes behind the Ethernet header that belong to
 * headers (the driver adds the rest as payload); NULL: not for us, or no memory.
 */
struct pbuf *ether_rx_head(struct netdev *dev, const uint8_t *frame, unsigned avail,
			   unsigned total);
void ether_rx(struct pbuf *p); /* consumes; context as netif_rx() */
/* Puts the Ethernet header before the packet and gives it to the device; consumes. */
void ether_send(struct netdev *dev, struct pbuf *p, const uint8_t *dst, uint16_t type);
unsigned ether_flow_hash(const struct pbuf *p); /* same for all packets of a connection we send */
/* Merges neighbours in the queue that one packet of the device can carry. */
void ether_merge(struct pqueue *q, struct netdev *dev, unsigned mss);
/* The same for a packet @a that waits for room in the device; true: @b is consumed. */
bool ether_grow(struct netdev *dev, struct pbuf *a, struct pbuf *b);

extern const uint8_t ether_broadcast[6];

/* Neighbours (net/neigh.c). */
enum neigh_state {
	NEIGH_INCOMPLETE,
	NEIGH_REACHABLE,
	NEIGH_STALE,
	NEIGH_DELAY,
	NEIGH_PROBE,
	NEIGH_FAILED,
	NEIGH_PERMANENT
};
#define NEIGH_SOLICITED (1u << 0) /* an answer to our question */
#define NEIGH_OVERRIDE  (1u << 1) /* may replace a known address */
#define NEIGH_CREATE    (1u << 2) /* worth remembering if it is new */
void neigh_output(struct netdev *dev, const struct ip_addr *hop, struct pbuf *p); /* consumes */
/* @mac NULL: only that it is reachable. */
void neigh_heard(struct netdev *dev, const struct ip_addr *a, const uint8_t *mac, unsigned flags);
/* it did not answer when last asked */
bool neigh_failed(struct netdev *dev, const struct ip_addr *a);
void neigh_flush(struct netdev *dev);
/*
 * An entry by hand: 0, -EEXIST (known, and @replace is false), -ENOBUFS.  A permanent
 * one is never asked for.
 */
int neigh_set(struct netdev *dev, const struct ip_addr *a, const uint8_t *mac, bool permanent,
	      bool replace);
bool neigh_remove(struct netdev *dev, const struct ip_addr *a); /* false: there is none */
int neigh_init(void);
/* For /proc/net/sockstat: entries, packets that wait for an address, and their truesize. */
void neigh_usage(unsigned *entries, unsigned *packets, uint64_t *bytes);
struct neigh_info {
	struct netdev *dev;
	struct ip_addr addr;
	uint8_t mac[6];
	bool valid;
	uint8_t state;
};
void neigh_for_each(void (*fn)(const struct neigh_info *i, void *arg), void *arg);

/* ARP (net/arp.c) and neighbour discovery (net/nd.c). */
void arp_input(struct pbuf *p); /* consumes */
/* @mac NULL: to everybody.  @src NULL: a probe (RFC 5227). */
void arp_request(struct netdev *dev, const struct ip_addr *src, const struct ip_addr *target,
		 const uint8_t *mac);
void arp_announce(struct netdev *dev, const struct ip_addr *a);
/* Has another station used @a since the last call?  For one address at a time (DHCP). */
bool arp_conflict(const struct ip_addr *a, bool reset);
void nd_input(struct pbuf *p); /* ICMPv6 130 to 143, checksum verified; does not consume */
void nd_solicit(struct netdev *dev, const struct ip_addr *src, const struct ip_addr *target,
		const uint8_t *mac);
void nd_init(void);
void nd_start(struct netdev *dev); /* link-local address, router solicitation */
/* With duplicate detection; life times as in struct ifaddr. */
void nd_add_address(struct netdev *dev, const struct ip_addr *a, unsigned prefix, unsigned flags,
		    uint64_t valid_until, uint64_t preferred_until);
void nd_announce(struct netdev *dev); /* an unsolicited advertisement for each address */
/* multicast that our addresses bring */
bool nd_wants(struct netdev *dev, const struct ip_addr *dst);
/* The solicited-node groups of @dev's addresses. */
void nd_for_each_group(struct netdev *dev,
		       void (*fn)(const struct ip_addr *group, unsigned users, void *arg),
		       void *arg);
/* its link-local address; false: none yet */
bool nd_link_local(struct netdev *dev, struct ip_addr *out);

/* Multicast group reports (net/igmp.c, net/mld.c). */
void igmp_init(void);
void igmp_joined(struct netdev *dev, const struct ip_addr *group);
void igmp_left(struct netdev *dev, const struct ip_addr *group);
void igmp_input(struct pbuf *p); /* does not consume */
void mld_init(void);
void mld_joined(struct netdev *dev, const struct ip_addr *group);
void mld_left(struct netdev *dev, const struct ip_addr *group);
void mld_input(struct pbuf *p, const uint8_t *m, unsigned n); /* a query; does not consume */

/* Configuration (net/dhcp.c, net/config.c). */
bool dhcp_input(struct pbuf *p); /* true: consumed */
int dhcp_start(struct netdev *dev);
void dhcp_link_up(struct netdev *dev); /* the lease is looked at again, or asked for at once */
void net_config_init(void); /* init step: ip= or DHCP on the devices there are */
/* Name servers, for /proc/net/pnp; at most three. */
void net_set_dns(const struct ip_addr *servers, unsigned n, const char *domain);
unsigned net_get_dns(struct ip_addr servers[3], char *domain, size_t size);
int if_proc_init(void);
long if_ioctl(int family, unsigned cmd, void __user *arg); /* SIOC*: net/if_ioctl.c */

#endif /* NET_ETHER_H */
