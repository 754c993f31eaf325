/* SPDX-License-Identifier: MIT */
/* What netperf prints of an OMNI test: the tables users know, or chosen values by name. */
#ifndef APPS_LIB_NP_OUTPUT_H
#define APPS_LIB_NP_OUTPUT_H

#include "apps/lib/np_omni_client.h"

enum np_style {
	NP_TABLE,	/* as the classic tests print */
	NP_KEYVAL,	/* KEY=value, a line each (-k) */
	NP_CSV,		/* labels, then values, with commas (-o) */
	NP_COLUMNS,	/* labels over values (-O) */
};

struct np_output {
	enum np_style style;
	const char *keys;	/* with commas; NULL: those of the test, "all": all */
	const char *units;	/* of throughput: G M K g m k, x for transactions; NULL: the test's */
	int headers, verbosity;
	const char *command;	/* the command line */
};

/**
 * np_output_check - is every key known?
 * Return: NULL, or the first key that is not (as long as @keys lives).
 */
const char *np_output_check(const char *keys);

/* The line that names test and peer. */
void np_output_title(const struct np_omni *c, const struct np_output *o);

void np_output_results(const struct np_omni *c, const struct np_output *o);

/* Factor and name of a unit; from 10^6 bits per second. */
double np_unit(const char *units, const char **name);

#endif
