/* SPDX-License-Identifier: MIT */
/*
 * Where threads run: wake-ups, placement, moving away from busy CPUs.
 *
 * Whoever makes a sleeping thread RUNNABLE queues it if it was PARKED (see
 * kernel/thread.h).  A parked thread may still be on its way off its CPU
 * (on_cpu); then it goes into that CPU's inbox, which is looked at only after
 * the switch.
 *
 * Placement: the waker's CPU if the waker says that it will sleep soon
 * (thread.wakes_near) and the thread's turns are short; else the CPU it ran on if
 * that idles, else an idle CPU near it, else the CPU it ran on.  A CPU with more
 * than one thread hands the surplus to idle CPUs at its tick and when it switches,
 * and to less loaded ones at its tick; nobody steals.  How a thread gets into
 * another CPU's inbox is told in kernel/sched.c.
 */
#include "kernel/sched_int.h"

#include "kernel/param.h"
#include "kernel/timer.h"
#include "kernel/trace.h"

#define FAR_MAX 4u /* wake-ups that another CPU wants a thread for, until it moves there */
#define BALANCE_LOOKS 64u /* CPUs whose load is read, per tick of a CPU with threads waiting */

static unsigned near_us = 400;
PARAM_UINT("sched.near_us", near_us, 0, 100000, PARAM_RW,
	   "a thread whose turns are shorter runs where network input wakes it, microseconds");

_Atomic uint64_t sched_idle_cpus[MAX_CPUS / 64] __cacheline_aligned;

static bool claim_idle(unsigned cpu)
{
	uint64_t bit = 1ULL << (cpu % 64);

	if (!(atomic_load_explicit(&sched_idle_cpus[cpu / 64], memory_order_relaxed) & bit))
		return false;
	return bit & atomic_fetch_and_explicit(&sched_idle_cpus[cpu / 64], ~bit,
					       memory_order_acq_rel);
}

/*
 * Claims an idle CPU that @t may use, from @near upwards and around.
 * Return: -1 if there is none.
 */
static int claim_any_idle(const struct thread *t, unsigned near)
{
	unsigned words = DIV_ROUND_UP(nr_cpus, 64);

	for (unsigned i = 0; i < words; i++) {
		unsigned w = (near / 64 + i) % words, shift = i ? 0 : near % 64;
		uint64_t idle = atomic_load_explicit(&sched_idle_cpus[w], memory_order_relaxed) &
				__atomic_load_n(&t->affinity[w], __ATOMIC_RELAXED);

		while (idle) {
			uint64_t turned = shift ? idle >> shift | idle << (64 - shift) : idle;
			unsigned b = ((unsigned)__builtin_ctzll(turned) + shift) % 64;

			if (claim_idle(w * 64 + b))
				return (int)(w * 64 + b);
			idle &= ~(1ULL << b);
		}
	}
	return -1;
}

static unsigned first_allowed(const struct thread *t)
{
	for_each_cpu(cpu)
		if (sched_allowed_on(t, cpu))
			return cpu;
	return 0; /* cannot be: thread_set_affinity() leaves at least one */
}

static void push_remote(struct thread *t, unsigned cpu, bool claimed)
{
	struct run_queue *rq = &per_cpu(run_queue, cpu);
	struct thread *head = atomic_load_explicit(&rq->inbox, memory_order_relaxed);
	int no = 0;
	bool urgent = sched_is_urgent(t);

	do {
		t->inbox_next = head;
	} while (!atomic_compare_exchange_weak_explicit(&rq->inbox, &head, t, memory_order_seq_cst,
							memory_order_relaxed));
	/* @t may run, and end, from here on. */
	if (claimed) {
		if (atomic_exchange_explicit(&rq->will_look, 1, memory_order_seq_cst))
			return; /* it has not halted yet */
	} else if (urgent) {
		atomic_store_explicit(&rq->will_look, 1, memory_order_relaxed);
	} else if (atomic_load_explicit(&rq->will_look, memory_order_seq_cst) ||
		   !atomic_compare_exchange_strong_explicit(&rq->will_look, &no, 1,
							    memory_order_seq_cst,
							    memory_order_relaxed)) {
		return;
	}
	count_add(&this_cpu(run_queue).kicks, 1);
	arch_kick(cpu);
}

/*
 * Whoever runs here will sleep in a moment, and @t, which it wakes, has short turns:
 * then @t runs here next, which is sooner than on another CPU that has to be woken.
 */
static bool wants_near(const struct thread *t)
{
	return current->wakes_near && !this_cpu(run_queue).nr && sched_allowed_on(t, cpu_id()) &&
	       atomic_load_explicit(&t->turn_ns, memory_order_relaxed) < near_us * NSEC_PER_USEC;
}

/* No slice is armed: the thread that runs gives way by itself, at cond_resched() at the latest. */
static void queue_near(struct thread *t)
{
	irqstate_t irq = irq_save();

	atomic_store_explicit(&current->need_resched, true, memory_order_relaxed);
	list_add_tail(&t->run_link, &this_cpu(run_queue).queue);
	this_cpu(run_queue).nr++;
	irq_restore(irq);
}

