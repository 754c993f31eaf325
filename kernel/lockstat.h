/* SPDX-License-Identifier: MIT */
/*
 * What locks cost, by class: a lock's name, given where it is initialised.
 *
 * Waits are always counted, since who waits has time for it.  Holds are counted
 * while the parameter lock.stat is 1: then all locks take their slow paths, which
 * is what lock_stat_key is for; while it is off a lock costs one nop more.
 * /proc/lockstat shows the sums over the CPUs, and where in the code was waited.
 *
 * Each CPU writes only its own figures.  A thread remembers the locks it holds
 * and since when (thread->watched).
 */
#ifndef KERNEL_LOCKSTAT_H
#define KERNEL_LOCKSTAT_H

#include "arch/arch.h"
#include "kernel/lock.h"

#define LOCK_CLASSES 96 /* the last: all that found no room */

struct lock_times {
	_Atomic uint64_t n, total_ns, worst_ns;
};
struct lock_class_stats {
	struct lock_times wait[LOCK_CLASSES], hold[LOCK_CLASSES];
};
DECLARE_PER_CPU(struct lock_class_stats, lock_class_stats);

/* Waits by the place in the code that waited. */
#define LOCK_SITES 64
struct lock_site {
	_Atomic uintptr_t at; /* a return address; 0: free */
	struct lock_times wait;
};
struct lock_sites {
	struct lock_site s[LOCK_SITES + 1]; /* the last: all that found no room */
};
DECLARE_PER_CPU(struct lock_sites, lock_sites);

/*
 * The number of the class with this name, which stays (a new one if there is none
 * yet).  Context: any.
 */
unsigned lock_class(const char *name);
/* NULL: there are not so many classes. */
const char *lock_class_name(unsigned class);

/* Context: thread.  @at: who waited; @since: clock_ns() when the wait began. */
void lock_note_wait(const char *name, const void *at, uint64_t since);

/*
 * Counts how often measuring began: what a thread remembers from an earlier time was
 * released unseen.  Written by who switches lock_stat_key on, before that.
 */
extern _Atomic unsigned lock_stat_epoch;

/* The current thread has got @lock, or is about to release it.  false: it holds too many. */
bool lock_watch(const void *lock, const char *name);
void lock_unwatch(const void *lock);

/* The same for sleeping locks, where holds are measured. */
#define lock_stat_got(l, name)                                                                     \
	do {                                                                                       \
		if (static_branch(&lock_stat_key))                                                 \
			(void)lock_watch(l, name);                                                 \
	} while (0)
#define lock_stat_drop(l)                                                                          \
	do {                                                                                       \
		if (static_branch(&lock_stat_key))                                                 \
			lock_unwatch(l);                                                           \
	} while (0)

#endif /* KERNEL_LOCKSTAT_H */
