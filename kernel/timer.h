/* SPDX-License-Identifier: MIT */
/*
 * Timers: run a function on this CPU at a time.
 *
 * Each CPU keeps its timers ordered under one spinlock of its own; the timer
 * interrupt only wakes the CPU's timer thread ("ktimer/N"), which runs the
 * functions in thread context.  A function may take spinlocks and wake threads,
 * but not sleep.  A CPU with no timer due and at most one runnable thread takes
 * no interrupts.
 */
#ifndef KERNEL_TIMER_H
#define KERNEL_TIMER_H

#include "kernel/types.h"
#include "kernel/list.h"

struct timer;
typedef void (*timer_fn)(struct timer *t);

struct timer {
	timer_fn fn;
	_Atomic uint64_t deadline; /* clock_ns(); 0: not queued; under its CPU's timer lock */
	_Atomic int cpu;           /* whose queue; -1 never queued */
	_Atomic bool running;
	struct timer *heap_link[3]; /* private to kernel/timer.c */
	unsigned heap_pos;
};

void timer_init(struct timer *t, timer_fn fn);
/**
 * timer_set - (re)arm; moves the timer to this CPU's queue
 * Context: thread, spinlocks may be held (the timer lock is innermost).
 */
void timer_set(struct timer *t, uint64_t deadline);
/* Return: true if it was queued.  The function may still be running elsewhere. */
bool timer_cancel(struct timer *t);
/* As above, and waits (sleeping) until the function is not running.  Not from the function itself. */
bool timer_cancel_sync(struct timer *t);
static inline bool timer_pending(const struct timer *t)
{
	return atomic_load_explicit(&t->deadline, memory_order_relaxed) != 0;
}

/* Called by arch code in interrupt context when the deadline of arch_timer_set() passes. */
void timer_interrupt(bool from_user);
void timer_init_cpu(unsigned cpu); /* creates ktimer/N; thread context on the boot CPU */

#endif /* KERNEL_TIMER_H */
