/* SPDX-License-Identifier: MIT */
/* Sums of samples by function, and what prints them. */
#ifndef APPS_LIB_PERF_REPORT_H
#define APPS_LIB_PERF_REPORT_H

#include <stdint.h>
#include <stdio.h>

struct perf_sample;

/* Counts by key; keys are strings. */
struct perf_table {
	struct perf_row {
		char *key;
		uint64_t n;
	} *rows;
	unsigned nr, room;
	uint64_t total;
};
void perf_table_add(struct perf_table *t, const char *key, uint64_t n);
void perf_table_sort(struct perf_table *t); /* most first */
void perf_table_free(struct perf_table *t);

/* The function that a sample was in: "object\tfunction". */
void perf_count_symbol(struct perf_table *t, const struct perf_sample *s);
/* The whole chain: "thread;outermost;...;innermost". */
void perf_count_chain(struct perf_table *t, const struct perf_sample *s);
/* Percent, object, symbol; at most @lines (0: all). */
void perf_print_symbols(struct perf_table *t, FILE *f, unsigned lines);

int perf_report(int argc, char **argv);

#endif
