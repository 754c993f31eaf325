/* SPDX-License-Identifier: MIT */
/*
 * Processes, signals, threads and time as a Linux program expects them.
 *
 * A static program that runs on Linux and on Tally alike: every line it prints
 * is "ok NAME" or "not ok NAME: ...".  Without arguments it runs everything;
 * names select.  Exit status: 1 if anything failed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static const char *test_name, *self;
static int failures, passed;

static void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("not ok %s: ", test_name);
	vprintf(fmt, ap);
	printf("\n");
	fflush(stdout);
	va_end(ap);
	failures++;
}

#define CHECK(c)                                                                                   \
	do {                                                                                       \
		if (!(c)) {                                                                        \
			int _e = errno;                                                            \
			fail("line %d: %s (errno %d)", __LINE__, #c, _e);                          \
			return;                                                                    \
		}                                                                                  \
	} while (0)

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void msleep(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static int wait_for(pid_t pid)
{
	int st = -1;

	while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
		;
	return st;
}

static int on_tally(void)
{
	struct utsname u;

	return uname(&u) == 0 && !strcmp(u.sysname, "Tally");
}

/* ---- processes ---- */

static void t_fork_wait(void)
{
	pid_t pid = fork();
	int st;
	siginfo_t si;

	if (pid == 0)
		_exit(42);
	CHECK(pid > 0);
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 42);
	CHECK(waitpid(pid, &st, 0) == -1 && errno == ECHILD);
	CHECK(waitpid(-1, &st, WNOHANG) == -1 && errno == ECHILD);
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	CHECK(waitpid(pid, &st, WNOHANG) == 0);
	CHECK(kill(pid, SIGTERM) == 0);
	memset(&si, 0, sizeof(si));
	CHECK(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT) == 0);
	CHECK(si.si_pid == pid && si.si_code == CLD_KILLED && si.si_status == SIGTERM);
	CHECK(waitpid(pid, &st, 0) == pid && WIFSIGNALED(st) && WTERMSIG(st) == SIGTERM);
	CHECK(waitpid(-1, &st, 0x1000) == -1 && errno == EINVAL);
}

static void t_vfork(void)
{
	volatile int shared = 0;
	pid_t pid = vfork();

	if (pid == 0) {
		shared = 7;
		_exit(1);
	}
	CHECK(pid > 0 && shared == 7);
	CHECK(WEXITSTATUS(wait_for(pid)) == 1);
}

static void t_cow(void)
{
	static int data = 1;
	int *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	CHECK(map != MAP_FAILED);
	*map = 1;
	pid = fork();
	if (pid == 0) {
		data = 2;
		*map = 2;
		_exit(data);
	}
	CHECK(WEXITSTATUS(wait_for(pid)) == 2);
	CHECK(data == 1);
	CHECK(*map == 2);
	munmap(map, 4096);
}

static void t_orphan(void)
{
	int fd[2];
	pid_t ppid = 0, pid;

	CHECK(pipe(fd) == 0);
	pid = fork();
	if (pid == 0) {
		pid_t me = getpid();

		if (fork() == 0) {
			for (int i = 0; i < 1000 && getppid() == me; i++)
				msleep(2);
			ppid = getppid();
			if (write(fd[1], &ppid, sizeof(ppid)) < 0)
				_exit(1);
			_exit(0);
		}
		_exit(0);
	}
	wait_for(pid);
	CHECK(read(fd[0], &ppid, sizeof(ppid)) == sizeof(ppid));
	CHECK(ppid != pid && ppid > 0);
	close(fd[0]);
	close(fd[1]);
}

static void t_groups(void)
{
	pid_t pid, me = getpid();
	int st;

	CHECK(getpgid(0) == getpgrp());
	CHECK(setpgid(0, 999999) == -1 && (errno == EPERM));
	CHECK(setpgid(-1, -1) == -1 && errno == EINVAL);
	CHECK(getpgid(9999999) == -1 && errno == ESRCH);
	pid = fork();
	if (pid == 0) {
		if (setsid() != getpid() || getsid(0) != getpid() || getpgrp() != getpid())
			_exit(1);
		if (setsid() != -1 || errno != EPERM)
			_exit(2);
		if (setpgid(0, 0) != -1 || errno != EPERM)
			_exit(3);
		_exit(0);
	}
	st = wait_for(pid);
	CHECK(st == 0);
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	CHECK(setpgid(pid, pid) == 0 && getpgid(pid) == pid);
	CHECK(kill(-pid, SIGKILL) == 0);
	CHECK(waitpid(-pid, &st, 0) == pid && WTERMSIG(st) == SIGKILL);
	CHECK(kill(-pid, 0) == -1 && errno == ESRCH);
	CHECK(kill(me, 0) == 0);
	CHECK(kill(me, 65) == -1 && errno == EINVAL);
}

static void t_many(void)
{
	enum { N = 200 };
	pid_t pid[N];

	for (int i = 0; i < N; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			_exit(i & 127);
		CHECK(pid[i] > 0);
	}
	for (int i = 0; i < N; i++) {
		int st = wait_for(pid[i]);

		CHECK(WIFEXITED(st) && WEXITSTATUS(st) == (i & 127));
	}
}

/* ---- execve ---- */

