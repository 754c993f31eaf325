/* SPDX-License-Identifier: MIT */
/*
 * Memory groups seen by a program: what a shell cannot try.  Runs as root in an empty
 * group, given as its argument, with the memory controller; prints "memgroups ok" and
 * says the same on Linux but for what older ones lack ("-o": leave that out).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int bad;
static bool old;

static void check(bool ok, const char *fmt, ...)
{
	va_list ap;

	if (ok)
		return;
	bad = 1;
	printf("memgroups: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf(" (errno %d)\n", errno);
}

static int put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY), n = fd < 0 ? -1 : (int)write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n;
}

static const char *get(const char *file)
{
	static __thread char b[4][4096];
	static __thread int turn;
	char *s = b[turn++ & 3];
	int fd = open(file, O_RDONLY), n = fd < 0 ? -1 : (int)read(fd, s, 4095);

	s[n < 0 ? 0 : n] = 0;
	if (fd >= 0)
		close(fd);
	return s;
}

static long fd_kib(int fd)
{
	char b[64] = "";

	return pread(fd, b, 63, 0) < 0 ? -1 : atol(b) / 1024;
}

/* Waits up to ten seconds for a text in a file. */
static bool soon(const char *file, const char *text)
{
	for (int i = 0; i < 1000; i++, usleep(10000))
		if (strstr(get(file), text))
			return true;
	return false;
}

/* A child in @group that touches so much and ends; its status. */
static int eat(const char *group, size_t mib)
{
	char procs[64];
	int status;

	if (!fork()) {
		volatile char *p;

		snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
		if (put(procs, "0") < 0)
			_exit(2);
		p = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (size_t i = 0; i < mib << 20; i += 4096)
			p[i] = 1;
		_exit(0);
	}
	wait(&status);
	return status;
}

static void peaks(void)
{
	int a = open("p/memory.peak", O_RDWR), b = open("p/memory.peak", O_RDWR);

	check(a >= 0 && b >= 0, "memory.peak cannot be opened for writing");
	eat("p", 30);
	check(fd_kib(a) >= 30 << 10 && fd_kib(b) >= 30 << 10, "peak: %ld %ld after 30 MiB", fd_kib(a), fd_kib(b));
	check(write(a, "", 0) == 0 && fd_kib(a) >= 30 << 10, "peak: nothing written resets");
	check(write(a, "x", 1) == 1 && fd_kib(a) < 10 << 10, "peak: not reset: %ld", fd_kib(a));
	check(fd_kib(b) >= 30 << 10, "peak: the other was reset, too: %ld", fd_kib(b));
	eat("p", 15);
	check(fd_kib(a) >= 15 << 10 && fd_kib(a) < 30 << 10, "peak: %ld after 15 MiB", fd_kib(a));
	check(write(b, "\n", 1) == 1 && fd_kib(b) < 10 << 10, "peak: b not reset: %ld", fd_kib(b));
	check(fd_kib(a) >= 15 << 10, "peak: a lost what it had: %ld", fd_kib(a));
	check(atol(get("p/memory.peak")) >= 30 << 20, "peak: a fresh one shows %s", get("p/memory.peak"));
	close(a);
	close(b);
}

static bool changed(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLPRI };
	char b[512];
	bool yes = poll(&p, 1, 300) == 1;

	lseek(fd, 0, SEEK_SET);
	if (read(fd, b, sizeof(b)) < 0)
		return false;
	return yes;
}

/* Who watches one file hears nothing of another. */
static void notices(void)
{
	static const char *const names[] = { "cgroup.events", "memory.events", "memory.events.local",
					     "memory.swap.events", "n/cgroup.events", "n/memory.events",
					     "n/memory.events.local" };
	int fd[7], in = inotify_init1(IN_NONBLOCK), w1, w2;
	struct inotify_event ev[16];
	char b[512];
	int n, seen = 0;

	put("n/memory.max", "2M");
	for (int i = 0; i < 7; i++) {
		fd[i] = open(names[i], O_RDONLY);
		check(fd[i] >= 0 && read(fd[i], b, sizeof(b)) > 0, "%s", names[i]);
	}
	w1 = inotify_add_watch(in, "n/memory.events", IN_MODIFY);
	w2 = inotify_add_watch(in, "memory.swap.events", IN_MODIFY);
	check(WIFSIGNALED(eat("n", 16)), "16 MiB went into 2");
	check(changed(fd[5]) && changed(fd[6]), "memory.events(.local) of the group: no notice");
	check(changed(fd[1]), "memory.events above: no notice");
	check(!changed(fd[2]), "memory.events.local above: notice of what is below");
	check(!changed(fd[3]), "memory.swap.events: notice of memory events");
	check(changed(fd[4]), "cgroup.events: nothing of a process that came and went");
	n = (int)read(in, ev, sizeof(ev));
	for (int i = 0; i * (int)sizeof(*ev) < n; i++) {
		check(ev[i].wd != w2, "inotify: memory.swap.events changed");
		seen |= ev[i].wd == w1 && ev[i].mask & IN_MODIFY;
	}
	check(seen, "inotify: no IN_MODIFY of memory.events");
	/* And the other way round: "populated" is nothing to memory.events. */
	for (int i = 0; i < 7; i++)
		changed(fd[i]);
	eat("n", 0);
	check(changed(fd[4]), "cgroup.events: nothing of another process");
	check(!changed(fd[5]) && !changed(fd[1]), "memory.events: notice of populated");
	for (int i = 0; i < 7; i++)
		close(fd[i]);
	close(in);
}

