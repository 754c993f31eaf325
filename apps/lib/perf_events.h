/* SPDX-License-Identifier: MIT */
/*
 * Events by name, through perf_event_open(2).  Names are those of
 * /proc/tally/pmus; '-' and '_' are the same.  On Linux, where there is no such
 * file, the software events are known.
 */
#ifndef APPS_LIB_PERF_EVENTS_H
#define APPS_LIB_PERF_EVENTS_H

#include <stdint.h>
#include <sys/types.h>

struct perf_pmu {
	char name[48], what[96];
	uint32_t type;
	uint64_t config;
	int is_time; /* nanoseconds */
};

/* All there are, into a table that stays; their number. */
unsigned perf_pmus(const struct perf_pmu **table);
/* Also PMU/EVENT/, for PMUs that count what others count.  NULL: no such event. */
const struct perf_pmu *perf_pmu_find(const char *name);

struct perf_open {
	const struct perf_pmu *pmu;
	pid_t pid;	/* -1: any (then cpu >= 0); with group_fd ignored */
	int cpu;	/* -1: any */
	int group_fd;	/* directory of a group, or -1 */
	int inherit, on_exec, enabled;
	int leader;	/* descriptor of the event that leads its group; 0: none */
};
/* Descriptor, or -1 with errno. */
int perf_open(const struct perf_open *o);
int perf_enable(int fd, int on);
/*
 * What it has counted.  enabled, running: ns in which it could have, and in which it
 * had a counter; less than the former if more events wanted the PMU's counters than
 * there are.
 */
struct perf_value {
	uint64_t count, enabled, running;
};
/* 0, or -1 with errno. */
int perf_count(int fd, struct perf_value *v);
/* CPUs of the machine. */
unsigned perf_cpus(void);

#endif
