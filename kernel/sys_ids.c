/* SPDX-License-Identifier: MIT */
/*
 * Who a process is: ids, users, groups of processes, sessions.
 *
 * Users exist as numbers only: there are no capabilities beside "is user 0".
 */
#include "kernel/process_int.h"
#include "kernel/errno.h"
#include "kernel/string.h"
#include "kernel/syscall.h"

SYSCALL(getpid, void)
{
	return current->process->pid;
}

SYSCALL(gettid, void)
{
	return current->tid;
}

SYSCALL(getppid, void)
{
	struct process *parent;
	pid_t pid = 0;

	spin_lock(&process_lock);
	parent = current->process->parent;
	if (parent)
		pid = parent->pid;
	spin_unlock(&process_lock);
	return pid;
}

SYSCALL(getuid, void) { return current->process->uid; }
SYSCALL(geteuid, void) { return current->process->euid; }
SYSCALL(getgid, void) { return current->process->gid; }
SYSCALL(getegid, void) { return current->process->egid; }

#define NO_CHANGE UINT32_MAX

/* May it become @id: root may, others only what they are already. */
static bool allowed(uint32_t id, uint32_t a, uint32_t b, uint32_t c)
{
	return id == NO_CHANGE || current->process->euid == 0 || id == a || id == b || id == c;
}

static long set_res(uint32_t *real, uint32_t *effective, uint32_t *saved, uint32_t r, uint32_t e,
		    uint32_t s)
{
	if (!allowed(r, *real, *effective, *saved) || !allowed(e, *real, *effective, *saved) ||
	    !allowed(s, *real, *effective, *saved))
		return -EPERM;
	if (r != NO_CHANGE)
		*real = r;
	if (e != NO_CHANGE)
		*effective = e;
	if (s != NO_CHANGE)
		*saved = s;
	return 0;
}

SYSCALL(setresuid, uint32_t r, uint32_t e, uint32_t s)
{
	struct process *p = current->process;

	return set_res(&p->uid, &p->euid, &p->suid, r, e, s);
}

SYSCALL(setresgid, uint32_t r, uint32_t e, uint32_t s)
{
	struct process *p = current->process;

	return set_res(&p->gid, &p->egid, &p->sgid, r, e, s);
}

static long set_re(uint32_t *real, uint32_t *effective, uint32_t *saved, uint32_t r, uint32_t e)
{
	/* The saved id follows when the real one changes or the effective one leaves it. */
	uint32_t s = r != NO_CHANGE || (e != NO_CHANGE && e != *real) ?
			     (e != NO_CHANGE ? e : *effective) : NO_CHANGE;

	if (!allowed(r, *real, *effective, *effective) || !allowed(e, *real, *effective, *saved))
		return -EPERM;
	if (r != NO_CHANGE)
		*real = r;
	if (e != NO_CHANGE)
		*effective = e;
	if (s != NO_CHANGE)
		*saved = s;
	return 0;
}

SYSCALL(setreuid, uint32_t r, uint32_t e)
{
	struct process *p = current->process;

	return set_re(&p->uid, &p->euid, &p->suid, r, e);
}

SYSCALL(setregid, uint32_t r, uint32_t e)
{
	struct process *p = current->process;

	return set_re(&p->gid, &p->egid, &p->sgid, r, e);
}

SYSCALL(setuid, uint32_t id)
{
	struct process *p = current->process;

	if (id == NO_CHANGE)
		return -EINVAL;
	return p->euid == 0 ? set_res(&p->uid, &p->euid, &p->suid, id, id, id) :
			      set_res(&p->uid, &p->euid, &p->suid, NO_CHANGE, id, NO_CHANGE);
}

SYSCALL(setgid, uint32_t id)
{
	struct process *p = current->process;

	if (id == NO_CHANGE)
		return -EINVAL;
	return p->euid == 0 ? set_res(&p->gid, &p->egid, &p->sgid, id, id, id) :
			      set_res(&p->gid, &p->egid, &p->sgid, NO_CHANGE, id, NO_CHANGE);
}

/* File-system ids are the effective ones; asking for them answers, setting does nothing. */
SYSCALL(setfsuid, uint32_t id) { return current->process->euid; }
SYSCALL(setfsgid, uint32_t id) { return current->process->egid; }

static int put_three(uint32_t a, uint32_t b, uint32_t c, uint32_t __user *pa, uint32_t __user *pb,
		     uint32_t __user *pc)
{
	return put_user(a, pa) || put_user(b, pb) || put_user(c, pc) ? -EFAULT : 0;
}

SYSCALL(getresuid, uint32_t __user *r, uint32_t __user *e, uint32_t __user *s)
{
	const struct process *p = current->process;

	return put_three(p->uid, p->euid, p->suid, r, e, s);
}

