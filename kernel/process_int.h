/* SPDX-License-Identifier: MIT */
/*
 * What the files that make, run and end processes share with each other:
 * kernel/{process,fork,exec,exit,wait4}.c.
 */
#ifndef KERNEL_PROCESS_INT_H
#define KERNEL_PROCESS_INT_H

#include "kernel/process.h"
#include "kernel/pid.h"
#include "kernel/sighand.h"

/* Allocates and sets what needs no parent: one reference, not in any list.  NULL. */
struct process *process_alloc(void);
/* A thread with its user side, not linked to @p yet.  ERR_PTR(-ENOMEM). */
struct user_thread *user_thread_create(struct process *p, const char *name, void (*entry)(void *));
void user_thread_free(struct user_thread *u); /* never started; gives back the thread, too */
void user_thread_release(struct user_thread *u); /* its memory alone */

/* Links @u into its process and the pid table.  process_lock held; takes sighand->lock. */
void user_thread_link(struct user_thread *u);

/*
 * Takes a zombie out of all lists; process_lock held.  The caller drops the
 * table's reference with process_put() after unlocking.
 */
void process_release(struct process *p);

void thread_times(const struct thread *t, uint64_t *user, uint64_t *system); /* adds */
void vfork_release(struct process *p); /* the vfork() parent may go on; takes process_lock */
/* Ends all other threads of the current process (execve): 0, or -EINTR when we are to end, too. */
int process_single_thread(void);
/* Tells @t's waiters through clear_child_tid, walks its robust list; may fault and sleep. */
void futex_thread_exit(struct user_thread *u);
void futex_init(void);
void itimers_exit(struct process *p); /* no timer of @p fires any more; sleeps */
void itimers_exec(struct process *p); /* POSIX timers go, ITIMER_REAL stays */

/* process_lock held.  @ignore (may be NULL) does not count as a parent or member: it is ending. */
bool pgrp_is_orphaned_locked(pid_t pgid, const struct process *ignore);

/* Sleep until @cond or until the thread is to end; other signals do not matter. */
#define wait_event_killable(q, cond)                                                               \
	({                                                                                         \
		int _ret = 0;                                                                      \
		struct wait_entry _e = { .wake = wq_wake_thread, .thread = current };              \
		might_sleep();                                                                     \
		wq_add(q, &_e);                                                                    \
		for (;;) {                                                                         \
			thread_prepare_sleep(THREAD_INTERRUPTIBLE);                                \
			if (cond)                                                                  \
				break;                                                             \
			if (kill_pending(current)) {                                               \
				_ret = -EINTR;                                                     \
				break;                                                             \
			}                                                                          \
			schedule();                                                                \
		}                                                                                  \
		thread_finish_sleep();                                                             \
		wq_remove(q, &_e);                                                                 \
		_ret;                                                                              \
	})

#endif /* KERNEL_PROCESS_INT_H */
