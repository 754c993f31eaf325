/* SPDX-License-Identifier: MIT */
/*
 * Page faults: user memory is the address space's business (mm/vm_fault.c); a
 * copy routine that faults on a bad address goes to its fix-up; everything else
 * in the kernel is a bug.
 */
#include "arch/arch.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/regs.h"
#include "kernel/counts.h"
#include "kernel/log.h"
#include "kernel/process.h"
#include "kernel/signal.h"
#include "kernel/trace.h"
#include "mm/memcg.h"
#include "mm/vm.h"
#include "mm/vmalloc.h"

/* si_code values (Linux ABI). */
#define SEGV_MAPERR 1
#define SEGV_ACCERR 2
#define BUS_ADRERR  2

static const char *kernel_fault_name(uintptr_t addr, unsigned err)
{
	if (kstack_is_guard(addr))
		return "kernel stack overflow: guard page hit";
	if (addr < PAGE_SIZE)
		return "kernel followed a null pointer";
	if (addr < USER_TOP)
		return err & PF_INSTR ? "kernel executed a user address" :
					"kernel touched user memory outside the copy routines";
	if (err & PF_INSTR)
		return "kernel executed memory that is not code";
	if (err & PF_PRESENT)
		return "kernel wrote to memory that is read-only";
	return "kernel touched memory that is not mapped";
}

static void user_fault_failed(uintptr_t addr, int error)
{
	switch (error) {
	case -EACCES:
		signal_fault(SIGSEGV, SEGV_ACCERR, addr);
		break;
	case -EIO:
		signal_fault(SIGBUS, BUS_ADRERR, addr);
		break;
	case -ENOMEM:
		/* The group's or the machine's memory is used up and nothing else could be killed. */
		if (!kill_pending(current)) {
			pr_warn("%s[%d]: no memory for a page at %lx: killed", current->name,
				current->tid, addr);
			signal_kill(current_process());
		}
		break;
	default:
		signal_fault(SIGSEGV, SEGV_MAPERR, addr);
	}
}

/**
 * page_fault - from trap_dispatch(), interrupts off, returns so
 *
 * Interrupts are on while a user address is looked after, if they were on where
 * the fault happened.
 */
void page_fault(struct regs *regs, uintptr_t addr, unsigned err)
{
	bool user = regs_from_user(regs);
	struct vm_space *space = current ? current->space : NULL;
	unsigned flags = (err & PF_WRITE ? FAULT_WRITE : 0) | (err & PF_INSTR ? FAULT_EXEC : 0) |
			 (user ? FAULT_USER : 0);
	int error;

	if (err & PF_RSVD)
		die(regs, "page table is corrupt (reserved bit)", addr);
	if (!user) {
		if (addr >= USER_TOP || !space || !(regs->rflags & RFLAGS_IF) || (err & PF_INSTR) ||
		    (cpu_features.smap && !(regs->rflags & RFLAGS_AC))) {
			if (fixup_exception(regs))
				return;
			die(regs, kernel_fault_name(addr, err), addr);
		}
	} else if (addr >= USER_TOP || !space) {
		irq_enable();
		signal_fault(SIGSEGV, SEGV_MAPERR, addr);
		irq_disable();
		return;
	}
	irq_enable();
	kernel_count(page_faults);
	trace(page_fault, addr, err);
	memcg_count(current_owner(), MEMCG_PGFAULT, 1);
	error = vm_fault(space, addr, flags);
	if (error && user)
		user_fault_failed(addr, error);
	irq_disable();
	if (error && !user && !fixup_exception(regs))
		die(regs, kernel_fault_name(addr, err), addr);
}
