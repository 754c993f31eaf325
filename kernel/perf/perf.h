/* SPDX-License-Identifier: MIT */
/* What the rest of the kernel calls: nothing but a test of one word where nobody counts. */
#ifndef KERNEL_PERF_PERF_H
#define KERNEL_PERF_PERF_H

#include "kernel/thread.h"

struct process;

void perf_init(void);
/* lockstat_file.c; the second makes PMUs for lock classes that have none yet. */
void lockstat_init(void);
void lockstat_pmus(void);
void few_init(void); /* few.c */
/* trace_file.c; the second: a trace point's number, or -1. */
void trace_init(void);
struct pmu;
int trace_point_of(const struct pmu *p);

void perf_fork_slow(struct thread *child);
void perf_exec_slow(void);
void perf_exit_slow(void);

static inline bool perf_has_events(const struct thread *t)
{
	return unlikely(atomic_load_explicit(&t->perf, memory_order_relaxed) != NULL);
}
/* @child, made by the current thread, is about to start: it inherits events. */
static inline void perf_fork(struct thread *child)
{
	if (perf_has_events(current))
		perf_fork_slow(child);
}
/* The current thread has a new program: events that wait for this begin. */
static inline void perf_exec(void)
{
	if (perf_has_events(current))
		perf_exec_slow();
}
/* The current thread ends: its counts are complete. */
static inline void perf_exit(void)
{
	if (perf_has_events(current))
		perf_exit_slow();
}

#endif /* KERNEL_PERF_PERF_H */
