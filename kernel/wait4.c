/* SPDX-License-Identifier: MIT */
/*
 * wait4() and waitid(): hearing of children that ended, stopped or went on.
 *
 * A waiter sleeps on its process's child_wait and looks through the children
 * under process_lock each time somebody says that one has changed.
 */
#include "kernel/process_int.h"
#include "kernel/errno.h"
#include "kernel/ptrace.h"
#include "kernel/rusage.h"
#include "kernel/string.h"
#include "kernel/syscall.h"

#define WNOHANG    1
#define WUNTRACED  2 /* WSTOPPED */
#define WEXITED    4
#define WCONTINUED 8
#define WNOWAIT    0x01000000
#define __WNOTHREAD 0x20000000
#define __WALL     0x40000000
#define __WCLONE   0x80000000U

enum { P_ALL, P_PID, P_PGID };

struct wait_request {
	int type;
	pid_t id;
	unsigned options;
	/* answer */
	pid_t pid;
	uint32_t uid;
	int wait_status; /* of wait4() */
	int code, status; /* of waitid() */
	uint64_t user_ns, system_ns, minflt, majflt;
	struct process *reaped;
};

static bool matches(const struct wait_request *w, const struct process *p)
{
	bool is_clone = p->exit_signal != SIGCHLD;

	if (w->type == P_PID && p->pid != w->id)
		return false;
	if (w->type == P_PGID && p->pgid != w->id)
		return false;
	return (w->options & __WALL) || is_clone == !!(w->options & __WCLONE);
}

static void take_zombie(struct wait_request *w, struct process *p, struct process *me)
{
	int sig = p->exit_code & 0x7f;

	w->wait_status = p->exit_code;
	w->code = !sig ? CLD_EXITED : p->exit_code & 0x80 ? CLD_DUMPED : CLD_KILLED;
	w->status = sig ? sig : (p->exit_code >> 8) & 0xff;
	w->user_ns = p->exited_user_ns + p->children_user_ns;
	w->system_ns = p->exited_system_ns + p->children_system_ns;
	w->minflt = p->minflt;
	w->majflt = p->majflt;
	if (w->options & WNOWAIT)
		return;
	me->children_user_ns += w->user_ns;
	me->children_system_ns += w->system_ns;
	process_release(p);
	w->reaped = p;
}

/* Has @p something to tell?  process_lock held. */
static bool look_at(struct wait_request *w, struct process *p, struct process *me)
{
	bool found = false;

	if (atomic_load_explicit(&p->state, memory_order_acquire) == PROCESS_ZOMBIE) {
		if (!(w->options & WEXITED))
			return false;
		take_zombie(w, p, me);
		found = true;
	} else if (w->options & (WUNTRACED | WCONTINUED)) {
		spin_lock(&p->sighand->lock);
		if ((w->options & WUNTRACED) && !p->stop_reported && p->stop_sig &&
		    atomic_load_explicit(&p->state, memory_order_relaxed) == PROCESS_STOPPED) {
			w->wait_status = p->stop_sig << 8 | 0x7f;
			w->code = CLD_STOPPED;
			w->status = p->stop_sig;
			p->stop_reported = !(w->options & WNOWAIT);
			found = true;
		} else if ((w->options & WCONTINUED) && p->continued) {
			w->wait_status = 0xffff;
			w->code = CLD_CONTINUED;
			w->status = SIGCONT;
			p->continued = w->options & WNOWAIT;
			found = true;
		}
		spin_unlock(&p->sighand->lock);
	}
	if (found) {
		w->pid = p->pid;
		w->uid = p->uid;
	}
	return found;
}

/* Has a thread that the caller traces stopped for it?  process_lock held. */
static bool look_at_tracee(struct wait_request *w, struct user_thread *u)
{
	if (atomic_load_explicit(&u->trace, memory_order_relaxed) != TRACE_STOPPED ||
	    u->trace_reported)
		return false;
	u->trace_reported = !(w->options & WNOWAIT);
	w->wait_status = trace_stop_status();
	w->code = CLD_TRAPPED;
	w->status = w->wait_status >> 8;
	w->pid = u->thread->tid;
	w->uid = u->process->uid;
	return true;
}

static int scan_tracees(struct wait_request *w, struct process *me)
{
	struct user_thread *u;
	int r = -ECHILD;

	list_for_each_entry(u, &me->tracees, trace_link) {
		if ((w->type == P_PID && u->thread->tid != w->id) ||
		    (w->type == P_PGID && u->process->pgid != w->id))
			continue;
		r = 0;
		if (look_at_tracee(w, u))
			return 1;
	}
	return r;
}

