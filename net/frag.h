/* SPDX-License-Identifier: MIT */
/*
 * Fragments, both ways and for both families: a packet too large for its path is
 * cut (net/frag_out.c), received pieces are put together (net/frag_in.c).
 */
#ifndef NET_FRAG_H
#define NET_FRAG_H

#include "net/pbuf.h"

#define IP_DATAGRAM_MAX 65535u /* bytes, network header included for IPv4, excluded for IPv6 */

/**
 * frag_input - a fragment has arrived
 * @p: consumed; src, dst, dev and tos set; data begins at p->th
 * @id: identification
 * @proto: IPv4: protocol; IPv6: 0, since there it is no part of the key (RFC 8200, section 4.5)
 * @off: of its data in the datagram, bytes
 * @more: false for the last one
 *
 * Overlapping fragments end the datagram, and what still comes of it is dropped
 * (RFC 5722, here for IPv4 too); exact duplicates are ignored.  Memory for all
 * datagrams together is bounded by net.frag.kib; the oldest make room.
 *
 * Context: thread; never sleeps.
 * Return: the datagram once it is whole: the headers of the first fragment, all
 * data behind p->th, at least the first 60 bytes of it (or all) in the head; or NULL.
 */
struct pbuf *frag_input(struct pbuf *p, uint32_t id, uint8_t proto, unsigned off, bool more);
int frag_init(void); /* -ENOMEM */
/* For /proc/net/sockstat: datagrams being put together and the bytes they hold. */
void frag_usage(unsigned *datagrams, uint32_t *bytes);

/**
 * frag_output - send a packet in pieces of at most @mtu bytes
 * @p: consumed; its head begins with the transport header, checksum complete;
 *     src, dst, dev set
 * Context: thread; never sleeps.
 * Return: 0; -EMSGSIZE (longer than a datagram can be, or @mtu too small),
 * -ENOBUFS (some pieces may have left).
 */
int frag_output(struct pbuf *p, uint8_t proto, uint8_t ttl, uint8_t tos, unsigned mtu);
/* The next identification for packets to @dst (RFC 6864, RFC 7739). */
uint32_t frag_next_id(const struct ip_addr *src, const struct ip_addr *dst);

#endif /* NET_FRAG_H */
