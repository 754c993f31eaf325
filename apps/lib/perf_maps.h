/* SPDX-License-Identifier: MIT */
/*
 * Which program a process runs, asked for while it lives: /proc/PID/maps of
 * each process that a sample is the first of, again when its name has changed
 * (execve).
 */
#ifndef APPS_LIB_PERF_MAPS_H
#define APPS_LIB_PERF_MAPS_H

#include "apps/lib/perf_record.h"

#define PERF_PROCESSES 512

struct perf_maps {
	struct {
		int32_t pid;
		char name[16];
	} known[PERF_PROCESSES];
	unsigned nr;
	/* Called for each executable mapping of a file; @m and its path are gone afterwards. */
	void (*each)(const struct perf_map *m, void *arg);
	void *arg;
};
/* What process @pid maps now, if it lives. */
void perf_maps_read(struct perf_maps *p, int32_t pid);
/* The same for a sample's process, unless it is known. */
void perf_maps_note(struct perf_maps *p, const struct perf_sample *s);

#endif
