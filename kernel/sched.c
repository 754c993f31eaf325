/* SPDX-License-Identifier: MIT */
/*
 * The scheduler: per-CPU run queues, inboxes, switches.
 *
 * A CPU's queue is touched by that CPU alone, interrupts off.  Everybody else
 * pushes woken threads to its inbox (compare and swap) and interrupts it only
 * if it would not look by itself soon enough:
 *
 *	will_look  1: the CPU takes its inbox before long (its slice timer is
 *	              armed, or a kick is on its way)
 *	           0: it halts, or runs one thread without a tick
 *
 * The CPU goes to 0 by an exchange and then looks at the inbox once more; a
 * waker pushes and then reads will_look.  Both are sequentially consistent, so
 * one of them sees the other.  The waker that turns 0 into 1 sends the kick.
 *
 * Which CPU a thread goes to: kernel/sched_place.c.  Idling: kernel/sched_idle.c.
 */
#include "kernel/sched_int.h"

#include "kernel/counts.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/rcu.h"
#include "kernel/string.h"
#include "kernel/timer.h"
#include "kernel/trace.h"

DEFINE_PER_CPU(struct run_queue, run_queue) __cacheline_aligned;
DEFINE_PER_CPU(static struct thread, idle_thread);
DEFINE_PER_CPU(struct kernel_counts, kernel_counts);
_Atomic(sched_switch_fn) sched_switch_hook;
_Atomic(void (*)(void)) sched_asked_hook;

static unsigned slice_us = 4000;
PARAM_UINT("sched.slice_us", slice_us, 100, 1000000, PARAM_RW,
	   "microseconds a thread runs while others wait");

/* A program alone on its CPU needs no tick; this one only tells user from system time. */
#define SAMPLE_NS (50 * NSEC_PER_MSEC)

/* This CPU, interrupts off: curr may run for one more slice, as others wait. */
static void arm_slice(struct run_queue *rq, uint64_t now)
{
	if (rq->slice_armed)
		return;
	rq->slice_armed = true;
	atomic_store_explicit(&rq->will_look, 1, memory_order_relaxed);
	timer_set_slice((now ? now : clock_ns()) + slice_us * NSEC_PER_USEC);
}

static void queue_local(struct run_queue *rq, struct thread *t)
{
	if (sched_is_urgent(t)) {
		list_add(&t->run_link, &rq->queue);
		if (rq->curr != rq->idle)
			atomic_store_explicit(&rq->curr->need_resched, true, memory_order_relaxed);
	} else {
		list_add_tail(&t->run_link, &rq->queue);
	}
	rq->nr++;
}

void sched_queue_here(struct thread *t)
{
	struct run_queue *rq = &this_cpu(run_queue);

	queue_local(rq, t);
	if (rq->curr != rq->idle)
		arm_slice(rq, 0);
}

bool sched_take_inbox(struct run_queue *rq)
{
	struct thread *t, *ordered = NULL;

	if (!atomic_load_explicit(&rq->inbox, memory_order_seq_cst))
		return false;
	t = atomic_exchange_explicit(&rq->inbox, NULL, memory_order_acquire);
	while (t) {
		struct thread *next = t->inbox_next;

		t->inbox_next = ordered;
		ordered = t;
		t = next;
	}
	while (ordered) {
		t = ordered;
		ordered = t->inbox_next;
		queue_local(rq, t);
	}
	return true;
}

/* This CPU, interrupts off, a thread runs: from now on wakers must kick, unless something came. */
static void look_no_more(struct run_queue *rq)
{
	if (atomic_load_explicit(&rq->will_look, memory_order_relaxed))
		atomic_exchange_explicit(&rq->will_look, 0, memory_order_seq_cst);
	sched_take_inbox(rq);
}

static void publish_load(struct run_queue *rq)
{
	atomic_store_explicit(&rq->runnable, rq->nr + (rq->curr != rq->idle), memory_order_relaxed);
}

/* Takes the next thread that may run here; others are left to finish_switch(). */
static struct thread *pick_next(struct run_queue *rq)
{
	struct thread *t;

