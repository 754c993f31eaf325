/* SPDX-License-Identifier: MIT */
/*
 * Job control: a terminal's session and foreground group.
 *
 * Locks: process_lock over both, and over each process's controlling terminal.
 * Source: credentials(7), POSIX.1-2017 11.1.
 */
#include "kernel/errno.h"
#include "kernel/pid.h"
#include "kernel/process.h"
#include "kernel/tty_int.h"
#include "mm/uaccess.h"

pid_t tty_foreground(struct tty *t)
{
	pid_t p;

	spin_lock(&process_lock);
	p = t->pgrp;
	spin_unlock(&process_lock);
	return p;
}

/* Is the caller in a background group of its controlling terminal @t? */
static bool in_background(struct tty *t)
{
	struct process *p = current->process;
	bool yes;

	if (!p)
		return false;
	spin_lock(&process_lock);
	yes = p->tty == t && t->pgrp > 0 && p->pgid != t->pgrp;
	spin_unlock(&process_lock);
	return yes;
}

/* 0: go on; -EIO, or -ERESTARTSYS with @sig on its way to the caller's group. */
int tty_job_control(struct tty *t, int sig)
{
	struct process *p = current->process;

	if (!in_background(t))
		return 0;
	if (signal_is_ignored(sig))
		return sig == SIGTTIN ? -EIO : 0;
	if (pgrp_is_orphaned(p->pgid))
		return -EIO;
	signal_pgrp(p->pgid, sig);
	return -ERESTARTSYS;
}

/* Makes @t the caller's controlling terminal if it is a session leader without one. */
int tty_acquire(struct tty *t, bool steal)
{
	struct process *p = current->process;
	int err = -EPERM;

	if (!p)
		return err;
	spin_lock(&process_lock);
	if (p->sid == p->pid && p->tty == t && t->session == p->sid) {
		err = 0;
	} else if (p->sid == p->pid && !p->tty &&
		   (t->session == 0 || (steal && p->euid == 0))) {
		p->tty = t;
		t->session = p->sid;
		t->pgrp = p->pgid;
		err = 0;
	}
	spin_unlock(&process_lock);
	return err;
}

struct detach_arg {
	struct tty *tty;
	pid_t sid;
};

static bool detach_one(struct process *p, void *arg)
{
	struct detach_arg *a = arg;

	if (p->sid == a->sid && p->tty == a->tty)
		__atomic_store_n(&p->tty, NULL, __ATOMIC_RELAXED);
	return false;
}

void tty_hangup_session(struct process *leader)
{
	struct detach_arg a;
	pid_t pgrp = 0;

	spin_lock(&process_lock);
	a.tty = leader->tty;
	a.sid = leader->sid;
	if (a.tty && a.tty->session == a.sid) {
		pgrp = a.tty->pgrp;
		a.tty->session = a.tty->pgrp = 0;
	}
	spin_unlock(&process_lock);
	if (!a.tty)
		return;
	if (pgrp > 0) {
		signal_pgrp(pgrp, SIGHUP);
		signal_pgrp(pgrp, SIGCONT);
	}
	rcu_read_lock();
	process_for_each(detach_one, &a);
	rcu_read_unlock();
	atomic_fetch_add_explicit(&a.tty->hangups, 1, memory_order_release);
	wake_up(&a.tty->rd_wait);
	wake_up(&a.tty->start_wait);
}

long tty_set_foreground(struct tty *t, pid_t pgrp)
{
	struct process *p = current_process();
	struct list_head *g;
	long err = 0;

	if (pgrp < 0)
		return -EINVAL;
	spin_lock(&process_lock);
	g = pid_group(pgrp);
	if (p->tty != t || t->session != p->sid)
		err = -ENOTTY;
	else if (!g || list_empty(g))
		err = -ESRCH;
	else if (list_first_entry(g, struct process, pgrp_link)->sid != p->sid)
		err = -EPERM;
	else
		t->pgrp = pgrp;
	spin_unlock(&process_lock);
	return err;
}

long tty_give_up(struct tty *t)
{
	struct process *p = current_process();
	bool leader, mine;

	spin_lock(&process_lock);
	mine = p->tty == t;
	leader = mine && p->sid == p->pid;
	if (mine && !leader)
		p->tty = NULL;
	spin_unlock(&process_lock);
	if (leader)
		tty_hangup_session(p);
	return mine ? 0 : -ENOTTY;
}

/* TIOCGPGRP, TIOCGSID: only of the caller's own terminal. */
long tty_get_job(struct tty *t, bool session, int __user *arg)
{
	struct process *p = current_process();
	pid_t v;
	bool mine;

	spin_lock(&process_lock);
	mine = p->tty == t;
	v = session ? t->session : t->pgrp;
	spin_unlock(&process_lock);
	return mine ? put_user(v, arg) : -ENOTTY;
}
