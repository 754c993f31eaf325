/* SPDX-License-Identifier: MIT */
/*
 * Processes: what threads of one program share.
 *
 * Locks: process_lock (spinlock) over the process tree, the pid table's
 *        writers, sessions and groups; sighand->lock over handlers, pending
 *        signals, stop state and blocked masks of a process.
 *        Order: process_lock, then sighand->lock, then wait queues.
 *        The pid table is read under RCU for processes.
 *        The list of threads changes under both locks: holding one is enough
 *        to walk it.
 * Life time: refs; one is the pid table's (dropped when the process is reaped),
 *        one is held together by its threads.  Memory goes after a grace period.
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
struct file;
struct regs;

#define NR_GROUPS 32 /* supplementary groups of a process */

/* Indices of rlimits (Linux numbers) and their values. */
enum {
	RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_RSS, RLIMIT_NPROC,
	RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_AS, RLIMIT_LOCKS, RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE,
	RLIMIT_NICE, RLIMIT_RTPRIO, RLIMIT_RTTIME, NR_RLIMITS
};
#define RLIM_INFINITY UINT64_MAX

struct process {
	pid_t pid;                       /* constant: the thread group's id */
	_Atomic int refs;
	struct rcu_head rcu;

	/* process_lock */
	struct process *parent;
	struct list_head children, sibling; /* child list of the parent */
	struct list_head threads;           /* struct user_thread.group_link; see above */
	struct list_head pgrp_link;         /* in the group's list (kernel/pid.c) */
	struct list_head tracees;           /* user_thread.trace_link (kernel/ptrace.c) */
	int nr_threads;                     /* as the list */
	pid_t pgid, sid;
	struct tty *tty;                    /* controlling terminal */
	int exit_code;                      /* wait status; valid once state is zombie */
	int exit_signal;                    /* to the parent when it ends; 0: none */
	_Atomic int state;                  /* PROCESS_*; STOPPED under sighand->lock too */
	bool did_exec;
	bool files_shared;                  /* with another process (CLONE_FILES) */
	/* perhaps, with another process (CLONE_VM); nobody may reap it */
	bool space_shared;
	_Atomic bool vfork_done;            /* set once; the vfork() parent waits for it */

	/* sighand->lock */
	bool group_exit;                    /* all threads are to end with exit_code */
	bool stop_reported;                 /* the present stop was returned by wait4() */
	bool continued;                     /* for WCONTINUED */
	bool cont_notify;                   /* the parent is still to be told of SIGCONT */
	int stop_sig;                       /* threads are to stop; 0: no */
	int nr_stopped;                     /* threads that did */
	struct sigqueue pending;            /* signals for any thread */

	struct wait_queue child_wait;       /* wait4() of this process; vfork */

	/* constant while the caller is a thread of it; others use process_*_get() */
	_Atomic(struct vm_space *) space;
	struct files *files;
	struct fs_context *fs;
	struct sighand *sighand;            /* constant for life */

	/*
	 * accounting (mm/memcg_proc.c): the group at which it counts, RCU; link under
	 * memcg's lock
	 */
	_Atomic(struct memcg *) memcg;
	struct list_head memcg_link;
	_Atomic(struct memcg *) cgroup_root; /* what it sees of the tree (fs/cgroup_ns.c) */

	_Atomic int oom_score_adj;
	uint32_t uid, gid, euid, egid, suid, sgid; /* written by its own threads */
	unsigned nr_groups;
	uint32_t groups[NR_GROUPS];
	uint64_t rlimits[NR_RLIMITS][2];    /* soft, hard */
	int nice;
	uint64_t start_ns;                  /* clock_ns() */
	_Atomic uint64_t exited_user_ns, exited_system_ns; /* of threads that have gone */
	uint64_t children_user_ns, children_system_ns; /* of reaped children; process_lock */
	_Atomic uint64_t minflt, majflt;
	char name[16];
	char *cmdline;                      /* NUL-separated argv, kmalloc'ed; process_lock */
	size_t cmdline_len;
	struct file *exe;                   /* process_lock */
	uintptr_t mm_arg_start, mm_arg_end; /* stack addresses */
	struct itimer *alarm;               /* ITIMER_REAL, private to kernel/sys_itimer.c */
	struct posix_timers *posix_timers;  /* private to kernel/sys_itimer.c */
};
enum { PROCESS_ALIVE, PROCESS_STOPPED, PROCESS_ZOMBIE, PROCESS_DEAD };

