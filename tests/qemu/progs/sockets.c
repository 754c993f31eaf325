// SPDX-License-Identifier: MIT
/*
 * Random sequences of socket calls on loopback, for two kernels to answer alike:
 *
 *	sockets FIRST COUNT [all]	sequences FIRST to FIRST + COUNT - 1; all: one line for each call,
 *			else one for each sequence, with a hash of the answers
 *	sockets FIRST COUNT threads	six threads, COUNT sequences each, share the descriptors
 *
 * What is called depends on the number of the sequence alone, never on an answer. Everything is
 * non-blocking and, to be compared, done by one thread. Ports are printed as distance from the sequence's own twenty,
 * those that the kernel chose as '*'. See tests/qemu/test_sockets.py.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define SLOTS 8
#define CALLS 40

static int fd[SLOTS];
static __thread uint64_t state, hash;
static unsigned base;
static int loud, threads;
static __thread int step;
static volatile sig_atomic_t pipes;
static __thread char data[70000];
static unsigned char next_byte;

static void on_pipe(int sig)
{
	(void)sig;
	pipes++;
}

static unsigned rnd(unsigned n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(state >> 33) % n;
}

#define PICK(a) ((a)[rnd(sizeof(a) / sizeof((a)[0]))])

static void say(const char *fmt, ...)
{
	char line[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	for (char *c = line; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
	if (loud)
		fputs(line, stdout);
}

static void result(long ret)
{
	int err = errno;

	if (ret < 0)
		say(" = %s", strerrorname_np(err) ? strerrorname_np(err) : "?");
	else
		say(" = %ld", ret);
	if (pipes)
		say(" SIGPIPE");
	pipes = 0;
}

/* A new descriptor: the number does not matter. */
static void result_fd(int slot, int ret)
{
	result(ret < 0 ? ret : 0);
	if (ret < 0)
		return;
	if (fd[slot] >= 0)
		close(fd[slot]);
	fd[slot] = ret;
}

union name {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un un;
	struct sockaddr_storage all;
};

static int binding, connecting; /* what the name is for */

static unsigned port(void)
{
	unsigned p = rnd(8) ? base + rnd(6) : 0;

	return p || !connecting ? p : base;
}

/* The last ones only to bind(): where they lead is a matter of routes. */
static const char *const v4_hosts[] = { "127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1", "0.0.0.0", "127.0.0.2",
					"127.255.255.255", "255.255.255.255", "224.0.0.1", "240.0.0.1" };
static const char *const v6_hosts[] = { "::1", "::1", "::1", "::1", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0",
					"::ffff:127.0.0.2", "::1", "::" };

static void show_name(const union name *n, socklen_t len)
{
	char text[INET6_ADDRSTRLEN] = "";
	unsigned p = 0;

	say(" [%u", len);
	if (len >= 16 && n->sa.sa_family == AF_INET) {
		inet_ntop(AF_INET, &n->v4.sin_addr, text, sizeof(text));
		p = ntohs(n->v4.sin_port);
	} else if (len >= 28 && n->sa.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &n->v6.sin6_addr, text, sizeof(text));
		p = ntohs(n->v6.sin6_port);
	} else if (len >= 2) {
		say(" %u]", n->sa.sa_family);
		return;
	}
	if (p >= base && p < base + 20)
		say(" %s +%u]", text, p - base);
	else
		say(" %s *]", text); /* chosen by the kernel, or given back */
}

