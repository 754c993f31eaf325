/* SPDX-License-Identifier: MIT */
/*
 * Boot memory: what the memory map said is RAM, and a bump allocator on it
 * until page_alloc_init().  Boot CPU only, no locks.
 */
#ifndef MM_BOOTMEM_H
#define MM_BOOTMEM_H

#include "kernel/types.h"

struct mem_region {
	uint64_t start, end; /* physical bytes, page aligned, end exclusive */
};

void bootmem_add(uint64_t start, uint64_t end);     /* RAM */
void bootmem_reserve(uint64_t start, uint64_t end); /* in use: image, modules, tables */
/* Sorted, merged RAM regions (reservations not taken out): for direct map and page array. */
size_t bootmem_regions(const struct mem_region **out);
/* Zeroed memory, through the direct map address; NULL when none is left. */
void *bootmem_alloc(size_t size, size_t align);
uint64_t bootmem_alloc_phys(size_t size, size_t align, uint64_t below); /* 0 when none */
/* Gives every free page range to @fn(start, end); bootmem is closed afterwards. */
void bootmem_release(void (*fn)(uint64_t start, uint64_t end));

#endif /* MM_BOOTMEM_H */
