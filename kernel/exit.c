/* SPDX-License-Identifier: MIT */
/*
 * The end of threads and processes.
 *
 * A thread gives back what it alone has; the last one also what the process
 * has, in this order: address space (a vfork() parent may then go on), files,
 * terminal, memory group.  Only then does the process become a zombie and its
 * parent hear of it: who has waited for a process finds everything given back
 * but its kernel stack.
 */
#include "kernel/process_int.h"
#include "kernel/freezer.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/perf/perf.h"
#include "kernel/ptrace.h"
#include "kernel/string.h"
#include "kernel/syscall.h"
#include "kernel/trace.h"
#include "kernel/tty.h"
#include "fs/cgroup.h"
#include "fs/vfs.h"
#include "mm/memcg.h"
#include "mm/vm.h"

void vfork_release(struct process *p)
{
	if (atomic_load_explicit(&p->vfork_done, memory_order_relaxed))
		return;
	spin_lock(&process_lock);
	atomic_store_explicit(&p->vfork_done, true, memory_order_release);
	if (p->parent)
		wake_up(&p->parent->child_wait);
	spin_unlock(&process_lock);
}

void process_release(struct process *p)
{
	atomic_store_explicit(&p->state, PROCESS_DEAD, memory_order_relaxed);
	list_del(&p->sibling);
	p->parent = NULL;
	pid_leave_group(p);
	pid_detach_process(p->pid);
}

/* Unlinks the current thread; says whether it was the last one. */
static bool leave_process(struct user_thread *u, int status)
{
	struct process *p = u->process;
	uint64_t user = 0, system = 0;
	bool last, stop_complete = false;

	spin_lock(&process_lock);
	spin_lock(&p->sighand->lock);
	thread_times(current, &user, &system);
	atomic_fetch_add_explicit(&p->exited_user_ns, user, memory_order_relaxed);
	atomic_fetch_add_explicit(&p->exited_system_ns, system, memory_order_relaxed);
	list_del(&u->group_link);
	__atomic_store_n(&p->nr_threads, p->nr_threads - 1, __ATOMIC_RELAXED);
	last = p->nr_threads == 0;
	pid_detach_thread(current->tid);
	if (!p->group_exit && current->tid == p->pid)
		p->exit_code = status; /* the first thread's counts if nobody ended them all */
	sigqueue_flush(p->sighand, &u->pending, UINT64_MAX);
	if (last) {
		p->group_exit = true;
		sigqueue_flush(p->sighand, &p->pending, UINT64_MAX);
	} else if (p->stop_sig && p->nr_stopped >= p->nr_threads) {
		stop_complete = true; /* the others had only us to wait for */
	}
	spin_unlock(&p->sighand->lock);
	trace_thread_exit(u);
	if (!last)
		memcg_thread_exit(u); /* the last one stays until all is given back */
	if (!last && p->nr_threads == 1)
		wake_up(&p->child_wait); /* execve() waits to be alone */
	spin_unlock(&process_lock);
	if (stop_complete)
		process_stop_complete(p);
	return last;
}

static void drop_space(struct process *p, bool last)
{
	struct vm_space *s = current->space;

	if (last) {
		spin_lock(&process_lock);
		atomic_store_explicit(&p->space, NULL, memory_order_relaxed);
		spin_unlock(&process_lock);
	}
	current->space = NULL;
	vm_activate(NULL);
	if (s)
		vm_put(s);
}

static void drop_files(struct process *p)
{
	struct files *files;
	struct fs_context *fs;
	struct file *exe;
	char *cmdline;

	spin_lock(&process_lock);
	files = p->files, p->files = NULL;
	fs = p->fs, p->fs = NULL;
	exe = p->exe, p->exe = NULL;
	cmdline = p->cmdline, p->cmdline = NULL;
	spin_unlock(&process_lock);
	if (files)
		files_put(files);
	if (fs)
		fs_context_put(fs);
	if (exe) {
		file_allow_write(exe);
		fput(exe);
	}
	kfree(cmdline);
}

static void exit_info(const struct process *p, struct siginfo_k *info)
{
	int sig = p->exit_code & 0x7f;

	*info = (struct siginfo_k){
		.signo = p->exit_signal,
		.code = !sig ? CLD_EXITED : p->exit_code & 0x80 ? CLD_DUMPED : CLD_KILLED,
		.chld = { .pid = p->pid,
			  .uid = p->uid,
			  .status = sig ? sig : (p->exit_code >> 8) & 0xff,
			  .utime = (int64_t)(p->exited_user_ns / (NSEC_PER_SEC / 100)),
			  .stime = (int64_t)(p->exited_system_ns / (NSEC_PER_SEC / 100)) },
	};
}

/*
 * Tells the parent of zombie @p; process_lock held.  @e is used up.
 * Return: true if nobody will wait for it (it is to be reaped at once).
 */
static bool notify_parent(struct process *p, struct sigqueue_entry *e)
{
	struct process *parent = p->parent;
	struct siginfo_k info;
	struct sigaction_k *sa;
	bool reap = false, send = p->exit_signal != 0;

	if (!parent) {
		sigqueue_entry_free(e);
		return true;
	}
	exit_info(p, &info);
	spin_lock(&parent->sighand->lock);
	sa = &parent->sighand->action[SIGCHLD - 1];
	if (p->exit_signal == SIGCHLD) {
		reap = sa->handler == SIG_IGN || (sa->flags & SA_NOCLDWAIT);
		send = sa->handler != SIG_IGN;
	}
	if (send)
		signal_send_locked(parent, NULL, &info, e, false);
	spin_unlock(&parent->sighand->lock);
	if (!send)
		sigqueue_entry_free(e);
	wake_up(&parent->child_wait);
	return reap;
}

