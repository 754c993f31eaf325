/* SPDX-License-Identifier: MIT */
/*
 * Clocks and sleeping.
 *
 * All clocks are clock_ns() (time since boot), with an offset for those that
 * count from 1970; CPU-time clocks come from the scheduler's figures.
 */
#include "kernel/process_int.h"
#include "kernel/errno.h"
#include "kernel/rusage.h"
#include "kernel/sys_time.h"
#include "kernel/syscall.h"

int timespec_to_ns(const struct timespec64 __user *uts, uint64_t *ns)
{
	struct timespec64 ts;

	if (copy_from_user(&ts, uts, sizeof(ts)))
		return -EFAULT;
	return timespec_value(&ts, ns);
}

int timespec_value(const struct timespec64 *ts, uint64_t *ns)
{
	if (ts->sec < 0 || ts->nsec < 0 || ts->nsec >= (int64_t)NSEC_PER_SEC)
		return -EINVAL;
	if (ts->sec >= INT64_MAX / (int64_t)NSEC_PER_SEC - 1)
		*ns = INT64_MAX; /* 292 years: for ever */
	else
		*ns = (uint64_t)ts->sec * NSEC_PER_SEC + (uint64_t)ts->nsec;
	return 0;
}

uint64_t deadline_after(uint64_t ns)
{
	uint64_t now = clock_ns();

	return ns < UINT64_MAX - 1 - now ? now + ns : UINT64_MAX - 1;
}

int deadline_from_timespec(const struct timespec64 __user *ts, uint64_t *deadline)
{
	uint64_t ns;
	int err;

	if (!ts) {
		*deadline = UINT64_MAX;
		return 0;
	}
	err = timespec_to_ns(ts, &ns);
	if (!err)
		*deadline = deadline_after(ns);
	return err;
}

struct timespec64 timespec_from_ns(uint64_t ns)
{
	return (struct timespec64){ (int64_t)(ns / NSEC_PER_SEC), (int64_t)(ns % NSEC_PER_SEC) };
}

/* A CPU-time clock named by a number: bits 0-1 what, bit 2 thread, the rest ~id. */
static int cpu_clock(int which, uint64_t *ns)
{
	pid_t id = ~(which >> 3);
	uint64_t user = 0, system = 0;

	if ((which & 3) == 3)
		return -EINVAL;
	if (which & 4) {
		if (id && id != current->tid)
			return -EINVAL;
		thread_times(current, &user, &system);
	} else {
		struct process *p = id ? process_find_get(id) : NULL;

		if (id && !p)
			return -EINVAL;
		process_times(p ? p : current->process, &user, &system);
		if (p)
			process_put(p);
	}
	*ns = user + ((which & 3) == 1 ? 0 : system);
	return 0;
}

int clock_read(int which, uint64_t *ns)
{
	switch (which) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_REALTIME_ALARM:
	case CLOCK_TAI:
		*ns = clock_ns() + clock_realtime_offset_ns();
		return 0;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
	case CLOCK_BOOTTIME_ALARM:
		*ns = clock_ns();
		return 0;
	case CLOCK_PROCESS_CPUTIME_ID:
		return cpu_clock(~0 << 3 | 2, ns);
	case CLOCK_THREAD_CPUTIME_ID:
		return cpu_clock(~0 << 3 | 4 | 2, ns);
	default:
		return which < 0 ? cpu_clock(which, ns) : -EINVAL;
	}
}

bool clock_is_realtime(int which)
{
	return which == CLOCK_REALTIME || which == CLOCK_REALTIME_ALARM || which == CLOCK_TAI;
}

SYSCALL(clock_gettime, int which, struct timespec64 __user *out)
{
	uint64_t ns;
	int err = clock_read(which, &ns);

	return err ? err : put_user(timespec_from_ns(ns), out);
}

SYSCALL(clock_getres, int which, struct timespec64 __user *out)
{
	uint64_t ns;
	int err = clock_read(which, &ns);

	if (err || !out)
		return err;
	return put_user(((struct timespec64){ 0, 1 }), out);
}

/* The machine's clock cannot be set (docs/process.md). */
SYSCALL(clock_settime, int which, const struct timespec64 __user *ts)
{
	uint64_t ns;
	int err = timespec_to_ns(ts, &ns);

	if (err)
		return err;
	return clock_is_realtime(which) ? -EPERM : -EINVAL;
}

SYSCALL(settimeofday, const struct timeval64 __user *tv, const void __user *tz)
{
	struct timeval64 v;

	if (tv && copy_from_user(&v, tv, sizeof(v)))
		return -EFAULT;
	return tv ? -EPERM : 0;
}

SYSCALL(gettimeofday, struct timeval64 __user *tv, int32_t __user *tz)
{
	if (tv && put_user(timeval_from_ns(clock_ns() + clock_realtime_offset_ns()), tv))
		return -EFAULT;
	if (tz && (put_user(0, tz) || put_user(0, tz + 1)))
		return -EFAULT;
	return 0;
}

SYSCALL(time, int64_t __user *out)
{
	int64_t now = (int64_t)((clock_ns() + clock_realtime_offset_ns()) / NSEC_PER_SEC);

	if (out && put_user(now, out))
		return -EFAULT;
	return now;
}

/* Sleeps until @deadline; on a signal tells @rem what was left. */
static long sleep_until(uint64_t deadline, struct timespec64 __user *rem)
{
	uint64_t now;

	if (!thread_sleep_until(deadline, true))
		return 0;
	now = clock_ns();
	if (now >= deadline)
		return 0;
	if (rem && put_user(timespec_from_ns(deadline - now), rem))
		return -EFAULT;
	return -ERESTART_RESTARTBLOCK;
}

static long restart_sleep(struct user_thread *u)
{
	return sleep_until(u->restart_arg[0], (struct timespec64 *)u->restart_arg[1]);
}

static long do_nanosleep(int which, int flags, const struct timespec64 __user *req,
			 struct timespec64 __user *rem)
{
	struct user_thread *u = current_user();
	uint64_t ns, now, deadline;
	int err = clock_read(which, &now);
	long r;

	if (err)
		return err;
	if (which == CLOCK_THREAD_CPUTIME_ID || which < 0 || which == CLOCK_PROCESS_CPUTIME_ID)
		return which == CLOCK_THREAD_CPUTIME_ID ? -EINVAL : -ENOTSUP;
	err = timespec_to_ns(req, &ns);
	if (err)
		return err;
	if (flags & 1) { /* TIMER_ABSTIME */
		if (clock_is_realtime(which))
			ns -= min(ns, clock_realtime_offset_ns());
		r = sleep_until(ns, NULL);
		return r == -ERESTART_RESTARTBLOCK ? -ERESTARTNOHAND : r;
	}
	deadline = deadline_after(ns);
	r = sleep_until(deadline, rem);
	if (r == -ERESTART_RESTARTBLOCK) {
		u->restart_fn = restart_sleep;
		u->restart_arg[0] = deadline;
		u->restart_arg[1] = (uintptr_t)rem;
	}
	return r;
}

SYSCALL(nanosleep, const struct timespec64 __user *req, struct timespec64 __user *rem)
{
	return do_nanosleep(CLOCK_MONOTONIC, 0, req, rem);
}

SYSCALL(clock_nanosleep, int which, int flags, const struct timespec64 __user *req,
	struct timespec64 __user *rem)
{
	return do_nanosleep(which, flags, req, rem);
}

SYSCALL(restart_syscall, void)
{
	struct user_thread *u = current_user();
	long (*fn)(struct user_thread *u) = u->restart_fn;

	return fn ? fn(u) : -EINTR;
}