static int run(const char *path, char *const argv[], char *const envp[])
{
	pid_t pid = fork();

	if (pid == 0) {
		execve(path, argv, envp);
		_exit(errno == ENOENT ? 200 : errno == EACCES ? 201 : errno == ENOEXEC ? 202 :
		      errno == E2BIG ? 203 : errno == EFAULT ? 204 : errno == ELOOP ? 205 : 206);
	}
	return WEXITSTATUS(wait_for(pid));
}

static int write_file(const char *path, const void *data, size_t n, int mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

	if (fd < 0)
		return -1;
	if (write(fd, data, n) != (ssize_t)n)
		n = 0;
	fchmod(fd, mode);
	return close(fd);
}

static void t_exec(void)
{
	char *env[] = { "A=1", "B=two", NULL }, *none[] = { NULL };
	char *args[] = { "abi", "--args", "x", "", "a b", NULL };
	char **volatile bad = (char **)1;
	char *many[2002], *big = malloc(200 * 1024), path[300];
	static const char script[] = "#!/tmp/abi-self --script\nrest\n";
	static const char nested[] = "#! /tmp/abi-script  one two \n";

	snprintf(path, sizeof(path), "/proc/self/exe");
	unlink("/tmp/abi-self");
	CHECK(symlink(self, "/tmp/abi-self") == 0);
	CHECK(run(self, args, env) == 77);
	CHECK(run("/tmp/abi-self", args, env) == 77);
	CHECK(run("/nonexistent", args, env) == 200);
	CHECK(run("/tmp", args, env) == 201);
	CHECK(run("/dev/null", args, env) == 201);
	CHECK(run((char *)1, args, env) == 204);
	CHECK(run(self, bad, env) == 204);
	CHECK(write_file("/tmp/abi-script", script, sizeof(script) - 1, 0755) == 0);
	CHECK(run("/tmp/abi-script", args, none) == 78);
	CHECK(write_file("/tmp/abi-nested", nested, sizeof(nested) - 1, 0755) == 0);
	CHECK(run("/tmp/abi-nested", args, none) == 78);
	CHECK(write_file("/tmp/abi-noexec", script, sizeof(script) - 1, 0644) == 0);
	CHECK(run("/tmp/abi-noexec", args, none) == 201);
	CHECK(write_file("/tmp/abi-loop", "#!/tmp/abi-loop\n", 16, 0755) == 0);
	CHECK(run("/tmp/abi-loop", args, none) == 205);
	CHECK(write_file("/tmp/abi-text", "hello\n", 6, 0755) == 0);
	CHECK(run("/tmp/abi-text", args, none) == 202);
	CHECK(write_file("/tmp/abi-empty", "", 0, 0755) == 0);
	CHECK(run("/tmp/abi-empty", args, none) == 202);
	CHECK(write_file("/tmp/abi-badint", "#!/nonexistent\n", 15, 0755) == 0);
	CHECK(run("/tmp/abi-badint", args, none) == 200);

	memset(big, 'x', 200 * 1024);
	big[200 * 1024 - 1] = 0;
	many[0] = "abi";
	many[1] = "--count";
	many[2] = big;
	many[3] = NULL;
	CHECK(run(self, many, none) == 203);
	big[100 * 1024] = 0;
	CHECK(run(self, many, none) == 3);
	for (int i = 2; i < 2000; i++)
		many[i] = "0123456789012345678901234567890123456789";
	many[2000] = NULL;
	CHECK(run(self, many, none) == 2000 % 251);
	for (int i = 2; i < 100; i++)
		many[i] = big;
	many[100] = NULL;
	CHECK(run(self, many, none) == 203);
	free(big);
}

static void t_bad_elf(void)
{
	unsigned char head[4096];
	char *args[] = { "x", NULL }, *none[] = { NULL };
	int fd = open(self, O_RDONLY);
	ssize_t n = read(fd, head, sizeof(head));
	unsigned seed = 12345;

	close(fd);
	CHECK(n == sizeof(head));
	/* Headers alone: segments lie beyond the end. */
	CHECK(write_file("/tmp/abi-bad", head, sizeof(head), 0755) == 0);
	CHECK(run("/tmp/abi-bad", args, none) >= 200 || 1);
	for (int i = 0; i < 64; i++) {
		unsigned char copy[4096];
		int r;

		memcpy(copy, head, sizeof(copy));
		for (int k = 0; k < 4; k++) {
			seed = seed * 1103515245 + 12345;
			copy[4 + (seed >> 16) % 500] ^= (unsigned char)(seed >> 8);
		}
		CHECK(write_file("/tmp/abi-bad", copy, 64 + (seed >> 12) % 4000, 0755) == 0);
		r = run("/tmp/abi-bad", args, none);
		(void)r; /* any end will do, as long as the kernel lives */
	}
}

static void t_exec_closes(void)
{
	char num[20], num2[20];
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), fd2 = open("/dev/null", O_RDONLY);
	char *args[] = { "abi", "--fds", num, num2, NULL };

	snprintf(num, sizeof(num), "%d", fd);
	snprintf(num2, sizeof(num2), "%d", fd2);
	CHECK(run(self, args, NULL) == 0);
	close(fd);
	close(fd2);
}

/* ---- signals ---- */

static volatile sig_atomic_t got, got_code, got_pid, got_value;
static volatile uintptr_t got_addr;
static sigjmp_buf jump;

