/* SPDX-License-Identifier: MIT */
/*
 * fork(), vfork(), clone(), clone3(): a new process or a new thread of this one.
 *
 * Everything that can fail happens before the child is linked into any list;
 * then it only has to be started.
 *
 * Not as on Linux: CLONE_SIGHAND without CLONE_THREAD copies the handlers
 * instead of sharing them, and CLONE_THREAD implies CLONE_FILES and CLONE_FS.
 */
#include "kernel/process_int.h"
#include "kernel/freezer.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/perf/perf.h"
#include "kernel/string.h"
#include "kernel/syscall.h"
#include "kernel/trace.h"
#include "arch/x86_64/user.h"
#include "fs/cgroup.h"
#include "mm/memcg_tree.h"
#include "mm/memcg.h"
#include "mm/vm.h"

#define CSIGNAL              0x000000ffUL
#define CLONE_VM             0x00000100UL
#define CLONE_FS             0x00000200UL
#define CLONE_FILES          0x00000400UL
#define CLONE_SIGHAND        0x00000800UL
#define CLONE_PIDFD          0x00001000UL
#define CLONE_PTRACE         0x00002000UL
#define CLONE_VFORK          0x00004000UL
#define CLONE_PARENT         0x00008000UL
#define CLONE_THREAD         0x00010000UL
#define CLONE_SYSVSEM        0x00040000UL
#define CLONE_SETTLS         0x00080000UL
#define CLONE_PARENT_SETTID  0x00100000UL
#define CLONE_CHILD_CLEARTID 0x00200000UL
#define CLONE_DETACHED       0x00400000UL
#define CLONE_UNTRACED       0x00800000UL
#define CLONE_CHILD_SETTID   0x01000000UL
#define CLONE_NEWCGROUP      0x02000000UL
#define CLONE_IO             0x80000000UL
#define CLONE_CLEAR_SIGHAND  0x100000000UL
#define CLONE_INTO_CGROUP    0x200000000UL

/* Name spaces other than of groups and pidfds do not exist. */
#define CLONE_KNOWN                                                                                \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_VFORK | CLONE_PARENT |          \
	 CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |                       \
	 CLONE_CHILD_CLEARTID | CLONE_DETACHED | CLONE_UNTRACED | CLONE_CHILD_SETTID | CLONE_IO |  \
	 CLONE_CLEAR_SIGHAND | CLONE_INTO_CGROUP | CLONE_NEWCGROUP)

struct clone {
	uint64_t flags;
	uintptr_t sp; /* 0: as the parent */
	uint64_t tls;
	uint32_t __user *parent_tid, *child_tid;
	int exit_signal;
	struct memcg *group; /* CLONE_INTO_CGROUP: referenced; NULL: the parent's */
};

/* First in the new thread, on its own stack. */
static void child_entry(void *arg)
{
	struct user_thread *u = arg;

	/* A bad pointer is the program's problem; fork has succeeded. */
	if (u->set_child_tid && put_user((uint32_t)u->thread->tid, u->set_child_tid))
		pr_debug("%s: CLONE_CHILD_SETTID to a bad address\n", u->process->name);
	/* Its group may be freezing, or it may have been killed already. */
	if (signal_pending(current))
		signal_deliver(user_regs(u->thread));
	enter_user(user_regs(u->thread));
}

static void copy_identity(struct process *p, const struct process *parent)
{
	p->uid = parent->uid, p->euid = parent->euid, p->suid = parent->suid;
	p->gid = parent->gid, p->egid = parent->egid, p->sgid = parent->sgid;
	p->nr_groups = parent->nr_groups;
	memcpy(p->groups, parent->groups, sizeof(p->groups));
	memcpy(p->rlimits, parent->rlimits, sizeof(p->rlimits));
	p->nice = parent->nice;
	p->mm_arg_start = parent->mm_arg_start;
	p->mm_arg_end = parent->mm_arg_end;
	memcpy(p->name, parent->name, sizeof(p->name));
	atomic_init(&p->oom_score_adj,
		    atomic_load_explicit(&parent->oom_score_adj, memory_order_relaxed));
}

