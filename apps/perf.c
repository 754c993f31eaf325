/* SPDX-License-Identifier: MIT */
/* perf: counts events and profiles.  Each command is in apps/lib/perf_*.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/lib/perf_events.h"
#include "apps/lib/perf_record.h"
#include "apps/lib/perf_report.h"
#include "apps/lib/perf_stat.h"

static void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: perf list                          events that can be counted\n"
		"       perf stat [-a] [-e LIST] [-G GROUP] [--] COMMAND\n"
		"       perf record [-a] [-g] [-F HZ | -e EVENT] [-G GROUP] [-o FILE] [--] COMMAND\n"
		"       perf report [-g] [-i FILE] [--folded] [-n LINES]\n"
		"       perf top [-F HZ] [-d SECONDS] [-n ROUNDS] [-G GROUP]\n");
	exit(status);
}

static int list(void)
{
	const struct perf_pmu *p;
	unsigned n = perf_pmus(&p);

	for (unsigned i = 0; i < n; i++)
		printf("  %-28s %s\n", p[i].name, p[i].what);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		usage(129);
	if (!strcmp(argv[1], "list"))
		return list();
	if (!strcmp(argv[1], "stat"))
		return perf_stat(argc - 1, argv + 1);
	if (!strcmp(argv[1], "record"))
		return perf_record(argc - 1, argv + 1);
	if (!strcmp(argv[1], "report"))
		return perf_report(argc - 1, argv + 1);
	if (!strcmp(argv[1], "top"))
		return perf_top(argc - 1, argv + 1);
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))
		usage(0);
	fprintf(stderr, "perf: no command '%s'\n", argv[1]);
	usage(129);
}
