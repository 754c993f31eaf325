/* SPDX-License-Identifier: MIT */
/*
 * System calls: kernel/syscall.c holds the table (Linux x86-64 numbers); each
 * part defines its calls in the file of the thing they act on:
 *
 *	SYSCALL(dup2, int from, int to)
 *	{
 *		...
 *		return fd or -errno;
 *	}
 *	SYSCALL(getpid, void) { ... }
 *
 * The arguments are the registers rdi rsi rdx r10 r8 r9 in this order; a
 * parameter narrower than 64 bits simply ignores the upper half, as the calling
 * convention has it.  A call that no part defines is -ENOSYS with one log line
 * per program and number.
 *
 * Context: thread, interrupts on, no locks held.  A call that a signal
 * interrupted returns -ERESTARTSYS where Linux restarts it under SA_RESTART
 * (kernel/errno.h); the signal code turns that into a restart or -EINTR.
 */
#ifndef KERNEL_SYSCALL_H
#define KERNEL_SYSCALL_H

#include "kernel/types.h"
#include "mm/uaccess.h"

struct timespec64 { int64_t sec, nsec; };
struct timeval64 { int64_t sec, usec; };

typedef long (*syscall_fn)(unsigned long, unsigned long, unsigned long, unsigned long,
			   unsigned long, unsigned long);

/* Declares and defines sys_NAME. */
#define SYSCALL(name, ...)                                                                         \
	long sys_##name(__VA_ARGS__);                                                              \
	long sys_##name(__VA_ARGS__)

/* 0 and the deadline (clock_ns; UINT64_MAX for a NULL pointer), or -EFAULT, -EINVAL. */
int deadline_from_timespec(const struct timespec64 __user *ts, uint64_t *deadline);

#endif /* KERNEL_SYSCALL_H */
