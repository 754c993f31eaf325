/* SPDX-License-Identifier: MIT */
/*
 * Random bytes: a ChaCha20 generator with fast key erasure.
 *
 * Each call makes one block of the stream, of which the first half becomes the
 * next key at once, so that what was given out cannot be found from the state
 * later.  Further blocks of a long request use the block counter.
 *
 * Source: RFC 8439 section 2.3 for the block function.
 */
#include "kernel/random.h"
#include "kernel/lock.h"
#include "kernel/string.h"
#include "arch/arch.h"
#include "arch/x86_64/hwrandom.h"

static struct spinlock random_lock = SPINLOCK_INIT("random");
static uint32_t key[8]; /* random_lock */

static uint32_t rotl(uint32_t v, int n)
{
	return v << n | v >> (32 - n);
}

static void quarter_round(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
	*a += *b, *d = rotl(*d ^ *a, 16);
	*c += *d, *b = rotl(*b ^ *c, 12);
	*a += *b, *d = rotl(*d ^ *a, 8);
	*c += *d, *b = rotl(*b ^ *c, 7);
}

static void chacha_block(const uint32_t k[8], uint64_t counter, uint32_t out[16])
{
	uint32_t s[16] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };
	uint32_t x[16];

	memcpy(&s[4], k, 32);
	s[12] = (uint32_t)counter;
	s[13] = (uint32_t)(counter >> 32);
	memcpy(x, s, sizeof(x));
	for (int i = 0; i < 10; i++) {
		for (int n = 0; n < 4; n++)
			quarter_round(&x[n], &x[4 + n], &x[8 + n], &x[12 + n]);
		for (int n = 0; n < 4; n++)
			quarter_round(&x[n], &x[4 + (n + 1) % 4], &x[8 + (n + 2) % 4],
				      &x[12 + (n + 3) % 4]);
	}
	for (int i = 0; i < 16; i++)
		out[i] = x[i] + s[i];
}

void random_bytes(void *buf, size_t n)
{
	uint32_t block[16], k[8];
	uint8_t *p = buf;
	size_t part;

	spin_lock(&random_lock);
	chacha_block(key, 0, block);
	memcpy(key, block, sizeof(key));
	spin_unlock(&random_lock);
	/* The second half is ours; it serves short requests and is the key of long ones. */
	if (n <= 32) {
		memcpy(buf, &block[8], n);
		return;
	}
	memcpy(k, &block[8], sizeof(k));
	for (uint64_t counter = 0; n; counter++, p += part, n -= part) {
		chacha_block(k, counter, block);
		part = min(n, sizeof(block));
		memcpy(p, block, part);
	}
}

uint64_t random_u64(void)
{
	uint64_t v;

	random_bytes(&v, sizeof(v));
	return v;
}

void random_add(const void *buf, size_t n)
{
	const uint8_t *p = buf;
	uint32_t block[16];

	spin_lock(&random_lock);
	for (size_t i = 0; i < n; i++) {
		((uint8_t *)key)[i % sizeof(key)] ^= p[i];
		if (i % sizeof(key) == sizeof(key) - 1 || i == n - 1) {
			chacha_block(key, 0, block);
			memcpy(key, block, sizeof(key));
		}
	}
	spin_unlock(&random_lock);
}

void random_init(void)
{
	uint64_t seed[8];

	for (unsigned i = 0; i < ARRAY_SIZE(seed); i++)
		seed[i] = hwrandom();
	random_add(seed, sizeof(seed));
	seed[0] = clock_ns();
	seed[1] = clock_realtime_offset_ns();
	random_add(seed, 2 * sizeof(seed[0]));
}