/* A process that never ran: everything copy_process() put into it goes. */
static void process_drop(struct process *p)
{
	struct vm_space *s = atomic_load_explicit(&p->space, memory_order_relaxed);

	if (s)
		vm_put(s);
	if (p->files)
		files_put(p->files);
	if (p->fs)
		fs_context_put(p->fs);
	if (p->exe) {
		file_allow_write(p->exe);
		fput(p->exe);
	}
	cgroup_ns_exit(p);
	kfree(p->cmdline);
	process_put(p);
}

static int copy_cmdline(struct process *p, struct process *parent)
{
	/* Only its own threads replace it, and they are in execve() alone. */
	if (!parent->cmdline)
		return 0;
	p->cmdline = kmalloc(parent->cmdline_len, GFP_ACCOUNT);
	if (!p->cmdline)
		return -ENOMEM;
	memcpy(p->cmdline, parent->cmdline, parent->cmdline_len);
	p->cmdline_len = parent->cmdline_len;
	return 0;
}

static struct process *copy_process(struct process *parent, const struct clone *c)
{
	struct process *p = process_alloc();
	struct vm_space *s;

	if (!p)
		return ERR_PTR(-ENOMEM);
	copy_identity(p, parent);
	cgroup_ns_fork(p, parent, c->flags & CLONE_NEWCGROUP);
	p->exit_signal = c->exit_signal;
	if (parent->exe && !file_deny_write(parent->exe)) {
		file_get(parent->exe);
		p->exe = parent->exe;
	}
	if (copy_cmdline(p, parent))
		goto fail;
	sighand_copy(p->sighand, parent);
	if (c->flags & CLONE_CLEAR_SIGHAND)
		sighand_exec(p);
	if (c->flags & CLONE_FILES) {
		files_get(parent->files);
		p->files_shared = parent->files_shared = true;
	}
	p->files = c->flags & CLONE_FILES ? parent->files : files_clone(parent->files);
	if (c->flags & CLONE_FS)
		fs_context_get(parent->fs);
	p->fs = c->flags & CLONE_FS ? parent->fs : fs_context_clone(parent->fs);
	if (!p->files || !p->fs)
		goto fail;
	if (c->flags & CLONE_VM) {
		s = current->space;
		vm_get(s);
		p->space_shared = parent->space_shared = true;
	} else {
		s = vm_clone(current->space);
		if (IS_ERR(s))
			goto fail;
	}
	atomic_init(&p->space, s);
	return p;
fail:
	process_drop(p);
	return ERR_PTR(-ENOMEM);
}

static void setup_thread(struct user_thread *u, const struct clone *c)
{
	struct user_thread *me = current_user();
	struct thread *t = u->thread;
	struct regs *r = user_regs(t);

	t->space = atomic_load_explicit(&u->process->space, memory_order_relaxed);
	t->user_fs_base = c->flags & CLONE_SETTLS ? c->tls : current->user_fs_base;
	t->user_gs_base = current->user_gs_base;
	memcpy(t->affinity, current->affinity, sizeof(t->affinity));
	*r = *user_regs(current);
	r->rax = 0;
	if (c->sp)
		r->rsp = c->sp;
	u->blocked = me->restore_blocked ? me->saved_blocked : me->blocked;
	/* A thread gets no alternate stack, a process (other than vfork's) keeps it. */
	if (!(c->flags & CLONE_VM) || (c->flags & CLONE_VFORK)) {
		u->altstack_sp = me->altstack_sp;
		u->altstack_size = me->altstack_size;
		u->altstack_flags = me->altstack_flags;
	}
	if (c->flags & CLONE_CHILD_CLEARTID)
		u->clear_child_tid = c->child_tid;
	if (c->flags & CLONE_CHILD_SETTID)
		u->set_child_tid = c->child_tid;
}

