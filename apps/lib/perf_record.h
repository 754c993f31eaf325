/* SPDX-License-Identifier: MIT */
/*
 * The profiler's other end: /dev/perf, and the file that `perf record` writes.
 *
 * The file: 16 bytes of magic, then the kernel's sample records as they come.
 * A record with cpu 0xffff is ours: its name says what it is, its data follows
 * the header.  "map": a program, as struct perf_map; "event": what was sampled.
 */
#ifndef APPS_LIB_PERF_RECORD_H
#define APPS_LIB_PERF_RECORD_H

#include <stdint.h>

/* As kernel/perf/sample.h has them. */
#define PERF_SAMPLE_START 0x5001
#define PERF_SAMPLE_STOP  0x5002
#define PERF_SAMPLE_STATS 0x5003
struct perf_sample_start {
	uint32_t hz, flags;
	int32_t event_fd, group_fd;
	uint32_t buffer, trace_pmu;
};
struct perf_sample_stats {
	uint64_t samples, lost, ns, ticks;
};
struct perf_sample {
	uint32_t size;
	uint16_t cpu;
	uint8_t nr_kernel, nr_user;
	int32_t pid, tid;
	uint32_t group, reserved;
	uint64_t ns;
	char name[16];
	uint64_t ip[];
};

#define PERF_MAGIC   "TALLYPERF 1\n\0\0\0"
#define PERF_CPU_OWN 0xffff
struct perf_map {
	int32_t pid, reserved;
	uint64_t start, end, offset; /* of the first executable mapping, in the file */
	char path[];		     /* NUL-terminated, padded to 8 bytes */
};

/*
 * A profile in the making: samples go to a callback, or to a file.
 * Legend: set hz, chains, group (a path, NULL: all), event_fd (-1), event (NULL: by
 * time) first.
 */
struct perf_pmu;
struct perf_profile {
	const struct perf_pmu *event; /* a trace point */
	unsigned hz;
	int chains, event_fd;
	const char *group;
	void (*sample)(const struct perf_sample *s, void *arg);
	void *arg;

	int fd;
	struct perf_sample_stats stats; /* after perf_profile_stop() */
};
/* 0, or -1 with a message. */
int perf_profile_start(struct perf_profile *p);
/* Takes what the buffers hold; call it several times a second. */
int perf_profile_drain(struct perf_profile *p);
void perf_profile_stop(struct perf_profile *p);

unsigned perf_default_hz(void);

int perf_record(int argc, char **argv);
int perf_top(int argc, char **argv);

#endif
