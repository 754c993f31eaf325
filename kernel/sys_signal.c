/* SPDX-License-Identifier: MIT */
/*
 * System calls about signals: handlers, masks, waiting, sending.
 *
 * Who may send: root, or a process with the same user; SIGCONT also within a
 * session.
 */
#include "kernel/process_int.h"
#include "kernel/errno.h"
#include "kernel/string.h"
#include "kernel/sys_time.h"
#include "kernel/syscall.h"
#include "arch/x86_64/user.h"

enum { SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK };

SYSCALL(rt_sigaction, int sig, const struct sigaction_k __user *act,
	struct sigaction_k __user *old, size_t size)
{
	struct process *p = current->process;
	struct sigaction_k new, was;
	struct user_thread *u;

	if (size != sizeof(uint64_t) || sig < 1 || sig > NR_SIGNALS)
		return -EINVAL;
	if (act) {
		if (copy_from_user(&new, act, sizeof(new)))
			return -EFAULT;
		if (SIGSET_UNBLOCKABLE & SIG_BIT(sig))
			return -EINVAL;
		new.mask &= ~SIGSET_UNBLOCKABLE;
	}
	spin_lock(&p->sighand->lock);
	was = p->sighand->action[sig - 1];
	if (act) {
		p->sighand->action[sig - 1] = new;
		/* POSIX: what is pending and now ignored is forgotten. */
		if (new.handler == SIG_IGN ||
		    (new.handler == SIG_DFL && (SIGSET_IGNORE & SIG_BIT(sig)))) {
			sigqueue_flush(p->sighand, &p->pending, SIG_BIT(sig));
			list_for_each_entry(u, &p->threads, group_link)
				sigqueue_flush(p->sighand, &u->pending, SIG_BIT(sig));
		}
	}
	spin_unlock(&p->sighand->lock);
	return old ? copy_to_user(old, &was, sizeof(was)) : 0;
}

SYSCALL(rt_sigprocmask, int how, const uint64_t __user *set, uint64_t __user *old, size_t size)
{
	uint64_t was = current_user()->blocked, mask;

	if (size != sizeof(uint64_t))
		return -EINVAL;
	if (set) {
		if (get_user(mask, set))
			return -EFAULT;
		switch (how) {
		case SIG_BLOCK: mask |= was; break;
		case SIG_UNBLOCK: mask = was & ~mask; break;
		case SIG_SETMASK: break;
		default: return -EINVAL;
		}
		signal_set_blocked(mask);
	}
	return old ? put_user(was, old) : 0;
}

SYSCALL(rt_sigpending, uint64_t __user *out, size_t size)
{
	struct user_thread *u = current_user();
	uint64_t pending;

	if (size > sizeof(pending))
		return -EINVAL;
	spin_lock(&u->process->sighand->lock);
	pending = (u->pending.mask | u->process->pending.mask) & u->blocked;
	spin_unlock(&u->process->sighand->lock);
	return copy_to_user(out, &pending, size);
}

static long sleep_for_signal(void)
{
	while (!signal_pending(current)) {
		thread_prepare_sleep(THREAD_INTERRUPTIBLE);
		if (!signal_pending(current))
			schedule();
		thread_finish_sleep();
	}
	return -ERESTARTNOHAND;
}

SYSCALL(pause, void)
{
	return sleep_for_signal();
}

SYSCALL(rt_sigsuspend, const uint64_t __user *set, size_t size)
{
	int err = set ? signal_mask_swap_user(set, size) : -EFAULT;

	return err ? err : sleep_for_signal();
}

int signal_take(uint64_t set, struct siginfo_k *info)
{
	struct user_thread *u = current_user();
	struct process *p = u->process;
	int sig;

	spin_lock(&p->sighand->lock);
	sig = sigqueue_take(p->sighand, &u->pending, ~set, info);
	if (!sig)
		sig = sigqueue_take(p->sighand, &p->pending, ~set, info);
	spin_unlock(&p->sighand->lock);
	return sig;
}

/* While it waits, the signals of @set are not blocked, so that senders wake it. */
static void wait_mode(uint64_t blocked, uint64_t waiting_for)
{
	struct user_thread *u = current_user();

	spin_lock(&u->process->sighand->lock);
	u->waiting_for = waiting_for;
	u->blocked = blocked;
	signal_recalc(u);
	spin_unlock(&u->process->sighand->lock);
}

