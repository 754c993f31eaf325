/* SPDX-License-Identifier: MIT */
/*
 * What a CPU does with nothing to run: it looks at its device if that has paid, for
 * a bounded time, never while a thread waits, and is there at once for who is woken.
 *
 * One CPU in virtual time with a device made up here: a look costs LOOK_NS, and a
 * packet comes when the test says.  The last test has two CPUs and real time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/arch.h"
#include "arch/host/host.h"
#include "kernel/idle_poll.h"
#include "kernel/param.h"
#include "kernel/sched.h"
#include "kernel/thread.h"
#include "kernel/timer.h"

#define LOOK_NS  500u
#define POLL_NS  (100 * NSEC_PER_USEC) /* the default of idle.poll_us */
#define START_NS (1000 * NSEC_PER_SEC)
/* The clock is read once in 16 looks. */
#define SLACK_NS (17 * LOOK_NS)

/* Virtual time is the CPU's alone; only the last test's second CPU touches atomics. */
static struct {
	struct idle_poller p;
	uint64_t packet_at; /* 0: none */
	bool quiet;
	unsigned quiets, looks, halts;
	uint64_t quiet_at, spent; /* when the last looking began, how long it took */
} dev;

static bool look(struct idle_poller *p)
{
	bool come;

	HOST_CHECK(p == &dev.p && !irqs_enabled());
	dev.looks++;
	if (dev.quiet)
		host_clock_advance(LOOK_NS);
	come = dev.packet_at && clock_ns() >= dev.packet_at;
	if (come && !dev.quiet)
		dev.packet_at = 0; /* its interrupt has ended a halt: it is taken */
	return come;
}

static void quiet(struct idle_poller *p)
{
	HOST_CHECK(!dev.quiet && !irqs_enabled());
	dev.quiet = true;
	dev.quiets++;
	dev.quiet_at = clock_ns();
}

/* The receiver takes the packet: it is gone. */
static void arm(struct idle_poller *p)
{
	HOST_CHECK(dev.quiet && !irqs_enabled());
	dev.quiet = false;
	dev.spent = clock_ns() - dev.quiet_at;
	if (dev.packet_at && clock_ns() >= dev.packet_at)
		dev.packet_at = 0;
}

/* A halt ends with the packet's interrupt or with the timer's, whichever is first. */
static void halt(uint64_t deadline)
{
	uint64_t now = clock_ns(), until = deadline;

	HOST_CHECK(!dev.quiet);
	dev.halts++;
	if (dev.packet_at && (!until || dev.packet_at < until))
		until = dev.packet_at;
	HOST_CHECK(until); /* else it would never end */
	if (until > now)
		host_clock_advance(until - now);
}

static void start(void)
{
	host_clock_virtual(START_NS);
	dev.p.look = look;
	dev.p.quiet = quiet;
	dev.p.arm = arm;
	dev.p.ready = true;
	atomic_store(&dev.p.asked, true);
	HOST_CHECK(idle_poll_add(&dev.p, 0));
}

/* This CPU has nothing to do for @ns; the packet comes after @packet_ns (0: none). */
static void idle_for(uint64_t ns, uint64_t packet_ns)
{
	uint64_t now = clock_ns();

	dev.packet_at = packet_ns ? now + packet_ns : 0;
	thread_sleep_until(now + ns, false);
	dev.packet_at = 0;
}

/* A halt that a packet ends after @ns, and something to do then. */
static void halt_for(uint64_t ns)
{
	idle_for(ns, ns);
}

/* How often it looks for nothing, one idle time after the other, until it halts at once. */
static unsigned fruitless_looks(void)
{
	for (unsigned n = 0; n < 100; n++) {
		unsigned before = dev.quiets;

		idle_for(NSEC_PER_MSEC, 0);
		if (dev.quiets == before)
			return n;
	}
	return UINT_MAX;
}

static void only_what_pays(void)
{
	struct idle_poller other = dev.p;

	start();
	HOST_CHECK(!idle_poll_add(&other, 0)); /* one device a CPU */
	HOST_CHECK(fruitless_looks() == 0);    /* nothing has paid yet */
	halt_for(3 * POLL_NS);
	HOST_CHECK(fruitless_looks() == 0); /* a look would have ended before that packet */
	halt_for(POLL_NS / 2);
	HOST_CHECK(fruitless_looks() > 0); /* that one it would have found */
	HOST_CHECK(fruitless_looks() == 0);
}

static void give_up(void)
{
	unsigned few, many;

	start();
	halt_for(POLL_NS / 2);
	few = fruitless_looks();
	halt_for(POLL_NS / 2);
	for (unsigned i = 0; i < 50; i++)
		idle_for(POLL_NS / 4, POLL_NS / 8);
	HOST_CHECK(dev.quiets > 25);
	many = fruitless_looks();
	/* Who has found much looks longer for nothing, but what it has found does not add up. */
	HOST_CHECK(few >= 1 && many > few && many < 4);
}

static void bounded(void)
{
	unsigned halts;

	start();
	halt_for(POLL_NS / 2);
	dev.spent = 0;
	halts = dev.halts;
	idle_for(NSEC_PER_SEC, 0);
	HOST_CHECK(dev.spent >= POLL_NS && dev.spent <= POLL_NS + SLACK_NS);
	HOST_CHECK(dev.halts > halts);

	/* The parameter says how long, and 0 that it never looks. */
	HOST_CHECK(param_set(param_find("idle.poll_us"), "30") == 0);
	halt_for(10 * NSEC_PER_USEC);
	idle_for(NSEC_PER_MSEC, 0);
	HOST_CHECK(dev.spent >= 30 * NSEC_PER_USEC && dev.spent <= 30 * NSEC_PER_USEC + SLACK_NS);
	HOST_CHECK(param_set(param_find("idle.poll_us"), "0") == 0);
	halt_for(10 * NSEC_PER_USEC);
	HOST_CHECK(fruitless_looks() == 0);
}

