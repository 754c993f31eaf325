/* SPDX-License-Identifier: MIT */
/* Threads that stop for a tracer (kernel/ptrace.c). */
#ifndef KERNEL_PTRACE_H
#define KERNEL_PTRACE_H

#include "kernel/process.h"

enum { TRACE_RUN, TRACE_WANTED, TRACE_STOPPED };

static inline bool trace_wanted(const struct user_thread *u)
{
	return atomic_load_explicit(&u->trace, memory_order_relaxed) == TRACE_WANTED;
}

/*
 * The current thread stops until its tracer lets it go.  sighand->lock is held on
 * entry and dropped.
 */
void trace_stop(struct user_thread *u);
/* Wait status of such a stop. */
int trace_stop_status(void);
/* Both under process_lock: @u leaves its process; @p, who may be a tracer, ends. */
void trace_thread_exit(struct user_thread *u);
void trace_process_exit(struct process *p);

#endif /* KERNEL_PTRACE_H */
