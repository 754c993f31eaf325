/* SPDX-License-Identifier: MIT */
/* QEMU's debug console (isa-debugcon, port 0xe9): where the kernel log goes under the runner. */
#ifndef DRIVERS_DEBUGCON_H
#define DRIVERS_DEBUGCON_H

#include "kernel/types.h"

bool debugcon_present(void); /* it answers 0xe9 when read */
void debugcon_init(void);    /* registers the log sink if it is there */

#endif /* DRIVERS_DEBUGCON_H */
