/* SPDX-License-Identifier: MIT */
/* Implements perf_report.h: `perf report` and `perf top`. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/lib/np_proto.h"
#include "apps/lib/perf_record.h"
#include "apps/lib/perf_report.h"
#include "apps/lib/perf_symbols.h"

/* Open addressing over the keys, a power of two of slots, at most half full. */

static unsigned slot_of(const struct perf_table *t, const char *key)
{
	uint32_t h = 2166136261u;

	for (const char *p = key; *p; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	h &= t->room - 1;
	while (t->rows[h].key && strcmp(t->rows[h].key, key))
		h = (h + 1) & (t->room - 1);
	return h;
}

static int grow(struct perf_table *t)
{
	struct perf_table bigger = { .room = t->room ? t->room * 2 : 256, .nr = t->nr,
				     .total = t->total };

	bigger.rows = calloc(bigger.room, sizeof(*bigger.rows));
	if (!bigger.rows)
		return -1;
	for (unsigned i = 0; i < t->room; i++)
		if (t->rows[i].key)
			bigger.rows[slot_of(&bigger, t->rows[i].key)] = t->rows[i];
	free(t->rows);
	*t = bigger;
	return 0;
}

void perf_table_add(struct perf_table *t, const char *key, uint64_t n)
{
	unsigned i;

	if (t->nr * 2 >= t->room && grow(t) < 0)
		return;
	i = slot_of(t, key);
	if (!t->rows[i].key) {
		t->rows[i].key = strdup(key);
		t->nr++;
	}
	t->rows[i].n += n;
	t->total += n;
}

static int by_count(const void *a, const void *b)
{
	const struct perf_row *x = a, *y = b;

	if (!x->key || !y->key)
		return !x->key - !y->key;
	return x->n > y->n ? -1 : x->n < y->n ? 1 : strcmp(x->key, y->key);
}

/* Afterwards rows[0..nr) are in order; nothing may be added any more. */
void perf_table_sort(struct perf_table *t)
{
	if (t->rows)
		qsort(t->rows, t->room, sizeof(*t->rows), by_count);
}

void perf_table_free(struct perf_table *t)
{
	for (unsigned i = 0; i < t->room; i++)
		free(t->rows[i].key);
	free(t->rows);
	memset(t, 0, sizeof(*t));
}

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

void perf_print_symbols(struct perf_table *t, FILE *f, unsigned lines)
{
	perf_table_sort(t);
	for (unsigned i = 0; i < t->nr && (!lines || i < lines); i++) {
		const char *tab = strchr(t->rows[i].key, '\t');
		int width = (int)(tab - t->rows[i].key), kernel = t->rows[i].key[0] == '[';

		fprintf(f, "%8.2f%%  %-16.*s  [%c] %s\n", 100.0 * (double)t->rows[i].n / (double)t->total,
			width, t->rows[i].key, kernel ? 'k' : '.', tab + 1);
	}
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
			perf_add_map((const struct perf_map *)(void *)(u.bytes + sizeof(u.s)));
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
	int opt, folded = 0;
	unsigned lines = 0;

	while ((opt = getopt_long(argc, argv, "i:n:h", options, NULL)) != -1) {
		switch (opt) {
		case 'i':
			input = optarg;
			break;
		case 'n':
			lines = (unsigned)atoi(optarg);
			break;
		case 'f':
			folded = 1;
			break;
		case 's':
			break;
		default:
			fprintf(stderr, "usage: perf report [-i FILE] [--folded] [-n LINES]\n");
			return 129;
		}
	}
	if (read_file(input, folded ? perf_count_chain : perf_count_symbol, &t) < 0)
		return 1;
	if (folded) {
		perf_table_sort(&t);
		for (unsigned i = 0; i < t.nr; i++)
			printf("%s %llu\n", t.rows[i].key, (unsigned long long)t.rows[i].n);
		return 0;
	}
	printf("# %llu samples of event 'cpu-clock'\n# Overhead  Object            Symbol\n",
	       (unsigned long long)t.total);
	perf_print_symbols(&t, stdout, lines);
	return 0;
}

static void count_sample(const struct perf_sample *s, void *arg)
{
	perf_count_symbol(arg, s);
}

int perf_top(int argc, char **argv)
{
	struct perf_table t = { 0 };
	struct perf_profile p = { .hz = perf_default_hz(), .event_fd = -1, .sample = count_sample,
				  .arg = &t };
	unsigned rounds = 0, lines = 20;
	double seconds = 2;
	int opt;

	while ((opt = getopt(argc, argv, "F:d:n:l:G:h")) != -1) {
		switch (opt) {
		case 'F':
			p.hz = (unsigned)atoi(optarg);
			break;
		case 'd':
			seconds = atof(optarg);
			break;
		case 'n':
			rounds = (unsigned)atoi(optarg);
			break;
		case 'l':
			lines = (unsigned)atoi(optarg);
			break;
		case 'G':
			p.group = optarg;
			break;
		default:
			fprintf(stderr, "usage: perf top [-F HZ] [-d SECONDS] [-n ROUNDS] [-l LINES] [-G GROUP]\n");
			return 129;
		}
	}
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
		       (unsigned long long)t.total, seconds, p.hz);
		perf_print_symbols(&t, stdout, lines);
		fflush(stdout);
		perf_table_free(&t);
	}
	perf_profile_stop(&p);
	return 0;
}
