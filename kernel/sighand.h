/* SPDX-License-Identifier: MIT */
/*
 * What a process does about signals, and the queues of pending ones: shared by
 * kernel/signal*.c and the machine's frame code.
 */
#ifndef KERNEL_SIGHAND_H
#define KERNEL_SIGHAND_H

#include "kernel/process.h"
#include "mm/slab.h"

/* Layout of rt_sigaction(2) on x86-64. */
struct sigaction_k {
	uint64_t handler; /* or SIG_DFL, SIG_IGN */
	uint64_t flags;   /* SA_* */
	uint64_t restorer;
	uint64_t mask;
};
#define SIG_DFL 0UL
#define SIG_IGN 1UL

#define SA_NOCLDSTOP 0x00000001UL
#define SA_NOCLDWAIT 0x00000002UL
#define SA_SIGINFO   0x00000004UL
#define SA_RESTORER  0x04000000UL
#define SA_ONSTACK   0x08000000UL
#define SA_RESTART   0x10000000UL
#define SA_NODEFER   0x40000000UL
#define SA_RESETHAND 0x80000000UL

#define SS_ONSTACK    1
#define SS_DISABLE    2
#define SS_AUTODISARM (1U << 31)
#define MINSIGSTKSZ   2048

/* siginfo codes */
#define SI_USER     0
#define SI_KERNEL   0x80
#define SI_QUEUE    -1
#define SI_TIMER    -2
#define SI_TKILL    -6
#define ILL_ILLOPN  2
#define FPE_INTDIV  1
#define FPE_FLTINV  7
#define SEGV_MAPERR 1
#define SEGV_ACCERR 2
#define BUS_ADRALN  1
#define BUS_ADRERR  2
#define TRAP_BRKPT  1
#define TRAP_TRACE  2
#define CLD_EXITED    1
#define CLD_KILLED    2
#define CLD_DUMPED    3
#define CLD_TRAPPED   4
#define CLD_STOPPED   5
#define CLD_CONTINUED 6

/* Sets of signals. */
#define SIGSET(a)          SIG_BIT(a)
#define SIGSET_UNBLOCKABLE (SIG_BIT(SIGKILL) | SIG_BIT(SIGSTOP))
#define SIGSET_STOP                                                                                \
	(SIG_BIT(SIGSTOP) | SIG_BIT(SIGTSTP) | SIG_BIT(SIGTTIN) | SIG_BIT(SIGTTOU))
#define SIGSET_IGNORE                                                                              \
	(SIG_BIT(SIGCHLD) | SIG_BIT(SIGCONT) | SIG_BIT(SIGURG) | SIG_BIT(SIGWINCH))
#define SIGSET_CORE                                                                                \
	(SIG_BIT(SIGQUIT) | SIG_BIT(SIGILL) | SIG_BIT(SIGTRAP) | SIG_BIT(SIGABRT) |                \
	 SIG_BIT(SIGBUS) | SIG_BIT(SIGFPE) | SIG_BIT(SIGSEGV) | SIG_BIT(SIGXCPU) |                 \
	 SIG_BIT(SIGXFSZ) | SIG_BIT(SIGSYS))
#define SIGSET_FAULT                                                                               \
	(SIG_BIT(SIGSEGV) | SIG_BIT(SIGBUS) | SIG_BIT(SIGILL) | SIG_BIT(SIGTRAP) |                 \
	 SIG_BIT(SIGFPE) | SIG_BIT(SIGSYS))

struct sighand {
	struct spinlock lock;
	struct sigaction_k action[NR_SIGNALS]; /* [sig - 1]; lock */
	unsigned nr_queued;                    /* entries in all queues of the process; lock */
	struct signalfd *fds;                  /* woken when a signal is queued; lock */
};

struct sigqueue_entry {
	struct sigqueue_entry *next;
	struct siginfo_k info;
};

void signal_init(void);

/* kernel/sigqueue.c: the queues alone; sighand->lock held unless said otherwise. */
void sigqueue_init(struct sigqueue *q);
/* forget these signals */
void sigqueue_flush(struct sighand *h, struct sigqueue *q, uint64_t mask);
/* Takes the next signal of @q that is not in @blocked: number, or 0. */
int sigqueue_take(struct sighand *h, struct sigqueue *q, uint64_t blocked, struct siginfo_k *out);
/* Adds; @e (may be NULL: no details) belongs to the queue or is freed. */
int sigqueue_add(struct sighand *h, struct sigqueue *q, const struct siginfo_k *info,
		 struct sigqueue_entry *e);
struct sigqueue_entry *sigqueue_entry_alloc(void); /* no lock needed; NULL */
void sigqueue_entry_free(struct sigqueue_entry *e);
void sigqueue_cache_init(void);

/* Next signal to take from @pending, faults first: number, or 0.  Pure. */
int signal_next(uint64_t pending);

/* Takes a signal out of @set, blocked or not, for the current thread: number, or 0. */
int signal_take(uint64_t set, struct siginfo_k *info);

/* kernel/signalfd.c: a signal was queued (sighand->lock held); the process is gone. */
void signalfd_notify(struct sighand *h, int sig);
void signalfd_forget(struct sighand *h);

/* kernel/signal.c */
struct sighand *sighand_create(void);                      /* all default; NULL */
void sighand_copy(struct sighand *to, struct process *from);
void sighand_exec(struct process *p); /* handlers become default; ignored stay */
void sighand_free(struct sighand *h);
/* The flag that sends @t to signal_deliver(), from what is pending. Lock held. */
void signal_recalc(struct user_thread *u);
/* Wakes @t for a signal: from sleep, or out of user mode on another CPU. */
void signal_wake(struct thread *t, bool kill);
/* Both locks held or sighand->lock: send; see kernel/signal.c. */
int signal_send_locked(struct process *p, struct user_thread *u, const struct siginfo_k *info,
		       struct sigqueue_entry *e, bool forced);
void signal_set_blocked(uint64_t mask); /* of the current thread */
/* Makes all threads end; the first caller's @wait_status counts.  sighand->lock held. */
void signal_group_exit_locked(struct process *p, int wait_status);
/* All threads have stopped, if so: makes that known and tells the parent.  No locks held. */
void process_stop_complete(struct process *p);
void signal_deliver(struct regs *r);
/* Kill the current thread's program for a frame that cannot be written or read. */
void signal_bad_frame(struct regs *r, const char *what, uintptr_t sp);

#endif /* KERNEL_SIGHAND_H */
