/* SPDX-License-Identifier: MIT */
/* Run a function in thread context on every CPU, for draining per-CPU lists. */
#ifndef MM_EACH_CPU_H
#define MM_EACH_CPU_H

/**
 * each_cpu_run - call fn() once on every CPU, in its worker thread
 *
 * Waits for all, but not longer than a second (a CPU may be away); if another
 * call is under way, only this CPU runs fn().
 * Context: thread, sleeps.
 */
void each_cpu_run(void (*fn)(void));

#endif /* MM_EACH_CPU_H */