static void hints(void)
{
	start();
	halt_for(POLL_NS / 2);
	atomic_store(&dev.p.asked, false); /* a stream: nobody waits for an answer */
	HOST_CHECK(fruitless_looks() == 0);
	atomic_store(&dev.p.asked, true);
	dev.p.ready = false; /* the driver is not done with the packets before */
	HOST_CHECK(fruitless_looks() == 0);
	dev.p.ready = true;
	HOST_CHECK(fruitless_looks() > 0);
}

/* Looking makes no timer late. */
static void timer_ends_it(void)
{
	uint64_t due;

	start();
	halt_for(POLL_NS / 2);
	due = clock_ns() + POLL_NS / 3;
	thread_sleep_until(due, false);
	HOST_CHECK(dev.quiets >= 1);
	HOST_CHECK(clock_ns() >= due && clock_ns() <= due + SLACK_NS);
}

static bool others_done;

static void other(void *arg)
{
	for (unsigned i = 0; i < 100; i++)
		yield_cpu();
	others_done = true;
}

static void work_first(void)
{
	struct thread *t;
	unsigned looks;

	start();
	halt_for(POLL_NS / 2);
	t = thread_create("other", other, NULL, -1);
	HOST_CHECK(!IS_ERR(t));
	looks = dev.looks;
	thread_start(t);
	thread_put(t);
	while (!others_done) {
		yield_cpu();
		HOST_CHECK(dev.looks == looks); /* somebody always had something to do */
	}
	HOST_CHECK(fruitless_looks() > 0);
}

/* Two CPUs: who is pushed to a CPU that looks runs without an interrupt to it. */
static _Atomic unsigned looking, naps, served, looks_until_served;
static _Atomic bool pushed;

static bool slow_look(struct idle_poller *p)
{
	if (!dev.quiet)
		return true; /* a halt that ends soon would have paid */
	atomic_store(&looking, 1);
	/* Until the other CPU has pushed: then one look, this one, is the last. */
	while (!atomic_load(&pushed))
		cpu_relax();
	dev.looks++;
	return false;
}

static void slow_arm(struct idle_poller *p)
{
	dev.quiet = false;
}

static void sleeper(void *arg)
{
	while (atomic_load(&naps) != UINT_MAX) {
		thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
		if (atomic_load(&naps) > atomic_load(&served)) {
			thread_finish_sleep();
			atomic_store(&looks_until_served, dev.looks);
			atomic_fetch_add(&served, 1);
			continue;
		}
		schedule();
		thread_finish_sleep();
	}
}

/* Return: the interrupts that this took. */
static uint64_t wake(struct thread *t)
{
	unsigned n = atomic_fetch_add(&naps, 1) + 1;
	_Atomic uint64_t *kicks = &this_cpu(run_queue).kicks;
	irqstate_t irq = irq_save();
	uint64_t before = atomic_load(kicks), took;

	thread_wake(t);
	took = atomic_load(kicks) - before;
	irq_restore(irq);
	if (atomic_load(&looking))
		atomic_store(&pushed, true);
	while (atomic_load(&served) < n)
		thread_sleep_until(clock_ns() + 50 * NSEC_PER_USEC, false);
	return took;
}

static void pushed_without_kick(void)
{
	uint64_t mask[MAX_CPUS / 64] = { 1 };
	struct thread *t;

	HOST_CHECK(thread_set_affinity(current, mask, ARRAY_SIZE(mask)) == 0);
	HOST_CHECK(param_set(param_find("idle.poll_us"), "10000") == 0);
	dev.p = (struct idle_poller){ .look = slow_look, .quiet = quiet, .arm = slow_arm,
				      .ready = true, .asked = true };
	HOST_CHECK(idle_poll_add(&dev.p, 1));
	t = thread_create("sleeper", sleeper, NULL, 1);
	HOST_CHECK(!IS_ERR(t));
	thread_start(t);
	/* Until a halt of CPU 1 was short enough; it may have begun to look since the last wake. */
	while (!atomic_load(&looking))
		wake(t);
	HOST_CHECK_EQ(wake(t), 0);
	HOST_CHECK_EQ(atomic_load(&looks_until_served), 1);
}

static void in_virtual_time(void (*body)(void))
{
	host_idle_hook = halt;
	assert_int_equal(host_run(1, body), 0);
	host_idle_hook = NULL;
}

#define VIRTUAL_TEST(name)                                                                         \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		(void)state;                                                                       \
		in_virtual_time(name);                                                             \
	}
VIRTUAL_TEST(only_what_pays)
VIRTUAL_TEST(give_up)
VIRTUAL_TEST(bounded)
VIRTUAL_TEST(hints)
VIRTUAL_TEST(timer_ends_it)
VIRTUAL_TEST(work_first)

static void test_pushed_without_kick(void **state)
{
	(void)state;
	assert_int_equal(host_run(2, pushed_without_kick), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_pays), cmocka_unit_test(test_give_up),
		cmocka_unit_test(test_bounded),        cmocka_unit_test(test_hints),
		cmocka_unit_test(test_timer_ends_it),  cmocka_unit_test(test_work_first),
		cmocka_unit_test(test_pushed_without_kick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
