/* SPDX-License-Identifier: MIT */
/* Implements profile.h. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "apps/lib/np_proto.h"
#include "apps/lib/perf_record.h"
#include "apps/lib/profile.h"
#include "apps/lib/record.h"

#define LEAST_PERCENT 0.02

static void count(const struct perf_sample *s, void *arg)
{
	perf_count_symbol(arg, s);
}

void profile_window(const char *group, double seconds, struct perf_table *t)
{
	struct perf_profile p = { .hz = perf_default_hz(), .event_fd = -1, .group = group,
				  .sample = count, .arg = t };
	double end = np_now() + seconds;
	int on = perf_profile_start(&p) == 0;

	while (np_now() < end) {
		double left = end - np_now();

		usleep(left > 0.1 ? 100000 : left > 0 ? (useconds_t)(left * 1e6) + 1 : 1);
		if (on)
			perf_profile_drain(&p);
	}
	if (on)
		perf_profile_stop(&p);
}

void profile_put(struct perf_table *t, const char *variant, unsigned lines)
{
	struct record rec;

	printf("\nprofile%s%s: %llu samples of the group's processes\n", variant ? ", " : "",
	       variant ? variant : "", (unsigned long long)t->total);
	perf_print_symbols(t, stdout, lines);
	fflush(stdout);
	for (unsigned i = 0; i < t->nr; i++) {
		double percent = 100.0 * (double)t->rows[i].n / (double)t->total;
		const char *tab = strchr(t->rows[i].key, '\t');
		char object[32];

		if (percent < LEAST_PERCENT)
			break;
		snprintf(object, sizeof(object), "%.*s", (int)(tab - t->rows[i].key),
			 t->rows[i].key);
		record_begin(&rec, "profile");
		if (variant)
			record_string(&rec, "variant", variant);
		record_string(&rec, "object", object);
		record_string(&rec, "symbol", tab + 1);
		record_number(&rec, "percent", percent);
		record_string(&rec, "source", "samples");
		record_int(&rec, "samples", (long long)t->total);
		record_end(&rec);
	}
}
