/* SPDX-License-Identifier: MIT */
/*
 * Secrets of the stack: the key of its hash tables, ports, and initial
 * sequence numbers (RFC 6528, 6056), and a small generator for choices that
 * need not be secret for ever.
 */
#include "net/ip.h"
#include "kernel/random.h"

/* Host tests may run without the generator. */
__attribute__((weak)) void random_bytes(void *buf, size_t n);

static uint64_t key[2];
static _Atomic uint64_t counter;

static inline uint64_t rotl(uint64_t v, int n)
{
	return v << n | v >> (64 - n);
}

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[0] = rotl(v[0], 32);
	v[2] += v[3];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[2] = rotl(v[2], 32);
}

uint64_t net_hash_keyed(const uint64_t k[2], const uint64_t *words, unsigned n)
{
	uint64_t v[4] = {
		k[0] ^ 0x736f6d6570736575ULL,
		k[1] ^ 0x646f72616e646f6dULL,
		k[0] ^ 0x6c7967656e657261ULL,
		k[1] ^ 0x7465646279746573ULL,
	};

	for (unsigned i = 0; i < n; i++) {
		v[3] ^= words[i];
		sip_round(v);
		v[0] ^= words[i];
	}
	v[3] ^= (uint64_t)n << 59;
	sip_round(v);
	v[0] ^= (uint64_t)n << 59;
	v[2] ^= 0xff;
	sip_round(v);
	sip_round(v);
	sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t net_hash(const uint64_t *words, unsigned n)
{
	return net_hash_keyed(key, words, n);
}

uint32_t net_random(void)
{
	uint64_t w[2] = { atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed),
			  clock_ns() };

	return (uint32_t)net_hash(w, 2);
}

void net_secret_init(void)
{
	/* Jitter of the clock between calls, whitened by the hash itself. */
	for (unsigned i = 0; i < 64; i++) {
		uint64_t w[3] = { clock_ns(), key[0], (uintptr_t)&w ^ clock_realtime_offset_ns() };

		key[i & 1] = net_hash(w, 3);
	}
	if (random_bytes)
		random_bytes(key, sizeof(key));
}
