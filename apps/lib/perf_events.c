/* SPDX-License-Identifier: MIT */
/* Implements perf_events.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "apps/lib/np_proto.h"
#include "apps/lib/perf_events.h"
#include "libc/syscall.h"

#define NR_perf_event_open 298
#define PID_CGROUP	   4
#define IOC_ENABLE	   0x2400
#define IOC_DISABLE	   0x2401
#define TYPE_SOFTWARE	   1

#define MOST_PMUS 8192

struct attr {
	uint32_t type, size;
	uint64_t config, period, sample_type, read_format, flags;
	uint32_t wakeup, bp_type;
	uint64_t config1;
};

#define FORMAT_TIMES 3 /* enabled and running behind the count */

static struct perf_pmu *pmus;
static unsigned nr_pmus;

static const struct {
	const char *name;
	uint64_t config;
	int is_time;
} software[] = { { "cpu-clock", 0, 1 },	      { "task-clock", 1, 1 },
		 { "page-faults", 2, 0 },     { "context-switches", 3, 0 },
		 { "cpu-migrations", 4, 0 },  { "dummy", 9, 0 } };

static const char *const aliases[][2] = {
	{ "cs", "context-switches" },	 { "faults", "page-faults" },
	{ "minor-faults", "page-faults" }, { "migrations", "cpu-migrations" },
	{ "sock-charges", "sock:charge" }, { "socket-charges", "sock:charge" },
	{ "packets", "lo-packets" },	 { "retransmits", "tcp-retransmits" },
};

static int add(const char *name, const char *what, uint32_t type, uint64_t config, int is_time)
{
	struct perf_pmu *p;

	if (nr_pmus % 128 == 0) {
		void *more = realloc(pmus, (nr_pmus + 128) * sizeof(*pmus));

		if (!more)
			return -1;
		pmus = more;
	}
	p = &pmus[nr_pmus++];
	snprintf(p->name, sizeof(p->name), "%s", name);
	snprintf(p->what, sizeof(p->what), "%s", what);
	p->type = type;
	p->config = config;
	p->is_time = is_time;
	return 0;
}

static void load(void)
{
	FILE *f = fopen("/proc/tally/pmus", "r");
	char line[256], unit[16], name[48], what[96], *rest;
	uint64_t config;
	unsigned type;

	while (f && nr_pmus < MOST_PMUS && fgets(line, sizeof(line), f)) {
		/* TYPE[:CONFIG] UNIT NAME WHAT */
		what[0] = 0;
		type = (unsigned)strtoul(line, &rest, 10);
		config = *rest == ':' ? strtoull(rest + 1, &rest, 16) : 0;
		if (sscanf(rest, " %15s %47s %95[^\n]", unit, name, what) >= 2 &&
		    add(name, what, type, config, !strcmp(unit, "ns")) < 0)
			break;
	}
	if (f)
		fclose(f);
	for (size_t i = 0; !nr_pmus && i < sizeof(software) / sizeof(software[0]); i++)
		if (add(software[i].name, "", TYPE_SOFTWARE, software[i].config,
			software[i].is_time) < 0)
			break;
}

unsigned perf_pmus(const struct perf_pmu **table)
{
	if (!pmus)
		load();
	*table = pmus;
	return nr_pmus;
}

static int same(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
			return 0;
	return *a == *b;
}

static const struct perf_pmu *find(const char *name, size_t len)
{
	const struct perf_pmu *p;
	unsigned n = perf_pmus(&p);
	char copy[64];

	snprintf(copy, sizeof(copy), "%.*s", (int)len, name);
	name = copy;
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (same(name, aliases[i][0]))
			name = aliases[i][1];
	for (unsigned i = 0; i < n; i++)
		if (same(name, p[i].name))
			return &p[i];
	return NULL;
}

/* PMU/EVENT/: the event's type is the config. */
static const struct perf_pmu *find_within(const char *name, size_t pmu_len)
{
	static struct perf_pmu made[64];
	static unsigned n;
	const struct perf_pmu *pmu = find(name, pmu_len), *of;
	const char *event = name + pmu_len + 1;
	size_t len = strcspn(event, "/");

	of = find(event, len);
	if (!pmu || !of || n == sizeof(made) / sizeof(made[0]))
		return NULL;
	made[n] = *of;
	made[n].type = pmu->type;
	made[n].config = of->type;
	snprintf(made[n].name, sizeof(made[n].name), "%.20s/%.24s/", pmu->name, of->name);
	return &made[n++];
}

const struct perf_pmu *perf_pmu_find(const char *name)
{
	size_t len = strcspn(name, "/");

	return name[len] ? find_within(name, len) : find(name, len);
}

int perf_open(const struct perf_open *o)
{
	struct attr a = { .type = o->pmu->type, .size = sizeof(a), .config = o->pmu->config,
			  .read_format = FORMAT_TIMES };
	int leader = o->leader ? o->leader : -1;

	a.flags = (o->enabled ? 0 : 1) | (o->inherit ? 2 : 0) | (o->on_exec ? 1 << 12 : 0);
	if (o->group_fd >= 0)
		return (int)sysret(sys_call6(NR_perf_event_open, (long)&a, o->group_fd, o->cpu, leader,
					     PID_CGROUP, 0));
	return (int)sysret(sys_call6(NR_perf_event_open, (long)&a, o->pid, o->cpu, leader, 0, 0));
}

int perf_enable(int fd, int on)
{
	return ioctl(fd, on ? IOC_ENABLE : IOC_DISABLE, 0);
}

int perf_count(int fd, struct perf_value *v)
{
	ssize_t n = read(fd, v, sizeof(*v));

	if (n == sizeof(*v))
		return 0;
	if (n >= 0)
		errno = EIO;
	return -1;
}

unsigned perf_cpus(void)
{
	struct np_cpu cpu;

	return np_cpu_read(&cpu) < 0 || !cpu.cpus ? 1 : cpu.cpus;
}
