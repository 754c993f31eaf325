/* SPDX-License-Identifier: MIT */
/*
 * The host machine as tests see it: boot N CPUs in this process, run a function
 * in a kernel thread, fail with a sentence.
 */
#ifndef ARCH_HOST_HOST_H
#define ARCH_HOST_HOST_H

#include "kernel/types.h"

/**
 * host_run - boot a machine with @nr_cpus CPUs and run @fn in a kernel thread
 *
 * The machine lives in a child process, so every call starts from fresh static
 * data, and a crash or a failed HOST_CHECK() ends only the child.
 * @seconds: after that the child is killed and the run counts as failed
 *
 * Return: 0 if @fn returned and nothing failed; else the exit status (a signal
 * counts as 128 + number).
 */
int host_run_for(unsigned nr_cpus, void (*fn)(void), unsigned seconds);
#define host_run(nr_cpus, fn) host_run_for(nr_cpus, fn, 60)

/* The same in this process, for fuzzers and benchmarks; ends the process when @fn returns. */
void __noreturn host_run_here(unsigned nr_cpus, void (*fn)(void));

/**
 * host_boot_single - set up memory and one CPU without a scheduler, in this thread
 *
 * For tests of code that never sleeps (parsers, counters, allocators).  Call
 * once per process.
 */
void host_boot_single(void);

/**
 * host_clock_virtual - from now on clock_ns() is @start and moves only by jumps
 *
 * An idle machine jumps to its next timer instead of waiting for it, so a test
 * of minutes takes microseconds and always sees the same times.  One CPU only.
 * @start: ns, not 0; not before the present clock
 */
void host_clock_virtual(uint64_t start);
void host_clock_advance(uint64_t ns); /* @ns pass while something runs */
/*
 * Set before booting: the idle CPU calls it instead of sleeping or jumping, with
 * the time of its timer interrupt (0: none).  It returns when it moved the clock
 * to that time or woke a thread.  Context: interrupts off.
 */
extern void (*host_idle_hook)(uint64_t deadline);

extern size_t host_memory_bytes; /* size of "physical" memory; set before booting; default 256 MiB */

void host_fail(const char *file, int line, const char *fmt, ...) __printf(3, 4);
/* Fails the run (and ends it): for code inside host_run(). */
#define HOST_CHECK(c)                                                                              \
	do {                                                                                       \
		if (!(c))                                                                          \
			host_fail(__FILE__, __LINE__, "%s", #c);                                   \
	} while (0)
#define HOST_CHECK_EQ(a, b)                                                                        \
	do {                                                                                       \
		long long _x = (long long)(a), _y = (long long)(b);                                \
		if (_x != _y)                                                                      \
			host_fail(__FILE__, __LINE__, "%s == %s: %lld, %lld", #a, #b, _x, _y);     \
	} while (0)

/* A small deterministic generator for tests. */
static inline uint64_t host_random(uint64_t *state)
{
	uint64_t x = *state ? *state : 0x9e3779b97f4a7c15ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

#endif /* ARCH_HOST_HOST_H */
