// SPDX-License-Identifier: MIT
/*
 * AF_UNIX names and cycles.  Prints what is wrong, then "unix: right" or "unix: wrong".
 * On Tally (argument "cycles") also counts the sockets that are left.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int failed;
#define CHECK(c) do { if (!(c)) { printf("unix.c:%d: %s (errno %d)\n", __LINE__, #c, errno); failed = 1; } } while (0)

static int count(void)
{
	FILE *f = fopen("/proc/net/unix", "r");
	char line[300];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n++;
	if (f)
		fclose(f);
	return n;
}

static int send_fd(int via, int fd)
{
	union { char b[CMSG_SPACE(sizeof(int))]; struct cmsghdr h; } c = { 0 };
	struct iovec v = { "x", 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = c.b, .msg_controllen = sizeof(c.b) };

	c.h = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&c.h), &fd, sizeof(fd));
	return (int)sendmsg(via, &m, 0);
}

static int recv_fd(int via)
{
	union { char b[CMSG_SPACE(sizeof(int))]; struct cmsghdr h; } c;
	char x;
	struct iovec v = { &x, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = c.b, .msg_controllen = sizeof(c.b) };
	int fd = -1;

	if (recvmsg(via, &m, MSG_DONTWAIT) == 1 && m.msg_controllen)
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static void names(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX }, b = a, got;
	socklen_t n = sizeof(got), len;
	struct stat st;
	int l, c, d;
	char x = 0;

	strcpy(a.sun_path, "/tmp/name");
	strcpy(b.sun_path, "/tmp/other");
	unlink(a.sun_path);
	unlink(b.sun_path);
	l = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(bind(l, (void *)&a, sizeof(a)) == 0 && listen(l, 4) == 0);
	CHECK(stat(a.sun_path, &st) == 0 && S_ISSOCK(st.st_mode));
	c = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(bind(c, (void *)&a, sizeof(a)) == -1 && errno == EADDRINUSE);
	CHECK(connect(c, (void *)&b, sizeof(b)) == -1 && errno == ENOENT);
	/* The node is the name, wherever it is. */
	CHECK(rename(a.sun_path, b.sun_path) == 0);
	CHECK(connect(c, (void *)&a, sizeof(a)) == -1 && errno == ENOENT);
	CHECK(connect(c, (void *)&b, sizeof(b)) == 0);
	d = accept(l, NULL, NULL);
	CHECK(d >= 0 && send(d, "y", 1, 0) == 1 && recv(c, &x, 1, 0) == 1 && x == 'y');
	CHECK(getsockname(l, (void *)&got, &n) == 0 && !strcmp(got.sun_path, "/tmp/name"));
	close(c);
	close(d);
	/* Unlinked, the name can be taken again; a node that nobody holds refuses. */
	CHECK(unlink(b.sun_path) == 0);
	d = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(bind(d, (void *)&b, sizeof(b)) == 0);
	close(d);
	c = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(connect(c, (void *)&b, sizeof(b)) == -1 && errno == ECONNREFUSED);
	CHECK(unlink(b.sun_path) == 0);
	close(c);
	close(l);
	/* Abstract names. */
	memset(&a, 0, sizeof(a));
	a.sun_family = AF_UNIX;
	memcpy(a.sun_path + 1, "there", 5);
	len = offsetof(struct sockaddr_un, sun_path) + 6;
	l = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK(bind(l, (void *)&a, len) == 0);
	c = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK(bind(c, (void *)&a, len) == -1 && errno == EADDRINUSE);
	CHECK(bind(c, (void *)&a, sizeof(sa_family_t)) == 0); /* a name of the system's choice */
	n = sizeof(got);
	CHECK(getsockname(c, (void *)&got, &n) == 0 && n == offsetof(struct sockaddr_un, sun_path) + 6);
	CHECK(sendto(c, "z", 1, 0, (void *)&a, len) == 1 && recv(l, &x, 1, 0) == 1 && x == 'z');
	close(l);
	CHECK(sendto(c, "z", 1, 0, (void *)&a, len) == -1 && errno == ECONNREFUSED);
	close(c);
}

/* Sockets that only each other hold go; one that a live queue holds stays. */
static void cycles(void)
{
	int before = count(), s[2], t[2], keep[2], fd;
	char x;

	for (int i = 0; i < 200; i++) {
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, t) == 0);
		CHECK(send_fd(s[0], s[1]) == 1); /* into its own queue */
		CHECK(send_fd(s[0], t[1]) == 1 && send_fd(t[0], s[1]) == 1 && send_fd(t[0], t[1]) == 1);
		close(s[0]);
		close(s[1]);
		close(t[0]);
		close(t[1]);
	}
	/* On its way, twice over, and alive: what it had received is still there. */
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, keep) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0 &&
	      socketpair(AF_UNIX, SOCK_STREAM, 0, t) == 0);
	CHECK(send(t[0], "alive", 1, 0) == 1);
	CHECK(send_fd(s[0], t[1]) == 1 && send_fd(keep[0], s[1]) == 1);
	close(t[1]);
	close(s[1]);
	for (int i = 0; i < 20; i++) { /* each close looks for garbage */
		close(socket(AF_UNIX, SOCK_DGRAM, 0));
		usleep(10000);
	}
	fd = recv_fd(keep[1]);
	CHECK(fd >= 0);
	t[1] = recv_fd(fd);
	CHECK(t[1] >= 0 && recv(t[1], &x, 1, MSG_DONTWAIT) == 1 && x == 'a');
	close(fd);
	close(s[0]);
	close(t[0]);
	close(t[1]);
	close(keep[0]);
	close(keep[1]);
	for (int i = 0; i < 300 && count() > before; i++) {
		close(socket(AF_UNIX, SOCK_DGRAM, 0));
		usleep(10000);
	}
	CHECK(count() == before);
}

int main(int argc, char **argv)
{
	names();
	if (argc > 1 && !strcmp(argv[1], "cycles"))
		cycles();
	puts(failed ? "unix: wrong" : "unix: right");
	return failed;
}
