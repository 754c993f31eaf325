/* SPDX-License-Identifier: MIT */
/*
 * Timers that send signals: alarm(), setitimer() and timer_create().
 *
 * A timer function runs in its CPU's timer thread and may not sleep; it sends
 * the signal and arms itself again from the time it was due, so that periods do
 * not drift.  ITIMER_VIRTUAL and ITIMER_PROF are kept but never fire (there is
 * no tick to measure them by).
 *
 * Locks: posix_timers->lock over the table; a timer's fields are changed only
 *        after timer_cancel_sync(), under the table's mutex.
 */
#include "kernel/process_int.h"
#include "kernel/errno.h"
#include "kernel/rusage.h"
#include "kernel/string.h"
#include "kernel/sys_time.h"
#include "kernel/timer.h"
#include "mm/slab.h"

#define MAX_TIMERS 64 /* timer_create() of one process */

enum { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF };
enum { SIGEV_SIGNAL, SIGEV_NONE, SIGEV_THREAD, SIGEV_THREAD_ID = 4 };
#define TIMER_ABSTIME 1

struct itimer {
	struct timer timer;
	struct process *process; /* outlives the timer: itimers_exit() */
	struct mutex lock;       /* setitimer() against setitimer() */
	_Atomic uint64_t interval;
	uint64_t idle[2][2];     /* ITIMER_VIRTUAL, ITIMER_PROF: as they were set */
};

struct posix_timer {
	struct timer timer;
	struct process *process;
	int clock, notify, signo;
	struct thread *thread; /* SIGEV_THREAD_ID: referenced */
	uint64_t value;
	uint64_t interval;
	_Atomic int overrun;
	int id;
};

struct posix_timers {
	struct mutex lock;
	struct posix_timer *timer[MAX_TIMERS];
};

/*
 * For good, if the timer's interval is 0 by now: a function that was running
 * may have armed it once more while the first call waited.
 */
static void stop_timer(struct timer *t)
{
	timer_cancel_sync(t);
	timer_cancel_sync(t);
}

/* Between two signals of one timer: less would keep the CPU's timer thread busy for nothing. */
#define LEAST_GAP (50 * NSEC_PER_USEC)

/* The next time after @now that is a whole number of intervals behind @due. */
static uint64_t next_due(uint64_t due, uint64_t interval, uint64_t now, uint64_t *missed)
{
	uint64_t n = now > due ? (now - due) / interval : 0;

	*missed = n;
	return due + (n + 1) * interval;
}

static void itimer_fire(struct timer *t)
{
	struct itimer *it = container_of(t, struct itimer, timer);
	uint64_t interval = atomic_load_explicit(&it->interval, memory_order_relaxed);

	if (interval) {
		uint64_t now = clock_ns();

		timer_set(t, now + max(interval, LEAST_GAP));
	}
	signal_process(it->process, SIGALRM);
}

static struct itimer *itimer_get(struct process *p)
{
	struct itimer *it = p->alarm, *other;

	if (it)
		return it;
	it = kzalloc(sizeof(*it), GFP_ACCOUNT);
	if (!it)
		return NULL;
	timer_init(&it->timer, itimer_fire);
	mutex_init(&it->lock, "itimer");
	it->process = p;
	spin_lock(&process_lock);
	other = p->alarm;
	if (!other)
		p->alarm = it;
	spin_unlock(&process_lock);
	if (other)
		kfree(it);
	return other ? other : it;
}

static uint64_t time_left(struct timer *t)
{
	uint64_t due = atomic_load_explicit(&t->deadline, memory_order_relaxed), now = clock_ns();

	if (!due)
		return 0;
	return due > now ? due - now : 1;
}

/* Arms ITIMER_REAL; the old setting in @old_value and @old_interval. */
static int itimer_set(uint64_t value, uint64_t interval, uint64_t *old_value,
		      uint64_t *old_interval)
{
	struct process *p = current->process;
	struct itimer *it;

	*old_value = *old_interval = 0;
	if (!value && !p->alarm)
		return 0;
	it = itimer_get(p);
	if (!it)
		return -ENOMEM;
	mutex_lock(&it->lock);
	*old_value = time_left(&it->timer);
	*old_interval = atomic_load_explicit(&it->interval, memory_order_relaxed);
	atomic_store_explicit(&it->interval, 0, memory_order_relaxed);
	stop_timer(&it->timer);
	atomic_store_explicit(&it->interval, value ? interval : 0, memory_order_relaxed);
	if (value)
		timer_set(&it->timer, deadline_after(value));
	mutex_unlock(&it->lock);
	return 0;
}

SYSCALL(alarm, unsigned seconds)
{
	uint64_t old, interval;
	int err = itimer_set(seconds * NSEC_PER_SEC, 0, &old, &interval);

	if (err)
		return 0; /* the call cannot fail: no memory looks like no alarm before */
	old = (old + NSEC_PER_SEC / 2) / NSEC_PER_SEC;
	return (long)old;
}

