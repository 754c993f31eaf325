/* SPDX-License-Identifier: MIT */
/*
 * Kernel virtual memory outside the direct map: kernel stacks with unmapped
 * guard pages, large tables, device registers.
 */
#ifndef MM_VMALLOC_H
#define MM_VMALLOC_H

#include "mm/page.h"

void *vmalloc(size_t size, gfp_t gfp); /* zeroed; NULL without memory */
void vfree(void *p);                   /* may sleep */
void *ioremap(uint64_t phys, size_t size); /* uncached; NULL without memory */
/* KSTACK_SIZE bytes, charged MEMCG_KSTACK to @o (NULL: nobody); a guard page below. */
void *kstack_alloc(struct owner *o);
void kstack_free(void *stack);
bool kstack_is_guard(uintptr_t addr); /* for the double-fault handler */
void kstack_drain(void); /* gives cached stacks back; sleeps */
void vmalloc_init(void);

#endif /* MM_VMALLOC_H */