/* An address for a socket of @family, mostly. */
static socklen_t any_name(union name *n, int family)
{
	const char *host;
	socklen_t len;

	memset(n, 0, sizeof(*n));
	if (!rnd(12))
		family = (int[]){ AF_INET, AF_INET6, AF_UNIX, AF_UNSPEC, 77 }[rnd(5)];
	n->sa.sa_family = (sa_family_t)family;
	switch (family) {
	case AF_INET6:
		host = v6_hosts[rnd(binding ? 10 : 10 - 3)];
		inet_pton(AF_INET6, host, &n->v6.sin6_addr);
		n->v6.sin6_port = htons((uint16_t)port());
		len = sizeof(n->v6);
		break;
	case AF_UNIX:
		host = "abstract";
		snprintf(n->un.sun_path + 1, 40, "sockets%u.%u", base, rnd(4));
		len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(n->un.sun_path + 1));
		if (!rnd(8))
			len = sizeof(sa_family_t);
		break;
	default:
		host = v4_hosts[rnd(binding ? 10 : 10 - 4)];
		inet_pton(AF_INET, host, &n->v4.sin_addr);
		n->v4.sin_port = htons((uint16_t)port());
		len = sizeof(n->v4);
	}
	if (!rnd(20))
		len = (socklen_t[]){ 0, 1, 2, 4, 8, 15, 16, 24, 28, 110, 128, 129, 0xffffffffu }[rnd(13)];
	show_name(n, len > sizeof(*n) ? 0 : len);
	if (len > sizeof(*n))
		say(" len %d", (int)len);
	return len;
}

static int family_of(int s)
{
	int v = AF_INET;
	socklen_t len = sizeof(v);

	return getsockopt(s, SOL_SOCKET, SO_DOMAIN, &v, &len) && errno == ENOTSOCK ? AF_UNSPEC : v;
}

struct opt {
	const char *name;
	int level, opt;
	int kind; /* 0: int; 1: only set; 2: only get; 3: linger; 4: TCP_INFO's state */
};

#define O(l, o, k) { #o, l, o, k }
static const struct opt opts[] = {
	O(SOL_SOCKET, SO_ERROR, 0), O(SOL_SOCKET, SO_TYPE, 0), O(SOL_SOCKET, SO_ACCEPTCONN, 0),
	O(SOL_SOCKET, SO_REUSEADDR, 0), O(SOL_SOCKET, SO_REUSEADDR, 1), O(SOL_SOCKET, SO_REUSEPORT, 0),
	O(SOL_SOCKET, SO_REUSEPORT, 1), O(SOL_SOCKET, SO_KEEPALIVE, 0), O(SOL_SOCKET, SO_BROADCAST, 0),
	O(SOL_SOCKET, SO_OOBINLINE, 0), O(SOL_SOCKET, SO_LINGER, 3), O(SOL_SOCKET, SO_RCVLOWAT, 0),
	O(SOL_SOCKET, SO_DOMAIN, 0), O(SOL_SOCKET, SO_PROTOCOL, 0), O(SOL_SOCKET, 999, 0),
	O(IPPROTO_TCP, TCP_NODELAY, 2), O(IPPROTO_TCP, TCP_CORK, 0), O(IPPROTO_TCP, TCP_KEEPIDLE, 0),
	O(IPPROTO_TCP, TCP_KEEPINTVL, 0), O(IPPROTO_TCP, TCP_KEEPCNT, 0), O(IPPROTO_TCP, TCP_SYNCNT, 1),
	O(IPPROTO_TCP, TCP_DEFER_ACCEPT, 1), O(IPPROTO_TCP, TCP_USER_TIMEOUT, 0), O(IPPROTO_TCP, TCP_QUICKACK, 1),
	O(IPPROTO_TCP, TCP_INFO, 4), O(IPPROTO_TCP, TCP_INFO, 4), O(IPPROTO_TCP, 999, 0),
	O(IPPROTO_IP, IP_TTL, 0), O(IPPROTO_IP, IP_TOS, 0), O(IPPROTO_IP, IP_MULTICAST_TTL, 1),
	O(IPPROTO_IP, IP_MULTICAST_LOOP, 0), O(IPPROTO_IP, IP_MTU_DISCOVER, 0), O(IPPROTO_IP, IP_MTU, 2),
	O(IPPROTO_IP, IP_RECVTTL, 0), O(IPPROTO_IP, IP_RECVTOS, 0), O(IPPROTO_IP, IP_PKTINFO, 0),
	O(IPPROTO_IP, IP_RECVERR, 0), O(IPPROTO_IP, IP_FREEBIND, 0),
	O(IPPROTO_IPV6, IPV6_V6ONLY, 0), O(IPPROTO_IPV6, IPV6_V6ONLY, 1), O(IPPROTO_IPV6, IPV6_UNICAST_HOPS, 0),
	O(IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 1), O(IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0),
	O(IPPROTO_IPV6, IPV6_TCLASS, 0), O(IPPROTO_IPV6, IPV6_RECVPKTINFO, 0), O(IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 0),
	O(IPPROTO_IPV6, IPV6_RECVERR, 0), O(IPPROTO_IPV6, IPV6_MTU, 2),
};

