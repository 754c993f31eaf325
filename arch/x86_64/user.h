/* SPDX-License-Identifier: MIT */
/*
 * User mode on x86_64: where a thread's user registers lie, what a program
 * starts with, and the frame that a signal handler runs on.
 */
#ifndef ARCH_X86_64_USER_H
#define ARCH_X86_64_USER_H

#include "kernel/thread.h"
#include "arch/x86_64/regs.h"

struct siginfo_k;
struct sigaction_k;
struct user_thread;

/* The registers of @t's last entry from user mode: the top of its kernel stack. */
static inline struct regs *user_regs(const struct thread *t)
{
	return (struct regs *)((uintptr_t)t->stack + t->stack_size) - 1;
}

/* Sets the registers that make SYSCALL enter syscall_entry.  On each CPU at start-up. */
void syscall_init_cpu(void);

/* A program's first registers: everything zero but entry point and stack. */
void user_regs_start(struct regs *r, uintptr_t entry, uintptr_t sp);

/* Segment bases of the current thread; the address was checked. */
void user_set_fs_base(uint64_t base);
void user_set_gs_base(uint64_t base);

/**
 * signal_frame_push - make @regs enter a signal handler
 * @mask: signal mask that rt_sigreturn is to restore
 * Return: 0, or -EFAULT if the stack cannot be written.
 */
int signal_frame_push(struct regs *regs, const struct sigaction_k *sa, const struct siginfo_k *info,
		      uint64_t mask);
/* Undoes it: 0 with @regs, FPU state and @mask from the frame, or -EFAULT. */
int signal_frame_pop(struct regs *regs, uint64_t *mask);

#endif /* ARCH_X86_64_USER_H */
