/* SPDX-License-Identifier: MIT */
/* The explorer's scenarios (tests/sim/scenarios.c). */
#ifndef TESTS_SIM_SCENARIOS_H
#define TESTS_SIM_SCENARIOS_H

#include "kernel/types.h"

#define SCENARIO_LEAVES  (1u << 0) /* gives up the groups' users itself */
#define SCENARIO_REMOVES (1u << 1) /* removes leaves */
#define SCENARIO_BESIDE  (1u << 2) /* the last leaf is beside the limited group, not in it */

struct scenario {
	const char *name;
	void (*fn)(unsigned cpu);
	unsigned cpus;
	int limit, top_limit; /* pages; 0: none */
	int most;             /* pages that may be in use; 0: not looked at */
	unsigned flags;       /* SCENARIO_* */
	void (*irq)(unsigned cpu); /* injected, or NULL */
};
extern const struct scenario scenarios[];
extern const unsigned nr_scenarios;

/* false: it has failed, and standard error says with what seed, where and why. */
bool run_scenario(const struct scenario *s, uint64_t seed);

extern int sim_warnings; /* arch/sim/kernel.c */

#endif /* TESTS_SIM_SCENARIOS_H */
