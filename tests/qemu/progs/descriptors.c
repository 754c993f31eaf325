/* SPDX-License-Identifier: MIT */
/*
 * Calls on descriptors: copies, locks, pipes, poll, select, epoll, sendfile,
 * mappings, devices.  Prints each with its result; see files.c.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define R(x) out(#x, (long)(x))
#define BAD  ((void *)bad) /* nothing is mapped there */

static char *volatile bad = (char *)1;
static char b[256];
static struct stat st;
static int fd, fd2, p[2], q[2];

static void out(const char *what, long r)
{
	if (r < 0)
		printf("%s = %ld %s\n", what, r, strerrorname_np(errno));
	else
		printf("%s = %ld\n", what, r);
	fflush(stdout); /* children print, too */
	errno = 0;
}

static char big[5000];
static struct pollfd pf[4];
static fd_set rs, ws;
static struct timeval tv;

static void on_alarm(int sig)
{
	(void)sig;
}

static void duplicates(void)
{
	R(dup(fd));
	R(dup2(fd, 20));
	R(dup2(fd, fd));
	R(dup2(99, 20));
	R(dup2(fd, -1));
	R(dup2(fd, 1 << 24));
	R(dup3(fd, fd, 0));
	R(dup3(fd, 21, O_CLOEXEC));
	R(fcntl(21, F_GETFD));
	R(fcntl(20, F_GETFD));
	R(fcntl(20, F_SETFD, 1));
	R(fcntl(20, F_GETFD));
	R(fcntl(fd, F_DUPFD, 30));
	R(fcntl(fd, F_DUPFD_CLOEXEC, 30));
	R(fcntl(31, F_GETFD));
	R(fcntl(fd, F_DUPFD, -1));
	R(fcntl(fd, 9999));
	R(fcntl(99, F_GETFD));
	R(close_range(20, 40, 0));
	R(fcntl(30, F_GETFD));
	R(close_range(5, 4, 0));
	R(dup3(fd, 22, 7));
}

static void locks(void)
{
	R(flock(fd, LOCK_EX));
	R(fd2 = open("f", O_RDWR));
	R(flock(fd2, LOCK_EX | LOCK_NB));
	R(flock(fd2, LOCK_SH | LOCK_NB));
	R(flock(fd, LOCK_SH));
	R(flock(fd2, LOCK_SH | LOCK_NB));
	R(flock(fd, LOCK_UN));
	R(flock(fd2, 99));
	close(fd2);
	{
		struct flock l = {
			.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 20};
		R(fcntl(fd, F_SETLK, &l));
		if (!fork()) {
			struct flock m = {.l_type = F_WRLCK, .l_start = 0, .l_len = 5};
			fd2 = open("f", O_RDWR);
			R(fcntl(fd2, F_SETLK, &m));
			m.l_start = 15;
			R(fcntl(fd2, F_SETLK, &m));
			R(fcntl(fd2, F_GETLK, &m));
			R(m.l_type);
			R(m.l_start);
			R(m.l_len);
			R(m.l_pid == getppid());
			m.l_type = F_RDLCK;
			m.l_start = 25;
			m.l_len = 0;
			R(fcntl(fd2, F_SETLK, &m));
			m.l_start = 30;
			R(fcntl(fd2, F_SETLK, &m));
			_exit(0);
		}
		wait(NULL);
		l.l_type = F_UNLCK;
		l.l_start = 15;
		l.l_len = 5;
		R(fcntl(fd, F_SETLK, &l));
		if (!fork()) {
			struct flock m = {.l_type = F_WRLCK, .l_start = 15, .l_len = 5};
			fd2 = open("f", O_RDWR);
			R(fcntl(fd2, F_SETLK, &m));
			m.l_start = 20;
			m.l_len = 1;
			R(fcntl(fd2, F_SETLK, &m));
			m.l_start = 14;
			R(fcntl(fd2, F_SETLK, &m));
			_exit(0);
		}
		wait(NULL);
		l.l_type = 9;
		R(fcntl(fd, F_SETLK, &l));
		R(fcntl(fd, F_SETLK, BAD));
	}
}

