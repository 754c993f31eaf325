/* SPDX-License-Identifier: MIT */
/*
 * Signals on the way back to user mode: stopping, ending, handlers, and what
 * becomes of the system call that was interrupted.
 *
 * A call that a signal interrupted returns one of the ERESTART codes.  Restart
 * means: the program executes its SYSCALL instruction (two bytes) again with
 * the number back in rax.
 */
#include "kernel/sighand.h"
#include "kernel/freezer.h"
#include "kernel/ptrace.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "arch/x86_64/fpu.h"
#include "arch/x86_64/user.h"
#include "mm/memcg.h"
#include "mm/vm.h"

#define NR_restart_syscall 219
#define SYSCALL_INSN_SIZE  2

/* Programs can fault as often as they like; the log says so at most this often. */
#define FAULT_LINES_PER_SECOND 10

static void log_fault(int sig, uintptr_t addr, const struct regs *r)
{
	static _Atomic uint64_t second, lines;
	uint64_t now = clock_ns() / NSEC_PER_SEC;

	if (atomic_exchange_explicit(&second, now, memory_order_relaxed) != now)
		atomic_store_explicit(&lines, 0, memory_order_relaxed);
	if (atomic_fetch_add_explicit(&lines, 1, memory_order_relaxed) >= FAULT_LINES_PER_SECOND)
		return;
	pr_info("%s[%d]: signal %d, address %lx, ip %lx, sp %lx\n", current->process->name,
		current->tid, sig, (unsigned long)addr, (unsigned long)r->rip,
		(unsigned long)r->rsp);
}

void signal_fault(int sig, int code, uintptr_t addr)
{
	struct user_thread *u = current_user();
	struct process *p = u->process;
	struct sigaction_k *sa = &p->sighand->action[sig - 1];
	struct siginfo_k info = { .signo = sig, .code = code, .fault.addr = addr };
	struct sigqueue_entry *e = sigqueue_entry_alloc();
	bool dies;

	spin_lock(&p->sighand->lock);
	if (sa->handler == SIG_IGN || (u->blocked & SIG_BIT(sig))) {
		sa->handler = SIG_DFL;
		u->blocked &= ~SIG_BIT(sig);
	}
	dies = sa->handler == SIG_DFL;
	signal_send_locked(p, u, &info, e, true);
	signal_recalc(u);
	spin_unlock(&p->sighand->lock);
	if (dies)
		log_fault(sig, addr, user_regs(current));
}

void signal_bad_frame(struct regs *r, const char *what, uintptr_t sp)
{
	struct process *p = current->process;

	pr_info("%s[%d]: bad signal frame (%s) at %lx\n", p->name, current->tid, what,
		(unsigned long)sp);
	spin_lock(&p->sighand->lock);
	p->sighand->action[SIGSEGV - 1].handler = SIG_DFL;
	spin_unlock(&p->sighand->lock);
	r->vector = 0;
	signal_fault(SIGSEGV, SI_KERNEL, sp);
}

/* user_exception - a processor exception of a program, but for page faults */
void user_exception(struct regs *r, int vector, unsigned long error)
{
	switch (vector) {
	case 0: /* divide */
		signal_fault(SIGFPE, FPE_INTDIV, r->rip);
		break;
	case 1: /* debug: single step; the trap flag is the program's own business */
		signal_fault(SIGTRAP, TRAP_TRACE, r->rip);
		break;
	case 3: /* int3 */
		signal_fault(SIGTRAP, SI_KERNEL, 0);
		break;
	case 6: /* invalid opcode */
		signal_fault(SIGILL, ILL_ILLOPN, r->rip);
		break;
	case 7: /* unit not available: the state comes with its first use */
		if (!fpu_trap())
			signal_fault(SIGSEGV, SI_KERNEL, 0);
		break;
	case 11: /* segment not present */
	case 12: /* stack */
		signal_fault(SIGBUS, SI_KERNEL, 0);
		break;
	case 16: /* x87 */
	case 19: /* SIMD */
		signal_fault(SIGFPE, FPE_FLTINV, r->rip);
		break;
	case 17: /* alignment */
		signal_fault(SIGBUS, BUS_ADRALN, 0);
		break;
	default: /* general protection, int 0x80, and all else */
		signal_fault(SIGSEGV, SI_KERNEL, 0);
		break;
	}
}

