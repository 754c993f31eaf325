/* SPDX-License-Identifier: MIT */
/*
 * memwork: memory of every kind, taken and given back at random until it is killed.
 *
 *	memwork DIR SEED
 *
 * Anonymous memory, files below DIR that are read, written, mapped, cut and removed,
 * memory files, pipes, processes, and sockets (TCP and UDP over ::1, UNIX) whose queues
 * stay filled.  What it may not have it does without: limits and failing allocations are
 * the point of who starts it.  At SIGUSR1 it stops as if by SIGSTOP and prints what ss
 * cannot say: "sockets GROUP BYTES", charged to its UNIX sockets.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif

#define AREAS   8
#define FILES   4
#define PAIRS   6
#define AREA_KB 1024
#define FILE_KB 2048

static uint32_t seed;
static const char *dir;
static char buf[65536];
static struct area {
	char *at;
	size_t len;
	bool write;
} areas[AREAS];
static int pairs[PAIRS][2];

static uint32_t rnd(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)seed * below) >> 32);
}

static const char *a_file(void)
{
	static char name[256];

	snprintf(name, sizeof(name), "%s/w%u.%u", dir, (unsigned)getpid(), rnd(FILES));
	return name;
}

/* A mapping of any kind takes the place of another, and some of it is used. */
static void map(void)
{
	struct area *a = &areas[rnd(AREAS)];
	int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	unsigned kind = rnd(4);

	if (a->at)
		munmap(a->at, a->len);
	a->len = (size_t)(1 + rnd(AREA_KB / 4)) * 4096;
	a->write = kind != 1;
	if (kind == 1 || kind == 2) {
		fd = open(a_file(), O_RDWR | O_CREAT, 0644);
		if (fd >= 0 && ftruncate(fd, (off_t)a->len))
			a->write = false;
		flags = kind == 1 ? MAP_PRIVATE : MAP_SHARED;
	} else if (kind == 3) {
		flags = MAP_SHARED | MAP_ANONYMOUS;
	}
	a->at = mmap(NULL, a->len, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (fd >= 0)
		close(fd);
	if (a->at == MAP_FAILED)
		a->at = NULL;
}

/* By system calls, so that a page that cannot be had is an error and no signal. */
static void touch(void)
{
	struct area *a = &areas[rnd(AREAS)];
	int fd;

	if (!a->at)
		return;
	fd = open(a->write ? "/dev/zero" : "/dev/null", O_RDWR);
	for (size_t off = rnd(4) * 4096; fd >= 0 && off + 4096 <= a->len; off += 4096 * (1 + rnd(3)))
		if ((a->write ? read(fd, a->at + off, 4096) : write(fd, a->at + off, 4096)) < 0)
			break;
	if (fd >= 0)
		close(fd);
	if (!rnd(4))
		madvise(a->at, a->len, MADV_DONTNEED);
}

static void use_file(void)
{
	const char *name = a_file();
	int fd = open(name, O_RDWR | O_CREAT, 0644);
	unsigned kind = rnd(8);

	if (fd < 0)
		return;
	lseek(fd, (off_t)rnd(FILE_KB) << 10, SEEK_SET);
	for (unsigned n = 1 + rnd(16); n--;)
		if ((kind < 4 ? read(fd, buf, sizeof(buf)) : write(fd, buf, sizeof(buf))) <= 0)
			break;
	if (kind == 4 && ftruncate(fd, (off_t)rnd(FILE_KB) << 10))
		kind = 5;
	if (kind == 5)
		fsync(fd);
	if (kind == 6)
		unlink(name);
	close(fd);
}

static int tcp_pair(int p[2])
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	socklen_t n = sizeof(to);
	int l = socket(AF_INET6, SOCK_STREAM, 0);

	p[0] = socket(AF_INET6, SOCK_STREAM, 0);
	p[1] = -1;
	if (!bind(l, (struct sockaddr *)&to, sizeof(to)) && !listen(l, 1) &&
	    !getsockname(l, (struct sockaddr *)&to, &n) &&
	    !connect(p[0], (struct sockaddr *)&to, sizeof(to)))
		p[1] = accept4(l, NULL, NULL, SOCK_NONBLOCK);
	close(l);
	if (p[1] < 0)
		close(p[0]);
	return p[1] < 0 ? -1 : 0;
}

