/* SPDX-License-Identifier: MIT */
/* Implements metrics.h. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/lib/kernel_files.h"
#include "apps/lib/metrics.h"

#define FILE_BYTES  65536 /* of a kernel file that is read at once */
#define DEEPEST	    64	  /* levels of groups that are looked at */
#define LABEL_BYTES 512

/* Paths of all groups below a root, in the order they are found. */
struct groups {
	char **path; /* relative to the root; "" is the root itself */
	size_t n, room;
};

struct scrape {
	struct text *out;
	const char *root;
	struct groups groups;
	char *file; /* FILE_BYTES */
};

static void family(struct scrape *s, const char *name, const char *type, const char *help)
{
	text_add(s->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value: backslash, quote and newline are escaped. */
static const char *escaped(const char *text, char buf[LABEL_BYTES])
{
	size_t n = 0;

	for (; *text && n + 3 < LABEL_BYTES; text++) {
		if (*text == '\\' || *text == '"' || *text == '\n')
			buf[n++] = '\\';
		buf[n++] = *text == '\n' ? 'n' : *text;
	}
	buf[n] = '\0';
	return buf;
}

/* -- groups -------------------------------------------------------------- */

static int add_group(struct groups *g, const char *path)
{
	if (g->n == g->room) {
		size_t room = g->room ? 2 * g->room : 64;
		char **p = realloc(g->path, room * sizeof(*p));

		if (!p)
			return -1;
		g->path = p;
		g->room = room;
	}
	g->path[g->n] = strdup(path);
	return g->path[g->n] ? (g->n++, 0) : -1;
}

static void find_groups(struct scrape *s, const char *path, int depth)
{
	char name[1024];
	struct dirent *e;
	DIR *d;

	if (add_group(&s->groups, path) < 0) {
		s->out->failed = 1;
		return;
	}
	snprintf(name, sizeof(name), "%s%s", s->root, path);
	d = depth < DEEPEST ? opendir(name) : NULL;
	while (d && (e = readdir(d))) {
		if (e->d_type == DT_DIR && e->d_name[0] != '.' &&
		    snprintf(name, sizeof(name), "%s/%s", path, e->d_name) < (int)sizeof(name))
			find_groups(s, name, depth + 1);
	}
	if (d)
		closedir(d);
}

static void free_groups(struct groups *g)
{
	while (g->n)
		free(g->path[--g->n]);
	free(g->path);
}

/* A file of a group into s->file; -1 if there is none. */
static int read_group(struct scrape *s, const char *group, const char *file)
{
	char path[1200];

	snprintf(path, sizeof(path), "%s%s/%s", s->root, group, file);
	return file_read(path, s->file, FILE_BYTES) < 0 ? -1 : 0;
}

static const char *label_of(const char *group, char buf[LABEL_BYTES])
{
	return escaped(*group ? group : "/", buf);
}

/* Files of one number; "max" is no limit. */
static void group_numbers(struct scrape *s)
{
	static const struct {
		const char *file, *name, *help;
	} table[] = {
		{ "memory.current", "tally_group_memory_bytes",
		  "Memory charged to the group and its descendants." },
		{ "memory.peak", "tally_group_memory_peak_bytes", "Most memory that was ever charged." },
		{ "memory.min", "tally_group_memory_min_bytes", "Memory that is never reclaimed." },
		{ "memory.low", "tally_group_memory_low_bytes", "Memory that is reclaimed last." },
		{ "memory.high", "tally_group_memory_high_bytes", "Limit above which the group is throttled." },
		{ "memory.max", "tally_group_memory_max_bytes", "Hard limit." },
		{ "memory.error", "tally_group_memory_error_bytes",
		  "Most by which memory_bytes may differ from what is really in use." },
	};
	char label[LABEL_BYTES];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int any = 0;

		for (size_t g = 0; g < s->groups.n; g++) {
			const char *group = s->groups.path[g];

			if (read_group(s, group, table[i].file) < 0)
				continue;
			if (!any++)
				family(s, table[i].name, "gauge", table[i].help);
			s->file[strcspn(s->file, " \n")] = '\0';
			text_add(s->out, "%s{group=\"%s\"} %s\n", table[i].name, label_of(group, label),
				 strcmp(s->file, "max") ? s->file : "+Inf");
		}
	}
}

/* Files of lines "key value": a label for the key. */
static void group_lists(struct scrape *s)
{
	static const struct {
		const char *file, *name, *type, *label, *help;
	} table[] = {
		{ "memory.stat", "tally_group_memory_stat", "gauge", "key",
		  "Lines of memory.stat: bytes by kind, and counts of events since the group was made." },
		{ "memory.events", "tally_group_memory_events_total", "counter", "event",
		  "Limits that were reached, in the group or below." },
	};
	char label[LABEL_BYTES];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int any = 0;

		for (size_t g = 0; g < s->groups.n; g++) {
			const char *group = s->groups.path[g];
			char *save, *line;

			if (read_group(s, group, table[i].file) < 0)
				continue;
			if (!any++)
				family(s, table[i].name, table[i].type, table[i].help);
			for (line = strtok_r(s->file, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
				char *value = strchr(line, ' ');

				if (!value)
					continue;
				*value++ = '\0';
				text_add(s->out, "%s{group=\"%s\",%s=\"%s\"} %s\n", table[i].name,
					 label_of(group, label), table[i].label, line, value);
			}
		}
	}
}

static void group_pressure(struct scrape *s)
{
	static const char name[] = "tally_group_memory_stall_seconds_total";
	char label[LABEL_BYTES];
	int any = 0;

	for (size_t g = 0; g < s->groups.n; g++) {
		static const char *const kinds[] = { "some", "full" };

		if (read_group(s, s->groups.path[g], "memory.pressure") < 0)
			continue;
		if (!any++)
			family(s, name, "counter", "Time in which some or all tasks waited for memory.");
		for (int k = 0; k < 2; k++) {
			const char *line = strstr(s->file, kinds[k]);
			const char *total = line ? strstr(line, "total=") : NULL;

			if (total)
				text_add(s->out, "%s{group=\"%s\",kind=\"%s\"} %.6f\n", name,
					 label_of(s->groups.path[g], label), kinds[k],
					 strtod(total + 6, NULL) / 1e6);
		}
	}
}

static void group_processes(struct scrape *s)
{
	char label[LABEL_BYTES];

	family(s, "tally_group_processes", "gauge", "Processes in the group itself.");
	for (size_t g = 0; g < s->groups.n; g++) {
		unsigned n = 0;

		if (read_group(s, s->groups.path[g], "cgroup.procs") < 0)
			continue;
		for (const char *p = s->file; *p; p++)
			n += *p == '\n';
		text_add(s->out, "tally_group_processes{group=\"%s\"} %u\n",
			 label_of(s->groups.path[g], label), n);
	}
}

/* -- machine ------------------------------------------------------------- */

static void cpus(struct scrape *s)
{
	static const char *const modes[] = { "user", "nice", "system", "idle", "iowait",
					     "irq", "softirq", "steal" };
	double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
	char *save, *line;

	if (file_read("/proc/stat", s->file, FILE_BYTES) < 0)
		return;
	family(s, "tally_cpu_seconds_total", "counter", "Time of each CPU by what it did.");
	for (line = strtok_r(s->file, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *end;
		unsigned long cpu;

		if (strncmp(line, "cpu", 3) || !isdigit((unsigned char)line[3]))
			continue;
		cpu = strtoul(line + 3, &end, 10);
		for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
			char *next;
			double ticks = strtod(end, &next);

			if (next == end)
				break;
			end = next;
			text_add(s->out, "tally_cpu_seconds_total{cpu=\"%lu\",mode=\"%s\"} %.2f\n", cpu,
				 modes[m], ticks * tick);
		}
	}
}

/* A total of /proc/stat that stands behind a word. */
static void stat_total(struct scrape *s, const char *key, const char *name, const char *help)
{
	double value = counter_read("/proc/stat", key);

	if (value != value)
		return; /* no such line */
	family(s, name, "counter", help);
	text_add(s->out, "%s %.0f\n", name, value);
}

static void memory(struct scrape *s)
{
	char *save, *line;

	if (file_read("/proc/meminfo", s->file, FILE_BYTES) < 0)
		return;
	family(s, "tally_memory_bytes", "gauge", "Lines of /proc/meminfo.");
	for (line = strtok_r(s->file, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *value = strchr(line, ':');

		if (!value)
			continue;
		*value++ = '\0';
		text_add(s->out, "tally_memory_bytes{kind=\"%s\"} %.0f\n", line,
			 strtod(value, NULL) * (strstr(value, "kB") ? 1024 : 1));
	}
}

static void devices(struct scrape *s)
{
	static const struct {
		int column;
		const char *name, *help;
	} table[] = {
		{ 0, "tally_network_receive_bytes_total", "Bytes that a device has received." },
		{ 1, "tally_network_receive_packets_total", "Packets that a device has received." },
		{ 3, "tally_network_receive_drop_total", "Received packets that were dropped." },
		{ 8, "tally_network_transmit_bytes_total", "Bytes that a device has sent." },
		{ 9, "tally_network_transmit_packets_total", "Packets that a device has sent." },
		{ 11, "tally_network_transmit_drop_total", "Packets that were dropped instead of sent." },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char *save, *line;

		if (file_read("/proc/net/dev", s->file, FILE_BYTES) < 0)
			return;
		family(s, table[i].name, "counter", table[i].help);
		for (line = strtok_r(s->file, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			char *colon = strchr(line, ':'), *p = colon + 1;
			double value = 0;

			if (!colon)
				continue;
			*colon = '\0';
			for (int c = 0; c <= table[i].column; c++)
				value = strtod(p, &p);
			text_add(s->out, "%s{device=\"%s\"} %.0f\n", table[i].name,
				 line + strspn(line, " "), value);
		}
	}
}

void metrics_write(struct text *t, const char *root)
{
	struct scrape s = { .out = t, .root = root, .file = malloc(FILE_BYTES) };

	if (!s.file) {
		t->failed = 1;
		return;
	}
	find_groups(&s, "", 0);
	group_numbers(&s);
	group_lists(&s);
	group_pressure(&s);
	group_processes(&s);
	cpus(&s);
	stat_total(&s, "ctxt", "tally_context_switches_total", "Switches between threads.");
	stat_total(&s, "intr", "tally_interrupts_total", "Interrupts of devices.");
	stat_total(&s, "processes", "tally_forks_total", "Processes that were started.");
	memory(&s);
	devices(&s);
	free_groups(&s.groups);
	free(s.file);
}
