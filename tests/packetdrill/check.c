/* SPDX-License-Identifier: MIT */
/*
 * Loads the shared object as packetdrill does and plays small scripts against it:
 * handshakes, data, each call, blocking calls in a second thread, time, errors, several
 * scripts in one process, bad flags.
 *
 * Usage: packetdrill_check LIBRARY.  Closing line: N passed, N failed.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/packetdrill/interface.h"

#define LOCAL  "192.168.0.1"
#define REMOTE "192.0.2.1"
#define RPORT  40000
#define LPORT  8080

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };

static void (*init)(const char *, struct packetdrill_interface *);
static struct packetdrill_interface pd;
static uint32_t his, ours; /* next sequence numbers */

#define CHECK(c)                                                                                   \
	do {                                                                                       \
		if (!(c)) {                                                                        \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c);                    \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static long long now_us(void)
{
	struct pd_timeval tv;

	CHECK(pd.gettimeofday(pd.userdata, &tv, NULL) == 0);
	return tv.sec * 1000000ll + tv.usec;
}

static void put32(uint8_t *p, uint32_t v)
{
	v = htonl(v);
	memcpy(p, &v, 4);
}
static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return ntohl(v);
}
static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}
static uint32_t sum(uint32_t s, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s += i % 2 ? p[i] : p[i] << 8;
	return s;
}
static unsigned fold(uint32_t s)
{
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return ~s & 0xffff;
}

/* A segment without options arrives, except that a SYN offers an MSS of 1000. */
static void arrive(unsigned flags, uint32_t seq, uint32_t ack, const char *data, unsigned n)
{
	uint8_t b[2048] = { 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, IPPROTO_TCP }, pseudo[12] = { 0 }, *t = b + 20;
	unsigned head = flags & SYN ? 24 : 20, len = 20 + head + n;

	put16(b + 2, len);
	inet_pton(AF_INET, REMOTE, b + 12);
	inet_pton(AF_INET, LOCAL, b + 16);
	put16(b + 10, fold(sum(0, b, 20)));
	put16(t, RPORT);
	put16(t + 2, LPORT);
	put32(t + 4, seq);
	put32(t + 8, ack);
	t[12] = (uint8_t)(head / 4 << 4);
	t[13] = (uint8_t)flags;
	put16(t + 14, 30000);
	if (flags & SYN)
		put32(t + 20, 0x020403e8);
	if (n)
		memcpy(t + head, data, n);
	memcpy(pseudo, b + 12, 8);
	pseudo[9] = IPPROTO_TCP;
	put16(pseudo + 10, head + n);
	put16(t + 16, fold(sum(sum(0, pseudo, 12), t, head + n)));
	CHECK(pd.netdev_send(pd.userdata, b, len) == 0);
}

/* The next segment that leaves must carry @flags (PSH aside) and @n bytes. Return: its time. */
static long long leaves(unsigned flags, unsigned n)
{
	static uint8_t b[65536];
	size_t len = sizeof(b);
	long long us;
	const uint8_t *t = b + 20;
	unsigned head;

	CHECK(pd.netdev_receive(pd.userdata, b, &len, &us) == 0);
	CHECK(len >= 40 && b[0] == 0x45 && fold(sum(0, b, 20)) == 0);
	head = t[12] >> 4 << 2;
	CHECK((t[13] & ~PSH) == (int)flags);
	CHECK(len == 20 + head + n);
	if (flags & SYN)
		ours = get32(t + 4);
	CHECK(flags & RST || get32(t + 4) == ours);
	ours += n + (flags & SYN ? 1 : 0) + (flags & FIN ? 1 : 0);
	return us;
}