SYSCALL(rt_sigtimedwait, const uint64_t __user *uset, struct siginfo_k __user *out,
	const struct timespec64 __user *timeout, size_t size)
{
	struct user_thread *u = current_user();
	struct siginfo_k info = { 0 };
	uint64_t set, deadline, blocked;
	bool timed_out = false;
	int sig, err;

	if (size != sizeof(set))
		return -EINVAL;
	if (get_user(set, uset))
		return -EFAULT;
	err = deadline_from_timespec(timeout, &deadline);
	if (err)
		return err;
	set &= ~SIGSET_UNBLOCKABLE;
	sig = signal_take(set, &info);
	if (!sig && deadline > clock_ns()) {
		blocked = u->blocked;
		wait_mode(blocked & ~set, blocked & set);
		while (!signal_pending(current) && !timed_out) {
			thread_prepare_sleep(THREAD_INTERRUPTIBLE);
			if (!signal_pending(current))
				timed_out = !schedule_until(deadline);
			thread_finish_sleep();
		}
		sig = signal_take(set, &info);
		wait_mode(blocked, 0);
		if (!sig && !timed_out)
			return -EINTR;
	}
	if (!sig)
		return -EAGAIN;
	if (out) {
		if (copy_to_user(out, &info, sizeof(info)) ||
		    clear_user((char *)out + sizeof(info), 128 - sizeof(info)))
			return -EFAULT;
	}
	return sig;
}

struct stack_k {
	uint64_t sp;
	int32_t flags, pad;
	uint64_t size;
};

SYSCALL(sigaltstack, const struct stack_k __user *new, struct stack_k __user *old)
{
	struct user_thread *u = current_user();
	uint64_t sp = user_regs(current)->rsp;
	bool on = u->altstack_size && !(u->altstack_flags & SS_AUTODISARM) && sp > u->altstack_sp &&
		  sp - u->altstack_sp <= u->altstack_size;
	struct stack_k s, was = {
		.sp = u->altstack_sp,
		.size = u->altstack_size,
		.flags = !u->altstack_size ? SS_DISABLE : on ? SS_ONSTACK : u->altstack_flags,
	};

	if (new) {
		if (copy_from_user(&s, new, sizeof(s)))
			return -EFAULT;
		if (on)
			return -EPERM;
		switch (s.flags & ~(int)SS_AUTODISARM) {
		case SS_DISABLE:
			s.sp = s.size = 0;
			s.flags = 0;
			break;
		case 0:
		case SS_ONSTACK:
			if (s.size < MINSIGSTKSZ)
				return -ENOMEM;
			break;
		default:
			return -EINVAL;
		}
		u->altstack_sp = s.sp;
		u->altstack_size = s.size;
		u->altstack_flags = s.flags & (int)SS_AUTODISARM;
	}
	return old ? copy_to_user(old, &was, sizeof(was)) : 0;
}

SYSCALL(rt_sigreturn, void)
{
	struct regs *r = user_regs(current);
	uint64_t mask;

	if (signal_frame_pop(r, &mask)) {
		signal_bad_frame(r, "rt_sigreturn", r->rsp);
		return 0;
	}
	signal_set_blocked(mask);
	return (long)r->rax;
}

/* ---- sending ---- */

static bool may_send(const struct process *to, int sig)
{
	const struct process *me = current->process;

	return me->euid == 0 || me->euid == to->suid || me->euid == to->uid ||
	       me->uid == to->suid || me->uid == to->uid || (sig == SIGCONT && me->sid == to->sid);
}

static void fill_user(struct siginfo_k *info, int sig, int code)
{
	*info = (struct siginfo_k){
		.signo = sig,
		.code = code,
		.rt = { .pid = current->process->pid, .uid = current->process->uid },
	};
}

static int send_to(struct process *p, int sig)
{
	struct siginfo_k info;

	if (!may_send(p, sig))
		return -EPERM;
	if (!sig)
		return 0;
	fill_user(&info, sig, SI_USER);
	return signal_send_info(p, NULL, &info);
}

struct many {
	struct siginfo_k info;
	int sent, err;
};

/* To one process of several; process_lock or RCU keeps @p in being. */
static void send_one_of_many(struct process *p, struct many *m)
{
	if (!may_send(p, m->info.signo)) {
		m->err = -EPERM;
		return;
	}
	m->sent++;
	if (m->info.signo)
		signal_send_info(p, NULL, &m->info);
}

