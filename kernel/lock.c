/* SPDX-License-Identifier: MIT */
/*
 * Spinlocks: the contended paths.
 *
 * A waiter pushes a node on its own stack to the lock word, looks for a moment,
 * then halts its CPU with interrupts on.  Whoever releases wakes the oldest
 * waiter and leaves the lock free, so that CPUs that run may have it during the
 * microseconds in which the halted one gets going; if that one then finds the
 * lock held, it asks for it (bit 1 of the word), and the next release hands it
 * over.  So a waiter is passed over for the time of one wake-up, and waiters
 * come in order of arrival.
 *
 *	node		who		what
 *	WAITING	->	waiter		HALTED, interrupts off, then halts
 *	any	->	releaser	WOKEN (exchange), kicks if it was HALTED
 *	WOKEN	->	waiter		takes the lock, or asks for it and waits on:
 *	WOKEN	->	waiter		HALTED as above
 *	any	->	releaser	GRANTED (exchange), kicks if it was HALTED
 *
 * While holds are measured (kernel/lockstat.h) the fast paths are off: a lock is
 * taken here even if it is free, and bit 2 of its word sends its release here.
 *
 * A kick is sent exactly when the waiter halts or is about to, and an interrupt
 * that comes between its check and its halt ends the halt.  A free lock has
 * word 0, even with waiters in the sorted list.
 */
#include "kernel/lock.h"

#include "arch/arch.h"
#include "kernel/counts.h"
#include "kernel/lockstat.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/thread.h"

enum { NODE_WAITING, NODE_HALTED, NODE_WOKEN, NODE_GRANTED };

#define HELD    ((uintptr_t)1)
#define ASKED   ((uintptr_t)2)
#define WATCHED ((uintptr_t)4)
#define BITS    (HELD | ASKED | WATCHED)
#define NODE(w) ((struct lock_node *)((w) & ~BITS))

struct lock_node {
	/* older waiter in the word's stack; younger one in the sorted list */
	struct lock_node *next;
	_Atomic int state;
	unsigned cpu;
	bool woken; /* holder only: state has been WOKEN */
};

static unsigned lock_spins = 100;
PARAM_UINT("lock.spins", lock_spins, 0, 1000000, PARAM_RW, "looks at a held lock before halting");

/* Waits until the releaser has brought the node to @state. */
static void wait_for(struct lock_node *n, int state)
{
	for (unsigned i = lock_spins; i; i--) {
		if (atomic_load_explicit(&n->state, memory_order_acquire) == state)
			return;
		cpu_relax();
	}
	kernel_count(spin_halts);
	for (;;) {
		int s = state == NODE_WOKEN ? NODE_WAITING : NODE_WOKEN;

		irq_disable();
		atomic_compare_exchange_strong_explicit(&n->state, &s, NODE_HALTED,
							memory_order_acquire,
							memory_order_acquire);
		if (s == state) {
			irq_enable();
			return;
		}
		arch_idle();
	}
}

/* Takes the lock if it is free.  Return: false with *w holding the word that said it is not. */
static bool take_free(struct spinlock *l, uintptr_t *w)
{
	while (!*w)
		if (atomic_compare_exchange_weak_explicit(&l->word, w, HELD, memory_order_acquire,
							  memory_order_relaxed))
			return true;
	return false;
}

static void lock_slow(struct spinlock *l)
{
	struct lock_node n = { .cpu = cpu_id() };
	uintptr_t w = atomic_load_explicit(&l->word, memory_order_relaxed);

	ASSERT(irqs_enabled());
	kernel_count(spin_waits);
	do {
		if (take_free(l, &w))
			return;
		n.next = NODE(w);
	} while (!atomic_compare_exchange_weak_explicit(
		&l->word, &w, (uintptr_t)&n | (w & BITS), memory_order_release,
		memory_order_relaxed));

	wait_for(&n, NODE_WOKEN);
	w = atomic_load_explicit(&l->word, memory_order_relaxed);
	do {
		if (take_free(l, &w)) {
			l->head = n.next; /* the woken one is the first */
			return;
		}
	} while (!atomic_compare_exchange_weak_explicit(&l->word, &w, w | ASKED,
							memory_order_relaxed,
							memory_order_relaxed));
	wait_for(&n, NODE_GRANTED);
}

void spin_watch(struct spinlock *l)
{
	if (lock_watch(l, l->name))
		atomic_fetch_or_explicit(&l->word, WATCHED, memory_order_relaxed);
}

void spin_lock_slow(struct spinlock *l)
{
	if (!spin_take(l)) {
		uint64_t since = clock_ns();

		lock_slow(l);
		lock_note_wait(l->name, __builtin_return_address(0), since);
	}
	if (static_branch(&lock_stat_key))
		spin_watch(l);
}

/* Moves the word's stack of waiters, newest first, behind the sorted list. */
static void sort_waiters(struct spinlock *l)
{
	struct lock_node *n, *oldest = NULL, *newest;
	uintptr_t w = atomic_load_explicit(&l->word, memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(&l->word, &w, w & BITS,
						      memory_order_acquire, memory_order_relaxed))
		;
	newest = n = NODE(w);
	while (n) {
		struct lock_node *older = n->next;

		n->next = oldest;
		oldest = n;
		n = older;
	}
	if (!oldest)
		return;
	if (l->head)
		l->tail->next = oldest;
	else
		l->head = oldest;
	l->tail = newest;
}

void spin_unlock_slow(struct spinlock *l)
{
	bool kick = false;
	unsigned cpu = 0;

	if (atomic_load_explicit(&l->word, memory_order_relaxed) & WATCHED) {
		lock_unwatch(l);
		atomic_fetch_and_explicit(&l->word, ~WATCHED, memory_order_relaxed);
	}
	for (;;) {
		uintptr_t w = atomic_load_explicit(&l->word, memory_order_relaxed);
		struct lock_node *n;

		if (NODE(w)) {
			sort_waiters(l);
			continue;
		}
		n = l->head;
		if (n)
			cpu = n->cpu; /* now: once it is woken, the node may go at any time */
		if (w & ASKED) {
			l->head = n->next;
			atomic_fetch_and_explicit(&l->word, ~ASKED, memory_order_relaxed);
			if (atomic_exchange_explicit(&n->state, NODE_GRANTED,
						     memory_order_acq_rel) == NODE_HALTED)
				kick = true;
			break;
		}
		if (n && !n->woken) {
			n->woken = true;
			kick = atomic_exchange_explicit(&n->state, NODE_WOKEN,
							memory_order_acq_rel) == NODE_HALTED;
		}
		if (atomic_compare_exchange_strong_explicit(&l->word, &w, 0, memory_order_release,
							    memory_order_relaxed))
			break;
	}
	if (kick)
		arch_kick(cpu);
}
