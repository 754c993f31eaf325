/* SPDX-License-Identifier: MIT */
/*
 * System calls: kernel/syscall.c holds the table (Linux x86-64 numbers); each
 * part defines its calls as `long sys_NAME(...)` with the arguments as register
 * values, in the file of the thing they act on.  A call that no part defines is
 * -ENOSYS with one log line per program and number.
 */
#ifndef KERNEL_SYSCALL_H
#define KERNEL_SYSCALL_H

#include "kernel/types.h"
#include "mm/uaccess.h"

struct timespec64 { int64_t sec, nsec; };
struct timeval64 { int64_t sec, usec; };

typedef long (*syscall_fn)(unsigned long, unsigned long, unsigned long, unsigned long,
			   unsigned long, unsigned long);
/* 0 and the deadline (clock_ns; UINT64_MAX for a NULL pointer), or -EFAULT, -EINVAL. */
int deadline_from_timespec(const struct timespec64 __user *ts, uint64_t *deadline);

#endif /* KERNEL_SYSCALL_H */
