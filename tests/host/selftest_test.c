/* SPDX-License-Identifier: MIT */
/*
 * The kernel's self-tests (tests/guest) of the core, here on the host machine
 * and so under the sanitizers.
 *
 * SOURCES: kernel/selftest.c tests/guest/sched.c tests/guest/lock.c tests/guest/timer.c tests/guest/rcu.c tests/guest/smp.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/host/host.h"
#include "kernel/selftest.h"

static const struct selftest *chosen;

static void run_chosen(void)
{
	HOST_CHECK(selftest_run(chosen));
}

static void test_one(void **state)
{
	chosen = *state;
	assert_int_equal(host_run(1, run_chosen), 0);
	assert_int_equal(host_run(4, run_chosen), 0);
	assert_int_equal(host_run(8, run_chosen), 0);
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[64];
	size_t n = 0;

	for (const struct selftest *t = selftest_next(NULL); t && n < 64; t = selftest_next(t)) {
		if (argc > 1 && __builtin_strcmp(argv[1], t->name))
			continue;
		tests[n++] = (struct CMUnitTest){ .name = t->name,
						  .test_func = test_one,
						  .initial_state = (void *)t };
	}
	return _cmocka_run_group_tests("selftests", tests, n, NULL, NULL);
}
