/* SPDX-License-Identifier: MIT */
/*
 * The kernel log: whole lines with time and CPU into a ring, then to the
 * consoles; warnings, panic.
 *
 * Context of everything here: any, interrupt handlers and early boot included.
 */
#ifndef KERNEL_LOG_H
#define KERNEL_LOG_H

#include "kernel/types.h"

enum log_level { LOG_ERR = 3, LOG_WARN = 4, LOG_INFO = 6, LOG_DEBUG = 7 };

/* One line per call, with or without a trailing newline; longer than 240 bytes is cut. */
void log_printf(enum log_level level, const char *fmt, ...) __printf(2, 3);
#define pr_err(...)   log_printf(LOG_ERR, __VA_ARGS__)
#define pr_warn(...)  log_printf(LOG_WARN, __VA_ARGS__)
#define pr_info(...)  log_printf(LOG_INFO, __VA_ARGS__)
#define pr_debug(...) log_printf(LOG_DEBUG, __VA_ARGS__)

/* Sink for finished log lines (debug console, serial); registered at boot. */
struct log_sink {
	void (*write)(const char *s, size_t n); /* any context; must not block */
	struct log_sink *next;
};
void log_register_sink(struct log_sink *s); /* prints what the ring holds so far */
void log_unregister_sink(struct log_sink *s);
extern _Atomic bool log_panicking; /* set by panic(): sinks write at once, without waiting */

/**
 * log_read - copy formatted log text ("[sec.usec] cpuN: text\n") for dmesg
 * @seq: in/out; first line wanted, advanced past what was copied
 * Return: bytes copied, 0 at the end.  Context: thread.
 */
size_t log_read(uint64_t *seq, char *buf, size_t len);

/* Prints message, registers, back-trace; stops all CPUs; never returns. */
void __noreturn panic(const char *fmt, ...) __printf(1, 2);
void warn_at(const char *file, int line, const char *fmt, ...) __printf(3, 4);

#define WARN_ON(c)                                                                                 \
	({                                                                                         \
		bool _w = !!(c);                                                                   \
		if (unlikely(_w))                                                                  \
			warn_at(__FILE__, __LINE__, "%s", #c);                                     \
		unlikely(_w);                                                                      \
	})
#define BUG_ON(c)                                                                                  \
	do {                                                                                       \
		if (unlikely(c))                                                                   \
			panic("%s:%d: %s", __FILE__, __LINE__, #c);                                \
	} while (0)
#ifdef CONFIG_DEBUG
#define ASSERT(c) BUG_ON(!(c))
#else
#define ASSERT(c) ((void)sizeof(!(c)))
#endif

#endif /* KERNEL_LOG_H */
