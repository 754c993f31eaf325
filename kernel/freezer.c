/* SPDX-License-Identifier: MIT */
/*
 * cgroup.freeze, the threads' side: on the way to user mode a thread of a freezing
 * group sleeps until the group thaws or the thread is killed.  Job-control stops and
 * vfork()'s wait count as frozen, too.
 *
 * Locks: memcg_lock over the counts; it is taken after process_lock and before
 *        sighand->lock.
 */
#include "kernel/freezer.h"
#include "kernel/ptrace.h"
#include "kernel/sighand.h"
#include "mm/memcg_tree.h"

bool freezer_wants(struct user_thread *u)
{
	struct memcg *m;
	bool wants;

	rcu_read_lock();
	m = memcg_of_thread(u);
	wants = atomic_load_explicit(&m->freezing, memory_order_seq_cst);
	rcu_read_unlock();
	return wants;
}

void freezer_count(bool frozen)
{
	struct user_thread *u = current_user();
	struct memcg *m;

	if (u->frozen == frozen)
		return;
	spin_lock(&memcg_lock);
	m = memcg_of_thread(u);
	u->frozen = frozen;
	m->nr_frozen += frozen ? 1 : -1;
	memcg_freeze_update(m);
	spin_unlock(&memcg_lock);
}

void freezer_leave(void)
{
	struct user_thread *u = current_user();
	struct memcg *m;

	spin_lock(&memcg_lock);
	m = memcg_of_thread(u);
	if (u->frozen && (!atomic_load_explicit(&m->freezing, memory_order_relaxed) ||
			  kill_pending(current))) {
		u->frozen = false;
		m->nr_frozen--;
		memcg_freeze_update(m);
	}
	spin_unlock(&memcg_lock);
}

void freezer_sleep(void)
{
	freezer_count(true);
	for (;;) {
		thread_prepare_sleep(THREAD_STOPPED);
		if (!freezer_wants(current_user()) || kill_pending(current) ||
		    trace_wanted(current_user()))
			break;
		schedule();
	}
	thread_finish_sleep();
	freezer_leave();
}

void freezer_new_thread(struct user_thread *u)
{
	if (freezer_wants(u))
		atomic_fetch_or_explicit(&u->thread->flags, THREAD_F_SIGPENDING,
					 memory_order_relaxed);
}

/* memcg_lock held, so the thread has not left its process for good. */
static void look(struct user_thread *u)
{
	signal_wake(u->thread, false);
}

void freezer_init(void)
{
	memcg_freeze_hook = look;
}