/* The user side of a thread (thread->user).  Valid while it is in process->threads. */
struct user_thread {
	struct thread *thread;
	struct process *process;
	struct list_head group_link;
	uint64_t blocked;            /* signal mask; written by the thread itself, sighand->lock */
	uint64_t waiting_for;        /* sigtimedwait: blocked, but wanted; sighand->lock */
	uint64_t saved_blocked;      /* sigsuspend, ppoll: restored after the handler */
	bool restore_blocked;
	struct sigqueue pending;     /* thread-directed; sighand->lock */
	_Atomic bool stopped;        /* counted in process->nr_stopped; set under sighand->lock */
	_Atomic(struct memcg *) memcg; /* the group it is in, RCU; changed under memcg's lock */
	struct list_head memcg_link; /* memcg's lock */
	/* sleeps for cgroup.freeze, or as good as that; written by the thread, memcg's lock */
	bool frozen;
	struct process *tracer;      /* process_lock; NULL */
	struct list_head trace_link; /* in its tracees; process_lock */
	_Atomic uint8_t trace;       /* TRACE_* (kernel/ptrace.h); written under sighand->lock */
	bool trace_reported;         /* wait4() has told the tracer of this stop; process_lock */
	bool exec_killed;            /* ends because another thread calls execve() */
	uintptr_t altstack_sp; size_t altstack_size; int altstack_flags;
	uint32_t __user *clear_child_tid;
	void __user *robust_list; size_t robust_len;
	long (*restart_fn)(struct user_thread *u); /* restart_syscall() */
	uint64_t restart_arg[6];     /* ERESTART_RESTARTBLOCK */
	uint32_t __user *set_child_tid; /* CLONE_CHILD_SETTID: written by the new thread */
	uint64_t timer_slack_ns;     /* prctl() only remembers it */
};

extern struct spinlock process_lock;
extern struct process *init_process; /* pid 1; NULL before it starts */

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
struct thread *thread_find_get(pid_t tid); /* user threads only */
/* Calls @fn for every process, RCU held (no sleeping); stops when it returns true. */
void process_for_each(bool (*fn)(struct process *p, void *arg), void *arg);
/* Calls @fn for every thread of @p under process_lock; stops when it returns true. */
void process_for_each_thread(struct process *p, bool (*fn)(struct thread *t, void *arg), void *arg);
unsigned process_count(void); /* processes in the table, zombies included */

/*
 * What another process uses: referenced, or NULL once it has ended.
 * Give back with vm_put(), files_put(), fs_context_put(), fput().
 */
struct vm_space *process_space_get(struct process *p);
struct files *process_files_get(struct process *p);
struct fs_context *process_fs_get(struct process *p);
struct file *process_exe_get(struct process *p);
/* CPU time of all its threads, past ones included. */
void process_times(struct process *p, uint64_t *user_ns, uint64_t *system_ns);
/* One letter as in /proc/PID/stat: R S D T t Z X. */
char process_state_letter(struct process *p);
/* argv into @buf, NUL-separated; bytes copied. */
size_t process_cmdline(struct process *p, char *buf, size_t n);

/* Process groups, for the terminal. */
pid_t pgrp_session(pid_t pgid); /* session of an existing group, or -ESRCH */
bool pgrp_is_orphaned(pid_t pgid);

void __noreturn process_exit(int wait_status); /* exit_group of the current process */
void __noreturn thread_exit_user(int wait_status); /* exit of the current thread */
/* Starts /init (or init=) as pid 1; panics with a sentence if it can't. */
void process_start_init(void);
void process_init(void);
/* Host name, NUL-terminated, cut to @n; its length.  Set by sethostname(). */
size_t hostname_get(char *buf, size_t n);
void hostname_set(const char *name); /* cut to 64 characters */

#endif /* KERNEL_PROCESS_H */
