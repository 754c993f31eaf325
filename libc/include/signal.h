/* SPDX-License-Identifier: MIT */
/* newlib's signal.h and what it does not define. */
#ifndef _TALLY_SIGNAL_H
#define _TALLY_SIGNAL_H

#include_next <signal.h>

/* Values as Linux passes them. */
#define SA_NODEFER   0x40000000
#define SA_RESTART   0x10000000
#define SA_RESETHAND 0x80000000

#endif
