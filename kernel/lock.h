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
 * Every lock belongs to a class, the name given at init.  Debug builds check the
 * order of the classes, recursion, and that no spinlock is held when a thread
 * sleeps.  /proc/lockstat has what each class costs (kernel/lockstat.h).
 */
#ifndef KERNEL_LOCK_H
#define KERNEL_LOCK_H

#include "kernel/list.h"
#include "kernel/static_key.h"
#include "kernel/types.h"

struct lock_node;
struct thread;

/*
 * word: bit 0 held; bit 1 the oldest waiter was woken, found the lock held and
 * wants it handed over; bit 2 the time for which it is held is being measured;
 * the rest is the newest of a stack of waiters that
 * nobody has sorted yet (only while held).  The holder who releases moves that
 * stack, turned round, behind the sorted list.
 */
struct spinlock {
	_Atomic(uintptr_t) word;
	struct lock_node *head; /* sorted waiters, oldest first; only the holder touches it */
	struct lock_node *tail; /* its last one, if there is a head */
	/* constant: the class; all locks of one name have one place in the order */
	const char *name;
#ifdef CONFIG_DEBUG
	_Atomic uint32_t class; /* index of the class, 0: not looked up yet */
	_Atomic(struct thread *) owner;
#endif
};

#define SPINLOCK_INIT(n) { .name = (n) }

/* On while holds are measured: then every lock takes the slow path (kernel/lockstat.h). */
extern struct static_key lock_stat_key;

/*
 * spin_lock - take @l; waits by halting this CPU, interrupts on
 * Context: thread, interrupts on.  Uncontended: one atomic, and one to release.
 */
void spin_lock_slow(struct spinlock *l);
void spin_unlock_slow(struct spinlock *l);
void spin_watch(struct spinlock *l); /* just taken: its hold is measured */
/* For the functions below. */
static __always_inline bool spin_take(struct spinlock *l)
{
	uintptr_t free = 0;

	return atomic_compare_exchange_strong_explicit(&l->word, &free, 1, memory_order_acquire,
						       memory_order_relaxed);
}

#ifdef CONFIG_DEBUG
void spin_init(struct spinlock *l, const char *name);
void spin_lock(struct spinlock *l);
/* a second lock of a class already held: parent, then child */
void spin_lock_nested(struct spinlock *l);
bool spin_trylock(struct spinlock *l);
void spin_unlock(struct spinlock *l);
#else
static inline void spin_init(struct spinlock *l, const char *name)
{
	atomic_init(&l->word, 0);
	l->head = NULL;
	l->name = name;
}
static __always_inline bool spin_trylock(struct spinlock *l)
{
	if (!spin_take(l))
		return false;
	if (static_branch(&lock_stat_key))
		spin_watch(l);
	return true;
}
static __always_inline void spin_lock(struct spinlock *l)
{
	if (static_branch(&lock_stat_key) || unlikely(!spin_take(l)))
		spin_lock_slow(l);
}
#define spin_lock_nested(l) spin_lock(l)
static __always_inline void spin_unlock(struct spinlock *l)
{
	uintptr_t held = 1;

	if (unlikely(l->head || !atomic_compare_exchange_strong_explicit(&l->word, &held, 0,
									 memory_order_release,
									 memory_order_relaxed)))
		spin_unlock_slow(l);
}
#endif
static inline bool spin_is_locked(struct spinlock *l)
{
	return atomic_load_explicit(&l->word, memory_order_relaxed) != 0;
}

/* Sleeping locks carry their class beside the class of the spinlock inside. */
#ifdef CONFIG_DEBUG
#define LOCK_CLASS                                                                                 \
	const char *name;                                                                          \
	_Atomic uint32_t class;
#else
#define LOCK_CLASS const char *name;
#endif
#define LOCK_CLASS_INIT(n) .name = (n),

struct mutex {
	_Atomic(uintptr_t) owner; /* thread pointer | 1 if there are waiters */
	struct spinlock lock;     /* protects waiters, and owner while its bit 0 is set */
	struct list_head waiters; /* oldest first */
	LOCK_CLASS
};
#define MUTEX_INIT(m, n)                                                                           \
	{                                                                                          \
		.lock = SPINLOCK_INIT("mutex.wait"), .waiters = LIST_HEAD_INIT((m).waiters),       \
		LOCK_CLASS_INIT(n)                                                                 \
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
	struct list_head waiters; /* oldest first */
	LOCK_CLASS
};
#define RWSEM_INIT(s, n)                                                                           \
	{                                                                                          \
		.lock = SPINLOCK_INIT("rwsem.wait"), .waiters = LIST_HEAD_INIT((s).waiters),       \
		LOCK_CLASS_INIT(n)                                                                 \
	}
void rwsem_init(struct rwsem *s, const char *name);
void down_read(struct rwsem *s);
void up_read(struct rwsem *s);
void down_write(struct rwsem *s);
void up_write(struct rwsem *s);

#endif /* KERNEL_LOCK_H */
