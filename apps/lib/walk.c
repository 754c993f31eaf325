/* SPDX-License-Identifier: MIT */
/* Implements walk.h. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "apps/lib/kernel_files.h"
#include "apps/lib/np_proto.h"
#include "apps/lib/record.h"
#include "apps/lib/walk.h"

#define PARENT	 "walk"
#define MOUNT	 "/tmp/walk"
#define COUNTERS "/proc/tally/reclaim"
#define BLOCK	 (64 << 10) /* bytes of a read */
#define PAGE	 4096
#define LOOK_US	 5000 /* between two mkdirs */

static const char *const walks[] = { "spin", "rwlock", "rcu" };

static int failed(const char *what)
{
	fprintf(stderr, "experiment: walk: %s: %s\n", what, strerror(errno));
	return -1;
}

static void container_name(char *buf, size_t size, unsigned i)
{
	snprintf(buf, size, PARENT "/c%u", i);
}

static void job_name(char *buf, size_t size, unsigned i)
{
	snprintf(buf, size, PARENT "/c%u/job", i);
}

static void file_name(char *buf, size_t size, unsigned i)
{
	snprintf(buf, size, MOUNT "/f%u", i);
}

/* What the first word of a page says: whose file, which page. */
static uint64_t mark_of(unsigned file, uint64_t page)
{
	return (uint64_t)file << 40 | page;
}

/* ---- the disk ---- */

/* Makes a RAM disk; its number, or -1. */
static int make_disk(uint64_t bytes)
{
	char text[256], size[32];
	int n = 0;

	snprintf(size, sizeof(size), "%lluM", (unsigned long long)(bytes >> 20) + 1);
	if (param_write("ramdisk.new", size) < 0 ||
	    param_read("ramdisk.new", text, sizeof(text)) < 0)
		return failed("ramdisk.new");
	for (char *w = strtok(text, ", \n"); w; w = strtok(NULL, ", \n"))
		n++;
	return n - 1;
}

static int run(const char *program, const char *arg)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		char *const argv[] = { (char *)program, (char *)arg, NULL };
		char *const envp[] = { NULL };

		execve(program, argv, envp);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "experiment: walk: %s %s failed\n", program, arg);
		return -1;
	}
	return 0;
}

static int write_file(unsigned i, uint64_t bytes)
{
	static char buf[BLOCK];
	char name[64];
	int fd;

	file_name(name, sizeof(name), i);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		return failed(name);
	for (uint64_t at = 0; at < bytes; at += BLOCK) {
		for (unsigned k = 0; k < BLOCK; k += PAGE) {
			uint64_t mark = mark_of(i, (at + k) / PAGE);

			memcpy(buf + k, &mark, sizeof(mark));
		}
		if (write(fd, buf, BLOCK) != BLOCK) {
			close(fd);
			return failed(name);
		}
	}
	if (fsync(fd) < 0 || close(fd) < 0)
		return failed(name);
	return 0;
}

static int drop_caches(void)
{
	return file_write("/proc/sys/vm/drop_caches", "3") < 0 ? failed("drop_caches") : 0;
}

static int prepare_disk(const struct walk *w)
{
	char device[32];
	int n = make_disk(w->cores * (w->file + w->file / 64) + (8 << 20));

	if (n < 0)
		return -1;
	snprintf(device, sizeof(device), "/dev/ram%d", n);
	if (run("/usr/bin/mkfs.tfs", device) < 0)
		return -1;
	mkdir(MOUNT, 0700);
	if (mount(device, MOUNT, "tfs", 0, NULL) < 0)
		return failed("mount");
	for (unsigned i = 0; i < w->cores; i++)
		if (write_file(i, w->file) < 0)
			return -1;
	return drop_caches();
}

/* ---- groups ---- */

/* All containers, then all groups inside: the ids of a container's subtree span the others'. */
static int make_groups(const struct walk *w)
{
	char name[64], limit[32];

	snprintf(limit, sizeof(limit), "%llu", (unsigned long long)w->limit);
	if (group_write("", "cgroup.subtree_control", "+memory") < 0 || group_make(PARENT) < 0 ||
	    group_write(PARENT, "cgroup.subtree_control", "+memory") < 0)
		return failed(PARENT);
	for (unsigned i = 0; i < w->cores; i++) {
		container_name(name, sizeof(name), i);
		if (group_make(name) < 0 || group_write(name, "memory.max", limit) < 0 ||
		    group_write(name, "cgroup.subtree_control", "+memory") < 0)
			return failed(name);
	}
	for (unsigned i = 0; i < w->cores; i++) {
		job_name(name, sizeof(name), i);
		if (group_make(name) < 0)
			return failed(name);
	}
	return 0;
}

