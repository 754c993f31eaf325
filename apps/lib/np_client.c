/* SPDX-License-Identifier: MIT */
/* Implements np_client.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/time.h>
#include <unistd.h>
#include "apps/lib/np_client.h"
#include "apps/lib/np_sock.h"

#define ANSWER_SECONDS 120 /* for each message of the server */
#define CLOSE_SECONDS  60  /* for the server to close at the end */
#define NO_LIMIT_SECONDS 1000000 /* what the server is told when only stop ends a test */
#define ALIGNMENT      8   /* of the server's buffer; what netperf asks for */

static struct np_client *running_client;

static void on_alarm(int sig)
{
	(void)sig;
	if (running_client)
		running_client->stop = 1;
}

__attribute__((format(printf, 2, 3))) static int fail(struct np_client *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->error, sizeof(c->error), fmt, ap);
	va_end(ap);
	return -1;
}

void np_client_init(struct np_client *c)
{
	memset(c, 0, sizeof(*c));
	c->host = "localhost";
	c->port = NP_PORT;
	c->length = 10;
	c->local_snd = c->local_rcv = c->remote_snd = c->remote_rcv = -1;
}

/* A socket bound to the wildcard address and @port. */
static int bound_socket(int family, unsigned port)
{
	struct sockaddr_storage any = { .ss_family = (sa_family_t)family };
	int fd = socket(family, SOCK_STREAM, 0), on = 1;

	if (fd < 0)
		return -1;
	np_set_port(&any, port);
	if (port)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&any, np_addr_len(&any)) < 0) {
		int e = errno;

		close(fd);
		errno = e;
		return -1;
	}
	return fd;
}

int np_connect_control(const char *host, int family, unsigned port, struct sockaddr_storage *peer,
		       char *error, size_t size)
{
	struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *ai;
	char service[8];
	int fd = -1, err;

	snprintf(service, sizeof(service), "%u", port);
	err = getaddrinfo(host, service, &hints, &list);
	if (err) {
		snprintf(error, size, "could not resolve host '%s': %s", host, gai_strerror(err));
		return -1;
	}
	for (ai = list; ai && fd < 0; ai = ai->ai_next) {
		fd = bound_socket(ai->ai_family, 0);
		if (fd < 0)
			continue;
		if (connect(fd, ai->ai_addr, ai->ai_addrlen) < 0) {
			err = errno;
			close(fd);
			errno = err;
			fd = -1;
			continue;
		}
		memcpy(peer, ai->ai_addr, ai->ai_addrlen);
	}
	freeaddrinfo(list);
	if (fd < 0)
		snprintf(error, size,
			 "could not connect to '%s' port %u: %s; is there a netserver listening?", host,
			 port, strerror(errno));
	return fd;
}

static int data_socket(struct np_client *c)
{
	int fd = bound_socket(c->peer.ss_family, c->local_data_port), on = 1, value = 0;
	socklen_t len = sizeof(value);

	if (fd < 0)
		return fail(c, "data socket: %s", strerror(errno));
	if (c->local_snd > 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &c->local_snd, sizeof(c->local_snd));
	if (c->local_rcv > 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &c->local_rcv, sizeof(c->local_rcv));
	if (c->local_nodelay)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, &len) == 0)
		c->local_sndbuf = (uint32_t)value;
	if (!c->send_size)
		c->send_size = c->local_sndbuf ? c->local_sndbuf : 4096;
	return fd;
}

/* What is sent: a ring of messages, in a file (sendfile) or in memory. */
struct ring {
	int fd;	    /* file, or -1 */
	char *buf;  /* memory, or NULL */
	uint32_t width;
};

static int ring_init(struct np_client *c, struct ring *r)
{
	size_t record = (size_t)c->send_size + 4;
	char name[] = "netperf.XXXXXX";

	r->fd = -1;
	r->buf = NULL;
	r->width = c->local_sndbuf / c->send_size + 1;
	if (r->width < 2)
		r->width = 2;
	if (c->test == NP_SENDFILE && c->file) {
		r->fd = open(c->file, O_RDONLY);
		if (r->fd < 0)
			return fail(c, "%s: %s", c->file, strerror(errno));
		if (lseek(r->fd, 0, SEEK_END) < (off_t)r->width * c->send_size)
			return fail(c, "%s: at least %lu bytes are needed", c->file,
				    (unsigned long)r->width * c->send_size);
		return 0;
	}
	r->buf = malloc(record * (c->test == NP_STREAM ? r->width : 1));
	if (!r->buf)
		return fail(c, "out of memory");
	if (c->test == NP_STREAM) {
		memset(r->buf, 'n', record * r->width);
		return 0;
	}
	r->fd = mkstemp(name);
	if (r->fd < 0)
		return fail(c, "temporary file in this directory: %s", strerror(errno));
	unlink(name);
	srandom((unsigned)getpid());
	for (uint32_t i = 0; i < r->width; i++) {
		for (size_t j = 0; j < record; j++)
			r->buf[j] = (char)random();
		if (write(r->fd, r->buf, record) != (ssize_t)record)
			return fail(c, "temporary file: %s", strerror(errno));
	}
	return 0;
}

