/* SPDX-License-Identifier: MIT */
/*
 * splice, tee, vmsplice between pipes, files and sockets; signalfd.  Prints each
 * call with its result; see files.c.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define R(x) out(#x, (long)(x))

static int file, file2, p[2], q[2], s[2];
static char b[100000], big[70000];
static loff_t off;

static void out(const char *what, long r)
{
	if (r < 0)
		printf("%s = %ld %s\n", what, r, strerrorname_np(errno));
	else
		printf("%s = %ld\n", what, r);
	fflush(stdout);
	errno = 0;
}

/* A checksum that depends on the order. */
static long sum(const char *d, long n)
{
	long v = n;

	for (long i = 0; i < n; i++)
		v = (v * 31 + (unsigned char)d[i]) & 0xffffff;
	return v;
}

static void errors(void)
{
	R(splice(file, NULL, file2, NULL, 10, 0));
	R(splice(p[1], NULL, file, NULL, 10, 0));
	R(splice(p[0], &off, file, NULL, 10, 0));
	R(splice(file, NULL, p[1], NULL, 10, 0x100));
	R(splice(99, NULL, p[1], NULL, 10, 0));
	R(splice(file, NULL, p[1], NULL, 0, 0));
	R(splice(p[0], NULL, p[1], NULL, 10, 0));
	R(splice(p[0], NULL, file2, NULL, 10, SPLICE_F_NONBLOCK));
	R(tee(p[0], file, 10, 0));
	R(tee(file, p[1], 10, 0));
	R(tee(p[0], q[1], 10, SPLICE_F_NONBLOCK));
}

static void files(void)
{
	R(write(file, big, sizeof(big)));
	off = 5000;
	R(splice(file, &off, p[1], NULL, 10000, 0));
	R(off);
	R(read(p[0], b, sizeof(b)));
	R(memcmp(b, big + 5000, 10000));
	off = 69990;
	R(splice(file, &off, p[1], NULL, 100, 0));
	R(splice(file, &off, p[1], NULL, 100, 0));
	R(write(p[1], "abc", 3));
	R(splice(p[0], NULL, file2, NULL, 12, 0));
	R(lseek(file2, 0, SEEK_CUR));
	R(read(p[0], b, 10));
	R(pread(file2, b, 100, 0));
	R(sum(b, 12));
	off = 0;
	R(splice(file, &off, p[1], NULL, 200000, SPLICE_F_NONBLOCK) > 30000);
	R(splice(file, &off, p[1], NULL, 1, SPLICE_F_NONBLOCK));
	off = 100;
	for (long n; (n = splice(p[0], NULL, file2, &off, 100000, SPLICE_F_NONBLOCK)) > 0;)
		;
	R(off > 30000);
	R(pread(file2, b, 30000, 100));
	R(memcmp(b, big, 30000));
	/* What lies in the pipe is not changed by what is written to the file later on page ends. */
	R(write(p[1], "x", 1));
	R(tee(p[0], q[1], 100, 0));
	R(write(q[1], "y", 1));
	R(read(q[0], b, 10));
	R(b[1]);
	R(read(p[0], b, 10));
}

static void pipes(void)
{
	R(write(p[1], big, 9000));
	R(tee(p[0], q[1], 5000, 0));
	R(read(q[0], b, sizeof(b)));
	R(memcmp(b, big, 5000));
	R(splice(p[0], NULL, q[1], NULL, 4500, 0));
	R(splice(p[0], NULL, q[1], NULL, 100000, 0));
	R(read(q[0], b, sizeof(b)));
	R(memcmp(b, big, 9000));
	struct iovec v[2] = { { big, 10 }, { big + 100, 20 } };
	R(vmsplice(p[1], v, 2, 0));
	R(vmsplice(file, v, 2, 0));
	R(read(p[0], b, sizeof(b)));
	R(memcmp(b + 10, big + 100, 20));
	pid_t child = fork();
	if (child == 0) {
		usleep(50000);
		write(p[1], "late", 4);
		_exit(0);
	}
	R(splice(p[0], NULL, q[1], NULL, 100, 0));
	R(read(q[0], b, 100));
	waitpid(child, NULL, 0);
}

