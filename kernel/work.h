/* SPDX-License-Identifier: MIT */
/*
 * Work queues: run a function soon, in a thread that may sleep.
 *
 * work_schedule() is lock-free and may be called in interrupt handlers: it
 * pushes to this CPU's list and wakes the CPU's worker ("kworker/N").
 */
#ifndef KERNEL_WORK_H
#define KERNEL_WORK_H

#include "kernel/types.h"

struct work;
typedef void (*work_fn)(struct work *w);

struct work {
	work_fn fn;
	_Atomic bool pending; /* set by schedule, cleared just before fn runs */
	struct work *next;
};

static inline void work_init(struct work *w, work_fn fn)
{
	w->fn = fn;
	w->next = NULL;
	atomic_init(&w->pending, false);
}
/* Return: false if it was pending already.  Context: any. */
bool work_schedule(struct work *w);
bool work_schedule_on(unsigned cpu, struct work *w);
/* Waits until all work scheduled before on all CPUs has run.  May sleep. */
void work_flush_all(void);
void work_init_cpu(unsigned cpu);

#endif /* KERNEL_WORK_H */
