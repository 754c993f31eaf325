/* SPDX-License-Identifier: MIT */
/*
 * The registers that every entry into the kernel saves on the stack.
 *
 * What:      exceptions, interrupts and system calls all push this one layout.
 *            On entry from user mode it lies at the very top of the thread's
 *            kernel stack, so user_regs() finds it without a pointer.
 * vector:    0-255 from the IDT; REGS_SYSCALL for a system call.
 * error:     the CPU's error code, 0 where there is none; for a system call
 *            its number (what Linux calls orig_rax).
 */
#ifndef ARCH_X86_64_REGS_H
#define ARCH_X86_64_REGS_H

#include "kernel/types.h"

struct regs {
	uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8;
	uint64_t rax, rcx, rdx, rsi, rdi;
	uint64_t vector, error;
	uint64_t rip, cs, rflags, rsp, ss; /* as the CPU pushes them */
};

#define REGS_SYSCALL 256 /* vector of a system call */

_Static_assert(sizeof(struct regs) == 22 * 8, "entry code pushes 22 words");

/* Selectors; user code follows user data because sysret wants it so. */
#define SEL_KERNEL_CODE 0x08
#define SEL_KERNEL_DATA 0x10
#define SEL_USER_DATA   0x1b /* 0x18 | 3 */
#define SEL_USER_CODE   0x23 /* 0x20 | 3 */
#define SEL_TSS         0x28 /* two slots */
#define SEL_CPU_NUMBER  0x3b /* limit holds the CPU number, for getcpu */
/* IA32_STAR: sysret base 0x10 (data +8 = 0x18, code +16 = 0x20), syscall base 0x08. */
#define STAR_VALUE ((0x13ULL << 48) | (0x08ULL << 32))

#define RFLAGS_CF (1UL << 0)
#define RFLAGS_TF (1UL << 8)
#define RFLAGS_IF (1UL << 9)
#define RFLAGS_DF (1UL << 10)
#define RFLAGS_NT (1UL << 14)
#define RFLAGS_RF (1UL << 16)
#define RFLAGS_AC (1UL << 18)

static inline bool regs_from_user(const struct regs *r)
{
	return (r->cs & 3) == 3;
}

/**
 * enter_user - leave the kernel with these registers
 * @regs: user registers, at the top of the current kernel stack
 *
 * Runs the work that is pending before user mode (exit_to_user()), then iretq.
 * Context: thread, any interrupt state; the rest of the kernel stack is lost.
 */
void __noreturn enter_user(struct regs *regs);

/*
 * exit_to_user - work before going back to user mode; called by all exits with
 * interrupts off, returns with interrupts off (return_to_user() runs with
 * interrupts on until nothing is pending).
 */
void exit_to_user(struct regs *regs);

/* Hooks that other parts implement. */
void return_to_user(struct regs *regs);                       /* signals, giving way; interrupts on */
void page_fault(struct regs *regs, uintptr_t addr, unsigned err); /* any; err: PF_* bits */
void user_exception(struct regs *regs, int vector, unsigned long error); /* from user mode, interrupts on */

#define PF_PRESENT (1u << 0) /* protection violation, not a missing page */
#define PF_WRITE   (1u << 1)
#define PF_USER    (1u << 2)
#define PF_RSVD    (1u << 3)
#define PF_INSTR   (1u << 4)

/* Prints registers into the log. */
void regs_print(const struct regs *regs);
/**
 * fixup_exception - continue at the fix-up address if @regs->rip may fault
 *
 * The table is section "extable": pairs of 64-bit addresses, fault and fix-up.
 * Return: true if @regs->rip was changed.  Context: exception.
 */
bool fixup_exception(struct regs *regs);
void __noreturn die(struct regs *regs, const char *what, uintptr_t addr); /* panic with these registers */

#endif /* ARCH_X86_64_REGS_H */
