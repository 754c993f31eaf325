/* SPDX-License-Identifier: MIT */
/* Machine files: "name = value" a line, # begins a comment (tests/sim/machines). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/sim/sim.h"

const struct sim_machine sim_machine_default = {
	.cpus = 72, .cores_per_socket = 18, .threads_per_core = 2, .near_percent = 100,
	.pages_per_message = 6, .pages_per_charge = 3, .pair_mbps = 21694.8,
};

static const struct {
	const char *name;
	size_t offset;
} values[] = {
#define VALUE(text, field) { text, offsetof(struct sim_machine, field) }
	VALUE("cpus", cpus),
	VALUE("cores_per_socket", cores_per_socket),
	VALUE("threads_per_core", threads_per_core),
	VALUE("read_ns", read_transfer),
	VALUE("write_ns", write_transfer),
	VALUE("shared_read_ns", shared_read),
	VALUE("near_percent", near_percent),
	VALUE("spread_percent", spread_percent),
	VALUE("hold_ns", hold),
	VALUE("hit_ns", hit),
	VALUE("rmw_ns", rmw),
	VALUE("restart_ns", restart),
	VALUE("pages_per_message", pages_per_message),
	VALUE("pages_per_charge", pages_per_charge),
	VALUE("pair_mbps", pair_mbps),
#undef VALUE
};

static void *place_of(struct sim_machine *m, unsigned i)
{
	return (char *)m + values[i].offset;
}

static bool is_double(unsigned i)
{
	return values[i].offset == offsetof(struct sim_machine, pair_mbps);
}

bool sim_machine_set(struct sim_machine *m, const char *name, double value)
{
	for (unsigned i = 0; i < ARRAY_SIZE(values); i++) {
		if (strcmp(values[i].name, name))
			continue;
		if (is_double(i))
			*(double *)place_of(m, i) = value;
		else
			*(uint32_t *)place_of(m, i) = (uint32_t)value;
		return true;
	}
	return false;
}

double sim_machine_get(const struct sim_machine *m, unsigned i, const char **name)
{
	const char *at = (const char *)m;

	*name = NULL;
	if (i >= ARRAY_SIZE(values))
		return 0;
	*name = values[i].name;
	at += values[i].offset;
	return is_double(i) ? *(const double *)(const void *)at
			    : (double)*(const uint32_t *)(const void *)at;
}

static bool plausible(const struct sim_machine *m, const char *path)
{
	const char *what = NULL;

	if (m->cpus < 2 || m->cpus > MAX_CPUS || m->cpus % 2)
		what = "cpus: an even number, 2 to 1024";
	else if (!m->threads_per_core || m->cpus % m->threads_per_core)
		what = "threads_per_core: must divide cpus";
	else if (!m->cores_per_socket)
		what = "cores_per_socket: at least 1";
	else if (m->spread_percent > 100)
		what = "spread_percent: at most 100";
	else if (!m->pages_per_charge || m->pages_per_message % m->pages_per_charge)
		what = "pages_per_charge: must divide pages_per_message";
	else if (m->pair_mbps <= 0)
		what = "pair_mbps: above 0";
	if (what)
		fprintf(stderr, "%s: %s\n", path, what);
	return !what;
}

bool sim_machine_read(struct sim_machine *m, const char *path)
{
	FILE *f = fopen(path, "r");
	char line[200];
	unsigned nr = 0;
	bool ok = true;

	*m = sim_machine_default;
	if (!f) {
		fprintf(stderr, "%s: no such machine file\n", path);
		return false;
	}
	while (fgets(line, sizeof(line), f)) {
		char name[40], rest[2];
		double v;
		int n;

		nr++;
		line[strcspn(line, "#\n")] = 0;
		n = sscanf(line, " %39[a-z_] = %lf %1s", name, &v, rest);
		if (n <= 0 && line[strspn(line, " \t\r")] == 0)
			continue;
		if (n != 2 || v < 0 || !sim_machine_set(m, name, v)) {
			fprintf(stderr, "%s:%u: expected \"name = number\", not \"%s\"\n", path, nr, line);
			ok = false;
		}
	}
	fclose(f);
	return ok && plausible(m, path);
}
