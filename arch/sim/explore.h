/* SPDX-License-Identifier: MIT */
/* Schedule exploration (arch/sim/explore.c); in cost mode these do nothing. */
#ifndef ARCH_SIM_EXPLORE_H
#define ARCH_SIM_EXPLORE_H

#include "arch/sim/sim.h"

/* A point where another CPU may run. */
void explore_point(const void *addr, enum sim_access kind);
/* Is a store of this CPU to @addr still in its buffer?  Then its newest value. */
bool explore_buffered(const void *addr, uint64_t *value);
/* Takes a store into this CPU's buffer; false: perform it now. */
bool explore_store(void *addr, uint64_t value, unsigned size);
/* All buffered stores of this CPU become visible. */
void explore_flush(void);

#endif /* ARCH_SIM_EXPLORE_H */
