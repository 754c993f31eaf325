/* SPDX-License-Identifier: MIT */
/*
 * Who shares what: line transfers by address, printed by line and struct field as
 * `perf c2c report` does.  Objects of one name (the entries of all stocks, the groups
 * of all clients) are added up: a line is known by the name of the object on it and
 * where in the object it begins.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/sim/sim.h"

struct tally {
	const void *addr;
	uint64_t reads, writes, near, waited;
};
#define TALLIES 65536 /* open hash by address */
static struct tally *tallies;
static unsigned nr_tallies; /* never all of them: a search ends at a free one */
static bool counting;
static uint64_t transfers;

void sim_sharing_reset(void)
{
	if (!tallies)
		tallies = malloc(TALLIES * sizeof(*tallies));
	memset(tallies, 0, TALLIES * sizeof(*tallies));
	nr_tallies = 0;
	counting = false;
	transfers = 0;
}

void sim_count(bool on)
{
	counting = on;
}

uint64_t sim_transfers(void)
{
	return transfers;
}

static void add(struct tally *to, const struct tally *from)
{
	to->reads += from->reads;
	to->writes += from->writes;
	to->near += from->near;
	to->waited += from->waited;
}

void sim_note_transfer(const void *addr, bool write, bool near, uint64_t waited)
{
	size_t h = ((uintptr_t)addr >> 2) * 0x9e3779b97f4a7c15ULL >> 48;

	if (!counting)
		return;
	transfers++;
	while (tallies[h % TALLIES].addr && tallies[h % TALLIES].addr != addr)
		h++;
	if (!tallies[h % TALLIES].addr) {
		if (nr_tallies == TALLIES - 1)
			return; /* counted above, without its line */
		nr_tallies++;
		tallies[h % TALLIES].addr = addr;
	}
	add(&tallies[h % TALLIES],
	    &(struct tally){ .reads = !write, .writes = write, .near = near, .waited = waited });
}

/* A field, or with an empty name the sum of its line. */
struct row {
	char line[80], name[80];
	unsigned offset; /* in the line */
	uint64_t line_total;
	struct tally t;
};

static uint64_t moved(const struct tally *t)
{
	return t->reads + t->writes;
}

static int by_line(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int c;

	if (x->line_total != y->line_total)
		return x->line_total < y->line_total ? 1 : -1;
	c = strcmp(x->line, y->line);
	if (c || !*x->name || !*y->name)
		return c ? c : *x->name ? 1 : -1;
	return x->offset != y->offset ? (int)x->offset - (int)y->offset : strcmp(x->name, y->name);
}

static void row_add(struct row *rows, unsigned *n, const char *line, const char *name,
		    const struct tally *t)
{
	unsigned k = 0;

	while (k < *n && (strcmp(rows[k].line, line) || strcmp(rows[k].name, name)))
		k++;
	if (k == *n) {
		snprintf(rows[k].line, sizeof(rows[k].line), "%s", line);
		snprintf(rows[k].name, sizeof(rows[k].name), "%s", name);
		rows[k].offset = (uintptr_t)t->addr % CACHE_LINE;
		(*n)++;
	}
	add(&rows[k].t, t);
}

static void print_row(const struct row *r, double per)
{
	printf("  %-30s %9.4f %9.4f %8.4f %8.4f %10.1f\n", r->name, (double)r->t.reads / per,
	       (double)r->t.writes / per, (double)r->t.near / per,
	       (double)(moved(&r->t) - r->t.near) / per, (double)r->t.waited / per);
}

void sim_print_transfers(double per, const char *unit, unsigned lines)
{
	struct row *rows = calloc(2 * TALLIES, sizeof(*rows));
	unsigned n = 0, shown = 0;

	for (unsigned i = 0; i < TALLIES; i++) {
		char line[80], name[80];

		if (!tallies[i].addr)
			continue;
		sim_label_of(tallies[i].addr, name, sizeof(name));
		sim_label_line(tallies[i].addr, line, sizeof(line));
		row_add(rows, &n, line, "", &tallies[i]);
		row_add(rows, &n, line, name, &tallies[i]);
	}
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n; k++)
			if (!*rows[k].name && !strcmp(rows[k].line, rows[i].line))
				rows[i].line_total = moved(&rows[k].t);
	qsort(rows, n, sizeof(*rows), by_line);
	printf("  %-30s %9s %9s %8s %8s %10s   per %s\n", "line, offset, field", "for read",
	       "for write", "near", "far", "waited ns", unit);
	for (unsigned i = 0; i < n; i++) {
		if (!*rows[i].name) {
			if (shown++ == lines)
				break;
			snprintf(rows[i].name, sizeof(rows[i].name), "%s", rows[i].line);
			print_row(&rows[i], per);
			continue;
		}
		memmove(rows[i].name + 7, rows[i].name, sizeof(rows[i].name) - 8);
		rows[i].name[sizeof(rows[i].name) - 1] = 0;
		memcpy(rows[i].name, "  0x", 4);
		rows[i].name[4] = "0123456789abcdef"[rows[i].offset / 16];
		rows[i].name[5] = "0123456789abcdef"[rows[i].offset % 16];
		rows[i].name[6] = ' ';
		print_row(&rows[i], per);
	}
	free(rows);
}
