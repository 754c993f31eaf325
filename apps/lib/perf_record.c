/* SPDX-License-Identifier: MIT */
/* Implements perf_record.h: `perf record`, and the session that others use. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "apps/lib/options.h"
#include "apps/lib/perf_events.h"
#include "apps/lib/perf_maps.h"
#include "apps/lib/perf_record.h"
#include "apps/lib/perf_stat.h"

#define DRAIN_US 50000

unsigned perf_default_hz(void)
{
	return perf_cpus() <= 8 ? 999 : 99;
}

int perf_profile_start(struct perf_profile *p)
{
	struct perf_sample_start s = { .hz = p->event ? 0 : p->hz, .flags = p->chains ? 1 : 0,
				       .event_fd = p->event_fd, .group_fd = -1,
				       .trace_pmu = p->event ? p->event->type : 0 };

	p->fd = open("/dev/perf", O_RDONLY);
	if (p->fd < 0) {
		fprintf(stderr, "perf: /dev/perf: %s\n", strerror(errno));
		return -1;
	}
	if (p->group && (s.group_fd = perf_group_open(p->group)) < 0)
		goto fail;
	if (ioctl(p->fd, PERF_SAMPLE_START, &s) < 0) {
		fprintf(stderr, "perf: cannot start: %s\n",
			errno == EBUSY ? "another profile is being taken"
			: p->event && errno == EINVAL ? "samples are taken by time or at trace points (NAME:NAME)"
						      : strerror(errno));
		if (s.group_fd >= 0)
			close(s.group_fd);
		goto fail;
	}
	if (s.group_fd >= 0)
		close(s.group_fd);
	return 0;
fail:
	close(p->fd);
	return -1;
}

int perf_profile_drain(struct perf_profile *p)
{
	static char buf[256 << 10] __attribute__((aligned(8)));
	ssize_t n;

	while ((n = read(p->fd, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < n;) {
			struct perf_sample *s = (struct perf_sample *)(void *)(buf + at);

			p->sample(s, p->arg);
			at += s->size;
		}
		if ((size_t)n < sizeof(buf) / 2)
			break; /* else samples may come as fast as we read */
	}
	return n < 0 ? -1 : 0;
}

void perf_profile_stop(struct perf_profile *p)
{
	perf_profile_drain(p);
	ioctl(p->fd, PERF_SAMPLE_STATS, &p->stats);
	ioctl(p->fd, PERF_SAMPLE_STOP, 0);
	close(p->fd);
}

struct recording {
	FILE *f;
	struct perf_maps maps;
};

/* The record "map". */
static void write_map(const struct perf_map *m, void *arg)
{
	struct recording *r = arg;
	struct perf_sample own = { .cpu = PERF_CPU_OWN, .pid = m->pid, .name = "map" };
	size_t len = strlen(m->path) + 1, padded = (len + 7) & ~(size_t)7;
	static const char zeroes[8];

	own.size = (uint32_t)(sizeof(own) + sizeof(*m) + padded);
	fwrite(&own, sizeof(own), 1, r->f);
	fwrite(m, sizeof(*m) + len, 1, r->f);
	fwrite(zeroes, padded - len, 1, r->f);
}

/* The record "event": what the samples are of. */
static void write_event(struct recording *r, const char *name)
{
	struct perf_sample own = { .size = sizeof(own) + 64, .cpu = PERF_CPU_OWN, .name = "event" };
	char text[64] = "";

	snprintf(text, sizeof(text), "%s", name);
	fwrite(&own, sizeof(own), 1, r->f);
	fwrite(text, sizeof(text), 1, r->f);
}

static void write_sample(const struct perf_sample *s, void *arg)
{
	struct recording *r = arg;

	perf_maps_note(&r->maps, s);
	fwrite(s, s->size, 1, r->f);
}

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

static void record_usage(void)
{
	fprintf(stderr,
		"usage: perf record [-a] [-g] [-F HZ | -e EVENT] [-G GROUP] [-o FILE] [--] COMMAND\n"
		"  -e  a sample at each passing of a trace point; context-switches and page-faults\n"
		"      are such, too\n");
	exit(129);
}

