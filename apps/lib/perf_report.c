/* SPDX-License-Identifier: MIT */
/* `perf report`: what a recording says, by function, by caller, or as folded stacks. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/lib/options.h"
#include "apps/lib/perf_record.h"
#include "apps/lib/perf_report.h"
#include "apps/lib/perf_symbols.h"

void perf_count_symbol(struct perf_table *t, const struct perf_sample *s)
{
	const char *object, *symbol;
	char key[256];

	if (!s->nr_kernel && !s->nr_user)
		return;
	symbol = perf_resolve(s->ip[0], s->nr_kernel > 0, s->pid, s->name, &object);
	snprintf(key, sizeof(key), "%s\t%s", object, symbol);
	perf_table_add(t, key, 1);
}

void perf_count_chain(struct perf_table *t, const struct perf_sample *s)
{
	unsigned n = s->nr_kernel + s->nr_user;
	size_t len;
	char key[4096];

	len = (size_t)snprintf(key, sizeof(key), "%s", s->name);
	for (unsigned i = n; i-- > 0 && len < sizeof(key);) {
		const char *object;
		/* A return address belongs to the call before it. */
		uint64_t ip = s->ip[i] - (i != 0 && i != s->nr_kernel);
		const char *symbol = perf_resolve(ip, i < s->nr_kernel, s->pid, s->name, &object);

		len += (size_t)snprintf(key + len, sizeof(key) - len, ";%s%s", symbol,
					i < s->nr_kernel ? "_[k]" : "");
	}
	perf_table_add(t, key, 1);
}

static void print_symbol(const struct perf_row *r, uint64_t total, FILE *f)
{
	const char *tab = strchr(r->key, '\t');
	int width = (int)(tab - r->key), kernel = r->key[0] == '[';

	fprintf(f, "%8.2f%%  %-16.*s  [%c] %s\n", 100.0 * (double)r->n / (double)total, width,
		r->key, kernel ? 'k' : '.', tab + 1);
}

void perf_print_symbols(struct perf_table *t, FILE *f, unsigned lines)
{
	perf_table_sort(t);
	for (unsigned i = 0; i < t->nr && (!lines || i < lines); i++)
		print_symbol(&t->rows[i], t->total, f);
}

/* Key of a row of callers: the function, then who called it, innermost first. */
static void count_callers(struct perf_table *t, const struct perf_sample *s)
{
	unsigned n = s->nr_kernel + s->nr_user;
	char key[4096];
	size_t len = 0;

	for (unsigned i = 0; i < n && len < sizeof(key); i++) {
		const char *object;
		uint64_t ip = s->ip[i] - (i != 0 && i != s->nr_kernel);
		const char *symbol = perf_resolve(ip, i < s->nr_kernel, s->pid, s->name, &object);

		len += (size_t)snprintf(key + len, sizeof(key) - len, i ? "\n%s" : "%s\t%s",
					i ? symbol : object, symbol);
	}
	perf_table_add(t, key, 1);
}

#define CALLERS_SHOWN 5    /* most frequent chains of a function */
#define CALLERS_LEAST 0.05 /* and only those with this share of it */

/* Each function with the chains that it was called by most often. */
static void print_callers(struct perf_table *chains, FILE *f, unsigned lines)
{
	struct perf_table functions = { 0 };
	char key[256];

	perf_table_sort(chains);
	for (unsigned i = 0; i < chains->nr; i++) {
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(chains->rows[i].key, "\n"),
			 chains->rows[i].key);
		perf_table_add(&functions, key, chains->rows[i].n);
	}
	perf_table_sort(&functions);
	for (unsigned k = 0; k < functions.nr && (!lines || k < lines); k++) {
		const char *name = functions.rows[k].key;
		size_t len = strlen(name);
		unsigned shown = 0;

		print_symbol(&functions.rows[k], functions.total, f);
		for (unsigned i = 0; i < chains->nr && shown < CALLERS_SHOWN; i++) {
			const struct perf_row *r = &chains->rows[i];
			double share = (double)r->n / (double)functions.rows[k].n;

			if (strncmp(r->key, name, len) || r->key[len] != '\n' ||
			    share < CALLERS_LEAST)
				continue;
			fprintf(f, "%15.0f%%", 100 * share);
			for (const char *at = r->key + len; *at; at += strcspn(at + 1, "\n") + 1)
				fprintf(f, " < %.*s", (int)strcspn(at + 1, "\n"), at + 1);
			fprintf(f, "\n");
			shown++;
		}
	}
	perf_table_free(&functions);
}

