/* SPDX-License-Identifier: MIT */
/* `perf top`: the functions that run now, again and again. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "apps/lib/np_proto.h"
#include "apps/lib/options.h"
#include "apps/lib/perf_maps.h"
#include "apps/lib/perf_record.h"
#include "apps/lib/perf_report.h"
#include "apps/lib/perf_symbols.h"

/* `perf top`: what is counted in a round, and the programs seen so far. */
struct top {
	struct perf_table table;
	struct perf_maps maps;
};

static void add_map(const struct perf_map *m, void *arg)
{
	(void)arg;
	perf_add_map(m);
}

static void count_sample(const struct perf_sample *s, void *arg)
{
	struct top *t = arg;

	perf_maps_note(&t->maps, s);
	perf_count_symbol(&t->table, s);
}

static double number(const char *option, double lo, double hi)
{
	return option_number("perf top", option, optarg, lo, hi);
}

int perf_top(int argc, char **argv)
{
	static struct top t;
	struct perf_profile p = { .hz = perf_default_hz(), .event_fd = -1, .sample = count_sample,
				  .arg = &t };
	unsigned rounds = 0, lines = 20;
	double seconds = 2;
	int opt;

	while ((opt = getopt(argc, argv, "F:d:n:l:G:h")) != -1) {
		switch (opt) {
		case 'F':
			p.hz = (unsigned)number("-F", 1, 1e6);
			break;
		case 'd':
			seconds = number("-d", 0.01, 86400);
			break;
		case 'n':
			rounds = (unsigned)number("-n", 0, 1e9);
			break;
		case 'l':
			lines = (unsigned)number("-l", 0, 1e6);
			break;
		case 'G':
			p.group = optarg;
			break;
		default:
			fprintf(stderr, "usage: perf top [-F HZ] [-d SECONDS] [-n ROUNDS] [-l LINES] [-G GROUP]\n");
			return 129;
		}
	}
	t.maps.each = add_map;
	if (perf_profile_start(&p) < 0)
		return 1;
	for (unsigned round = 1; !rounds || round <= rounds; round++) {
		double end = np_now() + seconds;

		while (np_now() < end) {
			usleep(50000);
			perf_profile_drain(&p);
		}
		if (isatty(1))
			printf("\033[H\033[J");
		printf("   perf top: %llu samples in %g s, %u Hz per CPU that runs something\n\n",
		       (unsigned long long)t.table.total, seconds, p.hz);
		perf_print_symbols(&t.table, stdout, lines);
		fflush(stdout);
		perf_table_free(&t.table);
	}
	perf_profile_stop(&p);
	return 0;
}