static int udp_pair(int p[2])
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	socklen_t n = sizeof(to);

	p[0] = socket(AF_INET6, SOCK_DGRAM, 0);
	p[1] = socket(AF_INET6, SOCK_DGRAM, 0);
	if (!bind(p[1], (struct sockaddr *)&to, sizeof(to)) &&
	    !getsockname(p[1], (struct sockaddr *)&to, &n) &&
	    !connect(p[0], (struct sockaddr *)&to, sizeof(to)))
		return 0;
	close(p[0]);
	close(p[1]);
	return -1;
}

/* A pair of some kind takes the place of another; the queues of the old one are reset. */
static void new_pair(void)
{
	int *p = pairs[rnd(PAIRS)];
	struct linger reset = { 1, 0 };
	int err;

	for (unsigned i = 0; i < 2 && p[0] >= 0; i++) {
		setsockopt(p[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(p[i]);
	}
	switch (rnd(5)) {
	case 0:
		err = socketpair(AF_UNIX, SOCK_STREAM, 0, p);
		break;
	case 1:
		err = socketpair(AF_UNIX, SOCK_DGRAM, 0, p);
		break;
	case 2:
		err = udp_pair(p);
		break;
	case 3:
		err = pipe(p);
		break;
	default:
		err = tcp_pair(p);
	}
	if (err)
		p[0] = p[1] = -1;
	for (unsigned i = 0; i < 2 && !err; i++)
		fcntl(p[i], F_SETFL, O_NONBLOCK);
}

static void talk(void)
{
	int *p = pairs[rnd(PAIRS)];
	size_t n = 1 + rnd(16000);

	if (p[0] < 0)
		return;
	for (unsigned k = rnd(12); k--;) {
		if (write(p[0], buf, n) < 0 && write(p[1], buf, n) < 0)
			break;
	}
	for (unsigned k = rnd(10); k--;)
		if (read(p[1], buf, sizeof(buf)) <= 0 && read(p[0], buf, sizeof(buf)) <= 0)
			break;
}

static void child(void)
{
	pid_t pid = fork();

	if (!pid) {
		map();
		touch();
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static volatile sig_atomic_t asked;

static void ask(int sig)
{
	asked = 1;
}

static void say(void)
{
	uint32_t m[9], domain, sum = 0;
	char *group;
	int fd = open("/proc/self/cgroup", O_RDONLY), n = fd < 0 ? -1 : (int)read(fd, buf, 200);

	close(fd);
	for (unsigned i = 0; i < 2 * PAIRS; i++) {
		socklen_t len = sizeof(domain);

		fd = pairs[i / 2][i % 2];
		if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) || domain != AF_UNIX)
			continue;
		len = sizeof(m);
		if (!getsockopt(fd, SOL_SOCKET, SO_MEMINFO, m, &len))
			sum += m[0] + m[2] + m[4] + m[5];
	}
	buf[n < 0 ? 0 : n] = '\0';
	group = strchr(buf, '/');
	printf("sockets %.*s %u\n", group ? (int)strcspn(group, "\n") : 1, group ? group : "-", sum);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static void (*const what[])(void) = { map, touch, touch, use_file, use_file, new_pair,
					      talk, talk, talk, child };

	if (argc != 3)
		return 2;
	dir = argv[1];
	seed = (uint32_t)atoi(argv[2]);
	memset(pairs, -1, sizeof(pairs));
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = ask }, NULL); /* interrupts waits */
	for (;;) {
		what[rnd(sizeof(what) / sizeof(what[0]))]();
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (asked) {
			say();
			raise(SIGSTOP);
			asked = 0; /* here: it may have come again meanwhile */
		}
	}
}