/* Chooses a CPU for @t, which is free to move.  Return: true if that CPU idled and is claimed. */
static bool place(struct thread *t, unsigned last, unsigned *cpu)
{
	int idle;

	if (sched_allowed_on(t, last) && claim_idle(last))
		return true;
	idle = claim_any_idle(t, last);
	if (idle >= 0)
		*cpu = (unsigned)idle;
	else if (!sched_allowed_on(t, last))
		*cpu = first_allowed(t);
	return idle >= 0;
}

static void moved(struct thread *t, unsigned from, unsigned to)
{
	atomic_store_explicit(&t->cpu, to, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->nr_migrations, 1, memory_order_relaxed);
	trace(sched_migrate, (uint64_t)t->tid, from, to);
}

void sched_enqueue(struct thread *t)
{
	bool urgent = sched_is_urgent(t);
	bool on_cpu = atomic_load_explicit(&t->on_cpu, memory_order_acquire);
	unsigned last = atomic_load_explicit(&t->cpu, memory_order_relaxed), cpu = last;
	bool claimed, near = !urgent && wants_near(t);
	irqstate_t irq;

	if (!near) {
		t->far = 0;
	} else if (on_cpu && last != cpu_id() && ++t->far >= FAR_MAX) {
		/* It sleeps on its CPU's stack and must be picked there to be moved. */
		t->far = 0;
		t->pull = cpu_id() + 1;
	}
	if (urgent || on_cpu) {
		claimed = claim_idle(last);
	} else if (t->pull) { /* before "near": who left it set would be picked and put back for
				 ever */
		cpu = sched_allowed_on(t, t->pull - 1) ? t->pull - 1 : first_allowed(t);
		t->pull = 0;
		near = false;
		claimed = claim_idle(cpu);
	} else if (near) {
		cpu = cpu_id();
		claimed = false;
	} else {
		claimed = place(t, last, &cpu);
	}
	if (cpu != last)
		moved(t, last, cpu);
	trace(sched_wakeup, (uint64_t)t->tid, cpu);
	if (cpu != cpu_id()) {
		push_remote(t, cpu, claimed);
	} else if (near && !on_cpu) {
		queue_near(t);
	} else {
		irq = irq_save();
		sched_queue_here(t);
		irq_restore(irq);
	}
}

bool thread_wake_state(struct thread *t, unsigned state_mask)
{
	int s;

	/* The sleeper sets its state, then reads the condition; the caller changed that before. */
	atomic_thread_fence(memory_order_seq_cst);
	s = atomic_load_explicit(&t->state, memory_order_relaxed);
	do {
		if (!(state_mask & (1u << (s & ~THREAD_PARKED))))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&t->state, &s, THREAD_RUNNABLE,
							memory_order_seq_cst,
							memory_order_seq_cst));
	if (s & THREAD_PARKED) {
		count_add(&this_cpu(run_queue).wakeups, 1);
		sched_enqueue(t);
	}
	return true;
}

bool thread_wake(struct thread *t)
{
	return thread_wake_state(t, 1u << THREAD_INTERRUPTIBLE | 1u << THREAD_UNINTERRUPTIBLE);
}

bool thread_wake_interruptible(struct thread *t)
{
	return thread_wake_state(t, 1u << THREAD_INTERRUPTIBLE | 1u << THREAD_STOPPED);
}

void sched_push_surplus(struct run_queue *rq)
{
	struct thread *t, *next;

	list_for_each_entry_safe(t, next, &rq->queue, run_link) {
		int cpu;

		if (sched_is_urgent(t) || atomic_load_explicit(&t->on_cpu, memory_order_relaxed))
			continue;
		cpu = claim_any_idle(t, cpu_id());
		if (cpu < 0)
			return;
		list_del(&t->run_link);
		rq->nr--;
		atomic_store_explicit(&t->cpu, (unsigned)cpu, memory_order_relaxed);
		atomic_fetch_add_explicit(&t->nr_migrations, 1, memory_order_relaxed);
		push_remote(t, (unsigned)cpu, true);
	}
}

static unsigned load_of(unsigned cpu)
{
	return atomic_load_explicit(&per_cpu(run_queue, cpu).runnable, memory_order_relaxed);
}

/* The least loaded of the CPUs that @t may use, among at most BALANCE_LOOKS from @first on. */
static unsigned least_loaded(const struct thread *t, unsigned first)
{
	unsigned best = first, least = UINT_MAX;

	for (unsigned i = 0; i < min(nr_cpus, BALANCE_LOOKS); i++) {
		unsigned cpu = (first + i) % nr_cpus, load = load_of(cpu);

		if (load < least && sched_allowed_on(t, cpu)) {
			best = cpu;
			least = load;
		}
	}
	return best;
}

void sched_balance(struct run_queue *rq)
{
	struct thread *t = list_last_entry(&rq->queue, struct thread, run_link);
	unsigned cpu, load = rq->nr + 1;

	if (sched_is_urgent(t) || atomic_load_explicit(&t->on_cpu, memory_order_relaxed))
		return;
	cpu = least_loaded(t, (cpu_id() + 1 + rq->ticks) % nr_cpus);
	if (cpu == cpu_id() || load_of(cpu) >= load)
		return;
	if (load_of(cpu) + 1 == load && rq->ticks % 8)
		return;
	list_del(&t->run_link);
	rq->nr--;
	atomic_store_explicit(&t->cpu, cpu, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->nr_migrations, 1, memory_order_relaxed);
	push_remote(t, cpu, false);
}
