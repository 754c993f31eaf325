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

/*
 * deadline is what the user asked for, key where the heap has it.  Invariant:
 * a queued timer has key <= deadline, so moving a deadline later (what TCP does
 * per packet) is one compare and swap; the timer thread, which comes by at key,
 * puts it further back.
 *
 * Calls for one timer are serialised by its user (or come from its function);
 * only the timer thread runs beside them.
 *
 * Legend: [a] atomic, [q] under the timer lock of t->cpu
 */
struct timer {
	timer_fn fn;
	_Atomic uint64_t deadline; /* [a] clock_ns(), even; bit 0: disarmed; 0: not queued */
	_Atomic int cpu;           /* [a] whose queue holds it or ran it last; -1: never queued */
	uint64_t key;              /* [q] */
	struct timer *child, *next, *prev; /* [q] pairing heap; prev: parent or left sibling */
};

void timer_init(struct timer *t, timer_fn fn);
/**
 * timer_set - (re)arm for @deadline (clock_ns)
 *
 * A later deadline than before leaves it in the queue it is in and takes no
 * lock; else it moves to this CPU's queue.
 * Context: thread, spinlocks may be held (the timer lock is innermost).
 */
void timer_set(struct timer *t, uint64_t deadline);
/**
 * timer_disarm - the function will not run, but the timer may stay queued
 *
 * One compare and swap; timer_set() to a later time than before is cheap again.
 * timer_cancel() or timer_cancel_sync() must come before the memory is freed.
 * Return: true if it was armed.
 */
bool timer_disarm(struct timer *t);
/* Return: true if it was armed.  The function may still be running elsewhere. */
bool timer_cancel(struct timer *t);
/*
 * As above, and waits (sleeping) until the function is not running.  Not from the
 * function itself.
 */
bool timer_cancel_sync(struct timer *t);
static inline bool timer_pending(const struct timer *t)
{
	uint64_t d = atomic_load_explicit(&t->deadline, memory_order_relaxed);

	return d && !(d & 1);
}

/* Called by arch code in interrupt context when the deadline of arch_timer_set() passes. */
void timer_interrupt(bool from_user);
void timer_init_cpu(unsigned cpu); /* creates ktimer/N; thread context on the boot CPU */

/* For kernel/sched.c, interrupts off: when sched_tick() should run on this CPU; 0: not at all. */
void timer_set_slice(uint64_t deadline);
/*
 * For perf: calls timer_irq_hook[@which] on this CPU at @deadline, in the interrupt,
 * once; 0: not any more.  Context: interrupts off.
 */
enum timer_irq { TIMER_IRQ_SAMPLE, TIMER_IRQ_SLOTS, NR_TIMER_IRQS };
void timer_irq_set(enum timer_irq which, uint64_t deadline);
extern _Atomic(void (*)(void)) timer_irq_hook[NR_TIMER_IRQS];

#endif /* KERNEL_TIMER_H */
