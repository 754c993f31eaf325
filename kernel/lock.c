/* SPDX-License-Identifier: MIT */
/*
 * Spinlocks: the contended paths.
 *
 * A waiter pushes a node on its own stack to the lock word, spins for a moment,
 * then halts its CPU with interrupts on.  The holder who releases the lock
 * picks the oldest waiter, marks its node granted and kicks its CPU if that
 * CPU has halted.  Each node has two parties, the waiter and one releaser:
 *
 *	waiter:    WAITING -> HALTED (compare and swap, interrupts off), then halt
 *	releaser:  exchange to GRANTED; was HALTED: kick
 *
 * so the kick is sent exactly when the waiter halts or is about to, and an
 * interrupt that arrives between its check and its halt ends the halt.  After
 * the exchange the node belongs to the waiter again and may be gone.
 */
#include "kernel/lock.h"

#include "arch/arch.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/thread.h"

enum { NODE_WAITING, NODE_HALTED, NODE_GRANTED };

struct lock_node {
	struct lock_node *next; /* older waiter in the word's stack; younger one in the sorted list */
	_Atomic int state;
	unsigned cpu;
};

/* About the time a kick takes under emulation; longer waits are cheaper halted. */
static unsigned lock_spins = 100;
PARAM_UINT("lock.spins", lock_spins, 0, 1000000, PARAM_RW, "looks at a held lock before halting");

static void wait_for_grant(struct lock_node *n)
{
	for (unsigned i = lock_spins; i; i--) {
		if (atomic_load_explicit(&n->state, memory_order_acquire) == NODE_GRANTED)
			return;
		cpu_relax();
	}
	for (;;) {
		int s = NODE_WAITING;

		irq_disable();
		atomic_compare_exchange_strong_explicit(&n->state, &s, NODE_HALTED,
							memory_order_acquire,
							memory_order_acquire);
		if (s == NODE_GRANTED) {
			irq_enable();
			return;
		}
		arch_idle();
	}
}

void spin_lock_slow(struct spinlock *l)
{
	struct lock_node n = { .cpu = cpu_id() };
	uintptr_t w = atomic_load_explicit(&l->word, memory_order_relaxed);

	ASSERT(irqs_enabled());
	for (;;) {
		if (!w) {
			if (atomic_compare_exchange_weak_explicit(&l->word, &w, 1,
								  memory_order_acquire,
								  memory_order_relaxed))
				return;
			continue;
		}
		n.next = (struct lock_node *)(w & ~(uintptr_t)1);
		if (atomic_compare_exchange_weak_explicit(&l->word, &w, (uintptr_t)&n | 1,
							  memory_order_release,
							  memory_order_relaxed))
			break;
	}
	wait_for_grant(&n);
}

static struct lock_node *oldest_first(struct lock_node *n)
{
	struct lock_node *done = NULL;

	while (n) {
		struct lock_node *next = n->next;

		n->next = done;
		done = n;
		n = next;
	}
	return done;
}

void spin_unlock_slow(struct spinlock *l)
{
	struct lock_node *n = l->head;
	unsigned cpu;

	if (!n) {
		uintptr_t w = 1;

		if (atomic_compare_exchange_strong_explicit(&l->word, &w, 0, memory_order_release,
							    memory_order_relaxed))
			return;
		w = atomic_exchange_explicit(&l->word, 1, memory_order_acquire);
		n = oldest_first((struct lock_node *)(w & ~(uintptr_t)1));
	}
	l->head = n->next;
	cpu = n->cpu;
	if (atomic_exchange_explicit(&n->state, NODE_GRANTED, memory_order_acq_rel) == NODE_HALTED)
		arch_kick(cpu);
}
