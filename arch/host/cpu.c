/* SPDX-License-Identifier: MIT */
/*
 * CPUs of the host machine: interrupts, halting, timer, clock.
 *
 * A halted CPU sleeps in a futex on its pending word, until its own timer
 * deadline at most; so a kick is one atomic OR and, if the word was zero, one
 * futex wake.  No helper thread exists: the deadline is looked at wherever
 * interrupts can be delivered.
 *
 * With host_clock_virtual() time stands still while the CPU has anything to do,
 * and jumps to the next deadline when it has not.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/host/host_internal.h"
#include "kernel/log.h"
#include "kernel/smp.h"
#include "kernel/thread.h"
#include "kernel/timer.h"

static struct thread boot_thread = { .name = "boot" };
static struct host_cpu boot_cpu = { .curr = &boot_thread };

__thread struct host_cpu *host_cpu_tls = &boot_cpu;
struct host_cpu *host_cpus;
unsigned nr_cpus = 1;
static uintptr_t boot_offset;
uintptr_t *percpu_offsets = &boot_offset;

struct host_cpu *host_self_call(void);
struct host_cpu *host_self_call(void)
{
	return host_cpu_tls;
}

static uint64_t clock_raw(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Nanoseconds since the first call, plus a second. */
static uint64_t clock_real(void)
{
	static _Atomic uint64_t start;
	uint64_t now = clock_raw(), s = atomic_load_explicit(&start, memory_order_relaxed);

	if (!s) {
		uint64_t mine = now - NSEC_PER_SEC; /* so that 0 never means "now" */

		if (atomic_compare_exchange_strong(&start, &s, mine))
			s = mine;
	}
	return now - s;
}

/* Virtual time: 0 while the host's clock counts. */
static _Atomic uint64_t virtual_ns;
void (*host_idle_hook)(uint64_t deadline);

void host_clock_virtual(uint64_t start)
{
	BUG_ON(nr_cpus != 1 || !start);
	atomic_store_explicit(&virtual_ns, start, memory_order_relaxed);
}

void host_clock_advance(uint64_t ns)
{
	BUG_ON(!atomic_load_explicit(&virtual_ns, memory_order_relaxed));
	atomic_fetch_add_explicit(&virtual_ns, ns, memory_order_relaxed);
}

uint64_t clock_ns(void)
{
	uint64_t fixed = atomic_load_explicit(&virtual_ns, memory_order_relaxed);

	return fixed ? fixed : clock_real();
}

uint64_t clock_realtime_offset_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec - clock_ns();
}

static long futex(_Atomic uint32_t *word, int op, uint32_t val, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, val, timeout, NULL, 0);
}

bool host_timer_due(struct host_cpu *c)
{
	return clock_ns() >= c->deadline;
}

void host_deliver(struct host_cpu *c)
{
	c->irqs_on = false;
	for (;;) {
		uint32_t p = atomic_exchange_explicit(&c->pending, 0, memory_order_acq_rel);
		bool due = c->deadline && host_timer_due(c);

		if (!p && !due)
			break;
		if (p & HOST_IRQ_KICK) {
			sched_ipi();
			smp_call_interrupt();
		}
		if (due) {
			c->deadline = 0;
			timer_interrupt(false);
		}
	}
	c->irqs_on = true;
}

void arch_timer_set(uint64_t deadline)
{
	host_self()->deadline = deadline;
}

void arch_kick(unsigned cpu)
{
	struct host_cpu *c = &host_cpus[cpu];

	if (!atomic_fetch_or_explicit(&c->pending, HOST_IRQ_KICK, memory_order_seq_cst))
		futex(&c->pending, FUTEX_WAKE, 1, NULL);
}

void arch_idle(void)
{
	struct host_cpu *c = host_self();

	BUG_ON(c->irqs_on);
	if (host_idle_hook) {
		if (!atomic_load_explicit(&c->pending, memory_order_acquire))
			host_idle_hook(c->deadline);
		host_deliver(c);
		return;
	}
	while (!atomic_load_explicit(&c->pending, memory_order_acquire)) {
		struct timespec ts, *timeout = NULL;

		if (c->deadline) {
			uint64_t now = clock_ns(), left;

			if (now >= c->deadline)
				break;
			if (atomic_load_explicit(&virtual_ns, memory_order_relaxed)) {
				/* Nothing can run before the deadline: it is now. */
				atomic_store_explicit(&virtual_ns, c->deadline, memory_order_relaxed);
				break;
			}
			left = c->deadline - now;
			ts.tv_sec = (time_t)(left / NSEC_PER_SEC);
			ts.tv_nsec = (long)(left % NSEC_PER_SEC);
			timeout = &ts;
		}
		futex(&c->pending, FUTEX_WAIT, 0, timeout);
	}
	host_deliver(c);
}

const char *arch_machine_name(void)
{
	return "host";
}