	while (!list_empty(&rq->queue)) {
		t = list_first_entry(&rq->queue, struct thread, run_link);
		list_del(&t->run_link);
		rq->nr--;
		if (likely(sched_is_urgent(t) || (sched_allowed_on(t, cpu_id()) && !t->pull)))
			return t;
		if (atomic_load_explicit(&t->on_cpu, memory_order_relaxed))
			rq->misplaced = t; /* the one we switch away from */
		else
			sched_enqueue(t);
	}
	return rq->idle;
}

enum put { PUT_STAYS, PUT_QUEUED, PUT_PARKED, PUT_DEAD };

/* Interrupts off.  Puts @prev where its state says. */
static enum put put_prev(struct run_queue *rq, struct thread *prev)
{
	int s = atomic_load_explicit(&prev->state, memory_order_relaxed);

	if (s == THREAD_DEAD)
		return PUT_DEAD;
	if (prev == rq->idle)
		return PUT_QUEUED;
	while (s != THREAD_RUNNABLE) {
		if (atomic_compare_exchange_weak_explicit(&prev->state, &s, s | THREAD_PARKED,
							  memory_order_seq_cst,
							  memory_order_relaxed))
			return PUT_PARKED;
	}
	if (list_empty(&rq->queue) && (sched_is_urgent(prev) || sched_allowed_on(prev, cpu_id())))
		return PUT_STAYS;
	list_add_tail(&prev->run_link, &rq->queue);
	rq->nr++;
	return PUT_QUEUED;
}

/* Makes @next the thread whose time runs. */
static void account_switch(struct run_queue *rq, struct thread *next, uint64_t now)
{
	struct thread *prev = rq->curr;
	sched_switch_fn hook = atomic_load_explicit(&sched_switch_hook, memory_order_relaxed);
	uint64_t ran = now - atomic_load_explicit(&prev->started_at, memory_order_relaxed);
	uint64_t turn = atomic_load_explicit(&prev->turn_ns, memory_order_relaxed);

	count_add(&prev->run_ns, ran);
	atomic_store_explicit(&prev->turn_ns, turn - turn / 4 + ran / 4, memory_order_relaxed);
	atomic_store_explicit(&next->started_at, now, memory_order_relaxed);
	rq->curr = next;
	publish_load(rq);
	if (unlikely(hook))
		hook(prev, next);
}

/*
 * Idling on the stack of the thread that went to sleep: if it is the next to
 * run here, which is the common case, no switch happens at all.
 */
static struct thread *idle_in_place(struct run_queue *rq)
{
	struct thread *next;

	account_switch(rq, rq->idle, clock_ns());
	do {
		sched_wait_for_work(rq);
		next = pick_next(rq);
	} while (next == rq->idle && !rq->misplaced);
	return next;
}

void schedule(void)
{
	irqstate_t irq = irq_save();
	struct run_queue *rq = &this_cpu(run_queue);
	struct thread *prev = rq->curr, *next;
	enum put put;
	uint64_t now;

	sched_take_inbox(rq);
	atomic_store_explicit(&prev->need_resched, false, memory_order_relaxed);
	put = put_prev(rq, prev);
	if (put == PUT_STAYS) {
		rcu_quiescent();
		irq_restore(irq);
		return;
	}
	next = pick_next(rq);
	if (next == rq->idle && put == PUT_PARKED)
		next = idle_in_place(rq);
	now = clock_ns();
	if (next != rq->idle) {
		if (!list_empty(&rq->queue))
			sched_push_surplus(rq);
		if (list_empty(&rq->queue) && !rq->slice_armed)
			look_no_more(rq); /* after prev was parked: its waker may be looking */
		if (!list_empty(&rq->queue)) {
			arm_slice(rq, now);
		} else if (next->process && !rq->slice_armed && !rq->sample_armed) {
			rq->sample_armed = true;
			timer_set_slice(now + SAMPLE_NS);
		}
		rcu_quiescent();
	}
	if (next != prev) {
		trace(sched_switch, (uint64_t)next->tid,
		      (uint64_t)atomic_load_explicit(&prev->state, memory_order_relaxed));
		count_add(&rq->switches, 1); /* still prev's */
	}
	account_switch(rq, next, now);
	if (next != prev) {
		count_add(&next->nr_switches, 1);
		if (unlikely(next->ran_on != cpu_id())) {
			next->ran_on = cpu_id();
			count_add(&rq->migrations, 1);
		}
		atomic_store_explicit(&next->on_cpu, 1, memory_order_relaxed);
		prev = arch_switch(prev, next);
		sched_finish_switch(prev);
	}
	irq_restore(irq);
}

