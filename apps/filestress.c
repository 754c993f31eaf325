/* SPDX-License-Identifier: MIT */
/*
 * filestress: files read, sent and mapped while they are truncated, unlinked, written
 * and pushed out of memory; every byte is checked.
 *
 *	filestress [-d DIR] [-t SECONDS] [-n FILES] [-s KIB] [-p COPIES]
 *
 * Each byte of a file is a function of file and offset and never 0, so a reader may see
 * that byte, or 0 (a hole, or cut off), and nothing else: a byte of another file, another
 * page or an earlier life of the page is wrong.  At the end every file is written whole,
 * pushed out and read again, and then each byte must be there.
 *
 * Prints a line per kind of worker and "filestress: N wrong", and a record (lib/record.h).
 * Runs on Linux as well.  Status: 0, 1 if anything was
 * wrong, 2 usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "apps/lib/options.h"
#include "apps/lib/record.h"
#include "apps/lib/stress.h"

static const char *dir = ".";
static unsigned seconds = 15, files = 4, copies = 1;
static size_t size = 1 << 20; /* bytes of a whole file */

static struct stress_shared *shared;
static uint32_t seed;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)seed * below) >> 32);
}

static void name_of(char *out, size_t n, unsigned file)
{
	snprintf(out, n, "%s/stress%u", dir, file);
}

static int open_file(unsigned file, int flags)
{
	char name[256];

	name_of(name, sizeof(name), file);
	return open(name, flags, 0644);
}

/* ---- workers: one step each ---- */

static void step_read(unsigned file)
{
	static unsigned char b[65536];
	int fd = open_file(file, O_RDONLY);
	off_t at = (off_t)rnd((uint32_t)size);
	size_t want = 1 + rnd(sizeof(b));
	ssize_t n;

	if (fd < 0)
		return;
	if (rnd(4) == 0)
		at = 0; /* in order, for read-ahead */
	if (lseek(fd, at, SEEK_SET) == at) {
		for (unsigned k = 0; k < 8 && (n = read(fd, b, want)) > 0; k++) {
			stress_check(shared, "read", file, (uint64_t)at, b, (size_t)n, true);
			at += n;
		}
	}
	close(fd);
}

/* Sends from a file into a connection and reads the other end only later. */
static void step_send(unsigned file)
{
	static int out = -1, in = -1;
	static unsigned char b[65536];
	int fd = open_file(file, O_RDONLY);
	off_t at = (off_t)rnd((uint32_t)size), from = at;
	ssize_t sent, got = 0;

	if (out < 0 && stress_connection(&out, &in)) {
		perror("filestress: connection");
		exit(1);
	}
	if (fd < 0)
		return;
	sent = sendfile(out, fd, &at, 1 + rnd(sizeof(b)));
	close(fd);
	if (rnd(2))
		usleep(1000 * rnd(20)); /* meanwhile others cut it off */
	while (sent > 0 && got < sent) {
		ssize_t n = read(in, b + got, (size_t)(sent - got));

		if (n <= 0) {
			perror("filestress: receive");
			exit(1);
		}
		got += n;
	}
	if (sent > 0)
		stress_check(shared, "sendfile", file, (uint64_t)from, b, (size_t)sent, true);
}

static jmp_buf beyond;

static void on_sigbus(int sig)
{
	(void)sig; /* SA_NODEFER: it is not blocked, so there is no mask to restore */
	longjmp(beyond, 1);
}

static void step_map(unsigned file, bool private)
{
	int fd = open_file(file, O_RDWR);
	unsigned char *volatile p;
	size_t at;

	if (fd < 0)
		return;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, private ? MAP_PRIVATE : MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return;
	for (unsigned k = 0; k < 16; k++) {
		unsigned char own[64];
		size_t n = 1 + rnd(sizeof(own));

		at = rnd((uint32_t)(size - sizeof(own)));
		if (setjmp(beyond)) /* it was cut off before that page */
			continue;
		stress_check(shared, private ? "private" : "shared", file, at, p + at, n, true);
		if (rnd(2)) {
			/* In a private mapping, too: it must not show another's bytes later. */
			for (size_t i = 0; i < n; i++)
				p[at + i] = stress_byte(file, at + i);
		}
	}
	if (!private && rnd(4) == 0)
		msync(p, size, rnd(2) ? MS_SYNC : MS_ASYNC);
	munmap(p, size);
}

static void write_range(int fd, unsigned file, size_t at, size_t n)
{
	static unsigned char b[16384];

	while (n) {
		size_t k = n < sizeof(b) ? n : sizeof(b);
		ssize_t got;

		for (size_t i = 0; i < k; i++)
			b[i] = stress_byte(file, at + i);
		if (lseek(fd, (off_t)at, SEEK_SET) < 0 || (got = write(fd, b, k)) <= 0)
			return; /* full, or no memory: another time */
		at += (size_t)got;
		n -= (size_t)got;
	}
}

static void step_write(unsigned file)
{
	int fd = open_file(file, O_RDWR | O_CREAT);
	size_t at = rnd((uint32_t)size);

	if (fd < 0)
		return;
	write_range(fd, file, at, 1 + rnd((uint32_t)(size - at)));
	if (rnd(16) == 0)
		fsync(fd);
	close(fd);
}