static char recorded_event[64] = "cpu-clock";

/* A record that perf record has added. */
static void own_record(const struct perf_sample *s, const char *data)
{
	if (!strcmp(s->name, "map"))
		perf_add_map((const struct perf_map *)(const void *)data);
	else if (!strcmp(s->name, "event"))
		snprintf(recorded_event, sizeof(recorded_event), "%.63s", data);
}

static int read_file(const char *path,
		     void (*sample)(struct perf_table *, const struct perf_sample *),
		     struct perf_table *t)
{
	static union {
		struct perf_sample s;
		char bytes[4096];
	} u __attribute__((aligned(8)));
	FILE *f = fopen(path, "r");
	char magic[16];

	if (!f) {
		fprintf(stderr, "perf: %s: %s\n", path, strerror(errno));
		return -1;
	}
	if (fread(magic, 16, 1, f) != 1 || memcmp(magic, PERF_MAGIC, 16)) {
		fprintf(stderr, "perf: %s is no recording\n", path);
		fclose(f);
		return -1;
	}
	while (fread(&u.s, 4, 1, f) == 1) {
		size_t n = u.s.size;

		if (n < sizeof(u.s) || n > sizeof(u) || fread(u.bytes + 4, n - 4, 1, f) != 1) {
			fprintf(stderr, "perf: %s: a record is cut off\n", path);
			break;
		}
		if (u.s.cpu == PERF_CPU_OWN)
			own_record(&u.s, u.bytes + sizeof(u.s));
		else if (u.s.nr_kernel + u.s.nr_user <= (n - sizeof(u.s)) / 8)
			sample(t, &u.s);
	}
	fclose(f);
	return 0;
}

int perf_report(int argc, char **argv)
{
	static const struct option options[] = { { "folded", no_argument, NULL, 'f' },
						 { "stdio", no_argument, NULL, 's' },
						 { NULL, 0, NULL, 0 } };
	struct perf_table t = { 0 };
	const char *input = "perf.data";
	int opt, folded = 0, callers = 0;
	unsigned lines = 0;

	while ((opt = getopt_long(argc, argv, "gi:n:h", options, NULL)) != -1) {
		switch (opt) {
		case 'g':
			callers = 1;
			break;
		case 'i':
			input = optarg;
			break;
		case 'n':
			lines = (unsigned)option_number("perf report", "-n", optarg, 0, 1e6);
			break;
		case 'f':
			folded = 1;
			break;
		case 's':
			break;
		default:
			fprintf(stderr, "usage: perf report [-g] [-i FILE] [--folded] [-n LINES]\n");
			return 129;
		}
	}
	if (read_file(input, folded ? perf_count_chain
			     : callers ? count_callers : perf_count_symbol, &t) < 0)
		return 1;
	if (folded) {
		perf_table_sort(&t);
		for (unsigned i = 0; i < t.nr; i++)
			printf("%s %llu\n", t.rows[i].key, (unsigned long long)t.rows[i].n);
		return 0;
	}
	printf("# %llu samples of event '%s'\n# Overhead  Object            Symbol\n",
	       (unsigned long long)t.total, recorded_event);
	if (callers)
		print_callers(&t, stdout, lines);
	else
		perf_print_symbols(&t, stdout, lines);
	return 0;
}
