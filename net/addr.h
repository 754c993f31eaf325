/* SPDX-License-Identifier: MIT */
/*
 * Internet addresses and byte order.
 *
 * One form for both families: 16 bytes, an IPv4 address as ::ffff:a.b.c.d
 * (RFC 4291 section 2.5.5.2).  So tables, hashes and comparisons exist once.
 */
#ifndef NET_ADDR_H
#define NET_ADDR_H

#include "kernel/types.h"
#include "kernel/string.h"
#include "net/abi.h"

static inline uint16_t be16(uint16_t v)
{
	return __builtin_bswap16(v);
}
static inline uint32_t be32(uint32_t v)
{
	return __builtin_bswap32(v);
}
static inline uint16_t get_be16(const void *p)
{
	uint16_t v;

	__builtin_memcpy(&v, p, 2);
	return be16(v);
}
static inline uint32_t get_be32(const void *p)
{
	uint32_t v;

	__builtin_memcpy(&v, p, 4);
	return be32(v);
}
static inline void put_be16(void *p, uint16_t v)
{
	v = be16(v);
	__builtin_memcpy(p, &v, 2);
}
static inline void put_be32(void *p, uint32_t v)
{
	v = be32(v);
	__builtin_memcpy(p, &v, 4);
}

struct ip_addr {
	union {
		uint8_t b[16];
		uint32_t d[4];
		uint64_t q[2];
	};
};

static inline bool addr_equal(const struct ip_addr *a, const struct ip_addr *b)
{
	return ((a->q[0] ^ b->q[0]) | (a->q[1] ^ b->q[1])) == 0;
}
static inline bool addr_is_v4(const struct ip_addr *a)
{
	return a->q[0] == 0 && a->d[2] == be32(0xffff);
}
/* 0.0.0.0 or :: */
static inline bool addr_is_any(const struct ip_addr *a)
{
	return a->q[0] == 0 && ((a->d[2] == 0 || a->d[2] == be32(0xffff)) && a->d[3] == 0);
}
static inline bool addr_is_loopback(const struct ip_addr *a)
{
	if (addr_is_v4(a))
		return a->b[12] == 127;
	return a->q[0] == 0 && a->d[2] == 0 && a->d[3] == be32(1);
}
static inline bool addr_is_multicast(const struct ip_addr *a)
{
	return addr_is_v4(a) ? (a->b[12] & 0xf0) == 0xe0 || a->d[3] == 0xffffffffu
			     : a->b[0] == 0xff;
}
static inline struct ip_addr addr_from_v4(const void *p)
{
	struct ip_addr a = { .q = { 0, 0 } };

	a.d[2] = be32(0xffff);
	__builtin_memcpy(&a.d[3], p, 4);
	return a;
}
static inline struct ip_addr addr_from_v6(const void *p)
{
	struct ip_addr a;

	__builtin_memcpy(a.b, p, 16);
	return a;
}
/* How many leading bits are the same: 0 .. 128. */
static inline unsigned addr_common_bits(const struct ip_addr *a, const struct ip_addr *b)
{
	uint64_t high = __builtin_bswap64(a->q[0] ^ b->q[0]),
		 low = __builtin_bswap64(a->q[1] ^ b->q[1]);

	if (high)
		return (unsigned)__builtin_clzll(high);
	return low ? 64 + (unsigned)__builtin_clzll(low) : 128;
}
#define ADDR_ANY6 ((struct ip_addr){ .q = { 0, 0 } })

/**
 * addr_import - read a program's socket address
 * @family: the socket's, AF_INET or AF_INET6
 * @port: out, host order
 * Return: 0, -EINVAL (too short), -EAFNOSUPPORT.
 */
int addr_import(int family, const union sockaddr_any *sa, unsigned len, struct ip_addr *out,
		uint16_t *port);
/* The reverse, in the form that sockets of @family show.  Return: length. */
unsigned addr_export(int family, const struct ip_addr *a, uint16_t port, union sockaddr_any *sa);
/* The same with the scope of a link-local address. */
unsigned addr_export_scoped(int family, const struct ip_addr *a, uint16_t port, unsigned scope,
			    union sockaddr_any *sa);
/* fe80::/10 and ff02::/16: meant for one link. */
static inline bool addr_is_link_local(const struct ip_addr *a)
{
	return (a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80) ||
	       (a->b[0] == 0xff && (a->b[1] & 15) == 2);
}
/* "127.0.0.1" or "::1" into @buf (46 bytes are enough); returns @buf. */
char *addr_format(const struct ip_addr *a, char *buf, size_t n);

#endif /* NET_ADDR_H */
