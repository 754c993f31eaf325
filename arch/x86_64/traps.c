/* SPDX-License-Identifier: MIT */
/*
 * Exceptions: names, panics, and who else wants them.
 *
 * From user mode an exception is the program's business (user_exception());
 * in the kernel it is a bug, unless the instruction is one of those that may
 * fault (section "extable": user copies, MSR probes).
 */
#include "arch/arch.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/irq.h"
#include "arch/x86_64/paging.h"
#include "arch/x86_64/regs.h"
#include "arch/x86_64/traps.h"
#include "arch/x86_64/user.h"
#include "kernel/log.h"
#include "kernel/panic.h"
#include "kernel/symbols.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "mm/vmalloc.h"

enum {
	X_DE = 0, X_DB = 1, X_NMI = 2, X_BP = 3, X_DF = 8, X_GP = 13, X_PF = 14, X_MC = 18,
};

static const char *const names[32] = {
	"divide error",
	"debug",
	"non-maskable interrupt",
	"breakpoint",
	"overflow",
	"bound range exceeded",
	"invalid opcode",
	"device not available",
	"double fault",
	"coprocessor segment overrun",
	"invalid TSS",
	"segment not present",
	"stack-segment fault",
	"general protection fault",
	"page fault",
	"reserved (15)",
	"x87 floating-point error",
	"alignment check",
	"machine check",
	"SIMD floating-point error",
	"virtualization exception",
	"control protection exception",
	[22] = "reserved (22)",
	[28] = "hypervisor injection",
	[29] = "VMM communication",
	[30] = "security exception",
};

const char *trap_name(unsigned vector)
{
	return vector < 32 && names[vector] ? names[vector] : "reserved exception";
}

struct extable_entry {
	uint64_t at, fixup;
};
extern const struct extable_entry __start_extable[], __stop_extable[];

bool fixup_exception(struct regs *regs)
{
	for (const struct extable_entry *e = __start_extable; e < __stop_extable; e++) {
		if (e->at == regs->rip) {
			regs->rip = e->fixup;
			return true;
		}
	}
	return false;
}

void regs_print(const struct regs *r)
{
	size_t off = 0;
	const char *sym = symbol_find(r->rip, &off);

	pr_err("rip %04lx:%016lx %s+0x%zx  rflags %08lx", r->cs, r->rip, sym ? sym : "?", off, r->rflags);
	pr_err("rsp %04lx:%016lx  vector %lu (%s)  error %lx", r->ss, r->rsp, r->vector,
	       r->vector == REGS_SYSCALL ? "system call" : trap_name((unsigned)r->vector), r->error);
	pr_err("rax %016lx  rbx %016lx  rcx %016lx  rdx %016lx", r->rax, r->rbx, r->rcx, r->rdx);
	pr_err("rsi %016lx  rdi %016lx  rbp %016lx  r8  %016lx", r->rsi, r->rdi, r->rbp, r->r8);
	pr_err("r9  %016lx  r10 %016lx  r11 %016lx  r12 %016lx", r->r9, r->r10, r->r11, r->r12);
	pr_err("r13 %016lx  r14 %016lx  r15 %016lx", r->r13, r->r14, r->r15);
	pr_err("cr0 %08lx  cr2 %016lx  cr3 %016lx  cr4 %08lx  gs %016lx", read_cr0(), read_cr2(), read_cr3(),
	       read_cr4(), rdmsr(MSR_GS_BASE));
}

void __noreturn die(struct regs *regs, const char *what, uintptr_t addr)
{
	struct thread *t = current;

	panic_begin();
	pr_err("panic: %s (address %016lx) on cpu%u, thread %s", what, addr, cpu_id(),
	       t ? t->name : "(none)");
	regs_print(regs);
	/* After a call of something that is no code, the caller is known from the stack only. */
	if (!is_kernel_text(regs->rip) && !(regs->rsp & 7) && kernel_mapped(regs->rsp))
		backtrace_from(*(uint64_t *)regs->rsp, regs->rbp, 32);
	else
		backtrace_from(regs->rip, regs->rbp, 32);
	panic_end();
}

