/* SPDX-License-Identifier: MIT */
/* Threads and cgroup.freeze: kernel/freezer.c. */
#ifndef KERNEL_FREEZER_H
#define KERNEL_FREEZER_H

#include "kernel/process.h"

/* Is the thread's group freezing?  A look without locks. */
bool freezer_wants(struct user_thread *u);
/* The current thread counts as frozen, or no more: around sleeps that only SIGKILL ends early. */
void freezer_count(bool frozen);
/* As with false, unless its group is still freezing: then it must call freezer_sleep() next. */
void freezer_leave(void);
/* Sleeps until the group thaws, the thread is to end or to stop for a tracer. */
void freezer_sleep(void);
/* A new thread, linked; process_lock held. */
void freezer_new_thread(struct user_thread *u);
void freezer_init(void);

#endif /* KERNEL_FREEZER_H */
