/* SPDX-License-Identifier: MIT */
/*
 * The table of ids: one number space for processes, threads, groups, sessions.
 *
 * A number is in use while any of them uses it.  Groups are lists of processes
 * hanging on the number of the group.
 * Locks: process_lock for everything; processes are also looked up under RCU.
 */
#ifndef KERNEL_PID_H
#define KERNEL_PID_H

#include "kernel/process.h"

#define PID_MAX 32768 /* ids are below */

/* Reserves a number: > 0, -EAGAIN when all are in use, -ENOMEM.  Takes process_lock. */
pid_t pid_alloc(void);
void pid_free(pid_t pid); /* give back a number that was never attached; takes process_lock */

/* process_lock held for all of these. */
void pid_attach_thread(pid_t tid, struct thread *t);
void pid_detach_thread(pid_t tid);
void pid_attach_process(pid_t pid, struct process *p);
void pid_detach_process(pid_t pid);
void pid_join_group(struct process *p, pid_t pgid, pid_t sid); /* leaves the old ones */
void pid_leave_group(struct process *p);
struct process *pid_process(pid_t pid);    /* NULL; no reference */
struct list_head *pid_group(pid_t pgid);   /* struct process.pgrp_link; NULL if nobody is in it */

#endif /* KERNEL_PID_H */