/*
 * What becomes of an interrupted call.  @handler: one will run, with @flags.
 * Clears the mark in @r, so that it happens once.
 */
static void restart_call(struct regs *r, bool handler, uint64_t flags)
{
	bool again;

	if (r->vector != REGS_SYSCALL)
		return;
	switch ((long)r->rax) {
	case -ERESTARTSYS:
		again = !handler || (flags & SA_RESTART);
		break;
	case -ERESTARTNOHAND:
	case -ERESTART_RESTARTBLOCK:
		again = !handler;
		break;
	default:
		return;
	}
	if (again) {
		r->rax = (long)r->rax == -ERESTART_RESTARTBLOCK ? NR_restart_syscall : r->error;
		r->rip -= SYSCALL_INSN_SIZE;
		r->vector = 0;
	} else {
		r->rax = (uint64_t)-EINTR;
	}
}

/* Sends SIGCHLD about @p and wakes who waits for it.  process_lock held; @e is used up. */
static void tell_parent(struct process *p, const struct siginfo_k *info, struct sigqueue_entry *e)
{
	struct process *parent = p->parent;

	if (parent) {
		spin_lock(&parent->sighand->lock);
		if (!(parent->sighand->action[SIGCHLD - 1].flags & SA_NOCLDSTOP)) {
			signal_send_locked(parent, NULL, info, e, false);
			e = NULL;
		}
		spin_unlock(&parent->sighand->lock);
		wake_up(&parent->child_wait);
	}
	sigqueue_entry_free(e);
}

static void notify_continued(struct process *p)
{
	struct siginfo_k info = {
		.signo = SIGCHLD,
		.code = CLD_CONTINUED,
		.chld = { .pid = p->pid, .uid = p->uid, .status = SIGCONT },
	};
	struct sigqueue_entry *e = sigqueue_entry_alloc();

	spin_lock(&process_lock);
	tell_parent(p, &info, e);
	spin_unlock(&process_lock);
}

void process_stop_complete(struct process *p)
{
	struct siginfo_k info = {
		.signo = SIGCHLD,
		.code = CLD_STOPPED,
		.chld = { .pid = p->pid, .uid = p->uid },
	};
	struct sigqueue_entry *e = sigqueue_entry_alloc();
	bool tell;

	/* wait4() sees the stop only together with the signal: both under process_lock. */
	spin_lock(&process_lock);
	spin_lock(&p->sighand->lock);
	tell = p->stop_sig && p->nr_stopped >= p->nr_threads &&
	       atomic_load_explicit(&p->state, memory_order_relaxed) == PROCESS_ALIVE;
	if (tell)
		atomic_store_explicit(&p->state, PROCESS_STOPPED, memory_order_relaxed);
	info.chld.status = p->stop_sig;
	spin_unlock(&p->sighand->lock);
	if (tell)
		tell_parent(p, &info, e);
	else
		sigqueue_entry_free(e);
	spin_unlock(&process_lock);
}

/* Sleep until SIGCONT or the end.  sighand->lock is held on entry and dropped. */
static void stop_here(struct user_thread *u)
{
	struct process *p = u->process;
	bool last;

	atomic_store_explicit(&u->stopped, true, memory_order_relaxed);
	last = ++p->nr_stopped >= p->nr_threads;
	spin_unlock(&p->sighand->lock);
	if (last)
		process_stop_complete(p);
	freezer_count(true); /* as good as that, for cgroup.freeze */
	for (;;) {
		thread_prepare_sleep(THREAD_STOPPED);
		if (!atomic_load_explicit(&u->stopped, memory_order_seq_cst) ||
		    kill_pending(current))
			break;
		schedule();
	}
	thread_finish_sleep();
	freezer_count(false);
}