static int remove_groups(const struct walk *w)
{
	char name[64];
	int ret = 0;

	for (unsigned i = 0; i < w->cores; i++) {
		job_name(name, sizeof(name), i);
		ret |= group_remove(name);
		container_name(name, sizeof(name), i);
		ret |= group_remove(name);
	}
	ret |= group_remove(PARENT);
	return ret ? failed("remove") : 0;
}

static double value_of(unsigned i, const char *file)
{
	char path[256], name[64], text[64];

	container_name(name, sizeof(name), i);
	group_path(path, sizeof(path), name, file);
	return file_read(path, text, sizeof(text)) < 0 ? NAN : atof(text);
}

/* ---- one variant ---- */

/* In its own process: waits for the start, reads, reports the bytes.  Does not return. */
static void reader(const struct walk *w, unsigned i, int start, int report)
{
	static char buf[BLOCK];
	uint64_t bytes = 0, mark;
	cpu_set_t set;
	char name[64], c;
	int fd;

	CPU_ZERO(&set);
	CPU_SET(i % CPU_SETSIZE, &set);
	sched_setaffinity(0, sizeof(set), &set); /* more readers than CPUs: where there is room */
	job_name(name, sizeof(name), i);
	if (group_join(name) < 0)
		_exit(1);
	file_name(name, sizeof(name), i);
	fd = open(name, O_RDONLY);
	if (fd < 0 || read(start, &c, 1) != 0)
		_exit(1);
	for (unsigned pass = 0; pass < w->passes; pass++) {
		if (lseek(fd, 0, SEEK_SET) < 0)
			_exit(1);
		for (uint64_t at = 0; at < w->file; at += BLOCK) {
			if (read(fd, buf, BLOCK) != BLOCK)
				_exit(1);
			for (unsigned k = 0; k < BLOCK; k += PAGE) {
				memcpy(&mark, buf + k, sizeof(mark));
				if (mark != mark_of(i, (at + k) / PAGE))
					_exit(3);
			}
			bytes += BLOCK;
		}
	}
	_exit(write(report, &bytes, sizeof(bytes)) != sizeof(bytes));
}

struct figures {
	double seconds, bytes, rounds, lookups, max_current, mkdir_us;
};

static void look(struct figures *f)
{
	double start = np_now();

	if (group_make(PARENT "-new") == 0) {
		f->mkdir_us = fmax(f->mkdir_us, (np_now() - start) * 1e6);
		group_remove(PARENT "-new");
	}
}

static int measure(const struct walk *w, struct figures *f)
{
	pid_t pids[1024];
	int start[2], report[2], status, bad = 0;
	unsigned left = w->cores;
	double before[2], began;
	uint64_t bytes;

	if (pipe(start) < 0 || pipe(report) < 0)
		return failed("pipe");
	for (unsigned i = 0; i < w->cores; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			close(start[1]);
			close(report[0]);
			reader(w, i, start[0], report[1]);
		}
		if (pids[i] < 0) {
			failed("fork");
			while (i--)
				kill(pids[i], SIGKILL);
			bad = 1;
			break;
		}
	}
	close(start[0]);
	close(report[1]);
	fcntl(report[0], F_SETFL, O_NONBLOCK);
	usleep(100000); /* all of them wait for the start by then, or soon */
	before[0] = counter_read(COUNTERS, "reclaim_rounds");
	before[1] = counter_read(COUNTERS, "walk_lookups");
	began = np_now();
	close(start[1]);
	while (left && !bad) {
		pid_t pid;

		usleep(LOOK_US);
		look(f);
		while (read(report[0], &bytes, sizeof(bytes)) == sizeof(bytes)) {
			if (!f->bytes)
				f->seconds = np_now() - began;
			f->bytes += (double)bytes;
		}
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			left--;
			if (!WIFEXITED(status) || WEXITSTATUS(status)) {
				fprintf(stderr, "experiment: walk: a reader ended with status %x\n",
					status);
				bad = 1;
			}
		}
	}
	while (read(report[0], &bytes, sizeof(bytes)) == sizeof(bytes)) {
		if (!f->bytes)
			f->seconds = np_now() - began;
		f->bytes += (double)bytes;
	}
	close(report[0]);
	for (unsigned i = 0; bad && i < w->cores; i++)
		kill(pids[i], SIGKILL);
	while (waitpid(-1, &status, 0) > 0)
		;
	f->rounds = counter_read(COUNTERS, "reclaim_rounds") - before[0];
	f->lookups = counter_read(COUNTERS, "walk_lookups") - before[1];
	/* The peak: memory.current shows for a moment also what a charge adds and takes back. */
	for (unsigned i = 0; i < w->cores; i++)
		f->max_current = fmax(f->max_current, value_of(i, "memory.peak"));
	return bad ? -1 : 0;
}