static void pipe_ends(void)
{
	R(pipe(p));
	R(pipe(BAD));
	R(pipe2(q, O_NONBLOCK | O_CLOEXEC));
	R(pipe2(q, 1));
	R(fcntl(p[0], F_GETFL));
	R(fcntl(p[1], F_GETFL));
	R(lseek(p[0], 0, SEEK_CUR));
	R(pread(p[0], b, 1, 0));
	R(write(p[0], b, 1));
	R(read(p[1], b, 1));
	R(fstat(p[0], &st));
	R(st.st_mode);
	R(fcntl(p[0], F_GETPIPE_SZ));
}

static void polling(void)
{
	pf[0].fd = p[0];
	pf[0].events = POLLIN;
	pf[1].fd = p[1];
	pf[1].events = POLLOUT | POLLIN;
	pf[2].fd = -1;
	pf[2].events = POLLIN;
	pf[3].fd = 77;
	pf[3].events = POLLIN;
	R(poll(pf, 4, 0));
	R(pf[0].revents);
	R(pf[1].revents);
	R(pf[2].revents);
	R(pf[3].revents);
	R(write(p[1], "xyz", 3));
	R(poll(pf, 1, -1));
	R(pf[0].revents);
	{
		int n = 0;
		R(ioctl(p[0], FIONREAD, &n));
		R(n);
	}
	R(read(p[0], b, 2));
	R(read(p[0], b, 2));
	R(poll(pf, 1, 20));
	R(poll(pf, 0, 5));
	R(poll(BAD, 1, 5));
	R(poll(NULL, 0, 1));
	close(p[1]);
	R(poll(pf, 1, -1));
	R(pf[0].revents);
	R(read(p[0], b, 2));
	close(p[0]);
	pipe(p);
	close(p[0]);
	pf[0].fd = p[1];
	pf[0].events = POLLOUT;
	R(poll(pf, 1, 0));
	R(pf[0].revents);
	R(write(p[1], b, 1));
	close(p[1]);
}

static void nonblocking(void)
{
	R(read(q[0], b, 1));
	{
		long t = 0, n;
		while ((n = write(q[1], big, 1000)) > 0)
			t += n;
		out("nonblock write", n);
		R(t > 60000);
	}
	R(read(q[0], big, 4096));
	R(write(q[1], big, 4096));
}

static void selecting(void)
{
	FD_ZERO(&rs);
	FD_SET(q[0], &rs);
	FD_ZERO(&ws);
	FD_SET(q[1], &ws);
	tv.tv_sec = 0;
	tv.tv_usec = 1000;
	R(select(q[1] + 1, &rs, &ws, NULL, &tv));
	R(FD_ISSET(q[0], &rs) != 0);
	FD_ZERO(&rs);
	FD_SET(50, &rs);
	R(select(51, &rs, NULL, NULL, &tv));
	R(select(-1, NULL, NULL, NULL, &tv));
	R(select(5, BAD, NULL, NULL, &tv));
	tv.tv_sec = -1;
	R(select(0, NULL, NULL, NULL, &tv));
	{
		struct timespec ts = {0, 1000000};
		sigset_t s;
		sigemptyset(&s);
		R(pselect(0, NULL, NULL, NULL, &ts, &s));
		R(ppoll(NULL, 0, &ts, &s));
		ts.tv_nsec = -1;
		R(ppoll(NULL, 0, &ts, NULL));
	}
}

static void interrupted(void)
{
	{
		struct sigaction sa = {.sa_handler = on_alarm};
		struct itimerval it = {{0, 0}, {0, 30000}};
		sigaction(SIGALRM, &sa, NULL);
		pipe(p);
		setitimer(ITIMER_REAL, &it, NULL);
		R(read(p[0], b, 1));
		setitimer(ITIMER_REAL, &it, NULL);
		pf[0].fd = p[0];
		pf[0].events = POLLIN;
		R(poll(pf, 1, -1));
		sa.sa_flags = SA_RESTART;
		sigaction(SIGALRM, &sa, NULL);
		setitimer(ITIMER_REAL, &it, NULL);
		if (!fork()) {
			usleep(100000);
			write(p[1], "k", 1);
			_exit(0);
		}
		R(read(p[0], b, 1));
		wait(NULL);
	}
}

