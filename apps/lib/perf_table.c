/* SPDX-License-Identifier: MIT */
/* Sums by key (struct perf_table in perf_report.h). */
#include <stdlib.h>
#include <string.h>
#include "apps/lib/perf_report.h"

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
