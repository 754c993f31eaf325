/* SPDX-License-Identifier: MIT */
/* The runner of self-tests; see kernel/selftest.h. */
#include "kernel/selftest.h"

#include "arch/arch.h"
#include "kernel/lock_debug.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "kernel/wait.h"
#ifndef TALLY_HOSTED
#include "kernel/console.h"
#endif

extern const struct selftest __start_selftests[] __weak, __stop_selftests[] __weak;

static char wanted[64];
PARAM_STRING("test", wanted, PARAM_RO, "self-tests to run, then power off: NAME, PREFIX* or all");

static _Atomic bool failed;

void selftest_fail(const char *file, int line, const char *what)
{
	atomic_store_explicit(&failed, true, memory_order_relaxed);
	pr_err("selftest: %s:%d: %s", file, line, what);
}

const struct selftest *selftest_next(const struct selftest *t)
{
	t = t ? t + 1 : __start_selftests;
	return (uintptr_t)t < (uintptr_t)__stop_selftests ? t : NULL;
}

bool selftest_run(const struct selftest *t)
{
	uint64_t start = clock_ns(), ms;

	atomic_store_explicit(&failed, false, memory_order_relaxed);
	t->fn();
	ms = (clock_ns() - start) / NSEC_PER_MSEC;
	if (ms > t->budget_ms) {
		pr_err("selftest: %s took %lu ms, its budget is %u", t->name, (unsigned long)ms,
		       t->budget_ms);
#ifndef TALLY_HOSTED /* sanitizers and a loaded host are slower by any factor */
		atomic_store_explicit(&failed, true, memory_order_relaxed);
#endif
	}
	return !atomic_load_explicit(&failed, memory_order_relaxed);
}

struct crew {
	void (*fn)(unsigned);
	_Atomic unsigned next, left;
	struct wait_queue done;
};

static void crew_member(void *arg)
{
	struct crew *c = arg;

	c->fn(atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed));
	/* The waiter looks under the queue's lock: the last one may touch @c until it lets go. */
	spin_lock(&c->done.lock);
	atomic_fetch_sub_explicit(&c->left, 1, memory_order_acq_rel);
	spin_unlock(&c->done.lock);
}

void selftest_threads(unsigned n, void (*fn)(unsigned))
{
	struct crew c = { .fn = fn };

	wq_init(&c.done, "selftest_done");
	atomic_store_explicit(&c.left, n, memory_order_relaxed);
	for (unsigned i = 0; i < n; i++) {
		struct thread *t = thread_create("selftest", crew_member, &c, -1);

		if (IS_ERR(t)) {
			selftest_fail(__FILE__, __LINE__, "no memory for a thread");
			atomic_fetch_sub_explicit(&c.left, n - i, memory_order_relaxed);
			break;
		}
		thread_start(t);
		thread_put(t);
	}
	for (;;) {
		spin_lock(&c.done.lock);
		n = atomic_load_explicit(&c.left, memory_order_acquire);
		spin_unlock(&c.done.lock);
		if (!n)
			return;
		thread_sleep_until(clock_ns() + 500 * NSEC_PER_USEC, false);
	}
}

static bool is_wanted(const char *name)
{
	size_t n = strlen(wanted);

	if (!strcmp(wanted, "all") || !strcmp(wanted, name))
		return true;
	return n && wanted[n - 1] == '*' && !strncmp(wanted, name, n - 1);
}

static void record(const char *text)
{
#ifndef TALLY_HOSTED
	records_write(text, strlen(text));
#endif
}

void selftest_main(void)
{
	unsigned passed = 0, bad = 0;
	char text[160];

	if (!wanted[0])
		return;
	for (const struct selftest *t = selftest_next(NULL); t; t = selftest_next(t)) {
		uint64_t start = clock_ns();
		bool ok;

		if (!is_wanted(t->name))
			continue;
		pr_info("selftest: %s ...", t->name);
		ok = selftest_run(t);
		passed += ok;
		bad += !ok;
		snprintf(text, sizeof(text),
			 "{\"record\":\"selftest\",\"name\":\"%s\",\"ok\":%s,\"ms\":%lu}", t->name,
			 ok ? "true" : "false",
			 (unsigned long)((clock_ns() - start) / NSEC_PER_MSEC));
		record(text);
		pr_info("selftest: %s %s, %lu ms", t->name, ok ? "ok" : "FAILED",
			(unsigned long)((clock_ns() - start) / NSEC_PER_MSEC));
	}
	if (!passed && !bad)
		pr_err("selftest: no test is called %s", wanted);
	lock_debug_dump();
	pr_info("selftest: %u passed, %u failed", passed, bad);
	bad = bad || !passed;
	snprintf(text, sizeof(text), "{\"record\":\"exit\",\"status\":%u}", bad);
	record(text);
	arch_power_off((int)bad);
}