SYSCALL(getresgid, uint32_t __user *r, uint32_t __user *e, uint32_t __user *s)
{
	const struct process *p = current->process;

	return put_three(p->gid, p->egid, p->sgid, r, e, s);
}

SYSCALL(getgroups, int n, uint32_t __user *list)
{
	const struct process *p = current->process;

	if (n < 0 || (n && (unsigned)n < p->nr_groups))
		return -EINVAL;
	if (n && copy_to_user(list, p->groups, p->nr_groups * sizeof(*list)))
		return -EFAULT;
	return p->nr_groups;
}

SYSCALL(setgroups, unsigned n, const uint32_t __user *list)
{
	struct process *p = current->process;
	uint32_t groups[NR_GROUPS];

	if (p->euid != 0)
		return -EPERM;
	if (n > NR_GROUPS)
		return -EINVAL;
	if (copy_from_user(groups, list, n * sizeof(*list)))
		return -EFAULT;
	memcpy(p->groups, groups, n * sizeof(*list));
	p->nr_groups = n;
	return 0;
}

/* ---- groups of processes, sessions ---- */

SYSCALL(setpgid, int pid, int pgid)
{
	struct process *me = current->process, *p, *leader;
	long err = -ESRCH;

	if (pgid < 0)
		return -EINVAL;
	if (!pid)
		pid = me->pid;
	if (!pgid)
		pgid = pid;
	spin_lock(&process_lock);
	p = pid_process(pid);
	if (!p || (p != me && p->parent != me))
		goto out;
	err = -EACCES;
	if (p != me && p->did_exec)
		goto out;
	err = -EPERM;
	if (p->sid != me->sid || p->pid == p->sid)
		goto out;
	if (pgid != pid) { /* an existing group of this session */
		struct list_head *g = pid_group(pgid);

		leader = g ? list_first_entry(g, struct process, pgrp_link) : NULL;
		if (!leader || leader->sid != me->sid)
			goto out;
	}
	if (p->pgid != pgid)
		pid_join_group(p, pgid, p->sid);
	err = 0;
out:
	spin_unlock(&process_lock);
	return err;
}

/* One field of process @pid (0: this one), or -ESRCH. */
static long get_id(int pid, size_t offset)
{
	struct process *p;
	long r = -ESRCH;

	spin_lock(&process_lock);
	p = pid ? pid_process(pid) : current->process;
	if (p)
		r = *(pid_t *)((char *)p + offset);
	spin_unlock(&process_lock);
	return r;
}

SYSCALL(getpgid, int pid) { return get_id(pid, offsetof(struct process, pgid)); }
SYSCALL(getpgrp, void) { return get_id(0, offsetof(struct process, pgid)); }
SYSCALL(getsid, int pid) { return get_id(pid, offsetof(struct process, sid)); }

SYSCALL(setsid, void)
{
	struct process *p = current->process;
	long r = -EPERM;

	spin_lock(&process_lock);
	if (!pid_group(p->pid)) {
		pid_join_group(p, p->pid, p->pid);
		p->tty = NULL;
		r = p->sid;
	}
	spin_unlock(&process_lock);
	return r;
}

/* ---- capabilities: all for user 0, none for others ---- */

struct cap_header {
	uint32_t version;
	int32_t pid;
};
#define CAP_VERSION_3 0x20080522U
#define CAP_VERSION_2 0x20071026U
#define CAP_VERSION_1 0x19980330U

static int cap_words(struct cap_header __user *uh, struct cap_header *h)
{
	if (copy_from_user(h, uh, sizeof(*h)))
		return -EFAULT;
	if (h->version == CAP_VERSION_1)
		return 1;
	if (h->version == CAP_VERSION_2 || h->version == CAP_VERSION_3)
		return 2;
	return put_user(CAP_VERSION_3, &uh->version) ? -EFAULT : -EINVAL;
}

SYSCALL(capget, struct cap_header __user *uh, uint32_t __user *data)
{
	struct cap_header h;
	int n = cap_words(uh, &h);
	uint32_t all = current->process->euid == 0 ? UINT32_MAX : 0;

	if (n < 0)
		return !data && n == -EINVAL ? 0 : n;
	if (!data)
		return 0;
	for (int i = 0; i < n; i++) {
		uint32_t bits = i == 0 ? all : all & 0x1ff; /* 41 capabilities */
		uint32_t set[3] = { bits, bits, 0 };

		if (copy_to_user(data + i * 3, set, sizeof(set)))
			return -EFAULT;
	}
	return 0;
}

SYSCALL(capset, struct cap_header __user *uh, const uint32_t __user *data)
{
	struct cap_header h;
	int n = cap_words(uh, &h);

	if (n < 0)
		return n;
	return current->process->euid == 0 ? 0 : -EPERM;
}
