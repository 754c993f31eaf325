/* SPDX-License-Identifier: MIT */
/* The pieces of panic(), for machine code that has more to say (registers). */
#ifndef KERNEL_PANIC_H
#define KERNEL_PANIC_H

#include "kernel/types.h"

void panic_begin(void);
void __noreturn panic_end(void);
void __noreturn arch_halt_forever(void); /* this CPU: interrupts off, halted */

#endif /* KERNEL_PANIC_H */
