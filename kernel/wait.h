/* SPDX-License-Identifier: MIT */
/*
 * Wait queues: threads (or poll tables) that want to hear of an event.
 *
 * The queue's lock is a spinlock, so wake_up() is for thread context; interrupt
 * handlers use thread_wake() or work_schedule().  wake_up() on an empty queue
 * costs one load: the waiter enqueues itself before it looks at the condition.
 */
#ifndef KERNEL_WAIT_H
#define KERNEL_WAIT_H

#include "kernel/lock.h"
#include "kernel/thread.h"
#include "kernel/errno.h"

struct wait_entry;
/* Called under the queue's lock.  Return true if this entry consumed an exclusive wake-up. */
typedef bool (*wait_fn)(struct wait_entry *e, unsigned long key);

struct wait_entry {
	struct list_head link;
	wait_fn wake;
	struct thread *thread;
	void *priv;
	bool exclusive; /* queued at the tail; wake_up_one() wakes one of these */
};

struct wait_queue {
	struct spinlock lock;
	struct list_head entries;
	_Atomic unsigned count; /* entries queued; lets wake_up() look without the lock */
};

void wq_init(struct wait_queue *q, const char *name);
void wq_add(struct wait_queue *q, struct wait_entry *e);
void wq_remove(struct wait_queue *q, struct wait_entry *e);
/*
 * Wakes all non-exclusive entries and at most @nr exclusive ones (0: all). @key: poll
 * events, or 0.
 */
void wq_wake(struct wait_queue *q, unsigned nr, unsigned long key);
#define wake_up(q)          wq_wake(q, 0, 0)
#define wake_up_one(q)      wq_wake(q, 1, 0)
#define wake_up_poll(q, ev) wq_wake(q, 0, ev)
bool wq_wake_thread(struct wait_entry *e, unsigned long key); /* the default wait_fn */
static inline bool wq_active(struct wait_queue *q)
{
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(&q->count, memory_order_relaxed) != 0;
}

/* Sleep until woken or @deadline (clock_ns, UINT64_MAX: none). Return false when it passed. */
bool schedule_until(uint64_t deadline);

/*
 * wait_event*(): sleep until @cond.  Return 0, -EINTR (interruptible and a
 * signal is pending), -ETIMEDOUT (@deadline in clock_ns() passed).  @cond is
 * evaluated without locks and may be evaluated many times.
 */
#define wait_event_full(q, cond, st, deadline, excl)                                               \
	({                                                                                         \
		int _ret = 0;                                                                      \
		if (!(cond)) {                                                                     \
			struct wait_entry _e = { .wake = wq_wake_thread,                           \
						 .thread = current,                                \
						 .exclusive = (excl) };                            \
			uint64_t _dl = (deadline);                                                 \
			might_sleep();                                                             \
			wq_add(q, &_e);                                                            \
			for (;;) {                                                                 \
				thread_prepare_sleep(st);                                          \
				if (cond)                                                          \
					break;                                                     \
				if ((st) == THREAD_INTERRUPTIBLE && signal_pending(current)) {     \
					_ret = -EINTR;                                             \
					break;                                                     \
				}                                                                  \
				if (!schedule_until(_dl)) {                                        \
					_ret = (cond) ? 0 : -ETIMEDOUT;                            \
					break;                                                     \
				}                                                                  \
			}                                                                          \
			thread_finish_sleep();                                                     \
			wq_remove(q, &_e);                                                         \
		}                                                                                  \
		_ret;                                                                              \
	})
#define wait_event(q, cond)                                                                        \
	((void)wait_event_full(q, cond, THREAD_UNINTERRUPTIBLE, UINT64_MAX, false))
#define wait_event_interruptible(q, cond)                                                          \
	wait_event_full(q, cond, THREAD_INTERRUPTIBLE, UINT64_MAX, false)
#define wait_event_timeout(q, cond, deadline)                                                      \
	wait_event_full(q, cond, THREAD_UNINTERRUPTIBLE, deadline, false)
#define wait_event_interruptible_timeout(q, cond, deadline)                                        \
	wait_event_full(q, cond, THREAD_INTERRUPTIBLE, deadline, false)

#endif /* KERNEL_WAIT_H */