static void event_files(void)
{
	{
		uint64_t v = 5;
		int e, ep, t;
		struct epoll_event ev = {.events = EPOLLIN, .data.u32 = 7}, o[4];
		R(e = eventfd(3, EFD_NONBLOCK));
		R(write(e, &v, 8));
		R(read(e, &v, 8));
		R(v);
		R(read(e, &v, 8));
		R(write(e, &v, 4));
		v = -1;
		R(write(e, &v, 8));
		R(ep = epoll_create1(0));
		R(epoll_ctl(ep, EPOLL_CTL_ADD, e, &ev));
		R(epoll_ctl(ep, EPOLL_CTL_ADD, e, &ev));
		R(epoll_wait(ep, o, 4, 0));
		v = 1;
		write(e, &v, 8);
		R(epoll_wait(ep, o, 4, -1));
		R(o[0].events);
		R(o[0].data.u32);
		R(epoll_wait(ep, o, 4, 0));
		ev.events = EPOLLIN | EPOLLET;
		R(epoll_ctl(ep, EPOLL_CTL_MOD, e, &ev));
		R(epoll_wait(ep, o, 4, 0));
		R(epoll_wait(ep, o, 4, 0));
		ev.events = EPOLLIN | EPOLLONESHOT;
		R(epoll_ctl(ep, EPOLL_CTL_MOD, e, &ev));
		R(epoll_wait(ep, o, 4, 0));
		write(e, &v, 8);
		R(epoll_wait(ep, o, 4, 0));
		R(epoll_ctl(ep, EPOLL_CTL_DEL, e, NULL));
		R(epoll_ctl(ep, EPOLL_CTL_DEL, e, NULL));
		R(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
		R(epoll_ctl(ep, EPOLL_CTL_ADD, ep, &ev));
		R(epoll_ctl(e, EPOLL_CTL_ADD, p[0], &ev));
		R(epoll_wait(ep, o, 0, 0));
		R(epoll_ctl(ep, 99, e, &ev));
		R(t = timerfd_create(CLOCK_MONOTONIC, 0));
		struct itimerspec its = {{0, 0}, {0, 20000000}};
		R(timerfd_settime(t, 0, &its, NULL));
		ev.events = EPOLLIN;
		R(epoll_ctl(ep, EPOLL_CTL_ADD, t, &ev));
		R(epoll_wait(ep, o, 4, 1000));
		R(read(t, &v, 8));
		R(v);
		/* An interval that nobody could keep up with: all are counted, and it can be stopped. */
		its = (struct itimerspec){{0, 1}, {0, 1}};
		R(timerfd_settime(t, 0, &its, NULL));
		for (int i = 0; i < 3; i++) {
			usleep(20000);
			R(read(t, &v, 8));
			R(v >= 20000000 && v < 60000000000);
			R(epoll_wait(ep, o, 4, 1000));
		}
		its.it_value.tv_nsec = 0;
		R(timerfd_settime(t, 0, &its, NULL));
		R(epoll_wait(ep, o, 4, 0));
		close(t);
		R(epoll_wait(ep, o, 4, 0));
		close(e);
		close(ep);
	}
}

static void sending(void)
{
	R(fd2 = open("sf", O_RDWR | O_CREAT, 0600));
	{
		off_t o = 2;
		lseek(fd, 0, SEEK_SET);
		R(sendfile(fd2, fd, NULL, 100));
		R(lseek(fd, 0, SEEK_CUR));
		R(sendfile(fd2, fd, &o, 10));
		R(o);
		R(lseek(fd, 0, SEEK_CUR));
		o = -1;
		R(sendfile(fd2, fd, &o, 10));
		R(sendfile(fd2, p[0], NULL, 10));
		R(sendfile(p[0], fd, NULL, 10));
		R(sendfile(-1, fd, NULL, 10));
		R(sendfile(p[1], fd, NULL, 50));
		R(read(p[0], b, 200));
		R(sendfile(fd2, fd, BAD, 10));
		loff_t i1 = 0, o1 = 500;
		R(copy_file_range(fd, &i1, fd2, &o1, 20, 0));
		R(i1);
		R(o1);
		R(copy_file_range(fd, &i1, fd2, &o1, 20, 9));
		lseek(fd, 0, SEEK_END);
		R(sendfile(fd2, fd, NULL, 10));
		fstat(fd2, &st);
		R(st.st_size);
	}
	close(fd2);
}

static void mapping(void)
{
	{
		char *m;
		fd2 = open("mm", O_RDWR | O_CREAT, 0600);
		R(ftruncate(fd2, 8192));
		m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd2, 0);
		R(m != MAP_FAILED);
		strcpy(m + 4090, "across!!");
		R(pread(fd2, b, 9, 4090));
		R(strcmp(b, "across!!"));
		R(write(fd2, "W", 1));
		R(m[0]);
		char *n = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd2, 0);
		n[0] = 'P';
		R(m[0]);
		R(msync(m, 8192, MS_SYNC));
		munmap(m, 8192);
		munmap(n, 4096);
		R(mmap(NULL, 10, PROT_READ, MAP_SHARED, -1, 0) == MAP_FAILED);
		out("errno", -1);
		R(mmap(NULL, 4096, PROT_READ, MAP_SHARED, p[0], 0) == MAP_FAILED);
		close(fd2);
		fd2 = open("mm", O_RDONLY);
		R(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd2, 0) == MAP_FAILED);
		out("errno", -1);
		close(fd2);
		R(fd2 = memfd_create("x", 0));
		R(ftruncate(fd2, 100));
		fstat(fd2, &st);
		R(st.st_size);
		close(fd2);
	}
}

