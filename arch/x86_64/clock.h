/* SPDX-License-Identifier: MIT */
/* Clock and local timer inside the machine part. */
#ifndef ARCH_X86_64_CLOCK_H
#define ARCH_X86_64_CLOCK_H

#include "kernel/types.h"

void clock_start(void);    /* first thing at entry: time 0 */
void clock_init_cpu(void); /* local timer of this CPU, after calibration */
uint64_t clock_tsc_hz(void);

#endif /* ARCH_X86_64_CLOCK_H */