static void on_signal(int sig, siginfo_t *si, void *uc)
{
	(void)uc;
	got = sig;
	got_code = si->si_code;
	got_pid = si->si_pid;
}

static void on_fault(int sig, siginfo_t *si, void *uc)
{
	(void)uc;
	got = sig;
	got_code = si->si_code;
	got_addr = (uintptr_t)si->si_addr;
	siglongjmp(jump, 1);
}

static void handle(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = fn;
	sa.sa_flags = SA_SIGINFO | flags;
	sigaction(sig, &sa, NULL);
}

static void t_signal(void)
{
	sigset_t set, old;
	struct sigaction sa;

	handle(SIGUSR1, on_signal, 0);
	got = 0;
	CHECK(kill(getpid(), SIGUSR1) == 0);
	CHECK(got == SIGUSR1 && got_code == SI_USER && got_pid == getpid());
	got = 0;
	CHECK(raise(SIGUSR1) == 0 && got == SIGUSR1 && got_code == SI_TKILL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(sigprocmask(SIG_BLOCK, &set, &old) == 0);
	got = 0;
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGUSR1);
	CHECK(got == 0);
	CHECK(sigpending(&set) == 0 && sigismember(&set, SIGUSR1));
	CHECK(sigsuspend(&old) == -1 && errno == EINTR && got == SIGUSR1);
	got = 0;
	CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0 && got == 0);
	handle(SIGUSR1, on_signal, (int)SA_RESETHAND);
	raise(SIGUSR1);
	CHECK(sigaction(SIGUSR1, NULL, &sa) == 0 && sa.sa_handler == SIG_DFL);
	CHECK(sigaction(SIGKILL, &sa, NULL) == -1 && errno == EINVAL);
	signal(SIGUSR1, SIG_IGN);
	CHECK(raise(SIGUSR1) == 0);
	signal(SIGUSR1, SIG_DFL);
}

static volatile int depth;
static void on_nested(int sig, siginfo_t *si, void *uc)
{
	(void)si;
	(void)uc;
	if (++depth < 5)
		raise(sig);
}

static void t_nested(void)
{
	handle(SIGUSR2, on_nested, SA_NODEFER);
	depth = 0;
	raise(SIGUSR2);
	CHECK(depth == 5);
	handle(SIGUSR2, on_nested, 0);
	depth = 0;
	raise(SIGUSR2);
	CHECK(depth == 5);
}

static void t_restart(void)
{
	int fd[2];
	char c = 0;
	struct itimerval it = { { 0, 0 }, { 0, 30000 } };
	pid_t pid;

	CHECK(pipe(fd) == 0);
	handle(SIGALRM, on_signal, 0);
	setitimer(ITIMER_REAL, &it, NULL);
	got = 0;
	CHECK(read(fd[0], &c, 1) == -1 && errno == EINTR && got == SIGALRM);
	handle(SIGALRM, on_signal, SA_RESTART);
	pid = fork();
	if (pid == 0) {
		msleep(150);
		if (write(fd[1], "z", 1) != 1)
			_exit(1);
		_exit(0);
	}
	setitimer(ITIMER_REAL, &it, NULL);
	got = 0;
	CHECK(read(fd[0], &c, 1) == 1 && c == 'z' && got == SIGALRM);
	CHECK(wait_for(pid) == 0);
	close(fd[0]);
	close(fd[1]);
}

static void t_faults(void)
{
	volatile int zero = 0;
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	handle(SIGSEGV, on_fault, 0);
	handle(SIGFPE, on_fault, 0);
	handle(SIGILL, on_fault, 0);
	handle(SIGTRAP, on_fault, 0);
	handle(SIGBUS, on_fault, 0);
	got = 0;
	if (!sigsetjmp(jump, 1))
		*(volatile int *)8 = 1;
	CHECK(got == SIGSEGV && got_code == SEGV_MAPERR && got_addr == 8);
	got = 0;
	if (!sigsetjmp(jump, 1))
		*(volatile char *)(page + 100) = 1;
	CHECK(got == SIGSEGV && got_code == SEGV_ACCERR && got_addr == (uintptr_t)page + 100);
	got = 0;
	if (!sigsetjmp(jump, 1))
		*(volatile char *)0x8000000000000000UL = 1;
	CHECK(got == SIGSEGV);
	got = 0;
	if (!sigsetjmp(jump, 1))
		zero = (int)now() / zero;
	CHECK(got == SIGFPE && got_code == FPE_INTDIV);
	got = 0;
	if (!sigsetjmp(jump, 1))
		__asm__ volatile("ud2");
	CHECK(got == SIGILL);
	got = 0;
	if (!sigsetjmp(jump, 1))
		__asm__ volatile("int3");
	CHECK(got == SIGTRAP);
	got = 0;
	if (!sigsetjmp(jump, 1))
		__asm__ volatile("int $0x80" : : "a"(20) : "memory");
	CHECK(got == (on_tally() ? SIGSEGV : 0)); /* no 32-bit calls here */
	got = 0;
	if (!sigsetjmp(jump, 1))
		__asm__ volatile("hlt");
	CHECK(got == SIGSEGV);
	got = 0;
	if (!sigsetjmp(jump, 1)) /* jump to nowhere */
		((void (*)(void))0x123456789000UL)();
	CHECK(got == SIGSEGV);
	got = 0;
	if (!sigsetjmp(jump, 1)) /* data is not code */
		((void (*)(void))page)();
	CHECK(got == SIGSEGV && got_code == SEGV_ACCERR);
	for (int s = SIGILL; s <= SIGSEGV; s++)
		if (s == SIGSEGV || s == SIGFPE || s == SIGILL || s == SIGTRAP || s == SIGBUS)
			signal(s, SIG_DFL);
	munmap(page, 4096);
}

