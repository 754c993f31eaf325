/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own page tables: direct map, page array, image, device registers.
 *
 * The upper half (PML4 slots 256 to 511) is the same in every address space:
 * all slots in use are filled at boot, so an address space copies them once
 * and never has to look again.  User halves are arch/x86_64/pgtable*.
 */
#ifndef ARCH_X86_64_PAGING_H
#define ARCH_X86_64_PAGING_H

#include "arch/arch.h"

#include "mm/pte.h" /* entry bits and table indices */

/* Protection of kernel mappings; PTE_NX is dropped where the CPU lacks it. */
#define KPROT_RW (PTE_P | PTE_W | PTE_A | PTE_D | PTE_G | PTE_NX)
#define KPROT_RO (PTE_P | PTE_A | PTE_G | PTE_NX)
#define KPROT_RX (PTE_P | PTE_A | PTE_G)
#define KPROT_IO (KPROT_RW | PTE_PCD | PTE_PWT) /* uncached */

extern uint64_t *kernel_pml4;     /* through the direct map */
extern uint64_t kernel_pml4_phys; /* what CR3 holds for kernel threads */

/**
 * kernel_map - map [va, va + len) to [pa, pa + len) with the largest pages that fit
 *
 * All values page-aligned.  Table pages come from bootmem until the page
 * allocator runs, then from it.  Does not flush: nothing was mapped there.
 * Context: thread; callers make sure that nobody else maps in the same range.
 * Return: 0, -ENOMEM (part may be mapped), -EEXIST if something else was mapped.
 */
int kernel_map(uintptr_t va, uint64_t pa, size_t len, uint64_t prot);

/* kernel_pte - the last-level entry for a 4 KiB page; NULL if there is none (or a large page) */
uint64_t *kernel_pte(uintptr_t va);

/**
 * mmio_map - map device registers or firmware tables
 * @cached: firmware tables in RAM; registers are uncached
 *
 * Never unmapped.  Return: pointer to @pa (any alignment), or NULL.
 * Context: boot CPU during start-up, later under whatever serialises callers.
 */
void *mmio_map(uint64_t pa, size_t len, bool cached);

bool kernel_mapped(uintptr_t va); /* is there an entry of any size for it? */

#endif /* ARCH_X86_64_PAGING_H */