static const int values[] = { 1, 1, 1, 0, 0, -1, 2, 5, 127, 128, 255, 256, 32767, 65536, INT32_MAX, INT32_MIN };
static const socklen_t odd_lens[] = { 0, 1, 2, 3, 5, 8, 16, 100, 0xffffffffu };

static void do_setsockopt(int s)
{
	const struct opt *o = &PICK(opts);
	struct { int v, w, rest[30]; } val = { PICK(values), rnd(3), { 0 } };
	socklen_t len = o->kind == 3 ? 8 : 4;

	if (!rnd(8))
		len = PICK(odd_lens);
	if (o->kind == 2 || (o->opt == SO_REUSEPORT && o->level == SOL_SOCKET && family_of(s) == AF_UNIX))
		return;
	say("setsockopt %s %d/%d len %d", o->name, val.v, val.w, (int)len);
	result(setsockopt(s, o->level, o->opt, &val, len));
}

static void do_getsockopt(int s)
{
	const struct opt *o = &PICK(opts);
	unsigned char val[256];
	socklen_t len = o->kind == 3 ? 8 : o->kind == 4 ? 1 : 4;
	int n = 0;
	long ret;

	memset(val, 0xee, sizeof(val));
	if (!rnd(8))
		len = odd_lens[rnd(8)];
	if (o->kind == 1)
		return;
	say("getsockopt %s len %d", o->name, (int)len);
	ret = getsockopt(s, o->level, o->opt, val, &len);
	result(ret);
	if (ret)
		return;
	say(" len %d:", (int)len);
	for (n = 0; n < (int)len && n < (o->kind == 4 ? 1 : 8); n++)
		say(" %02x", val[n]);
}

static const int lens[] = { 0, 1, 1, 10, 10, 100, 1000, 3000 };
static const int send_flags[] = { 0, 0, 0, 0, MSG_OOB, MSG_EOR, MSG_DONTROUTE, MSG_CONFIRM, MSG_PEEK };
static const int recv_flags[] = { 0, 0, 0, MSG_PEEK, MSG_PEEK, MSG_TRUNC, MSG_TRUNC | MSG_PEEK, MSG_OOB, MSG_WAITALL,
				  MSG_ERRQUEUE, MSG_OOB | MSG_PEEK };

static char *fill(int n)
{
	for (int i = 0; i < n; i++)
		data[i] = (char)next_byte++;
	return data;
}

static void digest(const char *p, long n)
{
	unsigned sum = 0;

	for (long i = 0; i < n; i++)
		sum = sum * 31 + (unsigned char)p[i];
	if (n > 0)
		say(" #%x", sum);
}

/* Urgent data of AF_UNIX are newer than the Linux that Tally follows; UDP over IPv6 ignores the flag. */
static int plain(int s, int flags)
{
	int type = 0;
	socklen_t len = sizeof(type);

	getsockopt(s, SOL_SOCKET, SO_TYPE, &type, &len);
	return family_of(s) == AF_UNIX || type != SOCK_STREAM ? flags & ~MSG_OOB : flags;
}

static void do_send(int s)
{
	int n = PICK(lens), flags = plain(s, PICK(send_flags)), how = (int)rnd(6), family = family_of(s);
	union name to;
	socklen_t len = 0;

	if (family == AF_UNIX && !n) /* what an empty one left unread means changed between Linux 6.1 and 6.18 */
		n = 1;
	say("send %d flags %x how %d", n, flags, how);
	if (how == 0 || how == 1)
		len = any_name(&to, family);
	if (how == 0) {
		result(sendto(s, fill(n), (size_t)n, flags | MSG_DONTWAIT, &to.sa, len));
	} else if (how == 1 || how == 2) {
		struct iovec v[3] = { { fill(n), (size_t)n / 2 }, { NULL, 0 }, { data + n / 2, (size_t)(n - n / 2) } };
		struct msghdr m = { .msg_iov = v, .msg_iovlen = 3 };

		if (how == 1) {
			m.msg_name = &to;
			m.msg_namelen = len;
		}
		result(sendmsg(s, &m, flags | MSG_DONTWAIT));
	} else if (how == 3) {
		result(write(s, fill(n), (size_t)n));
	} else {
		result(send(s, fill(n), (size_t)n, flags | MSG_DONTWAIT));
	}
}

