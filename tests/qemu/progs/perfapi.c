/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open() called directly, with counts known beforehand; prints "ok NAME" or
 * "not ok NAME: …" for each.  Linux agrees where it has the same.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void result(const char *name, int ok, long long a, long long b)
{
	if (ok)
		printf("ok %s\n", name);
	else
		printf("not ok %s: %lld %lld errno %d\n", name, a, b, errno);
	fflush(stdout);
}

static int event(uint64_t config, pid_t pid, int cpu, int leader, unsigned long flags,
		 uint64_t format, int inherit, int disabled)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(a),
				     .config = config, .read_format = format,
				     .inherit = inherit, .disabled = disabled };

	return (int)syscall(SYS_perf_event_open, &a, pid, cpu, leader, flags);
}

static void touch(long pages)
{
	char *p = mmap(NULL, (size_t)pages * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, (size_t)pages * 4096, MADV_NOHUGEPAGE);
	for (long i = 0; i < pages; i++)
		((volatile char *)p)[i * 4096] = 1;
	munmap(p, (size_t)pages * 4096);
}

static uint64_t value(int fd)
{
	uint64_t v = 0;

	return read(fd, &v, sizeof(v)) == sizeof(v) ? v : UINT64_MAX;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* A group read in one call, enabled, reset and disabled by its leader. */
static void group_read(void)
{
	struct {
		uint64_t nr, enabled, running;
		struct {
			uint64_t value, id;
		} e[3];
	} r;
	const uint64_t format = PERF_FORMAT_GROUP | PERF_FORMAT_ID |
				PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	int leader = event(PERF_COUNT_SW_PAGE_FAULTS, 0, -1, -1, 0, format, 0, 1);
	int a = event(PERF_COUNT_SW_PAGE_FAULTS, 0, -1, leader, 0, format, 0, 0);
	int b = event(PERF_COUNT_SW_DUMMY, 0, -1, leader, 0, format, 0, 0);
	uint64_t id = 0;
	ssize_t n;

	touch(50); /* the leader is off, so nothing counts */
	n = read(leader, &r, sizeof(r));
	result("group-size", n == sizeof(r) && r.nr == 3, n, (long long)r.nr);
	result("group-off", !r.e[0].value && !r.e[1].value && !r.enabled, (long long)r.e[0].value,
	       (long long)r.e[1].value);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	touch(120);
	ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	touch(30);
	read(leader, &r, sizeof(r));
	result("group-count", r.e[0].value == r.e[1].value && r.e[0].value >= 120 &&
	       r.e[0].value < 130 && !r.e[2].value, (long long)r.e[0].value, (long long)r.e[1].value);
	result("group-times", r.enabled && r.enabled == r.running, (long long)r.enabled,
	       (long long)r.running);
	ioctl(b, PERF_EVENT_IOC_ID, &id);
	result("group-id", id && r.e[2].id == id && r.e[1].id != id, (long long)id,
	       (long long)r.e[2].id);
	ioctl(leader, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	read(leader, &r, sizeof(r));
	result("group-reset", !r.e[0].value && !r.e[1].value, (long long)r.e[0].value, 0);
	result("led-leader", event(PERF_COUNT_SW_DUMMY, 0, -1, a, 0, 0, 0, 0) < 0 &&
	       errno == EINVAL, 0, 0);
	close(a);
	close(b);
	close(leader);
}

/* Children count for the event that their parent inherited to them, and only for that. */
static void inherited(void)
{
	int with = event(PERF_COUNT_SW_PAGE_FAULTS, 0, -1, -1, 0, 0, 1, 0);
	int without = event(PERF_COUNT_SW_PAGE_FAULTS, 0, -1, -1, 0, 0, 0, 0);
	uint64_t before[2], after[2];
	int own;

	for (int pass = 0; pass < 2; pass++) {
		before[0] = value(with);
		before[1] = value(without);
		for (int i = 0; i < 3; i++)
			if (!fork()) {
				own = event(PERF_COUNT_SW_PAGE_FAULTS, 0, -1, -1, 0, 0, 0, 0);
				touch(200);
				if (!fork()) {
					touch(100);
					_exit(0);
				}
				wait(NULL);
				_exit(value(own) >= 200 ? 0 : 1);
			}
		for (int i = 0; i < 3; i++)
			wait(NULL);
		after[0] = value(with) - before[0];
		after[1] = value(without) - before[1];
	}
	/* Copying after fork() faults on both sides: the children's share is what is more. */
	result("inherit", after[0] - after[1] >= 900 && after[0] - after[1] < 1200,
	       (long long)after[0], (long long)after[1]);
	close(with);
	close(without);
}

/* A task's event on one CPU counts there only. */
static void task_on_cpu(void)
{
	int there = event(PERF_COUNT_SW_PAGE_FAULTS, 0, 1, -1, 0, 0, 0, 0);
	int here = event(PERF_COUNT_SW_PAGE_FAULTS, 0, 0, -1, 0, 0, 0, 0);
	uint64_t a, b;

	pin(0);
	a = value(there);
	b = value(here);
	touch(70);
	result("task-cpu", value(there) == a && value(here) - b >= 70, (long long)value(there),
	       (long long)(value(here) - b));
	pin(1);
	b = value(here);
	touch(60);
	result("task-other-cpu", value(here) == b && value(there) - a >= 60, (long long)b,
	       (long long)(value(there) - a));
	close(there);
	close(here);
}

/* A group's event on a CPU counts while the group's task runs there. */
static void of_cgroup(const char *dir)
{
	int fd = open(dir, O_RDONLY), e, ready[2];
	char path[256], c;
	uint64_t n;
	pid_t pid;

	pin(0);
	e = event(PERF_COUNT_SW_PAGE_FAULTS, fd, 0, -1, PERF_FLAG_PID_CGROUP, 0, 0, 0);
	result("cgroup-open", e >= 0, fd, e);
	touch(40);
	result("cgroup-outside", value(e) == 0, (long long)value(e), 0);
	if (pipe(ready))
		return;
	pid = fork();
	if (!pid) {
		int procs;

		snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
		procs = open(path, O_WRONLY);
		if (write(procs, "0", 1) != 1)
			_exit(1);
		touch(300);
		_exit(write(ready[1], "x", 1) != 1);
	}
	if (read(ready[0], &c, 1) != 1)
		return;
	waitpid(pid, NULL, 0);
	n = value(e);
	result("cgroup-inside", n >= 300 && n < 330, (long long)n, 0);
	result("cgroup-any-cpu",
	       event(PERF_COUNT_SW_PAGE_FAULTS, fd, -1, -1, PERF_FLAG_PID_CGROUP, 0, 0, 0) < 0 &&
	       errno == EINVAL, 0, 0);
	close(e);
}

int main(int argc, char **argv)
{
	group_read();
	inherited();
	task_on_cpu();
	if (argc > 1)
		of_cgroup(argv[1]);
	return 0;
}
