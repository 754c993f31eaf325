/* SPDX-License-Identifier: MIT */
/* Implements perf_stat.h: counts while a command runs. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "apps/lib/kernel_files.h"
#include "apps/lib/np_proto.h"
#include "apps/lib/perf_events.h"
#include "apps/lib/perf_stat.h"

#define MOST_EVENTS 128

struct counts {
	const struct perf_pmu *pmu[MOST_EVENTS];
	unsigned leader[MOST_EVENTS]; /* index of the first of its group {a,b}; its own without one */
	struct perf_value value[MOST_EVENTS]; /* sums */
	unsigned nr;
	int *fds; /* [event * per_event + i] */
	unsigned per_event;
	int all;
	const char *group, *separator, *output;
};


static void usage(void)
{
	fprintf(stderr,
		"usage: perf stat [-a] [-e EVENT,...] [-G GROUP] [-x SEPARATOR] [-o FILE] [--] COMMAND\n"
		"  -e  names; {a,b} are counted in the same time; PMU/EVENT/ counts EVENT with PMU\n"
		"  -a  whole machine, -G one group (path below /sys/fs/cgroup; whole machine)\n"
		"  perf list says which events there are\n");
	exit(129);
}

int perf_child_start(struct perf_child *c, char **argv)
{
	char byte;

	if (pipe(c->go) < 0 || pipe(c->exec) < 0)
		return -1;
	c->pid = fork();
	if (c->pid < 0)
		return -1;
	if (c->pid)
		return 0;
	close(c->go[1]);
	close(c->exec[0]);
	fcntl(c->exec[1], F_SETFD, FD_CLOEXEC);
	if (read(c->go[0], &byte, 1) != 1)
		_exit(127);
	close(c->go[0]);
	execvp(argv[0], argv);
	fprintf(stderr, "perf: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

void perf_child_go(struct perf_child *c)
{
	close(c->go[0]);
	if (write(c->go[1], "g", 1) != 1)
		perror("perf: pipe");
	close(c->go[1]);
	close(c->exec[1]);
}

void perf_child_wait_exec(struct perf_child *c)
{
	char byte;

	while (read(c->exec[0], &byte, 1) < 0 && errno == EINTR)
		;
}

int perf_child_wait(struct perf_child *c)
{
	int status;

	while (waitpid(c->pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void perf_skip_dashes(int *argc, char ***argv)
{
	if (*argc > 1 && !strcmp((*argv)[1], "--")) {
		(*argv)++;
		(*argc)--;
	}
}

int perf_group_open(const char *group)
{
	static const char root[] = "/sys/fs/cgroup/";
	char path[256];
	int fd;

	/* Linux wants it below the mount point; a whole path is welcome, too. */
	if (!strncmp(group, root, sizeof(root) - 1))
		group += sizeof(root) - 1;
	while (*group == '/')
		group++;
	group_path(path, sizeof(path), group, "");
	fd = open(path, O_RDONLY);
	if (fd < 0)
		fprintf(stderr, "perf: group %s: %s\n", path, strerror(errno));
	return fd;
}

static int add_events(struct counts *s, const char *list)
{
	char copy[2048], *save, *name;
	unsigned first = 0;
	int grouped = 0;

	snprintf(copy, sizeof(copy), "%s", list);
	for (name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		size_t len = strlen(name);
		int ends = len && name[len - 1] == '}';
		const struct perf_pmu *p;

		if (name[0] == '{') {
			name++;
			grouped = 1;
			first = s->nr;
		}
		if (ends)
			name[strlen(name) - 1] = 0;
		p = perf_pmu_find(name);
		if (!p) {
			fprintf(stderr, "perf: no event '%s'; perf list says which there are\n",
				name);
			return -1;
		}
		if (s->nr == MOST_EVENTS) {
			fprintf(stderr, "perf: at most %d events\n", MOST_EVENTS);
			return -1;
		}
		s->leader[s->nr] = grouped ? first : s->nr;
		s->pmu[s->nr++] = p;
		grouped &= !ends;
	}
	return 0;
}

/* Opens every event on the task, or on each CPU. */
static int open_events(struct counts *s, pid_t pid)
{
	int group_fd = -1;

	if (s->group && (group_fd = perf_group_open(s->group)) < 0)
		return -1;
	s->per_event = s->all ? perf_cpus() : 1;
	s->fds = malloc(s->nr * s->per_event * sizeof(*s->fds));
	if (!s->fds)
		return -1;
	for (unsigned e = 0; e < s->nr; e++) {
		for (unsigned i = 0; i < s->per_event; i++) {
			struct perf_open o = { .pmu = s->pmu[e], .pid = -1, .cpu = (int)i,
					       .group_fd = group_fd };

			if (s->leader[e] != e)
				o.leader = s->fds[s->leader[e] * s->per_event + i];
			if (!s->all) {
				o.pid = pid;
				o.cpu = -1;
				o.inherit = o.on_exec = 1;
			}
			s->fds[e * s->per_event + i] = perf_open(&o);
			if (s->fds[e * s->per_event + i] < 0) {
				fprintf(stderr, "perf: event %s: %s\n", s->pmu[e]->name,
					strerror(errno));
				return -1;
			}
		}
	}
	if (group_fd >= 0)
		close(group_fd);
	return 0;
}

static void enable_all(struct counts *s, int on)
{
	for (unsigned i = 0; s->all && i < s->nr * s->per_event; i++)
		perf_enable(s->fds[i], on);
}

static void read_all(struct counts *s)
{
	for (unsigned i = 0; i < s->nr * s->per_event; i++) {
		struct perf_value *sum = &s->value[i / s->per_event], v;

		if (perf_count(s->fds[i], &v) < 0) {
			perror("perf: read");
		} else {
			sum->count += v.count;
			sum->enabled += v.enabled;
			sum->running += v.running;
		}
		close(s->fds[i]);
	}
}

/* What the event would have counted with a counter all the time. */
static uint64_t scaled(const struct perf_value *v)
{
	if (!v->running || v->running >= v->enabled)
		return v->count;
	return (uint64_t)((double)v->count * (double)v->enabled / (double)v->running);
}

static int never_ran(const struct perf_value *v)
{
	return v->enabled && !v->running;
}

static void print_plain(struct counts *s, FILE *f)
{
	for (unsigned e = 0; e < s->nr; e++) {
		const struct perf_value *v = &s->value[e];

		if (never_ran(v))
			fprintf(f, "<not counted>");
		else
			fprintf(f, "%llu", (unsigned long long)scaled(v));
		fprintf(f, "%s%s%s%s", s->separator, s->pmu[e]->is_time ? "ns" : "", s->separator,
			s->pmu[e]->name);
		if (v->running < v->enabled)
			fprintf(f, "%s%llu%s%.2f", s->separator, (unsigned long long)v->running,
				s->separator, 100.0 * (double)v->running / (double)v->enabled);
		fprintf(f, "\n");
	}
}

static void print_line(const struct perf_pmu *p, const struct perf_value *v, FILE *f, double seconds)
{
	double n = (double)scaled(v);

	if (never_ran(v))
		fprintf(f, "%18s      %-28s", "<not counted>", p->name);
	else if (!p->is_time)
		fprintf(f, "%18llu      %-28s", (unsigned long long)scaled(v), p->name);
	else
		fprintf(f, "%18.2f msec %-28s", n / 1e6, p->name);
	if (p->is_time)
		fprintf(f, " # %10.3f CPUs", seconds > 0 ? n / 1e9 / seconds : 0);
	else
		fprintf(f, " # %10.1f /sec", seconds > 0 ? n / seconds : 0);
	if (v->running < v->enabled)
		fprintf(f, "  (%.2f%%)", 100.0 * (double)v->running / (double)v->enabled);
	fprintf(f, "\n");
}

static void print(struct counts *s, FILE *f, char **argv, double seconds)
{
	if (s->separator) {
		print_plain(s, f);
		return;
	}
	fprintf(f, "\n Performance counter stats for '");
	if (s->group)
		fprintf(f, "group %s' ('", s->group);
	else if (s->all)
		fprintf(f, "system wide' ('");
	for (int i = 0; argv[i]; i++)
		fprintf(f, "%s%s", i ? " " : "", argv[i]);
	fprintf(f, "'%s:\n\n", s->group || s->all ? ")" : "");
	for (unsigned e = 0; e < s->nr; e++)
		print_line(s->pmu[e], &s->value[e], f, seconds);
	fprintf(f, "\n%18.9f seconds time elapsed\n\n", seconds);
}

int perf_stat(int argc, char **argv)
{
	struct counts s = { 0 };
	struct perf_child child;
	double start, end;
	FILE *f = stderr;
	int opt, status;

	perf_skip_dashes(&argc, &argv);
	while ((opt = getopt(argc, argv, "+ae:G:x:o:h")) != -1) {
		switch (opt) {
		case 'a':
			s.all = 1;
			break;
		case 'e':
			if (add_events(&s, optarg) < 0)
				return 129;
			break;
		case 'G':
			s.group = optarg;
			s.all = 1;
			break;
		case 'x':
			s.separator = optarg;
			break;
		case 'o':
			s.output = optarg;
			break;
		default:
			usage();
		}
	}
	if (optind >= argc)
		usage();
	if (!s.nr && add_events(&s, s.all ? "cpu-clock,context-switches,cpu-migrations,page-faults"
					  : "task-clock,context-switches,cpu-migrations,page-faults") < 0)
		return 1;
	if (s.output && !(f = fopen(s.output, "w"))) {
		fprintf(stderr, "perf: %s: %s\n", s.output, strerror(errno));
		return 1;
	}
	if (perf_child_start(&child, argv + optind) < 0) {
		perror("perf: fork");
		return 1;
	}
	if (open_events(&s, child.pid) < 0)
		return 1; /* the command sees the end of its pipe and does not start */
	start = np_now();
	enable_all(&s, 1);
	perf_child_go(&child);
	status = perf_child_wait(&child);
	enable_all(&s, 0);
	end = np_now();
	read_all(&s);
	print(&s, f, argv + optind, end - start);
	if (f != stderr)
		fclose(f);
	return status;
}
