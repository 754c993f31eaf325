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
#include "apps/lib/perf_events.h"
#include "apps/lib/perf_record.h"
#include "apps/lib/perf_stat.h"

#define DRAIN_US 50000

unsigned perf_default_hz(void)
{
	return perf_cpus() <= 8 ? 999 : 99;
}

int perf_profile_start(struct perf_profile *p)
{
	struct perf_sample_start s = { .hz = p->hz, .flags = p->chains ? 1 : 0,
				       .event_fd = p->event_fd, .group_fd = -1 };

	p->fd = open("/dev/perf", O_RDONLY);
	if (p->fd < 0) {
		fprintf(stderr, "perf: /dev/perf: %s\n", strerror(errno));
		return -1;
	}
	if (p->group && (s.group_fd = perf_group_open(p->group)) < 0)
		goto fail;
	if (ioctl(p->fd, PERF_SAMPLE_START, &s) < 0) {
		fprintf(stderr, "perf: cannot start: %s\n",
			errno == EBUSY ? "another profile is being taken" : strerror(errno));
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

/* What a recording knows of processes. */
struct recording {
	FILE *f;
	struct {
		int32_t pid;
		char name[16];
	} known[512];
	unsigned nr_known;
};

/* Writes the record "map" for a process that was not seen before, if it is still there. */

static void note_process(struct recording *r, const struct perf_sample *s)
{
	char path[64], line[512], name[256];
	struct perf_sample own = { .cpu = PERF_CPU_OWN, .pid = s->pid, .name = "map" };
	struct perf_map m = { .pid = s->pid };
	char perms[8], offset[32], *rest;
	unsigned i;
	size_t len;
	FILE *f;

	for (i = 0; i < r->nr_known; i++)
		if (r->known[i].pid == s->pid && !strcmp(r->known[i].name, s->name))
			return;
	i = r->nr_known < 512 ? r->nr_known++ : (unsigned)s->pid % 512;
	r->known[i].pid = s->pid;
	memcpy(r->known[i].name, s->name, sizeof(s->name));
	snprintf(path, sizeof(path), "/proc/%d/maps", s->pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		/* START-END PERMISSIONS OFFSET DEVICE INODE NAME */
		name[0] = 0;
		m.start = strtoull(line, &rest, 16);
		m.end = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;
		if (sscanf(rest, " %7s %31s %*s %*s %255s", perms, offset, name) < 3 ||
		    perms[2] != 'x' || name[0] != '/')
			continue;
		m.offset = strtoull(offset, NULL, 16);
		len = (strlen(name) + 8) & ~(size_t)7;
		own.size = (uint32_t)(sizeof(own) + sizeof(m) + len);
		fwrite(&own, sizeof(own), 1, r->f);
		fwrite(&m, sizeof(m), 1, r->f);
		memset(name + strlen(name), 0, sizeof(name) - strlen(name));
		fwrite(name, len, 1, r->f);
	}
	if (f)
		fclose(f);
}

static void write_sample(const struct perf_sample *s, void *arg)
{
	struct recording *r = arg;

	if (s->pid > 0 && s->nr_user)
		note_process(r, s);
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
	fprintf(stderr, "usage: perf record [-a] [-g] [-F HZ] [-G GROUP] [-o FILE] [--] COMMAND\n");
	exit(129);
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
	while ((opt = getopt(argc, argv, "+agF:G:o:h")) != -1) {
		switch (opt) {
		case 'a':
			all = 1;
			break;
		case 'g':
			p.chains = 1;
			break;
		case 'F':
			p.hz = (unsigned)atoi(optarg);
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
	fwrite(PERF_MAGIC, 16, 1, rec.f);
	if (perf_child_start(&child, argv + optind) < 0) {
		perror("perf: fork");
		return 1;
	}
	if ((!all && (p.event_fd = command_event(child.pid)) < 0) || perf_profile_start(&p) < 0)
		return 1;
	signal(SIGINT, on_signal);
	perf_child_go(&child);
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
	fprintf(stderr, "[ perf record: %llu samples, %llu lost, %u Hz, %.2f s, to %s ]\n",
		(unsigned long long)p.stats.samples, (unsigned long long)p.stats.lost, p.hz,
		(double)p.stats.ns / 1e9, output);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
