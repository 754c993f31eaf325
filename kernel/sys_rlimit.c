/* SPDX-License-Identifier: MIT */
/* Limits and use of resources: rlimits, rusage, times. */
#include "kernel/process_int.h"
#include "kernel/errno.h"
#include "kernel/rusage.h"
#include "kernel/string.h"
#include "mm/vm.h"

struct rlimit_k {
	uint64_t soft, hard;
};

static int set_limit(struct process *p, unsigned what, const struct rlimit_k *new)
{
	if (new->soft > new->hard)
		return -EINVAL;
	if (new->hard > p->rlimits[what][1] && current->process->euid != 0)
		return -EPERM;
	if (what == RLIMIT_NOFILE && new->hard > 1 << 20)
		return -EPERM;
	p->rlimits[what][0] = new->soft;
	p->rlimits[what][1] = new->hard;
	return 0;
}

SYSCALL(prlimit64, int pid, unsigned what, const struct rlimit_k __user *new,
	struct rlimit_k __user *old)
{
	struct process *p = current->process;
	struct rlimit_k n, o;
	int err = 0;

	if (what >= NR_RLIMITS)
		return -EINVAL;
	if (new && copy_from_user(&n, new, sizeof(n)))
		return -EFAULT;
	if (pid)
		p = process_find_get(pid);
	else
		process_get(p);
	if (!p)
		return -ESRCH;
	if (p != current->process && current->process->euid != 0 && current->process->uid != p->uid)
		err = -EPERM;
	o = (struct rlimit_k){ p->rlimits[what][0], p->rlimits[what][1] };
	if (!err && new)
		err = set_limit(p, what, &n);
	process_put(p);
	if (!err && old && copy_to_user(old, &o, sizeof(o)))
		err = -EFAULT;
	return err;
}

SYSCALL(getrlimit, unsigned what, struct rlimit_k __user *out)
{
	const struct process *p = current->process;

	if (what >= NR_RLIMITS)
		return -EINVAL;
	return copy_to_user(out, p->rlimits[what], sizeof(*out));
}

SYSCALL(setrlimit, unsigned what, const struct rlimit_k __user *in)
{
	struct rlimit_k n;

	if (what >= NR_RLIMITS)
		return -EINVAL;
	if (copy_from_user(&n, in, sizeof(n)))
		return -EFAULT;
	return set_limit(current->process, what, &n);
}

#define RUSAGE_SELF     0
#define RUSAGE_CHILDREN (-1)
#define RUSAGE_THREAD   1

SYSCALL(getrusage, int who, struct rusage_k __user *out)
{
	struct process *p = current->process;
	uint64_t user = 0, system = 0;
	struct rusage_k ru;
	struct vm_figures f;

	memset(&ru, 0, sizeof(ru));
	switch (who) {
	case RUSAGE_SELF:
		process_times(p, &user, &system);
		ru.minflt = (int64_t)p->minflt;
		ru.majflt = (int64_t)p->majflt;
		break;
	case RUSAGE_CHILDREN:
		spin_lock(&process_lock);
		user = p->children_user_ns;
		system = p->children_system_ns;
		spin_unlock(&process_lock);
		break;
	case RUSAGE_THREAD:
		thread_times(current, &user, &system);
		ru.nvcsw =
			(int64_t)atomic_load_explicit(&current->nr_switches, memory_order_relaxed);
		break;
	default:
		return -EINVAL;
	}
	if (who != RUSAGE_CHILDREN) {
		vm_figures(current->space, &f); /* the present size: no peak is kept */
		ru.maxrss = (int64_t)((f.anon + f.file) * (PAGE_SIZE / 1024));
	}
	ru.utime = timeval_from_ns(user);
	ru.stime = timeval_from_ns(system);
	return copy_to_user(out, &ru, sizeof(ru));
}

#define TICK_NS (NSEC_PER_SEC / 100) /* what times() counts in */

SYSCALL(times, int64_t __user *out)
{
	struct process *p = current->process;
	uint64_t user, system;
	int64_t t[4];

	if (out) {
		process_times(p, &user, &system);
		t[0] = (int64_t)(user / TICK_NS);
		t[1] = (int64_t)(system / TICK_NS);
		spin_lock(&process_lock);
		t[2] = (int64_t)(p->children_user_ns / TICK_NS);
		t[3] = (int64_t)(p->children_system_ns / TICK_NS);
		spin_unlock(&process_lock);
		if (copy_to_user(out, t, sizeof(t)))
			return -EFAULT;
	}
	return (long)(clock_ns() / TICK_NS);
}
