/* SPDX-License-Identifier: MIT */
/* Implements np_test.h. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/lib/np_sock.h"
#include "apps/lib/np_test.h"

#define DATA_BACKLOG 5
#define END_MARKS    3	   /* empty datagrams that say that a test is over */
#define NEAR_END     2.0   /* seconds before the end in which a client may be gone already */
#define DRAIN_SECONDS 30   /* for the client's end of file after ours */

static volatile int time_is_up;

static void on_alarm(int sig)
{
	(void)sig;
	time_is_up = 1;
}

static int transactional(const struct np_test *t)
{
	return t->direction == (NP_SEND | NP_RECEIVE) || t->direction == 0;
}

/* Sizes of calls and buffers to match, once the socket says what it has. */
static int make_buffers(struct np_test *t)
{
	uint32_t rx = t->recv_size, tx = t->send_size;

	if (!rx)
		rx = t->rcvbuf_now ? t->rcvbuf_now : 4096;
	if (!tx)
		tx = t->sndbuf_now ? t->sndbuf_now : 4096;
	if (t->type == SOCK_DGRAM && tx > NP_LARGEST_DATAGRAM)
		tx = NP_LARGEST_DATAGRAM;
	if (transactional(t)) {
		rx = (uint32_t)t->req_size;
		tx = (uint32_t)t->rsp_size;
		if (rx > NP_MOST_BUFFER || tx > NP_MOST_BUFFER)
			return EINVAL;
	}
	t->recv_size = rx < NP_MOST_BUFFER ? rx : NP_MOST_BUFFER;
	t->send_size = tx < NP_MOST_BUFFER ? tx : NP_MOST_BUFFER;
	/* One byte more, so that a datagram that is too long is seen as such. */
	t->rx = malloc(t->recv_size + 1);
	t->tx = malloc(t->send_size + 1);
	if (!t->rx || !t->tx)
		return ENOMEM;
	memset(t->tx, 'n', t->send_size + 1);
	return 0;
}

int np_test_open(struct np_test *t)
{
	struct sockaddr_storage bound;
	socklen_t len = sizeof(bound);
	int on = 1, fd = socket(t->local.ss_family, t->type, 0);

	t->listener = t->data = -1;
	if (fd < 0)
		return errno;
	if (t->type == SOCK_STREAM)
		t->listener = fd;
	else
		t->data = fd;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&t->local, np_addr_len(&t->local)) < 0)
		return errno;
	np_set_options(fd, t->sndbuf, t->rcvbuf, t->type == SOCK_STREAM && t->nodelay);
	if (t->keepalive)
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (t->dontroute)
		setsockopt(fd, SOL_SOCKET, SO_DONTROUTE, &on, sizeof(on));
	if (t->type == SOCK_STREAM && listen(fd, DATA_BACKLOG) < 0)
		return errno;
	if (getsockname(fd, (struct sockaddr *)&bound, &len) < 0)
		return errno;
	t->port = np_port_of(&bound);
	t->rcvbuf_now = t->rcvbuf_end = np_option(fd, SO_RCVBUF);
	t->sndbuf_now = t->sndbuf_end = np_option(fd, SO_SNDBUF);
	return make_buffers(t);
}

void np_test_close(struct np_test *t)
{
	if (t->data >= 0)
		close(t->data);
	if (t->listener >= 0)
		close(t->listener);
	free(t->rx);
	free(t->tx);
	t->listener = t->data = -1;
	t->rx = t->tx = NULL;
}

static void start_clock(struct np_test *t, double *start)
{
	time_is_up = 0;
	*start = np_now();
	if (t->length > 0)
		np_timer((double)t->length + t->pad, on_alarm);
}

