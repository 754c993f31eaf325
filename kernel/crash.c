/* SPDX-License-Identifier: MIT */
/*
 * Crashes on purpose: fail.crash=NAME[@CPU] at the end of start-up, so that
 * tests see what a panic of each kind looks like on a CPU of their choice.
 */
#include "arch/arch.h"
#include "fs/vfs.h"
#include "kernel/crash.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/string.h"
#include "kernel/thread.h"

static char crash_name[32];
PARAM_STRING("fail.crash", crash_name, PARAM_RO,
	     "crash at the end of start-up: null, stack, text, exec, divide or panic, then perhaps "
	     "@CPU");

/* Deeper than any stack; the array keeps the compiler from making a loop of it. */
static __noinline unsigned overflow(volatile unsigned char *above, unsigned depth)
{
	volatile unsigned char frame[256];

	frame[0] = (unsigned char)depth;
	if (depth < 1000000)
		depth = overflow(frame, depth + 1);
	return depth + frame[0] + (above ? above[0] : 0);
}

static void write_null(void)
{
	/* not a constant to the compiler, which would object */
	static volatile uintptr_t address = 16;

	*(volatile int *)address = 1;
}

static void overflow_stack(void)
{
	pr_info("crash: depth %u", overflow(NULL, 0));
}

static void write_text(void)
{
	*(volatile char *)(uintptr_t)write_null = 0;
}

static void run_data(void)
{
	((void (*)(void))(uintptr_t)crash_name)();
}

static void divide(void)
{
	volatile unsigned zero = 0;

	pr_info("crash: %u", 100 / zero);
}

static void just_panic(void)
{
	panic("asked for by fail.crash");
}

static const struct {
	const char *name;
	void (*fn)(void);
} kinds[] = {
	{ "null", write_null }, { "stack", overflow_stack }, { "text", write_text },
	{ "exec", run_data },   { "divide", divide },	     { "panic", just_panic },
};

static void crash_thread(void *arg)
{
	((void (*)(void))arg)();
	pr_err("crash: still alive, which is wrong");
}

int crash_now(const char *what)
{
	size_t len = strlen(what);
	const char *at = strchr(what, '@');
	uint64_t cpu = cpu_id();
	struct thread *t;

	if (at) {
		len = (size_t)(at - what);
		if (parse_u64(at + 1, NULL, &cpu) || cpu >= nr_cpus)
			return -EINVAL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strlen(kinds[i].name) != len || strncmp(kinds[i].name, what, len))
			continue;
		t = thread_create("crash", crash_thread, (void *)kinds[i].fn, (int)cpu);
		if (IS_ERR(t))
			return (int)PTR_ERR(t);
		thread_start(t);
		thread_put(t);
		/* The machine ends within this time, or the test sees that it did not. */
		thread_sleep_until(clock_ns() + 5 * NSEC_PER_SEC, false);
		return 0;
	}
	return -EINVAL;
}

/* What Linux users write to bring a machine down: "c". */
static ssize_t sysrq_write(const char *text, size_t n, void *arg)
{
	if (n < 1 || text[0] != 'c')
		return -EINVAL;
	panic("asked for by /proc/sysrq-trigger");
}

void crash_if_asked(void)
{
	proc_register("sysrq-trigger", 0200, NULL, sysrq_write, NULL);
	if (crash_name[0] && crash_now(crash_name))
		pr_warn("fail.crash=%s: unknown kind or CPU", crash_name);
}
