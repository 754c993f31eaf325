/* SPDX-License-Identifier: MIT */
/*
 * Small per-CPU counters of kernel/ itself, each written by its CPU alone.
 *
 * One list makes the struct, and in kernel/perf/counters.c a PMU per counter;
 * counting costs a load and a store of this CPU's own memory.
 */
#ifndef KERNEL_COUNTS_H
#define KERNEL_COUNTS_H

#include "arch/arch.h"

#define KERNEL_COUNTS(X)                                                                           \
	X(page_faults, "page faults of programs, and of the kernel on their behalf")               \
	X(spin_waits, "spinlocks that were held when asked for")                                   \
	X(spin_halts, "spinlocks for which a CPU halted")                                          \
	X(mutex_waits, "mutexes that were held when asked for")                                    \
	X(rwsem_waits, "reader-writer locks that had to be waited for")                            \
	X(smp_calls, "calls of functions on other CPUs")

struct kernel_counts {
#define X(name, what) _Atomic uint64_t name;
	KERNEL_COUNTS(X)
#undef X
};
DECLARE_PER_CPU(struct kernel_counts, kernel_counts); /* kernel/sched.c */

/* Context: thread or interrupts off: whoever interrupts us here counts other things. */
#define kernel_count(name)                                                                         \
	do {                                                                                       \
		_Atomic uint64_t *_c = &this_cpu(kernel_counts).name;                              \
                                                                                                   \
		atomic_store_explicit(_c, atomic_load_explicit(_c, memory_order_relaxed) + 1,      \
				      memory_order_relaxed);                                       \
	} while (0)

#endif /* KERNEL_COUNTS_H */
