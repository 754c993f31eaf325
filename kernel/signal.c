/* SPDX-License-Identifier: MIT */
/*
 * Sending signals: who hears of one, and what happens at once.
 *
 * Sending takes sighand->lock of the receiver alone; a thread as receiver also
 * needs process_lock, which keeps its user side in being.  What happens when a
 * thread leaves the kernel is kernel/signal_deliver.c.
 *
 * Invariants (sighand->lock): THREAD_F_SIGPENDING of a thread is set whenever
 * an unblocked signal is pending for it, its process stops, or it is to end;
 * it may be set without cause.  SIGKILL and SIGSTOP are never blocked.
 */
#include "kernel/sighand.h"
#include "kernel/freezer.h"
#include "kernel/ptrace.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "arch/x86_64/user.h"
#include "mm/uaccess.h"

static struct kmem_cache *sighand_cache;

void signal_init(void)
{
	sigqueue_cache_init();
	freezer_init();
	sighand_cache = kmem_cache_create("sighand", sizeof(struct sighand), 0, SLAB_ACCOUNT);
	if (!sighand_cache)
		panic("no memory for the signal tables");
}

struct sighand *sighand_create(void)
{
	struct sighand *h = kmem_cache_alloc(sighand_cache, GFP_KERNEL);

	if (h) {
		memset(h, 0, sizeof(*h));
		spin_init(&h->lock, "sighand");
	}
	return h;
}

void sighand_copy(struct sighand *to, struct process *from)
{
	spin_lock(&from->sighand->lock);
	memcpy(to->action, from->sighand->action, sizeof(to->action));
	spin_unlock(&from->sighand->lock);
}

void sighand_exec(struct process *p)
{
	spin_lock(&p->sighand->lock);
	for (int i = 0; i < NR_SIGNALS; i++) {
		struct sigaction_k *sa = &p->sighand->action[i];
		uint64_t handler = sa->handler == SIG_IGN ? SIG_IGN : SIG_DFL;

		memset(sa, 0, sizeof(*sa));
		sa->handler = handler;
	}
	spin_unlock(&p->sighand->lock);
}

void sighand_free(struct sighand *h)
{
	if (!h)
		return;
	signalfd_forget(h);
	kmem_cache_free(sighand_cache, h);
}

void signal_recalc(struct user_thread *u)
{
	struct process *p = u->process;
	uint64_t pending = (u->pending.mask | p->pending.mask) & ~u->blocked;
	bool work = pending || p->group_exit || p->cont_notify || freezer_wants(u) ||
		    trace_wanted(u) ||
		    (p->stop_sig && !atomic_load_explicit(&u->stopped, memory_order_relaxed));

	if (work)
		atomic_fetch_or_explicit(&u->thread->flags, THREAD_F_SIGPENDING,
					 memory_order_relaxed);
	else if (u->thread == current)
		atomic_fetch_and_explicit(&u->thread->flags, ~THREAD_F_SIGPENDING,
					  memory_order_relaxed);
}

void signal_wake(struct thread *t, bool kill)
{
	/* Orders the flag before the look at the state: the sleeper does it the other way round. */
	atomic_fetch_or_explicit(&t->flags, THREAD_F_SIGPENDING | (kill ? THREAD_F_KILLED : 0),
				 memory_order_seq_cst);
	if (thread_wake_interruptible(t) || t == current)
		return;
	/* In user mode elsewhere: it looks at the flag on its way back from the interrupt. */
	if (atomic_load_explicit(&t->on_cpu, memory_order_seq_cst))
		arch_kick(atomic_load_explicit(&t->cpu, memory_order_relaxed));
}

static bool is_ended(const struct process *p)
{
	int s = atomic_load_explicit(&p->state, memory_order_relaxed);

	return s == PROCESS_ZOMBIE || s == PROCESS_DEAD;
}

void signal_group_exit_locked(struct process *p, int wait_status)
{
	struct user_thread *u;

	if (!p->group_exit) {
		p->group_exit = true;
		p->exit_code = wait_status;
	}
	p->stop_sig = 0;
	list_for_each_entry(u, &p->threads, group_link) {
		atomic_store_explicit(&u->stopped, false, memory_order_seq_cst);
		signal_wake(u->thread, true);
	}
}

