/* SPDX-License-Identifier: MIT */
/*
 * Implements perfswitch.h: two processes in different groups on one CPU hand a
 * token back and forth while each reads and writes an array.  The kernel times
 * the perf part of every switch (/proc/tally/perf_switch).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "apps/lib/kernel_files.h"
#include "apps/lib/perf_events.h"
#include "apps/lib/perfswitch.h"
#include "apps/lib/record.h"

#define SWITCH_FILE "/proc/tally/perf_switch"
#define GROUP_A	    "perfswitch-a"
#define GROUP_B	    "perfswitch-b"

/* Working sets: within a first-level cache; beyond a second-level; together beyond a third-level. */
#define LOW_BYTES     (16u << 10)
#define L2_HIGH_BYTES (4u << 20)
#define L3_HIGH_BYTES (64u << 20)
#define TURN_BYTES    (1u << 20) /* of it touched in one turn */
#define WARM_UP	      50

static const char *const type_names[2] = { "page-faults", "charges" };

struct work {
	volatile char *array;
	size_t bytes, at;
};

static void touch(struct work *w)
{
	size_t n = w->bytes < TURN_BYTES ? w->bytes : TURN_BYTES;

	for (size_t i = 0; i < n; i += 64) {
		w->array[w->at]++;
		w->at += 64;
		if (w->at >= w->bytes)
			w->at = 0;
	}
}

static int work_init(struct work *w, int l2, int l3)
{
	w->bytes = l3 ? L3_HIGH_BYTES / 2 : l2 ? L2_HIGH_BYTES / 2 : LOW_BYTES;
	w->at = 0;
	w->array = malloc(w->bytes);
	for (size_t i = 0; w->array && i < w->bytes; i += 4096)
		w->array[i] = 1;
	return w->array ? 0 : -1;
}

/* The other end: passes the token back until the pipe ends. */
static void partner(int in, int out, int l2, int l3)
{
	struct work w;
	char token;

	if (group_join(GROUP_B) < 0 || work_init(&w, l2, l3) < 0)
		_exit(1);
	while (read(in, &token, 1) == 1) {
		touch(&w);
		if (write(out, &token, 1) != 1)
			break;
	}
	_exit(0);
}

static int pass(int in, int out, struct work *w, unsigned turns)
{
	char token = 't';

	for (unsigned i = 0; i < turns; i++) {
		touch(w);
		if (write(out, &token, 1) != 1 || read(in, &token, 1) != 1) {
			fprintf(stderr, "experiment: the partner ended\n");
			return -1;
		}
	}
	return 0;
}

static int open_events(unsigned types, int *fds)
{
	static const char *const groups[2] = { GROUP_A, GROUP_B };
	unsigned n = 0;

	for (unsigned g = 0; g < 2; g++) {
		char path[256];
		int dir;

		group_path(path, sizeof(path), groups[g], "");
		dir = open(path, O_RDONLY);
		for (unsigned t = 0; t < types && dir >= 0; t++) {
			struct perf_open o = { .pmu = perf_pmu_find(type_names[t]), .cpu = 0,
					       .group_fd = dir, .enabled = 1 };

			fds[n] = o.pmu ? perf_open(&o) : -1;
			if (fds[n] < 0) {
				fprintf(stderr, "experiment: event %s for a group: %s\n",
					type_names[t], strerror(errno));
				return -1;
			}
			n++;
		}
		if (dir < 0) {
			perror(path);
			return -1;
		}
		close(dir);
	}
	return 0;
}

