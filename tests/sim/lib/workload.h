/* SPDX-License-Identifier: MIT */
/* One run of the netperf recipe on a simulated machine (workload.c says what is modelled). */
#ifndef TESTS_SIM_WORKLOAD_H
#define TESTS_SIM_WORKLOAD_H

#include "arch/sim/sim.h"

#define MESSAGE_BYTES 10240.0

struct setup {
	const struct sim_machine *machine;
	unsigned pairs;
	bool in_root;           /* no accounting at all */
	unsigned levels;        /* depth of the groups */
	unsigned groups;        /* 1: all pairs in one; 0: one per pair */
	const char *preset;
	const char *options[8]; /* name, value, …, NULL */
	double work_ns;         /* of each side, per message */
	unsigned mix_percent;   /* so many messages are given back on another pair's CPU */
	unsigned messages;      /* per pair */
	uint64_t seed;
};

struct result {
	double mbps;                               /* mean of the pairs */
	double messages;                           /* that the following are means of */
	double transfers, walks, charges;          /* per message: lines, walks, pages */
};

/* Runs it from a fresh machine; sim_print_transfers() then prints this run's. */
struct result simulate(const struct setup *s);

#endif /* TESTS_SIM_WORKLOAD_H */
