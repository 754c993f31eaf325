/* SPDX-License-Identifier: MIT */
/* Implements groups.h. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "apps/lib/groups.h"
#include "apps/lib/kernel_files.h"
#include "apps/lib/np_proto.h"
#include "apps/lib/record.h"

#define PARENT	  "groups"
#define FEW	  10  /* groups to compare with */
#define READS	  51 /* of memory.stat in a batch */
#define BATCHES	  60
#define REST_US	  300000 /* before reading: what waits for grace periods is freed */
#define PAUSE_US  30000 /* between batches */
#define PAGE	  4096
#define PATH_SIZE 64

struct figures {
	double create, walk, remove, stat, stat_few; /* microseconds each */
	double bytes;				     /* per group */
	double left;
};

static void name_of(char *buf, unsigned i)
{
	snprintf(buf, PATH_SIZE, PARENT "/%u", i);
}

static double free_bytes(void)
{
	return counter_read("/proc/meminfo", "MemFree:") * 1024;
}

static int failed(const char *what, unsigned i)
{
	fprintf(stderr, "experiment: groups: %s %u: %s\n", what, i, strerror(errno));
	return -1;
}

static int create(unsigned from, unsigned to)
{
	char name[PATH_SIZE];

	for (unsigned i = from; i < to; i++) {
		name_of(name, i);
		if (group_make(name) < 0)
			return failed("create", i);
	}
	return 0;
}

static int walk(unsigned from, unsigned to, char *pages)
{
	char name[PATH_SIZE];

	for (unsigned i = from; i < to; i++) {
		name_of(name, i);
		if (group_join(name) < 0)
			return failed("enter", i);
		((volatile char *)pages)[(size_t)i * PAGE] = 1;
	}
	return 0;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

enum when { WITH_FEW, WITH_ALL, REHEARSAL }; /* marks for the instruction counter */

/* Median of a batch of reads, microseconds for open, read and close; NaN on an error. */
static double read_batch(const char *path, enum when when)
{
	static double times[READS];
	static char text[8192];

	mark_begin(when);
	for (unsigned k = 0; k < READS; k++) {
		double start = np_now();

		if (file_read(path, text, sizeof(text)) < 0)
			return NAN;
		times[k] = (np_now() - start) * 1e6;
	}
	mark_end();
	qsort(times, READS, sizeof(times[0]), by_size);
	return times[READS / 2];
}

/*
 * What a read of group @i's memory.stat takes: the lowest of the batches' medians, since
 * the machine may be busy during some of them.  NaN if the page touched in it is not there.
 */
static double stat_time(unsigned i, unsigned batches, enum when when)
{
	double best = INFINITY;
	char name[PATH_SIZE], path[256];

	name_of(name, i);
	group_path(path, sizeof(path), name, "memory.stat");
	usleep(REST_US);
	for (unsigned k = 0; k < batches; k++) {
		double t = read_batch(path, when);

		if (isnan(t))
			return NAN;
		best = fmin(best, t);
		usleep(PAUSE_US);
	}
	if (counter_read(path, "anon") < PAGE) {
		fprintf(stderr, "experiment: groups: group %u does not show the page touched in it\n",
			i);
		return NAN;
	}
	return best;
}

static int remove_range(unsigned from, unsigned to)
{
	char name[PATH_SIZE];

	for (unsigned i = from; i < to; i++) {
		name_of(name, i);
		if (group_remove(name) < 0)
			return failed("remove", i);
	}
	return 0;
}

/* Groups below the parent, dead ones that still exist included. */
static double left_below(void)
{
	char path[256];
	double alive, dying;

	group_path(path, sizeof(path), PARENT, "cgroup.stat");
	alive = counter_read(path, "nr_descendants");
	dying = counter_read(path, "nr_dying_descendants");
	return alive + dying;
}

static int measure(unsigned n, char *pages, struct figures *f)
{
	unsigned few = n < FEW ? n : FEW;
	double t[4], few_before, few_after, before = free_bytes();

	if (create(0, few) < 0 || walk(0, few, pages) < 0)
		return -1;
	/*
	 * With ten groups before and after, as the machine's load drifts; fewer after, when what
	 * was removed is still being freed for a while.
	 */
	few_before = stat_time(few - 1, BATCHES * 2 / 3, WITH_FEW);
	t[0] = np_now();
	if (create(few, n) < 0)
		return -1;
	t[1] = np_now();
	if (walk(few, n, pages) < 0)
		return -1;
	t[2] = np_now();
	f->stat = stat_time(n - 1, BATCHES, WITH_ALL);
	f->bytes = (before - free_bytes() - (double)n * PAGE) / n;
	if (group_join("") < 0)
		return failed("leave", 0);
	t[3] = np_now();
	if (remove_range(few, n) < 0)
		return -1;
	f->remove = n > few ? (np_now() - t[3]) / (n - few) * 1e6 : NAN;
	few_after = stat_time(few - 1, BATCHES / 3, WITH_FEW);
	f->stat_few = isnan(few_after) ? NAN : fmin(few_before, few_after);
	if (remove_range(0, few) < 0)
		return -1;
	f->create = n > few ? (t[1] - t[0]) / (n - few) * 1e6 : NAN;
	f->walk = n > few ? (t[2] - t[1]) / (n - few) * 1e6 : NAN;
	f->left = left_below();
	return 0;
}

int groups_run(unsigned n)
{
	size_t size = ((size_t)n + 1) * PAGE; /* the last is for the rehearsal */
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct figures f = { .left = NAN };
	struct record rec;
	int ret;

	if (pages == MAP_FAILED) {
		perror("experiment: groups: mmap");
		return -1;
	}
	if (group_write("", "cgroup.subtree_control", "+memory") < 0 || group_make(PARENT) < 0 ||
	    group_write(PARENT, "cgroup.subtree_control", "+memory") < 0) {
		perror("experiment: groups: " PARENT);
		return -1;
	}
	/* Once before, so that what is allocated on first use is not the groups'. */
	ret = create(0, 1);
	if (ret == 0)
		ret = walk(0, 1, pages + (size_t)n * PAGE);
	stat_time(0, 1, REHEARSAL);
	if (group_join("") < 0 || remove_range(0, 1) < 0)
		ret = -1;
	if (ret == 0)
		ret = measure(n, pages, &f);
	group_join("");
	munmap(pages, size);
	if (ret < 0)
		return -1;
	if (group_remove(PARENT) < 0) {
		perror("experiment: groups: remove " PARENT);
		ret = -1;
	}

	record_begin(&rec, "groups");
	record_int(&rec, "n", n);
	record_number(&rec, "bytes_per_group", f.bytes);
	record_number(&rec, "create_us", f.create);
	record_number(&rec, "walk_us", f.walk);
	record_number(&rec, "remove_us", f.remove);
	record_number(&rec, "stat_us", f.stat);
	record_number(&rec, "stat10_us", f.stat_few);
	record_int(&rec, "left", (long long)f.left);
	record_int(&rec, "reads", READS);
	record_end(&rec);
	printf("groups: %u, %.0f bytes each; create %.1f us, enter and touch %.1f, remove %.1f; "
	       "memory.stat %.1f us (%.1f with ten); %.0f left\n",
	       n, f.bytes, f.create, f.walk, f.remove, f.stat, f.stat_few, f.left);
	return ret == 0 && f.left == 0 && !isnan(f.stat) && !isnan(f.stat_few) ? 0 : -1;
}