static void report(const struct perfswitch *p, const char *variant)
{
	struct record r;

	record_begin(&r, "perfswitch");
	record_string(&r, "variant", variant);
	record_int(&r, "pmus", p->pmus);
	record_int(&r, "registered", (long long)counter_read(SWITCH_FILE, "pmus"));
	record_int(&r, "types", p->types);
	record_string(&r, "l2", p->l2 ? "high" : "low");
	record_string(&r, "l3", p->l3 ? "high" : "low");
	record_number(&r, "switches", counter_read(SWITCH_FILE, "switches"));
	record_number(&r, "contexts", counter_read(SWITCH_FILE, "contexts"));
	record_number(&r, "p10_ns", counter_read(SWITCH_FILE, "p10_ns"));
	record_number(&r, "p50_ns", counter_read(SWITCH_FILE, "p50_ns"));
	record_number(&r, "p90_ns", counter_read(SWITCH_FILE, "p90_ns"));
	record_end(&r);
	printf("perfswitch %-6s pmus %.0f types %u L2 %-4s L3 %-4s  p10 %6.0f  p50 %6.0f  p90 %6.0f ns"
	       "  %.0f switches\n",
	       variant, counter_read(SWITCH_FILE, "pmus"), p->types, p->l2 ? "high" : "low",
	       p->l3 ? "high" : "low", counter_read(SWITCH_FILE, "p10_ns"),
	       counter_read(SWITCH_FILE, "p50_ns"), counter_read(SWITCH_FILE, "p90_ns"),
	       counter_read(SWITCH_FILE, "switches"));
	fflush(stdout);
}

/* One row: both variants with the same two processes. */
static int run_row(const struct perfswitch *p)
{
	static const char *const variants[2] = { "all", "active" };
	int there[2], back[2], fds[4] = { -1, -1, -1, -1 }, ret = -1;
	struct work w = { 0 };
	pid_t pid;

	if (pipe(there) < 0 || pipe(back) < 0) {
		perror("experiment: pipe");
		return -1;
	}
	pid = fork();
	if (pid < 0) {
		perror("experiment: fork");
		return -1;
	}
	if (!pid) {
		close(there[1]);
		close(back[0]);
		partner(there[0], back[1], p->l2, p->l3);
	}
	close(there[0]);
	close(back[1]);
	if (work_init(&w, p->l2, p->l3) < 0 || pass(back[0], there[1], &w, 1) < 0 ||
	    open_events(p->types, fds) < 0)
		goto out;
	for (unsigned v = 0; v < 2; v++) {
		if (param_write("perf.switch", variants[v]) < 0) {
			fprintf(stderr, "experiment: cannot set perf.switch\n");
			goto out;
		}
		if (pass(back[0], there[1], &w, WARM_UP) < 0)
			goto out;
		file_write(SWITCH_FILE, "reset");
		mark_begin((int)v);
		ret = pass(back[0], there[1], &w, p->turns);
		mark_end();
		if (ret < 0)
			goto out;
		report(p, variants[v]);
	}
out:
	for (unsigned i = 0; i < 4; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free((void *)w.array);
	close(there[1]);
	close(back[0]);
	waitpid(pid, NULL, 0);
	return ret;
}

int perfswitch_run(const struct perfswitch *p)
{
	struct perfswitch row = *p;
	char before[16] = "active", n[16], pmus_before[16] = "0";
	cpu_set_t one;
	int ret = 0;

	if (param_read("perf.switch", before, sizeof(before)) < 0 ||
	    param_read("perf.pmus", pmus_before, sizeof(pmus_before)) < 0) {
		fprintf(stderr, "experiment: perfswitch needs Tally's perf.switch\n");
		return -1;
	}
	snprintf(n, sizeof(n), "%u", p->pmus);
	if (group_make(GROUP_A) < 0 || group_make(GROUP_B) < 0 || group_join(GROUP_A) < 0 ||
	    param_write("perf.pmus", n) < 0) {
		perror("experiment: groups and PMUs");
		return -1;
	}
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0) {
		perror("experiment: cannot stay on CPU 0");
		return -1;
	}
	if (p->types) {
		ret = run_row(p);
	} else {
		for (row.types = 1; row.types <= 2 && !ret; row.types++)
			for (unsigned pressure = 0; pressure < 3 && !ret; pressure++) {
				row.l2 = pressure > 0;
				row.l3 = pressure > 1;
				ret = run_row(&row);
			}
	}
	param_write("perf.switch", before);
	param_write("perf.pmus", pmus_before);
	group_join("");
	group_remove(GROUP_A);
	group_remove(GROUP_B);
	return ret;
}
