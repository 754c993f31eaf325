/* SPDX-License-Identifier: MIT */
/*
 * What kernel/sched.c shares with kernel/thread.c and kernel/rcu.c.  Everybody
 * else uses kernel/thread.h.
 */
#ifndef KERNEL_SCHED_H
#define KERNEL_SCHED_H

#include "kernel/thread.h"

/* Legend: [q] this CPU only, interrupts off; [a] atomic; [I] constant */
struct run_queue {
	struct thread *curr, *idle;  /* [q] [I] */
	struct list_head queue;      /* [q] RUNNABLE threads but curr */
	unsigned nr;                 /* [q] length of queue */
	bool slice_armed;            /* [q] sched_tick() will come */
	unsigned ticks;              /* [q] ends of slices */
	struct thread *misplaced;    /* [q] being switched away from, must go to another CPU */
	bool sample_armed;           /* [q] sched_tick() will come, but not soon */
	uint64_t sampled_at;         /* [q] clock_ns() of the last user/system sample */
	_Atomic uint64_t user_ns;    /* [a] figures, written by this CPU */
	_Atomic uint64_t switches, wakeups, kicks, migrations;
	_Atomic unsigned runnable;   /* [a] nr + (curr is not idle), for figures */

	/* Written by other CPUs. */
	_Atomic(struct thread *) inbox __cacheline_aligned; /* [a] newest first */
	_Atomic int will_look;       /* [a] see kernel/sched.c */
	_Atomic bool resched_asked;  /* [a] sched_request() */
} __cacheline_aligned;

DECLARE_PER_CPU(struct run_queue, run_queue);

/*
 * Called when the thread whose time runs changes; NULL unless somebody counts
 * (kernel/perf/switch.c).  Context: interrupts off, before the switch itself.
 */
typedef void (*sched_switch_fn)(struct thread *prev, struct thread *next);
extern _Atomic(sched_switch_fn) sched_switch_hook;
/* Called on a CPU after sched_request() for it, in the interrupt; NULL unless somebody profiles. */
extern _Atomic(void (*)(void)) sched_asked_hook;

/* A counter that only this CPU writes: no locked addition. */
static inline void count_add(_Atomic uint64_t *c, uint64_t n)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* Asks @cpu to call schedule() soon: from user mode at once, in the kernel at cond_resched(). */
void sched_request(unsigned cpu);
/* @t is dead and off its stack.  Context: interrupts off. */
void thread_reap(struct thread *t);

/* Idle CPUs are quiescent; interrupts off. */
void rcu_idle_enter(void);
void rcu_idle_exit(void);

#endif /* KERNEL_SCHED_H */