static void step_truncate(unsigned file)
{
	int fd = open_file(file, O_RDWR);

	if (fd < 0)
		return;
	if (ftruncate(fd, (off_t)rnd((uint32_t)size)) == 0 && rnd(2))
		(void)!ftruncate(fd, (off_t)size); /* a hole up to the end */
	close(fd);
	usleep(1000 * rnd(5));
}

static void step_unlink(unsigned file)
{
	char name[256], other[260];

	name_of(name, sizeof(name), file);
	snprintf(other, sizeof(other), "%s.new", name);
	if (rnd(2)) {
		unlink(name);
	} else {
		int fd = open(other, O_RDWR | O_CREAT | O_TRUNC, 0644);

		if (fd >= 0) {
			write_range(fd, file, 0, rnd((uint32_t)size));
			close(fd);
			rename(other, name);
		}
	}
	usleep(1000 * rnd(20));
}

static void step_evict(unsigned file)
{
	(void)file;
	stress_drop_caches();
	usleep(1000 * rnd(50));
}

static void step_shared(unsigned file)
{
	step_map(file, false);
}

static void step_private(unsigned file)
{
	step_map(file, true);
}

static const struct {
	const char *name;
	void (*step)(unsigned file);
} workers[] = {
	{ "read", step_read },	       { "send", step_send },	  { "map shared", step_shared },
	{ "map private", step_private }, { "write", step_write },   { "truncate", step_truncate },
	{ "unlink", step_unlink },     { "evict", step_evict },
};
#define WORKERS (sizeof(workers) / sizeof(workers[0]))

static void work(unsigned kind, unsigned number)
{
	time_t end = time(NULL) + seconds;

	seed = 12345 + number * 7919;
	while (time(NULL) < end && !shared->wrong) {
		workers[kind].step(rnd(files));
		__atomic_fetch_add(&shared->steps[kind], 1, __ATOMIC_RELAXED);
	}
	exit(0);
}

/* Each file whole, then read again from the store. */
static void last_look(void)
{
	static unsigned char b[65536];

	for (unsigned f = 0; f < files; f++) {
		int fd = open_file(f, O_RDWR | O_CREAT);

		if (fd < 0 || ftruncate(fd, 0)) {
			perror("filestress: last write");
			shared->wrong++;
			return;
		}
		write_range(fd, f, 0, size);
		if (fsync(fd)) {
			perror("filestress: fsync");
			shared->wrong++;
		}
		close(fd);
	}
	stress_drop_caches();
	for (unsigned f = 0; f < files; f++) {
		int fd = open_file(f, O_RDONLY);
		size_t at = 0;
		ssize_t n;

		while (fd >= 0 && (n = read(fd, b, sizeof(b))) > 0) {
			stress_check(shared, "last", f, at, b, (size_t)n, false);
			at += (size_t)n;
		}
		if (at != size) {
			printf("filestress: file %u has %lu of %lu bytes at the end\n", f,
			       (unsigned long)at, (unsigned long)size);
			shared->wrong++;
		}
		close(fd);
	}
}

static void report(void)
{
	struct record r;

	for (unsigned k = 0; k < WORKERS; k++)
		printf("%-12s %8lu steps\n", workers[k].name, (unsigned long)shared->steps[k]);
	printf("filestress: %lu bytes checked, %lu wrong\n", (unsigned long)shared->bytes,
	       (unsigned long)shared->wrong);
	record_begin(&r, "filestress");
	record_int(&r, "seconds", seconds);
	record_int(&r, "bytes", (long long)shared->bytes);
	record_int(&r, "wrong", (long long)shared->wrong);
	record_end(&r);
}

static unsigned number(const char *option, double lo, double hi)
{
	return (unsigned)option_number("filestress", option, optarg, lo, hi);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_sigbus, .sa_flags = SA_NODEFER };
	unsigned started = 0;
	int c;

	while ((c = getopt(argc, argv, "d:t:n:s:p:")) != -1) {
		switch (c) {
		case 'd': dir = optarg; break;
		case 't': seconds = number("-t", 1, 86400); break;
		case 'n': files = number("-n", 1, 4096); break;
		case 's': size = (size_t)number("-s", 8, 1 << 20) << 10; break;
		case 'p': copies = number("-p", 1, 64); break;
		default: goto usage;
		}
	}
	if (optind != argc)
		goto usage;
	sigaction(SIGBUS, &sa, NULL);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED) {
		perror("filestress");
		return 1;
	}
	for (unsigned k = 0; k < WORKERS * copies; k++) {
		pid_t pid = fork();

		if (pid == 0)
			work(k % WORKERS, k);
		if (pid < 0)
			perror("filestress: fork");
		started += pid > 0;
	}
	while (started) {
		int status;

		if (waitpid(-1, &status, 0) < 0)
			break;
		started--;
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			printf("filestress: a worker ended with status %#x\n", status);
			shared->wrong++;
		}
	}
	last_look();
	report();
	return shared->wrong ? 1 : 0;
usage:
	fprintf(stderr, "usage: filestress [-d DIR] [-t SECONDS] [-n FILES] [-s KIB] [-p COPIES]\n");
	return 2;
}
