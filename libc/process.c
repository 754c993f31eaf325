/* SPDX-License-Identifier: MIT */
/* Processes: creation, waiting, identity, CPU affinity. */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "libc/syscall.h"
#include "tally/linux.h"

void _exit(int status)
{
	for (;;)
		sys_call1(NR_exit_group, status);
}

pid_t fork(void)
{
	return (pid_t)sysret(sys_call0(NR_fork));
}

int execve(const char *path, char *const argv[], char *const envp[])
{
	return (int)sysret(sys_call3(NR_execve, path, argv, envp));
}

int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

/* PATH is searched unless @file has a slash; the last error that is not ENOENT is kept. */
int execvp(const char *file, char *const argv[])
{
	const char *dir = getenv("PATH");
	char path[512];
	int error = ENOENT;

	if (strchr(file, '/'))
		return execv(file, argv);
	if (!dir)
		dir = "/usr/bin:/bin";
	while (*dir) {
		int n = (int)strcspn(dir, ":");

		if (snprintf(path, sizeof(path), "%.*s/%s", n, dir, file) < (int)sizeof(path)) {
			execv(path, argv);
			if (errno != ENOENT && errno != ENOTDIR)
				error = errno;
		}
		dir += n + (dir[n] == ':');
	}
	errno = error;
	return -1;
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	return (pid_t)sysret(sys_call4(NR_wait4, pid, status, options, 0));
}

pid_t wait(int *status)
{
	return waitpid(-1, status, 0);
}

pid_t getpid(void)
{
	return (pid_t)sys_call0(NR_getpid);
}

pid_t getppid(void)
{
	return (pid_t)sys_call0(NR_getppid);
}

uid_t getuid(void)
{
	return (uid_t)sys_call0(NR_getuid);
}

pid_t setsid(void)
{
	return (pid_t)sysret(sys_call0(NR_setsid));
}

clock_t times(struct tms *t)
{
	return (clock_t)sysret(sys_call1(NR_times, t));
}

int uname(struct utsname *name)
{
	return (int)sysret(sys_call1(NR_uname, name));
}

int sched_yield(void)
{
	return (int)sysret(sys_call0(NR_sched_yield));
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	return (int)sysret(sys_call3(NR_sched_setaffinity, pid, size, set));
}

/* The system call returns how many bytes it wrote; the function returns 0. */
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	memset(set, 0, size);
	return sysret(sys_call3(NR_sched_getaffinity, pid, size, set)) < 0 ? -1 : 0;
}

long sysconf(int name)
{
	cpu_set_t set;

	switch (name) {
	case _SC_PAGESIZE:
		return 4096;
	case _SC_CLK_TCK:
		return 100;
	case _SC_NPROCESSORS_ONLN:
	case _SC_NPROCESSORS_CONF:
		return sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : CPU_COUNT(&set);
	}
	return -1;
}

#define LINUX_RLIMIT_NOFILE 7

int linux_raise_files(unsigned long n)
{
	struct {
		uint64_t soft, hard;
	} limit;
	long r = sys_call4(NR_prlimit64, 0, LINUX_RLIMIT_NOFILE, 0, &limit);

	if (r == 0 && limit.soft < n) {
		limit.soft = n;
		if (limit.hard < n)
			limit.hard = n;
		r = sys_call4(NR_prlimit64, 0, LINUX_RLIMIT_NOFILE, &limit, 0);
	}
	return (int)sysret(r);
}
