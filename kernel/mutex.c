/* SPDX-License-Identifier: MIT */
/*
 * Mutexes: a word that holds the owner, a list of sleepers beside it.
 *
 * owner is the thread that holds it, or 0; bit 0 says that the list is not
 * empty, and while it is set only a holder of m->lock changes the word.  So
 * the fast paths are one compare and swap each, and fail exactly when somebody
 * waits.
 *
 * Unlocking wakes the oldest waiter and leaves the mutex free, so that a thread
 * that comes by may have it in the meantime; a waiter that was passed over once
 * is handed the mutex next time.  Nobody waits for more than one such turn.
 *
 * A mutex may be freed once no thread holds it or is inside mutex_unlock().
 */
#include "kernel/lock.h"
#include "kernel/counts.h"
#include "kernel/lockstat.h"
#include "kernel/errno.h"
#include "kernel/lock_debug.h"
#include "kernel/log.h"
#include "kernel/thread.h"

#define WAITERS ((uintptr_t)1)

struct mutex_waiter {
	struct list_head link;
	struct thread *thread;
	bool woken;   /* had its chance once */
	bool granted; /* owner is this thread already; off the list */
};

void mutex_init(struct mutex *m, const char *name)
{
	atomic_init(&m->owner, 0);
	spin_init(&m->lock, "mutex.wait");
	list_init(&m->waiters);
	lock_debug_name(m, name);
}

static bool lock_fast(struct mutex *m)
{
	uintptr_t o = 0;

	return atomic_compare_exchange_strong_explicit(&m->owner, &o, (uintptr_t)current,
						       memory_order_acquire, memory_order_relaxed);
}

bool mutex_trylock(struct mutex *m)
{
	if (!lock_fast(m))
		return false;
	lock_debug_got(m);
	lock_stat_got(m, m->name);
	return true;
}

/* m->lock held.  Takes the mutex if it is free, else marks that somebody waits. */
static bool take_or_mark(struct mutex *m)
{
	uintptr_t o = atomic_load_explicit(&m->owner, memory_order_relaxed);

	for (;;) {
		uintptr_t new = o & ~WAITERS ? o | WAITERS : (uintptr_t)current | o;

		if (atomic_compare_exchange_weak_explicit(&m->owner, &o, new, memory_order_acquire,
							  memory_order_relaxed))
			return !(o & ~WAITERS);
	}
}

/* m->lock held; the waiter leaves the list without the mutex or as its new owner. */
static void remove_waiter(struct mutex *m, struct mutex_waiter *w)
{
	list_del(&w->link);
	if (list_empty(&m->waiters))
		atomic_fetch_and_explicit(&m->owner, ~WAITERS, memory_order_relaxed);
}

/* m->lock held, mutex free, its list not empty: the oldest waiter gets its chance. */
static void wake_first(struct mutex *m)
{
	struct mutex_waiter *w = list_first_entry(&m->waiters, struct mutex_waiter, link);
	struct thread *t = w->thread;

	if (w->woken) {
		list_del(&w->link);
		w->granted = true;
		atomic_store_explicit(&m->owner,
				      (uintptr_t)t | (list_empty(&m->waiters) ? 0 : WAITERS),
				      memory_order_relaxed); /* m->lock orders the data */
	}
	w->woken = true;
	thread_wake(t); /* it cannot leave before it gets m->lock */
}

static int lock_slow(struct mutex *m, bool interruptible)
{
	struct mutex_waiter w = { .thread = current };
	int ret = 0;

	might_sleep();
	spin_lock(&m->lock);
	if (take_or_mark(m)) {
		spin_unlock(&m->lock);
		return 0;
	}
	list_add_tail(&w.link, &m->waiters);
	kernel_count(mutex_waits);
	for (;;) {
		thread_prepare_sleep(interruptible ? THREAD_INTERRUPTIBLE : THREAD_UNINTERRUPTIBLE);
		if (interruptible && signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		spin_unlock(&m->lock);
		schedule();
		spin_lock(&m->lock);
		if (w.granted)
			break;
		if (take_or_mark(m)) {
			remove_waiter(m, &w);
			break;
		}
	}
	thread_finish_sleep();
	if (ret) {
		bool was_woken = w.woken;

		remove_waiter(m, &w);
		/* A wake-up meant for a waiter must reach one. */
		if (was_woken && !list_empty(&m->waiters) &&
		    !(atomic_load_explicit(&m->owner, memory_order_relaxed) & ~WAITERS))
			wake_first(m);
	}
	spin_unlock(&m->lock);
	return ret;
}

void mutex_lock(struct mutex *m)
{
	might_sleep();
	lock_debug_wait(m);
	if (unlikely(!lock_fast(m))) {
		uint64_t since = clock_ns();

		(void)lock_slow(m, false);
		lock_note_wait(m->name, __builtin_return_address(0), since);
	}
	lock_debug_got(m);
	lock_stat_got(m, m->name);
}

int mutex_lock_interruptible(struct mutex *m)
{
	might_sleep();
	lock_debug_wait(m);
	if (unlikely(!lock_fast(m))) {
		uint64_t since = clock_ns();
		int err = lock_slow(m, true);

		lock_note_wait(m->name, __builtin_return_address(0), since);
		if (err)
			return err;
	}
	lock_debug_got(m);
	lock_stat_got(m, m->name);
	return 0;
}

void mutex_unlock(struct mutex *m)
{
	uintptr_t o = (uintptr_t)current;

	lock_debug_drop(m);
	lock_stat_drop(m);
	if (likely(atomic_compare_exchange_strong_explicit(&m->owner, &o, 0, memory_order_release,
							   memory_order_relaxed)))
		return;
	ASSERT((o & ~WAITERS) == (uintptr_t)current);
	spin_lock(&m->lock);
	if (list_empty(&m->waiters)) {
		atomic_store_explicit(&m->owner, 0, memory_order_release);
	} else {
		atomic_store_explicit(&m->owner, WAITERS, memory_order_release);
		wake_first(m);
	}
	spin_unlock(&m->lock);
}
