/* SPDX-License-Identifier: MIT */
/* Figures of the run queues, for /proc and tests; each CPU keeps its own. */
#include "kernel/sched.h"

#include "kernel/string.h"

void sched_cpu_times(unsigned cpu, struct cpu_times *out)
{
	struct run_queue *rq = &per_cpu(run_queue, cpu);
	struct thread *idle = rq->idle;
	uint64_t now = clock_ns(), idle_ns;

	memset(out, 0, sizeof(*out));
	if (!idle)
		return;
	idle_ns = atomic_load_explicit(&idle->run_ns, memory_order_relaxed);
	if (!atomic_load_explicit(&rq->runnable, memory_order_relaxed) &&
	    now > atomic_load_explicit(&idle->started_at, memory_order_relaxed))
		idle_ns += now - atomic_load_explicit(&idle->started_at, memory_order_relaxed);
	out->idle_ns = min(idle_ns, now);
	out->user_ns =
		min(atomic_load_explicit(&rq->user_ns, memory_order_relaxed), now - out->idle_ns);
	out->system_ns = now - out->idle_ns - out->user_ns;
	out->switches = atomic_load_explicit(&rq->switches, memory_order_relaxed);
	out->wakeups = atomic_load_explicit(&rq->wakeups, memory_order_relaxed);
	out->kicks = atomic_load_explicit(&rq->kicks, memory_order_relaxed);
}

struct thread *sched_running(unsigned cpu)
{
	struct run_queue *rq = &per_cpu(run_queue, cpu);
	struct thread *t = __atomic_load_n(&rq->curr, __ATOMIC_RELAXED);

	return t == rq->idle ? NULL : t;
}

unsigned sched_nr_running(void)
{
	unsigned n = 0;

	for_each_cpu(cpu)
		n += atomic_load_explicit(&per_cpu(run_queue, cpu).runnable, memory_order_relaxed);
	return n;
}
