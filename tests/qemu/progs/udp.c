// SPDX-License-Identifier: MIT
/*
 * UDP as programs use it:
 *
 *	udp echo PORT SECONDS	answers datagrams, prints "PORT: LENGTH" for each
 *	udp self		options and calls against itself; prints what is wrong
 *	udp wait ADDRESS [GROUP]	datagrams to a station that does not answer wait, are charged
 *			to the sender (and to the group at this path), and come back
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <netinet/in.h>

static char buf[70000];
static int failed;

#define CHECK(c) do { if (!(c)) { printf("udp.c:%d: %s (errno %d)\n", __LINE__, #c, errno); failed = 1; } } while (0)

/* sock in memory.stat of the group at @path; without one, what the program's own queue holds. */
static long charged(const char *path, int s)
{
	char file[200], line[100];
	int queued = 0;
	long n = -1;
	FILE *f;

	if (!path) {
		ioctl(s, SIOCOUTQ, &queued);
		return queued;
	}
	snprintf(file, sizeof(file), "%s/memory.stat", path);
	f = fopen(file, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "sock %ld", &n);
	if (f)
		fclose(f);
	return n;
}

static int wait_for(const char *address, const char *group)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(9) };
	int s = socket(AF_INET, SOCK_DGRAM, 0), small = 8192, queued, n = 0;
	struct pollfd p = { .fd = s, .events = POLLOUT };
	struct timeval limit = { .tv_usec = 300000 };

	inet_pton(AF_INET, address, &a.sin_addr);
	CHECK(setsockopt(s, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)) == 0);
	CHECK(poll(&p, 1, 0) == 1);
	while (n < 1000 && sendto(s, buf, 1000, MSG_DONTWAIT, (void *)&a, sizeof(a)) == 1000)
		n++;
	CHECK(n > 2 && n < 60 && errno == EAGAIN);
	CHECK(poll(&p, 1, 0) == 0);
	CHECK(ioctl(s, SIOCOUTQ, &queued) == 0 && queued >= 1000 * n);
	CHECK(charged(group, s) >= queued);
	if (group)
		CHECK(system("ss -Huam") == 0);
	CHECK(setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0);
	CHECK(sendto(s, buf, 1000, 0, (void *)&a, sizeof(a)) == -1 && errno == EAGAIN);
	CHECK(poll(&p, 1, 20000) == 1); /* the station is given up */
	for (n = 0; n < 100 && !ioctl(s, SIOCOUTQ, &queued) && queued; n++)
		usleep(50000);
	CHECK(queued == 0);
	if (group) {
		CHECK(charged(group, s) == 0);
		/* Closed with datagrams on their way: they stay charged, and come back. */
		sendto(s, buf, 60000, 0, (void *)&a, sizeof(a));
		sendto(s, buf, 60000, MSG_DONTWAIT, (void *)&a, sizeof(a));
	}
	close(s);
	if (!failed)
		printf("udp: waited\n");
	return failed;
}

static int echo(int port, int seconds)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int s = socket(AF_INET6, SOCK_DGRAM, 0);
	struct pollfd p = { .fd = s, .events = POLLIN };

	if (bind(s, (void *)&a, sizeof(a)))
		return 1;
	while (poll(&p, 1, seconds * 1000) > 0) {
		socklen_t n = sizeof(a);
		ssize_t len = recvfrom(s, buf, sizeof(buf), 0, (void *)&a, &n);

		printf("%d: %zd\n", port, len);
		fflush(stdout);
		if (len >= 0 && sendto(s, buf, len, 0, (void *)&a, n) != len)
			perror("sendto");
	}
	return 0;
}

static int bound(int family, uint16_t port, int reuse)
{
	union { struct sockaddr_in in; struct sockaddr_in6 in6; } a = { 0 };
	int s = socket(family, SOCK_DGRAM, 0);

	if (reuse)
		setsockopt(s, SOL_SOCKET, reuse, &(int){ 1 }, sizeof(int));
	a.in.sin_family = family;
	a.in.sin_port = htons(port);
	CHECK(bind(s, (void *)&a, family == AF_INET ? sizeof(a.in) : sizeof(a.in6)) == 0);
	return s;
}

