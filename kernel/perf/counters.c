/* SPDX-License-Identifier: MIT */
/*
 * The PMUs of kernel/ and mm/: clocks, the scheduler's counters, accounting's.
 * All counters are kept anyway; here they only get names.  net/proc.c registers
 * the network's.
 */
#include "kernel/perf/pmu.h"

#include "kernel/counts.h"
#include "kernel/sched.h"
#include "mm/stock.h"

static uint64_t read_clock(const struct pmu *p, unsigned cpu)
{
	(void)p;
	(void)cpu;
	return clock_ns();
}

static uint64_t read_zero(const struct pmu *p, unsigned cpu)
{
	(void)p;
	(void)cpu;
	return 0;
}

/* Granted: from the stock, or by another way and not refused. */
static uint64_t read_charges(const struct pmu *p, unsigned cpu)
{
	struct stock_cpu *s = &per_cpu(stock_cpu, cpu);
	/* In the order in which a charge counts up, so that a reading between is never too high. */
	uint64_t refused = atomic_load_explicit(&s->counters[SC_refusals], memory_order_relaxed);
	uint64_t misses = atomic_load_explicit(&s->counters[SC_stock_misses], memory_order_relaxed);

	(void)p;
	return atomic_load_explicit(&s->hits, memory_order_relaxed) + misses - refused;
}

/* The order is that of `perf list`; Linux's software events find theirs by name (syscall.c). */
static struct pmu pmus[] = {
	{ .name = "cpu-clock", .what = "time", .read = read_clock, .is_time = true },
	{ .name = "task-clock",
	  .what = "time that tasks run",
	  .read = read_clock,
	  .is_time = true },
	{ .name = "context-switches",
	  .what = "switches from one thread to another",
	  .counter = &run_queue.switches },
	{ .name = "cpu-migrations",
	  .what = "switches to a thread that ran elsewhere before",
	  .counter = &run_queue.migrations },
	{ .name = "wakeups", .what = "threads woken by this CPU", .counter = &run_queue.wakeups },
	{ .name = "kicks",
	  .what = "interrupts sent to wake other CPUs",
	  .counter = &run_queue.kicks },
	{ .name = "dummy", .what = "nothing", .read = read_zero },
	{ .name = "charges", .what = "charges granted", .read = read_charges },
	{ .name = "charge_hits",
	  .what = "charges met from the stock of the CPU",
	  .counter = &stock_cpu.hits },
	{ .name = "charged_bytes", .what = "bytes charged", .counter = &stock_cpu.charged },
#define X(name_, what_)                                                                            \
	{ .name = #name_, .what = what_, .counter = &kernel_counts.name_ },
	KERNEL_COUNTS(X)
#undef X
};

static const char *const stock_whats[] = {
#define X(name, what) what,
	STOCK_COUNTERS(X)
#undef X
};

static struct pmu stock_pmus[NR_STOCK_COUNTERS - SC_stock_misses];

void perf_counters_init(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(pmus); i++)
		if (pmu_register(&pmus[i]))
			return;
	/* Those before are kept elsewhere, see above. */
	for (unsigned c = SC_stock_misses; c < NR_STOCK_COUNTERS; c++) {
		struct pmu *p = &stock_pmus[c - SC_stock_misses];

		p->name = stock_counter_names[c];
		p->what = stock_whats[c];
		p->counter = &stock_cpu.counters[c];
		if (pmu_register(p))
			return;
	}
}
