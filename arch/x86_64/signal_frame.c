/* SPDX-License-Identifier: MIT */
/*
 * The frame that a signal handler runs on, in the layout of Linux x86-64
 * (struct rt_sigframe): return address, ucontext, siginfo, and above them the
 * FPU state, 64-byte aligned.  The 128 bytes below the interrupted stack
 * pointer belong to the program (red zone).
 *
 * A frame that comes back by rt_sigreturn is what a program wrote: every word
 * of it is checked or masked before it reaches a register.
 */
#include "arch/x86_64/fpu.h"
#include "arch/x86_64/user.h"
#include "kernel/errno.h"
#include "kernel/sighand.h"
#include "kernel/string.h"
#include "mm/uaccess.h"
#include "mm/vm.h"

struct frame_stack {
	uint64_t sp;
	int32_t flags, pad;
	uint64_t size;
};

struct frame_mcontext {
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
	uint64_t rflags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
};

struct signal_frame {
	uint64_t return_address;
	uint64_t uc_flags, uc_link;
	struct frame_stack stack;
	struct frame_mcontext mc;
	uint64_t sigmask;
	struct siginfo_k info;
	uint8_t info_rest[128 - sizeof(struct siginfo_k)];
};
_Static_assert(sizeof(struct frame_mcontext) == 256, "struct sigcontext is ABI");
_Static_assert(sizeof(struct signal_frame) == 440, "struct rt_sigframe is ABI");

#define UC_FP_XSTATE         1
#define UC_SIGCONTEXT_SS     2
#define UC_STRICT_RESTORE_SS 4

#define RED_ZONE 128
/* What a program may set: carry, parity, adjust, zero, sign, trap, direction, overflow, RF, AC. */
#define RFLAGS_USER 0x50dd5UL

static bool on_altstack(const struct user_thread *u, uintptr_t sp)
{
	if (u->altstack_flags & SS_AUTODISARM)
		return false;
	return u->altstack_size && sp > u->altstack_sp && sp - u->altstack_sp <= u->altstack_size;
}

static void save_regs(struct frame_mcontext *m, const struct regs *r, const struct siginfo_k *info)
{
	m->r8 = r->r8, m->r9 = r->r9, m->r10 = r->r10, m->r11 = r->r11;
	m->r12 = r->r12, m->r13 = r->r13, m->r14 = r->r14, m->r15 = r->r15;
	m->rdi = r->rdi, m->rsi = r->rsi, m->rbp = r->rbp, m->rbx = r->rbx;
	m->rdx = r->rdx, m->rax = r->rax, m->rcx = r->rcx, m->rsp = r->rsp;
	m->rip = r->rip, m->rflags = r->rflags;
	m->cs = (uint16_t)r->cs, m->ss = (uint16_t)r->ss;
	if (r->vector < 32) {
		m->trapno = r->vector;
		m->err = r->error;
		if (r->vector == 14)
			m->cr2 = info->fault.addr;
	}
}

int signal_frame_push(struct regs *r, const struct sigaction_k *sa, const struct siginfo_k *info,
		      uint64_t mask)
{
	struct user_thread *u = current_user();
	struct signal_frame f = { .uc_flags = UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS };
	uintptr_t sp = r->rsp - RED_ZONE, fp;
	bool was_on = on_altstack(u, r->rsp);

	/* Without a restorer there is nothing to return to: the program is not for this ABI. */
	if (!(sa->flags & SA_RESTORER))
		return -EFAULT;
	if ((sa->flags & SA_ONSTACK) && u->altstack_size && !was_on)
		sp = u->altstack_sp + u->altstack_size;

	fp = ALIGN_DOWN(sp - fpu_frame_size(), 64);
	sp = ALIGN_DOWN(fp - sizeof(f), 16) - 8;
	if (was_on && !on_altstack(u, sp))
		return -EFAULT; /* the alternate stack is full */
	if (!user_range_ok((void *)sp, fp + fpu_frame_size() - sp))
		return -EFAULT;

	if (fpu_frame_size() > 512)
		f.uc_flags |= UC_FP_XSTATE;
	f.return_address = sa->restorer;
	f.stack.sp = u->altstack_sp;
	f.stack.size = u->altstack_size;
	f.stack.flags = u->altstack_size ? u->altstack_flags | (was_on ? SS_ONSTACK : 0) : SS_DISABLE;
	save_regs(&f.mc, r, info);
	f.mc.oldmask = mask;
	f.mc.fpstate = fp;
	f.sigmask = mask;
	f.info = *info;
	if (fpu_save_user((void *)fp) || copy_to_user((void *)sp, &f, sizeof(f)))
		return -EFAULT;

	if (u->altstack_flags & SS_AUTODISARM) {
		u->altstack_sp = u->altstack_size = 0;
		u->altstack_flags = 0;
	}
	r->rdi = (uint64_t)info->signo;
	r->rsi = sp + offsetof(struct signal_frame, info);
	r->rdx = sp + offsetof(struct signal_frame, uc_flags);
	r->rax = 0;
	r->rsp = sp;
	r->rip = sa->handler;
	r->rflags &= ~(RFLAGS_DF | RFLAGS_TF | RFLAGS_RF);
	r->cs = SEL_USER_CODE;
	r->ss = SEL_USER_DATA;
	r->vector = 0; /* nothing to restart, and not for SYSRET */
	/* An address that iretq could not take; the fault belongs to the program. */
	return r->rip < USER_TOP ? 0 : -EFAULT;
}

int signal_frame_pop(struct regs *r, uint64_t *mask)
{
	struct user_thread *u = current_user();
	struct signal_frame f;
	const struct frame_mcontext *m = &f.mc;

	if (copy_from_user(&f, (void *)(r->rsp - 8), offsetof(struct signal_frame, info)))
		return -EFAULT;
	if (m->rip >= USER_TOP || fpu_load_user((void *)m->fpstate))
		return -EFAULT;
	r->r8 = m->r8, r->r9 = m->r9, r->r10 = m->r10, r->r11 = m->r11;
	r->r12 = m->r12, r->r13 = m->r13, r->r14 = m->r14, r->r15 = m->r15;
	r->rdi = m->rdi, r->rsi = m->rsi, r->rbp = m->rbp, r->rbx = m->rbx;
	r->rdx = m->rdx, r->rax = m->rax, r->rcx = m->rcx, r->rsp = m->rsp;
	r->rip = m->rip;
	r->rflags = (m->rflags & RFLAGS_USER) | RFLAGS_IF | 2;
	r->cs = SEL_USER_CODE;
	r->ss = SEL_USER_DATA;
	r->vector = 0;
	*mask = f.sigmask;

	/* As sigaltstack() would, where the frame holds something it would take. */
	if (f.stack.flags & SS_DISABLE) {
		u->altstack_sp = u->altstack_size = 0;
		u->altstack_flags = 0;
	} else if (f.stack.size >= MINSIGSTKSZ && user_range_ok((void *)f.stack.sp, f.stack.size)) {
		u->altstack_sp = f.stack.sp;
		u->altstack_size = f.stack.size;
		u->altstack_flags = f.stack.flags & (int)SS_AUTODISARM;
	}
	return 0;
}
