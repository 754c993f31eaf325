/* SPDX-License-Identifier: MIT */
/* Wait queues; see kernel/wait.h. */
#include "kernel/wait.h"

#include "kernel/log.h"
#include "kernel/timer.h"

void wq_init(struct wait_queue *q, const char *name)
{
	spin_init(&q->lock, name);
	list_init(&q->entries);
	atomic_init(&q->count, 0);
}

void wq_add(struct wait_queue *q, struct wait_entry *e)
{
	spin_lock(&q->lock);
	if (e->exclusive)
		list_add_tail(&e->link, &q->entries);
	else
		list_add(&e->link, &q->entries);
	/* Before the caller looks at its condition: pairs with the fence in wq_active(). */
	atomic_fetch_add_explicit(&q->count, 1, memory_order_seq_cst);
	spin_unlock(&q->lock);
}

void wq_remove(struct wait_queue *q, struct wait_entry *e)
{
	spin_lock(&q->lock);
	list_del(&e->link);
	atomic_fetch_sub_explicit(&q->count, 1, memory_order_relaxed);
	spin_unlock(&q->lock);
}

bool wq_wake_thread(struct wait_entry *e, unsigned long key)
{
	(void)key;
	return thread_wake(e->thread);
}

void wq_wake(struct wait_queue *q, unsigned nr, unsigned long key)
{
	struct wait_entry *e, *next;

	if (!wq_active(q))
		return;
	spin_lock(&q->lock);
	list_for_each_entry_safe(e, next, &q->entries, link) {
		bool exclusive = e->exclusive;

		if (e->wake(e, key) && exclusive && nr && !--nr)
			break;
	}
	spin_unlock(&q->lock);
}

static void wake_sleeper(struct timer *t);

struct sleeper {
	struct timer timer;
	struct thread *thread;
};

static void wake_sleeper(struct timer *t)
{
	thread_wake(container_of(t, struct sleeper, timer)->thread);
}

bool schedule_until(uint64_t deadline)
{
	struct sleeper s;

	if (deadline == UINT64_MAX) {
		schedule();
		return true;
	}
	if (clock_ns() >= deadline)
		return false;
	s.thread = current;
	timer_init(&s.timer, wake_sleeper);
	timer_set(&s.timer, deadline);
	schedule();
	timer_cancel_sync(&s.timer);
	return clock_ns() < deadline;
}

int thread_sleep_until(uint64_t deadline, bool interruptible)
{
	int ret = 0;

	might_sleep();
	for (;;) {
		thread_prepare_sleep(interruptible ? THREAD_INTERRUPTIBLE : THREAD_UNINTERRUPTIBLE);
		if (interruptible && signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		if (!schedule_until(deadline))
			break;
	}
	thread_finish_sleep();
	return ret;
}

int thread_sleep_killable(uint64_t deadline)
{
	might_sleep();
	while (!kill_pending(current)) {
		bool more;

		thread_prepare_sleep(THREAD_INTERRUPTIBLE);
		more = !kill_pending(current) && schedule_until(deadline);
		thread_finish_sleep();
		if (!more)
			break;
	}
	return kill_pending(current) ? -EINTR : 0;
}
