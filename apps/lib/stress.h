/* SPDX-License-Identifier: MIT */
/* What filestress checks by, and what its workers share. */
#ifndef APPS_LIB_STRESS_H
#define APPS_LIB_STRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In memory shared by all processes; atomic. */
struct stress_shared {
	uint64_t wrong, bytes;
	uint64_t steps[16];
};

/* Byte @at of file @file: 1 … 255; neighbours, pages and files differ. */
static inline unsigned char stress_byte(unsigned file, uint64_t at)
{
	uint32_t x = (uint32_t)at * 2654435761u ^ (uint32_t)(at >> 12) * 40503u ^ (file + 1) * 97u;

	return (unsigned char)(1 + (x ^ x >> 15) % 255);
}

/* Compares; the first wrong byte is printed.  @holes: 0 is fine. */
void stress_check(struct stress_shared *s, const char *who, unsigned file, uint64_t at,
		  const unsigned char *b, size_t n, bool holes);
/* A TCP connection within this machine: 0 or -1. */
int stress_connection(int *out, int *in);
/* Asks the kernel to drop clean pages; without permission nothing happens. */
void stress_drop_caches(void);

#endif /* APPS_LIB_STRESS_H */
