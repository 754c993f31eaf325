/* SPDX-License-Identifier: MIT */
/*
 * A storm of processes and threads that start, execute, signal, stop, continue
 * and kill each other, for the races between them.
 *
 *	storm [-s SEED] [-t SECONDS] [-w WORKERS] [-l PATIENCE]
 *
 * The parent ends it and checks that nothing is left of it.  "storm: ... ok".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t state;
static const char *self;
static double patience = 20; /* seconds after which a process counts as stuck */

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dULL >> 8;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void nap(long us)
{
	struct timespec ts = { 0, us * 1000 };

	nanosleep(&ts, NULL);
}

static void nothing(int sig)
{
	(void)sig;
}

static uint32_t word;

static void *thread(void *arg)
{
	uint64_t what = (uint64_t)arg;
	struct timespec ts = { 0, 3000000 };
	char *args[] = { "storm", "--child", NULL };

	switch (what % 8) {
	case 0: nap(500); break;
	case 1: syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &ts, 0, 0); break;
	case 2: syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 10, 0, 0, 0); break;
	case 3: for (volatile int i = 0; i < 20000; i++); break;
	case 4: if (what & 64) _exit(3); break;
	case 5: if (what & 64) execv(self, args); break;
	case 6: if (what & 64) raise(SIGKILL); break;
	case 7: free(malloc(what & 0xffff)); sched_yield(); break;
	}
	return NULL;
}

static void one(uint64_t seed)
{
	pid_t kids[8];
	unsigned nr_kids = 0;
	pthread_t t;
	char *args[] = { "storm", "--child", NULL };
	struct itimerval it = { { 0, 0 }, { 0, 1000 } };

	state = seed | 1;
	for (int i = 0; i < 10; i++)
		rnd();
	signal(SIGUSR1, nothing);
	signal(SIGALRM, nothing);
	signal(SIGCHLD, rnd() & 1 ? SIG_IGN : SIG_DFL);
	for (unsigned n = 5 + rnd() % 20; n; n--) {
		uint64_t r = rnd();
		pid_t pid;

		switch (r % 16) {
		case 0: case 1: case 2:
			if (nr_kids == 8)
				break;
			pid = fork();
			if (pid == 0) {
				if (r & 256)
					execv(self, args);
				for (unsigned k = 0; k < (r >> 9) % 3; k++)
					if (fork() == 0)
						_exit(0);
				if (r & 512)
					nap((long)(r >> 10) % 2000);
				_exit((int)(r >> 20) & 127);
			}
			if (pid > 0)
				kids[nr_kids++] = pid;
			break;
		case 3: case 4: case 5: case 6:
			if (pthread_create(&t, NULL, thread, (void *)(r >> 8)) == 0)
				pthread_detach(t);
			break;
		case 7:
			if (nr_kids)
				kill(kids[(r >> 8) % nr_kids], SIGSTOP);
			break;
		case 8:
			if (nr_kids)
				kill(kids[(r >> 8) % nr_kids], SIGCONT);
			break;
		case 9:
			if (nr_kids)
				kill(kids[(r >> 8) % nr_kids], r & 256 ? SIGKILL : SIGUSR1);
			break;
		case 10:
			waitpid(-1, NULL, WNOHANG | WUNTRACED | WCONTINUED);
			break;
		case 11:
			setitimer(ITIMER_REAL, &it, NULL);
			break;
		case 12:
			kill(0, r & 256 ? SIGUSR1 : SIGCONT);
			break;
		case 13:
			nap((long)(r >> 8) % 1000);
			break;
		case 14:
			pid = vfork();
			if (pid == 0) {
				execv(self, args);
				_exit(1);
			}
			break;
		case 15:
			munmap(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0), 1 << 20);
			break;
		}
	}
	for (unsigned i = 0; i < nr_kids; i++) {
		kill(kids[i], SIGKILL);
		while (waitpid(kids[i], NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (rnd() & 1)
		pthread_exit(NULL); /* what threads there are go on */
	_exit(0);
}

static void worker(uint64_t seed, double end)
{
	unsigned long n = 0;

	setpgid(0, 0);
	signal(SIGUSR1, SIG_IGN);
	while (now() < end) {
		pid_t pid = fork();
		double limit = now() + patience;
		int st;

		if (pid == 0)
			one(seed * 100003 + n);
		n++;
		while (pid > 0 && waitpid(pid, &st, WNOHANG) == 0) {
			if (now() > limit) {
				char cmd[200];

				snprintf(cmd, sizeof(cmd), "ps -o pid,ppid,pgid,stat,args | head -40; grep -E 'State|Threads|Sig' /proc/%d/status", pid);
				printf("storm: process %d is stuck\n", pid);
				fflush(stdout);
				if (system(cmd))
					puts("(no ps)");
				_exit(9); /* the parent says so */
			}
			kill(pid, SIGCONT); /* a group member's stop may have hit it */
			nap(500);
		}
	}
	_exit(n ? 0 : 8);
}

int main(int argc, char **argv)
{
	static char path[4096];
	uint64_t seed = 1;
	unsigned workers = 4, bad = 0;
	double seconds = 5, start = now();
	pid_t pid[64];
	int opt;

	if (argc > 1 && !strcmp(argv[1], "--child")) {
		nap(200);
		return 0;
	}
	self = readlink("/proc/self/exe", path, sizeof(path) - 1) > 0 ? path : argv[0];
	while ((opt = getopt(argc, argv, "s:t:w:l:")) != -1) {
		switch (opt) {
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 't': seconds = atof(optarg); break;
		case 'w': workers = (unsigned)atoi(optarg); break;
		case 'l': patience = atof(optarg); break;
		default: return 2;
		}
	}
	if (workers > 64)
		workers = 64;
	for (unsigned w = 0; w < workers; w++) {
		pid[w] = fork();
		if (pid[w] == 0)
			worker(seed + w, start + seconds);
	}
	for (unsigned w = 0; w < workers; w++) {
		int st = -1;

		waitpid(pid[w], &st, 0);
		if (st != 0) {
			printf("storm: worker %u ended with %x\n", w, st);
			bad++;
		}
		kill(-pid[w], SIGKILL);
	}
	/* What was left without parents is init's by now and dying. */
	for (int i = 0; i < 200; i++) {
		unsigned left = 0;

		for (unsigned w = 0; w < workers; w++)
			left += kill(-pid[w], 0) == 0;
		if (!left)
			break;
		if (i == 199) {
			printf("storm: %u groups are still there\n", left);
			bad++;
		}
		nap(20000);
	}
	printf("storm: seed %llu, %.1f s, %u workers: %s\n", (unsigned long long)seed, now() - start,
	       workers, bad ? "not ok" : "ok");
	return bad != 0;
}
