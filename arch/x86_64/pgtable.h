/* SPDX-License-Identifier: MIT */
/*
 * Page tables: entry bits, kernel mappings, and what mm/vm*.c needs of them.
 *
 * Tables are pages of the direct map (PAGE_PGTABLE).  The kernel half of every
 * PML4 is the same: pgtable_init() fills each upper-half slot that can ever be
 * used, and a new space copies those 256 entries once.
 */
#ifndef ARCH_X86_64_PGTABLE_H
#define ARCH_X86_64_PGTABLE_H

#include "arch/arch.h"

#define PTE_P      (1UL << 0)
#define PTE_W      (1UL << 1)
#define PTE_U      (1UL << 2)
#define PTE_PWT    (1UL << 3)
#define PTE_PCD    (1UL << 4)
#define PTE_A      (1UL << 5)
#define PTE_D      (1UL << 6)
#define PTE_PS     (1UL << 7) /* 2 MiB or 1 GiB leaf */
#define PTE_G      (1UL << 8)
#define PTE_ANON   (1UL << 9) /* ours: the page is anonymous, mapcount and refs count it */
#define PTE_NX     (1UL << 63) /* or'ed in only through pte_nx */
#define PTE_ADDR   0x000ffffffffff000UL

#define PTES_PER_TABLE 512

extern uint64_t pte_nx; /* PTE_NX where the CPU has no-execute, else 0 */

typedef uint64_t pte_t;

/**
 * pgtable_init - after page_alloc_init(): adopt the boot tables
 * @pml4_phys: the table that is loaded now; it becomes the kernel's own
 * @nx: the CPU has no-execute and EFER.NXE is set on every CPU
 *
 * Allocates the missing upper-half PDPTs (vmalloc, MMIO, vmemmap slots), so that
 * no PML4 entry of the kernel half ever changes again.
 * Context: boot CPU.
 */
void pgtable_init(uint64_t pml4_phys, bool nx);
extern uint64_t kernel_pml4_phys; /* constant after pgtable_init() */

/**
 * kernel_map_page - map one page at a kernel address
 * @prot: PTE_W, PTE_PCD, PTE_NX ... ; PTE_P and PTE_G are added
 * Context: thread.  Return: 0 or -ENOMEM (table page).
 */
int kernel_map_page(uintptr_t va, uint64_t pa, uint64_t prot) __must_check;
/* Clears the entry; returns the physical address that was mapped, 0 if none.  No TLB flush. */
uint64_t kernel_unmap_page(uintptr_t va);
/* Physical address behind a kernel virtual address, or 0.  Reads the tables only. */
uint64_t kernel_lookup(uintptr_t va);
/* Drops [va, va + n pages) from the TLBs of all CPUs.  Thread context; sleeps by halting. */
void kernel_flush_range(uintptr_t va, size_t pages);

#endif /* ARCH_X86_64_PGTABLE_H */
