/* SPDX-License-Identifier: MIT */
/* Signals: numbers and structures are Linux x86-64 ABI. */
#ifndef KERNEL_SIGNAL_H
#define KERNEL_SIGNAL_H

#include "kernel/types.h"

struct process;
struct thread;
struct sighand;

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
#define SIGWINCH 28
#define SIGIO 29
#define SIGSYS 31
#endif
#define NR_SIGNALS 64

/* Context of all: thread (they take spinlocks). Return 0 or -ESRCH, -EPERM, -EINVAL. */
int signal_process(struct process *p, int sig);        /* from the kernel */
int signal_thread(struct thread *t, int sig);
int signal_pgrp(pid_t pgid, int sig);                  /* terminal: Ctrl-C, hangup */
/* Fault of the current user thread: delivered even if blocked or ignored (then kills). */
void signal_fault(int sig, int code, uintptr_t addr);
void signal_kill(struct process *p); /* SIGKILL that cannot be missed (OOM, cgroup.kill) */
/* Is @sig ignored or blocked by the current process (tty: SIGTTOU, SIGTTIN)? */
bool signal_is_ignored(int sig);

#endif /* KERNEL_SIGNAL_H */
