/* SPDX-License-Identifier: MIT */
/*
 * A file of 32 MB is cut off while sendfile() sends it over TCP to a slow reader, at a place
 * that has and at one that has not been sent: a short count, then 0; no loop, no fault, no
 * byte that was not the file's (civetweb 190, proftpd 591).  Also cut to nothing and made
 * longer again.  Prints "sendtrunc ok" (on Linux as well).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE  (32 << 20)
#define CHUNK (1 << 20)

static unsigned char byte_at(size_t i)
{
	return (unsigned char)(i * 7 + (i >> 12));
}

struct cut {
	const char *name;
	size_t at, to, grow; /* once @at bytes were sent (or read): to @to, then to @grow if it is not 0 */
	int by_reader;       /* in the middle of one call, then */
};

static int cut_off(int file, const struct cut *k)
{
	return ftruncate(file, (off_t)k->to) || (k->grow && ftruncate(file, (off_t)k->grow));
}

/* Reads to the end; what the file kept must be as it was, the rest may be zeroes.  Returns a status. */
static int reader(int fd, int file, const struct cut *k)
{
	size_t whole = k->to < k->at ? k->to : k->at;
	int done = !k->by_reader;
	static unsigned char b[65536];
	size_t got = 0;
	ssize_t n;

	while ((n = read(fd, b, sizeof(b))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (b[i] != byte_at(got + (size_t)i) && (got + (size_t)i < whole || b[i])) {
				printf("sendtrunc: byte %zu is %u\n", got + (size_t)i, b[i]);
				return 1;
			}
		}
		got += (size_t)n;
		if (!done && got >= k->at) {
			if (cut_off(file, k))
				return 1;
			done = 1;
		}
		if (got < 4 * CHUNK)
			usleep(1000); /* so that much waits in the sender */
	}
	return n ? 2 : 0;
}

static int one(const struct cut *k)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = open("/tmp/sendtrunc", O_RDWR | O_CREAT | O_TRUNC, 0600);
	int l = socket(AF_INET, SOCK_STREAM, 0), c, st;
	size_t sent = 0, step = k->by_reader ? SIZE : CHUNK + 12345;
	int zeroes = 0, done = k->by_reader;
	unsigned char *m;
	ssize_t n = -1;
	pid_t pid;

	if (fd < 0 || ftruncate(fd, SIZE) || bind(l, (struct sockaddr *)&a, sizeof(a)) || listen(l, 1) ||
	    getsockname(l, (struct sockaddr *)&a, &len))
		return 1;
	m = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < SIZE; i++)
		m[i] = byte_at(i);
	munmap(m, SIZE);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		c = accept(l, NULL, NULL);
		_exit(c < 0 ? 3 : (st = reader(c, fd, k), fflush(stdout), st));
	}
	c = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(c, (struct sockaddr *)&a, sizeof(a)))
		return 1;
	close(l);
	/* At the end each call must say so, at once: three of them. */
	for (int i = 0; i < 100 && zeroes < 3; i++) {
		if (!done && sent >= k->at) {
			if (cut_off(fd, k))
				return 1;
			done = 1;
		}
		n = sendfile(c, fd, NULL, step);
		if (n < 0)
			break;
		sent += (size_t)n;
		zeroes = n ? 0 : zeroes + 1;
	}
	close(c);
	if (waitpid(pid, &st, 0) != pid || st || zeroes != 3 || sent >= SIZE || sent < k->at) {
		printf("sendtrunc: %s: status %d, sent %zu, last %zd (%s)\n", k->name, st, sent, n,
		       strerror(errno));
		return 1;
	}
	close(fd);
	return 0;
}

int main(void)
{
	static const struct cut cuts[] = {
		{ "behind what is sent", SIZE / 2, SIZE / 2 + 2 * CHUNK + 4097, 0, 0 },
		{ "within what is sent", SIZE / 2, SIZE / 4 + 1, 0, 0 },
		{ "to nothing", SIZE / 2, 0, 0, 0 },
		{ "and longer again", SIZE / 2, SIZE / 4 + 1, SIZE / 2 + 3 * CHUNK, 0 },
		{ "in one call", SIZE / 4, SIZE / 2 + 1, 0, 1 },
		{ "to nothing in one call", SIZE / 4, 0, 0, 1 },
	};
	int bad = 0;

	signal(SIGPIPE, SIG_IGN);
	alarm(60);
	for (unsigned i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++)
		bad |= one(&cuts[i]);
	if (!bad)
		puts("sendtrunc ok");
	return bad;
}
