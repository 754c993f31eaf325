/* SPDX-License-Identifier: MIT */
/* A profile of one group while an experiment's window is open. */
#ifndef APPS_LIB_PROFILE_H
#define APPS_LIB_PROFILE_H

#include "apps/lib/perf_report.h"

/* Sleeps @seconds; adds what @group and those below it were doing to @t. */
void profile_window(const char *group, double seconds, struct perf_table *t);
/* Prints the top @lines; a record "profile" for each function above 0.02 %. */
void profile_put(struct perf_table *t, const char *variant, unsigned lines);

#endif
