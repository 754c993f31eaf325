/* SPDX-License-Identifier: MIT */
/*
 * Lengths and checksums of a packet made right, so that the fuzzer gets past them:
 * IPv4 and IPv6 (over extension headers), TCP, UDP, ICMP, ICMPv6.
 */
#include "net/addr.h"
#include "net/pbuf.h"
#include "tests/fuzz/fuzz.h"

static void put_sum(uint8_t *l4, size_t n, size_t at, uint32_t pseudo)
{
	uint16_t sum;

	if (n < at + 2)
		return;
	put_be16(l4 + at, 0);
	sum = csum_fold(csum_add(pseudo, l4, n, false));
	memcpy(l4 + at, &sum, 2);
}

static void fix_l4(uint8_t proto, uint8_t *l4, size_t n, const struct ip_addr *src, const struct ip_addr *dst)
{
	uint32_t pseudo = csum_pseudo(src, dst, (uint32_t)n, proto);

	if (proto == IPPROTO_TCP) {
		put_sum(l4, n, 16, pseudo);
	} else if (proto == IPPROTO_UDP && n >= 8) {
		put_be16(l4 + 4, (uint16_t)n);
		put_sum(l4, n, 6, pseudo);
	} else if (proto == IPPROTO_ICMP) {
		put_sum(l4, n, 2, 0);
	} else if (proto == IPPROTO_ICMPV6) {
		put_sum(l4, n, 2, pseudo);
	}
}

static void fix_v4(uint8_t *b, size_t n)
{
	size_t head = (b[0] & 15) * 4u;
	struct ip_addr src, dst;
	uint16_t sum;

	if (head < 20 || n < head)
		return;
	put_be16(b + 2, (uint16_t)n);
	put_be16(b + 10, 0);
	sum = csum_fold(csum_add(0, b, head, false));
	memcpy(b + 10, &sum, 2);
	src = addr_from_v4(b + 12);
	dst = addr_from_v4(b + 16);
	if (!(get_be16(b + 6) & 0x3fff)) /* no fragment */
		fix_l4(b[9], b + head, n - head, &src, &dst);
}

static void fix_v6(uint8_t *b, size_t n)
{
	struct ip_addr src = addr_from_v6(b + 8), dst = addr_from_v6(b + 24);
	uint8_t next = b[6];
	size_t at = 40;

	put_be16(b + 4, (uint16_t)(n - 40));
	while ((next == 0 || next == 43 || next == 60) && at + 8 <= n) {
		next = b[at];
		at += 8 + b[at + 1] * 8u;
	}
	if (at < n)
		fix_l4(next, b + at, n - at, &src, &dst);
}

void fuzz_fix_packet(uint8_t *packet, size_t n)
{
	if (n >= 20 && n <= 65535 && packet[0] >> 4 == 4)
		fix_v4(packet, n);
	else if (n > 40 && packet[0] >> 4 == 6)
		fix_v6(packet, n);
}
