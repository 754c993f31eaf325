/* SPDX-License-Identifier: MIT */
/* One run of the netperf recipe on a simulated machine (workload.c says what is modelled). */
#ifndef TESTS_SIM_WORKLOAD_H
#define TESTS_SIM_WORKLOAD_H

#include "arch/sim/sim.h"

#define MESSAGE_BYTES 10240.0
#define MIX_PAIRS     6 /* neighbours whose messages meet on a CPU: with its own, seven groups */

struct setup {
	const struct sim_machine *machine;
	unsigned pairs;
	bool in_root;           /* no accounting at all */
	unsigned levels;        /* depth of the groups */
	unsigned groups;        /* 1: all pairs in one; 0: one per pair */
	const char *preset;
	const char *options[8]; /* name, value, …, NULL */
	double work_ns;         /* of each side, per message */
	unsigned mix_percent;   /* so many messages are given back on a neighbouring pair's CPU */
	bool by_page;           /* tally charges as Linux's sockets do, without its own's credit */
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
