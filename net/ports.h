/* SPDX-License-Identifier: MIT */
/*
 * Who has which local port: one table per protocol.
 *
 * What:      a hash of port numbers; each bucket has a lock and a list of the
 *            bound sockets.  Only bind() and an implicit bind look here; packets
 *            never do.
 * Rules:     two sockets conflict if port and address overlap, unless both said
 *            SO_REUSEADDR and neither listens, or both said SO_REUSEPORT.
 *            Connections made by accept() or by connect() without bind(), and
 *            TIME_WAIT, share a hold: one object for all with the same port,
 *            address and options, so nothing here grows with their number.  A
 *            hold conflicts with bind() by the same rules, not with other holds:
 *            those differ in the peer.
 * Locks:     a bucket's lock protects both of its lists and what they hold.
 */
#ifndef NET_PORTS_H
#define NET_PORTS_H

#include "net/addr.h"
#include "kernel/lock.h"
#include "kernel/list.h"

#define PORT_BUCKETS    4096
#define EPHEMERAL_FIRST 32768
#define EPHEMERAL_LAST  60999

struct port_bucket {
	struct spinlock lock;
	struct list_head users; /* port_user.link */
	struct list_head holds; /* port_hold.link */
};
struct port_table {
	struct port_bucket *buckets;
};
struct port_user {
	struct list_head link;
	struct ip_addr addr;
	uint16_t port; /* 0: not bound */
	bool v6only, reuseaddr, reuseport, listening;
};

struct port_hold {
	struct list_head link;
	struct ip_addr addr; /* [I] never a wildcard */
	uint16_t port;       /* [I] */
	bool reuseaddr, reuseport; /* [I] */
	unsigned users;      /* under the bucket's lock; the last one frees it */
};

int port_table_init(struct port_table *t); /* -ENOMEM */
/**
 * port_bind - take a port
 * @u: addr and the flags are set; gets port
 * @port: wanted, host order; 0: any free ephemeral one, chosen unpredictably
 *        (RFC 6056)
 * @try: asked under the bucket's lock with the port that would be taken, NULL
 *       if every free one will do; returns false to go on looking
 * Return: 0 or -EADDRINUSE.
 */
int port_bind(struct port_table *t, struct port_user *u, uint16_t port,
	      bool (*try)(struct port_user *u, uint16_t port, void *arg), void *arg);
void port_release(struct port_table *t, struct port_user *u);
/* A hold on @port of @addr; NULL without memory.  Context: thread; never sleeps. */
struct port_hold *port_hold_get(struct port_table *t, const struct ip_addr *addr, uint16_t port,
				bool reuseaddr, bool reuseport);
void port_hold_put(struct port_table *t, struct port_hold *h); /* NULL is fine */
/**
 * port_pick - an ephemeral port for connect() without bind()
 * @try: as for port_bind(); u has addr only
 * @out: the hold on it; its port is the one chosen
 *
 * The port may be held by other connections, but nobody may have bound it.
 * Return: 0, -EADDRNOTAVAIL, -ENOBUFS.
 */
int port_pick(struct port_table *t, const struct ip_addr *addr,
	      bool (*try)(struct port_user *u, uint16_t port, void *arg), void *arg,
	      struct port_hold **out);
/* listen(): -EADDRINUSE if somebody else listens already. */
int port_set_listening(struct port_table *t, struct port_user *u, bool on);

#endif /* NET_PORTS_H */
