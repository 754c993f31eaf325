/* SPDX-License-Identifier: MIT */
/*
 * Locks of thread context.  None of them may be taken in an interrupt handler,
 * and none disables interrupts: handlers touch only lock-free data.
 *
 * spinlock: short sections that do not sleep.  A waiter queues itself, spins a
 *	little, then halts its CPU with interrupts on until the holder hands the
 *	lock over (virtual CPUs share few real ones: spinning steals the
 *	holder's time).  FIFO.
 * mutex:    sections that may sleep; waiters give up the CPU.
 * rwsem:    as mutex, many readers or one writer; writers are not starved.
 *
 * Debug builds check order by class (the name given at init), recursion, and
 * that no spinlock is held when a thread sleeps.
 */
#ifndef KERNEL_LOCK_H
#define KERNEL_LOCK_H

#include "kernel/types.h"
#include "kernel/list.h"

struct lock_node;
struct thread;

struct spinlock {
	_Atomic(struct lock_node *) tail; /* NULL free; &head while held without waiters */
	_Atomic(struct lock_node *) head; /* first waiter, set by the holder */
#ifdef CONFIG_DEBUG
	const char *name;
	struct thread *owner;
#endif
};

#ifdef CONFIG_DEBUG
#define SPINLOCK_INIT(n) { .name = (n) }
#else
#define SPINLOCK_INIT(n) { 0 }
#endif

void spin_init(struct spinlock *l, const char *name);
void spin_lock(struct spinlock *l);
bool spin_trylock(struct spinlock *l);
void spin_unlock(struct spinlock *l);
bool spin_is_locked(const struct spinlock *l);

struct mutex {
	_Atomic(uintptr_t) owner; /* thread pointer | 1 if there are waiters */
	struct spinlock lock;     /* protects waiters */
	struct list_head waiters;
};
#define MUTEX_INIT(m, n)                                                                           \
	{                                                                                          \
		.owner = 0, .lock = SPINLOCK_INIT(n), .waiters = LIST_HEAD_INIT((m).waiters)       \
	}
void mutex_init(struct mutex *m, const char *name);
void mutex_lock(struct mutex *m);
/* Return: 0 with the mutex held, -EINTR if a signal came first. */
int mutex_lock_interruptible(struct mutex *m) __must_check;
bool mutex_trylock(struct mutex *m);
void mutex_unlock(struct mutex *m);

struct rwsem {
	struct spinlock lock; /* protects the rest */
	int readers;          /* -1: one writer */
	int writers_waiting;
	struct list_head waiters;
};
void rwsem_init(struct rwsem *s, const char *name);
void down_read(struct rwsem *s);
void up_read(struct rwsem *s);
void down_write(struct rwsem *s);
void up_write(struct rwsem *s);

#endif /* KERNEL_LOCK_H */
