/* SPDX-License-Identifier: MIT */
/*
 * What a context switch does for events, and what it costs.
 *
 * The scheduler calls on_switch() whenever the thread whose time runs changes,
 * if there is any event at all (sched_switch_hook).  Two things follow from a
 * switch: events of the tasks themselves go out and in, and where the group
 * changes, events that are bound to groups do.
 *
 * Which contexts have such events?  perf.switch=all looks at every PMU's
 * context of this CPU, as Linux did before v4.11; with many PMUs most of those
 * looks find nothing and cost a cache line each.  perf.switch=active walks a
 * list of the contexts that have some: a context joins when its first group
 * event appears and leaves with the last.  Both give the same counts.
 */
#include "kernel/perf/event.h"

#include "kernel/param.h"
#include "kernel/process.h"
#include "kernel/sched.h"
#include "kernel/smp.h"
#include "kernel/string.h"
#include "mm/slab.h"

int perf_switch_variant = PERF_SWITCH_ACTIVE;
static const char *const variants[] = { "all", "active", NULL };
PARAM_ENUM("perf.switch", perf_switch_variant, variants, PARAM_RW,
	   "contexts that a switch between groups visits");

/*
 * Costs of switches: 32 buckets per power of two, so a percentile is right to 3 %.
 * Only this CPU counts; readers may be a moment behind.
 */
#define SUB_BITS 5
#define SUB      (1u << SUB_BITS)
#define BUCKETS  ((40 - SUB_BITS + 1) * SUB) /* up to 2^40 ns */
struct perf_hist {
	_Atomic uint32_t n[BUCKETS];
};

/* Legend: [q] this CPU only, interrupts off */
struct perf_cpu {
	struct perf_cpu_ctx *active;  /* [q] contexts with group events */
	_Atomic unsigned nr_group;    /* written [q]: group events here */
	uint32_t group_id;            /* [q] whose events are in; right while nr_group > 0 */
	_Atomic(struct perf_hist *) hist; /* made with the first group event, kept */
	_Atomic uint64_t switches, contexts, total_ns;
} __cacheline_aligned;
DEFINE_PER_CPU(static struct perf_cpu, perf_cpu) __cacheline_aligned;

static inline unsigned nr_group(const struct perf_cpu *pc)
{
	return atomic_load_explicit(&pc->nr_group, memory_order_relaxed);
}

/* Holders of the hook: events.  Under hook_lock. */
static struct spinlock hook_lock = SPINLOCK_INIT("perf_hook");
static unsigned hook_users;

struct memcg *perf_group_of(const struct thread *t)
{
	struct memcg *m = t->process ? atomic_load_explicit(&t->process->memcg,
							    memory_order_acquire)
				     : NULL;

	return m ? m : memcg_root;
}

static unsigned bucket_of(uint64_t ns)
{
	unsigned top, b;

	if (ns < SUB)
		return (unsigned)ns;
	top = 63 - (unsigned)__builtin_clzll(ns);
	b = (top - SUB_BITS + 1) * SUB + (unsigned)(ns >> (top - SUB_BITS)) % SUB;
	return min(b, BUCKETS - 1);
}

/* Middle of a bucket. */
static uint64_t bucket_ns(unsigned b)
{
	unsigned shift;

	if (b < SUB)
		return b;
	shift = b / SUB - 1;
	return ((uint64_t)(SUB + b % SUB) << shift) + ((1ULL << shift) >> 1);
}

bool perf_hist_prepare(unsigned cpu)
{
	_Atomic(struct perf_hist *) *at = &per_cpu(perf_cpu, cpu).hist;
	struct perf_hist *h, *none = NULL;

	if (atomic_load_explicit(at, memory_order_acquire))
		return true;
	h = kzalloc(sizeof(*h), GFP_KERNEL);
	if (!h)
		return false;
	if (!atomic_compare_exchange_strong_explicit(at, &none, h, memory_order_release,
						     memory_order_relaxed))
		kfree(h);
	return true;
}

