/* SPDX-License-Identifier: MIT */
/*
 * Threads on this machine: the first frame of a new one, and the switch.
 */
#include "arch/arch.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/fpu.h"
#include "arch/x86_64/regs.h"
#include "kernel/log.h"
#include "kernel/thread.h"
#include "mm/vm.h"

/* entry.asm */
struct thread *switch_stacks(struct thread *prev, struct thread *next);
void thread_start_asm(void);
void __noreturn thread_first_switch(struct thread *prev, void (*entry)(void *), void *arg);

/* What switch_stacks() pops, lowest address first. */
struct switch_frame {
	uint64_t r15, r14, r13, r12, rbx, rbp, ret;
};

void arch_thread_init(struct thread *t, void (*entry)(void *), void *arg)
{
	uintptr_t top = (uintptr_t)t->stack + t->stack_size;
	struct switch_frame *f;

	/* Room for the user registers that enter_user() and system calls keep at the top. */
	top -= sizeof(struct regs) + 64;
	top = ALIGN_DOWN(top, 16UL);
	f = (struct switch_frame *)top - 1;
	*f = (struct switch_frame){ .r12 = (uint64_t)entry,
				    .r13 = (uint64_t)arg,
				    .ret = (uint64_t)thread_start_asm };
	t->arch_sp = (uintptr_t)f;
}

void thread_first_switch(struct thread *prev, void (*entry)(void *), void *arg)
{
	sched_finish_switch(prev);
	irq_enable();
	entry(arg);
	panic("thread %s: its function returned", current->name);
}

/**
 * arch_switch - see arch/arch.h
 *
 * Kernel threads keep the user half of whoever ran before (vm_activate(NULL)
 * decides); segment bases and FPU state change only between user
 * threads.
 */
struct thread *arch_switch(struct thread *prev, struct thread *next)
{
	uintptr_t top = (uintptr_t)next->stack + next->stack_size;

	fpu_switch(prev, next);
	vm_activate(next->space);
	if (next->space) {
		wrmsr(MSR_FS_BASE, next->user_fs_base);
		wrmsr(MSR_KERNEL_GS_BASE, next->user_gs_base);
	}
	tss_set_kernel_sp(top);
	__asm__ volatile("movq %0, %%gs:%c1"
			 :
			 : "r"(top), "i"(offsetof(struct cpu_local, kernel_sp))
			 : "memory");
	set_current_thread(next);
	return switch_stacks(prev, next);
}

void arch_thread_free(struct thread *t)
{
	fpu_thread_free(t);
}