static int variant(const struct walk *w, const char *name)
{
	struct figures f = { 0 };
	struct record rec;
	int ret;

	if (param_write("memcg.walk", name) < 0)
		return failed("memcg.walk");
	ret = make_groups(w) < 0 ? -1 : measure(w, &f);
	if (remove_groups(w) < 0 || drop_caches() < 0)
		ret = -1;
	if (ret < 0)
		return -1;
	record_begin(&rec, "walk");
	record_string(&rec, "walk", name);
	record_int(&rec, "cores", w->cores);
	record_number(&rec, "seconds", f.seconds);
	record_int(&rec, "bytes", (long long)f.bytes);
	record_int(&rec, "reclaim_rounds", (long long)f.rounds);
	record_int(&rec, "lookups", (long long)f.lookups);
	record_int(&rec, "max_current", (long long)f.max_current);
	record_number(&rec, "mkdir_worst_us", f.mkdir_us);
	record_end(&rec);
	printf("walk: %-6s %u cores, first done after %.2f s; %.0f MiB read, "
	       "%.0f reclaim rounds, %.0f "
	       "look-ups; at most %.1f MiB of %.1f in a group; worst mkdir %.0f us\n",
	       name, w->cores, f.seconds, f.bytes / (1 << 20), f.rounds, f.lookups,
	       f.max_current / (1 << 20), (double)w->limit / (1 << 20), f.mkdir_us);
	fflush(stdout);
	if (f.max_current > (double)w->limit ||
	    f.bytes != (double)w->cores * w->passes * (double)w->file) {
		fprintf(stderr,
			"experiment: walk: limit %.0f, %.0f at most in a group; %.0f bytes read\n",
			(double)w->limit, f.max_current, f.bytes);
		return -1;
	}
	return 0;
}

int walk_run(const struct walk *asked)
{
	struct walk w = *asked;
	char before[32];
	int ret = 0;
	double need, there;

	if (!w.cores)
		w.cores = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	w.file = (w.file + BLOCK - 1) / BLOCK * BLOCK;
	if (w.cores > 1024) {
		fprintf(stderr, "experiment: walk: at most 1024 cores\n");
		return -1;
	}
	/* The disk, and what is cached of it. */
	need = (double)w.cores * ((double)w.file + fmin((double)w.file, (double)w.limit));
	there = counter_read("/proc/meminfo", "MemAvailable:") * 1024;
	if (need > there) {
		fprintf(stderr,
			"experiment: walk: %u files of %.0f MiB need %.0f MiB of memory and "
			"%.0f are free: --mem, --cores or --file\n",
			w.cores, (double)w.file / (1 << 20), need / (1 << 20), there / (1 << 20));
		return -1;
	}
	if (param_read("memcg.walk", before, sizeof(before)) < 0) {
		fprintf(stderr, "experiment: no parameter memcg.walk here\n");
		return -1;
	}
	if (prepare_disk(&w) < 0)
		ret = -1;
	for (unsigned i = 0; i < sizeof(walks) / sizeof(walks[0]) && ret == 0; i++)
		ret = variant(&w, walks[i]);
	param_write("memcg.walk", before);
	if (umount(MOUNT) < 0 && ret == 0)
		ret = failed("umount");
	rmdir(MOUNT);
	return ret;
}
