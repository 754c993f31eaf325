/* SPDX-License-Identifier: MIT */
/* Clocks and sleeping. */
#include <errno.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "libc/syscall.h"

#define LINUX_CLOCK_REALTIME  0
#define LINUX_CLOCK_MONOTONIC 1
#define LINUX_CLOCK_PROCESS   2

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int lid = id == CLOCK_MONOTONIC		   ? LINUX_CLOCK_MONOTONIC
		  : id == CLOCK_PROCESS_CPUTIME_ID ? LINUX_CLOCK_PROCESS
						   : LINUX_CLOCK_REALTIME;

	return (int)sysret(sys_call2(NR_clock_gettime, lid, ts));
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec ts;

	(void)tz;
	if (clock_gettime(CLOCK_REALTIME, &ts) < 0)
		return -1;
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

int nanosleep(const struct timespec *req, struct timespec *rem)
{
	return (int)sysret(sys_call2(NR_nanosleep, req, rem));
}

int usleep(useconds_t us)
{
	struct timespec ts = { us / 1000000, (long)(us % 1000000) * 1000 };

	return nanosleep(&ts, NULL);
}

unsigned sleep(unsigned seconds)
{
	struct timespec ts = { seconds, 0 }, rem = { 0, 0 };

	if (nanosleep(&ts, &rem) < 0 && errno == EINTR)
		return (unsigned)rem.tv_sec + (rem.tv_nsec ? 1 : 0);
	return 0;
}
