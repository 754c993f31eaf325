/* SPDX-License-Identifier: MIT */
/*
 * Offsets that NASM files need.  Compiled to assembly text only; the build
 * turns each marked string into a %define (mk/kernel.mk).
 */
#include "arch/arch.h"
#include "arch/x86_64/regs.h"
#include "arch/x86_64/smp_boot.h"
#include "kernel/thread.h"

#undef current /* a field is called so */

#define DEFINE(name, value) __asm__ volatile("\n# @@ " #name " %0 @@" : : "i"(value))
#define OFFSET(name, type, member) DEFINE(name, offsetof(type, member))

void asm_offsets(void);
void asm_offsets(void)
{
	OFFSET(CPU_OFFSET, struct cpu_local, offset);
	OFFSET(CPU_CURRENT, struct cpu_local, thread);
	OFFSET(CPU_KERNEL_SP, struct cpu_local, kernel_sp);
	OFFSET(CPU_USER_SP, struct cpu_local, user_sp);
	OFFSET(CPU_ID, struct cpu_local, id);
	OFFSET(CPU_SCRATCH, struct cpu_local, scratch);

	OFFSET(THREAD_STACK, struct thread, stack);
	OFFSET(THREAD_STACK_SIZE, struct thread, stack_size);
	OFFSET(THREAD_SP, struct thread, arch_sp);
	OFFSET(THREAD_FLAGS, struct thread, flags);
	OFFSET(THREAD_NEED_RESCHED, struct thread, need_resched);
	OFFSET(THREAD_FPU, struct thread, arch_fpu);

	DEFINE(REGS_SIZE, sizeof(struct regs));
	OFFSET(REGS_R15, struct regs, r15);
	OFFSET(REGS_R14, struct regs, r14);
	OFFSET(REGS_R13, struct regs, r13);
	OFFSET(REGS_R12, struct regs, r12);
	OFFSET(REGS_RBP, struct regs, rbp);
	OFFSET(REGS_RBX, struct regs, rbx);
	OFFSET(REGS_R11, struct regs, r11);
	OFFSET(REGS_R10, struct regs, r10);
	OFFSET(REGS_R9, struct regs, r9);
	OFFSET(REGS_R8, struct regs, r8);
	OFFSET(REGS_RAX, struct regs, rax);
	OFFSET(REGS_RCX, struct regs, rcx);
	OFFSET(REGS_RDX, struct regs, rdx);
	OFFSET(REGS_RSI, struct regs, rsi);
	OFFSET(REGS_RDI, struct regs, rdi);
	OFFSET(REGS_VECTOR, struct regs, vector);
	OFFSET(REGS_ERROR, struct regs, error);
	OFFSET(REGS_RIP, struct regs, rip);
	OFFSET(REGS_CS, struct regs, cs);
	OFFSET(REGS_RFLAGS, struct regs, rflags);
	OFFSET(REGS_RSP, struct regs, rsp);
	OFFSET(REGS_SS, struct regs, ss);
	DEFINE(REGS_VECTOR_SYSCALL, REGS_SYSCALL);
	DEFINE(SELECTOR_KERNEL_DATA, SEL_KERNEL_DATA);
	DEFINE(SELECTOR_USER_DATA, SEL_USER_DATA);
	DEFINE(SELECTOR_USER_CODE, SEL_USER_CODE);

	OFFSET(AP_SLOT_APIC_ID, struct ap_slot, apic_id);
	OFFSET(AP_SLOT_STACK_TOP, struct ap_slot, stack_top);
	DEFINE(AP_SLOT_SIZE, sizeof(struct ap_slot));
}
