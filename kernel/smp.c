/* SPDX-License-Identifier: MIT */
/*
 * Remote calls.
 *
 * A thread has at most one call under way and does not give up its CPU before
 * it is answered, so one request record per calling CPU is enough and nothing
 * is allocated: the caller fills its CPU's record, sets its bit in the "asked
 * by" bitmap of each target and kicks it.  A target takes its whole bitmap by
 * exchange.  The caller halts with interrupts on, and so answers others while
 * it waits.
 */
#include "kernel/smp.h"

#include "arch/arch.h"
#include "kernel/counts.h"
#include "kernel/log.h"
#include "kernel/thread.h"

#define WORDS      (MAX_CPUS / 64)
#define LEFT_HALTS (1u << 31) /* in left: the caller halts and wants a kick */

struct smp_record {
	void (*fn)(void *);
	void *arg;
	_Atomic unsigned left; /* targets that have not answered, and LEFT_HALTS */
};
struct smp_asked {
	_Atomic uint64_t by[WORDS];
};
DEFINE_PER_CPU(static struct smp_record, smp_record) __cacheline_aligned;
DEFINE_PER_CPU(static struct smp_asked, smp_asked) __cacheline_aligned;

static void answer(unsigned caller)
{
	struct smp_record *r = &per_cpu(smp_record, caller);
	unsigned left;

	r->fn(r->arg);
	/* After this the record may be in use for another call. */
	left = atomic_fetch_sub_explicit(&r->left, 1, memory_order_acq_rel);
	if (left == (1 | LEFT_HALTS))
		arch_kick(caller);
}

void smp_call_interrupt(void)
{
	struct smp_asked *asked = &this_cpu(smp_asked);

	for (unsigned w = 0; w < DIV_ROUND_UP(nr_cpus, 64); w++) {
		uint64_t by;

		if (!atomic_load_explicit(&asked->by[w], memory_order_relaxed))
			continue;
		by = atomic_exchange_explicit(&asked->by[w], 0, memory_order_acq_rel);
		for (; by; by &= by - 1)
			answer(w * 64 + (unsigned)__builtin_ctzll(by));
	}
}

static void ask(unsigned cpu, unsigned self)
{
	atomic_fetch_or_explicit(&per_cpu(smp_asked, cpu).by[self / 64], 1ULL << (self % 64),
				 memory_order_seq_cst);
	arch_kick(cpu);
}

static void wait_answers(struct smp_record *r)
{
	for (unsigned i = 0; i < 50; i++) {
		if (!atomic_load_explicit(&r->left, memory_order_acquire))
			return;
		cpu_relax();
	}
	for (;;) {
		unsigned left;

		irq_disable();
		left = atomic_fetch_or_explicit(&r->left, LEFT_HALTS, memory_order_acq_rel);
		if (!(left & ~LEFT_HALTS))
			break;
		arch_idle();
	}
	irq_enable();
}

static void run_here(void (*fn)(void *), void *arg)
{
	irqstate_t irq = irq_save();

	fn(arg);
	irq_restore(irq);
}

void smp_call(unsigned cpu, void (*fn)(void *), void *arg)
{
	struct smp_record *r = &this_cpu(smp_record);
	unsigned self = cpu_id();

	if (cpu == self) {
		run_here(fn, arg);
		return;
	}
	ASSERT(irqs_enabled());
	kernel_count(smp_calls);
	r->fn = fn;
	r->arg = arg;
	atomic_store_explicit(&r->left, 1, memory_order_relaxed);
	ask(cpu, self);
	wait_answers(r);
}

void smp_call_mask(const uint64_t *mask, void (*fn)(void *), void *arg)
{
	struct smp_record *r = &this_cpu(smp_record);
	unsigned self = cpu_id(), n = 0;
	bool here = mask[self / 64] >> (self % 64) & 1;

	for_each_cpu(cpu)
		n += mask[cpu / 64] >> (cpu % 64) & 1;
	n -= here;
	if (n) {
		ASSERT(irqs_enabled());
		kernel_count(smp_calls);
		r->fn = fn;
		r->arg = arg;
		atomic_store_explicit(&r->left, n, memory_order_relaxed);
		for_each_cpu(cpu)
			if (cpu != self && (mask[cpu / 64] >> (cpu % 64) & 1))
				ask(cpu, self);
	}
	if (here)
		run_here(fn, arg);
	if (n)
		wait_answers(r);
}

void smp_call_all(void (*fn)(void *), void *arg)
{
	uint64_t mask[WORDS];

	for (unsigned w = 0; w < WORDS; w++)
		mask[w] = UINT64_MAX;
	smp_call_mask(mask, fn, arg);
}