static int listener(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(LPORT) };
	int one = 1, fd = pd.socket(pd.userdata, AF_INET, SOCK_STREAM, IPPROTO_TCP);

	CHECK(fd >= 0);
	CHECK(pd.setsockopt(pd.userdata, fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0);
	CHECK(pd.bind(pd.userdata, fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	CHECK(pd.listen(pd.userdata, fd, 5) == 0);
	return fd;
}

static int established(int l)
{
	struct sockaddr_in a;
	socklen_t n = sizeof(a);
	int fd;

	his = 1000;
	arrive(SYN, his++, 0, NULL, 0);
	leaves(SYN | ACK, 0);
	arrive(ACK, his, ours, NULL, 0);
	fd = pd.accept(pd.userdata, l, (struct sockaddr *)&a, &n);
	CHECK(fd >= 0);
	CHECK(n == sizeof(a) && a.sin_addr.s_addr == inet_addr(REMOTE) && ntohs(a.sin_port) == RPORT);
	return fd;
}

static void begin(void)
{
	init("local_ip=" LOCAL " mtu=1500", &pd);
	CHECK(pd.socket && pd.splice);
}

static void data_both_ways(void)
{
	char buf[100];
	int l, fd;

	begin();
	l = listener();
	fd = established(l);
	CHECK(pd.write(pd.userdata, fd, "hello", 5) == 5);
	leaves(ACK, 5);
	arrive(ACK | PSH, his, ours, "0123456789", 10);
	his += 10;
	CHECK(pd.read(pd.userdata, fd, buf, sizeof(buf)) == 10 && !memcmp(buf, "0123456789", 10));
	leaves(ACK, 0); /* at once or after the delay */
	CHECK(pd.close(pd.userdata, fd) == 0);
	leaves(FIN | ACK, 0);
	arrive(FIN | ACK, his++, ours, NULL, 0);
	leaves(ACK, 0);
	CHECK(pd.close(pd.userdata, fd) == -1 && errno == EBADF);
	CHECK(pd.close(pd.userdata, l) == 0);
}

/* The calls that the other tests have no need of: 100 bytes come, in each way in which they can be taken. */
static void every_reader(void)
{
	char buf[100], data[100];
	struct iovec v[2] = { { buf, 10 }, { buf + 10, 10 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	struct pd_pollfd p = { .events = POLLIN };
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 7 };
	struct sockaddr_in a;
	socklen_t n = sizeof(a);
	int l, fd, ep, left, pipe[2];

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (char)i;
	begin();
	l = listener();
	fd = established(l);
	ep = pd.epoll_create(pd.userdata, 1);
	CHECK(ep >= 0);
	CHECK(pd.epoll_ctl(pd.userdata, ep, EPOLL_CTL_ADD, fd, &ev) == 0);
	p.fd = fd;
	CHECK(pd.poll(pd.userdata, &p, 1, 0) == 0);
	CHECK(pd.epoll_wait(pd.userdata, ep, &ev, 1, 0) == 0);
	arrive(ACK | PSH, his, ours, data, sizeof(data));
	his += sizeof(data);
	CHECK(pd.poll(pd.userdata, &p, 1, 0) == 1 && p.revents == POLLIN);
	CHECK(pd.epoll_wait(pd.userdata, ep, &ev, 1, 0) == 1 && ev.events == EPOLLIN && ev.data.u64 == 7);
	CHECK(pd.ioctl(pd.userdata, fd, FIONREAD, &left) == 0 && left == 100);
	CHECK(pd.recv(pd.userdata, fd, buf, 10, MSG_PEEK) == 10 && !memcmp(buf, data, 10));
	CHECK(pd.recvfrom(pd.userdata, fd, buf, 20, 0, (struct sockaddr *)&a, &n) == 20 && !memcmp(buf, data, 20));
	CHECK(pd.readv(pd.userdata, fd, v, 2) == 20 && !memcmp(buf, data + 20, 20));
	CHECK(pd.recvmsg(pd.userdata, fd, &m, 0) == 20 && !memcmp(buf, data + 40, 20));
	CHECK(pd.pipe(pd.userdata, pipe) == 0);
	CHECK(pd.splice(pd.userdata, fd, NULL, pipe[1], NULL, 40, 0) == 40);
	CHECK(pd.read(pd.userdata, pipe[0], buf, sizeof(buf)) == 40 && !memcmp(buf, data + 60, 40));
	CHECK(pd.ioctl(pd.userdata, fd, FIONREAD, &left) == 0 && left == 0);
}

static void every_writer(void)
{
	char data[10] = "012345678";
	struct iovec v[2] = { { data, 5 }, { data + 5, 5 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	int l, fd, on = 1, got = 0;
	socklen_t n = sizeof(got);

	begin();
	l = listener();
	fd = established(l);
	CHECK(pd.setsockopt(pd.userdata, fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0);
	CHECK(pd.getsockopt(pd.userdata, fd, IPPROTO_TCP, TCP_NODELAY, &got, &n) == 0 && got == 1 && n == 4);
	CHECK(pd.writev(pd.userdata, fd, v, 2) == 10);
	leaves(ACK, 10);
	CHECK(pd.send(pd.userdata, fd, data, 9, 0) == 9);
	leaves(ACK, 9);
	CHECK(pd.sendto(pd.userdata, fd, data, 8, 0, NULL, 0) == 8);
	leaves(ACK, 8);
	CHECK(pd.sendmsg(pd.userdata, fd, &m, 0) == 10);
	leaves(ACK, 10);
	CHECK(pd.shutdown(pd.userdata, fd, SHUT_WR) == 0);
	leaves(FIN | ACK, 0);
	CHECK(pd.send(pd.userdata, fd, data, 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
}

static void errors(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(LPORT) };
	int fd;
	char c;

	begin();
	CHECK(pd.socket(pd.userdata, AF_INET, 77, 0) == -1 && errno == EINVAL);
	CHECK(pd.read(pd.userdata, 3000, &c, 1) == -1 && errno == EBADF);
	fd = pd.socket(pd.userdata, AF_INET, SOCK_STREAM, 0);
	CHECK(pd.read(pd.userdata, fd, &c, 1) == -1 && errno == ENOTCONN);
	CHECK(pd.bind(pd.userdata, fd, (struct sockaddr *)8, sizeof(a)) == -1 && errno == EFAULT);
	CHECK(pd.bind(pd.userdata, fd, (struct sockaddr *)&a, 3) == -1 && errno == EINVAL);
	CHECK(pd.fcntl(pd.userdata, fd, F_GETFL) == O_RDWR);
	CHECK(pd.fcntl(pd.userdata, fd, F_SETFL, O_RDWR | O_NONBLOCK) == 0);
	CHECK(pd.fcntl(pd.userdata, fd, F_GETFL) == (O_RDWR | O_NONBLOCK));
}

/* A lost SYN-ACK comes again when its timer fires, without waiting for it. */
static void time_flies(void)
{
	long long t0, t1;
	int l;

	begin();
	l = listener();
	his = 1;
	arrive(SYN, his++, 0, NULL, 0);
	t0 = leaves(SYN | ACK, 0);
	t1 = leaves(SYN | ACK, 0);
	CHECK(t1 - t0 >= 900000 && t1 - t0 < 1300000);
	CHECK(now_us() >= t1);
	t0 = now_us();
	CHECK(pd.usleep(pd.userdata, 10000000) == 0);
	t1 = now_us();
	CHECK(t1 - t0 >= 10000000 && t1 - t0 < 10001000);
	(void)l;
}

/* Nothing more will ever leave: receive must say so instead of hanging. */
static void silence(void)
{
	uint8_t b[65536];
	size_t n = sizeof(b);
	long long us;

	begin();
	listener();
	CHECK(pd.netdev_receive(pd.userdata, b, &n, &us) == 0 && n == 0);
}

static int blocked_fd;
static ssize_t blocked_ret;
static long long blocked_end;
static void *block_in_read(void *arg)
{
	char buf[10];

	blocked_ret = pd.read(pd.userdata, blocked_fd, buf, sizeof(buf));
	blocked_end = now_us();
	return NULL;
}

/* A reader in another thread is woken by a packet, and by its time-out while time passes. */
static void blocking(void)
{
	struct pd_timeval two = { 2, 0 };
	pthread_t t;
	long long start;

	begin();
	blocked_fd = established(listener());
	start = now_us();
	CHECK(pthread_create(&t, NULL, block_in_read, NULL) == 0);
	pd.usleep(pd.userdata, 100000);
	arrive(ACK | PSH, his, ours, "abc", 3);
	his += 3;
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(blocked_ret == 3);
	CHECK(blocked_end - start >= 100000 && blocked_end - start < 105000);

	CHECK(pd.setsockopt(pd.userdata, blocked_fd, SOL_SOCKET, SO_RCVTIMEO, &two, sizeof(two)) == 0);
	start = now_us();
	CHECK(pthread_create(&t, NULL, block_in_read, NULL) == 0);
	usleep(100000); /* real time: the call is in */
	pd.usleep(pd.userdata, 5000000);
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(blocked_ret == -1);
	CHECK(blocked_end - start >= 2000000 && blocked_end - start < 2010000);
}

/* The script's own thread blocks: its time-out ends the call, and time has passed. */
static void blocks_itself(void)
{
	struct pd_timeval three = { 3, 0 };
	long long start;
	char c;
	int fd;

	begin();
	fd = established(listener());
	CHECK(pd.setsockopt(pd.userdata, fd, SOL_SOCKET, SO_RCVTIMEO, &three, sizeof(three)) == 0);
	start = now_us();
	CHECK(pd.read(pd.userdata, fd, &c, 1) == -1 && errno == EAGAIN);
	CHECK(now_us() - start >= 3000000 && now_us() - start < 3010000);
}

/* What one script leaves open does not disturb the next. */
static void again(void)
{
	for (int i = 0; i < 3; i++) {
		begin();
		established(listener());
	}
}

static void bad_flags(void)
{
	static const char *const bad[] = { NULL, "mtu=1500", "local_ip=" LOCAL " colour=red", "local_ip=here",
					   "local_ip=" LOCAL " mtu=12", "local_ip=" LOCAL " mtu",
					   "local_ip=" LOCAL " net.no.such=1" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int status;
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			if (!freopen("/dev/null", "w", stderr))
				_exit(2);
			init(bad[i], &pd);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	}
}

static const struct {
	const char *name;
	void (*fn)(void);
} tests[] = {
	{ "data both ways", data_both_ways }, { "errors", errors },	{ "time flies", time_flies },
	{ "silence", silence },		      { "blocking", blocking }, { "again", again },
	{ "blocks itself", blocks_itself },
	{ "every reader", every_reader },     { "every writer", every_writer },
	{ "bad flags", bad_flags },
};

int main(int argc, char **argv)
{
	int passed = 0, failed = 0;
	void *so;

	if (argc != 2) {
		fprintf(stderr, "usage: packetdrill_check LIBRARY\n");
		return 2;
	}
	so = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | RTLD_DEEPBIND);
	if (!so) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&init = dlsym(so, "packetdrill_interface_init");
	if (!init) {
		fprintf(stderr, "%s: no packetdrill_interface_init\n", argv[1]);
		return 1;
	}
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			alarm(60); /* real time; the tests take a second at most */
			tests[i].fn();
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
			printf("packetdrill: %s: failed\n", tests[i].name);
			failed++;
		} else {
			passed++;
		}
	}
	printf("packetdrill: %d passed, %d failed\n", passed, failed);
	return failed != 0;
}
