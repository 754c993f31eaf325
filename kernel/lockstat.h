/* SPDX-License-Identifier: MIT */
/* Lock statistics: kernel/lock.c keeps them, kernel/perf/init.c shows them. */
#ifndef KERNEL_LOCKSTAT_H
#define KERNEL_LOCKSTAT_H

#include "arch/arch.h"

/*
 * What waiting has cost, by the place in the code that waited: a lock has no name
 * in a release build, and the place says which lock it is.  Kept per CPU, only by
 * those that wait anyway; /proc/lockstat shows the sums.
 */
#define LOCK_SITES 64
struct lock_site {
	_Atomic uintptr_t at;     /* a return address; 0: free */
	_Atomic uint64_t waits, total_ns, worst_ns;
};
struct lock_sites {
	struct lock_site s[LOCK_SITES + 1]; /* the last: all that found no room */
};
DECLARE_PER_CPU(struct lock_sites, lock_sites);
/* Context: thread.  @since: clock_ns() when the wait began. */
void lock_note_wait(const void *at, uint64_t since);

#endif /* KERNEL_LOCKSTAT_H */
