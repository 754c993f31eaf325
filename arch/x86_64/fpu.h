/* SPDX-License-Identifier: MIT */
/*
 * FPU and vector state of user threads.
 *
 * The kernel never touches these registers, so they change hands only between
 * user threads: at each switch, or when a program first uses them (fpu.c).
 * Kernel threads (arch_fpu NULL) leave them alone, and a thread that comes back
 * to the CPU that still holds its state loads nothing.
 */
#ifndef ARCH_X86_64_FPU_H
#define ARCH_X86_64_FPU_H

#include "kernel/thread.h"

/* Turns the unit on and fixes the layout (boot CPU first).  On each CPU at start-up. */
void fpu_init_cpu(void);
/* Called by arch_switch()'s C half, interrupts off. */
void fpu_switch(struct thread *prev, struct thread *next);

/* Device-not-available exception of a program: true if that was the state's turn to be loaded. */
bool fpu_trap(void);

int fpu_thread_init(struct thread *t);  /* clean state for a new program: 0, -ENOMEM */
int fpu_thread_copy(struct thread *t);  /* the current thread's state: 0, -ENOMEM */
void fpu_thread_reset(void);            /* execve: current thread starts clean */
void fpu_thread_free(struct thread *t); /* from arch_thread_free() */

size_t fpu_frame_size(void); /* bytes that fpu_save_user() writes; the address is 64-aligned */
int fpu_save_user(void *dst);       /* current's state to user memory: 0, -EFAULT */
int fpu_load_user(const void *src); /* NULL: clean state.  0, -EFAULT (bad address or image), -ENOMEM */

#endif /* ARCH_X86_64_FPU_H */
