/* SPDX-License-Identifier: MIT */
/*
 * Self-tests: functions in the image that the parameter test=NAME|PREFIX*|all
 * runs once the machine is up.  Each result goes to the log and, as a record,
 * to the runner; then the machine powers off.
 *
 *	SELFTEST(sched_ping_pong, 2000)
 *	{
 *		SELFTEST_CHECK(1 + 1 == 2);
 *	}
 *
 * The second argument is the time budget in milliseconds, under emulation with
 * 72 CPUs; a test that takes longer fails.
 */
#ifndef KERNEL_SELFTEST_H
#define KERNEL_SELFTEST_H

#include "kernel/types.h"

struct selftest {
	const char *name;
	void (*fn)(void);
	unsigned budget_ms;
};

#define SELFTEST(name_, budget)                                                                    \
	static void selftest_##name_(void);                                                        \
	static const struct selftest                                                               \
		__attribute__((section("selftests"), used, aligned(8))) selftest_entry_##name_ = { \
			#name_, selftest_##name_, budget                                           \
		};                                                                                 \
	static void selftest_##name_(void)

/* Marks the running test as failed; from any thread. */
void selftest_fail(const char *file, int line, const char *what);
/* Returns from the function if @c does not hold. */
#define SELFTEST_CHECK(c)                                                                          \
	do {                                                                                       \
		if (!(c)) {                                                                        \
			selftest_fail(__FILE__, __LINE__, #c);                                     \
			return;                                                                    \
		}                                                                                  \
	} while (0)

/* For those that start threads: @n times fn(index) in threads of their own, then waits for all. */
void selftest_threads(unsigned n, void (*fn)(unsigned index));

const struct selftest *selftest_next(const struct selftest *t); /* NULL: first; NULL: no more */
bool selftest_run(const struct selftest *t); /* true if it passed */

/* Runs what test= names and ends the machine; returns if the parameter is empty. */
void selftest_main(void);

#endif /* KERNEL_SELFTEST_H */