/*
 * Machine check: say what the banks hold and stop.  Intel SDM volume 3,
 * chapter 16: bank i has its status at 0x401 + 4i, its address one further.
 */
static void machine_check(struct regs *regs)
{
	unsigned banks = rdmsr(MSR_MCG_CAP) & 255;

	panic_begin();
	pr_err("panic: machine check on cpu%u, %u banks", cpu_id(), banks);
	for (unsigned i = 0; i < banks; i++) {
		uint64_t status = rdmsr(MSR_MC0_STATUS + 4 * i);

		if (status >> 63)
			pr_err("bank %u: status %016lx address %016lx", i, status,
			       status & (1UL << 58) ? rdmsr(MSR_MC0_STATUS + 4 * i + 1) : 0);
	}
	regs_print(regs);
	panic_end();
}

/* Reads and clears what the banks kept over a warm reset: it tells about the last crash. */
void machine_check_leftovers(void)
{
	unsigned banks = cpu_features.mce ? rdmsr(MSR_MCG_CAP) & 255 : 0;

	for (unsigned i = 0; i < banks; i++) {
		uint64_t status = rdmsr(MSR_MC0_STATUS + 4 * i);

		if (!(status >> 63))
			continue;
		pr_warn("machine check from before this boot: bank %u status %016lx", i, status);
		wrmsr(MSR_MC0_STATUS + 4 * i, 0);
	}
}

static void double_fault(struct regs *regs)
{
	uintptr_t sp = regs->rsp, cr2 = read_cr2();

	/* The push that failed was just below the stack pointer. */
	if (kstack_is_guard(cr2) || kstack_is_guard(sp - 8))
		die(regs, "kernel stack overflow: guard page hit", cr2);
	die(regs, "double fault", cr2);
}

static void kernel_exception(struct regs *regs, unsigned v)
{
	if (v == X_BP && static_key_trap(regs))
		return;
	if (fixup_exception(regs))
		return;
	die(regs, trap_name(v), 0);
}

extern char exit_user_iretq[]; /* entry.asm */

/*
 * The last instruction before user mode faulted: the program has impossible
 * registers (a signal frame it forged).  What iretq was to load is still at the
 * top of the stack, and the other registers are the program's already; put
 * both together again and let the program have its exception.
 */
static void __noreturn iretq_fault(struct regs *regs, unsigned v)
{
	struct regs *u = user_regs(current);
	uint64_t error = regs->error;

	memmove(u, regs, offsetof(struct regs, rip));
	irq_enable();
	user_exception(u, (int)v, error);
	enter_user(u);
}

static void exception(struct regs *regs, unsigned v)
{
	uintptr_t addr;

	if (unlikely(regs->rip == (uintptr_t)exit_user_iretq))
		iretq_fault(regs, v);
	switch (v) {
	case X_PF:
		addr = read_cr2();
		page_fault(regs, addr, (unsigned)regs->error);
		return;
	case X_NMI:
		nmi_handler(regs);
		return;
	case X_DF:
		double_fault(regs);
		return;
	case X_MC:
		machine_check(regs);
		return;
	}
	if (regs_from_user(regs)) {
		irq_enable();
		user_exception(regs, (int)v, regs->error);
		irq_disable();
		return;
	}
	if (v == X_DB) { /* a watchpoint or single step left over from a program */
		regs->rflags &= ~RFLAGS_TF;
		return;
	}
	kernel_exception(regs, v);
}

/* From entry.asm, interrupts off. */
void trap_dispatch(struct regs *regs)
{
	unsigned v = (unsigned)regs->vector;

	if (v >= 32)
		interrupt(regs, v);
	else
		exception(regs, v);
}

static bool user_work_pending(void)
{
	return need_resched() || user_work(current);
}

void exit_to_user(struct regs *regs)
{
	while (user_work_pending()) {
		irq_enable();
		return_to_user(regs);
		irq_disable();
	}
}
