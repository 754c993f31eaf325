/* SPDX-License-Identifier: MIT */
/*
 * PMUs with fewer counters than there may be events: events take turns.
 *
 * A *run* is an event where it counts: on its CPU, or on one of its tasks.  While
 * its time runs on a CPU it is "in" there, and on that CPU's list for its PMU;
 * some of those have one of the PMU's counters, a *slot*.  If there are not
 * enough, the runs that have had the smallest share of their time get them, and
 * a timer looks again every few milliseconds.  What an event counted in the time
 * that it had a slot ("running") stands for the time it was in ("enabled"): the
 * reader scales.
 *
 * Events of one group (perf_event_open's group_fd) have slots together or not at
 * all, so that their counts can be divided by each other.
 *
 * All of it is one CPU's own affair, interrupts off.
 */
#ifndef KERNEL_PERF_SLOTS_H
#define KERNEL_PERF_SLOTS_H

#include "kernel/perf/pmu.h"

struct perf_event;

#define PMU_SLOTS_MAX 16

/* Legend: [q] the CPU where it is in, interrupts off */
struct perf_run {
	struct perf_event *event;       /* constant */
	struct perf_run *next, **prev;  /* [q] perf_slots.live */
	int slot;                       /* [q] -1: waits for one */
	bool decided;                   /* [q] within settling */
	uint64_t counted;               /* [q] of the slot's count, what the event has got */
	uint64_t synced;                /* [q] clock_ns(): times are right up to here */
	uint64_t in_ns, run_ns;         /* [q] ever */
};

struct perf_slots {
	struct perf_run *live;               /* [q] */
	struct perf_run *at[PMU_SLOTS_MAX];  /* [q] who has each slot */
	struct pmu *pmu;                     /* constant */
	struct perf_slots *next, **prev;     /* [q] those with live runs on this CPU */
} __cacheline_aligned;

/* A run comes in or goes out; slots_settle() follows when all have that change here now. */
void slots_in(struct perf_run *r);
void slots_out(struct perf_run *r);
/* The event's count and times, up to now. */
void slots_sync(struct perf_run *r);
/* Gives the slots out. */
void slots_settle(void);
/* After changes: settles if there were any. */
void slots_changed(void);
/* This CPU leaves idling: turns go on. */
void slots_wake(void);
void slots_init(void);

#endif /* KERNEL_PERF_SLOTS_H */
