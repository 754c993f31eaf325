/* SPDX-License-Identifier: MIT */
/*
 * stat CMD: runs a command and prints what changed in all of the kernel's
 * counters meanwhile (/proc/tally/counters), whoever changed it.
 *
 * The name is also that of the program that shows files: if the first word is an
 * option or names a file, busybox's stat runs instead.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "apps/lib/np_proto.h"

#define COUNTERS     "/proc/tally/counters"
#define MOST	     8192
#define BUSYBOX	     "/bin/busybox"

struct counter {
	char name[80];
	unsigned long long value;
};

static unsigned read_counters(struct counter *c)
{
	FILE *f = fopen(COUNTERS, "r");
	char line[80], *space; /* a name and a number */
	unsigned n = 0;

	if (!f) {
		fprintf(stderr, "stat: " COUNTERS ": %s\n", strerror(errno));
		exit(1);
	}
	while (n < MOST && fgets(line, sizeof(line), f)) {
		space = strchr(line, ' ');
		if (!space)
			continue;
		*space = 0;
		snprintf(c[n].name, sizeof(c[n].name), "%s", line);
		c[n++].value = strtoull(space + 1, NULL, 10);
	}
	fclose(f);
	return n;
}

static int is_for_busybox(int argc, char **argv)
{
	struct stat st;

	return argc < 2 || argv[1][0] == '-' || strchr(argv[1], '/') || stat(argv[1], &st) == 0;
}

int main(int argc, char **argv)
{
	static struct counter before[MOST], after[MOST];
	unsigned n, changed = 0;
	double start, seconds;
	int status;
	pid_t pid;

	if (argc > 1 && !strcmp(argv[1], "--")) {
		argv++;
		argc--;
	} else if (is_for_busybox(argc, argv)) {
		argv[0] = "stat";
		execv(BUSYBOX, argv);
		fprintf(stderr, "usage: stat COMMAND...   what changes in the kernel's counters\n");
		return 2;
	}
	if (argc < 2)
		return 2;
	n = read_counters(before);
	start = np_now();
	pid = fork();
	if (pid < 0) {
		perror("stat: fork");
		return 1;
	}
	if (!pid) {
		execvp(argv[1], argv + 1);
		fprintf(stderr, "stat: %s: %s\n", argv[1], strerror(errno));
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	seconds = np_now() - start;
	if (read_counters(after) < n)
		n = 0;
	fprintf(stderr, "\n%-28s %16s %14s\n", "counter", "changed by", "per second");
	for (unsigned i = 0; i < n; i++) {
		unsigned long long d = after[i].value - before[i].value;

		if (!d || strcmp(before[i].name, after[i].name))
			continue;
		changed++;
		fprintf(stderr, "%-28s %16llu %14.1f\n", after[i].name, d,
			seconds > 0 ? (double)d / seconds : 0);
	}
	fprintf(stderr, "%u of %u counters changed in %.3f s\n", changed, n, seconds);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