static void link_process(struct process *p, struct process *parent, uint64_t flags)
{
	if ((flags & CLONE_PARENT) && parent->parent)
		p->parent = parent->parent;
	else
		p->parent = parent;
	list_add_tail(&p->sibling, &p->parent->children);
	p->tty = parent->tty;
	pid_attach_process(p->pid, p);
	pid_join_group(p, parent->pgid, parent->sid);
}

/*
 * Whoever kills a crowd (a group of processes, a memory group) looks through it under
 * process_lock until nobody is left who is not being killed.  A child that was linked
 * before the last look was seen by it; after it, its parent is being killed.  process_lock held.
 */
static bool is_being_killed(struct process *me)
{
	bool killed;

	spin_lock(&me->sighand->lock);
	killed = me->group_exit || kill_pending(current);
	spin_unlock(&me->sighand->lock);
	return killed;
}

/* Thread groups share all of this; a clone that asks for less is not for us. */
static int check_flags(const struct clone *c)
{
	const uint64_t thread_needs = CLONE_VM | CLONE_SIGHAND;

	if (c->flags & ~CLONE_KNOWN)
		return -EINVAL;
	if ((c->flags & CLONE_THREAD) && (c->flags & thread_needs) != thread_needs)
		return -EINVAL;
	if ((c->flags & CLONE_SIGHAND) && !(c->flags & CLONE_VM))
		return -EINVAL;
	if ((c->flags & CLONE_SIGHAND) && (c->flags & CLONE_CLEAR_SIGHAND))
		return -EINVAL;
	if ((c->flags & CLONE_NEWCGROUP) && (c->flags & CLONE_THREAD))
		return -EINVAL; /* a process has one view */
	if ((c->flags & CLONE_NEWCGROUP) && !capable())
		return -EPERM;
	if ((c->flags & CLONE_PARENT) && current->process == init_process)
		return -EINVAL;
	if (c->exit_signal < 0 || c->exit_signal > NR_SIGNALS)
		return -EINVAL;
	if ((c->flags & CLONE_SETTLS) && c->tls >= USER_TOP)
		return -EPERM;
	return 0;
}

/**
 * do_clone - make a process or thread that goes on where the caller is
 *
 * Context: system call of a user thread.  With CLONE_VFORK sleeps until the
 * child has called execve() or ended (or this thread is killed).
 * Return: its id, or -EINVAL, -EPERM, -EAGAIN (no id left), -ENOMEM.
 */
static long do_clone(const struct clone *c)
{
	struct process *me = current->process, *p = me;
	struct user_thread *u;
	struct thread *t;
	pid_t tid;
	long err = check_flags(c);

	if (err)
		return err;
	if (me->uid != 0 && process_count() >= me->rlimits[RLIMIT_NPROC][0])
		return -EAGAIN;
	tid = pid_alloc();
	if (tid < 0)
		return tid;
	if (!(c->flags & CLONE_THREAD)) {
		p = copy_process(me, c);
		if (IS_ERR(p)) {
			err = PTR_ERR(p);
			goto fail_pid;
		}
		p->pid = tid;
	}
	u = user_thread_create(p, current->name, child_entry);
	if (IS_ERR(u)) {
		err = PTR_ERR(u);
		if (p != me)
			process_drop(p);
		goto fail_pid;
	}
	t = u->thread;
	t->tid = tid;
	setup_thread(u, c);
	if ((c->flags & CLONE_PARENT_SETTID) && put_user((uint32_t)tid, c->parent_tid))
		pr_debug("%s: CLONE_PARENT_SETTID to a bad address\n", me->name);

	spin_lock(&process_lock);
	if (is_being_killed(me)) {
		spin_unlock(&process_lock);
		user_thread_free(u);
		if (p != me)
			process_drop(p);
		err = -EINTR; /* nobody sees it */
		goto fail_pid;
	}
	if (p == me) {
		vm_get(current->space); /* given back by the thread's end */
		memcg_thread_start(u);
	} else {
		err = memcg_fork(p, u, c->group);
		if (err) {
			spin_unlock(&process_lock);
			user_thread_free(u);
			process_drop(p);
			goto fail_pid;
		}
		process_get(p); /* one for its threads, one for the table */
		if (c->flags & CLONE_VFORK)
			process_get(p);
		link_process(p, me, c->flags);
	}
	user_thread_link(u);
	freezer_new_thread(u);
	spin_unlock(&process_lock);
	perf_fork(t);
	trace(process_fork, (uint64_t)t->tid);
	/* From here on it may end, and @u with it. */
	thread_start(t);
	thread_put(t);

	if (p != me && (c->flags & CLONE_VFORK)) {
		/* Killed: we go, the child keeps its own hold on the memory. */
		freezer_count(true);
		(void)wait_event_killable(
			&me->child_wait,
			atomic_load_explicit(&p->vfork_done, memory_order_acquire));
		freezer_count(false);
		process_put(p);
	}
	return tid;
fail_pid:
	pid_free(tid);
	return err;
}

