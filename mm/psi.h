/* SPDX-License-Identifier: MIT */
/*
 * Pressure stall information: time that threads lose because memory is short.
 *
 * What:      "some": at least one thread of the group or below waits for memory (it
 *            reclaims, or is throttled).  "full": and none of the others runs a program.
 * How:       each level counts its stalled threads in one atomic; only the first to
 *            come and the last to go touch the clock.  "some" is exact.  "full" is
 *            sampled: while anybody is stalled, one thread looks every PSI_SAMPLE_NS at
 *            what the CPUs run, and what a level has lost since then counts as full if
 *            nobody of it was running unstalled.
 * Life time: a struct psi is made at a group's first stall and freed with the group.
 * Locks:     psi->lock over the clock and triggers of one level; nothing inside but wait
 *            queues.
 */
#ifndef MM_PSI_H
#define MM_PSI_H

#include "kernel/wait.h"

struct memcg;

#define PSI_SAMPLE_NS (20 * NSEC_PER_MSEC)

enum psi_what { PSI_SOME, PSI_FULL, NR_PSI };

/* Averages in hundredths of a per cent; total in ns. */
struct psi_figures {
	uint32_t avg10, avg60, avg300;
	uint64_t total;
};
void psi_read(struct memcg *m, struct psi_figures out[NR_PSI]);

/**
 * psi_stall_begin - the current thread begins to lose time to memory
 * @s: the caller's, for psi_stall_end()
 * Nests: the outermost counts.  Context: thread.
 */
struct psi_stall {
	struct memcg *group; /* referenced; NULL: inside another */
};
void psi_stall_begin(struct psi_stall *s);
void psi_stall_end(struct psi_stall *s);

/*
 * A trigger fires when a level loses @stall_ns within @window_ns, at most once per window.
 * Create: -ENOMEM, -EINVAL (window 0.5 to 10 s, 0 < stall <= window).  The group is referenced.
 */
struct psi_trigger;
struct psi_trigger *psi_trigger_create(struct memcg *m, enum psi_what what, uint64_t stall_ns,
				       uint64_t window_ns);
void psi_trigger_destroy(struct psi_trigger *t);
struct wait_queue *psi_trigger_queue(struct psi_trigger *t);
bool psi_trigger_fired(struct psi_trigger *t); /* since the last call */

void psi_free(struct memcg *m); /* with the group, after a grace period */
void psi_init(void);            /* starts the sampling thread */

#endif /* MM_PSI_H */
