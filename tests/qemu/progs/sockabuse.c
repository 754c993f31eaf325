// SPDX-License-Identifier: MIT
/*
 * Socket calls that no sane program makes: control messages that lie about their lengths,
 * threads that name one socket at once, sockets that connect again, water marks above the water.
 * The same on Linux.
 *
 *	sockabuse [FIRST LETTER]	prints what is wrong, then "sockabuse: done"
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int failed;
static char byte_block[65536];
#define CHECK(c) do { if (!(c)) { printf("sockabuse.c:%d: %s (errno %d)\n", __LINE__, #c, errno); failed = 1; } } while (0)

static struct sockaddr_in loopback(unsigned port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* Lengths of control messages near the ends of every type. */
static void control(void)
{
	static const uint64_t lens[] = { 0, 1, 15, 16, 17, 20, 24, 1000, INT32_MAX, 1ull << 32, (1ull << 32) + 16,
					 INT64_MAX, UINT64_MAX - 15, UINT64_MAX - 7, UINT64_MAX - 1, UINT64_MAX };
	uint64_t page[512];
	struct cmsghdr *c = (void *)page;
	struct sockaddr_in a = loopback(9);
	int s[3], p[2];

	CHECK(!socketpair(AF_UNIX, SOCK_DGRAM, 0, p));
	s[0] = p[0];
	s[1] = socket(AF_INET, SOCK_DGRAM, 0);
	s[2] = socket(AF_INET6, SOCK_DGRAM, 0);
	CHECK(!connect(s[1], (void *)&a, sizeof(a)));
	for (unsigned i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		for (unsigned j = 0; j < sizeof(lens) / sizeof(*lens); j++) {
			for (unsigned k = 0; k < 3 * 4; k++) {
				struct iovec v = { "x", 1 };
				struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = page,
						    .msg_controllen = lens[j] };

				memset(page, 0, sizeof(page));
				c->cmsg_len = lens[i];
				c->cmsg_level = (int[]){ SOL_SOCKET, IPPROTO_IP, IPPROTO_IPV6, 77 }[k / 3];
				c->cmsg_type = k < 3 ? SCM_RIGHTS : (int[]){ IP_TTL, IPV6_HOPLIMIT, IP_PKTINFO }[k % 3];
				sendmsg(s[k % 3], &m, MSG_DONTWAIT);
			}
		}
	}
	c->cmsg_len = UINT64_MAX;
	c->cmsg_level = 77;
	{
		struct iovec v = { "x", 1 };
		struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = page, .msg_controllen = UINT64_MAX };

		CHECK(sendmsg(s[1], &m, MSG_DONTWAIT) < 0 && errno == ENOBUFS);
	}
	close(p[0]);
	close(p[1]);
	close(s[1]);
	close(s[2]);
}

#define THREADS 4
static pthread_barrier_t gate;
static int shared;
static atomic_int stop;

/* All threads give the same socket its name, by different calls, and groups to it. */
static void *namer(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	struct sockaddr_in a = loopback(9), any = { .sin_family = AF_INET };
	struct sockaddr off = { .sa_family = AF_UNSPEC };
	uint32_t mreq[2] = { htonl(0xe0010203), htonl(INADDR_LOOPBACK) };

	for (;;) {
		pthread_barrier_wait(&gate);
		if (atomic_load(&stop))
			return NULL;
		for (unsigned i = 0; i < 4; i++) {
			switch ((me + i) % 4) {
			case 0: sendto(shared, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (void *)&a, sizeof(a)); break;
			case 1: bind(shared, (void *)&any, sizeof(any)); break;
			case 2: connect(shared, (void *)&a, sizeof(a)); break;
			default: connect(shared, &off, sizeof(off));
			}
			setsockopt(shared, IPPROTO_IP, IP_ADD_MEMBERSHIP, mreq, sizeof(mreq));
			setsockopt(shared, IPPROTO_IP, IP_DROP_MEMBERSHIP, mreq, sizeof(mreq));
		}
		pthread_barrier_wait(&gate);
	}
}

