/* SPDX-License-Identifier: MIT */
/*
 * Entering user mode: the registers that make SYSCALL work, what a program
 * starts with, and segment bases.
 */
#include "arch/x86_64/user.h"
#include "arch/x86_64/cpu.h"
#include "kernel/string.h"

extern char syscall_entry[]; /* syscall_entry.asm */

void syscall_init_cpu(void)
{
	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_SCE);
	wrmsr(MSR_STAR, STAR_VALUE);
	wrmsr(MSR_LSTAR, (uintptr_t)syscall_entry);
	/* Cleared on entry: interrupts off until the stack is the kernel's; string direction up. */
	wrmsr(MSR_FMASK, RFLAGS_TF | RFLAGS_IF | RFLAGS_DF | RFLAGS_NT | RFLAGS_AC | (3UL << 12));
}

void user_regs_start(struct regs *r, uintptr_t entry, uintptr_t sp)
{
	memset(r, 0, sizeof(*r));
	r->rip = entry;
	r->rsp = sp;
	r->cs = SEL_USER_CODE;
	r->ss = SEL_USER_DATA;
	r->rflags = RFLAGS_IF | 2; /* bit 1 always reads as one */
}

/* Interrupts off: a switch in between would load the old value again. */
void user_set_fs_base(uint64_t base)
{
	irqstate_t s = irq_save();

	current->user_fs_base = base;
	wrmsr(MSR_FS_BASE, base);
	irq_restore(s);
}

void user_set_gs_base(uint64_t base)
{
	irqstate_t s = irq_save();

	current->user_gs_base = base;
	wrmsr(MSR_KERNEL_GS_BASE, base); /* what swapgs gives to user mode */
	irq_restore(s);
}
