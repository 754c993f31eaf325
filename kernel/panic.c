/* SPDX-License-Identifier: MIT */
/*
 * The end: panic() and its lesser kin, WARN_ON().
 *
 * The first CPU that panics speaks; others that get here meanwhile halt.  The
 * message goes out before the other CPUs are stopped, so that it is seen even
 * if stopping them fails; every step is bounded.
 */
#include "arch/arch.h"
#include "kernel/log.h"
#include "kernel/panic.h"
#include "kernel/param.h"
#include "kernel/string.h"

static const char *const panic_names[] = { "off", "halt", "reboot", NULL };
enum { PANIC_OFF, PANIC_HALT, PANIC_REBOOT };
static int panic_action = PANIC_OFF;
PARAM_ENUM("panic", panic_action, panic_names, PARAM_RW,
	   "what follows a panic: off, halt or reboot");

static _Atomic int panic_cpu = -1;

/**
 * panic_begin - become the CPU that speaks
 *
 * Context: any; interrupts stay off from here.  Does not return on a second
 * CPU; a second panic on the same CPU ends the machine at once.
 */
void panic_begin(void)
{
	int none = -1;

	irq_disable();
	if (!atomic_compare_exchange_strong_explicit(&panic_cpu, &none, (int)cpu_id(),
						     memory_order_acq_rel, memory_order_acquire)) {
		if (none == (int)cpu_id())
			arch_power_off(2);
		arch_halt_forever();
	}
	atomic_store_explicit(&log_panicking, true, memory_order_release);
}

/* panic_end - stop the others and do what panic= says */
void __noreturn panic_end(void)
{
	arch_stop_others();
	pr_err("panic: the machine stops");
	if (panic_action == PANIC_REBOOT)
		arch_reboot();
	if (panic_action == PANIC_OFF)
		arch_power_off(1);
	arch_halt_forever();
}

void __noreturn panic(const char *fmt, ...)
{
	char text[200];
	va_list ap;

	panic_begin();
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pr_err("panic: %s", text);
	arch_backtrace(32);
	panic_end();
}

void warn_at(const char *file, int line, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pr_warn("%s:%d: %s", file, line, text);
	arch_backtrace(12);
}