/* 1 with t->data; 0 if the time is up; an errno value below 0. */
static int take_connection(struct np_test *t, int control)
{
	struct pollfd p[2] = { { .fd = t->listener, .events = POLLIN },
			       { .fd = control, .events = POLLIN } };

	while (!time_is_up) {
		if (poll(p, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (p[0].revents) {
			t->data = accept(t->listener, NULL, NULL);
			if (t->data >= 0)
				return 1;
			if (errno != EINTR && errno != ECONNABORTED)
				return -errno;
		} else if (p[1].revents) {
			return -ECONNABORTED;
		}
	}
	return 0;
}

/* What one step did: go on, the test is over, this connection is over, an error. */
enum step { GO_ON, OVER, NEXT_CONNECTION, FAILED };

static enum step receive_stream(struct np_test *t)
{
	ssize_t n;

	if (transactional(t)) {
		int got = np_recv_exactly(t->data, t->rx, t->recv_size, &time_is_up);

		if (got < 0 && !(t->connection && errno == ECONNRESET))
			return FAILED;
		if (got <= 0)
			return t->connection && !time_is_up ? NEXT_CONNECTION : OVER;
		n = (ssize_t)t->recv_size;
	} else {
		n = recv(t->data, t->rx, t->recv_size, 0);
		if (n < 0)
			return errno == EINTR ? GO_ON : FAILED;
		if (n == 0)
			return OVER;
	}
	t->received += (uint64_t)n;
	t->recv_calls++;
	return GO_ON;
}

static enum step receive_datagram(struct np_test *t, struct sockaddr_storage *from)
{
	for (;;) {
		socklen_t len = sizeof(*from);
		ssize_t n = recvfrom(t->data, t->rx, t->recv_size + 1, 0, (struct sockaddr *)from, &len);

		if (n < 0 && errno == EINTR) {
			if (time_is_up)
				return OVER;
			continue;
		}
		if (n < 0 && errno == ECONNREFUSED)
			continue; /* what an earlier answer met */
		if (n < 0)
			return FAILED;
		if (n == 0 || (t->exact_datagrams && (uint32_t)n != t->recv_size))
			return OVER;
		t->received += (uint64_t)n;
		t->recv_calls++;
		if (t->connect_udp) {
			connect(t->data, (struct sockaddr *)from, len);
			t->connect_udp = 0;
		}
		if (!transactional(t) || (uint32_t)n == t->recv_size)
			return GO_ON;
	}
}

static enum step send_datagram(struct np_test *t, const struct sockaddr_storage *to)
{
	ssize_t n = sendto(t->data, t->tx, t->send_size, MSG_NOSIGNAL, (const struct sockaddr *)to,
			   np_addr_len(to));

	if (n >= 0) {
		t->sent += (uint64_t)n;
		t->send_calls++;
	} else if (errno == ENOBUFS || errno == ENOMEM || errno == ECONNREFUSED) {
		t->failed_sends++;
	} else if (errno != EINTR) {
		return FAILED;
	}
	return GO_ON;
}

static enum step send_stream(struct np_test *t, double start)
{
	ssize_t n;

	if (transactional(t)) {
		int r = np_send_exactly(t->data, t->tx, t->send_size, &time_is_up);

		if (r == 0)
			return OVER;
		n = r == 1 ? (ssize_t)t->send_size : -1;
	} else {
		n = send(t->data, t->tx, t->send_size, MSG_NOSIGNAL); /* a part if the time ends it */
	}
	if (n < 0 && errno == EINTR)
		return GO_ON;
	if (n >= 0) {
		t->sent += (uint64_t)n;
		t->send_calls++;
		return GO_ON;
	}
	/* The client's clock may be ahead of ours. */
	if ((errno == EPIPE || errno == ECONNRESET) && t->direction == NP_SEND &&
	    (t->length < 0 || np_now() - start > (double)t->length - NEAR_END))
		return OVER;
	return FAILED;
}

static void note_connection(struct np_test *t)
{
	socklen_t len = sizeof(t->congestion) - 1;
	uint32_t mss;

	t->rcvbuf_end = np_option(t->data, SO_RCVBUF);
	t->sndbuf_end = np_option(t->data, SO_SNDBUF);
	if (t->type == SOCK_STREAM) {
		np_tcp_facts(t->data, &t->retransmits, &mss);
		if (getsockopt(t->data, IPPROTO_TCP, TCP_CONGESTION, t->congestion, &len) < 0)
			t->congestion[0] = '\0';
	}
}

/* One transaction, or one call of a stream. */
static enum step one_step(struct np_test *t, double start)
{
	struct sockaddr_storage peer = t->client;
	enum step step = GO_ON;

	if (t->direction & NP_RECEIVE)
		step = t->type == SOCK_STREAM ? receive_stream(t) : receive_datagram(t, &peer);
	if (step == GO_ON && (t->direction & NP_SEND))
		step = t->type == SOCK_STREAM ? send_stream(t, start) : send_datagram(t, &peer);
	if (step == GO_ON && transactional(t))
		t->transactions++;
	return step;
}

/* Is a budget of bytes or transactions used up? */
static int spent(const struct np_test *t)
{
	uint64_t done = transactional(t) ? t->transactions : t->received + t->sent;

	return t->length < 0 && done >= (uint64_t)-t->length;
}

static int loop(struct np_test *t, int control, double *start)
{
	while (!time_is_up && !spent(t)) {
		enum step step;

		if (t->data < 0) {
			int r = take_connection(t, control);

			if (r < 0)
				return -r;
			if (r == 0)
				break;
			if (t->clock_at_accept)
				start_clock(t, start);
		}
		step = one_step(t, *start);
		if (step == FAILED)
			return errno;
		if (step == OVER)
			break;
		if (t->connection) {
			close(t->data);
			t->data = -1;
		}
	}
	return 0;
}

/* After the last byte: the peer hears of it. */
static void say_end(struct np_test *t)
{
	struct pollfd p = { .fd = t->data, .events = POLLIN };

	if (t->type == SOCK_DGRAM && t->direction == NP_SEND) {
		for (int i = 0; i < END_MARKS; i++)
			sendto(t->data, t->tx, 0, MSG_NOSIGNAL, (struct sockaddr *)&t->client,
			       np_addr_len(&t->client));
	}
	if (t->type != SOCK_STREAM || !t->half_close)
		return;
	shutdown(t->data, SHUT_WR);
	if (t->direction == NP_SEND)
		while (poll(&p, 1, DRAIN_SECONDS * 1000) > 0 && recv(t->data, t->rx, t->recv_size, 0) > 0)
			;
}

int np_test_run(struct np_test *t, int control)
{
	struct np_cpu before, after;
	int measured = t->measure_cpu && np_cpu_read(&before) == 0, error;
	double start;

	t->cpu = -1.0f;
	start_clock(t, &start);
	error = loop(t, control, &start);
	np_timer(0, on_alarm);
	t->elapsed = np_now() - start - (time_is_up ? t->pad : 0);
	if (measured && np_cpu_read(&after) == 0) {
		t->cpu = np_cpu_percent(&before, &after);
		t->cpus = after.cpus;
	}
	if (t->data >= 0) {
		note_connection(t);
		say_end(t);
	}
	return error;
}
