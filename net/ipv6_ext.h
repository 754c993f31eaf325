/* SPDX-License-Identifier: MIT */
/* IPv6 extension headers (RFC 8200, section 4). */
#ifndef NET_IPV6_EXT_H
#define NET_IPV6_EXT_H

#include "net/pbuf.h"

#define EXT_HOP_BY_HOP  0
#define EXT_ROUTING     43
#define EXT_DESTINATION 60

static inline bool ipv6_is_extension(uint8_t next)
{
	return next == EXT_HOP_BY_HOP || next == EXT_ROUTING || next == EXT_DESTINATION ||
	       next == IPPROTO_FRAGMENT;
}

/**
 * ipv6_extensions - go through a packet's extension headers
 * @p: consumed unless returned; th behind the IPv6 header, next_at its field
 *
 * The chain is bounded: EXT_MAX headers, OPTIONS_MAX options in each, all within
 * the packet's head.  What breaks a rule is dropped, with an ICMPv6 error where
 * the rule asks for one.
 *
 * Context: thread; never sleeps.
 * Return: the packet, or the datagram that its fragment completes, with th at the
 * transport header and next_at the offset of the field that names it; NULL: dropped,
 * or a fragment that waits for others.
 */
struct pbuf *ipv6_extensions(struct pbuf *p);

#endif /* NET_IPV6_EXT_H */