static void t_default_kill(void)
{
	int sigs[] = { SIGSEGV, SIGABRT, SIGTERM, SIGKILL, SIGPIPE, SIGALRM, SIGRTMIN + 3 };

	for (unsigned i = 0; i < sizeof(sigs) / sizeof(*sigs); i++) {
		pid_t pid = fork();
		int st;

		if (pid == 0) {
			signal(sigs[i], SIG_DFL);
			kill(getpid(), sigs[i]);
			_exit(1);
		}
		st = wait_for(pid);
		CHECK(WIFSIGNALED(st) && WTERMSIG(st) == sigs[i]);
	}
}

static volatile uintptr_t handler_sp;
static void on_alt(int sig, siginfo_t *si, void *uc)
{
	char here;

	(void)si;
	(void)uc;
	got = sig;
	handler_sp = (uintptr_t)&here;
	if (sig == SIGSEGV)
		siglongjmp(jump, 1);
}

static int __attribute__((noinline)) recurse(volatile char *p)
{
	volatile char block[4096];

	block[0] = *p;
	return recurse(block) + block[0];
}

static void t_altstack(void)
{
	size_t size = 64 * 1024;
	stack_t ss = { .ss_sp = malloc(size), .ss_size = size }, old;
	struct rlimit lim = { 1 << 20, RLIM_INFINITY };

	CHECK(sigaltstack(&ss, NULL) == 0);
	handle(SIGUSR1, on_alt, SA_ONSTACK);
	raise(SIGUSR1);
	CHECK(handler_sp > (uintptr_t)ss.ss_sp && handler_sp < (uintptr_t)ss.ss_sp + size);
	CHECK(sigaltstack(NULL, &old) == 0 && old.ss_sp == ss.ss_sp && old.ss_flags == 0);
	/* A stack that overflows is caught on the other one. */
	handle(SIGSEGV, on_alt, SA_ONSTACK);
	setrlimit(RLIMIT_STACK, &lim);
	got = 0;
	if (!sigsetjmp(jump, 1)) {
		char c = 1;

		recurse(&c);
	}
	CHECK(got == SIGSEGV);
	signal(SIGSEGV, SIG_DFL);
	ss.ss_size = 100;
	CHECK(sigaltstack(&ss, NULL) == -1 && errno == ENOMEM);
	ss.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&ss, NULL) == 0);
	lim.rlim_cur = 8 << 20;
	setrlimit(RLIMIT_STACK, &lim);
}

