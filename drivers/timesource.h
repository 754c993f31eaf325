/* SPDX-License-Identifier: MIT */
/*
 * Counters of known frequency that the TSC is calibrated against, and the
 * battery-backed clock.
 */
#ifndef DRIVERS_TIMESOURCE_H
#define DRIVERS_TIMESOURCE_H

#include "kernel/types.h"

struct timesource {
	const char *name;
	uint64_t hz;
	uint64_t mask; /* the counter wraps past this */
	uint64_t (*read)(void);
};

/* Best first: HPET, PM timer, PIT.  Return: how many. */
unsigned timesources_find(const struct timesource **out, unsigned max);

/* Seconds since 1970 from the real-time clock, in ns; 0 if it cannot be read.  Bounded wait. */
uint64_t rtc_read_ns(void);

#endif /* DRIVERS_TIMESOURCE_H */
