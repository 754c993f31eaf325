/* SPDX-License-Identifier: MIT */
/* Timers: order, never early, cancel against expiry, cheap re-arming. */
#include "arch/arch.h"
#include "kernel/selftest.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "kernel/timer.h"
#include "kernel/wait.h"

#define NR_TIMERS 64

static struct shot {
	struct timer timer;
	uint64_t due;
	_Atomic uint64_t ran_at;
} shots[NR_TIMERS];
static _Atomic unsigned nr_ran;

static void shoot(struct timer *t)
{
	struct shot *s = container_of(t, struct shot, timer);

	atomic_store(&s->ran_at, clock_ns());
	atomic_fetch_add(&nr_ran, 1);
}

SELFTEST(timer_order, 5000)
{
	uint64_t start = clock_ns(), seed = 88172645463325252ULL;
	unsigned armed = 0;

	atomic_store(&nr_ran, 0);
	for (unsigned i = 0; i < NR_TIMERS; i++) {
		struct shot *s = &shots[i];

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		timer_init(&s->timer, shoot);
		atomic_store(&s->ran_at, 0);
		s->due = start + NSEC_PER_MSEC + seed % (30 * NSEC_PER_MSEC);
		timer_set(&s->timer, s->due + (i % 3 ? 0 : 50 * NSEC_PER_MSEC));
		if (i % 3 == 0)
			timer_set(&s->timer, s->due); /* earlier: moves in the heap */
		if (i % 5 == 0) {
			s->due += 20 * NSEC_PER_MSEC;
			timer_set(&s->timer, s->due); /* later: stays where it is */
		}
		armed++;
	}
	for (unsigned i = 0; i < NR_TIMERS; i += 7) {
		if (i % 2 ? timer_cancel(&shots[i].timer) : timer_disarm(&shots[i].timer)) {
			shots[i].due = 0;
			armed--;
		}
	}
	while (atomic_load(&nr_ran) < armed) {
		SELFTEST_CHECK(clock_ns() < start + 4 * NSEC_PER_SEC);
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	}
	thread_sleep_until(clock_ns() + 30 * NSEC_PER_MSEC, false);
	SELFTEST_CHECK(atomic_load(&nr_ran) == armed);
	for (unsigned i = 0; i < NR_TIMERS; i++) {
		uint64_t ran = atomic_load(&shots[i].ran_at);

		timer_cancel_sync(&shots[i].timer);
		SELFTEST_CHECK(!!ran == !!shots[i].due);
		SELFTEST_CHECK(!ran || ran + 1 >= shots[i].due);
	}
}

/* Each thread owns a timer; whatever it does, after timer_cancel_sync() the function is quiet. */
static _Atomic unsigned long fired;

struct owned {
	struct timer timer;
	_Atomic bool dead;
	bool rearm;
};

static void owned_fn(struct timer *t)
{
	struct owned *o = container_of(t, struct owned, timer);

	if (atomic_load(&o->dead))
		selftest_fail(__FILE__, __LINE__, "ran after cancel_sync");
	atomic_fetch_add(&fired, 1);
	if (o->rearm)
		timer_set(t, clock_ns() + 30000);
	if (atomic_load(&o->dead))
		selftest_fail(__FILE__, __LINE__, "runs during cancel_sync's return");
}

static void owner_crew(unsigned index)
{
	uint64_t seed = 0x9e3779b97f4a7c15ULL + index;

	for (unsigned i = 0; i < 60; i++) {
		struct owned o = { .rearm = i & 1 };

		timer_init(&o.timer, owned_fn);
		for (unsigned k = 0; k < 4; k++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			timer_set(&o.timer, clock_ns() + seed % 200000);
			if (seed & 0x10000)
				thread_sleep_until(clock_ns() + seed % 100000, false);
			if (seed & 0x20000)
				timer_disarm(&o.timer);
			if (seed & 0x40000)
				timer_cancel(&o.timer);
			if (seed & 0x80000)
				yield_cpu();
		}
		timer_cancel_sync(&o.timer);
		atomic_store(&o.dead, true);
		SELFTEST_CHECK(!timer_pending(&o.timer));
	}
}

SELFTEST(timer_cancel, 20000)
{
	atomic_store(&fired, 0);
	selftest_threads(min(nr_cpus * 2, 24u), owner_crew);
	SELFTEST_CHECK(atomic_load(&fired) > 0);
}

static void sleep_crew(unsigned index)
{
	for (unsigned i = 0; i < 5; i++) {
		uint64_t until = clock_ns() + (index + 1) * 100 * NSEC_PER_USEC;

		thread_sleep_until(until, false);
		SELFTEST_CHECK(clock_ns() >= until);
	}
}

SELFTEST(timer_sleep, 5000)
{
	selftest_threads(min(nr_cpus, 32u), sleep_crew);
}

/* A wait with a deadline ends for the right reason. */
SELFTEST(timer_wait_timeout, 3000)
{
	struct wait_queue q;
	uint64_t until = clock_ns() + 5 * NSEC_PER_MSEC;

	wq_init(&q, "selftest_wait");
	SELFTEST_CHECK(wait_event_timeout(&q, false, until) == -ETIMEDOUT);
	SELFTEST_CHECK(clock_ns() >= until);
	SELFTEST_CHECK(wait_event_timeout(&q, true, clock_ns()) == 0);
	atomic_fetch_or(&current->flags, THREAD_F_SIGPENDING);
	SELFTEST_CHECK(wait_event_interruptible(&q, false) == -EINTR);
	atomic_fetch_and(&current->flags, ~THREAD_F_SIGPENDING);
}
