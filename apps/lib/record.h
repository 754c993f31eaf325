/* SPDX-License-Identifier: MIT */
/*
 * Records: one JSON object a line, each in one write to /dev/records, where
 * the kernel adds what all records have (preset, cpus, machine, commit).
 * Where there is no such device they go to standard output.
 */
#ifndef APPS_LIB_RECORD_H
#define APPS_LIB_RECORD_H

#include <stddef.h>

struct record {
	char text[2048];
	size_t len;
};

void record_begin(struct record *r, const char *name);
void record_string(struct record *r, const char *key, const char *value);
void record_int(struct record *r, const char *key, long long value);
/* @value may be NaN: null. */
void record_number(struct record *r, const char *key, double value);
void record_end(struct record *r);

#endif
