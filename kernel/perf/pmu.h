/* SPDX-License-Identifier: MIT */
/*
 * PMUs: things that can be counted.
 *
 * What:      a PMU is a counter that each CPU keeps anyway (or a clock), with a
 *            name and a type number.  Counting costs nothing: an event takes the
 *            difference of two readings.  A PMU has one context per CPU, which
 *            holds the events that are bound to a group, since only those must
 *            be looked at when the group that runs changes (switch.c).
 * Interface: pmu_register() from each part's initialisation; pmu_get(), pmu_put()
 *            by events.
 * Locks:     pmu_mutex over the registry.  The switch walks the list of PMUs
 *            without it, interrupts off: a PMU goes a grace period after it was
 *            unlinked.  A context belongs to its CPU, interrupts off.
 */
#ifndef KERNEL_PERF_PMU_H
#define KERNEL_PERF_PMU_H

#include "arch/arch.h"
#include "kernel/lock.h"
#include "kernel/rcu.h"

struct perf_event;
struct perf_slots;
struct pmu;

/* Legend: [q] its CPU only, interrupts off */
struct perf_cpu_ctx {
	struct pmu *pmu;           /* constant */
	struct perf_event *events; /* [q] enabled, on this CPU, bound to a group */
	struct perf_cpu_ctx *next, **prev; /* [q] perf_cpu.active, while there are events */
} __cacheline_aligned;

struct pmu {
	const char *name;
	const char *what;          /* one line for people */
	/* Where the count is: a per-CPU _Atomic uint64_t, or a function. */
	const void *counter;
	uint64_t (*read)(const struct pmu *p, unsigned cpu);
	bool is_time;              /* counts nanoseconds */
	/*
	 * NULL, or called when the first event comes (may sleep; it counts from then on)
	 * and when the last has gone (any context: must not sleep).
	 */
	void (*use)(struct pmu *p, bool used);

	/*
	 * PMUs that count what an event's config says, with a few counters per CPU
	 * (slots.h).  All but check: this CPU's counters, interrupts off.
	 */
	unsigned slots;            /* counters; 0: not such a PMU, none of the following */
	uint64_t count_mask;       /* as wide as a counter */
	const struct pmu_event *events; /* what has a name; ends with a name of NULL */
	int (*check)(const struct pmu *p, uint64_t config); /* 0, or why not.  Thread context */
	bool (*fits)(const struct pmu *p, uint64_t config, unsigned slot); /* NULL: all fit all */
	void (*start)(const struct pmu *p, uint64_t config, unsigned slot); /* from 0 */
	uint64_t (*count)(const struct pmu *p, unsigned slot);
	void (*stop)(const struct pmu *p, unsigned slot);

	/* The registry's. */
	uint32_t type;             /* constant once registered */
	_Atomic unsigned users;    /* events; changed under pmu_mutex */
	_Atomic(struct pmu *) next; /* RCU; changed under pmu_mutex */
	struct perf_cpu_ctx *ctx;  /* [nr_cpus], constant */
	struct perf_slots *cpu_slots; /* [nr_cpus], constant; NULL without slots */
};

struct pmu_event {
	const char *name, *what;
	uint64_t config;
};

#define PMU_TYPE_FIRST 64 /* our own types begin here; those below are Linux's */

extern _Atomic(struct pmu *) pmu_list; /* in order of registration */
extern struct mutex pmu_mutex;

/**
 * pmu_register - add a PMU
 * @p: stays where it is until pmu_unregister()
 * Context: thread, all CPUs known.  Return: 0 or -ENOMEM.
 */
int pmu_register(struct pmu *p);
/**
 * pmu_register_counters - a PMU for each of @n counters that lie side by side
 * @names: their names
 * @first: the first one, a per-CPU _Atomic uint64_t (the variable itself)
 * Return: 0 or -ENOMEM; those before stay registered.
 */
int pmu_register_counters(const char *const *names, const char *what,
			  const _Atomic uint64_t *first, unsigned n);
/* 0 or -EBUSY (events).  Sleeps for a grace period. */
int pmu_unregister(struct pmu *p);
/* The PMU with this type or name, held until pmu_put(); NULL. */
struct pmu *pmu_get(uint32_t type);
struct pmu *pmu_get_name(const char *name);
void pmu_put(struct pmu *p);
unsigned pmu_count(void);
/* Idle PMUs, which count nothing: there are @n of them afterwards.  0, -ENOMEM, -EBUSY. */
int pmu_set_idle(unsigned n);

/* The count of @cpu now; monotonic. */
static inline uint64_t pmu_read(const struct pmu *p, unsigned cpu)
{
	if (p->counter)
		return atomic_load_explicit(
			(const _Atomic uint64_t *)((uintptr_t)p->counter + percpu_offsets[cpu]),
			memory_order_relaxed);
	return p->read(p, cpu);
}

void perf_counters_init(void); /* counters.c: PMUs of kernel/ and mm/ */

#endif /* KERNEL_PERF_PMU_H */