static void record(struct perf_cpu *pc, uint64_t ns)
{
	struct perf_hist *h = atomic_load_explicit(&pc->hist, memory_order_acquire);
	_Atomic uint32_t *n;

	count_add(&pc->switches, 1);
	count_add(&pc->total_ns, ns);
	if (!h)
		return;
	n = &h->n[bucket_of(ns)];
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* Events of one context when @group's time begins. */
static void switch_ctx(struct perf_cpu_ctx *ctx, const struct memcg *group)
{
	for (struct perf_event *e = ctx->events; e; e = e->next) {
		bool in = atomic_load_explicit(&e->in, memory_order_relaxed);
		uint64_t now;

		if (group_is_under(group, e->group) == in)
			continue;
		if (ctx->pmu->slots) {
			(in ? slots_out : slots_in)(&e->run);
			atomic_store_explicit(&e->in, !in, memory_order_relaxed);
			continue;
		}
		now = pmu_read(ctx->pmu, (unsigned)e->cpu);
		if (in)
			count_add(&e->count,
				  now - atomic_load_explicit(&e->start, memory_order_relaxed));
		else
			atomic_store_explicit(&e->start, now, memory_order_relaxed);
		atomic_store_explicit(&e->in, !in, memory_order_relaxed);
	}
}

static unsigned switch_all(const struct memcg *group)
{
	unsigned cpu = cpu_id(), n = 0;

	for (struct pmu *p = rcu_dereference(pmu_list); p; p = rcu_dereference(p->next)) {
		struct perf_cpu_ctx *ctx = &p->ctx[cpu];

		n++;
		if (ctx->events)
			switch_ctx(ctx, group);
	}
	return n;
}

static unsigned switch_active(struct perf_cpu *pc, const struct memcg *group)
{
	unsigned n = 0;

	for (struct perf_cpu_ctx *ctx = pc->active; ctx; ctx = ctx->next) {
		n++;
		switch_ctx(ctx, group);
	}
	return n;
}

/* Not inlined: the unit of cost that the experiment counts. */
static __noinline void group_switch(struct perf_cpu *pc, const struct thread *next)
{
	struct memcg *group = perf_group_of(next);
	uint64_t start;
	unsigned n;

	if (group->id == pc->group_id)
		return;
	start = clock_ns();
	if (__atomic_load_n(&perf_switch_variant, __ATOMIC_RELAXED) == PERF_SWITCH_ALL)
		n = switch_all(group);
	else
		n = switch_active(pc, group);
	pc->group_id = group->id;
	count_add(&pc->contexts, n);
	record(pc, clock_ns() - start);
}

/* The attachment's thread goes off this CPU, or its count is wanted. */
static void attach_out(struct perf_attach *a, unsigned cpu)
{
	if (!a->in)
		return;
	a->in = false;
	if (unlikely(a->event->pmu->slots)) {
		slots_out(&a->run);
		return;
	}
	atomic_fetch_add_explicit(&a->event->count, pmu_read(a->event->pmu, cpu) - a->start,
				  memory_order_relaxed);
}

static void attach_in(struct perf_attach *a, unsigned cpu)
{
	const struct perf_event *e = a->event;

	if (!atomic_load_explicit(&e->enabled, memory_order_seq_cst))
		return;
	if (e->cpu >= 0 && (unsigned)e->cpu != cpu)
		return;
	a->in = true;
	if (unlikely(e->pmu->slots))
		slots_in(&a->run);
	else
		a->start = pmu_read(e->pmu, cpu);
}

#define for_each_attach(a, t)                                                                      \
	for (struct perf_attach *a = rcu_dereference((t)->perf); a; a = rcu_dereference(a->next))

static __noinline void task_out(struct thread *t)
{
	for_each_attach(a, t) {
		attach_out(a, cpu_id());
		atomic_store_explicit(&a->on, -1, memory_order_relaxed);
	}
}

static __noinline void task_in(struct thread *t)
{
	for_each_attach(a, t) {
		atomic_store_explicit(&a->on, (int)cpu_id(), memory_order_seq_cst);
		attach_in(a, cpu_id());
	}
}

/* From the scheduler, interrupts off. */
static void on_switch(struct thread *prev, struct thread *next)
{
	struct perf_cpu *pc = &this_cpu(perf_cpu);

	if (atomic_load_explicit(&prev->perf, memory_order_relaxed))
		task_out(prev);
	if (nr_group(pc))
		group_switch(pc, next);
	if (atomic_load_explicit(&next->perf, memory_order_relaxed))
		task_in(next);
	if (prev == this_cpu(run_queue).idle)
		slots_wake();
	slots_changed();
}

void perf_hook_get(void)
{
	spin_lock(&hook_lock);
	if (!hook_users++)
		atomic_store_explicit(&sched_switch_hook, on_switch, memory_order_release);
	spin_unlock(&hook_lock);
}

void perf_hook_put(void)
{
	spin_lock(&hook_lock);
	if (!--hook_users)
		atomic_store_explicit(&sched_switch_hook, NULL, memory_order_release);
	spin_unlock(&hook_lock);
}

static void ctx_link(struct perf_cpu *pc, struct perf_cpu_ctx *ctx, struct perf_event *e)
{
	if (!ctx->events) {
		ctx->next = pc->active;
		ctx->prev = &pc->active;
		if (ctx->next)
			ctx->next->prev = &ctx->next;
		pc->active = ctx;
	}
	e->next = ctx->events;
	e->prev = &ctx->events;
	if (e->next)
		e->next->prev = &e->next;
	ctx->events = e;
	e->linked = true;
	atomic_store_explicit(&pc->nr_group, nr_group(pc) + 1, memory_order_relaxed);
}

static void ctx_unlink(struct perf_cpu *pc, struct perf_cpu_ctx *ctx, struct perf_event *e)
{
	*e->prev = e->next;
	if (e->next)
		e->next->prev = e->prev;
	e->linked = false;
	atomic_store_explicit(&pc->nr_group, nr_group(pc) - 1, memory_order_relaxed);
	if (!ctx->events) {
		*ctx->prev = ctx->next;
		if (ctx->next)
			ctx->next->prev = ctx->prev;
	}
}

/* A group event of a PMU with slots, on its CPU: shall it be in? */
static void slots_update(struct perf_event *e, bool in)
{
	bool was = atomic_load_explicit(&e->in, memory_order_relaxed);

	if (was && in)
		slots_sync(&e->run);
	else if (was != in)
		(was ? slots_out : slots_in)(&e->run);
	atomic_store_explicit(&e->in, in, memory_order_relaxed);
	slots_changed();
}

void perf_group_update(void *arg)
{
	struct perf_event *e = arg;
	struct perf_cpu *pc = &this_cpu(perf_cpu);
	struct perf_cpu_ctx *ctx = &e->pmu->ctx[e->cpu];
	struct memcg *group = perf_group_of(this_cpu(run_queue).curr);
	bool enabled = atomic_load_explicit(&e->enabled, memory_order_acquire);
	uint64_t now;

	if (nr_group(pc))
		group_switch(pc, this_cpu(run_queue).curr); /* if it has moved meanwhile */
	pc->group_id = group->id;
	now = e->pmu->slots ? 0 : pmu_read(e->pmu, (unsigned)e->cpu);
	if (enabled != e->linked) {
		if (enabled)
			ctx_link(pc, ctx, e);
		else
			ctx_unlink(pc, ctx, e);
	}
	if (e->pmu->slots) {
		slots_update(e, enabled && group_is_under(group, e->group));
		return;
	}
	if (atomic_load_explicit(&e->in, memory_order_relaxed))
		count_add(&e->count, now - atomic_load_explicit(&e->start, memory_order_relaxed));
	atomic_store_explicit(&e->start, now, memory_order_relaxed);
	atomic_store_explicit(&e->in, enabled && group_is_under(group, e->group),
			      memory_order_relaxed);
}

void perf_task_update(void *arg)
{
	struct perf_event *e = arg;

	for_each_attach(a, this_cpu(run_queue).curr) {
		if (a->event != e)
			continue;
		if (e->pmu->slots && a->in &&
		    atomic_load_explicit(&e->enabled, memory_order_seq_cst)) {
			slots_sync(&a->run); /* keeps its slot */
			continue;
		}
		attach_out(a, cpu_id());
		attach_in(a, cpu_id());
	}
	slots_changed();
}

void perf_attach_end(struct perf_attach *a)
{
	attach_out(a, cpu_id());
	atomic_store_explicit(&a->on, -1, memory_order_relaxed);
	/* Slots are given out at the next switch, when all of the thread's events have gone. */
}

bool perf_event_counts_here(const struct perf_event *e)
{
	for_each_attach(a, this_cpu(run_queue).curr)
		if (a->event == e)
			return a->in;
	return false;
}

/* Remote call: the running task may be in another group now. */
static void regroup(void *arg)
{
	struct perf_cpu *pc = &this_cpu(perf_cpu);

	(void)arg;
	if (nr_group(pc))
		group_switch(pc, this_cpu(run_queue).curr);
	slots_changed();
}

void perf_regroup(void)
{
	uint64_t mask[MAX_CPUS / 64] = { 0 };
	bool any = false;

	if (!atomic_load_explicit(&sched_switch_hook, memory_order_seq_cst))
		return; /* no events at all */
	for_each_cpu(cpu) {
		/*
		 * A reading from outside: an event that comes at this moment reads the
		 * group itself.
		 */
		if (!nr_group(&per_cpu(perf_cpu, cpu)))
			continue;
		mask[cpu / 64] |= 1ULL << (cpu % 64);
		any = true;
	}
	if (any)
		smp_call_mask(mask, regroup, NULL);
}

static uint32_t hist_sum(unsigned bucket)
{
	uint32_t n = 0;

	for_each_cpu(cpu) {
		struct perf_hist *h = atomic_load_explicit(&per_cpu(perf_cpu, cpu).hist,
							   memory_order_acquire);

		if (h)
			n += atomic_load_explicit(&h->n[bucket], memory_order_relaxed);
	}
	return n;
}

void perf_switch_stats(struct perf_switch_stats *out)
{
	uint64_t seen = 0, total = 0;

	memset(out, 0, sizeof(*out));
	for_each_cpu(cpu) {
		struct perf_cpu *pc = &per_cpu(perf_cpu, cpu);

		out->switches += atomic_load_explicit(&pc->switches, memory_order_relaxed);
		out->contexts += atomic_load_explicit(&pc->contexts, memory_order_relaxed);
		total += atomic_load_explicit(&pc->total_ns, memory_order_relaxed);
	}
	if (!out->switches)
		return;
	out->mean = total / out->switches;
	for (unsigned b = 0; b < BUCKETS; b++) {
		uint64_t before = seen;

		seen += hist_sum(b);
		if (before * 10 < out->switches && seen * 10 >= out->switches)
			out->p10 = bucket_ns(b);
		if (before * 2 < out->switches && seen * 2 >= out->switches)
			out->p50 = bucket_ns(b);
		if (before * 10 < out->switches * 9 && seen * 10 >= out->switches * 9)
			out->p90 = bucket_ns(b);
	}
}

/* A switch at this moment may be counted or not. */
void perf_switch_reset(void)
{
	for_each_cpu(cpu) {
		struct perf_cpu *pc = &per_cpu(perf_cpu, cpu);
		struct perf_hist *h = atomic_load_explicit(&pc->hist, memory_order_acquire);

		atomic_store_explicit(&pc->switches, 0, memory_order_relaxed);
		atomic_store_explicit(&pc->contexts, 0, memory_order_relaxed);
		atomic_store_explicit(&pc->total_ns, 0, memory_order_relaxed);
		for (unsigned b = 0; h && b < BUCKETS; b++)
			atomic_store_explicit(&h->n[b], 0, memory_order_relaxed);
	}
}
