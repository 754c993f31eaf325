/* SPDX-License-Identifier: MIT */
/*
 * Telling who watches *.events of groups: poll() with POLLPRI, inotify with
 * IN_MODIFY, and IN_DELETE_SELF when the group is removed.
 *
 * News are collected for a moment and told together, by a timer's thread: who is
 * woken finds a state that has settled (a process that has just moved into a frozen
 * group is asleep by then), a storm of events costs its causes next to nothing, and
 * nothing at all while nobody watches.  poll() itself looks at the group's counts and
 * is never late.
 *
 * Locks: notify_lock, a leaf but for the timer's; taken under memcg_lock.
 * Source: kernfs of Linux reports from a work item, at most once in 10 ms a file.
 */
#include "fs/cgroup.h"
#include "fs/inotify.h"
#include "kernel/timer.h"

#define NOTIFY_DELAY_NS (10 * NSEC_PER_MSEC)

/* Who polls sleeps in one of these, by group id: one for each group would cost too much. */
#define NR_QUEUES 16
static struct wait_queue queues[NR_QUEUES];

static struct spinlock notify_lock = SPINLOCK_INIT("cgroup_notify");
static LIST_HEAD(waiting); /* groups with bits in ->notify, referenced */
static struct timer notify_timer;

struct wait_queue *cg_notify_queue(struct memcg *m)
{
	return &queues[m->id % NR_QUEUES];
}

const void *cg_notify_key(struct memcg *m, enum memcg_notify file)
{
	return &m->event_seq[file];
}

static void tell(struct memcg *m, uint32_t files)
{
	bool dead = atomic_load_explicit(&m->dead, memory_order_relaxed);

	wake_up_poll(cg_notify_queue(m), EPOLLPRI | EPOLLERR);
	for (unsigned i = 0; i < NR_MEMCG_NOTIFY; i++) {
		if (!(files >> i & 1))
			continue;
		inotify_event(cg_notify_key(m, i), IN_MODIFY);
		if (dead)
			inotify_event(cg_notify_key(m, i), IN_DELETE_SELF);
	}
	if (dead)
		inotify_event(m, IN_DELETE_SELF); /* its directory */
}

static void notify_expired(struct timer *t)
{
	struct memcg *m;
	uint32_t files;

	for (;;) {
		spin_lock(&notify_lock);
		if (list_empty(&waiting))
			break;
		m = list_first_entry(&waiting, struct memcg, notify_link);
		list_del(&m->notify_link);
		files = atomic_exchange_explicit(&m->notify, 0, memory_order_relaxed);
		spin_unlock(&notify_lock);
		tell(m, files);
		memcg_put(m);
	}
	spin_unlock(&notify_lock);
}

static void changed(struct memcg *m, enum memcg_notify file)
{
	uint32_t bit = 1u << file;

	/* The barrier in wq_active() orders the count, which a poller looks at, before this. */
	if (!wq_active(cg_notify_queue(m)) &&
	    !atomic_load_explicit(&inotify_watches, memory_order_relaxed))
		return;
	if (atomic_load_explicit(&m->notify, memory_order_relaxed) & bit)
		return; /* on its way */
	spin_lock(&notify_lock);
	if (list_empty(&m->notify_link)) {
		memcg_get(m);
		if (list_empty(&waiting))
			timer_set(&notify_timer, clock_ns() + NOTIFY_DELAY_NS);
		list_add_tail(&m->notify_link, &waiting);
	}
	atomic_fetch_or_explicit(&m->notify, bit, memory_order_relaxed);
	spin_unlock(&notify_lock);
}

void cgroup_notify_init(void)
{
	for (unsigned i = 0; i < NR_QUEUES; i++)
		wq_init(&queues[i], "cgroup.events");
	timer_init(&notify_timer, notify_expired);
	memcg_changed_hook = changed;
}