struct itimerval_k {
	struct timeval64 interval, value;
};

static int timeval_to_ns(const struct timeval64 *tv, uint64_t *ns)
{
	if (tv->sec < 0 || tv->usec < 0 || tv->usec >= 1000000)
		return -EINVAL;
	*ns = (uint64_t)min(tv->sec, (int64_t)(INT64_MAX / NSEC_PER_SEC - 1)) * NSEC_PER_SEC +
	      (uint64_t)tv->usec * NSEC_PER_USEC;
	return 0;
}

SYSCALL(getitimer, int which, struct itimerval_k __user *out)
{
	struct itimer *it = current->process->alarm;
	struct itimerval_k v = { 0 };

	if (which < ITIMER_REAL || which > ITIMER_PROF)
		return -EINVAL;
	if (it && which == ITIMER_REAL) {
		v.value = timeval_from_ns(time_left(&it->timer));
		v.interval =
			timeval_from_ns(atomic_load_explicit(&it->interval, memory_order_relaxed));
	} else if (it) {
		v.value = timeval_from_ns(it->idle[which - 1][0]);
		v.interval = timeval_from_ns(it->idle[which - 1][1]);
	}
	return copy_to_user(out, &v, sizeof(v));
}

SYSCALL(setitimer, int which, const struct itimerval_k __user *in, struct itimerval_k __user *out)
{
	struct itimerval_k v = { 0 };
	uint64_t value, interval, old_value = 0, old_interval = 0;
	struct itimer *it;

	if (which < ITIMER_REAL || which > ITIMER_PROF)
		return -EINVAL;
	if (in && copy_from_user(&v, in, sizeof(v)))
		return -EFAULT;
	if (timeval_to_ns(&v.value, &value) || timeval_to_ns(&v.interval, &interval))
		return -EINVAL;
	if (which == ITIMER_REAL) {
		int err = itimer_set(value, interval, &old_value, &old_interval);

		if (err)
			return err;
	} else {
		it = itimer_get(current->process);
		if (!it)
			return -ENOMEM;
		mutex_lock(&it->lock);
		old_value = it->idle[which - 1][0];
		old_interval = it->idle[which - 1][1];
		it->idle[which - 1][0] = value;
		it->idle[which - 1][1] = interval;
		mutex_unlock(&it->lock);
	}
	v.value = timeval_from_ns(old_value);
	v.interval = timeval_from_ns(old_interval);
	return out ? copy_to_user(out, &v, sizeof(v)) : 0;
}

/* ---- timer_create() ---- */

static void posix_fire(struct timer *t)
{
	struct posix_timer *pt = container_of(t, struct posix_timer, timer);
	struct siginfo_k info = { .signo = pt->signo, .code = SI_TIMER };
	uint64_t missed = 0;

	if (pt->interval) {
		uint64_t now = clock_ns();

		pt->value = next_due(pt->value, pt->interval, now, &missed);
		/* What is due before is an overrun. */
		timer_set(t, max(pt->value, now + LEAST_GAP));
	}
	atomic_store_explicit(&pt->overrun, (int)min(missed, (uint64_t)INT_MAX),
			      memory_order_relaxed);
	if (pt->notify == SIGEV_NONE)
		return;
	info.timer.tid = pt->id;
	info.timer.overrun = (int)missed;
	signal_send_info(pt->process, pt->thread, &info);
}

static struct posix_timers *timers_get(struct process *p)
{
	struct posix_timers *ts = p->posix_timers, *other;

	if (ts)
		return ts;
	ts = kzalloc(sizeof(*ts), GFP_ACCOUNT);
	if (!ts)
		return NULL;
	mutex_init(&ts->lock, "posix_timers");
	spin_lock(&process_lock);
	other = p->posix_timers;
	if (!other)
		p->posix_timers = ts;
	spin_unlock(&process_lock);
	if (other)
		kfree(ts);
	return other ? other : ts;
}

/* With the table locked; NULL (and unlocked) if there is no such timer. */
static struct posix_timer *timer_lock(int id)
{
	struct posix_timers *ts = current->process->posix_timers;

	if (!ts || id < 0 || id >= MAX_TIMERS)
		return NULL;
	mutex_lock(&ts->lock);
	if (ts->timer[id])
		return ts->timer[id];
	mutex_unlock(&ts->lock);
	return NULL;
}

static void timer_unlock(void)
{
	mutex_unlock(&current->process->posix_timers->lock);
}

static void timer_destroy(struct posix_timer *pt)
{
	pt->interval = 0;
	stop_timer(&pt->timer);
	if (pt->thread)
		thread_put(pt->thread);
	kfree(pt);
}

struct sigevent_k {
	uint64_t value;
	int32_t signo, notify, tid, pad[11];
};
_Static_assert(sizeof(struct sigevent_k) == 64, "struct sigevent is ABI");

