/* SPDX-License-Identifier: MIT */
/*
 * What kernel/sched.c (queues and switches), kernel/sched_place.c (who runs where)
 * and kernel/sched_idle.c (nothing to run) share.
 */
#ifndef KERNEL_SCHED_INT_H
#define KERNEL_SCHED_INT_H

#include "kernel/sched.h"

/* One bit per idle CPU; a waker clears it to claim the CPU. */
extern _Atomic uint64_t sched_idle_cpus[MAX_CPUS / 64];

static inline bool sched_allowed_on(const struct thread *t, unsigned cpu)
{
	return __atomic_load_n(&t->affinity[cpu / 64], __ATOMIC_RELAXED) >> (cpu % 64) & 1;
}

/* Runs behind what is queued; pinned kernel threads (timers, work) run next. */
static inline bool sched_is_urgent(const struct thread *t)
{
	return atomic_load_explicit(&t->flags, memory_order_relaxed) & THREAD_F_PINNED;
}

/* This CPU, interrupts off: what others have pushed is queued.  Return: true if something came. */
bool sched_take_inbox(struct run_queue *rq);
/*
 * This CPU, interrupts off before and after.  Halts until something is in the queue or
 * the inbox.
 */
void sched_wait_for_work(struct run_queue *rq);

/* This CPU, interrupts off: @t waits for its turn here. */
void sched_queue_here(struct thread *t);

/* @t is RUNNABLE and in no queue; the caller has the right to queue it. */
void sched_enqueue(struct thread *t);
/* This CPU, interrupts off: threads that wait here go to CPUs that idle. */
void sched_push_surplus(struct run_queue *rq);
/*
 * This CPU, interrupts off, at its tick: no CPU idles, but others have less to
 * do.  The thread that would wait longest moves to the least loaded one; if the
 * difference is one, now and then, so that three threads share two CPUs evenly.
 */
void sched_balance(struct run_queue *rq);

#endif /* KERNEL_SCHED_INT_H */
