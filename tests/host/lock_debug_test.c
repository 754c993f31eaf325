/* SPDX-License-Identifier: MIT */
/*
 * The checks of debug builds (kernel/lock_debug.c): each mistake, planted, is found
 * the first time that the code runs, whether or not it does harm then; the same code
 * in the right order says nothing.
 *
 * FLAVOURS: plain asan
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/host/host.h"
#include "kernel/lock.h"
#include "kernel/rcu.h"
#include "kernel/thread.h"
#include "kernel/wait.h"

#define WARNED   3               /* status after warn_at() */
#define PANICKED (128 + SIGABRT) /* after panic() */

static struct spinlock a, b, c, a2;
static struct mutex m, n;
static struct rwsem s;

static void init(void)
{
	spin_init(&a, "test.a");
	spin_init(&a2, "test.a");
	spin_init(&b, "test.b");
	spin_init(&c, "test.c");
	mutex_init(&m, "test.m");
	mutex_init(&n, "test.n");
	rwsem_init(&s, "test.s");
}

static void spins(struct spinlock *outer, struct spinlock *inner)
{
	spin_lock(outer);
	spin_lock(inner);
	spin_unlock(inner);
	spin_unlock(outer);
}

static void in_order(void)
{
	init();
	for (int i = 0; i < 3; i++) {
		mutex_lock(&m);
		down_read(&s);
		spins(&a, &b);
		spins(&b, &c);
		up_read(&s);
		mutex_unlock(&m);
	}
	spin_lock(&a);
	spin_lock_nested(&a2); /* same class, said to be parent and child */
	spin_unlock(&a2);
	spin_unlock(&a);
	rcu_read_lock();
	spins(&a, &b);
	rcu_read_unlock();
	cond_resched();
}

static void inverted(void)
{
	init();
	spins(&a, &b);
	spins(&b, &a);
}

static void inverted_through_a_third(void)
{
	init();
	spins(&a, &b);
	spins(&b, &c);
	spins(&c, &a);
}

static void inverted_mutexes(void)
{
	init();
	mutex_lock(&m);
	mutex_lock(&n);
	mutex_unlock(&n);
	mutex_unlock(&m);
	mutex_lock(&n);
	mutex_lock(&m);
}

static void inverted_rwsem(void)
{
	init();
	mutex_lock(&m);
	down_write(&s);
	up_write(&s);
	mutex_unlock(&m);
	down_read(&s);
	mutex_lock(&m);
}

static void two_of_a_class(void)
{
	init();
	spins(&a, &a2);
}

static void twice(void)
{
	init();
	spins(&a, &a);
}

static void other_thread(void *arg)
{
	spin_unlock(arg);
}
static void released_by_another(void)
{
	struct thread *t;

	init();
	spin_lock(&a);
	t = thread_create("other", other_thread, &a, -1);
	HOST_CHECK(!IS_ERR(t));
	thread_start(t);
	thread_put(t);
	for (;;)
		cpu_relax();
}

static void mutex_under_spinlock(void)
{
	init();
	spin_lock(&a);
	mutex_lock(&m); /* free, so it would not have slept */
}

static void resched_under_spinlock(void)
{
	init();
	spin_lock(&a);
	cond_resched();
}

static void sleep_in_reader(void)
{
	init();
	rcu_read_lock();
	thread_sleep_until(clock_ns() + 1, false);
}

static void grace_period_in_reader(void)
{
	init();
	rcu_read_lock();
	synchronize_rcu();
}

static void sleep_with_interrupts_off(void)
{
	init();
	irq_save();
	mutex_lock(&m);
}

static void spinlock_with_interrupts_off(void)
{
	init();
	irq_save();
	spin_lock(&a);
}

static void test_right(void **state)
{
	(void)state;
	assert_int_equal(host_run(2, in_order), 0);
}

static void test_order(void **state)
{
	(void)state;
	assert_int_equal(host_run(2, inverted), WARNED);
	assert_int_equal(host_run(2, inverted_through_a_third), WARNED);
	assert_int_equal(host_run(2, inverted_mutexes), WARNED);
	assert_int_equal(host_run(2, inverted_rwsem), WARNED);
	assert_int_equal(host_run(2, two_of_a_class), WARNED);
}

static void test_holder(void **state)
{
	(void)state;
	assert_int_equal(host_run(2, twice), PANICKED);
	assert_int_equal(host_run_for(2, released_by_another, 20), PANICKED);
}

static void test_atomic(void **state)
{
	(void)state;
	assert_int_equal(host_run(2, mutex_under_spinlock), PANICKED);
	assert_int_equal(host_run(2, resched_under_spinlock), PANICKED);
	assert_int_equal(host_run(2, sleep_in_reader), PANICKED);
	assert_int_equal(host_run(2, grace_period_in_reader), PANICKED);
	assert_int_equal(host_run(2, sleep_with_interrupts_off), PANICKED);
	assert_int_equal(host_run(2, spinlock_with_interrupts_off), PANICKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_holder),
		cmocka_unit_test(test_atomic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
