/* SPDX-License-Identifier: MIT */
/*
 * Interface identifiers of IPv6 addresses: from the hardware address (RFC 4291
 * appendix A), or with a secret, the same at every boot on one network and unrelated
 * on another (RFC 7217), or random for temporary addresses (RFC 8981).
 */
#include "net/nd.h"
#include "net/ip.h"
#include "kernel/log.h"
#include "kernel/param.h"

static char secret[33];
PARAM_STRING("net.stable_secret", secret, PARAM_RO,
	     "32 hexadecimal digits: stable IPv6 addresses are made of them (RFC 7217)");

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The secret as two words; false: none, or not one. */
static bool read_secret(uint64_t key[2])
{
	key[0] = key[1] = 0;
	for (unsigned i = 0; i < 32; i++) {
		int d = digit(secret[i]);

		if (d < 0)
			return false;
		key[i / 16] = key[i / 16] << 4 | (unsigned)d;
	}
	return true;
}

bool nd_has_secret(void)
{
	uint64_t key[2];

	return read_secret(key);
}

/* Identifiers that mean something else (RFC 5453). */
static bool reserved(const struct ip_addr *a)
{
	uint64_t iid = (uint64_t)get_be32(&a->b[8]) << 32 | get_be32(&a->b[12]);

	return !iid || (iid >> 24) == 0x02005efffeull ||
	       (iid >= 0xfdffffffffffff80ull && iid <= 0xfdffffffffffffffull);
}

static struct ip_addr with_eui64(const struct ip_addr *prefix, const uint8_t *mac)
{
	struct ip_addr a = *prefix;

	a.b[8] = mac[0] ^ 2;
	a.b[9] = mac[1];
	a.b[10] = mac[2];
	a.b[11] = 0xff;
	a.b[12] = 0xfe;
	memcpy(&a.b[13], mac + 3, 3);
	return a;
}

struct ip_addr nd_stable_address(struct netdev *dev, const struct ip_addr *prefix, unsigned tries)
{
	uint64_t key[2], words[3] = { prefix->q[0], 0, tries };
	struct ip_addr a = *prefix;

	if (!read_secret(key))
		return with_eui64(prefix, dev->mac);
	memcpy(&words[1], dev->mac, 6);
	do {
		a.q[1] = net_hash_keyed(key, words, 3);
		words[2] += 1ull << 32;
	} while (reserved(&a));
	return a;
}

struct ip_addr nd_random_address(struct netdev *dev, const struct ip_addr *prefix)
{
	struct ip_addr a = *prefix;

	(void)dev;
	do {
		a.d[2] = net_random();
		a.d[3] = net_random();
	} while (reserved(&a));
	return a;
}