static pid_t clone_into(int dir)
{
	struct clone_args a = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)dir };

	return (pid_t)syscall(SYS_clone3, &a, sizeof(a));
}

static void into(void)
{
	int dir, st;
	pid_t pid;

	mkdir("i", 0755);
	dir = open("i", O_RDONLY | O_DIRECTORY);
	pid = clone_into(dir);
	if (!pid) {
		pause();
		_exit(0);
	}
	check(pid > 0, "clone3 into a group");
	check(atoi(get("i/cgroup.procs")) == pid, "cgroup.procs: %s, not %d", get("i/cgroup.procs"), pid);
	kill(pid, SIGKILL);
	waitpid(pid, &st, 0);
	check(soon("i/cgroup.events", "populated 0") && !rmdir("i"), "i cannot be removed");
	check(clone_into(dir) < 0 && errno == ENOENT, "clone3 into a removed group");
	close(dir);
	dir = open("/tmp", O_RDONLY | O_DIRECTORY);
	check(clone_into(dir) < 0 && errno == EBADF, "clone3 into /tmp");
	close(dir);
	check(clone_into(-1) < 0 && errno == EINVAL, "clone3 into a negative number");
	check(clone_into(99) < 0 && errno == EBADF, "clone3 into what is not open");
	put("cgroup.subtree_control", "+memory");
	dir = open(".", O_RDONLY | O_DIRECTORY);
	check(clone_into(dir) < 0 && errno == EBUSY, "clone3 into a group with controllers");
	close(dir);
}

static void *thread(void *arg)
{
	char want[80];

	if (put(arg, "0") < 0)
		return "cannot enter";
	snprintf(want, sizeof(want), "%.*s\n", (int)strlen(arg) - 15, (char *)arg);
	if (!strstr(get("/proc/thread-self/cgroup"), want))
		return "is not shown there";
	for (int i = 0; i < 50; i++)
		if (put(i & 1 ? arg : "t/cgroup.threads", "0") < 0)
			return "cannot go to and fro";
	return NULL;
}

/* Threads of one process in different groups; their memory counts at the domain. */
static void threads(void)
{
	static const char *const names[] = { "t/a/cgroup.threads", "t/b/cgroup.threads" };
	pthread_t th[4];
	void *said;

	mkdir("t", 0755);
	mkdir("t/a", 0755);
	mkdir("t/b", 0755);
	check(put("t/a/cgroup.type", "threaded") > 0 && put("t/b/cgroup.type", "threaded") > 0, "threaded");
	if (!fork()) {
		char *p = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		check(put("t/cgroup.procs", "0") > 0, "t/cgroup.procs");
		for (int i = 0; i < 4; i++)
			pthread_create(&th[i], NULL, thread, (void *)names[i & 1]);
		memset(p, 1, 8 << 20);
		for (int i = 0; i < 4; i++) {
			pthread_join(th[i], &said);
			check(!said, "thread of %s: %s", names[i & 1], said ? (char *)said : "");
		}
		check(put("t/a/cgroup.threads", "0") > 0, "t/a");
		check(atol(get("t/memory.current")) >= 8 << 20, "t/memory.current: %s", get("t/memory.current"));
		check(strstr(get("t/cgroup.events"), "populated 1") && !*get("t/cgroup.threads"), "t");
		_exit(bad);
	}
	wait(&bad);
	check(!bad && soon("t/cgroup.events", "populated 0"), "threads");
	check(!rmdir("t/a") && !rmdir("t/b") && !rmdir("t"), "t cannot be removed");
}

