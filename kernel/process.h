/* SPDX-License-Identifier: MIT */
/*
 * Processes: what threads of one program share.
 *
 * Locks: process_lock (spinlock) over the process tree, the pid table's
 *        writers, sessions and groups; sighand->lock over handlers and pending
 *        signals of a process.  Order: process_lock, then sighand->lock.
 *        The pid table is read under RCU.
 */
#ifndef KERNEL_PROCESS_H
#define KERNEL_PROCESS_H

#include "kernel/thread.h"
#include "kernel/lock.h"
#include "kernel/wait.h"
#include "kernel/rcu.h"
#include "kernel/signal.h"

struct files;
struct fs_context;
struct vm_space;
struct memcg;
struct owner;
struct tty;

struct process {
	pid_t pid;                       /* constant: the thread group's id */
	_Atomic int refs;
	struct rcu_head rcu;

	/* process_lock */
	struct process *parent;
	struct list_head children, sibling; /* child list of the parent */
	struct list_head threads;           /* struct user_thread.group_link */
	struct list_head all_link, pgrp_link;
	int nr_threads;
	pid_t pgid, sid;
	struct tty *tty;                    /* controlling terminal */
	int exit_code;                      /* wait status; valid once state is zombie */
	int exit_signal;
	_Atomic int state;                  /* PROCESS_* */
	bool did_exec, group_exit, stop_reported, continued, vfork_done;

	struct wait_queue child_wait;       /* wait4() of this process; vfork */

	/* constant while the caller is a thread of it */
	_Atomic(struct vm_space *) space;
	struct files *files;
	struct fs_context *fs;
	struct sighand *sighand;

	/* accounting (mm/memcg.c): the group, RCU; links under memcg's lock */
	_Atomic(struct memcg *) memcg;
	struct list_head memcg_link;

	_Atomic int oom_score_adj;
	uint32_t uid, gid, euid, egid;
	uint64_t rlimits[16][2];
	uint64_t start_ns;
	uint64_t exited_user_ns, exited_system_ns; /* of threads that have gone */
	uint64_t children_user_ns, children_system_ns;
	uint64_t minflt, majflt;
	char name[16];
	char *cmdline;                      /* NUL-separated argv, kmalloc'ed */
	size_t cmdline_len;
	struct file *exe;
	uintptr_t mm_arg_start, mm_arg_end; /* stack addresses */
	struct timer *alarm;                /* ITIMER_REAL, private to kernel/sys_time.c */
	void *posix_timers;
};
enum { PROCESS_ALIVE, PROCESS_STOPPED, PROCESS_ZOMBIE, PROCESS_DEAD };

/* The user side of a thread (thread->user). */
struct user_thread {
	struct thread *thread;
	struct process *process;
	struct list_head group_link;
	uint64_t blocked;            /* signal mask; written by the thread itself */
	uint64_t saved_blocked;      /* sigsuspend, ppoll: restored after the handler */
	bool restore_blocked;
	_Atomic uint64_t pending;    /* thread-directed, under sighand->lock */
	struct siginfo_slot *queue;  /* details, under sighand->lock */
	uintptr_t altstack_sp; size_t altstack_size; int altstack_flags;
	uint32_t __user *clear_child_tid;
	void __user *robust_list; size_t robust_len;
	long restart_arg[4];         /* ERESTART_RESTARTBLOCK */
};

static inline struct process *current_process(void)
{
	return current->process;
}
static inline struct user_thread *current_user(void)
{
	return (struct user_thread *)current->user;
}

struct process *process_find_get(pid_t pid); /* reference; NULL */
void process_get(struct process *p);
void process_put(struct process *p);
struct thread *thread_find_get(pid_t tid);
/* Calls @fn for every process, RCU held (no sleeping); stops when it returns true. */
void process_for_each(bool (*fn)(struct process *p, void *arg), void *arg);
void __noreturn process_exit(int wait_status); /* exit_group of the current process */
/* Starts /init (or init=) as pid 1; panics with a sentence if it can't. */
void process_start_init(void);
void process_init(void);

#endif /* KERNEL_PROCESS_H */