/* A group whose last outside parent went: its stopped members would wait for ever. */
static void kill_if_orphaned(pid_t pgid, const struct process *leaving,
			     const struct process *was_outside)
{
	struct list_head *g = pid_group(pgid);
	bool stopped = false;
	struct process *p;

	if (!g || !was_outside || !pgrp_is_orphaned_locked(pgid, leaving))
		return;
	list_for_each_entry(p, g, pgrp_link)
		stopped |= atomic_load_explicit(&p->state, memory_order_relaxed) == PROCESS_STOPPED;
	if (!stopped)
		return;
	list_for_each_entry(p, g, pgrp_link) {
		struct siginfo_k hup = { .signo = SIGHUP, .code = SI_KERNEL };
		struct siginfo_k cont = { .signo = SIGCONT, .code = SI_KERNEL };

		if (p == leaving)
			continue;
		spin_lock(&p->sighand->lock);
		signal_send_locked(p, NULL, &hup, NULL, false);
		signal_send_locked(p, NULL, &cont, NULL, false);
		spin_unlock(&p->sighand->lock);
	}
}

/*
 * Hands the children to init.  process_lock held.  Zombies that init will not
 * wait for are moved to @reaped for the caller to drop.
 */
static void reparent_children(struct process *p, struct list_head *reaped)
{
	struct process *child, *next;

	list_for_each_entry_safe(child, next, &p->children, sibling) {
		child->parent = init_process;
		list_move_tail(&child->sibling, &init_process->children);
		child->exit_signal = SIGCHLD;
		if (child->pgid != p->pgid && child->sid == p->sid)
			kill_if_orphaned(child->pgid, p, p);
		if (atomic_load_explicit(&child->state, memory_order_relaxed) == PROCESS_ZOMBIE &&
		    notify_parent(child, NULL)) {
			process_release(child);
			list_add_tail(&child->sibling, reaped);
		}
	}
}

static void become_zombie(struct process *p)
{
	struct sigqueue_entry *e = sigqueue_entry_alloc();
	LIST_HEAD(reaped);
	bool reap;

	spin_lock(&process_lock);
	trace_process_exit(p);
	reparent_children(p, &reaped);
	if (p->parent && p->parent->pgid != p->pgid && p->parent->sid == p->sid)
		kill_if_orphaned(p->pgid, p, p->parent);
	spin_lock(&p->sighand->lock);
	atomic_store_explicit(&p->state, PROCESS_ZOMBIE, memory_order_release);
	p->tty = NULL;
	spin_unlock(&p->sighand->lock);
	reap = notify_parent(p, e);
	if (reap) {
		process_release(p);
		list_add_tail(&p->sibling, &reaped);
	}
	while (!list_empty(&reaped)) {
		struct process *dead = list_first_entry(&reaped, struct process, sibling);

		list_del(&dead->sibling);
		process_put(dead); /* the table's reference; memory goes by RCU */
	}
	spin_unlock(&process_lock);
}

static void init_ended(int status)
{
	if (status & 0x7f)
		panic("init (pid 1) was ended by signal %d", status & 0x7f);
	panic("init (pid 1) exited with status %d", status >> 8);
}

/**
 * thread_exit_user - end the current user thread
 * @status: wait status; counts if this is the process's first thread and nobody
 *          ended the whole process
 *
 * Context: thread, no locks.  Sleeps.  Never returns.
 */
void thread_exit_user(int status)
{
	struct user_thread *u = current_user();
	struct process *p = u->process;
	bool last;

	futex_thread_exit(u);
	last = leave_process(u, status);
	if (last && p == init_process)
		init_ended(p->exit_code);
	if (last)
		itimers_exit(p);
	drop_space(p, last);
	trace(process_exit, (uint64_t)current->tid, (uint64_t)status);
	perf_exit(); /* before anybody hears that we ended */
	if (last) {
		vfork_release(p);
		drop_files(p);
		if (p->tty && p->sid == p->pid)
			tty_hangup_session(p);
		memcg_exit(p, u);
		cgroup_ns_exit(p);
		become_zombie(p);
	}
	spin_lock(&process_lock);
	current->user = NULL;
	spin_unlock(&process_lock);
	current->process = NULL;
	user_thread_release(u);
	if (last)
		process_put(p);
	thread_exit();
}

void process_exit(int wait_status)
{
	struct process *p = current->process;

	spin_lock(&p->sighand->lock);
	signal_group_exit_locked(p, wait_status);
	wait_status = p->exit_code;
	spin_unlock(&p->sighand->lock);
	thread_exit_user(wait_status);
}

int process_single_thread(void)
{
	struct user_thread *me = current_user(), *u;
	struct process *p = me->process;
	int err;

	if (p->nr_threads == 1)
		return 0;
	spin_lock(&p->sighand->lock);
	if (p->group_exit || kill_pending(current)) {
		spin_unlock(&p->sighand->lock);
		return -EINTR;
	}
	list_for_each_entry(u, &p->threads, group_link)
		if (u != me)
			signal_wake(u->thread, true);
	spin_unlock(&p->sighand->lock);
	err = wait_event_killable(&p->child_wait,
				  __atomic_load_n(&p->nr_threads, __ATOMIC_RELAXED) == 1);
	if (err || current->tid == p->pid)
		return err;
	/* The program goes on under the process's number whichever thread called. */
	spin_lock(&process_lock);
	pid_detach_thread(current->tid);
	current->tid = p->pid;
	pid_attach_thread(p->pid, current);
	spin_unlock(&process_lock);
	return 0;
}

SYSCALL(exit, int code)
{
	thread_exit_user((code & 0xff) << 8);
}

SYSCALL(exit_group, int code)
{
	process_exit((code & 0xff) << 8);
}
