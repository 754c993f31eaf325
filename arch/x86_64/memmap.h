/* SPDX-License-Identifier: MIT */
/*
 * Physical memory maps: sort, merge and trim what firmware says.
 *
 * Firmware maps overlap, come out of order and have unaligned ends.  The
 * result is a list of ranges that do not overlap, in order, on page bounds;
 * where two entries disagree, the more restrictive type wins.  Knows nothing
 * of hardware: also compiled for host tests and the fuzzer.
 */
#ifndef ARCH_X86_64_MEMMAP_H
#define ARCH_X86_64_MEMMAP_H

#include "kernel/types.h"

enum memmap_type { /* in order of who wins */
	MEM_NONE = 0,
	MEM_RAM = 1,
	MEM_ACPI = 3,     /* tables; RAM, kept */
	MEM_NVS = 4,      /* firmware's own RAM */
	MEM_RESERVED = 2 + 8,
	MEM_BAD = 5 + 8,
};

#define MEMMAP_MAX 512 /* ranges; more are ignored with a message */

struct memrange {
	uint64_t start, end; /* bytes, end exclusive */
	enum memmap_type type;
};

struct memmap {
	unsigned n;
	unsigned dropped; /* raw entries that did not fit */
	struct memrange r[MEMMAP_MAX];
};

/* Adds a raw firmware entry (E820 type); empty and wrapping ranges are ignored or cut. */
void memmap_add(struct memmap *m, uint64_t start, uint64_t len, uint32_t e820_type);
/* Makes the list canonical: see above.  RAM shrinks to page bounds, all else grows to them. */
void memmap_finish(struct memmap *m);
const char *memmap_type_name(enum memmap_type t);

#endif /* ARCH_X86_64_MEMMAP_H */