/* SIGCONT takes effect when it is sent, whatever is done with the signal itself. */
static void continue_locked(struct process *p)
{
	struct user_thread *u;

	sigqueue_flush(p->sighand, &p->pending, SIGSET_STOP);
	list_for_each_entry(u, &p->threads, group_link)
		sigqueue_flush(p->sighand, &u->pending, SIGSET_STOP);
	if (!p->stop_sig)
		return;
	if (atomic_load_explicit(&p->state, memory_order_relaxed) == PROCESS_STOPPED) {
		atomic_store_explicit(&p->state, PROCESS_ALIVE, memory_order_relaxed);
		p->continued = true;
		p->cont_notify = true;
	}
	p->stop_sig = 0;
	p->nr_stopped = 0;
	list_for_each_entry(u, &p->threads, group_link) {
		atomic_store_explicit(&u->stopped, false, memory_order_seq_cst);
		signal_wake(u->thread, false);
	}
}

/* Nothing would come of it: not worth waking anybody for. */
static bool is_ignored(const struct process *p, const struct user_thread *u, int sig)
{
	uint64_t handler = p->sighand->action[sig - 1].handler;

	if (!u && !list_empty(&p->threads))
		u = list_first_entry(&p->threads, struct user_thread, group_link);
	if (u && ((u->blocked | u->waiting_for) & SIG_BIT(sig)))
		return false; /* the handler may be another one when it is unblocked */
	if (handler == SIG_IGN)
		return true;
	if (handler != SIG_DFL)
		return false;
	return (SIGSET_IGNORE & SIG_BIT(sig)) || p == init_process;
}

/* The thread a signal is for, or one for all: NULL if none is left.  sighand->lock held. */
static struct user_thread *signal_taker(const struct process *p, const struct user_thread *u)
{
	if (u)
		return (struct user_thread *)u;
	return list_empty(&p->threads)
		       ? NULL
		       : list_first_entry(&p->threads, struct user_thread, group_link);
}

/* Would it end the process at once, without a core and with nobody to catch or block it? */
static bool is_fatal(const struct process *p, const struct user_thread *u, int sig)
{
	uint64_t bit = SIG_BIT(sig);

	u = signal_taker(p, u);
	return u && !((u->blocked | u->waiting_for) & bit) && p != init_process &&
	       p->sighand->action[sig - 1].handler == SIG_DFL &&
	       !(bit & (SIGSET_IGNORE | SIGSET_STOP | SIGSET_CORE));
}

/**
 * signal_send_locked - queue a signal and wake who is to take it
 * @u: that thread, or NULL for any of @p
 * @e: room for the details, or NULL; used up
 * @forced: not even SIG_IGN drops it
 *
 * Context: p->sighand->lock held.  Return: 0, -EAGAIN (no room, real-time only).
 */
int signal_send_locked(struct process *p, struct user_thread *u, const struct siginfo_k *info,
		       struct sigqueue_entry *e, bool forced)
{
	struct sighand *h = p->sighand;
	uint64_t bit = SIG_BIT(info->signo);
	struct user_thread *other;
	int err;

	if (is_ended(p))
		goto drop;
	if (info->signo == SIGKILL) {
		if (p != init_process || forced)
			signal_group_exit_locked(p, SIGKILL);
		goto drop;
	}
	if (info->signo == SIGCONT) {
		continue_locked(p);
	} else if (bit & SIGSET_STOP) {
		sigqueue_flush(h, &p->pending, SIG_BIT(SIGCONT));
		list_for_each_entry(other, &p->threads, group_link)
			sigqueue_flush(h, &other->pending, SIG_BIT(SIGCONT));
	}
	if (!forced && is_ignored(p, u, info->signo))
		goto drop;
	if (is_fatal(p, u, info->signo) && freezer_wants(signal_taker(p, u))) {
		/* Nobody frozen has to thaw in order to die. */
		signal_group_exit_locked(p, info->signo);
		goto drop;
	}
	err = sigqueue_add(h, u ? &u->pending : &p->pending, info, e);
	if (err)
		return err;
	if (h->fds)
		signalfd_notify(h, info->signo);
	if (u) {
		if (!(u->blocked & bit))
			signal_wake(u->thread, false);
		return 0;
	}
	list_for_each_entry(other, &p->threads, group_link) {
		if (!(other->blocked & bit)) {
			signal_wake(other->thread, false);
			break;
		}
	}
	return 0;
drop:
	sigqueue_entry_free(e);
	return 0;
}