static void names(void)
{
	pthread_t t[THREADS];

	pthread_barrier_init(&gate, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, namer, (void *)(uintptr_t)i);
	for (unsigned n = 0; n < 400; n++) {
		shared = socket(AF_INET, (n % 4 == 3 ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK, 0);
		pthread_barrier_wait(&gate);
		pthread_barrier_wait(&gate);
		close(shared);
	}
	atomic_store(&stop, 1);
	pthread_barrier_wait(&gate);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static int listener(struct sockaddr_in *a)
{
	socklen_t len = sizeof(*a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	*a = loopback(0);
	CHECK(!bind(l, (void *)a, len) && !listen(l, 8) && !getsockname(l, (void *)a, &len));
	return l;
}

/* All that is there for the end @s to read, up to the end of the stream or an error. */
static void expect(int s, const char *text)
{
	struct timeval tv = { .tv_sec = 5 };
	char buf[100] = "";
	size_t n = 0;
	ssize_t k;

	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	while (n < strlen(text) && (k = recv(s, buf + n, sizeof(buf) - 1 - n, 0)) > 0)
		n += (size_t)k;
	if (strcmp(buf, text))
		printf("read \"%s\", not \"%s\"\n", buf, text);
	CHECK(!strcmp(buf, text));
}

/* A socket that connects again begins anew, whatever its last connection left behind. */
static void again(void)
{
	struct sockaddr off = { .sa_family = AF_UNSPEC };
	struct linger hard = { 1, 0 };
	struct sockaddr_in a, nobody, me;
	socklen_t len = sizeof(me);
	int l = listener(&a), s = socket(AF_INET, SOCK_STREAM, 0), p;
	char byte;

	nobody = loopback(1);
	CHECK(connect(s, (void *)&nobody, sizeof(nobody)) < 0 && errno == ECONNREFUSED);
	for (int round = 0; round < 6; round++) {
		CHECK(!connect(s, (void *)&a, sizeof(a)));
		p = accept(l, NULL, NULL);
		CHECK(send(p, "new", 3, 0) == 3);
		expect(s, "new");
		CHECK(send(s, "question", 8, MSG_NOSIGNAL) == 8);
		expect(p, "question");
		CHECK(recv(s, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
		CHECK(recv(s, &byte, 1, MSG_OOB | MSG_DONTWAIT) < 0 && errno == EINVAL);
		/* Left behind: bytes unread, an urgent one, our end, the peer's, a reset, unsent bytes. */
		switch (round) {
		case 0: send(p, "old", 3, 0); break;
		case 1: send(p, "urgent", 6, MSG_OOB); break;
		case 2: shutdown(s, SHUT_WR); break;
		case 3: send(p, "last", 4, 0); shutdown(p, SHUT_WR); break;
		case 4: setsockopt(p, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)); close(p); p = -1; break;
		default:
			while (send(s, byte_block, sizeof(byte_block), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
				;
		}
		CHECK(!connect(s, &off, sizeof(off)));
		CHECK(getpeername(s, (void *)&me, &len) < 0 && errno == ENOTCONN);
		if (round == 4)
			CHECK(p == -1 || recv(s, &byte, 1, MSG_DONTWAIT) <= 0);
		if (p >= 0)
			close(p);
	}
	/* An end that was reset stays connected, for connect(), until it is told otherwise. */
	CHECK(!connect(s, (void *)&a, sizeof(a)));
	p = accept(l, NULL, NULL);
	setsockopt(p, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(p);
	CHECK(recv(s, &byte, 1, 0) < 0 && errno == ECONNRESET);
	CHECK(connect(s, (void *)&a, sizeof(a)) < 0 && errno == EISCONN);
	CHECK(!connect(s, &off, sizeof(off)));
	/* A listener that is told so listens no more, and may again, at the port that it has. */
	CHECK(!connect(l, &off, sizeof(off)));
	CHECK(connect(s, (void *)&a, sizeof(a)) < 0 && errno == ECONNREFUSED);
	close(s);
	close(l);
}

/* SO_RCVLOWAT above what the buffer holds: whoever polls must not wait for ever. */
static void low_water(void)
{
	struct sockaddr_in a;
	int l = listener(&a), s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), p, much = INT32_MAX;
	struct pollfd f = { .events = POLLIN };

	connect(s, (void *)&a, sizeof(a));
	p = accept(l, NULL, NULL);
	CHECK(!setsockopt(p, SOL_SOCKET, SO_RCVLOWAT, &much, sizeof(much)));
	f.fd = p;
	for (int n = 0; n < 500 && f.revents != POLLIN; n++) {
		while (send(s, byte_block, sizeof(byte_block), MSG_NOSIGNAL) > 0)
			;
		poll(&f, 1, 10);
	}
	CHECK(f.revents == POLLIN);
	close(s);
	close(p);
	close(l);
}

/* A port that bind() named is free once its sockets are closed, however the connection ended. */
static void ports(void)
{
	struct linger hard = { 1, 0 };
	struct sockaddr_in a, me = loopback(0);
	socklen_t len = sizeof(me);
	int l = listener(&a), p, s = -1;

	for (int round = 0; round < 50; round++) {
		s = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(!bind(s, (void *)&me, sizeof(me)));
		CHECK(!getsockname(s, (void *)&me, &len));
		CHECK(!connect(s, (void *)&a, sizeof(a)));
		p = accept(l, NULL, NULL);
		setsockopt(p, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		close(p);
		close(s);
	}
	close(l);
}

int main(int argc, char **argv)
{
	if (argc < 2 || *argv[1] == 'c')
		control();
	if (argc < 2 || *argv[1] == 'n')
		names();
	if (argc < 2 || *argv[1] == 'a')
		again();
	if (argc < 2 || *argv[1] == 'l')
		low_water();
	if (argc < 2 || *argv[1] == 'p')
		ports();
	printf("sockabuse: %s\n", failed ? "FAILED" : "done");
	return failed;
}