static int send_group(pid_t pgid, struct many *m)
{
	struct list_head *g;
	struct process *p;

	spin_lock(&process_lock);
	g = pid_group(pgid);
	if (g)
		list_for_each_entry(p, g, pgrp_link)
			send_one_of_many(p, m);
	spin_unlock(&process_lock);
	return m->sent ? 0 : m->err;
}

int signal_pgrp(pid_t pgid, int sig)
{
	struct list_head *g;
	struct process *p;
	int n = 0;

	spin_lock(&process_lock);
	g = pid_group(pgid);
	if (g)
		list_for_each_entry(p, g, pgrp_link)
			n += signal_process(p, sig) == 0;
	spin_unlock(&process_lock);
	return n ? 0 : -ESRCH;
}

static bool send_all_one(struct process *p, void *arg)
{
	int s = atomic_load_explicit(&p->state, memory_order_relaxed);

	if (p != init_process && p != current->process && s != PROCESS_ZOMBIE && s != PROCESS_DEAD)
		send_one_of_many(p, arg);
	return false;
}

SYSCALL(kill, int pid, int sig)
{
	struct many m = { .err = -ESRCH };
	struct process *p;
	int err;

	if (sig < 0 || sig > NR_SIGNALS)
		return -EINVAL;
	fill_user(&m.info, sig, SI_USER);
	if (pid > 0) {
		p = process_find_get(pid);
		if (!p)
			return -ESRCH;
		err = send_to(p, sig);
		process_put(p);
		return err;
	}
	if (pid == -1) {
		/* process_for_each() runs under RCU; sending only takes spinlocks. */
		process_for_each(send_all_one, &m);
		return m.sent ? 0 : m.err;
	}
	if (pid == INT_MIN)
		return -ESRCH;
	return send_group(pid ? -pid : current->process->pgid, &m);
}

static int send_to_thread(int tgid, int tid, const struct siginfo_k *info)
{
	struct thread *t;
	struct process *p;
	int err = -ESRCH;

	if (tid <= 0 || tgid == 0 || tgid < -1)
		return -EINVAL;
	if (info->signo < 0 || info->signo > NR_SIGNALS)
		return -EINVAL;
	t = thread_find_get(tid);
	if (!t)
		return -ESRCH;
	p = tgid > 0 ? process_find_get(tgid) : NULL;
	if (tgid == -1 || (p && t->process == p)) {
		struct process *target = t->process;

		if (!target)
			err = -ESRCH;
		else if (!p && target != current->process && current->process->euid != 0)
			err = -EPERM;
		else if (p && !may_send(p, info->signo))
			err = -EPERM;
		else
			err = info->signo ? signal_send_info(NULL, t, info) : 0;
	}
	if (p)
		process_put(p);
	thread_put(t);
	return err;
}

SYSCALL(tgkill, int tgid, int tid, int sig)
{
	struct siginfo_k info;

	if (tgid <= 0)
		return -EINVAL;
	fill_user(&info, sig, SI_TKILL);
	return send_to_thread(tgid, tid, &info);
}

SYSCALL(tkill, int tid, int sig)
{
	struct siginfo_k info;

	fill_user(&info, sig, SI_TKILL);
	return send_to_thread(-1, tid, &info);
}

/* A program's own siginfo: it may not pretend to be the kernel or kill(), except to itself. */
static int get_info(struct siginfo_k *info, const struct siginfo_k __user *uinfo, int sig,
		    bool self)
{
	if (copy_from_user(info, uinfo, sizeof(*info)))
		return -EFAULT;
	info->signo = sig;
	if ((info->code >= 0 || info->code == SI_TKILL) && !self)
		return -EPERM;
	if (sig < 0 || sig > NR_SIGNALS)
		return -EINVAL;
	return 0;
}

SYSCALL(rt_sigqueueinfo, int pid, int sig, const struct siginfo_k __user *uinfo)
{
	struct siginfo_k info;
	struct process *p;
	int err = get_info(&info, uinfo, sig, pid == current->process->pid);

	if (err)
		return err;
	p = process_find_get(pid);
	if (!p)
		return -ESRCH;
	if (!may_send(p, sig))
		err = -EPERM;
	else if (sig)
		err = signal_send_info(p, NULL, &info);
	process_put(p);
	return err;
}

SYSCALL(rt_tgsigqueueinfo, int tgid, int tid, int sig, const struct siginfo_k __user *uinfo)
{
	struct siginfo_k info;
	int err = get_info(&info, uinfo, sig, tid == current->tid);

	if (err)
		return err;
	return tgid <= 0 ? -EINVAL : send_to_thread(tgid, tid, &info);
}