static void t_queue(void)
{
	sigset_t set;
	siginfo_t si;
	union sigval v;
	struct timespec zero = { 0, 0 }, some = { 0, 30000000 };
	double t;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	sigaddset(&set, SIGRTMIN + 2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 5; i++) {
		v.sival_int = 100 + i;
		CHECK(sigqueue(getpid(), SIGRTMIN + 2, v) == 0);
		v.sival_int = 200 + i;
		CHECK(sigqueue(getpid(), SIGRTMIN + 1, v) == 0);
	}
	for (int i = 0; i < 10; i++) {
		int want = i < 5 ? 200 + i : 100 + i - 5;

		CHECK(sigtimedwait(&set, &si, &zero) == SIGRTMIN + (i < 5 ? 1 : 2));
		CHECK(si.si_value.sival_int == want && si.si_code == SI_QUEUE);
	}
	CHECK(sigtimedwait(&set, &si, &zero) == -1 && errno == EAGAIN);
	t = now();
	CHECK(sigtimedwait(&set, &si, &some) == -1 && errno == EAGAIN && now() - t > 0.025);
	if (fork() == 0) {
		msleep(30);
		kill(getppid(), SIGRTMIN + 1);
		_exit(0);
	}
	CHECK(sigwaitinfo(&set, &si) == SIGRTMIN + 1 && si.si_code == SI_USER);
	wait(NULL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void t_stop(void)
{
	int st;
	siginfo_t si;
	pid_t pid;

	handle(SIGCHLD, on_signal, 0);
	got = 0;
	pid = fork();
	if (pid == 0) {
		for (;;)
			pause();
	}
	CHECK(kill(pid, SIGSTOP) == 0);
	while (waitpid(pid, &st, WUNTRACED) < 0 && errno == EINTR)
		;
	CHECK(WIFSTOPPED(st) && WSTOPSIG(st) == SIGSTOP);
	CHECK(got == SIGCHLD && got_code == CLD_STOPPED);
	CHECK(waitpid(pid, &st, WUNTRACED | WNOHANG) == 0);
	CHECK(kill(pid, SIGUSR2) == 0 || 1);
	CHECK(kill(pid, SIGCONT) == 0);
	do {
		st = waitid(P_PID, (id_t)pid, &si, WCONTINUED);
	} while (st < 0 && errno == EINTR);
	CHECK(st == 0 && si.si_code == CLD_CONTINUED);
	kill(pid, SIGKILL);
	while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
		;
	CHECK(WIFSIGNALED(st));
	/* A stopped process can be killed. */
	pid = fork();
	if (pid == 0) {
		raise(SIGSTOP);
		_exit(9);
	}
	while (waitpid(pid, &st, WUNTRACED) < 0 && errno == EINTR)
		;
	CHECK(WIFSTOPPED(st));
	kill(pid, SIGKILL);
	while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
		;
	CHECK(WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	pid = fork();
	if (pid == 0)
		_exit(0);
	CHECK(waitpid(pid, &st, 0) == -1 && errno == ECHILD);
	signal(SIGCHLD, SIG_DFL);
}

/* ---- FPU ---- */

static int fpu_work(int id)
{
	double x[8], y;

	for (int i = 0; i < 8; i++)
		x[i] = id * 1.5 + i;
	for (int n = 0; n < 2000; n++) {
		for (int i = 0; i < 8; i++)
			x[i] = x[i] * 1.000001 + 0.25;
		if (n % 20 == 0)
			sched_yield();
	}
	y = 0;
	for (int i = 0; i < 8; i++)
		y += x[i];
	return (int)((long)(y * 1000) & 0xffffff);
}

static void *fpu_thread(void *arg)
{
	int id = (int)(long)arg, first = fpu_work(id);

	for (int i = 0; i < 5; i++)
		if (fpu_work(id) != first)
			return (void *)1;
	return NULL;
}

static void t_fpu(void)
{
	pthread_t t[8];
	void *r;
	register double kept __asm__("xmm7") = 3.25;
	double out;

	__asm__ volatile("" : "+x"(kept));
	handle(SIGUSR1, on_signal, 0);
	for (long i = 0; i < 8; i++)
		CHECK(pthread_create(&t[i], NULL, fpu_thread, (void *)i) == 0);
	for (int i = 0; i < 8; i++) {
		CHECK(pthread_join(t[i], &r) == 0);
		CHECK(r == NULL);
	}
	/* Registers live across a handler that uses them. */
	__asm__ volatile("movsd %1, %%xmm15\n\t"
			 "mov %2, %%edi\n\t"
			 "mov %3, %%esi\n\t"
			 "mov %4, %%eax\n\t"
			 "syscall\n\t"
			 "movsd %%xmm15, %0"
			 : "=m"(out)
			 : "m"((double){ 6.5 }), "r"(getpid()), "i"(SIGUSR1), "i"(SYS_kill)
			 : "rax", "rcx", "rdi", "rsi", "r11", "xmm15", "memory");
	CHECK(out == 6.5);
}

static void on_regs(int sig, siginfo_t *si, void *uc)
{
	ucontext_t *u = uc;

	(void)si;
	got = sig;
	u->uc_mcontext.gregs[REG_RBX] += 1; /* a handler may change what it returns to */
	u->uc_mcontext.gregs[REG_EFL] = ~0x100L; /* and may try nonsense */
	__asm__ volatile("pxor %%xmm15, %%xmm15" : : : "xmm15");
}

static void t_sigreturn(void)
{
	long rbx = 41;
	pid_t pid;

	handle(SIGUSR1, on_regs, 0);
	__asm__ volatile("syscall" : "+b"(rbx) : "a"(SYS_kill), "D"(getpid()), "S"(SIGUSR1)
			 : "rcx", "r11", "memory", "cc");
	/* Trap and direction flag of the nonsense above. */
	__asm__ volatile("pushfq\n\tandq $~0x40500, (%%rsp)\n\tpopfq" : : : "memory", "cc");
	CHECK(rbx == 42);
	/* A frame from nowhere ends the program, not the kernel. */
	pid = fork();
	if (pid == 0) {
		__asm__ volatile("mov $16, %%rsp\n\tmov $15, %%eax\n\tsyscall" : : : "memory");
		_exit(0);
	}
	CHECK(WTERMSIG(wait_for(pid)) == SIGSEGV);
	pid = fork();
	if (pid == 0) {
		static unsigned char junk[4096];

		for (unsigned i = 0; i < sizeof(junk); i++)
			junk[i] = (unsigned char)(i * 37 + 5);
		__asm__ volatile("mov %0, %%rsp\n\tmov $15, %%eax\n\tsyscall" : : "r"(junk + 64) : "memory");
		_exit(0);
	}
	CHECK(WIFSIGNALED(wait_for(pid)));
}

/* ---- threads ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long counter;
static __thread long own;

static void *add(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&mutex);
		counter++;
		pthread_mutex_unlock(&mutex);
		own++;
	}
	return (void *)(own + (long)arg);
}

static void t_threads(void)
{
	pthread_t t[16];
	void *r;

	counter = 0;
	for (long i = 0; i < 16; i++)
		CHECK(pthread_create(&t[i], NULL, add, (void *)i) == 0);
	for (long i = 0; i < 16; i++) {
		CHECK(pthread_join(t[i], &r) == 0);
		CHECK((long)r == 1000 + i);
	}
	CHECK(counter == 16000 && own == 0);
}

static int turn;
static void *ping(void *arg)
{
	int me = (int)(long)arg;

	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != me)
			pthread_cond_wait(&cond, &mutex);
		turn = !me;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void t_cond(void)
{
	pthread_t a, b;
	struct timespec ts;

	turn = 0;
	CHECK(pthread_create(&a, NULL, ping, (void *)0L) == 0);
	CHECK(pthread_create(&b, NULL, ping, (void *)1L) == 0);
	CHECK(pthread_join(a, NULL) == 0 && pthread_join(b, NULL) == 0);
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += 20000000;
	if (ts.tv_nsec >= 1000000000)
		ts.tv_sec++, ts.tv_nsec -= 1000000000;
	pthread_mutex_lock(&mutex);
	CHECK(pthread_cond_timedwait(&cond, &mutex, &ts) == ETIMEDOUT);
	pthread_mutex_unlock(&mutex);
}

static pthread_mutex_t robust;
static void *die_with_lock(void *arg)
{
	pthread_mutex_lock(&robust);
	return arg;
}

static void *forever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *spin_forever(void *arg)
{
	for (volatile long i = 0;; i++)
		;
	return arg;
}

static void *call_exec(void *arg)
{
	char *args[] = { "abi", "--count", NULL };

	execv(self, args);
	return arg;
}

static void *call_exit(void *arg)
{
	msleep(20);
	exit(55);
	return arg;
}

static void t_thread_ends(void)
{
	pthread_mutexattr_t attr;
	pthread_t t;
	pid_t pid;
	int st;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attr);
	CHECK(pthread_create(&t, NULL, die_with_lock, NULL) == 0 && pthread_join(t, NULL) == 0);
	CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD);
	CHECK(pthread_create(&t, NULL, forever, NULL) == 0);
	CHECK(pthread_cancel(t) == 0 && pthread_join(t, NULL) == 0);

	pid = fork();
	if (pid == 0) { /* exit() by a thread, others in user mode and asleep */
		pthread_create(&t, NULL, spin_forever, NULL);
		pthread_create(&t, NULL, forever, NULL);
		pthread_create(&t, NULL, call_exit, NULL);
		pause();
	}
	CHECK(WEXITSTATUS(wait_for(pid)) == 55);
	pid = fork();
	if (pid == 0) { /* execve() by a thread that is not the first */
		pthread_create(&t, NULL, spin_forever, NULL);
		pthread_create(&t, NULL, call_exec, NULL);
		pause();
	}
	st = wait_for(pid);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 2);
	pid = fork();
	if (pid == 0) { /* the first thread ends, the process goes on */
		pthread_create(&t, NULL, call_exit, NULL);
		pthread_exit(NULL);
	}
	CHECK(WEXITSTATUS(wait_for(pid)) == 55);
	pid = fork();
	if (pid == 0) { /* SIGKILL reaches all threads */
		pthread_create(&t, NULL, spin_forever, NULL);
		pthread_create(&t, NULL, forever, NULL);
		spin_forever(NULL);
	}
	msleep(50);
	kill(pid, SIGKILL);
	CHECK(WTERMSIG(wait_for(pid)) == SIGKILL);
	pid = fork();
	if (pid == 0) { /* and a fault of one thread ends all */
		pthread_create(&t, NULL, spin_forever, NULL);
		msleep(10);
		*(volatile int *)0 = 1;
	}
	CHECK(WTERMSIG(wait_for(pid)) == SIGSEGV);
}

