/* SPDX-License-Identifier: MIT */
/* The page counter as Linux 6.0 lays it out: 112 bytes, no alignment. */
#define PC_NAME   packed
#define PC_PACKED 1
#include "mm/page_counter_impl.h"

_Atomic bool page_counter_protect_xchg;
