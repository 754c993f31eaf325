/* SPDX-License-Identifier: MIT */
/*
 * many: a crowd of TCP connections over the loopback.  First -n connections
 * are open at once and idle: what one costs in memory is printed.  Then -s
 * short ones, each with a byte of request and answer, from -c clients.  At the
 * end nothing may be left but TIME_WAIT.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "apps/lib/kernel_files.h"
#include "apps/lib/np_proto.h"
#include "apps/lib/options.h"
#include "apps/lib/record.h"
#include "tally/linux.h"

#define PORT	     7100
#define STEP_SECONDS 30	 /* for one connection to do its next step */
#define QUIET_SECONDS 10 /* until memory and tables are as before */
#define ADDRESSES    8	 /* 127.0.0.1 ...: each has its own ports */

static unsigned nr_open = 10000, nr_short = 100000, clients = 4;

static void die(const char *what)
{
	fprintf(stderr, "many: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct sockaddr_in address(unsigned n)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK + n % ADDRESSES);
	return a;
}

static int listener(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, SOMAXCONN) < 0)
		die("listener");
	return fd;
}

/* A blocking call that lasts longer is a connection that is stuck. */
static void bound_time(int fd)
{
	struct timeval tv = { .tv_sec = STEP_SECONDS };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

static int connect_to(unsigned n)
{
	struct sockaddr_in a = address(n);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		return -1;
	bound_time(fd);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Bytes that the machine has in use, per-CPU reserves and caches aside. */
static double memory_used(void)
{
	return (counter_read("/proc/meminfo", "MemTotal:") - counter_read("/proc/meminfo", "MemFree:")) *
	       1024;
}

/* Sockets in any state but LISTEN and TIME_WAIT. */
static long sockets_left(void)
{
	FILE *f = fopen("/proc/net/tcp", "r");
	char line[256];
	long n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		unsigned local, state;

		/* "  0: 0100007F:1BBC 00000000:0000 0A ..." */
		if (sscanf(line, " %*u: %*8x:%x %*8x:%*x %x", &local, &state) == 2 && state != 10 &&
		    state != 6)
			n++;
	}
	if (f)
		fclose(f);
	return n;
}

/* -- connections that are open at once ------------------------------------ */

/* The other end: takes connections until one byte comes on @control, then ends. */
static void hold(int l, int control)
{
	struct pollfd p[2] = { { .fd = l, .events = POLLIN }, { .fd = control, .events = POLLIN } };

	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			_exit(1);
		if (p[0].revents && accept(l, NULL, NULL) < 0)
			_exit(1); /* descriptors are kept by not closing them */
		if (p[1].revents)
			_exit(0);
	}
}

struct result {
	double bytes, open_seconds, short_seconds;
	unsigned failed;
	long left;
};

static void open_many(int l, struct result *r)
{
	double before, start = np_now();
	int to[2], status, *fds = calloc(nr_open ? nr_open : 1, sizeof(*fds));
	pid_t pid;

	if (!fds || pipe(to) < 0)
		die("set-up");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		close(to[1]);
		hold(l, to[0]);
	}
	close(to[0]);
	before = memory_used();
	for (unsigned i = 0; i < nr_open; i++) {
		fds[i] = connect_to(i);
		if (fds[i] < 0)
			r->failed++;
	}
	r->open_seconds = np_now() - start;
	/* Both ends of a connection are here: half is what one end costs. */
	r->bytes = nr_open ? (memory_used() - before) / (2.0 * nr_open) : 0;
	for (unsigned i = 0; i < nr_open; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	close(to[1]);
	waitpid(pid, &status, 0);
	if (status)
		r->failed++;
	free(fds);
}

/* -- short connections ----------------------------------------------------- */

static void answer(int l)
{
	for (;;) {
		int fd = accept(l, NULL, NULL);
		char byte;

		if (fd < 0)
			continue;
		bound_time(fd);
		if (recv(fd, &byte, 1, 0) == 1)
			send(fd, &byte, 1, MSG_NOSIGNAL);
		close(fd);
	}
}

/* Return: how many went wrong, at most 255. */
static int ask(unsigned first, unsigned count)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < count; i++) {
		char byte = (char)i, rest;
		int fd = connect_to(first + i);

		if (fd < 0 || send(fd, &byte, 1, MSG_NOSIGNAL) != 1 || recv(fd, &rest, 1, 0) != 1 ||
		    rest != byte || recv(fd, &rest, 1, 0) != 0) {
			if (!bad++)
				fprintf(stderr, "many: connection %u: %s\n", i, strerror(errno));
		}
		if (fd >= 0)
			close(fd);
	}
	return bad > 255 ? 255 : (int)bad;
}

static void short_ones(int l, struct result *r)
{
	double start = np_now();
	pid_t *servers = calloc(2 * clients, sizeof(*servers)), *askers = servers + clients;

	if (!servers)
		die("set-up");
	for (unsigned i = 0; i < clients; i++) {
		servers[i] = fork();
		if (servers[i] == 0)
			answer(l);
		askers[i] = fork();
		if (askers[i] == 0)
			_exit(ask(i, nr_short / clients));
		if (servers[i] < 0 || askers[i] < 0)
			die("fork");
	}
	for (unsigned i = 0; i < clients; i++) {
		int status = 0;

		waitpid(askers[i], &status, 0);
		r->failed += WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 1;
	}
	r->short_seconds = np_now() - start;
	for (unsigned i = 0; i < clients; i++) {
		kill(servers[i], SIGKILL);
		waitpid(servers[i], NULL, 0);
	}
	free(servers);
}

static void report(const struct result *r)
{
	struct record rec;

	printf("%u open at once in %.2f s, %.0f bytes an idle connection's end\n"
	       "%u short ones in %.2f s, %.0f a second\n"
	       "%u failed, %ld left\n",
	       nr_open, r->open_seconds, r->bytes, nr_short, r->short_seconds,
	       r->short_seconds > 0 ? nr_short / r->short_seconds : 0, r->failed, r->left);
	record_begin(&rec, "many");
	record_int(&rec, "open", nr_open);
	record_number(&rec, "bytes_per_connection", r->bytes);
	record_number(&rec, "open_seconds", r->open_seconds);
	record_int(&rec, "short", nr_short);
	record_number(&rec, "short_seconds", r->short_seconds);
	record_int(&rec, "failed", r->failed);
	record_int(&rec, "left", r->left);
	record_end(&rec);
}

int main(int argc, char **argv)
{
	struct result r = { 0 };
	long before;
	int opt, l;

	while ((opt = getopt(argc, argv, "n:s:c:")) != -1) {
		switch (opt) {
		case 'n':
			nr_open = (unsigned)option_number("many", "-n", optarg, 0, 100000);
			break;
		case 's':
			nr_short = (unsigned)option_number("many", "-s", optarg, 0, 1e8);
			break;
		case 'c':
			clients = (unsigned)option_number("many", "-c", optarg, 1, 256);
			break;
		default:
			fprintf(stderr, "usage: many [-n OPEN_AT_ONCE] [-s SHORT_ONES] [-c CLIENTS]\n");
			return 2;
		}
	}
	if (linux_raise_files(nr_open + 64) < 0)
		die("limit of open files");
	before = sockets_left();
	l = listener();
	open_many(l, &r);
	short_ones(l, &r);
	close(l);
	for (double end = np_now() + QUIET_SECONDS; np_now() < end; usleep(100000)) {
		r.left = sockets_left() - before;
		if (r.left <= 0)
			break;
	}
	report(&r);
	return r.failed || r.left > 0;
}
