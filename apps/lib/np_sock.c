/* SPDX-License-Identifier: MIT */
/* Implements np_sock.h. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include "apps/lib/np_sock.h"

#define AGAIN_US 50000 /* between the signals of a timer that has run out */

void np_set_port(struct sockaddr_storage *a, unsigned port)
{
	((struct sockaddr_in *)a)->sin_port = htons((uint16_t)port); /* same place in both */
}

unsigned np_port_of(const struct sockaddr_storage *a)
{
	return ntohs(((const struct sockaddr_in *)a)->sin_port);
}

socklen_t np_addr_len(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

int np_is_wildcard(const struct sockaddr_storage *a)
{
	static const struct in6_addr none;

	if (a->ss_family == AF_INET6)
		return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &none, sizeof(none));
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr == INADDR_ANY;
}

uint32_t np_option(int fd, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, name, &value, &len) < 0 ? 0 : (uint32_t)value;
}

void np_set_options(int fd, int sndbuf, int rcvbuf, int nodelay)
{
	int on = 1;

	if (sndbuf > 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
	if (rcvbuf > 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	if (nodelay)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void np_tcp_facts(int fd, uint32_t *retransmits, uint32_t *mss)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return;
	*retransmits = info.tcpi_total_retrans;
	*mss = info.tcpi_snd_mss;
}

int np_send_exactly(int fd, const char *buf, size_t n, const volatile int *stop)
{
	while (n) {
		ssize_t r = send(fd, buf, n, MSG_NOSIGNAL);

		if (r < 0 && errno != EINTR)
			return -1;
		if (*stop)
			return 0;
		if (r > 0) {
			buf += r;
			n -= (size_t)r;
		}
	}
	return 1;
}

int np_recv_exactly(int fd, char *buf, size_t n, const volatile int *stop)
{
	while (n) {
		ssize_t r = recv(fd, buf, n, 0);

		if (r < 0 && errno != EINTR)
			return -1;
		if (r == 0 || (r < 0 && *stop))
			return 0;
		if (r > 0) {
			buf += r;
			n -= (size_t)r;
		}
	}
	return 1;
}

void np_timer(double seconds, void (*handler)(int))
{
	struct itimerval it = { .it_interval = { .tv_usec = AGAIN_US } };
	struct sigaction act = { .sa_handler = handler };

	if (seconds <= 0) {
		memset(&it, 0, sizeof(it));
	} else {
		sigaction(SIGALRM, &act, NULL);
		it.it_value.tv_sec = (time_t)seconds;
		it.it_value.tv_usec = (suseconds_t)((seconds - (double)it.it_value.tv_sec) * 1e6);
		if (!it.it_value.tv_sec && !it.it_value.tv_usec)
			it.it_value.tv_usec = 1;
	}
	setitimer(ITIMER_REAL, &it, NULL);
}
