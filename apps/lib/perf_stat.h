/* SPDX-License-Identifier: MIT */
#ifndef APPS_LIB_PERF_STAT_H
#define APPS_LIB_PERF_STAT_H

#include <sys/types.h>

/* `perf stat`: argv[0] is "stat".  Exit status. */
int perf_stat(int argc, char **argv);

/*
 * A command that waits before it becomes the program: start, set things up
 * around child->pid, go, wait.
 */
struct perf_child {
	pid_t pid;
	int go[2];
	int exec[2]; /* closed by the command's execve(), or its end */
};
int perf_child_start(struct perf_child *c, char **argv); /* 0, or -1 with errno */
void perf_child_go(struct perf_child *c);
void perf_child_wait_exec(struct perf_child *c); /* after go: until the command runs, or has failed to */
int perf_child_wait(struct perf_child *c); /* exit status as the shell has it */

/* The C library's getopt() does not take a "--" in front of everything: skips it. */
void perf_skip_dashes(int *argc, char ***argv);

/* Directory of a group by its path below the mount point; -1 with a message. */
int perf_group_open(const char *group);

#endif
