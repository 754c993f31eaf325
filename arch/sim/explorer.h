/* SPDX-License-Identifier: MIT */
/* Schedule exploration as tests see it. */
#ifndef ARCH_SIM_EXPLORER_H
#define ARCH_SIM_EXPLORER_H

#include "kernel/types.h"

/**
 * explore_begin - choose the schedule of the sim_run() that follows
 * @seed: the same seed gives the same run
 * @store_buffers: delay stores as x86 may
 * @check: called before every access, or NULL; may not change anything
 */
void explore_begin(uint64_t seed, bool store_buffers, void (*check)(void));
/**
 * explore_interrupts - let @handler interrupt the sim_run() that follows explore_begin()
 * At any access with interrupts on, one in so many as the seed says, the CPU runs
 * @handler(cpu) first, with interrupts off; other CPUs may run meanwhile.  NULL: none.
 */
void explore_interrupts(void (*handler)(unsigned cpu));
uint64_t explore_steps(void);
void explore_yield(void);    /* a CPU that waits */
void explore_cpu_done(void); /* a CPU's function has returned */

#endif /* ARCH_SIM_EXPLORER_H */
