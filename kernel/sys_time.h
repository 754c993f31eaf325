/* SPDX-License-Identifier: MIT */
/* Clock numbers and conversions, for kernel/sys_time.c and kernel/sys_itimer.c. */
#ifndef KERNEL_SYS_TIME_H
#define KERNEL_SYS_TIME_H

#include "kernel/syscall.h"

enum {
	CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID,
	CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME,
	CLOCK_REALTIME_ALARM, CLOCK_BOOTTIME_ALARM, CLOCK_TAI = 11,
};

int clock_read(int which, uint64_t *ns); /* 0, -EINVAL */
bool clock_is_realtime(int which);
int timespec_value(const struct timespec64 *ts, uint64_t *ns); /* 0, -EINVAL */
int timespec_to_ns(const struct timespec64 __user *uts, uint64_t *ns); /* 0, -EFAULT, -EINVAL */
struct timespec64 timespec_from_ns(uint64_t ns);
uint64_t deadline_after(uint64_t ns); /* clock_ns() + ns, without overflow */

#endif /* KERNEL_SYS_TIME_H */
