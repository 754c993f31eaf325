/* SPDX-License-Identifier: MIT */
/*
 * Remote calls: run a short function in interrupt context on another CPU.
 *
 * Requests are pushed lock-free to the target's list; the caller who waits
 * sleeps by halting with interrupts on (no long spinning), or not at all.
 */
#ifndef KERNEL_SMP_H
#define KERNEL_SMP_H

#include "kernel/types.h"

/**
 * smp_call - run fn(arg) on @cpu, in interrupt context there, and wait for it
 * Context: thread, interrupts on.  On this CPU: called directly, interrupts off.
 */
void smp_call(unsigned cpu, void (*fn)(void *), void *arg);
/* The same on every CPU whose bit is set in @mask (nr_cpus bits); all at once, then waits. */
void smp_call_mask(const uint64_t *mask, void (*fn)(void *), void *arg);
void smp_call_all(void (*fn)(void *), void *arg);
void smp_call_interrupt(void); /* called by arch code on a kick */

#endif /* KERNEL_SMP_H */