static void ring_free(struct ring *r)
{
	if (r->fd >= 0)
		close(r->fd);
	free(r->buf);
}

/* "now" within a line of an interim result. */
static void print_interim(struct np_client *c, double *last, uint64_t *bytes)
{
	double now = np_now();
	struct timeval tv;

	if (now - *last < c->interim)
		return;
	gettimeofday(&tv, NULL);
	printf("Interim result: %7.2f 10^6bits/s over %.3f seconds ending at %ld.%.3ld\n",
	       (double)(c->bytes - *bytes) * 8 / (now - *last) / 1e6, now - *last,
	       (long)tv.tv_sec, (long)tv.tv_usec / 1000);
	fflush(stdout);
	*last = now;
	*bytes = c->bytes;
}

/*
 * Sends until stop, the wanted bytes, or (as netperf does) a short count.
 * Slots: 0 first, then from the highest downwards, then 0 again.
 */
static int send_ring(struct np_client *c, int data, const struct ring *r)
{
	uint64_t want = c->length < 0 ? (uint64_t)-c->length : UINT64_MAX;
	uint64_t interim_bytes = 0;
	double interim_at = np_now();
	uint32_t slot = 0;

	while (!c->stop && c->bytes < want) {
		off_t off = (off_t)slot * c->send_size;
		ssize_t n;

		if (r->fd >= 0)
			n = sendfile(data, r->fd, &off, c->send_size);
		else
			n = send(data, r->buf + off, c->send_size, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(c, "sending: %s", strerror(errno));
		c->bytes += (uint64_t)n;
		c->msgs++;
		if (c->msgs == 1 && c->running)
			c->running(c);
		if (n != (ssize_t)c->send_size && !c->tolerant)
			break;
		slot = slot ? slot - 1 : r->width - 1;
		if (c->interim > 0 && !(c->msgs & 63))
			print_interim(c, &interim_at, &interim_bytes);
	}
	return 0;
}

static int test(struct np_client *c, int control)
{
	struct np_msg m = { { 0 } };
	struct sigaction act = { .sa_handler = on_alarm };
	struct ring r = { .fd = -1 };
	char rest[4];
	double start;
	int data = data_socket(c), ret = -1;

	if (data < 0)
		return -1;
	if (ring_init(c, &r) < 0)
		goto out;
	m.w[0] = NP_TCP_STREAM;
	m.w[1] = UINT32_MAX;
	m.w[2] = (uint32_t)c->remote_snd;
	m.w[3] = (uint32_t)c->remote_rcv;
	m.w[4] = c->recv_size;
	m.w[5] = ALIGNMENT;
	m.w[7] = (uint32_t)c->remote_nodelay;
	m.w[10] = c->length ? (uint32_t)labs(c->length) : NO_LIMIT_SECONDS;
	m.w[15] = c->remote_data_port;
	m.w[16] = c->peer.ss_family == AF_INET6 ? NP_INET6 : NP_INET;
	if (np_send(control, &m) < 0 || np_recv(control, &m, ANSWER_SECONDS) <= 0) {
		fail(c, "control connection: %s", strerror(errno));
		goto out;
	}
	if (m.w[1]) {
		fail(c, "remote error %u", m.w[1]);
		goto out;
	}
	c->remote_rcvbuf = m.w[2];
	c->remote_sndbuf = m.w[7];
	np_set_port(&c->peer, m.w[8]);
	if (connect(data, (struct sockaddr *)&c->peer, np_addr_len(&c->peer)) < 0) {
		fail(c, "data connection: %s", strerror(errno));
		goto out;
	}
	running_client = c;
	signal(SIGPIPE, SIG_IGN); /* a server that is gone is an error that can be told */
	sigaction(SIGALRM, &act, NULL);
	start = np_now();
	if (c->length > 0)
		alarm((unsigned)c->length);
	if (send_ring(c, data, &r) < 0)
		goto out;
	alarm(0);
	shutdown(data, SHUT_WR);
	while (recv(data, rest, sizeof(rest), 0) < 0 && errno == EINTR)
		;
	c->elapsed = np_now() - start;
	if (np_recv(control, &m, ANSWER_SECONDS) <= 0) {
		fail(c, "control connection: %s", strerror(errno));
		goto out;
	}
	if (m.w[1]) {
		fail(c, "remote error %u", m.w[1]);
		goto out;
	}
	c->received = np_get_double(&m, 2);
	c->recv_calls = m.w[4];
	ret = 0;
out:
	running_client = NULL;
	ring_free(&r);
	close(data);
	return ret;
}

int np_client_run(struct np_client *c)
{
	int ret, control = np_connect_control(c->host, c->family, c->port, &c->peer, c->error,
					      sizeof(c->error));
	struct np_msg m;

	if (control < 0)
		return -1;
	ret = test(c, control);
	/* The server closes when it has read our end. */
	shutdown(control, SHUT_WR);
	if (ret == 0)
		np_recv(control, &m, CLOSE_SECONDS);
	close(control);
	return ret;
}
