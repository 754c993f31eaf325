/* SPDX-License-Identifier: MIT */
/*
 * Scheduling as programs may ask for it: affinity is real, policies and
 * priorities are remembered or refused, never acted on (there is one class of
 * threads).
 */
#include "kernel/process_int.h"
#include "kernel/errno.h"
#include "kernel/string.h"
#include "kernel/sys_time.h"
#include "kernel/syscall.h"

#define SCHED_OTHER 0
#define SCHED_FIFO  1
#define SCHED_RR    2
#define SCHED_BATCH 3
#define SCHED_IDLE  5

/* Thread @tid (0: this one), referenced; or ERR_PTR(-ESRCH). */
static struct thread *get_thread(int tid)
{
	struct thread *t;

	if (!tid) {
		thread_get(current);
		return current;
	}
	t = tid > 0 ? thread_find_get(tid) : NULL;
	return t ? t : ERR_PTR(-ESRCH);
}

SYSCALL(sched_yield, void)
{
	yield_cpu();
	return 0;
}

SYSCALL(sched_getaffinity, int tid, unsigned len, uint64_t __user *mask)
{
	uint64_t m[MAX_CPUS / 64] = { 0 };
	size_t need = DIV_ROUND_UP(nr_cpus, 64) * 8;
	struct thread *t;
	int err;

	if (len < need || len % 8)
		return -EINVAL;
	t = get_thread(tid);
	if (IS_ERR(t))
		return PTR_ERR(t);
	for_each_cpu(c)
		m[c / 64] |=
			__atomic_load_n(&t->affinity[c / 64], __ATOMIC_RELAXED) & 1ULL << (c % 64);
	thread_put(t);
	err = copy_to_user(mask, m, need);
	return err ? err : (long)need;
}

/* Its own process's threads, or those of a program of the same user. */
static bool may_move(const struct thread *t)
{
	const struct process *me = current->process, *p;
	bool may;

	rcu_read_lock();
	p = __atomic_load_n(&t->process, __ATOMIC_ACQUIRE);
	may = p == me || !me->euid || (p && (p->uid == me->euid || p->euid == me->euid));
	rcu_read_unlock();
	return may;
}

SYSCALL(sched_setaffinity, int tid, unsigned len, const uint64_t __user *mask)
{
	uint64_t m[MAX_CPUS / 64] = { 0 };
	struct thread *t;
	int err;

	if (copy_from_user(m, mask, min((size_t)len, sizeof(m))))
		return -EFAULT;
	t = get_thread(tid);
	if (IS_ERR(t))
		return PTR_ERR(t);
	err = may_move(t) ? thread_set_affinity(t, m, ARRAY_SIZE(m)) : -EPERM;
	thread_put(t);
	return err;
}

SYSCALL(getcpu, unsigned __user *cpu, unsigned __user *node)
{
	if (cpu && put_user(cpu_id(), cpu))
		return -EFAULT;
	return node ? put_user(0U, node) : 0;
}

static int check_thread(int tid)
{
	struct thread *t;

	if (tid < 0)
		return -EINVAL;
	t = get_thread(tid);
	if (IS_ERR(t))
		return (int)PTR_ERR(t);
	thread_put(t);
	return 0;
}

SYSCALL(sched_getscheduler, int tid)
{
	int err = check_thread(tid);

	return err ? err : SCHED_OTHER;
}

SYSCALL(sched_getparam, int tid, int __user *param)
{
	int err = !param ? -EINVAL : check_thread(tid);

	return err ? err : put_user(0, param);
}

static int check_policy(int policy, int priority)
{
	switch (policy & ~0x40000000) { /* SCHED_RESET_ON_FORK */
	case SCHED_OTHER:
	case SCHED_BATCH:
	case SCHED_IDLE:
		return priority ? -EINVAL : 0;
	case SCHED_FIFO:
	case SCHED_RR:
		return priority < 1 || priority > 99 ? -EINVAL : -EPERM; /* no such class here */
	default:
		return -EINVAL;
	}
}

SYSCALL(sched_setscheduler, int tid, int policy, const int __user *param)
{
	int priority, err;

	if (!param || policy < 0)
		return -EINVAL;
	err = check_thread(tid);
	if (err)
		return err;
	if (get_user(priority, param))
		return -EFAULT;
	return check_policy(policy, priority);
}

SYSCALL(sched_setparam, int tid, const int __user *param)
{
	int priority, err;

	if (!param)
		return -EINVAL;
	err = check_thread(tid);
	if (err)
		return err;
	if (get_user(priority, param))
		return -EFAULT;
	return priority ? -EINVAL : 0;
}

SYSCALL(sched_get_priority_max, int policy)
{
	switch (policy) {
	case SCHED_FIFO: case SCHED_RR: return 99;
	case SCHED_OTHER: case SCHED_BATCH: case SCHED_IDLE: return 0;
	default: return -EINVAL;
	}
}

SYSCALL(sched_get_priority_min, int policy)
{
	switch (policy) {
	case SCHED_FIFO: case SCHED_RR: return 1;
	case SCHED_OTHER: case SCHED_BATCH: case SCHED_IDLE: return 0;
	default: return -EINVAL;
	}
}

SYSCALL(sched_rr_get_interval, int tid, struct timespec64 __user *out)
{
	int err = check_thread(tid);

	return err ? err : put_user(((struct timespec64){ 0, 4 * NSEC_PER_MSEC }), out);
}

/* ---- nice values ---- */

enum { PRIO_PROCESS, PRIO_PGRP, PRIO_USER };

struct nice_walk {
	int which, nice; /* result: the lowest found; or the value to set */
	pid_t id;
	bool set, found;
};

static bool nice_one(struct process *p, void *arg)
{
	struct nice_walk *w = arg;

	if (w->which == PRIO_PROCESS ? p->pid != w->id :
	    w->which == PRIO_PGRP ? p->pgid != w->id : p->uid != (uint32_t)w->id)
		return false;
	if (w->set)
		p->nice = w->nice;
	else if (!w->found || p->nice < w->nice)
		w->nice = p->nice;
	w->found = true;
	return false;
}

static int nice_walk(struct nice_walk *w)
{
	const struct process *me = current->process;
	struct thread *t;

	if (w->which < PRIO_PROCESS || w->which > PRIO_USER)
		return -EINVAL;
	if (!w->id)
		w->id = w->which == PRIO_PROCESS ? me->pid
			: w->which == PRIO_PGRP	 ? me->pgid
						 : (pid_t)me->uid;
	else if (w->which == PRIO_PROCESS && (t = thread_find_get(w->id))) {
		/* The thread of a process stands for all of it. */
		if (t->process)
			w->id = t->process->pid;
		thread_put(t);
	}
	process_for_each(nice_one, w);
	return w->found ? 0 : -ESRCH;
}

SYSCALL(getpriority, int which, int id)
{
	struct nice_walk w = { .which = which, .id = id };
	int err = nice_walk(&w);

	return err ? err : 20 - w.nice;
}

SYSCALL(setpriority, int which, int id, int nice)
{
	struct nice_walk w = { .which = which, .id = id, .set = true,
			       .nice = max(-20, min(19, nice)) };

	return nice_walk(&w);
}

/* I/O priorities: accepted, there is no I/O to order. */
SYSCALL(ioprio_set, int which, int who, int prio)
{
	return which >= 1 && which <= 3 ? 0 : -EINVAL;
}

SYSCALL(ioprio_get, int which, int who)
{
	return which >= 1 && which <= 3 ? 0 : -EINVAL;
}