static long futex(uint32_t *a, int op, uint32_t v, const struct timespec *ts, uint32_t *b, uint32_t v3)
{
	return syscall(SYS_futex, a, op, v, ts, b, v3);
}

static void t_futex(void)
{
	uint32_t *w = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct timespec ts = { 0, 20000000 };
	double t = now();
	pid_t pid;

	CHECK(w != MAP_FAILED);
	CHECK(futex(w, FUTEX_WAIT, 1, NULL, NULL, 0) == -1 && errno == EAGAIN);
	CHECK(futex(w, FUTEX_WAIT, 0, &ts, NULL, 0) == -1 && errno == ETIMEDOUT && now() - t > 0.015);
	CHECK(futex((uint32_t *)8, FUTEX_WAIT, 0, NULL, NULL, 0) == -1 && errno == EFAULT);
	CHECK(futex((uint32_t *)((char *)w + 1), FUTEX_WAIT, 0, NULL, NULL, 0) == -1 && errno == EINVAL);
	CHECK(futex(w, FUTEX_WAKE, 1, NULL, NULL, 0) == 0);
	CHECK(futex(w, 77, 1, NULL, NULL, 0) == -1 && errno == ENOSYS);
	pid = fork(); /* shared between processes */
	if (pid == 0) {
		while (__atomic_load_n(w, __ATOMIC_SEQ_CST) == 0)
			futex(w, FUTEX_WAIT, 0, NULL, NULL, 0);
		_exit((int)*w);
	}
	msleep(30);
	__atomic_store_n(w, 5, __ATOMIC_SEQ_CST);
	CHECK(futex(w, FUTEX_WAKE, 1, NULL, NULL, 0) == 1);
	CHECK(WEXITSTATUS(wait_for(pid)) == 5);
	munmap(w, 4096);
}

/* ---- time ---- */

