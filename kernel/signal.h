/* SPDX-License-Identifier: MIT */
/*
 * Signals: numbers and structures are Linux x86-64 ABI.
 *
 * A signal is sent to a process or to one thread: it is queued there and a
 * thread that does not block it is woken.  Delivery happens when a thread
 * leaves the kernel (kernel/signal.c: signal_deliver()).
 */
#ifndef KERNEL_SIGNAL_H
#define KERNEL_SIGNAL_H

#include "kernel/types.h"

struct process;
struct thread;
struct sighand;
struct regs;

#if !defined(SIGHUP)
#define SIGHUP 1
#define SIGINT 2
#define SIGQUIT 3
#define SIGILL 4
#define SIGTRAP 5
#define SIGABRT 6
#define SIGBUS 7
#define SIGFPE 8
#define SIGKILL 9
#define SIGUSR1 10
#define SIGSEGV 11
#define SIGUSR2 12
#define SIGPIPE 13
#define SIGALRM 14
#define SIGTERM 15
#define SIGCHLD 17
#define SIGCONT 18
#define SIGSTOP 19
#define SIGTSTP 20
#define SIGTTIN 21
#define SIGTTOU 22
#define SIGURG 23
#define SIGXCPU 24
#define SIGXFSZ 25
#define SIGVTALRM 26
#define SIGPROF 27
#define SIGWINCH 28
#define SIGIO 29
#define SIGPWR 30
#define SIGSYS 31
#endif
#define NR_SIGNALS 64
#define SIG_BIT(sig) (1ULL << ((sig)-1))

/* What a signal tells; the first bytes of the 128 of the ABI's siginfo_t. */
struct siginfo_k {
	int32_t signo, err, code, pad;
	union {
		struct { int32_t pid; uint32_t uid; uint64_t value; } rt;  /* kill, sigqueue */
		struct {
			int32_t pid;
			uint32_t uid;
			int32_t status;
			int32_t pad;
			int64_t utime, stime;
		} chld;
		struct { uint64_t addr; int16_t lsb; } fault;
		struct { int32_t tid, overrun; uint64_t value; } timer;
		uint64_t raw[4];
	};
};

/* Pending signals: a bit each, and details in order of arrival; sighand->lock. */
struct sigqueue {
	uint64_t mask;
	struct sigqueue_entry *first, **last;
};

/* Context of all: thread (they take spinlocks). Return 0 or -ESRCH, -EPERM, -EINVAL. */
int signal_process(struct process *p, int sig);        /* from the kernel */
int signal_thread(struct thread *t, int sig);
int signal_pgrp(pid_t pgid, int sig);                  /* terminal: Ctrl-C, hangup */
/* With details.  @t NULL: to the process.  -EAGAIN: queue full (real-time signals only). */
int signal_send_info(struct process *p, struct thread *t, const struct siginfo_k *info);
/* Fault of the current user thread: delivered even if blocked or ignored (then kills). */
void signal_fault(int sig, int code, uintptr_t addr);
void signal_kill(struct process *p); /* SIGKILL that cannot be missed (OOM, cgroup.kill) */
/* Is @sig ignored or blocked by the current process (tty: SIGTTOU, SIGTTIN)? */
bool signal_is_ignored(int sig);

/* For /proc/PID/status: of the process's first thread. */
struct signal_masks { uint64_t queued, pending, shared_pending, blocked, ignored, caught; };
void signal_masks(struct process *p, struct signal_masks *out);

/* ppoll, pselect, sigsuspend: replace the mask until the call returns to user mode. */
void signal_mask_swap(uint64_t mask);
/* The same from a user pointer: 0, -EFAULT, -EINVAL (@size must be 8); NULL changes nothing. */
int signal_mask_swap_user(const uint64_t *mask, size_t size);
/* The call ended without a signal: put the old mask back now. */
void signal_mask_unswap(void);

#endif /* KERNEL_SIGNAL_H */