/* 1: answered; 0: not yet; -ECHILD: never. */
static int scan(struct wait_request *w)
{
	struct process *me = current->process, *p;
	int r;

	spin_lock(&process_lock);
	r = scan_tracees(w, me);
	list_for_each_entry(p, &me->children, sibling) {
		if (r == 1)
			break;
		if (!matches(w, p))
			continue;
		r = 0;
		if (look_at(w, p, me)) {
			r = 1;
			break;
		}
	}
	spin_unlock(&process_lock);
	if (w->reaped)
		process_put(w->reaped);
	return r;
}

/* Return: 1 with the answer in @w, 0 (WNOHANG: nothing yet), -ECHILD, -ERESTARTSYS. */
static long do_wait(struct wait_request *w)
{
	struct process *me = current->process;
	struct wait_entry e = { .wake = wq_wake_thread, .thread = current };
	long r = scan(w);

	if (r || (w->options & WNOHANG))
		return r;
	wq_add(&me->child_wait, &e);
	for (;;) {
		r = scan(w);
		if (r)
			break;
		/* scan() takes locks, so the state is set behind it and the look repeated. */
		thread_prepare_sleep(THREAD_INTERRUPTIBLE);
		r = scan(w);
		if (r)
			break;
		if (signal_pending(current)) {
			r = -ERESTARTSYS;
			break;
		}
		schedule();
		thread_finish_sleep();
	}
	thread_finish_sleep();
	wq_remove(&me->child_wait, &e);
	return r;
}

static void fill_rusage(struct rusage_k *ru, const struct wait_request *w)
{
	memset(ru, 0, sizeof(*ru));
	ru->utime = timeval_from_ns(w->user_ns);
	ru->stime = timeval_from_ns(w->system_ns);
	ru->minflt = (int64_t)w->minflt;
	ru->majflt = (int64_t)w->majflt;
}

SYSCALL(wait4, int pid, int __user *status, unsigned options, struct rusage_k __user *rusage)
{
	struct wait_request w = { .options = options | WEXITED };
	struct rusage_k ru;
	long r;

	if (options & ~(WNOHANG | WUNTRACED | WCONTINUED | __WNOTHREAD | __WALL | __WCLONE))
		return -EINVAL;
	if (pid == INT_MIN)
		return -ESRCH;
	if (pid == -1) {
		w.type = P_ALL;
	} else if (pid > 0) {
		w.type = P_PID;
		w.id = pid;
	} else {
		w.type = P_PGID;
		w.id = pid ? -pid : current->process->pgid;
	}
	r = do_wait(&w);
	if (r <= 0)
		return r;
	fill_rusage(&ru, &w);
	if (status && put_user(w.wait_status, status))
		return -EFAULT;
	if (rusage && copy_to_user(rusage, &ru, sizeof(ru)))
		return -EFAULT;
	return w.pid;
}

SYSCALL(waitid, int type, int id, struct siginfo_k __user *out, unsigned options,
	struct rusage_k __user *rusage)
{
	struct wait_request w = { .type = type, .id = id, .options = options };
	struct siginfo_k info = { 0 };
	struct rusage_k ru;
	long r;

	if (options & ~(WNOHANG | WUNTRACED | WEXITED | WCONTINUED | WNOWAIT | __WNOTHREAD |
			__WALL | __WCLONE))
		return -EINVAL;
	if (!(options & (WEXITED | WUNTRACED | WCONTINUED)))
		return -EINVAL;
	if (type < P_ALL || type > P_PGID || (type == P_PID && id <= 0) ||
	    (type == P_PGID && id < 0))
		return -EINVAL;
	if (type == P_PGID && id == 0)
		w.id = current->process->pgid;
	r = do_wait(&w);
	if (r < 0)
		return r;
	if (r > 0) {
		info.signo = SIGCHLD;
		info.code = w.code;
		info.chld.pid = w.pid;
		info.chld.uid = w.uid;
		info.chld.status = w.status;
		fill_rusage(&ru, &w);
		if (rusage && copy_to_user(rusage, &ru, sizeof(ru)))
			return -EFAULT;
	}
	/* Only the fields of SIGCHLD: the rest of the 128 bytes stays as it was. */
	if (out && copy_to_user(out, &info, offsetof(struct siginfo_k, chld.status) + 4))
		return -EFAULT;
	return 0;
}