/* What to take samples of: a trace point, or a count that has one; NULL with a message. */
static const struct perf_pmu *sampled_event(const char *name)
{
	static const char *const points[][2] = {
		{ "context-switches", "sched:switch" }, { "cs", "sched:switch" },
		{ "page-faults", "mm:page_fault" },	{ "faults", "mm:page_fault" },
		{ "cpu-migrations", "sched:migrate" },
	};
	const struct perf_pmu *p;

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		if (!strcmp(name, points[i][0]))
			name = points[i][1];
	p = perf_pmu_find(name);
	if (!p)
		fprintf(stderr, "perf: no event '%s'; perf list says which there are\n", name);
	return p;
}

/* An event that says which tasks belong to the command. */
static int command_event(pid_t pid)
{
	struct perf_open o = { .pmu = perf_pmu_find("cpu-clock"), .pid = pid, .cpu = -1,
			       .group_fd = -1, .inherit = 1, .on_exec = 1 };
	int fd = o.pmu ? perf_open(&o) : -1;

	if (fd < 0)
		fprintf(stderr, "perf: cannot watch the command: %s\n", strerror(errno));
	return fd;
}

int perf_record(int argc, char **argv)
{
	static struct recording rec;
	struct perf_profile p = { .hz = perf_default_hz(), .event_fd = -1, .sample = write_sample,
				  .arg = &rec };
	const char *output = "perf.data";
	struct perf_child child;
	int opt, all = 0, status = 0;
	pid_t done = 0;

	perf_skip_dashes(&argc, &argv);
	while ((opt = getopt(argc, argv, "+age:F:G:o:h")) != -1) {
		switch (opt) {
		case 'a':
			all = 1;
			break;
		case 'g':
			p.chains = 1;
			break;
		case 'e':
			/* By time is the default. */
			if (!strcmp(optarg, "cpu-clock") || !strcmp(optarg, "cycles"))
				break;
			p.event = sampled_event(optarg);
			if (!p.event)
				return 129;
			break;
		case 'F':
			p.hz = (unsigned)option_number("perf record", "-F", optarg, 1, 1e6);
			break;
		case 'G':
			p.group = optarg;
			all = 1;
			break;
		case 'o':
			output = optarg;
			break;
		default:
			record_usage();
		}
	}
	if (optind >= argc)
		record_usage();
	rec.f = fopen(output, "w");
	if (!rec.f) {
		fprintf(stderr, "perf: %s: %s\n", output, strerror(errno));
		return 1;
	}
	rec.maps.each = write_map;
	rec.maps.arg = &rec;
	fwrite(PERF_MAGIC, 16, 1, rec.f);
	write_event(&rec, p.event ? p.event->name : "cpu-clock");
	if (perf_child_start(&child, argv + optind) < 0) {
		perror("perf: fork");
		return 1;
	}
	if ((!all && (p.event_fd = command_event(child.pid)) < 0) || perf_profile_start(&p) < 0)
		return 1;
	signal(SIGINT, on_signal);
	perf_child_go(&child);
	perf_child_wait_exec(&child);
	perf_maps_read(&rec.maps, child.pid); /* it may be gone when its first sample is seen */
	while (!interrupted && (done = waitpid(child.pid, &status, WNOHANG)) == 0) {
		usleep(DRAIN_US);
		perf_profile_drain(&p);
	}
	if (!done)
		waitpid(child.pid, &status, 0);
	perf_profile_stop(&p);
	if (fclose(rec.f)) {
		fprintf(stderr, "perf: %s: %s\n", output, strerror(errno));
		return 1;
	}
	fprintf(stderr, "[ perf record: %llu samples, %llu lost, ",
		(unsigned long long)p.stats.samples, (unsigned long long)p.stats.lost);
	if (p.event)
		fprintf(stderr, "%s", p.event->name);
	else
		fprintf(stderr, "%u Hz", p.hz);
	fprintf(stderr, ", %.2f s, to %s ]\n", (double)p.stats.ns / 1e9, output);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
