/* SPDX-License-Identifier: MIT */
/*
 * Page-table entries: the x86-64 format.
 *
 * mm/vm_pt.c walks user tables through the direct map; on the host machine the
 * same code works on tables that no CPU reads, so address spaces have host tests.
 */
#ifndef MM_PTE_H
#define MM_PTE_H

#include "kernel/types.h"

#define PTE_P    (1UL << 0)
#define PTE_W    (1UL << 1)
#define PTE_U    (1UL << 2)
#define PTE_PWT  (1UL << 3)
#define PTE_PCD  (1UL << 4)
#define PTE_A    (1UL << 5)
#define PTE_D    (1UL << 6)
#define PTE_PS   (1UL << 7) /* large page, in levels 2 and 3 */
#define PTE_G    (1UL << 8)
#define PTE_NX   (1UL << 63) /* user entries: only through pte_nx */
#define PTE_ADDR 0x000ffffffffff000UL

/* Bits 9-11 are ours. */
#define PTE_ANON (1UL << 9)  /* anonymous page: copied when shared and written */
#define PTE_NONE (1UL << 10) /* mapped without any permission: P is clear, the rest is kept */

#define PTES_PER_TABLE 512
#define PML4_INDEX(va) (((va) >> 39) & 511)
#define PDPT_INDEX(va) (((va) >> 30) & 511)
#define PD_INDEX(va)   (((va) >> 21) & 511)
#define PT_INDEX(va)   (((va) >> 12) & 511)

extern uint64_t pte_nx; /* PTE_NX, or 0 on a CPU without no-execute */

typedef _Atomic uint64_t pte_t; /* the CPU sets A and D behind our back */

#endif /* MM_PTE_H */
