/* SPDX-License-Identifier: MIT */
/* Shared by vmalloc.c and kstack.c. */
#ifndef MM_VMALLOC_INT_H
#define MM_VMALLOC_INT_H

#include "mm/vmalloc.h"
#include "kernel/lock.h"
#include "kernel/thread.h"

extern struct mutex vmalloc_lock;

/*
 * Kernel stacks: slots of twice the stack's size; the lower half stays
 * unmapped, so that an overflow hits it whatever its step.
 */
#define KSTACK_AREA  (VMALLOC_BASE + (1UL << 38))
#define KSTACK_SLOT  (2UL * KSTACK_SIZE)
#define KSTACK_PAGES (KSTACK_SIZE / PAGE_SIZE)

void kstack_init(void);

#endif /* MM_VMALLOC_INT_H */
