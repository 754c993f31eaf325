/* SPDX-License-Identifier: MIT */
/*
 * Implements mm/each_cpu.h with one work item per CPU.
 *
 * An item that is still pending from a call that timed out is not queued
 * again; it will run that call's function, which does no harm (draining twice).
 */
#include "mm/each_cpu.h"
#include "arch/arch.h"
#include "kernel/lock.h"
#include "kernel/wait.h"
#include "kernel/work.h"

#define EACH_CPU_WAIT NSEC_PER_SEC /* upper bound; see the header */

struct each_cpu_item {
	struct work work;
	_Atomic bool busy;
};
static DEFINE_PER_CPU(struct each_cpu_item, each_cpu_item);
static struct mutex each_cpu_lock = MUTEX_INIT(each_cpu_lock, "each_cpu");
static _Atomic(void (*)(void)) each_cpu_fn;
static _Atomic unsigned each_cpu_left;

static void each_cpu_work(struct work *w)
{
	struct each_cpu_item *i = container_of(w, struct each_cpu_item, work);

	atomic_load_explicit(&each_cpu_fn, memory_order_acquire)();
	atomic_store_explicit(&i->busy, false, memory_order_release);
	atomic_fetch_sub_explicit(&each_cpu_left, 1, memory_order_release);
}

void each_cpu_run(void (*fn)(void))
{
	uint64_t deadline = clock_ns() + EACH_CPU_WAIT;

	fn();
	if (!mutex_trylock(&each_cpu_lock))
		return;
	atomic_store_explicit(&each_cpu_fn, fn, memory_order_release);
	for_each_cpu(cpu) {
		struct each_cpu_item *i = &per_cpu(each_cpu_item, cpu);

		if (cpu == cpu_id() ||
		    atomic_load_explicit(&i->busy, memory_order_acquire))
			continue;
		atomic_store_explicit(&i->busy, true, memory_order_relaxed);
		atomic_fetch_add_explicit(&each_cpu_left, 1, memory_order_relaxed);
		work_init(&i->work, each_cpu_work);
		work_schedule_on(cpu, &i->work);
	}
	/* Rare and short: polling keeps the workers free of a wait queue's lock. */
	while (atomic_load_explicit(&each_cpu_left, memory_order_acquire) &&
	       clock_ns() < deadline)
		thread_sleep_until(clock_ns() + 200 * NSEC_PER_USEC, false);
	mutex_unlock(&each_cpu_lock);
}