SYSCALL(fork, void)
{
	struct clone c = { .exit_signal = SIGCHLD };

	return do_clone(&c);
}

/* Of what a process can part with, only its view of groups. */
SYSCALL(unshare, unsigned long flags)
{
	if (flags & ~CLONE_NEWCGROUP)
		return -EINVAL;
	return flags ? cgroup_ns_unshare() : 0;
}

SYSCALL(vfork, void)
{
	struct clone c = { .flags = CLONE_VM | CLONE_VFORK, .exit_signal = SIGCHLD };

	return do_clone(&c);
}

SYSCALL(clone, unsigned long flags, unsigned long sp, uint32_t __user *parent_tid,
	uint32_t __user *child_tid, unsigned long tls)
{
	struct clone c = {
		.flags = (uint32_t)flags & ~CSIGNAL,
		.sp = sp,
		.tls = tls,
		.parent_tid = parent_tid,
		.child_tid = child_tid,
		.exit_signal = (int)(flags & CSIGNAL),
	};

	return do_clone(&c);
}

struct clone3_args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
		set_tid_size, cgroup;
};

SYSCALL(clone3, const void __user *args, size_t size)
{
	struct clone3_args a = { 0 };
	struct clone c;
	long ret;

	if (size < offsetof(struct clone3_args, set_tid))
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (copy_from_user(&a, args, min(size, sizeof(a))))
		return -EFAULT;
	for (size_t n = sizeof(a); n < size; n++) {
		uint8_t b;

		if (get_user(b, (const uint8_t *)args + n))
			return -EFAULT;
		if (b)
			return -E2BIG;
	}
	if ((a.flags & CSIGNAL) || a.exit_signal > NR_SIGNALS || a.set_tid_size ||
	    !!a.stack != !!a.stack_size)
		return -EINVAL;
	if (a.stack && !user_range_ok((void *)a.stack, a.stack_size))
		return -EINVAL;
	c = (struct clone){
		.flags = a.flags,
		.sp = a.stack + a.stack_size,
		.tls = a.tls,
		.parent_tid = (uint32_t *)a.parent_tid,
		.child_tid = (uint32_t *)a.child_tid,
		.exit_signal = (int)a.exit_signal,
	};
	if (a.flags & CLONE_INTO_CGROUP) {
		struct fdref r = fdget_path((int)a.cgroup);

		if (a.cgroup > INT_MAX || (a.flags & CLONE_THREAD)) {
			fdput(r);
			return -EINVAL;
		}
		if (!r.file)
			return -EBADF;
		c.group = cgroup_of_dir(r.file);
		ret = cgroup_is_dir(r.file) ? -ENOENT : -EBADF;
		fdput(r);
		if (!c.group)
			return ret;
		ret = memcg_may_enter(c.group);
		if (!ret)
			ret = do_clone(&c);
		memcg_put(c.group);
		return ret;
	}
	return do_clone(&c);
}
