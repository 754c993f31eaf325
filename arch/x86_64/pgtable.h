/* SPDX-License-Identifier: MIT */
/*
 * What mm/vmalloc.c asks of the kernel's page tables beside paging.h, and TLB
 * upkeep of kernel mappings.  User tables: mm/vm_pt.c; their TLB: tlb.c.
 */
#ifndef ARCH_X86_64_PGTABLE_H
#define ARCH_X86_64_PGTABLE_H

#include "mm/page.h"

/* Page mapped at kernel address @va (4 KiB mapping), or NULL. */
struct page *kernel_va_to_page(uintptr_t va);
/* Clears the entry and returns the page it had; no TLB flush. */
struct page *kernel_unmap(uintptr_t va);
/* Drops [va, va + n pages) from the TLBs of all CPUs.  Thread context, interrupts on; may halt. */
void kernel_flush_range(uintptr_t va, size_t pages);

#endif /* ARCH_X86_64_PGTABLE_H */
