/* SPDX-License-Identifier: MIT */
/*
 * Random system calls: the kernel must survive any of them.
 *
 *	hammer [-s SEED] [-b BATCHES] [-c CALLS] [-w WORKERS] [-n NUMBER]
 *
 * A batch is a child process that makes CALLS calls with arguments from a pool
 * of likely and unlikely values; it is killed after two seconds.  The same seed
 * makes the same calls (what they meet may differ).  -n: only this call.
 * Exit status 0 if the parent lived to say so; a panic is the test's failure.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SCRATCH (64 * 1024)
#define MAX_NR  452

static uint64_t state;
static unsigned char *scratch; /* a page that nobody may touch follows it */
static char *paths[16];
static unsigned nr_paths;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dULL;
}

/* Calls that would end the test rather than try the kernel. */
static int excluded(long nr)
{
	switch (nr) {
	case SYS_exit: case SYS_exit_group: case SYS_reboot: case SYS_mount: case SYS_umount2:
	case SYS_chroot: case SYS_pivot_root: case SYS_setsid: case SYS_setpgid: case SYS_vhangup:
	case SYS_kill: case SYS_tkill: case SYS_tgkill: case SYS_rt_sigqueueinfo:
	case SYS_rt_tgsigqueueinfo: case SYS_pause: case SYS_sethostname: case SYS_setdomainname:
	case SYS_ptrace: case SYS_process_vm_writev: case SYS_kexec_load: case SYS_init_module:
	case SYS_settimeofday: case SYS_clock_settime: case SYS_adjtimex: case SYS_clock_adjtime:
	case SYS_prlimit64: case SYS_setpriority: case SYS_swapon: case SYS_swapoff:
	case SYS_sched_setscheduler: case SYS_sched_setattr: case SYS_acct: case SYS_quotactl:
	case SYS_pidfd_send_signal: case SYS_bpf: case SYS_iopl: case SYS_ioperm:
		return 1;
	}
	return 0;
}

static uint64_t pointer(void)
{
	switch (rnd() % 16) {
	case 0: return 0;
	case 1: return 8;
	case 2: return (uint64_t)(scratch + SCRATCH - rnd() % 16); /* runs into nothing */
	case 3: return 0xffff800000000000ULL + rnd() % 4096;
	case 4: return 0xffffffff80000000ULL + (rnd() & 0xffffff);
	case 5: return 0x7ffffffff000ULL - rnd() % 64;
	case 6: return rnd();
	case 7: return (uint64_t)-(rnd() % 64);
	case 8: return 0x800000000000ULL + rnd() % 4096 - 2048;
	default: return (uint64_t)(scratch + (rnd() % SCRATCH & ~7ULL));
	}
}

static uint64_t argument(void)
{
	switch (rnd() % 16) {
	case 0: case 1: case 2: return rnd() % 12;
	case 3: return (uint64_t)-1;
	case 4: return (uint64_t)(int64_t)(int32_t)rnd();
	case 5: return rnd() % 4096;
	case 6: return 1ULL << rnd() % 64;
	case 7: return rnd();
	case 8: return (rnd() % 64) * 4096;
	case 9: case 10: return (uint64_t)paths[rnd() % nr_paths];
	default: return pointer();
	}
}

