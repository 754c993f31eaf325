/* SPDX-License-Identifier: MIT */
/*
 * Readers-writer semaphores: many readers or one writer, first come first
 * served.
 *
 * A thread that finds anybody waiting queues behind them, whatever it wants, so
 * neither side starves.  Whoever releases hands over under s->lock: to the
 * first waiter if that is a writer, else to all readers up to the next writer.
 * A woken thread owns the semaphore already.
 */
#include "kernel/lock.h"
#include "kernel/counts.h"
#include "kernel/lock_debug.h"
#include "kernel/lockstat.h"
#include "kernel/log.h"
#include "kernel/thread.h"

struct rwsem_waiter {
	struct list_head link;
	struct thread *thread;
	bool write;
	_Atomic bool granted;
};

void rwsem_init(struct rwsem *s, const char *name)
{
	spin_init(&s->lock, "rwsem.wait");
	lock_debug_name(s, name);
	s->readers = 0;
	s->writers_waiting = 0;
	list_init(&s->waiters);
}

/* s->lock held, nobody waits in front. */
static bool can_enter(const struct rwsem *s, bool write)
{
	return write ? s->readers == 0 : s->readers >= 0;
}
static void enter(struct rwsem *s, bool write)
{
	s->readers = write ? -1 : s->readers + 1;
}

static void grant_waiting(struct rwsem *s)
{
	while (!list_empty(&s->waiters)) {
		struct rwsem_waiter *w = list_first_entry(&s->waiters, struct rwsem_waiter, link);
		struct thread *t = w->thread;

		if (!can_enter(s, w->write))
			return;
		enter(s, w->write);
		s->writers_waiting -= w->write;
		list_del(&w->link);
		/* @w is on the waiter's stack and gone once granted is seen. */
		thread_get(t);
		atomic_store_explicit(&w->granted, true, memory_order_release);
		thread_wake(t);
		thread_put(t);
	}
}

static void down(struct rwsem *s, bool write, const void *at)
{
	struct rwsem_waiter w = { .thread = current, .write = write };
	uint64_t since;

	might_sleep();
	spin_lock(&s->lock);
	if (list_empty(&s->waiters) && can_enter(s, write)) {
		enter(s, write);
		spin_unlock(&s->lock);
		return;
	}
	list_add_tail(&w.link, &s->waiters);
	kernel_count(rwsem_waits);
	since = clock_ns();
	s->writers_waiting += write;
	spin_unlock(&s->lock);
	for (;;) {
		thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
		if (atomic_load_explicit(&w.granted, memory_order_acquire))
			break;
		schedule();
	}
	thread_finish_sleep();
	lock_note_wait(s->name, at, since);
}

void down_read(struct rwsem *s)
{
	lock_debug_wait(s);
	down(s, false, __builtin_return_address(0));
	lock_debug_got(s);
	lock_stat_got(s, s->name);
}
void down_write(struct rwsem *s)
{
	lock_debug_wait(s);
	down(s, true, __builtin_return_address(0));
	lock_debug_got(s);
	lock_stat_got(s, s->name);
}
void up_read(struct rwsem *s)
{
	lock_debug_drop(s);
	lock_stat_drop(s);
	spin_lock(&s->lock);
	ASSERT(s->readers > 0);
	s->readers--;
	if (!list_empty(&s->waiters))
		grant_waiting(s);
	spin_unlock(&s->lock);
}
void up_write(struct rwsem *s)
{
	lock_debug_drop(s);
	lock_stat_drop(s);
	spin_lock(&s->lock);
	ASSERT(s->readers == -1);
	s->readers = 0;
	if (!list_empty(&s->waiters))
		grant_waiting(s);
	spin_unlock(&s->lock);
}
