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
	bool up;        /* wanted by the administrator */
	void (*xmit)(struct netdev *dev, struct pbuf *p);
	void *priv;
	/* Ethernet devices (net/ether.h); all zero elsewhere. */
	/*
	 * The address changes by one writer at a time (the driver's lock); who sends or compares at
	 * that moment may see half of either, as if the frame had been lost.
	 */
	uint8_t mac[6];
	unsigned mtu_max; /* what netdev_set_mtu() may go up to; 0: 1500 */
	/* 0 or -errno; may sleep; NULL: it can't */
	int (*set_mac)(struct netdev *dev, const uint8_t *mac);
	/* What routers advertise (net/nd_router.c); plain words, 0: they do not. */
	uint8_t hop_limit;
	uint32_t reachable_ms, retrans_ms, mtu6;
	bool no_autoconf; /* routers' prefixes bring no addresses: its link-local one is taken */
	unsigned features; /* NETDEV_*; constant once registered */
	_Atomic bool carrier; /* the link is there */
	/* queues in which much waits: TCP slows down before packets are dropped */
	_Atomic unsigned congested;
	/* sends a complete frame; consumes, never sleeps */
	void (*start)(struct netdev *dev, struct pbuf *p);
	/* the same for frames of one flow; or NULL */
	void (*start_many)(struct netdev *dev, struct pqueue *q);
	_Atomic uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes, rx_dropped, tx_dropped;
	struct netdev *next;
};

#define NETDEV_CSUM (1u << 0) /* completes TCP and UDP checksums (PB_CSUM_PARTIAL) */
#define NETDEV_TSO4 (1u << 1) /* cuts large TCP packets (pbuf.gso_size), IPv4 */
#define NETDEV_TSO6 (1u << 2)
#define NETDEV_ETHER(d) ((d)->start != NULL)

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

/*
 * Addresses.  Readers take no lock.  A slot is reused after its address was
 * removed; a reader that looks at that moment may take one address for the
 * other's device, as if it had come a moment earlier or later.
 */
struct ifaddr {
	_Atomic(struct netdev *) dev; /* NULL: free slot */
	struct ip_addr addr;
	unsigned prefix; /* of 128 bits, so 104 for 127.0.0.0/8 */
	_Atomic unsigned flags; /* IFA_* */
	uint64_t valid_until;   /* clock_ns; 0: for ever */
	uint64_t preferred_until; /* clock_ns; 0: for ever */
	uint64_t dad_until;     /* end of duplicate detection; 0: no probe sent yet */
};
#define IFA_TENTATIVE  (1u << 0) /* duplicate detection is under way: not used yet */
#define IFA_AUTO       (1u << 1) /* from a router's advertisement or DHCP */
#define IFA_TEMPORARY  (1u << 2) /* RFC 8981 */
#define IFA_DEPRECATED (1u << 3) /* not chosen for new talks */
#define IFA_OFFLINK    (1u << 4) /* says nothing of who is on the link (RFC 5942) */
#define NR_IFADDRS 32
int ifaddr_add(struct netdev *dev, const struct ip_addr *a, unsigned prefix);
/* The same with flags and a life time: 0, -ENOBUFS, -EEXIST (its life time is renewed). */
int ifaddr_add_full(struct netdev *dev, const struct ip_addr *a, unsigned prefix, unsigned flags,
		    uint64_t valid_until, uint64_t preferred_until);
/* Flags or life times of @a are other ones: who listens is told. */
void ifaddr_changed(struct netdev *dev, const struct ifaddr *a);
bool nd_prefers_temporary(void); /* net.tempaddr: for new talks (net/nd_addr.c) */
bool ifaddr_del(struct netdev *dev, const struct ip_addr *a);
bool ifaddr_is_local(const struct ip_addr *a); /* tentative ones are not */
/* tentative ones too; NULL */
struct ifaddr *ifaddr_find(struct netdev *dev, const struct ip_addr *a);
/* Is @a the broadcast address of one of @dev's networks, or 255.255.255.255? */
bool ifaddr_is_broadcast(const struct netdev *dev, const struct ip_addr *a);
/* Is @a on one of @dev's own networks? */
bool ifaddr_on_link(const struct netdev *dev, const struct ip_addr *a);
const struct ifaddr *ifaddr_table(void); /* NR_IFADDRS entries */
static inline bool prefix_match(const struct ip_addr *a, const struct ip_addr *net, unsigned prefix)
{
	return addr_common_bits(a, net) >= prefix;
}
/* Where packets go that no address's prefix and no route covers; NULL: nowhere. */
void route_set_default(struct netdev *dev);

/*
 * Routes beside the networks of addresses; a few, in one array that is replaced as a
 * whole (RCU).
 */
struct route_entry {
	struct ip_addr dst, gw; /* gw: 0.0.0.0 or :: when on the link */
	unsigned prefix;        /* of 128 bits: 96 for the IPv4 default route, 0 for IPv6's */
	unsigned metric;
	struct netdev *dev;
	uint64_t valid_until;   /* clock_ns; 0: for ever */
	uint8_t proto;          /* ROUTE_*: who made it; rtnetlink's numbers */
};
#define ROUTE_REDIRECT 1
#define ROUTE_BOOT     3 /* and what programs set without saying so */
#define ROUTE_RA       9
#define NR_ROUTES      64
#define NR_LEARNT      16 /* of them from advertisements, and the same from redirects, at most */
/*
 * Replaces one with the same destination, gateway and metric: 0, -ENOBUFS, -ENOMEM,
 * -ENETUNREACH (gateway).
 */
int route_add(const struct route_entry *r);
/* Removes what fits; @gw NULL, @dev NULL and @proto 0: any.  -ESRCH. */
int route_del(const struct ip_addr *dst, unsigned prefix, const struct ip_addr *gw,
	      struct netdev *dev, uint8_t proto);
void route_flush(struct netdev *dev);
void route_for_each(void (*fn)(const struct route_entry *r, void *arg), void *arg);
/* The neighbour that gets a packet to @dst; false: no way. */
bool route_next_hop(struct netdev *dev, const struct ip_addr *dst, struct ip_addr *hop);
/**
 * route_redirect - @from says that @gw is a better way to @dst (RFC 1122 section 3.2.2.2, RFC 4861
 * section 8)
 * @gw: a neighbour; the same as @dst: that is on the link itself
 * Counts only from who is the way to @dst now, for ten minutes or until @gw does not answer, and
 * never while net.redirects is 0.
 * Return: it was taken.
 */
bool route_redirect(struct netdev *dev, const struct ip_addr *from, const struct ip_addr *dst,
		    const struct ip_addr *gw);
bool route_is_router(struct netdev *dev, const struct ip_addr *a); /* a default route of ROUTE_RA */

struct route {
	struct netdev *dev;
	struct ip_addr src; /* address to use when the socket has none */
};
/* The device that packets to @dst leave by; NULL: there is no way, or it is down. */
struct netdev *route_device(const struct ip_addr *dst);
/* Return: 0, -ENETUNREACH, -EADDRNOTAVAIL. */
int route_lookup(const struct ip_addr *dst, struct route *out);
/* The same by way of @dev, unless @dst is an address of this machine; NULL: any device. */
int route_lookup_on(const struct ip_addr *dst, struct netdev *dev, struct route *out);
/* An address of @dev to talk to @dst from; false: none. */
bool route_source(struct netdev *dev, const struct ip_addr *dst, struct ip_addr *out);

#endif /* NET_NETDEV_H */