static long raw(long nr, const uint64_t a[6])
{
	register uint64_t r10 __asm__("r10") = a[3];
	register uint64_t r8 __asm__("r8") = a[4];
	register uint64_t r9 __asm__("r9") = a[5];
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* Contents that some calls find sensible: small numbers, short times, pointers. */
static void fill_scratch(void)
{
	uint64_t *w = (uint64_t *)scratch;

	for (unsigned i = 0; i < SCRATCH / 8; i++) {
		switch (rnd() % 6) {
		case 0: w[i] = rnd(); break;
		case 1: w[i] = pointer(); break;
		case 2: w[i] = rnd() % 100; break;
		default: w[i] = 0; break;
		}
	}
}

static void batch(uint64_t seed, unsigned calls, long only)
{
	static const uint64_t no_signals[1];
	struct itimerval it = { { 0, 20000 }, { 0, 20000 } };
	struct sigaction sa;
	uint64_t alarm_action[4];
	pid_t me = getpid();
	int fd = open("/dev/null", O_RDWR), p[2];

	state = seed | 1;
	for (int i = 0; i < 20; i++)
		rnd();
	dup2(fd, 0);
	dup2(fd, 1);
	dup2(fd, 2);
	if (chdir("/tmp/hammer") || pipe(p))
		_exit(1);
	open("/tmp/hammer/file", O_RDWR | O_CREAT, 0644);
	open("/tmp/hammer", O_RDONLY | O_DIRECTORY);
	open("/proc/self/status", O_RDONLY);
	socket(10, 1, 0);
	socket(2, 2, 0);
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_alarm;
	sigaction(SIGALRM, &sa, NULL);
	syscall(SYS_rt_sigaction, SIGALRM, 0, alarm_action, 8);
	signal(SIGPIPE, SIG_IGN);
	setitimer(ITIMER_REAL, &it, NULL);
	fill_scratch();

	for (unsigned n = 0; n < calls; n++) {
		uint64_t a[6];
		long nr = only >= 0 ? only : (long)(rnd() % MAX_NR);

		for (int i = 0; i < 6; i++)
			a[i] = argument();
		if (excluded(nr) || (nr > 334 && nr < 424 && rnd() % 16))
			continue;
		/* Mostly the end of the batch. */
		if (nr == SYS_rt_sigreturn && rnd() % 64)
			continue;
		if (n % 64 == 0)
			fill_scratch();
		if (n % 4 == 0) { /* what calls before may have undone: the way out of blocking ones */
			syscall(SYS_rt_sigaction, SIGALRM, alarm_action, 0, 8);
			syscall(SYS_rt_sigprocmask, SIG_SETMASK, no_signals, 0, 8);
			syscall(SYS_setitimer, ITIMER_REAL, &it, 0);
		}
		/* No children that live on with the same code and memory. */
		if (nr == SYS_clone)
			a[0] &= ~(uint64_t)(0x100 | 0x8000 | 0x800);
		raw(nr, a);
		if (getpid() != me)
			_exit(0);
	}
	_exit(0);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

struct result {
	unsigned ended, crashed, killed, failed;
};

static void worker(uint64_t seed, unsigned batches, unsigned calls, long only, struct result *res)
{
	for (unsigned b = 0; b < batches; b++) {
		double start = now();
		pid_t pid = fork();
		int st = 0, killed = 0;

		if (pid == 0) {
			setpgid(0, 0);
			batch(seed * 1000003 + b, calls, only);
		}
		if (pid < 0) {
			res->failed++;
			continue;
		}
		setpgid(pid, pid);
		while (waitpid(pid, &st, WNOHANG) == 0) {
			struct timespec ts = { 0, 2000000 };

			if (now() - start > 2.0 && !killed) {
				kill(pid, SIGKILL);
				killed = 1;
			}
			nanosleep(&ts, NULL);
		}
		kill(-pid, SIGKILL); /* what it forked */
		if (killed)
			res->killed++;
		else if (WIFSIGNALED(st))
			res->crashed++;
		else
			res->ended++;
	}
}

int main(int argc, char **argv)
{
	static const char *const names[] = {
		"/tmp/hammer/file", "/tmp/hammer/dir", "/tmp/hammer/a/b/c", "file", "new", ".",
		"/tmp/hammer/link", "", "/tmp/hammer/none/none",
	};
	uint64_t seed = 1;
	unsigned batches = 50, calls = 500, workers = 2;
	long only = -1;
	struct result *res, sum = { 0, 0, 0, 0 };
	int opt;

	while ((opt = getopt(argc, argv, "s:b:c:w:n:")) != -1) {
		switch (opt) {
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'b': batches = (unsigned)atoi(optarg); break;
		case 'c': calls = (unsigned)atoi(optarg); break;
		case 'w': workers = (unsigned)atoi(optarg); break;
		case 'n': only = atol(optarg); break;
		default: return 2;
		}
	}
	if (workers > 64)
		workers = 64;
	scratch = mmap(NULL, SCRATCH + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	res = mmap(NULL, 64 * sizeof(*res), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (scratch == MAP_FAILED || res == MAP_FAILED || mprotect(scratch + SCRATCH, 4096, PROT_NONE))
		return 1;
	mkdir("/tmp/hammer", 0777);
	mkdir("/tmp/hammer/dir", 0777);
	if (symlink("file", "/tmp/hammer/link") && errno != EEXIST)
		return 1;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		paths[nr_paths++] = strdup(names[i]);
	paths[nr_paths] = malloc(5000);
	memset(paths[nr_paths], 'n', 4999);
	paths[nr_paths++][4999] = 0;

	for (unsigned w = 0; w < workers; w++)
		if (fork() == 0) {
			worker(seed + w * 7919, batches, calls, only, &res[w]);
			_exit(0);
		}
	for (unsigned w = 0; w < workers; w++)
		wait(NULL);
	for (unsigned w = 0; w < workers; w++) {
		sum.ended += res[w].ended;
		sum.crashed += res[w].crashed;
		sum.killed += res[w].killed;
		sum.failed += res[w].failed;
	}
	printf("hammer: seed %llu, %u batches of %u calls: %u ended, %u crashed, %u killed, %u not started\n",
	       (unsigned long long)seed, batches * workers, calls, sum.ended, sum.crashed, sum.killed,
	       sum.failed);
	return 0;
}