/* sighand->lock is held on entry and dropped. */
static void start_stop(struct user_thread *u, int sig)
{
	struct process *p = u->process;
	struct user_thread *other;

	/* Nobody could continue an orphaned group from its terminal: it does not stop. */
	if (sig != SIGSTOP) {
		spin_unlock(&p->sighand->lock);
		if (pgrp_is_orphaned(p->pgid))
			return;
		spin_lock(&p->sighand->lock);
		if (p->pending.mask & SIG_BIT(SIGCONT) || p->group_exit) {
			spin_unlock(&p->sighand->lock);
			return;
		}
	}
	if (!p->stop_sig) {
		p->stop_sig = sig;
		p->stop_reported = false;
		p->continued = false;
		list_for_each_entry(other, &p->threads, group_link)
			signal_wake(other->thread, false);
	}
	spin_unlock(&p->sighand->lock);
}

/* Runs @sa's handler.  sighand->lock is held on entry and dropped. */
static void run_handler(struct regs *r, struct user_thread *u, struct sigaction_k *action,
			const struct siginfo_k *info)
{
	struct sigaction_k sa = *action;
	struct process *p = u->process;
	uint64_t old = u->restore_blocked ? u->saved_blocked : u->blocked;
	uint64_t blocked = u->blocked | sa.mask;

	if (!(sa.flags & SA_NODEFER))
		blocked |= SIG_BIT(info->signo);
	if (sa.flags & SA_RESETHAND)
		action->handler = SIG_DFL;
	u->restore_blocked = false;
	spin_unlock(&p->sighand->lock);

	restart_call(r, true, sa.flags);
	if (signal_frame_push(r, &sa, info, old)) {
		signal_bad_frame(r, "cannot be written", r->rsp);
		return;
	}
	signal_set_blocked(blocked);
}

/**
 * signal_deliver - act on what is pending for the current thread
 * @r: its user registers
 *
 * One handler at most is set up; the caller comes back while more is pending.
 * Context: thread on its way to user mode, interrupts on, no locks.
 * Return: unless the thread ends.
 */
void signal_deliver(struct regs *r)
{
	struct user_thread *u = current_user();
	struct process *p = u->process;
	struct sighand *h = p->sighand;

	for (;;) {
		struct siginfo_k info;
		struct sigaction_k *sa;
		int sig;

		spin_lock(&h->lock);
		if (p->group_exit || kill_pending(current)) {
			int status = p->group_exit ? p->exit_code : 0;

			spin_unlock(&h->lock);
			thread_exit_user(status);
		}
		if (p->cont_notify) {
			p->cont_notify = false;
			spin_unlock(&h->lock);
			notify_continued(p);
			continue;
		}
		if (p->stop_sig) {
			stop_here(u);
			continue;
		}
		if (trace_wanted(u)) {
			trace_stop(u);
			continue;
		}
		/* A SIGSTOP that was sent before comes first: stopped is as good as frozen. */
		if (freezer_wants(u) &&
		    !((u->pending.mask | p->pending.mask) & SIG_BIT(SIGSTOP))) {
			spin_unlock(&h->lock);
			freezer_sleep();
			continue;
		}
		sig = sigqueue_take(h, &u->pending, u->blocked, &info);
		if (!sig)
			sig = sigqueue_take(h, &p->pending, u->blocked, &info);
		if (!sig) {
			signal_recalc(u);
			spin_unlock(&h->lock);
			break;
		}
		sa = &h->action[sig - 1];
		if (sa->handler == SIG_IGN) {
			spin_unlock(&h->lock);
			continue;
		}
		if (sa->handler != SIG_DFL) {
			run_handler(r, u, sa, &info);
			return;
		}
		/* Default.  Only its own faults can end pid 1. */
		if ((SIGSET_IGNORE & SIG_BIT(sig)) ||
		    (p == init_process && !(SIGSET_FAULT & SIG_BIT(sig)))) {
			spin_unlock(&h->lock);
		} else if (SIGSET_STOP & SIG_BIT(sig)) {
			start_stop(u, sig);
		} else {
			signal_group_exit_locked(p, sig);
			spin_unlock(&h->lock);
		}
	}
	restart_call(r, false, 0);
	signal_mask_unswap();
}

/* return_to_user - hook of the machine's way back to user mode, interrupts on */
void return_to_user(struct regs *r)
{
	if (need_resched())
		schedule();
	if (atomic_load_explicit(&current->flags, memory_order_relaxed) & THREAD_F_OVER_HIGH)
		memcg_pay_high();
	if (signal_pending(current))
		signal_deliver(r);
}