static void t_time(void)
{
	struct timespec ts = { 0, 30000000 }, rem = { 0, 0 }, a, b;
	struct itimerval it = { { 0, 0 }, { 0, 20000 } }, cur;
	struct timeval tv;
	timer_t timer;
	struct itimerspec its = { { 0, 10000000 }, { 0, 10000000 } };
	sigset_t set;
	double t = now();

	CHECK(nanosleep(&ts, NULL) == 0 && now() - t >= 0.03);
	handle(SIGALRM, on_signal, 0);
	CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
	CHECK(getitimer(ITIMER_REAL, &cur) == 0 && cur.it_value.tv_usec > 0);
	ts.tv_nsec = 500000000;
	CHECK(nanosleep(&ts, &rem) == -1 && errno == EINTR && rem.tv_nsec > 100000000);
	ts.tv_nsec = 1000000000;
	CHECK(nanosleep(&ts, NULL) == -1 && errno == EINVAL);
	CHECK(nanosleep((void *)8, NULL) == -1 && errno == EFAULT);
	CHECK(alarm(100) == 0 && alarm(0) == 100);
	CHECK(clock_gettime(CLOCK_REALTIME, &a) == 0 && gettimeofday(&tv, NULL) == 0);
	CHECK(tv.tv_sec - a.tv_sec <= 1 && labs(time(NULL) - tv.tv_sec) <= 1);
	CHECK(clock_gettime(999, &a) == -1 && errno == EINVAL);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &a) == 0 && clock_gettime(CLOCK_MONOTONIC, &b) == 0);
	CHECK(b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec));
	b.tv_nsec += 20000000;
	if (b.tv_nsec >= 1000000000)
		b.tv_sec++, b.tv_nsec -= 1000000000;
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &b, NULL) == 0);
	clock_gettime(CLOCK_MONOTONIC, &a);
	CHECK(a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec >= b.tv_nsec));
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	CHECK(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0);
	CHECK(timer_settime(timer, 0, &its, NULL) == 0);
	for (int i = 0; i < 3; i++) {
		siginfo_t si;

		CHECK(sigwaitinfo(&set, &si) == SIGALRM && si.si_code == SI_TIMER);
	}
	CHECK(timer_delete(timer) == 0);
	CHECK(timer_delete(timer) == -1 && errno == EINVAL);
	its.it_value.tv_nsec = 0;
	sigtimedwait(&set, NULL, &its.it_value);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void t_cputime(void)
{
	struct rusage ru;
	struct tms tms;
	struct timespec a, b;
	double t = now();
	volatile double x = 1;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	while (now() - t < 0.1)
		for (int i = 0; i < 10000; i++)
			x = x * 1.0001;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	CHECK((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9 > 0.01);
	CHECK(getrusage(RUSAGE_SELF, &ru) == 0);
	CHECK(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec + ru.ru_utime.tv_usec + ru.ru_stime.tv_usec > 0);
	CHECK(getrusage(77, &ru) == -1 && errno == EINVAL);
	CHECK(times(&tms) > 0);
}

/* ---- the rest ---- */

static void t_misc(void)
{
	struct utsname u;
	struct rlimit lim;
	cpu_set_t cpus;
	char name[16];
	unsigned char rnd[300];
	int st;
	pid_t pid;

	CHECK(uname(&u) == 0 && !strcmp(u.machine, "x86_64"));
	CHECK(uname((void *)16) == -1 && errno == EFAULT);
	CHECK(getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur >= 256);
	CHECK(getrlimit(99, &lim) == -1 && errno == EINVAL);
	CHECK(sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) >= 1);
	CHECK(sched_setaffinity(0, sizeof(cpus), &cpus) == 0);
	CHECK(prctl(PR_SET_NAME, "renamed-program-x") == 0 && prctl(PR_GET_NAME, name) == 0);
	CHECK(!strcmp(name, "renamed-program"));
	CHECK(syscall(SYS_getrandom, rnd, sizeof(rnd), 0) == sizeof(rnd));
	CHECK(syscall(9999) == -1 && errno == ENOSYS);
	CHECK(syscall(-5L) == -1 && errno == ENOSYS);
	CHECK(syscall(SYS_gettid) == getpid() && getppid() > 0);
	errno = 0;
	CHECK(getpriority(PRIO_PROCESS, 0) == 0 && errno == 0);
	pid = fork();
	if (pid == 0) {
		if (setpriority(PRIO_PROCESS, 0, 5) || getpriority(PRIO_PROCESS, 0) != 5)
			_exit(1);
		if (geteuid() == 0) {
			if (setgid(1000) || setuid(1000) || getuid() != 1000 || geteuid() != 1000)
				_exit(2);
			if (setuid(0) != -1 || errno != EPERM)
				_exit(3);
			if (kill(1, SIGTERM) != -1 || errno != EPERM)
				_exit(4);
		}
		_exit(0);
	}
	st = wait_for(pid);
	CHECK(st == 0);
}

