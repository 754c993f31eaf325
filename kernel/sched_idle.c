/* SPDX-License-Identifier: MIT */
/*
 * What a CPU does that has nothing to run: it announces itself, looks at its
 * device for a moment if that has paid lately, and halts.
 *
 * While it looks, will_look is 1, so whoever wakes a thread here only pushes it.
 *
 * Does looking pay?  Each device has a score.  A find adds one, a look for
 * nothing takes two thirds; at 0 the CPU halts at once.  An interrupt that ends a halt
 * shorter than idle.poll_us would have been a find and brings the score back.
 */
#include "kernel/idle_poll.h"
#include "kernel/param.h"
#include "kernel/sched_int.h"
#include "kernel/timer.h"

#define SCORE_START 2u
#define SCORE_MAX   8u
#define LOOKS       16 /* between two chances for interrupts */

static unsigned poll_us = 100;
PARAM_UINT("idle.poll_us", poll_us, 0, 10000, PARAM_RW,
	   "microseconds an idle CPU looks at its network device before it halts");

/* One CPU's device; touched by that CPU alone, interrupts off. */
struct idle_poll {
	_Atomic(struct idle_poller *) poller;
	unsigned score;
	uint64_t halted_at; /* with score 0 and the device waiting; else 0 */
};
DEFINE_PER_CPU(static struct idle_poll, idle_poll);

bool idle_poll_add(struct idle_poller *p, unsigned cpu)
{
	struct idle_poller *none = NULL;

	return atomic_compare_exchange_strong_explicit(&per_cpu(idle_poll, cpu).poller, &none, p,
						       memory_order_release, memory_order_relaxed);
}

/* Looks until something comes or the time is up.  Return: true if it was the device. */
static bool look_around(struct run_queue *rq, struct idle_poller *p)
{
	uint64_t until = clock_ns() + poll_us * NSEC_PER_USEC, now;

	do {
		for (unsigned i = 0; i < LOOKS; i++) {
			if (p->look(p))
				return true;
			if (atomic_load_explicit(&rq->inbox, memory_order_relaxed))
				return false;
		}
		irq_enable();
		/* Interrupts come in behind the instruction after the enabling one. */
		now = clock_ns();
		irq_poll();
		irq_disable();
	} while (!rq->nr && now < until);
	return false;
}

/* Before a halt; a thread may be queued afterwards. */
static void poll_device(struct run_queue *rq)
{
	struct idle_poll *ip = &this_cpu(idle_poll);
	struct idle_poller *p = atomic_load_explicit(&ip->poller, memory_order_acquire);

	ip->halted_at = 0;
	if (!p || !p->ready || !poll_us || !atomic_load_explicit(&p->asked, memory_order_relaxed))
		return;
	if (!ip->score) {
		ip->halted_at = clock_ns();
		return;
	}
	atomic_store_explicit(&rq->will_look, 1, memory_order_relaxed);
	p->quiet(p);
	if (look_around(rq, p))
		ip->score = min(ip->score + 1, SCORE_MAX);
	else if (!rq->nr && !atomic_load_explicit(&rq->inbox, memory_order_relaxed))
		ip->score /= 3;
	p->arm(p);
}

/* After a halt: would looking have paid? */
static void judge_halt(void)
{
	struct idle_poll *ip = &this_cpu(idle_poll);
	struct idle_poller *p = atomic_load_explicit(&ip->poller, memory_order_relaxed);

	if (ip->halted_at && p->look(p) && clock_ns() - ip->halted_at < poll_us * NSEC_PER_USEC)
		ip->score = SCORE_START;
}

void sched_wait_for_work(struct run_queue *rq)
{
	unsigned cpu = cpu_id();
	_Atomic uint64_t *word = &sched_idle_cpus[cpu / 64];
	uint64_t bit = 1ULL << (cpu % 64);

	rcu_idle_enter();
	rq->slice_armed = false;
	rq->sample_armed = false;
	timer_set_slice(0);
	while (!rq->nr) {
		atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
		poll_device(rq);
		if (rq->nr)
			break;
		atomic_exchange_explicit(&rq->will_look, 0, memory_order_seq_cst);
		if (sched_take_inbox(rq))
			break;
		arch_idle();
		irq_disable();
		judge_halt();
	}
	if (atomic_load_explicit(word, memory_order_relaxed) & bit)
		atomic_fetch_and_explicit(word, ~bit, memory_order_relaxed);
	rcu_idle_exit();
}

void sched_idle_loop(void)
{
	for (;;) {
		irq_disable();
		sched_wait_for_work(&this_cpu(run_queue));
		irq_enable();
		schedule();
	}
}