int signal_send_info(struct process *p, struct thread *t, const struct siginfo_k *info)
{
	struct sigqueue_entry *e;
	struct user_thread *u = NULL;
	int err = -ESRCH;

	if (info->signo < 1 || info->signo > NR_SIGNALS)
		return -EINVAL;
	e = sigqueue_entry_alloc();
	if (t)
		spin_lock(&process_lock);
	if (t) {
		u = t->user; /* in its process's list, or it is ending */
		p = u && !list_empty(&u->group_link) ? u->process : NULL;
	}
	if (p) {
		spin_lock(&p->sighand->lock);
		err = signal_send_locked(p, u, info, e, false);
		spin_unlock(&p->sighand->lock);
	} else {
		sigqueue_entry_free(e);
	}
	if (t)
		spin_unlock(&process_lock);
	return err;
}

static int send_kernel(struct process *p, struct thread *t, int sig)
{
	struct siginfo_k info = { .signo = sig, .code = SI_KERNEL };

	return signal_send_info(p, t, &info);
}

int signal_process(struct process *p, int sig)
{
	return send_kernel(p, NULL, sig);
}

int signal_thread(struct thread *t, int sig)
{
	return send_kernel(NULL, t, sig);
}

void signal_kill(struct process *p)
{
	spin_lock(&p->sighand->lock);
	if (!is_ended(p))
		signal_group_exit_locked(p, SIGKILL);
	spin_unlock(&p->sighand->lock);
}

void signal_set_blocked(uint64_t mask)
{
	struct user_thread *u = current_user(), *other;
	struct process *p = u->process;
	uint64_t newly;

	mask &= ~SIGSET_UNBLOCKABLE;
	if (u->blocked == mask)
		return;
	spin_lock(&p->sighand->lock);
	newly = mask & ~u->blocked & p->pending.mask;
	u->blocked = mask;
	signal_recalc(u);
	/* What we were woken for and now block, another thread may take. */
	if (newly && p->nr_threads > 1)
		list_for_each_entry(other, &p->threads, group_link)
			if (other != u && (newly & ~other->blocked))
				signal_wake(other->thread, false);
	spin_unlock(&p->sighand->lock);
}

void signal_mask_swap(uint64_t mask)
{
	struct user_thread *u = current_user();

	u->saved_blocked = u->blocked;
	u->restore_blocked = true;
	signal_set_blocked(mask);
}

int signal_mask_swap_user(const uint64_t *mask, size_t size)
{
	uint64_t m;

	if (!mask)
		return 0;
	if (size != sizeof(m))
		return -EINVAL;
	if (copy_from_user(&m, mask, sizeof(m)))
		return -EFAULT;
	signal_mask_swap(m);
	return 0;
}

void signal_mask_unswap(void)
{
	struct user_thread *u = current_user();

	if (!u->restore_blocked)
		return;
	u->restore_blocked = false;
	signal_set_blocked(u->saved_blocked);
}

bool signal_is_ignored(int sig)
{
	struct user_thread *u = current_user();

	return (u->blocked & SIG_BIT(sig)) ||
	       u->process->sighand->action[sig - 1].handler == SIG_IGN;
}

void signal_masks(struct process *p, struct signal_masks *out)
{
	struct sighand *h = p->sighand;

	memset(out, 0, sizeof(*out));
	spin_lock(&h->lock);
	if (!list_empty(&p->threads)) {
		struct user_thread *u =
			list_first_entry(&p->threads, struct user_thread, group_link);

		out->pending = u->pending.mask;
		out->blocked = u->blocked;
	}
	out->queued = h->nr_queued;
	out->shared_pending = p->pending.mask;
	for (int i = 0; i < NR_SIGNALS; i++) {
		if (h->action[i].handler == SIG_IGN)
			out->ignored |= 1ULL << i;
		else if (h->action[i].handler != SIG_DFL)
			out->caught |= 1ULL << i;
	}
	spin_unlock(&h->lock);
}
