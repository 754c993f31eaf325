/* SPDX-License-Identifier: MIT */
/* Between the machine's system-call entry and kernel/syscall.c. */
#ifndef KERNEL_SYSCALL_DISPATCH_H
#define KERNEL_SYSCALL_DISPATCH_H

#include "kernel/types.h"

struct regs;

bool syscall_dispatch(struct regs *r);
const char *syscall_name(unsigned long nr); /* NULL if there is no such number */

#endif /* KERNEL_SYSCALL_DISPATCH_H */
