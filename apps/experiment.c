/* SPDX-License-Identifier: MIT */
/*
 * experiment: what one boot can measure.  The runner's `tally experiment`
 * boots as often as an experiment needs and merges the records.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/lib/groups.h"
#include "apps/lib/kernel_files.h"
#include "apps/lib/options.h"
#include "apps/lib/perfswitch.h"
#include "apps/lib/recipe.h"
#include "apps/lib/truth.h"
#include "apps/lib/walk.h"

static void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: experiment recipe|layout|batch|uncharge [-n CLIENTS] [-l SECONDS]\n"
		"                  [-r ROUNDS] [--groups 1|N] [--presets NAME]\n"
		"       experiment truth [-n PAIRS] [--bytes B]\n"
		"       experiment groups [-n GROUPS]\n"
		"       experiment walk [--cores N] [--file BYTES] [--limit BYTES] [--passes N]\n"
		"       experiment perfswitch [--pmus N] [--types 1|2] [--l2 low|high]\n"
		"                  [--l3 low|high] [-n TURNS]\n");
	exit(status);
}

static int low_or_high(const char *text, const char *what)
{
	if (strcmp(text, "low") && strcmp(text, "high")) {
		fprintf(stderr, "experiment: %s: low or high expected, not '%s'\n", what, text);
		exit(2);
	}
	return text[0] == 'h';
}

/* The preset of this boot, "" where there is none (Linux). */
static void preset_read(char *buf, size_t size)
{
	if (word_read(MEMCG_LAYOUT, "preset", buf, size) < 0)
		buf[0] = 0;
}

/* Presets hold boot-only parameters: only this boot's can be run here. */
static int presets_possible(const char *list)
{
	char preset[32], copy[256], *save, *p;
	int possible = 0;

	preset_read(preset, sizeof(preset));
	snprintf(copy, sizeof(copy), "%s", list);
	for (p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		if (!strcmp(p, preset))
			possible = 1;
		else
			fprintf(stderr,
				"experiment: preset %s needs a boot of its own (memcg=%s); this "
				"one runs %s\n",
				p, p, *preset ? preset : "no preset");
	}
	return possible;
}

/* One parameter, several values, all in this boot. */
static int vary(struct recipe *r, const char *param, const char *const *values)
{
	char before[32];
	int ret = 0;

	if (param_read(param, before, sizeof(before)) < 0) {
		fprintf(stderr, "experiment: no parameter %s here\n", param);
		return -1;
	}
	for (int i = 0; values[i] && ret == 0; i++) {
		if (param_write(param, values[i]) < 0) {
			fprintf(stderr, "experiment: cannot set %s to %s\n", param, values[i]);
			ret = -1;
			break;
		}
		r->variant = values[i];
		ret = recipe_run(r);
	}
	param_write(param, before);
	return ret;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "groups", required_argument, NULL, 'g' },
						 { "presets", required_argument, NULL, 'P' },
						 { "bytes", required_argument, NULL, 'b' },
						 { "pmus", required_argument, NULL, 'p' },
						 { "types", required_argument, NULL, 't' },
						 { "l2", required_argument, NULL, '2' },
						 { "l3", required_argument, NULL, '3' },
						 { "cores", required_argument, NULL, 'C' },
						 { "file", required_argument, NULL, 'F' },
						 { "limit", required_argument, NULL, 'L' },
						 { "passes", required_argument, NULL, 'S' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	static const char *const batches[] = { "32", "64", NULL };
	static const char *const uncharges[] = { "direct", "stock", NULL };
	struct recipe r = { .clients = 36, .rounds = 3, .groups = 1, .seconds = 10 };
	struct perfswitch ps = { .turns = 1000 };
	struct walk walk = { .file = 256 << 20, .limit = 128 << 20, .passes = 50 };
	uint64_t bytes = 32 << 20;
	unsigned groups = 1000;
	const char *name, *presets = NULL;
	char layout[32];
	int opt;

	if (argc < 2)
		usage(2);
	name = argv[1];
	if (!strcmp(name, "-h") || !strcmp(name, "--help"))
		usage(0);
	argv[1] = argv[0];
	while ((opt = getopt_long(argc - 1, argv + 1, "n:l:r:h", options, NULL)) != -1) {
		switch (opt) {
		case 'n':
			if (!strcmp(name, "perfswitch"))
				ps.turns = (unsigned)option_number("experiment", "-n", optarg, 10, 1e8);
			else if (!strcmp(name, "groups"))
				groups = (unsigned)option_number("experiment", "-n", optarg, 1, 1e7);
			else
				r.clients = (unsigned)option_number("experiment", "-n", optarg, 1, 1024);
			break;
		case 'p':
			ps.pmus = (unsigned)option_number("experiment", "--pmus", optarg, 0, 4096);
			break;
		case 't':
			ps.types = (unsigned)option_number("experiment", "--types", optarg, 1, 2);
			break;
		case '2':
			ps.l2 = low_or_high(optarg, "--l2");
			ps.types += !ps.types;
			break;
		case '3':
			ps.l3 = low_or_high(optarg, "--l3");
			ps.types += !ps.types;
			break;
		case 'l':
			r.seconds = option_number("experiment", "-l", optarg, 0.01, 86400);
			break;
		case 'r':
			r.rounds = (unsigned)option_number("experiment", "-r", optarg, 1, 64);
			break;
		case 'g':
			r.groups = (unsigned)option_number("experiment", "--groups", optarg, 1, 1024);
			break;
		case 'P':
			presets = optarg;
			break;
		case 'C':
			walk.cores = (unsigned)option_number("experiment", "--cores", optarg, 1, 1024);
			break;
		case 'F':
			walk.file = (uint64_t)option_number("experiment", "--file", optarg, 1 << 20, 1e15);
			break;
		case 'L':
			walk.limit = (uint64_t)option_number("experiment", "--limit", optarg, 1 << 20, 1e15);
			break;
		case 'S':
			walk.passes = (unsigned)option_number("experiment", "--passes", optarg, 1, 1e6);
			break;
		case 'b':
			bytes = (uint64_t)option_number("experiment", "--bytes", optarg, 1, 1e15);
			break;
		case 'h':
			usage(0);
			break;
		default:
			usage(2);
		}
	}
	if (optind < argc - 1)
		usage(2);
	if (presets && !presets_possible(presets))
		return 1;

	if (!strcmp(name, "truth"))
		return truth_run(r.clients, bytes) < 0;
	if (!strcmp(name, "groups"))
		return groups_run(groups) < 0;
	if (!strcmp(name, "walk"))
		return walk_run(&walk) < 0;
	if (!strcmp(name, "perfswitch"))
		return perfswitch_run(&ps) < 0;
	if (!strcmp(name, "recipe"))
		return recipe_run(&r) < 0;
	if (!strcmp(name, "layout")) {
		/* Boot-only: this boot's layout is the variant. */
		if (param_read("memcg.layout", layout, sizeof(layout)) < 0) {
			fprintf(stderr, "experiment: no parameter memcg.layout here\n");
			return 1;
		}
		r.variant = layout;
		r.layout_fields = 1;
		return recipe_run(&r) < 0;
	}
	if (!strcmp(name, "batch"))
		return vary(&r, "memcg.batch", batches) < 0;
	r.profile = !strcmp(name, "uncharge");
	if (r.profile)
		return vary(&r, "memcg.uncharge", uncharges) < 0;
	fprintf(stderr, "experiment: no experiment '%s'\n", name);
	usage(2);
}