/* Who opened a file counts, not who writes. */
static void rights(void)
{
	int fd, as_user;

	mkdir("r", 0755);
	mkdir("s", 0755);
	fd = open("s/cgroup.procs", O_WRONLY);
	check(!chown("s/cgroup.procs", 65534, 65534), "chown");
	if (!fork()) {
		check(put("r/cgroup.procs", "0") > 0, "r/cgroup.procs");
		check(!seteuid(65534), "seteuid");
		as_user = open("s/cgroup.procs", O_WRONLY);
		check(as_user >= 0, "the owner cannot open cgroup.procs");
		check(put("memory.max", "max") < 0 && errno == EACCES, "memory.max as a user");
		check(!seteuid(0), "seteuid 0");
		check(write(as_user, "0", 1) < 0 && errno == EACCES, "opened by a user, written by root");
		check(!seteuid(65534), "seteuid");
		check(write(fd, "0", 1) == 1, "opened by root, written by a user");
		_exit(bad);
	}
	wait(&bad);
	check(!bad, "rights");
	close(fd);
	check(soon("s/cgroup.events", "populated 0") && !rmdir("r") && !rmdir("s"), "r, s");
}

/* A name space shows its own part of the tree. */
static void spaces(void)
{
	mkdir("v", 0755);
	mkdir("v/w", 0755);
	if (!fork()) {
		check(put("v/cgroup.procs", "0") > 0, "v/cgroup.procs");
		check(!unshare(CLONE_NEWCGROUP), "unshare");
		check(!strcmp(get("/proc/self/cgroup"), "0::/\n"), "own: %s", get("/proc/self/cgroup"));
		check(!strncmp(get("/proc/1/cgroup"), "0::/..", 6), "init's: %s", get("/proc/1/cgroup"));
		check(put("v/w/cgroup.procs", "0") > 0, "v/w/cgroup.procs");
		check(!strcmp(get("/proc/self/cgroup"), "0::/w\n"), "below: %s", get("/proc/self/cgroup"));
		_exit(bad);
	}
	wait(&bad);
	check(!bad, "spaces");
	check(soon("v/cgroup.events", "populated 0") && !rmdir("v/w") && !rmdir("v"), "v");
}

static void tracing(void)
{
	siginfo_t info = { 0 };
	pid_t pid = fork();
	int st = 0;

	if (!pid)
		for (;;)
			pause();
	check(!ptrace(PTRACE_SEIZE, pid, NULL, NULL), "seize");
	check(ptrace(PTRACE_SEIZE, pid, NULL, NULL) && errno == EPERM, "seized twice");
	check(ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) && errno == ESRCH, "not stopped yet");
	check(waitpid(pid, &st, WNOHANG) == 0, "there is nothing to tell");
	check(!ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), "interrupt");
	check(waitpid(pid, &st, 0) == pid && WIFSTOPPED(st) && st >> 8 == (SIGTRAP | 128 << 8), "status %x", st);
	check(waitpid(pid, &st, WNOHANG) == 0, "told twice");
	check(!ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) && info.si_signo == SIGTRAP, "siginfo");
	check(!ptrace(PTRACE_CONT, pid, NULL, NULL), "cont");
	check(!ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) && waitpid(pid, &st, 0) == pid, "again");
	check(!ptrace(PTRACE_DETACH, pid, NULL, NULL), "detach");
	check(ptrace(PTRACE_CONT, pid, NULL, NULL) && errno == ESRCH, "cont after detach");
	kill(pid, SIGKILL);
	check(waitpid(pid, &st, 0) == pid && WIFSIGNALED(st), "end");
}

static void removal(void)
{
	struct inotify_event ev[8] = { { 0 } };
	int in = inotify_init1(0), n, bits[2] = { 0 }, w[2];
	struct pollfd p = { .fd = in, .events = POLLIN };

	mkdir("d", 0755);
	w[0] = inotify_add_watch(in, "d/memory.events", IN_ALL_EVENTS);
	w[1] = inotify_add_watch(in, "d", IN_DELETE_SELF);
	rmdir("d");
	while ((bits[0] & bits[1] & IN_IGNORED) == 0 && poll(&p, 1, 10000) == 1) {
		n = (int)read(in, ev, sizeof(ev));
		for (int i = 0; i * (int)sizeof(*ev) < n; i++)
			bits[ev[i].wd == w[1]] |= (int)ev[i].mask;
	}
	check(bits[0] & IN_DELETE_SELF && bits[0] & IN_IGNORED, "removed: memory.events: %x", bits[0]);
	check(bits[1] & IN_DELETE_SELF && bits[1] & IN_IGNORED, "removed: directory: %x", bits[1]);
	(void)w;
	close(in);
}

int main(int argc, char **argv)
{
	old = argc > 2 && !strcmp(argv[2], "-o");
	if (argc < 2 || chdir(argv[1]))
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	signal(SIGPIPE, SIG_IGN);
	put("cgroup.subtree_control", "+memory");
	mkdir("p", 0755);
	mkdir("n", 0755);
	if (!old)
		peaks();
	notices();
	into();
	threads();
	rights();
	spaces();
	tracing();
	if (!old)
		removal();
	if (!bad)
		puts("memgroups ok");
	return bad;
}