static void devices(void)
{
	{
		R(fd2 = open("/dev/zero", O_RDWR));
		R(read(fd2, b, 10));
		R(write(fd2, b, 10));
		R(lseek(fd2, 5, SEEK_SET));
		close(fd2);
		R(fd2 = open("/dev/full", O_RDWR));
		R(write(fd2, b, 10));
		close(fd2);
		R(fd2 = open("/dev/null", O_RDWR));
		R(read(fd2, b, 10));
		R(write(fd2, b, 10));
		R(write(fd2, BAD, 10));
		close(fd2);
		R(open("/dev/null/x", O_RDONLY));
		R(fd2 = open("/dev/urandom", O_RDONLY));
		R(read(fd2, b, 100));
		close(fd2);
		R(open("/proc/self/nope", O_RDONLY));
		R(open("/proc/1/stat", O_RDONLY) >= 0);
		R(mkdir("/proc/x", 0700));
		R(unlink("/proc/version"));
		R(open("/proc/newfile", O_RDWR | O_CREAT, 0600));
		R(access("/proc/self/exe", R_OK));
		R(readlink("/proc/self/cwd", b, 256) > 0);
		R(open("/proc/99999999/stat", O_RDONLY));
	}
}

static void too_many(void)
{
	{
		int i;
		for (i = 0; (fd2 = open("/dev/null", O_RDONLY)) >= 0 && i < 5000; i++)
			;
		out("too many", fd2);
		R(pipe(p));
		R(dup(0));
	}
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	fd = open("f", O_RDWR | O_CREAT, 0600);
	R(write(fd, "some bytes to begin with, more than a few, for what comes below", 60));
	ftruncate(fd, 5000);
	duplicates();
	locks();
	pipe_ends();
	polling();
	nonblocking();
	selecting();
	interrupted();
	event_files();
	sending();
	mapping();
	devices();
	too_many();
	return 0;
}