SYSCALL(timer_create, int clock, const struct sigevent_k __user *uev, int __user *out)
{
	struct sigevent_k ev = { .signo = SIGALRM, .notify = SIGEV_SIGNAL };
	struct posix_timers *ts;
	struct posix_timer *pt;
	uint64_t now;
	int id, err = clock_read(clock, &now);

	if (err)
		return err;
	if (clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID || clock < 0)
		return -ENOTSUP;
	if (uev && copy_from_user(&ev, uev, sizeof(ev)))
		return -EFAULT;
	if ((ev.notify != SIGEV_NONE && (ev.signo < 1 || ev.signo > NR_SIGNALS)) ||
	    (ev.notify != SIGEV_SIGNAL && ev.notify != SIGEV_NONE && ev.notify != SIGEV_THREAD &&
	     ev.notify != SIGEV_THREAD_ID))
		return -EINVAL;
	ts = timers_get(current->process);
	pt = kzalloc(sizeof(*pt), GFP_ACCOUNT);
	if (!ts || !pt) {
		kfree(pt);
		return -ENOMEM;
	}
	timer_init(&pt->timer, posix_fire);
	pt->process = current->process;
	pt->clock = clock;
	pt->notify = ev.notify;
	pt->signo = ev.notify == SIGEV_NONE ? SIGALRM : ev.signo;
	if (ev.notify == SIGEV_THREAD_ID) {
		pt->thread = thread_find_get(ev.tid);
		if (!pt->thread || pt->thread->process != current->process) {
			if (pt->thread)
				thread_put(pt->thread);
			kfree(pt);
			return -EINVAL;
		}
	}
	mutex_lock(&ts->lock);
	for (id = 0; id < MAX_TIMERS && ts->timer[id]; id++)
		;
	if (id < MAX_TIMERS) {
		pt->id = id;
		ts->timer[id] = pt;
	}
	mutex_unlock(&ts->lock);
	if (id == MAX_TIMERS) {
		timer_destroy(pt);
		return -EAGAIN;
	}
	return put_user(id, out);
}

struct itimerspec_k {
	struct timespec64 interval, value;
};

SYSCALL(timer_settime, int id, int flags, const struct itimerspec_k __user *in,
	struct itimerspec_k __user *out)
{
	struct itimerspec_k v, old = { { 0, 0 }, { 0, 0 } };
	uint64_t value, interval;
	struct posix_timer *pt;

	if (copy_from_user(&v, in, sizeof(v)))
		return -EFAULT;
	if (timespec_value(&v.value, &value) || timespec_value(&v.interval, &interval))
		return -EINVAL;
	pt = timer_lock(id);
	if (!pt)
		return -EINVAL;
	old.value = timespec_from_ns(time_left(&pt->timer));
	old.interval = timespec_from_ns(pt->interval);
	pt->interval = 0;
	stop_timer(&pt->timer);
	pt->interval = interval;
	if (value) {
		if (!(flags & TIMER_ABSTIME))
			value = deadline_after(value);
		else if (clock_is_realtime(pt->clock))
			value -= min(value - 1, clock_realtime_offset_ns());
		pt->value = value;
		timer_set(&pt->timer, value);
	}
	timer_unlock();
	return out ? copy_to_user(out, &old, sizeof(old)) : 0;
}

SYSCALL(timer_gettime, int id, struct itimerspec_k __user *out)
{
	struct itimerspec_k v = { { 0, 0 }, { 0, 0 } };
	struct posix_timer *pt = timer_lock(id);

	if (!pt)
		return -EINVAL;
	v.value = timespec_from_ns(time_left(&pt->timer));
	v.interval = timespec_from_ns(pt->interval);
	timer_unlock();
	return copy_to_user(out, &v, sizeof(v));
}

SYSCALL(timer_getoverrun, int id)
{
	struct posix_timer *pt = timer_lock(id);
	int n;

	if (!pt)
		return -EINVAL;
	n = atomic_load_explicit(&pt->overrun, memory_order_relaxed);
	timer_unlock();
	return n;
}

SYSCALL(timer_delete, int id)
{
	struct posix_timer *pt = timer_lock(id);

	if (!pt)
		return -EINVAL;
	current->process->posix_timers->timer[id] = NULL;
	timer_unlock();
	timer_destroy(pt);
	return 0;
}

void itimers_exec(struct process *p)
{
	struct posix_timers *ts = p->posix_timers;

	/* Alone in the process by now: no lock. */
	for (int i = 0; ts && i < MAX_TIMERS; i++) {
		if (ts->timer[i])
			timer_destroy(ts->timer[i]);
		ts->timer[i] = NULL;
	}
}

void itimers_exit(struct process *p)
{
	itimers_exec(p);
	kfree(p->posix_timers);
	p->posix_timers = NULL;
	if (p->alarm) {
		atomic_store_explicit(&p->alarm->interval, 0, memory_order_relaxed);
		stop_timer(&p->alarm->timer);
		kfree(p->alarm);
		p->alarm = NULL;
	}
}
