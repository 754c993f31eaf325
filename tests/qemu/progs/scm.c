/* SPDX-License-Identifier: MIT */
/*
 * Descriptors sent along with messages (SCM_RIGHTS) and not taken: read() instead of
 * recvmsg(), a bad buffer, no room for control data, sockets within sockets' queues.
 * Prints "scm ok"; what leaked shows in /proc/slabinfo.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int send_fd(int s, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr h;
	} c;
	struct iovec v = { "x", 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c,
			    .msg_controllen = sizeof(c.buf) };

	memset(&c, 0, sizeof(c));
	c.h.cmsg_level = SOL_SOCKET;
	c.h.cmsg_type = SCM_RIGHTS;
	c.h.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&c.h), &fd, sizeof(int));
	return (int)sendmsg(s, &m, 0);
}

static int fail(const char *what)
{
	printf("scm: %s: %s\n", what, strerror(errno));
	return 1;
}

int main(void)
{
	static char page[8192] __attribute__((aligned(4096)));
	int p[2], fd, held = -1;
	char c;

	for (int i = 0; i < 100; i++) {
		struct iovec bad = { (void *)8, 1 }, one = { &c, 1 };
		struct msghdr m = { .msg_iov = &bad, .msg_iovlen = 1 };

		fd = open("/tmp", O_RDWR | O_TMPFILE, 0600);
		if (fd < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, p))
			return fail("socketpair");
		if (send_fd(p[0], fd) != 1 || read(p[1], &c, 1) != 1)
			return fail("read");
		if (send_fd(p[0], fd) != 1 || recv(p[1], &c, 1, 0) != 1)
			return fail("recv");
		if (send_fd(p[0], fd) != 1 || recvmsg(p[1], &m, 0) != -1 || errno != EFAULT)
			return fail("recvmsg into nothing");
		m.msg_iov = &one;
		if (send_fd(p[0], fd) != 1 || recvmsg(p[1], &m, 0) != 1)
			return fail("recvmsg without room");
		if (send_fd(p[0], fd) != 1) /* stays in the queue */
			return fail("sendmsg");
		close(p[0]);
		close(p[1]);
		close(fd);
	}
	/* Each queue holds the socket with the queue before it. */
	for (int i = 0; i < 3000; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, p))
			return fail("socketpair");
		if (held >= 0) {
			if (send_fd(p[0], held) != 1)
				return fail("nested sendmsg");
			close(held);
		}
		close(p[0]);
		held = p[1];
	}
	close(held);
	/* Messages at odd addresses. */
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, p))
		return fail("socketpair");
	if (syscall(SYS_sendmmsg, p[0], page + 4096 - 61, 1, 0) != 1 ||
	    syscall(SYS_recvmmsg, p[1], page + 4096 - 61, 1, MSG_DONTWAIT, 0) != 1)
		return fail("mmsg at an odd address");
	puts("scm ok");
	return 0;
}
