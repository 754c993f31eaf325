/* SPDX-License-Identifier: MIT */
/*
 * Extended attributes: no file system here has any, and says so the way Linux
 * does (ENOTSUP to get, set and remove; an empty list).
 */
#include "kernel/errno.h"
#include "kernel/syscall.h"

SYSCALL(getxattr, void) { return -ENOTSUP; }
SYSCALL(lgetxattr, void) { return -ENOTSUP; }
SYSCALL(fgetxattr, void) { return -ENOTSUP; }
SYSCALL(setxattr, void) { return -ENOTSUP; }
SYSCALL(lsetxattr, void) { return -ENOTSUP; }
SYSCALL(fsetxattr, void) { return -ENOTSUP; }
SYSCALL(removexattr, void) { return -ENOTSUP; }
SYSCALL(lremovexattr, void) { return -ENOTSUP; }
SYSCALL(fremovexattr, void) { return -ENOTSUP; }
SYSCALL(listxattr, void) { return 0; }
SYSCALL(llistxattr, void) { return 0; }
SYSCALL(flistxattr, void) { return 0; }
