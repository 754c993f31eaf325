/* SPDX-License-Identifier: MIT */
/*
 * IPv6 neighbour discovery, between its files: messages (nd.c), the addresses of
 * this machine (nd_addr.c) and their identifiers (nd_iid.c), routers (nd_router.c).
 */
#ifndef NET_ND_H
#define NET_ND_H

#include "net/ether.h"

#define ND_RS       133
#define ND_RA       134
#define ND_NS       135
#define ND_NA       136
#define ND_REDIRECT 137
#define OPT_SOURCE 1
#define OPT_TARGET 2
#define OPT_PREFIX 3
#define OPT_MTU    5
#define ND_FOREVER 0xffffffffu /* a life time, in seconds */

static const struct ip_addr nd_all_nodes = { .b = { 0xff, 2, [15] = 1 } };
static const struct ip_addr nd_all_routers = { .b = { 0xff, 2, [15] = 2 } };
static const struct ip_addr nd_link_prefix = { .b = { 0xfe, 0x80 } };

struct ip_addr nd_solicited_node(const struct ip_addr *a);
/* Sends a message; @src NULL: unspecified.  @mac NULL: resolved as usual or by multicast. */
void nd_send(struct netdev *dev, const struct ip_addr *src, const struct ip_addr *dst,
	     const uint8_t *msg, unsigned n, const uint8_t *mac);
void nd_advertise(struct netdev *dev, const struct ip_addr *target, const struct ip_addr *dst,
		  bool solicited);
/*
 * First option @type of a message behind its @at bytes, its length in *len; malformed:
 * *ok false.
 */
const uint8_t *nd_option(const uint8_t *m, unsigned n, unsigned at, uint8_t type, unsigned *len,
			 bool *ok);
/* The hardware address in option @type; NULL. */
const uint8_t *nd_link_option(const uint8_t *m, unsigned n, unsigned at, uint8_t type, bool *ok);

/* Addresses (nd_addr.c). */
void nd_addr_init(void);
void nd_addr_start(struct netdev *dev); /* its link-local address */
/* A router says that hosts may make themselves addresses of this prefix; life times in seconds. */
void nd_addr_prefix(struct netdev *dev, const struct ip_addr *prefix, uint32_t valid_s,
		    uint32_t preferred_s);
/* Another station has @a, which is being checked; or had it before us, and that is a conflict. */
void nd_addr_duplicate(struct netdev *dev, struct ifaddr *a);

/* Identifiers (nd_iid.c). */
struct ip_addr nd_stable_address(struct netdev *dev, const struct ip_addr *prefix, unsigned tries);
struct ip_addr nd_random_address(struct netdev *dev, const struct ip_addr *prefix);
bool nd_has_secret(void); /* stable addresses are RFC 7217's, not made of the hardware address */

/* Routers (nd_router.c). */
void nd_router_init(void);
void nd_router_start(struct netdev *dev); /* asks for routers */
void nd_router_advertisement(struct pbuf *p, const uint8_t *m, unsigned n);
void nd_router_redirect(struct pbuf *p, const uint8_t *m, unsigned n);
/* A neighbour says that it is no router any more (RFC 4861 section 7.2.5). */
void nd_router_gone(struct netdev *dev, const struct ip_addr *router);

#endif /* NET_ND_H */