static void do_recv(int s)
{
	int n = rnd(3) ? 5000 : PICK(lens), flags = plain(s, PICK(recv_flags)), how = (int)rnd(4);
	union name from;
	socklen_t len = sizeof(from);
	long ret;

	say("recv %d flags %x how %d", n, flags, how);
	memset(&from, 0, sizeof(from));
	if (how == 0) {
		ret = recvfrom(s, data, (size_t)n, flags | MSG_DONTWAIT, &from.sa, &len);
		result(ret);
		if (ret >= 0)
			show_name(&from, len);
	} else if (how == 1) {
		char control[512];
		struct iovec v = { data, (size_t)n };
		struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
				    .msg_name = &from, .msg_namelen = sizeof(from) };

		ret = recvmsg(s, &m, flags | MSG_DONTWAIT);
		result(ret);
		if (ret >= 0) {
			say(" flags %x", m.msg_flags);
			show_name(&from, m.msg_namelen);
			for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
				say(" {%d %d %ld}", c->cmsg_level, c->cmsg_type, (long)c->cmsg_len);
		}
	} else if (how == 2) {
		ret = read(s, data, (size_t)n);
		result(ret);
	} else {
		ret = recv(s, data, (size_t)n, flags | MSG_DONTWAIT);
		result(ret);
	}
	digest(data, ret < n ? ret : n);
}

static void do_names(int s)
{
	union name n;
	socklen_t len = rnd(6) ? sizeof(n) : (socklen_t[]){ 0, 1, 4, 15, 0xffffffffu }[rnd(5)];
	int peer = (int)rnd(2);
	long ret;

	memset(&n, 0, sizeof(n));
	say(peer ? "getpeername %d" : "getsockname %d", (int)len);
	ret = peer ? getpeername(s, &n.sa, &len) : getsockname(s, &n.sa, &len);
	result(ret);
	if (!ret)
		show_name(&n, len);
}

static void do_socket(int slot)
{
	static const int families[] = { AF_INET, AF_INET, AF_INET, AF_INET6, AF_INET6, AF_UNIX };
	static const int types[] = { SOCK_STREAM, SOCK_STREAM, SOCK_STREAM, SOCK_DGRAM, SOCK_DGRAM, SOCK_SEQPACKET };
	int family = PICK(families), type = PICK(types), proto = rnd(10) ? 0 : (int[]){ 6, 17, 255, -1 }[rnd(4)];

	say("socket %d %d %d", family, type, proto);
	result_fd(slot, socket(family, type | SOCK_NONBLOCK, proto));
}

static void do_pair(int a, int b)
{
	int family = rnd(8) ? AF_UNIX : AF_INET, p[2];
	int type = (int[]){ SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW }[rnd(4)];
	long ret;

	say("socketpair %d %d -> %d", family, type, b);
	ret = socketpair(family, type | SOCK_NONBLOCK, 0, p);
	result(ret);
	if (ret)
		return;
	close(fd[a]);
	fd[a] = p[0];
	if (a != b) {
		close(fd[b]);
		fd[b] = p[1];
	} else {
		close(p[1]);
	}
}

static void do_poll(void)
{
	struct pollfd p[SLOTS];
	int n;

	for (int i = 0; i < SLOTS; i++)
		p[i] = (struct pollfd){ fd[i], POLLIN | POLLOUT | POLLPRI | POLLRDHUP, 0 };
	say("poll");
	n = poll(p, SLOTS, 0);
	result(n);
	for (int i = 0; i < SLOTS; i++)
		say(" %x", p[i].revents);
}