static void sockets(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);
	long done = 0;

	bind(l, (struct sockaddr *)&a, sizeof(a));
	listen(l, 1);
	getsockname(l, (struct sockaddr *)&a, &len);
	s[0] = socket(AF_INET, SOCK_STREAM, 0);
	R(connect(s[0], (struct sockaddr *)&a, sizeof(a)));
	s[1] = accept(l, NULL, NULL);
	off = 0;
	for (long n; done < (long)sizeof(big); done += n) { /* file, pipe, socket */
		n = splice(file, &off, p[1], NULL, 30000, 0);
		if (n <= 0 || splice(p[0], NULL, s[0], NULL, (size_t)n, SPLICE_F_MORE) != n)
			break;
	}
	R(done);
	for (done = 0; done < (long)sizeof(big);) { /* socket, pipe, memory */
		long n = splice(s[1], NULL, p[1], NULL, 20000, SPLICE_F_NONBLOCK);

		if (n <= 0 || read(p[0], b + done, (size_t)n) != n)
			break;
		done += n;
	}
	R(done);
	R(memcmp(b, big, sizeof(big)));
	fcntl(s[1], F_SETFL, O_NONBLOCK);
	R(splice(s[1], NULL, p[1], NULL, 100, 0));
	shutdown(s[0], SHUT_WR);
	poll(&(struct pollfd){ .fd = s[1], .events = POLLIN }, 1, 5000);
	R(splice(s[1], NULL, p[1], NULL, 100, 0));
}

static void signals(void)
{
	struct signalfd_siginfo i[4];
	struct epoll_event e;
	sigset_t set;
	pid_t child;
	int fd, ep = epoll_create1(0);

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGRTMIN);
	R(sigprocmask(SIG_BLOCK, &set, NULL));
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	R(fd >= 0);
	R(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = EPOLLIN }));
	R(read(fd, i, sizeof(i)));
	R(read(fd, i, 10));
	R(epoll_wait(ep, &e, 1, 0));
	R(kill(getpid(), SIGUSR1));
	R(sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = 77 }));
	R(epoll_wait(ep, &e, 1, 1000));
	R(read(fd, i, sizeof(i)));
	R(i[0].ssi_signo);
	R(i[0].ssi_pid == (unsigned)getpid());
	R(i[1].ssi_signo == (unsigned)SIGRTMIN);
	R(i[1].ssi_int);
	child = fork();
	if (child == 0)
		_exit(3);
	R(epoll_wait(ep, &e, 1, 5000));
	R(read(fd, i, sizeof(i)));
	R(i[0].ssi_signo);
	R(i[0].ssi_status);
	R(i[0].ssi_pid == (unsigned)child);
	waitpid(child, NULL, 0);
	sigdelset(&set, SIGUSR1);
	R(signalfd(fd, &set, 0) == fd);
	R(kill(getpid(), SIGUSR1));
	R(epoll_wait(ep, &e, 1, 0));
	R(signalfd(file, &set, 0));
	close(fd);
}

int main(void)
{
	for (unsigned i = 0; i < sizeof(big); i++)
		big[i] = (char)(i * 7 + i / 251);
	signal(SIGPIPE, SIG_IGN);
	file = open("f", O_RDWR | O_CREAT | O_TRUNC, 0600);
	file2 = open("g", O_RDWR | O_CREAT | O_TRUNC, 0600);
	pipe(p);
	pipe(q);
	errors();
	files();
	pipes();
	sockets();
	signals();
	close(q[0]);
	R(tee(p[0], q[1], 10, SPLICE_F_NONBLOCK));
	R(splice(file, &off, q[1], NULL, 10, 0));
	return 0;
}
