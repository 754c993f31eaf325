/* SPDX-License-Identifier: MIT */
/*
 * Random bytes: one ChaCha20 generator, seeded at boot from the CPU's random
 * number instruction where it has one and from the clock.
 */
#ifndef KERNEL_RANDOM_H
#define KERNEL_RANDOM_H

#include "kernel/types.h"

/* Fills @buf; never fails.  Context: thread (takes a spinlock). */
void random_bytes(void *buf, size_t n);
uint64_t random_u64(void);
/* Stirs bytes of any quality into the generator.  Context: thread. */
void random_add(const void *buf, size_t n);
void random_init(void);

#endif /* KERNEL_RANDOM_H */
