/* SPDX-License-Identifier: MIT */
/*
 * Log, warnings and panic of the host machine: lines on standard error.
 *
 * HOST_LOG=1 in the environment shows the informational lines too.
 */
#include <execinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/host/host.h"
#include "arch/host/host_internal.h"
#include "kernel/log.h"

static void line(const char *prefix, const char *fmt, va_list ap)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "[cpu%u] %s", cpu_id(), prefix);
	int m = vsnprintf(text + n, sizeof(text) - (size_t)n - 1, fmt, ap);

	n += m < (int)sizeof(text) - n - 1 ? m : (int)sizeof(text) - n - 2;
	if (text[n - 1] != '\n')
		text[n++] = '\n';
	if (write(STDERR_FILENO, text, (size_t)n) < 0)
		return;
}

void log_printf(enum log_level level, const char *fmt, ...)
{
	static int show = -1;
	va_list ap;

	if (level > LOG_WARN) {
		if (__atomic_load_n(&show, __ATOMIC_RELAXED) < 0)
			__atomic_store_n(&show, getenv("HOST_LOG") ? 1 : 0, __ATOMIC_RELAXED);
		if (!__atomic_load_n(&show, __ATOMIC_RELAXED))
			return;
	}
	va_start(ap, fmt);
	line(level == LOG_ERR ? "error: " : level == LOG_WARN ? "warning: " : "", fmt, ap);
	va_end(ap);
}

void arch_backtrace(unsigned depth)
{
	void *frames[64];

	backtrace_symbols_fd(frames, backtrace(frames, (int)min(depth, 64u)), STDERR_FILENO);
}

void panic(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("panic: ", fmt, ap);
	va_end(ap);
	arch_backtrace(32);
	abort();
}

/* A warning is a failed run: the code under test said that something is wrong. */
void warn_at(const char *file, int line_nr, const char *fmt, ...)
{
	char prefix[160];
	va_list ap;

	snprintf(prefix, sizeof(prefix), "warning at %s:%d: ", file, line_nr);
	va_start(ap, fmt);
	line(prefix, fmt, ap);
	va_end(ap);
	arch_backtrace(32);
	host_exit(3);
}

void host_fail(const char *file, int line_nr, const char *fmt, ...)
{
	char prefix[160];
	va_list ap;

	snprintf(prefix, sizeof(prefix), "check failed at %s:%d: ", file, line_nr);
	va_start(ap, fmt);
	line(prefix, fmt, ap);
	va_end(ap);
	arch_backtrace(32);
	host_exit(1);
}
