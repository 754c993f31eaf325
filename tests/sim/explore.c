/* SPDX-License-Identifier: MIT */
/*
 * Schedule exploration of the accounting core: the scenarios of tests/sim/scenarios.c
 * under many schedules, with store buffers and interrupts.
 *
 *   explore --seeds N [--from S]   seeds S .. S+N-1 of every scenario
 *   explore --seconds N            as many seeds as fit, each scenario its share
 *   explore --seed S --scenario X  one run again
 *
 * Built with TALLY_PLANT: --faults N looks for each planted fault, N seconds at most;
 * --fault K plants the K-th.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/sim/explorer.h"
#include "kernel/plant.h"
#include "tests/sim/scenarios.h"

#ifdef TALLY_PLANT
enum plant planted;

static const struct {
	const char *scenario, *what;
} plants[NR_PLANTS] = {
#define X(name, scenario, what) [PLANT_##name] = { scenario, what },
	PLANTS(X)
#undef X
};

/* Seeds of the fault's scenario until one fails.  In a process of its own: it may crash. */
static void search(unsigned seconds)
{
	const char *only = plants[planted].scenario;
	time_t end = time(NULL) + seconds;

	for (uint64_t s = 1; time(NULL) < end; s++)
		for (unsigned i = 0; i < nr_scenarios; i++) {
			if (only && strcmp(only, scenarios[i].name))
				continue;
			alarm(20); /* a schedule that never ends is a finding, too */
			if (!run_scenario(&scenarios[i], s)) {
				printf("     found by --fault %d --scenario %s --seed %llu\n", planted,
				       scenarios[i].name, (unsigned long long)s);
				fflush(stdout);
				_exit(1);
			}
		}
	_exit(0);
}

/* Each planted fault must be found within @seconds.  Return: how many were not. */
static unsigned find_faults(unsigned seconds)
{
	unsigned missed = 0;

	if (!freopen("/dev/null", "w", stderr))
		return NR_PLANTS;
	for (unsigned p = 0; p < NR_PLANTS; p++) {
		int status = 0;
		pid_t child;
		bool ok;

		planted = (enum plant)p;
		fflush(stdout);
		child = fork();
		if (!child)
			search(p ? seconds : 3);
		waitpid(child, &status, 0);
		/* Without a fault nothing may be found. */
		ok = p ? status != 0 : status == 0;
		printf("%s %s%s\n", ok ? "ok  " : "FAIL", p ? plants[p].what : "no fault",
		       WIFSIGNALED(status) ? " (crash)" : "");
		missed += !ok;
	}
	printf("%u passed, %u failed\n", NR_PLANTS - missed, missed);
	return missed;
}
#endif

int main(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "seeds", 1, 0, 'n' }, { "from", 1, 0, 'f' }, { "seed", 1, 0, 's' },
		{ "scenario", 1, 0, 'x' }, { "faults", 1, 0, 'p' },
		{ "fault", 1, 0, 'P' }, { "seconds", 1, 0, 't' }, { 0 },
	};
	uint64_t n = 2000, from = 1, steps = 0, seconds = 0, k;
	const char *only = NULL;
	unsigned bad = 0, good = 0;
	int c;

	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (c == 'n')
			n = strtoull(optarg, NULL, 0);
		else if (c == 'f')
			from = strtoull(optarg, NULL, 0);
		else if (c == 's') {
			from = strtoull(optarg, NULL, 0);
			n = 1;
		} else if (c == 't') {
			seconds = strtoull(optarg, NULL, 0);
			n = UINT64_MAX - from;
		} else if (c == 'x')
			only = optarg;
#ifdef TALLY_PLANT
		else if (c == 'p')
			return find_faults((unsigned)atoi(optarg)) != 0;
		else if (c == 'P')
			planted = (enum plant)atoi(optarg);
#endif
		else
			return 2;
	}
	for (unsigned i = 0; i < nr_scenarios; i++) {
		time_t end = time(NULL) + (time_t)(seconds / (only ? 1 : nr_scenarios));
		bool ok = true;

		if (only && strcmp(only, scenarios[i].name))
			continue;
		steps = 0;
		for (k = 0; k < n && ok && (!seconds || time(NULL) < end); k++) {
			ok = run_scenario(&scenarios[i], from + k);
			steps += explore_steps();
		}
		printf("%s %s: %llu schedules, %llu steps\n", ok ? "ok  " : "FAIL", scenarios[i].name,
		       (unsigned long long)k, (unsigned long long)steps);
		fflush(stdout);
		good += ok;
		bad += !ok;
	}
	printf("%u passed, %u failed\n", good, bad);
	return bad != 0;
}