static void do_ioctl(int s)
{
	int what = rnd(2) ? FIONREAD : SIOCATMARK, v = -7, family = family_of(s);
	long ret;

	if (family == AF_UNSPEC)
		return;
	if (family == AF_UNIX)
		what = FIONREAD;
	say("ioctl %x", what);
	ret = ioctl(s, (unsigned)what, &v);
	result(ret);
	if (!ret)
		say(" %d", v);
}

/* A listener, a connection to it, and its accepted end; or two datagram sockets. */
static void do_connection(void)
{
	int family = rnd(3) ? AF_INET : AF_INET6, type = rnd(3) ? SOCK_STREAM : SOCK_DGRAM, one = 1;
	union name n;
	socklen_t len = family == AF_INET ? sizeof(n.v4) : sizeof(n.v6);

	memset(&n, 0, sizeof(n));
	n.sa.sa_family = (sa_family_t)family;
	n.v4.sin_port = htons((uint16_t)(base + 6 + rnd(4)));
	if (family == AF_INET)
		n.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		n.v6.sin6_addr = in6addr_loopback;
	say("connection %d %d:", family, type);
	result_fd(0, socket(family, type | SOCK_NONBLOCK, 0));
	result_fd(1, socket(family, type | SOCK_NONBLOCK, 0));
	if (type == SOCK_STREAM) { /* nothing waits for acknowledgements, whose time is not the programs' */
		setsockopt(fd[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		setsockopt(fd[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	}
	result(setsockopt(fd[0], SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	result(bind(fd[0], &n.sa, len));
	if (type == SOCK_STREAM)
		result(listen(fd[0], 3));
	result(connect(fd[1], &n.sa, len));
	if (type == SOCK_STREAM) {
		result_fd(2, accept4(fd[0], NULL, NULL, SOCK_NONBLOCK));
	} else {
		len = sizeof(n);
		getsockname(fd[1], &n.sa, &len);
		result(connect(fd[0], &n.sa, len));
	}
}

static void do_accept(int s, int slot)
{
	union name n;
	socklen_t len = sizeof(n);
	int with = (int)rnd(3), ret;

	memset(&n, 0, sizeof(n));
	say("accept -> %d", slot);
	ret = accept4(s, with ? &n.sa : NULL, with ? &len : NULL, SOCK_NONBLOCK);
	result_fd(slot, ret);
	if (ret >= 0 && with)
		show_name(&n, len);
}

static void do_connect(int s)
{
	union name n;
	socklen_t len;

	say("connect");
	if (!rnd(8) && family_of(s) != AF_UNIX) {
		memset(&n, 0, sizeof(n));
		len = sizeof(n.v4);
		say(" unspec");
	} else {
		connecting = 1;
		len = any_name(&n, family_of(s));
		connecting = 0;
	}
	result(connect(s, &n.sa, len));
}

static void do_bind(int s)
{
	union name n;
	socklen_t len;

	say("bind");
	binding = 1;
	len = any_name(&n, family_of(s));
	binding = 0;
	result(bind(s, &n.sa, len));
}

static void do_epoll(int a, int b)
{
	struct epoll_event e = { .events = rnd(2) ? EPOLLIN | EPOLLOUT | EPOLLRDHUP : EPOLLIN | EPOLLET, .data.u32 = (unsigned)b };
	struct epoll_event out[SLOTS + 1];
	int what = (int)rnd(6), n;

	if (what == 0) {
		say("epoll_create");
		result_fd(a, epoll_create1(0));
	} else if (what < 4) {
		say("epoll_ctl %d %d", what, b);
		result(epoll_ctl(fd[a], what, fd[b], &e));
	} else {
		unsigned seen = 0;

		say("epoll_wait");
		n = epoll_wait(fd[a], out, SLOTS + 1, 0);
		result(n);
		for (int i = 0; i < n; i++)
			seen += out[i].events * (out[i].data.u32 * 7 + 1); /* in any order */
		say(" %x", seen);
	}
}

static void do_other(int a, int b)
{
	struct stat st;
	int p[2];
	long ret;

	switch (rnd(8)) {
	case 0:
		say("fstat");
		ret = fstat(fd[a], &st);
		result(ret);
		if (!ret)
			say(" %o", st.st_mode & S_IFMT);
		break;
	case 1:
		say("lseek");
		if (family_of(fd[a]) == AF_UNSPEC)
			return;
		result(lseek(fd[a], 0, SEEK_CUR));
		break;
	case 2:
		say("pread");
		result(pread(fd[a], data, 10, 0));
		break;
	case 3:
		say("F_GETFL");
		result(fcntl(fd[a], F_GETFL));
		break;
	case 4:
		say("splice in");
		if (pipe2(p, O_NONBLOCK))
			return;
		result(splice(fd[a], NULL, p[1], NULL, 2000, SPLICE_F_NONBLOCK));
		close(p[0]);
		close(p[1]);
		break;
	case 5:
		say("splice out");
		if (pipe2(p, O_NONBLOCK))
			return;
		if (write(p[1], fill(500), 500) == 500)
			result(splice(p[0], NULL, fd[a], NULL, 500, SPLICE_F_NONBLOCK));
		close(p[0]);
		close(p[1]);
		break;
	case 6:
		say("sendfile %d", b);
		result(sendfile(fd[a], fd[b], NULL, 100));
		break;
	default:
		say("dup -> %d", b);
		result_fd(b, dup(fd[a]));
	}
}

static void one_call(void)
{
	int a = (int)rnd(SLOTS), b = (int)rnd(SLOTS), how;

	if (rnd(2))
		a %= 3;
	say("%2d %d ", step, a);
	switch (rnd(26)) {
	case 0: case 1: do_socket(a); break;
	case 2: say("close"); result(close(fd[a])); fd[a] = -1; break;
	case 3: case 4: do_bind(fd[a]); break;
	case 5: case 6: do_connect(fd[a]); break;
	case 7: how = (int)rnd(4) - 1; say("listen %d", how); result(listen(fd[a], how)); break;
	case 8: case 9: do_accept(fd[a], b); break;
	case 10: case 11: case 12: do_send(fd[a]); break;
	case 13: case 14: case 15: do_recv(fd[a]); break;
	case 16: how = (int)rnd(4); say("shutdown %d", how); result(shutdown(fd[a], how)); break;
	case 17: do_names(fd[a]); break;
	case 18: case 19: do_setsockopt(fd[a]); break;
	case 20: do_getsockopt(fd[a]); break;
	case 21: do_poll(); break;
	case 22: do_ioctl(fd[a]); break;
	case 23: do_pair(a, b); break;
	case 24: do_epoll(a, b); break;
	default: do_other(a, b);
	}
	say("\n");
}

static void sequence(unsigned n)
{
	state = n * 0x9e3779b97f4a7c15ull + 12345;
	hash = 0xcbf29ce484222325ull;
	if (!threads)
		base = 2000 + n % 1400 * 20;
	next_byte = 0;
	rnd(2);
	for (int i = 0; i < SLOTS && !threads; i++)
		fd[i] = -1;
	if (rnd(3)) {
		do_connection();
		say("\n");
	}
	for (step = 0; step < CALLS; step++)
		one_call();
	for (int i = 0; i < SLOTS && !threads; i++)
		close(fd[i]);
}

static unsigned first, count;

static void *thread(void *arg)
{
	for (unsigned i = 0; i < count; i++)
		sequence(first + (unsigned)(uintptr_t)arg * count + i);
	return NULL;
}

/* All at the same descriptors: what comes of it is nobody's, but the kernel must stand it. */
static int together(void)
{
	pthread_t t[6];

	base = 2000;
	for (int i = 0; i < SLOTS; i++)
		fd[i] = -1;
	for (uintptr_t i = 0; i < 6; i++)
		pthread_create(&t[i], NULL, thread, (void *)i);
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], NULL);
	puts("threads: done");
	return 0;
}

int main(int argc, char **argv)
{
	first = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	count = argc > 2 ? (unsigned)atoi(argv[2]) : 100;
	signal(SIGPIPE, on_pipe);
	threads = argc > 3 && !strcmp(argv[3], "threads");
	if (threads)
		return together();
	loud = argc > 3;
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	for (unsigned i = first; i < first + count; i++) {
		if (loud)
			printf("sequence %u\n", i);
		sequence(i);
		printf("%u %016llx\n", i, (unsigned long long)hash);
	}
	return 0;
}
