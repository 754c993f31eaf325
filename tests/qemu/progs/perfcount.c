/* SPDX-License-Identifier: MIT */
/*
 * Does a known number of things, for tests of perf: `perfcount WHAT N`.
 *
 *	fault N    touches N new pages
 *	switch N   N round trips of a token between two processes on one CPU
 *	packet N   sends N datagrams to itself over ::1 and receives them
 *	work N     N million rounds of arithmetic
 *	spin N     N milliseconds of a function called spin_here(), called by spin_caller()
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int fault(long n)
{
	char *p = mmap(NULL, (size_t)n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		return 1;
	for (long i = 0; i < n; i++)
		p[i * 4096] = 1;
	return 0;
}

static int trip(long n)
{
	int there[2], back[2];
	cpu_set_t one;
	char c = 0;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one) || pipe(there) || pipe(back))
		return 1;
	if (!fork()) {
		for (long i = 0; i < n; i++)
			if (read(there[0], &c, 1) != 1 || write(back[1], &c, 1) != 1)
				_exit(1);
		_exit(0);
	}
	for (long i = 0; i < n; i++)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			return 1;
	wait(NULL);
	return 0;
}

static int packet(long n)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	socklen_t len = sizeof(a);
	int s = socket(AF_INET6, SOCK_DGRAM, 0);
	char buf[100] = "";

	if (s < 0 || bind(s, (void *)&a, sizeof(a)) || getsockname(s, (void *)&a, &len))
		return 1;
	for (long i = 0; i < n; i++)
		if (sendto(s, buf, sizeof(buf), 0, (void *)&a, sizeof(a)) != sizeof(buf) ||
		    recv(s, buf, sizeof(buf), 0) != sizeof(buf))
			return 1;
	return 0;
}

static volatile unsigned long sink;

__attribute__((noinline)) void spin_here(void);
void spin_here(void)
{
	for (int i = 0; i < 100000; i++)
		sink += (unsigned long)i;
}

__attribute__((noinline)) void spin_caller(long ms);
void spin_caller(long ms)
{
	struct timespec t0, t;

	clock_gettime(CLOCK_MONOTONIC, &t0);
	do {
		spin_here();
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while ((t.tv_sec - t0.tv_sec) * 1000 + (t.tv_nsec - t0.tv_nsec) / 1000000 < ms);
}

static int work(long n)
{
	for (long i = 0; i < n * 10; i++)
		spin_here();
	return 0;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "fault"))
		return fault(n);
	if (!strcmp(argv[1], "switch"))
		return trip(n);
	if (!strcmp(argv[1], "packet"))
		return packet(n);
	if (!strcmp(argv[1], "work"))
		return work(n);
	spin_caller(n);
	return 0;
}
