/* SPDX-License-Identifier: MIT */
/*
 * ptrace(), the part that stops and releases a thread: PTRACE_SEIZE, PTRACE_INTERRUPT,
 * PTRACE_GETSIGINFO, PTRACE_CONT without a signal, PTRACE_DETACH.  Signals of the
 * thread do not stop for the tracer, its memory and registers cannot be looked at, and
 * a tracer that is not the parent does not hear of its end.
 *
 * A thread that was told to stop does so on its way to user mode and tells its tracer,
 * who sees it with wait4().  The stop counts as frozen for cgroup.freeze.
 *
 * Locks: process_lock over who traces whom; sighand->lock of the thread's process over
 *        its state, user_thread.trace: RUN → WANTED (INTERRUPT) → STOPPED (by the
 *        thread itself) → RUN (CONT, DETACH, the tracer's end).
 * Source: ptrace(2).
 */
#include "kernel/ptrace.h"
#include "kernel/errno.h"
#include "kernel/freezer.h"
#include "kernel/process_int.h"
#include "kernel/syscall.h"
#include "mm/uaccess.h"

#define PTRACE_CONT       7
#define PTRACE_DETACH     17
#define PTRACE_GETSIGINFO 0x4202
#define PTRACE_SEIZE      0x4206
#define PTRACE_INTERRUPT  0x4207
#define PTRACE_OPTIONS    0x3000ffUL /* those there are: taken, but of no use to us */
#define PTRACE_EVENT_STOP 128

#define STOP_CODE (SIGTRAP | PTRACE_EVENT_STOP << 8) /* of a stop by PTRACE_INTERRUPT */

int trace_stop_status(void)
{
	return STOP_CODE << 8 | 0x7f;
}

/* process_lock held. */
static void tell_tracer(struct user_thread *u, struct sigqueue_entry *e)
{
	struct siginfo_k info = {
		.signo = SIGCHLD,
		.code = CLD_TRAPPED,
		.chld = { .pid = u->thread->tid, .uid = u->process->uid, .status = SIGTRAP },
	};
	struct process *tracer = u->tracer;

	spin_lock(&tracer->sighand->lock);
	signal_send_locked(tracer, NULL, &info, e, false);
	spin_unlock(&tracer->sighand->lock);
	wake_up(&tracer->child_wait);
}

void trace_stop(struct user_thread *u)
{
	struct sighand *h = u->process->sighand;
	struct sigqueue_entry *e;

	spin_unlock(&h->lock);
	freezer_count(true); /* before the tracer hears of the stop */
	e = sigqueue_entry_alloc();
	spin_lock(&process_lock);
	spin_lock(&h->lock);
	if (u->trace == TRACE_WANTED) {
		atomic_store_explicit(&u->trace, TRACE_STOPPED, memory_order_relaxed);
		u->trace_reported = false;
	}
	spin_unlock(&h->lock);
	if (u->trace == TRACE_STOPPED)
		tell_tracer(u, e);
	else
		sigqueue_entry_free(e);
	spin_unlock(&process_lock);
	for (;;) {
		thread_prepare_sleep(THREAD_STOPPED);
		if (atomic_load_explicit(&u->trace, memory_order_seq_cst) != TRACE_STOPPED ||
		    kill_pending(current))
			break;
		schedule();
	}
	thread_finish_sleep();
	freezer_leave();
}

/* process_lock held. */
static void let_go(struct user_thread *u)
{
	spin_lock(&u->process->sighand->lock);
	atomic_store_explicit(&u->trace, TRACE_RUN, memory_order_seq_cst);
	signal_wake(u->thread, false);
	spin_unlock(&u->process->sighand->lock);
}

/* process_lock held. */
static void detach(struct user_thread *u)
{
	list_del(&u->trace_link);
	u->tracer = NULL;
	let_go(u);
}

void trace_thread_exit(struct user_thread *u)
{
	if (!u->tracer)
		return;
	list_del(&u->trace_link);
	u->tracer = NULL;
}

void trace_process_exit(struct process *p)
{
	struct user_thread *u, *next;

	list_for_each_entry_safe(u, next, &p->tracees, trace_link)
		detach(u);
}

/* process_lock held. */
static long seize(struct user_thread *u, unsigned long options)
{
	struct process *me = current->process, *p = u->process;

	if (options & ~PTRACE_OPTIONS)
		return -EINVAL;
	if (p == me || u->tracer || p == init_process)
		return -EPERM;
	if (me->euid && (me->euid != p->uid || me->euid != p->euid || me->euid != p->suid))
		return -EPERM;
	if (list_empty(&u->group_link))
		return -ESRCH; /* ending */
	u->tracer = me;
	list_add_tail(&u->trace_link, &me->tracees);
	return 0;
}

/* process_lock held.  @info is filled in for PTRACE_GETSIGINFO. */
static long request(struct user_thread *u, long what, unsigned long data, struct siginfo_k *info)
{
	bool stopped;

	if (what == PTRACE_SEIZE)
		return seize(u, data);
	if (u->tracer != current->process)
		return -ESRCH;
	stopped = atomic_load_explicit(&u->trace, memory_order_relaxed) == TRACE_STOPPED;
	if (what == PTRACE_INTERRUPT) {
		if (stopped)
			return 0;
		spin_lock(&u->process->sighand->lock);
		atomic_store_explicit(&u->trace, TRACE_WANTED, memory_order_relaxed);
		signal_wake(u->thread, false);
		spin_unlock(&u->process->sighand->lock);
		return 0;
	}
	if (!stopped)
		return -ESRCH;
	switch (what) {
	case PTRACE_GETSIGINFO:
		*info = (struct siginfo_k){ .signo = SIGTRAP, .code = STOP_CODE };
		info->chld.pid = u->thread->tid;
		info->chld.uid = u->process->uid;
		return 0;
	case PTRACE_CONT:
	case PTRACE_DETACH:
		if (data)
			return -EIO; /* a signal to go on with */
		if (what == PTRACE_DETACH)
			detach(u);
		else
			let_go(u);
		return 0;
	}
	return -EIO;
}

SYSCALL(ptrace, long what, long pid, unsigned long addr, unsigned long data)
{
	struct thread *t = pid > 0 && pid <= INT_MAX ? thread_find_get((pid_t)pid) : NULL;
	struct {
		struct siginfo_k info;
		uint8_t rest[128 - sizeof(struct siginfo_k)];
	} user = { 0 }; /* siginfo_t */
	long err;

	if (!t)
		return -ESRCH;
	spin_lock(&process_lock);
	err = t->user ? request(t->user, what, data, &user.info) : -ESRCH;
	spin_unlock(&process_lock);
	thread_put(t);
	if (!err && what == PTRACE_GETSIGINFO)
		err = copy_to_user((void __user *)data, &user, sizeof(user)) ? -EFAULT : 0;
	return err;
}