void sched_finish_switch(struct thread *prev)
{
	struct run_queue *rq = &this_cpu(run_queue);
	bool dead = atomic_load_explicit(&prev->state, memory_order_relaxed) == THREAD_DEAD;
	bool misplaced = rq->misplaced == prev;

	rq->misplaced = NULL;
	atomic_store_explicit(&prev->on_cpu, 0, memory_order_release);
	if (unlikely(misplaced))
		sched_enqueue(prev);
	else if (unlikely(dead))
		thread_reap(prev);
}

void cond_resched(void)
{
	irq_poll();
	might_sleep();
	if (need_resched())
		schedule();
}

void yield_cpu(void)
{
	schedule();
}

void sched_request(unsigned cpu)
{
	atomic_store_explicit(&per_cpu(run_queue, cpu).resched_asked, true, memory_order_release);
	arch_kick(cpu);
}

void sched_ipi(void)
{
	struct run_queue *rq = &this_cpu(run_queue);

	if (atomic_load_explicit(&rq->resched_asked, memory_order_relaxed) &&
	    atomic_exchange_explicit(&rq->resched_asked, false, memory_order_acquire)) {
		void (*hook)(void) = atomic_load_explicit(&sched_asked_hook, memory_order_relaxed);

		atomic_store_explicit(&rq->curr->need_resched, true, memory_order_relaxed);
		if (unlikely(hook))
			hook();
	}
	sched_take_inbox(rq);
	if (rq->curr == rq->idle)
		return; /* the idle loop looks again before it halts */
	if (!rq->nr && !rq->slice_armed)
		look_no_more(rq);
	if (rq->nr) {
		publish_load(rq);
		arm_slice(rq, 0);
	}
}

static void sample_time(struct run_queue *rq, bool from_user)
{
	uint64_t now = clock_ns();
	uint64_t since = max(rq->sampled_at, atomic_load_explicit(&rq->curr->started_at,
								  memory_order_relaxed));

	if (from_user && now > since) {
		count_add(&rq->curr->user_ns, now - since);
		count_add(&rq->user_ns, now - since);
	}
	rq->sampled_at = now;
}

void sched_tick(bool from_user)
{
	struct run_queue *rq = &this_cpu(run_queue);

	rq->slice_armed = false;
	rq->sample_armed = false;
	sample_time(rq, from_user);
	sched_take_inbox(rq);
	if (rq->curr == rq->idle)
		return;
	if (!rq->nr)
		look_no_more(rq);
	if (!rq->nr) {
		if (rq->curr->process) {
			rq->sample_armed = true;
			timer_set_slice(clock_ns() + SAMPLE_NS);
		}
		return;
	}
	rq->ticks++;
	sched_push_surplus(rq);
	if (rq->nr)
		sched_balance(rq);
	atomic_store_explicit(&rq->curr->need_resched, true, memory_order_relaxed);
	publish_load(rq);
	arm_slice(rq, 0);
}

void sched_init_cpu(unsigned cpu)
{
	struct run_queue *rq = &per_cpu(run_queue, cpu);
	struct thread *t = &per_cpu(idle_thread, cpu);

	list_init(&rq->queue);
	list_init(&t->run_link);
	snprintf(t->name, sizeof(t->name), "idle/%u", cpu);
	atomic_init(&t->state, THREAD_RUNNABLE);
	atomic_init(&t->on_cpu, 1);
	atomic_init(&t->cpu, cpu);
	atomic_init(&t->refs, 1);
	atomic_init(&t->flags, THREAD_F_KTHREAD | THREAD_F_PINNED);
	t->started_at = clock_ns();
	rq->idle = t;
	rq->curr = t;
	set_current_thread(t);
}
