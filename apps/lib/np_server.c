/* SPDX-License-Identifier: MIT */
/*
 * netserver: one process per control connection, which answers requests until
 * end of file.  Tests are np_classic.c's and np_omni.c's; a request that neither
 * knows is answered with error 998 and the connection stays open.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "apps/lib/np_proto.h"
#include "apps/lib/np_server.h"
#include "apps/lib/np_test.h"
#include "tally/linux.h"

#define CONTROL_BACKLOG 1024

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

int np_refuse(int control, uint32_t type, int error)
{
	struct np_msg m = { { 0 } };

	m.w[0] = type;
	m.w[1] = (uint32_t)linux_errno(error);
	return np_send(control, &m);
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
	struct np_msg m = { { 0 } };

	m.w[0] = NP_SYSINFO + 1;
	np_set_text(&m, 8, ",Deprecated,Deprecated,Deprecated,Deprecated", 64);
	return np_send(control, &m);
}

/* A request for a test; one that nobody knows leaves the connection open. */
static int serve_test(int control, const struct np_msg *req)
{
	struct np_msg m = { { 0 } };
	int ret;

	bind_to_cpu(req->w[1]);
	ret = req->w[0] == NP_OMNI ? np_omni_serve(control, req) : np_classic_serve(control, req);
	if (ret != -2)
		return ret;
	m.w[0] = req->w[0];
	m.w[1] = NP_UNKNOWN_REQUEST;
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
		default:
			ret = serve_test(control, &req);
		}
	}
	close(control);
}
