/* SPDX-License-Identifier: MIT */
#ifndef _NETINET_IN_H
#define _NETINET_IN_H

#include <stdint.h>
#include <sys/socket.h>

typedef uint16_t in_port_t;
typedef uint32_t in_addr_t;

struct in_addr {
	in_addr_t s_addr;
};

struct in6_addr {
	union {
		uint8_t s6_addr[16];
		uint32_t s6_addr32[4];
	};
};

struct sockaddr_in {
	sa_family_t sin_family;
	in_port_t sin_port;
	struct in_addr sin_addr;
	char sin_zero[8];
};

struct sockaddr_in6 {
	sa_family_t sin6_family;
	in_port_t sin6_port;
	uint32_t sin6_flowinfo;
	struct in6_addr sin6_addr;
	uint32_t sin6_scope_id;
};

#define INADDR_ANY	 ((in_addr_t)0)
#define INADDR_LOOPBACK	 ((in_addr_t)0x7f000001)
#define INET_ADDRSTRLEN	 16
#define INET6_ADDRSTRLEN 46

#define IPPROTO_IP   0
#define IPPROTO_TCP  6
#define IPPROTO_UDP  17
#define IPPROTO_IPV6 41
#define IPV6_V6ONLY  26

static const struct in6_addr in6addr_any __attribute__((unused)) = { { { 0 } } };
static const struct in6_addr in6addr_loopback __attribute__((unused)) = { { { [15] = 1 } } };

#define htons(x) ((uint16_t)__builtin_bswap16(x))
#define ntohs(x) ((uint16_t)__builtin_bswap16(x))
#define htonl(x) ((uint32_t)__builtin_bswap32(x))
#define ntohl(x) ((uint32_t)__builtin_bswap32(x))

#endif
