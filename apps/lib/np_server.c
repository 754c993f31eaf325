/* SPDX-License-Identifier: MIT */
/*
 * netserver: one process per control connection, which answers requests until
 * end of file.  The classic stream test (request 10, what TCP_SENDFILE sends)
 * reads a data connection to its end and reports the bytes; a request it does
 * not know is answered with error 998 and the connection stays open.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "apps/lib/np_proto.h"
#include "apps/lib/np_server.h"
#include "tally/linux.h"

#define CONTROL_BACKLOG 1024
#define DATA_BACKLOG	5
#define PAD_SECONDS	4	 /* how much longer than the test the server waits */
#define LONGEST_TEST	10000000 /* seconds; a byte count may stand in the same word */
#define MOST_RECV	(4 << 20)

static volatile sig_atomic_t time_is_up;

static void on_alarm(int sig)
{
	(void)sig;
	time_is_up = 1;
}

static void on_child(int sig)
{
	(void)sig;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static int listen_on(int family, const char *host, unsigned port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct sockaddr *addr = family == AF_INET6 ? (void *)&six : (void *)&four;
	socklen_t len = family == AF_INET6 ? sizeof(six) : sizeof(four);
	int on = 1, fd;

	if (host && inet_pton(family, host,
			      family == AF_INET6 ? (void *)&six.sin6_addr : &four.sin_addr) != 1) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	fd = socket(family, SOCK_STREAM, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, addr, len) < 0 || listen(fd, CONTROL_BACKLOG) < 0) {
		int e = errno;

		close(fd);
		errno = e;
		return -1;
	}
	return fd;
}

int np_server_listen(struct np_listen *l, int family, const char *host, unsigned port)
{
	int error = 0;

	l->fd[0] = l->fd[1] = -1;
	if (family != AF_INET) {
		l->fd[0] = listen_on(AF_INET6, host, port);
		error = l->fd[0] < 0 ? errno : 0;
	}
	if (family != AF_INET6) {
		l->fd[1] = listen_on(AF_INET, host, port);
		if (l->fd[1] < 0 && !error)
			error = errno;
	}
	if (l->fd[0] >= 0 || l->fd[1] >= 0)
		return 0;
	errno = error;
	return -1;
}

void np_server_loop(const struct np_listen *l)
{
	struct pollfd p[2] = { { .fd = l->fd[0], .events = POLLIN },
			       { .fd = l->fd[1], .events = POLLIN } };
	struct sigaction act = { .sa_handler = on_child, .sa_flags = SA_RESTART };

	sigaction(SIGCHLD, &act, NULL);
	for (;;) {
		if (poll(p, 2, -1) < 0) {
			if (errno != EINTR)
				exit(1);
			continue;
		}
		for (int i = 0; i < 2; i++) {
			int on = 1, control;
			pid_t pid;

			if (p[i].fd < 0 || !(p[i].revents & POLLIN))
				continue;
			control = accept(p[i].fd, NULL, NULL);
			if (control < 0)
				continue;
			setsockopt(control, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
			pid = fork();
			if (pid == 0) {
				signal(SIGCHLD, SIG_DFL);
				for (int j = 0; j < 2; j++)
					if (l->fd[j] >= 0)
						close(l->fd[j]);
				np_serve(control);
				exit(0);
			}
			close(control); /* no process for it: the client sees the end */
		}
	}
}

/* A stream test while it runs. */
struct stream {
	int listener, data;
	uint32_t seconds, recv_size;
	int nodelay, measure_cpu;
	uint32_t rcvbuf, sndbuf, port;
	double bytes, elapsed;
	uint32_t calls;
	struct np_cpu cpu0, cpu1;
	int have_cpu;
	char *buf;
};

static uint32_t get_size(int fd, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, name, &value, &len) < 0 ? 0 : (uint32_t)value;
}

/* Data socket as the request wants it.  Returns 0 or an errno value. */
static int stream_open(struct stream *s, const struct np_msg *req)
{
	int family = req->w[16] == NP_INET6 ? AF_INET6 : AF_INET;
	int snd = (int)req->w[2], rcv = (int)req->w[3], on = 1;
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
				    .sin6_port = htons((uint16_t)req->w[15]) };
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)req->w[15]) };
	struct sockaddr_storage bound;
	socklen_t len = family == AF_INET6 ? sizeof(six) : sizeof(four);

	s->listener = socket(family, SOCK_STREAM, 0);
	if (s->listener < 0)
		return errno;
	setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(s->listener, family == AF_INET6 ? (void *)&six : (void *)&four, len) < 0)
		return errno;
	if (snd > 0)
		setsockopt(s->listener, SOL_SOCKET, SO_SNDBUF, &snd, sizeof(snd));
	if (rcv > 0)
		setsockopt(s->listener, SOL_SOCKET, SO_RCVBUF, &rcv, sizeof(rcv));
	s->nodelay = req->w[7] &&
		     setsockopt(s->listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0;
	if (listen(s->listener, DATA_BACKLOG) < 0)
		return errno;
	len = sizeof(bound);
	if (getsockname(s->listener, (struct sockaddr *)&bound, &len) < 0)
		return errno;
	s->port = ntohs(((struct sockaddr_in *)&bound)->sin_port); /* same place in both */
	s->rcvbuf = get_size(s->listener, SO_RCVBUF);
	s->sndbuf = get_size(s->listener, SO_SNDBUF);
	s->recv_size = req->w[4] ? req->w[4] : s->rcvbuf ? s->rcvbuf : 4096;
	if (s->recv_size > MOST_RECV)
		s->recv_size = MOST_RECV;
	s->buf = malloc(s->recv_size);
	if (!s->buf)
		return ENOMEM;
	s->seconds = req->w[10] < LONGEST_TEST ? req->w[10] : LONGEST_TEST;
	s->measure_cpu = req->w[8] != 0;
	return 0;
}

