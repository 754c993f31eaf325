/* SPDX-License-Identifier: MIT */
/*
 * mem* and str*: what the compiler and the kernel need, in C.
 *
 * Blocks move in eight-byte steps, unrolled: string instructions are slow under
 * emulation, and the kernel has no vector registers.  Alignment is left to the
 * CPU.  Also compiled for the host (kernel/string.h says what is left out).
 */
#include "kernel/string.h"
#include "kernel/errno.h"

#if !defined(TALLY_HOSTED)

typedef uint64_t __attribute__((may_alias, aligned(1))) word;

typedef uint32_t __attribute__((may_alias, aligned(1))) half;
typedef uint16_t __attribute__((may_alias, aligned(1))) quarter;

/*
 * The last bytes go as one word that overlaps what is copied already.  It is read before
 * anything is written, so that copying to a lower address may overlap (memmove()).
 */
void *memcpy(void *d, const void *s, size_t n)
{
	word *dw = d;
	const word *sw = s;
	char *db = d;
	const char *sb = s;

	if (n >= 8) {
		word *last = (word *)(db + n - 8);
		uint64_t tail = *(const word *)(sb + n - 8);

		for (; n > 64; n -= 64, dw += 8, sw += 8) {
			uint64_t a = sw[0], b = sw[1], c = sw[2], e = sw[3];

			dw[0] = a;
			dw[1] = b;
			dw[2] = c;
			dw[3] = e;
			a = sw[4], b = sw[5], c = sw[6], e = sw[7];
			dw[4] = a;
			dw[5] = b;
			dw[6] = c;
			dw[7] = e;
		}
		for (; n > 8; n -= 8)
			*dw++ = *sw++;
		*last = tail;
	} else if (n >= 4) {
		uint32_t a = *(const half *)sb, b = *(const half *)(sb + n - 4);

		*(half *)db = a;
		*(half *)(db + n - 4) = b;
	} else if (n >= 2) {
		uint16_t a = *(const quarter *)sb, b = *(const quarter *)(sb + n - 2);

		*(quarter *)db = a;
		*(quarter *)(db + n - 2) = b;
	} else if (n) {
		*db = *sb;
	}
	return d;
}

void *memmove(void *d, const void *s, size_t n)
{
	unsigned char *db = (unsigned char *)d + n;
	const unsigned char *sb = (const unsigned char *)s + n;

	if ((uintptr_t)d - (uintptr_t)s >= n)
		return memcpy(d, s, n); /* upwards is safe: reads stay ahead of writes */
	for (; n >= 8; n -= 8) {
		db -= 8;
		sb -= 8;
		*(word *)db = *(const word *)sb;
	}
	while (n--)
		*--db = *--sb;
	return d;
}

void *memset(void *d, int c, size_t n)
{
	word *dw = d;
	uint64_t v = 0x0101010101010101ULL * (unsigned char)c;
	char *db = d;

	if (n < 8) {
		while (n--)
			*db++ = (char)c;
		return d;
	}
	*(word *)(db + n - 8) = v;
	for (; n > 64; n -= 64, dw += 8) {
		dw[0] = v;
		dw[1] = v;
		dw[2] = v;
		dw[3] = v;
		dw[4] = v;
		dw[5] = v;
		dw[6] = v;
		dw[7] = v;
	}
	for (; n > 8; n -= 8)
		*dw++ = v;
	return d;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n >= 8 && *(const word *)x == *(const word *)y; n -= 8) {
		x += 8;
		y += 8;
	}
	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

void *memchr(const void *s, int c, size_t n)
{
	const unsigned char *p = s;

	for (; n; n--, p++)
		if (*p == (unsigned char)c)
			return (void *)p;
	return NULL;
}

size_t strlen(const char *s)
{
	const char *p = s;

	while (*p)
		p++;
	return (size_t)(p - s);
}

size_t strnlen(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i])
		i++;
	return i;
}

int strcmp(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return (unsigned char)*a - (unsigned char)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n && *a && *a == *b; n--, a++, b++)
		;
	return n ? (unsigned char)*a - (unsigned char)*b : 0;
}

char *strchr(const char *s, int c)
{
	for (;; s++) {
		if (*s == (char)c)
			return (char *)s;
		if (!*s)
			return NULL;
	}
}

char *strrchr(const char *s, int c)
{
	const char *last = NULL;

	for (;; s++) {
		if (*s == (char)c)
			last = s;
		if (!*s)
			return (char *)last;
	}
}

char *strstr(const char *h, const char *n)
{
	size_t len = strlen(n);

	for (;; h++) {
		if (!strncmp(h, n, len))
			return (char *)h;
		if (!*h)
			return NULL;
	}
}

#endif /* !TALLY_HOSTED */

size_t str_copy(char *d, const char *s, size_t n)
{
	size_t i = 0;

	if (!n)
		return 0;
	for (; i + 1 < n && s[i]; i++)
		d[i] = s[i];
	d[i] = 0;
	return i;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

int parse_u64(const char *s, const char **end, uint64_t *out)
{
	unsigned base = 10;
	uint64_t v = 0;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && digit_value(s[2]) < 16) {
		base = 16;
		s += 2;
	} else if (s[0] == '0') {
		base = 8;
	}
	if (digit_value(*s) >= (int)base)
		return -EINVAL;
	for (; digit_value(*s) < (int)base; s++)
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit_value(*s), &v))
			return -ERANGE;
	if (end)
		*end = s;
	*out = v;
	return 0;
}

int parse_size(const char *s, uint64_t *out)
{
	static const char suffixes[] = "KMGTPE";
	const char *end, *at;
	uint64_t v;
	int err = parse_u64(s, &end, &v);

	if (err)
		return err;
	if (*end) {
		unsigned shift;

		at = strchr(suffixes, *end >= 'a' ? *end - 'a' + 'A' : *end);
		if (!at || end[1])
			return -EINVAL;
		shift = 10 * (unsigned)(at - suffixes + 1);
		if (v << shift >> shift != v)
			return -ERANGE;
		v <<= shift;
	}
	*out = v;
	return 0;
}
