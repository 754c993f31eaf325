/* SPDX-License-Identifier: MIT */
/*
 * Copying, moving, filling and comparing, every length up to two unrolled steps and more, every
 * alignment and every overlap, against loops over bytes.  Not one byte beside may change.
 */
#include "kernel/selftest.h"
#include "kernel/string.h"

#define MOST 200u
#define EDGE 24u
#define SOURCE (MOST + EDGE + 16)

static uint8_t a[2 * MOST + 2 * EDGE], b[2 * MOST + 2 * EDGE];

static void fill(void)
{
	for (unsigned i = 0; i < sizeof(a); i++)
		a[i] = b[i] = (uint8_t)(i * 37 + 11);
}

static bool same(void)
{
	for (unsigned i = 0; i < sizeof(a); i++) {
		if (a[i] != b[i])
			return false;
	}
	return memcmp(a, b, sizeof(a)) == 0;
}

static void copies(unsigned n, unsigned at)
{
	fill();
	memcpy(a + at, a + SOURCE + n % 8, n);
	for (unsigned i = 0; i < n; i++)
		b[at + i] = b[SOURCE + n % 8 + i];
	SELFTEST_CHECK(same());
	fill();
	memset(a + at, (int)(n + 0x1c0), n);
	for (unsigned i = 0; i < n; i++)
		b[at + i] = (uint8_t)(n + 0xc0);
	SELFTEST_CHECK(same());
	a[at + n] ^= 1;
	SELFTEST_CHECK(!same());
}

static void moves(unsigned n, int by)
{
	uint8_t *from = a + MOST, *to = from + by;
	uint8_t was[MOST];

	fill();
	for (unsigned i = 0; i < n; i++)
		was[i] = from[i];
	memmove(to, from, n);
	for (unsigned i = 0; i < n; i++)
		b[(int)MOST + by + (int)i] = was[i];
	SELFTEST_CHECK(same());
}

SELFTEST(string_blocks, 20000)
{
	for (unsigned n = 0; n <= MOST; n++) {
		for (unsigned at = EDGE; at < EDGE + 8; at++)
			copies(n, at);
		if (n > MOST - 20)
			continue;
		for (int by = -70; by <= 20; by += n < 24 ? 1 : 3)
			moves(n, by);
	}
}
