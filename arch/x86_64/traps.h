/* SPDX-License-Identifier: MIT */
/* Exceptions and back-traces inside the machine part. */
#ifndef ARCH_X86_64_TRAPS_H
#define ARCH_X86_64_TRAPS_H

#include "arch/x86_64/regs.h"

const char *trap_name(unsigned vector);
void trap_dispatch(struct regs *regs); /* from entry.asm */
void nmi_handler(struct regs *regs);
void machine_check_leftovers(void);
/* A breakpoint of a static key that is being flipped: goes on behind it.  false: not one of those. */
bool static_key_trap(struct regs *regs);

/* Logs @rip and then the callers along the frame pointers from @rbp. */
void backtrace_from(uintptr_t rip, uintptr_t rbp, unsigned depth);
bool on_emergency_stack(uintptr_t sp);

#endif /* ARCH_X86_64_TRAPS_H */
