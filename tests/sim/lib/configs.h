/* SPDX-License-Identifier: MIT */
/* What is simulated and what was published about it. */
#ifndef TESTS_SIM_CONFIGS_H
#define TESTS_SIM_CONFIGS_H

#include "tests/sim/lib/workload.h"

struct config {
	const char *name;
	double published; /* Mbps of a pair; 0: nothing */
	bool in_root;
	const char *preset;
	const char *options[8];
};

/* Published for 36 clients on 72 CPUs, three levels, Linux 6.0-rc1. */
enum { ROOT, UNCHANGED, WITH_A, WITH_B, WITH_C, WITH_ABC, TALLY, NR_CONFIGS };
extern const struct config configs[NR_CONFIGS];

/* @c on @m, all CPUs busy, one group three levels deep. */
struct setup config_setup(const struct config *c, const struct sim_machine *m, unsigned messages);

/* Other work per message that gives a lone pair @mbps. */
static inline double work_for(double mbps)
{
	return MESSAGE_BYTES * 8e3 / mbps;
}

/* ---- predictions (tests/sim/lib/predict.c) ---- */

struct range {
	double low, median, high;
};

struct prediction {
	unsigned tried, sets;      /* parameter sets looked at; that fit root and unchanged */
	struct range of[NR_CONFIGS];
};

/*
 * Draws parameter sets whose latencies are in the published ranges, keeps those with
 * which `unchanged` comes out within @tolerance, and predicts the rest with each.
 */
struct prediction predict(const struct sim_machine *like, unsigned sets, unsigned tries,
			  unsigned messages, double tolerance);
/* The i-th set that the last predict() kept. */
const struct sim_machine *predict_set(unsigned i);
struct range range_of(double *values, unsigned n); /* sorts them */

#endif /* TESTS_SIM_CONFIGS_H */
