/* SPDX-License-Identifier: MIT */
/* The page counter with usage on a cache line of its own. */
#define PC_NAME   split
#define PC_PACKED 0
#include "mm/page_counter_impl.h"
