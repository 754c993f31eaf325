/* SPDX-License-Identifier: MIT */
/*
 * Which UDP socket a datagram is for: a hash by local port that holds all bound
 * sockets, and one by both ends for the connected ones, which win.
 *
 * Locks: a lock for each bucket of ports, udp_conn for all chains of the other; readers
 *        under RCU.
 */
#ifndef NET_UDP_TABLE_H
#define NET_UDP_TABLE_H

#include "net/dgram.h"

struct icmp_error;

int udp_table_init(void); /* -ENOMEM */
/* Into and out of the table, by its local port; taking out one that is not there is fine. */
void udp_table_add(struct dgram_sock *d);
void udp_table_del(struct dgram_sock *d);
/* The same for the chain of its two ends, which do not change meanwhile. */
void udp_connected(struct dgram_sock *d);
void udp_disconnected(struct dgram_sock *d);
/* Whose datagram it is, referenced; NULL: nobody's. */
struct dgram_sock *udp_lookup(const struct pbuf *p);
/* Broadcast and multicast: every socket that fits gets it.  Consumes. */
void udp_deliver_all(struct pbuf *p);
/* The socket that can have sent the datagram that an error is about; referenced, or NULL. */
struct dgram_sock *udp_sender(const struct icmp_error *e);

#endif /* NET_UDP_TABLE_H */