/* Waits for the data connection; a control connection that ends gives up. */
static int stream_accept(struct stream *s, int control)
{
	struct pollfd p[2] = { { .fd = s->listener, .events = POLLIN },
			       { .fd = control, .events = POLLIN } };

	for (;;) {
		if (poll(p, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return errno;
		}
		if (p[0].revents) {
			s->data = accept(s->listener, NULL, NULL);
			return s->data < 0 ? errno : 0;
		}
		if (p[1].revents)
			return ECONNABORTED;
	}
}

static void stream_read(struct stream *s)
{
	struct sigaction act = { .sa_handler = on_alarm };
	double start;

	sigaction(SIGALRM, &act, NULL);
	time_is_up = 0;
	alarm(s->seconds + PAD_SECONDS);
	start = np_now();
	s->have_cpu = s->measure_cpu && np_cpu_read(&s->cpu0) == 0;
	while (!time_is_up) {
		ssize_t n = recv(s->data, s->buf, s->recv_size, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		s->bytes += (double)n;
		s->calls++;
	}
	alarm(0);
	shutdown(s->data, SHUT_WR);
	s->elapsed = np_now() - start - (time_is_up ? PAD_SECONDS : 0);
	if (s->have_cpu && np_cpu_read(&s->cpu1) < 0)
		s->have_cpu = 0;
}

static void stream_answer(const struct stream *s, struct np_msg *m)
{
	memset(m, 0, sizeof(*m));
	m->w[0] = NP_TCP_STREAM + 1;
	m->w[2] = s->rcvbuf;
	m->w[3] = s->recv_size;
	m->w[4] = (uint32_t)s->nodelay;
	m->w[5] = (uint32_t)s->measure_cpu;
	m->w[7] = s->sndbuf;
	m->w[8] = s->port;
	np_set_float(m, 9, s->measure_cpu ? 100.0f : 0.0f);
}

static void stream_results(const struct stream *s, struct np_msg *m)
{
	memset(m, 0, sizeof(*m));
	m->w[0] = NP_TCP_STREAM + 2;
	np_set_double(m, 2, s->bytes);
	m->w[4] = s->calls;
	np_set_float(m, 5, (float)s->elapsed);
	if (s->measure_cpu) {
		np_set_float(m, 6, s->have_cpu ? np_cpu_percent(&s->cpu0, &s->cpu1) : -1.0f);
		np_set_float(m, 7, -1.0f);
		m->w[8] = s->have_cpu ? NP_CPU_PROC_STAT : NP_CPU_UNKNOWN;
		m->w[9] = s->have_cpu ? s->cpu1.cpus : 0;
	}
}

static int fail(int control, uint32_t type, int error)
{
	struct np_msg m = { { 0 } };

	m.w[0] = type;
	m.w[1] = (uint32_t)linux_errno(error);
	return np_send(control, &m);
}

/* Returns -1 if the control connection cannot go on. */
static int serve_stream(int control, const struct np_msg *req)
{
	struct stream s = { .listener = -1, .data = -1 };
	struct np_msg m;
	int error = stream_open(&s, req), ret;

	if (error) {
		ret = fail(control, NP_TCP_STREAM + 1, error);
	} else {
		stream_answer(&s, &m);
		ret = np_send(control, &m);
		if (ret == 0) {
			error = stream_accept(&s, control);
			if (error) {
				ret = fail(control, NP_TCP_STREAM + 2, error);
			} else {
				stream_read(&s);
				stream_results(&s, &m);
				ret = np_send(control, &m);
			}
		}
	}
	if (s.data >= 0)
		close(s.data);
	if (s.listener >= 0)
		close(s.listener);
	free(s.buf);
	return ret;
}

static void bind_to_cpu(uint32_t cpu)
{
	cpu_set_t set;

	if (cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int serve_sysinfo(int control)
{
	static const char text[] = ",Deprecated,Deprecated,Deprecated,Deprecated";
	struct np_msg m = { { 0 } };

	m.w[0] = NP_SYSINFO + 1;
	for (size_t i = 0; i < sizeof(text); i++)
		m.w[2 + i / 4] |= (uint32_t)(unsigned char)text[i] << (24 - 8 * (i % 4));
	return np_send(control, &m);
}

void np_serve(int control)
{
	struct np_msg req, m;
	int ret = 0;

	signal(SIGPIPE, SIG_IGN);
	while (ret == 0 && np_recv(control, &req, 0) > 0) {
		memset(&m, 0, sizeof(m));
		switch (req.w[0]) {
		case NP_DEBUG_ON:
		case NP_DEBUG_OFF:
			m.w[0] = NP_DEBUG_OK;
			ret = np_send(control, &m);
			break;
		case NP_CPU_CALIBRATE:
			m.w[0] = NP_CPU_CALIBRATE;
			m.w[3] = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
			ret = np_send(control, &m);
			break;
		case NP_PASSPHRASE:
			break; /* none configured: ignored, no answer */
		case NP_SYSINFO:
			ret = serve_sysinfo(control);
			break;
		case NP_TCP_STREAM:
			bind_to_cpu(req.w[1]);
			ret = serve_stream(control, &req);
			break;
		default:
			m.w[0] = req.w[0];
			m.w[1] = NP_UNKNOWN_REQUEST;
			ret = np_send(control, &m);
		}
	}
	close(control);
}