static void t_memory(void)
{
	char *volatile p = mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *b = sbrk(0);
	unsigned char vec[16];

	CHECK(p != MAP_FAILED);
	memset(p, 7, 16 * 4096);
	CHECK(mprotect(p, 4096, PROT_READ) == 0);
	handle(SIGSEGV, on_fault, 0);
	got = 0;
	if (!sigsetjmp(jump, 1))
		*(volatile char *)p = 1;
	CHECK(got == SIGSEGV && got_code == SEGV_ACCERR);
	signal(SIGSEGV, SIG_DFL);
	CHECK(mprotect(p, 4096, PROT_READ | PROT_WRITE) == 0);
	CHECK(mincore(p, 16 * 4096, vec) == 0);
	p = mremap(p, 16 * 4096, 64 * 4096, MREMAP_MAYMOVE);
	CHECK(p != MAP_FAILED && p[15 * 4096] == 7 && p[40 * 4096] == 0);
	CHECK(munmap(p, 64 * 4096) == 0);
	CHECK(munmap((void *)1, 4096) == -1 && errno == EINVAL);
	CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 99, 0) == MAP_FAILED && errno == EBADF);
	CHECK(mmap(NULL, 1UL << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOMEM);
	CHECK(sbrk(1 << 20) == b);
	memset(b, 1, 1 << 20);
	CHECK(sbrk(-(1 << 20)) != (void *)-1);
}

static void t_efault(void)
{
	static const struct { long nr; long a[4]; } calls[] = {
		{ SYS_read, { 0, 8, 10 } }, { SYS_wait4, { -1, 8, 1 } }, { SYS_rt_sigaction, { 10, 8, 0, 8 } },
		{ SYS_rt_sigprocmask, { 0, 8, 0, 8 } }, { SYS_nanosleep, { 8, 0 } }, { SYS_uname, { 8 } },
		{ SYS_gettimeofday, { 8, 0 } }, { SYS_getrlimit, { 7, 8 } }, { SYS_getrusage, { 0, 8 } },
		{ SYS_sysinfo, { 8 } }, { SYS_times, { 8 } }, { SYS_clock_gettime, { 1, 8 } },
		{ SYS_sched_getaffinity, { 0, 128, 8 } }, { SYS_getrandom, { 8, 16, 0 } },
		{ SYS_setitimer, { 0, 8, 0 } }, { SYS_sigaltstack, { 8, 0 } }, { SYS_getgroups, { 100, 8 } },
		{ SYS_rt_sigpending, { 8, 8 } }, { SYS_rt_sigsuspend, { 8, 8 } }, { SYS_pipe, { 8 } },
		{ SYS_execve, { 8, 0, 0 } }, { SYS_prctl, { PR_SET_NAME, 8 } },
		{ SYS_uname, { (long)0xffff800000000000UL } }, { SYS_uname, { -8 } },
		{ SYS_clock_gettime, { 1, (long)0xffffffff80000000UL } },
	};

	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		long r;

		if (calls[i].nr == SYS_read || calls[i].nr == SYS_getgroups || calls[i].nr == SYS_wait4)
			continue; /* depend on what there is */
		errno = 0;
		r = syscall(calls[i].nr, calls[i].a[0], calls[i].a[1], calls[i].a[2], calls[i].a[3]);
		if (r != -1 || errno != EFAULT)
			fail("call %ld (row %u): %ld, errno %d", calls[i].nr, i, r, errno);
	}
}

static const struct {
	const char *name;
	void (*fn)(void);
} tests[] = {
	{ "fork-wait", t_fork_wait }, { "vfork", t_vfork }, { "copy-on-write", t_cow },
	{ "orphan", t_orphan }, { "groups", t_groups }, { "many", t_many }, { "exec", t_exec },
	{ "bad-elf", t_bad_elf }, { "exec-closes", t_exec_closes }, { "signal", t_signal },
	{ "nested", t_nested }, { "restart", t_restart }, { "faults", t_faults },
	{ "default-kill", t_default_kill }, { "altstack", t_altstack }, { "queue", t_queue },
	{ "stop", t_stop }, { "fpu", t_fpu }, { "sigreturn", t_sigreturn }, { "threads", t_threads },
	{ "cond", t_cond }, { "thread-ends", t_thread_ends }, { "futex", t_futex }, { "time", t_time },
	{ "cputime", t_cputime }, { "misc", t_misc }, { "memory", t_memory }, { "efault", t_efault },
};

/* What the program does when a test executes it. */
static int child(int argc, char **argv)
{
	if (!strcmp(argv[1], "--args"))
		return argc == 5 && !strcmp(argv[2], "x") && !argv[3][0] && !strcmp(argv[4], "a b") &&
		       getenv("A") && !strcmp(getenv("B"), "two") ? 77 : 1;
	if (!strcmp(argv[1], "--script"))
		return argc == 7 && strstr(argv[2], "/tmp/abi-") && !strcmp(argv[3], "--args") ? 78 :
		       argc >= 4 ? 78 : 100 + argc;
	if (!strcmp(argv[1], "--count"))
		return argc % 251;
	if (!strcmp(argv[1], "--fds"))
		return fcntl(atoi(argv[2]), F_GETFD) == -1 && fcntl(atoi(argv[3]), F_GETFD) != -1 ? 0 : 1;
	return 99;
}

int main(int argc, char **argv)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (argc > 1 && !strncmp(argv[1], "--", 2))
		return child(argc, argv);
	self = n > 0 ? path : argv[0];
	for (unsigned i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		int before = failures, wanted = argc < 2;

		for (int k = 1; k < argc; k++)
			wanted |= !strcmp(argv[k], tests[i].name);
		if (!wanted)
			continue;
		test_name = tests[i].name;
		tests[i].fn();
		if (failures == before) {
			printf("ok %s\n", test_name);
			passed++;
		}
		fflush(stdout);
	}
	printf("abi: %d passed, %d failed\n", passed, failures);
	return failures ? 1 : 0;
}