static struct sockaddr_in lo(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* What recvmsg() says beside the bytes. */
static void control(void)
{
	struct sockaddr_in to = lo(5001);
	int r = bound(AF_INET, 5001, 0), s = socket(AF_INET, SOCK_DGRAM, 0);
	char c[256];
	struct iovec v = { buf, 100 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = c, .msg_controllen = sizeof(c) };
	int ttl = -1, tos = -1, ifindex = -1, stamp = 0;

	setsockopt(r, SOL_IP, IP_RECVTTL, &(int){ 1 }, 4);
	setsockopt(r, SOL_IP, IP_RECVTOS, &(int){ 1 }, 4);
	setsockopt(r, SOL_IP, IP_PKTINFO, &(int){ 1 }, 4);
	setsockopt(r, SOL_SOCKET, SO_TIMESTAMP, &(int){ 1 }, 4);
	setsockopt(s, SOL_IP, IP_TTL, &(int){ 33 }, 4);
	setsockopt(s, SOL_IP, IP_TOS, &(int){ 0x28 }, 4);
	CHECK(sendto(s, "hello", 5, 0, (void *)&to, sizeof(to)) == 5);
	CHECK(recvmsg(r, &m, 0) == 5);
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		if (h->cmsg_level == SOL_IP && h->cmsg_type == IP_TTL)
			memcpy(&ttl, CMSG_DATA(h), 4);
		if (h->cmsg_level == SOL_IP && h->cmsg_type == IP_TOS)
			tos = *CMSG_DATA(h);
		if (h->cmsg_level == SOL_IP && h->cmsg_type == IP_PKTINFO)
			ifindex = ((struct in_pktinfo *)CMSG_DATA(h))->ipi_ifindex;
		if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_TIMESTAMP)
			stamp = 1;
	}
	CHECK(ttl == 33 && tos == 0x28 && ifindex == 1 && stamp);
	close(r);
	close(s);
}

/* A refused datagram, from the error queue. */
static void errors(void)
{
	struct sockaddr_in to = lo(5999);
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	char c[256];
	struct iovec v = { buf, 100 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = c, .msg_controllen = sizeof(c) };
	struct pollfd p = { .fd = s };
	struct cmsghdr *h;

	setsockopt(s, SOL_IP, IP_RECVERR, &(int){ 1 }, 4);
	CHECK(sendto(s, "gone", 4, 0, (void *)&to, sizeof(to)) == 4);
	CHECK(poll(&p, 1, 1000) == 1 && (p.revents & POLLERR));
	CHECK(recv(s, buf, 10, MSG_DONTWAIT) == -1 && errno == ECONNREFUSED);
	CHECK(recvmsg(s, &m, MSG_ERRQUEUE) == 4 && !memcmp(buf, "gone", 4) && (m.msg_flags & MSG_ERRQUEUE));
	h = CMSG_FIRSTHDR(&m);
	CHECK(h && h->cmsg_type == IP_RECVERR);
	if (h) {
		struct sock_extended_err *e = (void *)CMSG_DATA(h);

		CHECK(e->ee_errno == ECONNREFUSED && e->ee_origin == SO_EE_ORIGIN_ICMP && e->ee_type == 3 && e->ee_code == 3);
	}
	CHECK(recvmsg(s, &m, MSG_ERRQUEUE) == -1 && errno == EAGAIN);
	close(s);
}

/* Many datagrams in one call, connected sockets before others, SO_REUSEPORT. */
static void many(void)
{
	struct sockaddr_in to = lo(5002), me = lo(5003);
	int r = bound(AF_INET, 5002, SO_REUSEPORT), r2 = bound(AF_INET, 5002, SO_REUSEPORT), s = bound(AF_INET, 5003, 0);
	struct mmsghdr m[4] = { 0 };
	struct iovec v[4];
	int got[2] = { 0, 0 };

	CHECK(connect(r2, (void *)&me, sizeof(me)) == 0); /* has the one peer */
	for (int i = 0; i < 4; i++) {
		v[i] = (struct iovec){ buf, 100 + i };
		m[i].msg_hdr = (struct msghdr){ .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &v[i], .msg_iovlen = 1 };
	}
	CHECK(sendmmsg(s, m, 4, 0) == 4 && m[3].msg_len == 103);
	CHECK(recv(r, buf, 200, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	for (int i = 0; i < 4; i++) {
		v[i].iov_len = 1000;
		m[i].msg_hdr.msg_name = NULL;
	}
	CHECK(recvmmsg(r2, m, 4, MSG_DONTWAIT, NULL) == 4 && m[0].msg_len == 100 && m[3].msg_len == 103);
	close(r2);
	r2 = bound(AF_INET, 5002, SO_REUSEPORT);
	for (int i = 0; i < 64; i++) {
		int c = socket(AF_INET, SOCK_DGRAM, 0);

		CHECK(sendto(c, "x", 1, 0, (void *)&to, sizeof(to)) == 1);
		close(c);
	}
	while (recv(r, buf, 10, MSG_DONTWAIT) == 1)
		got[0]++;
	while (recv(r2, buf, 10, MSG_DONTWAIT) == 1)
		got[1]++;
	CHECK(got[0] + got[1] == 64 && got[0] > 8 && got[1] > 8);
	close(r);
	close(r2);
	close(s);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "echo"))
		return echo(atoi(argv[2]), atoi(argv[3]));
	if (argc >= 3 && !strcmp(argv[1], "wait"))
		return wait_for(argv[2], argc > 3 ? argv[3] : NULL);
	control();
	errors();
	many();
	puts(failed ? "udp: wrong" : "udp: right");
	return failed;
}
