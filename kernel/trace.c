/* SPDX-License-Identifier: MIT */
/*
 * Trace points: counts and rings; see trace.h.  kernel/perf/trace_file.c is what
 * people see of it.
 */
#include "kernel/trace.h"

#include "kernel/errno.h"
#include "kernel/sched.h"
#include "mm/slab.h"

struct static_key trace_keys[NR_TRACE_POINTS];
_Atomic uint64_t trace_to_ring;
_Atomic(void (*)(enum trace_point point, const void *frame)) trace_hook;
DEFINE_PER_CPU(struct trace_counts, trace_counts) __cacheline_aligned;

struct trace_ring {
	_Atomic(struct trace_record *) records; /* [TRACE_RECORDS]; set once */
	_Atomic uint64_t newest;                /* number of the last whole record; this CPU */
};
DEFINE_PER_CPU(static struct trace_ring, trace_ring) __cacheline_aligned;

int trace_rings_make(void)
{
	for_each_cpu(cpu) {
		struct trace_ring *ring = &per_cpu(trace_ring, cpu);
		struct trace_record *r;

		if (atomic_load_explicit(&ring->records, memory_order_relaxed))
			continue;
		r = kzalloc(TRACE_RECORDS * sizeof(*r), GFP_KERNEL);
		if (!r)
			return -ENOMEM;
		atomic_store_explicit(&ring->records, r, memory_order_release);
	}
	return 0;
}

/* Interrupts off. */
static void ring_write(enum trace_point point, const uint64_t *args)
{
	struct trace_ring *ring = &this_cpu(trace_ring);
	struct trace_record *r = atomic_load_explicit(&ring->records, memory_order_acquire);
	uint64_t number = atomic_load_explicit(&ring->newest, memory_order_relaxed) + 1;
	uint32_t tid = (uint32_t)(current ? current->tid : 0);

	if (!r)
		return;
	r += number % TRACE_RECORDS;
	atomic_store_explicit(&r->number, 0, memory_order_relaxed);
	/* Pairs with the fence in trace_read(): who sees a word below sees the 0. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&r->ns, clock_ns(), memory_order_relaxed);
	atomic_store_explicit(&r->who, (uint64_t)point | (uint64_t)tid << 32, memory_order_relaxed);
	for (unsigned i = 0; i < TRACE_ARGS; i++)
		atomic_store_explicit(&r->arg[i], args[i], memory_order_relaxed);
	atomic_store_explicit(&r->number, number, memory_order_release);
	atomic_store_explicit(&ring->newest, number, memory_order_release);
}

void trace_emit(enum trace_point point, const uint64_t *args)
{
	irqstate_t irq = irq_save();
	void (*hook)(enum trace_point, const void *) =
		atomic_load_explicit(&trace_hook, memory_order_acquire);

	count_add(&this_cpu(trace_counts).n[point], 1);
	if (atomic_load_explicit(&trace_to_ring, memory_order_relaxed) >> point & 1)
		ring_write(point, args);
	if (hook)
		hook(point, __builtin_frame_address(0));
	irq_restore(irq);
}

uint64_t trace_newest(unsigned cpu)
{
	return atomic_load_explicit(&per_cpu(trace_ring, cpu).newest, memory_order_acquire);
}

bool trace_read(unsigned cpu, uint64_t number, struct trace_copy *out)
{
	struct trace_record *r = atomic_load_explicit(&per_cpu(trace_ring, cpu).records,
						      memory_order_acquire);
	uint64_t who;

	if (!r || !number)
		return false;
	r += number % TRACE_RECORDS;
	out->number = atomic_load_explicit(&r->number, memory_order_acquire);
	out->ns = atomic_load_explicit(&r->ns, memory_order_relaxed);
	who = atomic_load_explicit(&r->who, memory_order_relaxed);
	for (unsigned i = 0; i < TRACE_ARGS; i++)
		out->arg[i] = atomic_load_explicit(&r->arg[i], memory_order_relaxed);
	out->point = (enum trace_point)(uint32_t)who;
	out->tid = (int)(who >> 32);
	atomic_thread_fence(memory_order_acquire);
	return out->number == number && out->point < NR_TRACE_POINTS &&
	       atomic_load_explicit(&r->number, memory_order_relaxed) == number;
}
