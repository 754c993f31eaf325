/* SPDX-License-Identifier: MIT */
/*
 * Where threads run: wake-ups, placement, moving away from busy CPUs.
 *
 * Whoever makes a sleeping thread RUNNABLE queues it if it was PARKED (see
 * kernel/thread.h).  A parked thread may still be on its way off its CPU
 * (on_cpu); then it goes into that CPU's inbox, which is looked at only after
 * the switch.
 *
 * Placement: the CPU it ran on if that idles, else an idle CPU near it, else
 * the CPU it ran on.  A CPU with more than one thread hands the surplus to idle
 * CPUs at its tick and when it switches, and to less loaded ones at its tick;
 * nobody steals.  How a thread gets into another CPU's inbox is told in
 * kernel/sched.c.
 */
#include "kernel/sched_int.h"

#include "kernel/trace.h"

#define BALANCE_LOOKS 64u /* CPUs whose load is read, per tick of a CPU with threads waiting */

_Atomic uint64_t sched_idle_cpus[MAX_CPUS / 64] __cacheline_aligned;

static bool claim_idle(unsigned cpu)
{
	uint64_t bit = 1ULL << (cpu % 64);

	if (!(atomic_load_explicit(&sched_idle_cpus[cpu / 64], memory_order_relaxed) & bit))
		return false;
	return atomic_fetch_and_explicit(&sched_idle_cpus[cpu / 64], ~bit, memory_order_acq_rel) & bit;
}

/* Claims an idle CPU that @t may use, from @near upwards and around.  Return: -1 if there is none. */
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
	if (claimed || urgent)
		atomic_store_explicit(&rq->will_look, 1, memory_order_relaxed);
	else if (atomic_load_explicit(&rq->will_look, memory_order_seq_cst) ||
		 !atomic_compare_exchange_strong_explicit(&rq->will_look, &no, 1,
							  memory_order_seq_cst,
							  memory_order_relaxed))
		return;
	count_add(&this_cpu(run_queue).kicks, 1);
	arch_kick(cpu);
}

void sched_enqueue(struct thread *t)
{
	bool stays = sched_is_urgent(t) || atomic_load_explicit(&t->on_cpu, memory_order_acquire);
	unsigned last = atomic_load_explicit(&t->cpu, memory_order_relaxed), cpu = last;
	bool claimed = (stays || sched_allowed_on(t, last)) && claim_idle(last);
	irqstate_t irq;
	int idle;

	if (!claimed && !stays) {
		idle = claim_any_idle(t, last);
		if (idle >= 0) {
			cpu = (unsigned)idle;
			claimed = true;
		} else if (!sched_allowed_on(t, last)) {
			cpu = first_allowed(t);
		}
		if (cpu != last) {
			atomic_store_explicit(&t->cpu, cpu, memory_order_relaxed);
			atomic_fetch_add_explicit(&t->nr_migrations, 1, memory_order_relaxed);
		}
	}
	if (cpu != last)
		trace(sched_migrate, (uint64_t)t->tid, last, cpu);
	trace(sched_wakeup, (uint64_t)t->tid, cpu);
	if (cpu != cpu_id()) {
		push_remote(t, cpu, claimed);
		return;
	}
	irq = irq_save();
	sched_queue_here(t);
	irq_restore(irq);
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
