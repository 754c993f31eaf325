/* SPDX-License-Identifier: MIT */
/*
 * The file system on the host machine: start it, and a process to call from.
 * fs_host.c also stands in, weakly, for the parts of the kernel that such
 * programs do not link.
 */
#ifndef TESTS_HOST_FS_HOST_H
#define TESTS_HOST_FS_HOST_H

#include <stddef.h>

struct process;

void fs_host_up(void); /* page lists, caches, an empty root */
/* A process with descriptors (4096) and a working directory; current->process is the caller's affair. */
struct process *fs_host_process(void);
/* The memory that calls may name from now on (uaccess.c); NULL and SIZE_MAX: all. */
void host_user_range(const void *p, size_t n);

#endif /* TESTS_HOST_FS_HOST_H */
