/* SPDX-License-Identifier: MIT */
/* What mm/psi.c (stalls, averages) and mm/psi_monitor.c (samples, triggers) share. */
#ifndef MM_PSI_INT_H
#define MM_PSI_INT_H

#include "mm/psi.h"
#include "mm/memcg_tree.h"

#define NR_PSI_AVGS 3

/* Legend: [a] atomic, [l] lock, [m] the sampling thread's list lock. */
struct psi {
	struct memcg *group;             /* constant */
	_Atomic uint32_t stalled;        /* [a] threads here and below that wait for memory */
	struct spinlock lock;
	bool counting;                   /* [l] somebody is stalled, as far as the clock knows */
	uint64_t since;                  /* [l] clock_ns() up to which everything is counted */
	uint64_t total[NR_PSI];          /* [l] ns */
	uint64_t unjudged;               /* [l] of total some: not yet looked at whether full */
	uint64_t period_end;             /* [l] of the present averaging period */
	uint64_t in_period[NR_PSI];      /* [l] ns */
	uint64_t avg[NR_PSI][NR_PSI_AVGS]; /* [l] per cent << PSI_SHIFT */
	struct list_head triggers;       /* [l] */
	struct list_head active;         /* [m] on the list of levels to be looked at */
	bool is_active;                  /* [m] */
};
#define PSI_SHIFT 20

/* Lock held: counts what has passed since the last call. */
void psi_advance(struct psi *p, uint64_t now);
/* The group's, or NULL. */
static inline struct psi *psi_of(struct memcg *m)
{
	return atomic_load_explicit(&m->psi, memory_order_acquire);
}
struct psi *psi_make(struct memcg *m); /* NULL without memory; may sleep */
void psi_watch(struct psi *p); /* the sampling thread looks after it from now on */

#endif /* MM_PSI_INT_H */
