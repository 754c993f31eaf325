/* SPDX-License-Identifier: MIT */
/*
 * Perf events: a PMU counted while something holds.
 *
 *	on a CPU		always
 *	on a CPU, for a group	while a process of the group (or below) runs there
 *	on a task		while it runs; with inherit, also its children
 *
 * An event that counts remembers the PMU's reading when it began ("in"); going
 * out adds the difference to its count.  Who goes in and out:
 *
 *	on a CPU		whoever enables and disables it
 *	for a group		its CPU, interrupts off: at a switch between groups
 *				(switch.c) and when asked by a remote call
 *	on a task		the CPU on which the task runs, interrupts off.  The
 *				task's list holds one attachment per event and
 *				inheriting task.
 *
 * Enabling a running task's event races with its switches.  The CPU announces
 * itself in attachment.on and then reads event.enabled; whoever changes enabled
 * does so first and then reads on, and calls that CPU if there is one.  Both are
 * sequentially consistent, so one sees the other.
 *
 * PMUs with few counters (slots.h) have no readings that anybody could take from
 * elsewhere: their events on a CPU are bound to the root group, and come and go
 * on that CPU like those of other groups.
 *
 * Groups of events (not to be confused with memory groups): a leader and its
 * siblings.  A sibling counts while it and its leader are enabled.
 *
 * Locks: perf_siblings over who leads whom, and over what was asked for (wanted);
 *	  inside it event.lock over attached and over enabling.  Lists that a switch
 *	  walks are changed on that CPU, or published and freed after a grace period.
 */
#ifndef KERNEL_PERF_EVENT_H
#define KERNEL_PERF_EVENT_H

#include "kernel/perf/pmu.h"
#include "kernel/perf/slots.h"
#include "kernel/thread.h"
#include "mm/memcg_tree.h"

/* Legend: [I] constant, [a] atomic, [l] under lock, [q] its CPU only, interrupts off */
struct perf_event {
	struct pmu *pmu;             /* [I] held */
	uint64_t config;             /* [I] what of the PMU, if it has slots */
	struct memcg *group;         /* [I] referenced; NULL: everybody */
	int cpu;                     /* [I] -1: any (tasks only) */
	bool task, inherit;          /* [I] */
	/* [a] written under perf_siblings; itself without one */
	_Atomic(struct perf_event *) leader;
	struct list_head siblings;   /* perf_siblings: of a leader; link of the others */
	bool wanted;                 /* perf_siblings: asked to be enabled */
	_Atomic bool enabled;        /* [a] written under lock: wanted, and so is the leader */
	_Atomic bool on_exec;        /* [a] execve() enables it */
	_Atomic uint64_t count;      /* [a] what has gone out */
	_Atomic uint64_t zero;       /* [a] count at the last reset */
	_Atomic uint64_t enabled_at; /* [a] clock_ns(); 0: disabled */
	_Atomic uint64_t enabled_ns; /* [a] before that */
	_Atomic uint64_t in_ns, run_ns; /* [a] PMUs with slots: its time, and that with a slot */
	_Atomic unsigned missed;     /* [a] children not counted, for want of memory */
	_Atomic int refs;            /* [a] */
	uint64_t id;                 /* [I] never used twice */

	_Atomic bool in;             /* [q] (without a group: [l]) counting since start */
	_Atomic uint64_t start;      /* [q] ([l]) */
	bool linked;                 /* [q] in its context */
	struct perf_run run;         /* [q] PMUs with slots: on its CPU */
	struct perf_event *next, **prev; /* [q] perf_cpu_ctx.events */

	struct spinlock lock;
	struct list_head attached;   /* [l] perf_attach.link */
};

/* One event on one task. */
struct perf_attach {
	struct perf_event *event;    /* [I] referenced */
	_Atomic(struct perf_attach *) next; /* thread->perf; RCU, changed under perf_tasks_lock */
	struct thread *thread;       /* [I] it detaches itself before it ends */
	struct list_head link;       /* event.lock */
	_Atomic int on;              /* [a] CPU on which the thread runs; -1 */
	bool in;                     /* [q] counting since start */
	uint64_t start;              /* [q] */
	struct perf_run run;         /* [q] PMUs with slots */
	struct rcu_head rcu;
};

/**
 * perf_event_create - a disabled event
 * @pmu: the event takes over the hold
 * @group: NULL, or a group of which the event takes a reference; needs @cpu >= 0
 * @cpu: -1 only for events that are going to be attached to a task
 * Return: one reference, or ERR_PTR(-ENOMEM, -EINVAL) with @pmu put.
 */
struct perf_event *perf_event_create(struct pmu *pmu, struct memcg *group, int cpu, bool task);
/* Before it is enabled for the first time: what of a PMU with slots.  0 or the PMU's error. */
int perf_event_config(struct perf_event *e, uint64_t config);
/* Attaches a task event to a thread: 0, -ENOMEM, -ESRCH (it ends). */
int perf_event_attach(struct perf_event *e, struct thread *t);
void perf_event_enable(struct perf_event *e);
void perf_event_disable(struct perf_event *e);
void perf_event_reset(struct perf_event *e);
uint64_t perf_event_read(struct perf_event *e); /* since it was made or reset */
/* ns: what it could have counted in, and what it counted in.  Right after perf_event_read(). */
void perf_event_times(struct perf_event *e, uint64_t *enabled, uint64_t *running);
/* @e, new and disabled, joins @leader's group: 0 or -EINVAL (that one has a leader itself). */
int perf_event_join(struct perf_event *e, struct perf_event *leader);
/* Enables, disables or resets (-1) a leader with all its siblings. */
void perf_group_set(struct perf_event *leader, int what);
/* Calls @fn for the leader of @e's group and then for each sibling, under perf_siblings. */
void perf_group_each(struct perf_event *e, void (*fn)(struct perf_event *e, void *arg), void *arg);
/* Disables, detaches, drops the caller's reference. */
void perf_event_close(struct perf_event *e);
void perf_event_put(struct perf_event *e);

/* Is @e counting for the task that runs on this CPU?  Any context, NMI included; not while idle. */
bool perf_event_counts_here(const struct perf_event *e);

/* Is group @m equal to @top or below it?  Under RCU. */
static inline bool group_is_under(const struct memcg *m, const struct memcg *top)
{
	while (m->depth > top->depth)
		m = m->parent;
	return m == top;
}
/* The group whose time runs when @t runs.  Under RCU. */
struct memcg *perf_group_of(const struct thread *t);

/* switch.c: what a switch does, and the hold on the scheduler's hook. */
enum perf_switch { PERF_SWITCH_ALL, PERF_SWITCH_ACTIVE };
extern int perf_switch_variant;
void perf_hook_get(void);
void perf_hook_put(void);
/* Remote call: brings a group event in, out, into its context or off it, as enabled says. */
void perf_group_update(void *event);
bool perf_hist_prepare(unsigned cpu); /* false without memory */
/* Remote call: as at a switch, for the task that runs here. */
void perf_task_update(void *event);
/* The running task gives up an attachment; interrupts off. */
void perf_attach_end(struct perf_attach *a);
/* A process has moved to another group: events of CPUs on which it may run follow. */
void perf_regroup(void);

struct perf_switch_stats {
	uint64_t switches; /* between groups, on CPUs with group events */
	uint64_t contexts; /* looked at by them */
	uint64_t p10, p50, p90, mean; /* ns of one switch's perf part */
};
void perf_switch_stats(struct perf_switch_stats *out);
void perf_switch_reset(void);

#endif /* KERNEL_PERF_EVENT_H */
