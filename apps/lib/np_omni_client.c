/* SPDX-License-Identifier: MIT */
/* Implements np_omni_client.h. */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "apps/lib/np_classic.h"
#include "apps/lib/np_client.h"
#include "apps/lib/np_omni_client.h"
#include "apps/lib/np_sock.h"

#define ANSWER_SECONDS 120 /* for each message of the server */
#define CLOSE_SECONDS  60  /* for the server to close at the end */
#define GRACE_SECONDS  1   /* for the end of a stream that the server sends */
#define LOST_MS	       500 /* after which a datagram without an answer is sent again */
#define END_MARKS      3   /* empty datagrams that say that a test is over */
#define FIRST_PORT     5000
#define PORT_TRIES     1000

static volatile int time_is_up;

static void on_alarm(int sig)
{
	(void)sig;
	time_is_up = 1;
}

__attribute__((format(printf, 2, 3))) static int fail(struct np_omni *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->error, sizeof(c->error), fmt, ap);
	va_end(ap);
	return -1;
}

/* -- latency ------------------------------------------------------------- */

void np_latency_add(struct np_latency *l, double seconds)
{
	double us = seconds * 1e6;
	int exponent, bucket;
	double part = frexp(us < 1 ? 1 : us, &exponent); /* us = part * 2^exponent, part in [1/2, 1) */

	bucket = (exponent - 1) * 16 + (int)((part - 0.5) * 32);
	l->count[bucket < NP_BUCKETS ? bucket : NP_BUCKETS - 1]++;
	l->min = l->n && l->min < us ? l->min : us;
	l->max = l->max > us ? l->max : us;
	l->sum += us;
	l->squares += us * us;
	l->n++;
}

double np_latency_percentile(const struct np_latency *l, double percent)
{
	uint64_t want = (uint64_t)ceil((double)l->n * percent / 100), seen = 0;

	for (int i = 0; i < NP_BUCKETS; i++) {
		seen += l->count[i];
		if (seen >= want && seen)
			return ldexp(1 + (i % 16 + 0.5) / 16, i / 16);
	}
	return 0;
}

/* -- set-up -------------------------------------------------------------- */

void np_omni_init(struct np_omni *c)
{
	memset(c, 0, sizeof(*c));
	c->host = "localhost";
	c->port = NP_PORT;
	c->type = SOCK_STREAM;
	c->length = 10;
	c->direction = NP_RECEIVE;
	c->req_size = c->rsp_size = 1;
	c->route = 1;
	c->local.sndbuf = c->local.rcvbuf = c->remote.sndbuf = c->remote.rcvbuf = -1;
	c->local.cpu = c->remote.cpu = -1;
}

int np_omni_transactional(const struct np_omni *c)
{
	return c->direction == (NP_SEND | NP_RECEIVE) || c->direction == 0;
}

double np_omni_throughput(const struct np_omni *c)
{
	double bytes = (double)(c->direction == NP_SEND ? c->local.received
							 : c->remote.received + c->remote.sent);

	if (c->elapsed <= 0)
		return 0;
	return (np_omni_transactional(c) ? (double)c->transactions : bytes * 8 / 1e6) / c->elapsed;
}

static int data_socket(struct np_omni *c, unsigned port)
{
	struct sockaddr_storage any = { .ss_family = c->peer.ss_family };
	int fd = socket(c->peer.ss_family, c->type, 0), on = 1, e;

	if (fd < 0)
		return -1;
	np_set_port(&any, port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!c->route)
		setsockopt(fd, SOL_SOCKET, SO_DONTROUTE, &on, sizeof(on));
	np_set_options(fd, c->local.sndbuf, c->local.rcvbuf,
		       c->type == SOCK_STREAM && c->local.nodelay);
	if ((port || c->type == SOCK_DGRAM) &&
	    bind(fd, (struct sockaddr *)&any, np_addr_len(&any)) < 0) {
		e = errno;
		close(fd);
		errno = e;
		return -1;
	}
	return fd;
}

static void choose_sizes(struct np_omni *c, int fd)
{
	struct np_side *l = &c->local;

	l->sndbuf_begin = l->sndbuf_end = np_option(fd, SO_SNDBUF);
	l->rcvbuf_begin = l->rcvbuf_end = np_option(fd, SO_RCVBUF);
	if (np_omni_transactional(c)) {
		l->send_size = (uint32_t)c->req_size;
		l->recv_size = (uint32_t)c->rsp_size;
		return;
	}
	if (!l->send_size)
		l->send_size = l->sndbuf_begin ? l->sndbuf_begin : 4096;
	if (!l->recv_size)
		l->recv_size = l->rcvbuf_begin ? l->rcvbuf_begin : 4096;
	if (c->type == SOCK_DGRAM && l->send_size > NP_LARGEST_DATAGRAM)
		l->send_size = NP_LARGEST_DATAGRAM;
}

static void request(const struct np_omni *c, struct np_msg *m, unsigned local_port)
{
	int rr = np_omni_transactional(c) && c->direction;

	memset(m, 0, sizeof(*m));
	m->w[0] = NP_OMNI;
	m->w[1] = UINT32_MAX;
	m->w[2] = (uint32_t)c->remote.sndbuf;
	m->w[3] = c->remote.send_size ? c->remote.send_size : UINT32_MAX;
	m->w[4] = m->w[10] = 8;
	m->w[7] = rr ? (uint32_t)c->req_size : UINT32_MAX;
	m->w[8] = (uint32_t)c->remote.rcvbuf;
	m->w[9] = c->remote.recv_size ? c->remote.recv_size : UINT32_MAX;
	m->w[13] = rr ? (uint32_t)c->rsp_size : UINT32_MAX;
	m->w[14] = (c->remote.nodelay ? NP_OMNI_NODELAY : 0) |
		   (c->connection ? NP_OMNI_CONNECTION : 0) |
		   (c->remote.measure_cpu ? NP_OMNI_CPU : 0) | (c->route ? NP_OMNI_ROUTE : 0);
	m->w[16] = (uint32_t)(int32_t)c->length;
	m->w[19] = m->w[20] = m->w[21] = UINT32_MAX;
	m->w[22] = c->remote.data_port;
	m->w[23] = c->peer.ss_family == AF_INET6 ? NP_INET6 : NP_INET;
	m->w[24] = c->type == SOCK_DGRAM ? 2 : 1;
	m->w[25] = c->type == SOCK_DGRAM ? IPPROTO_UDP : IPPROTO_TCP;
	m->w[26] = c->direction;
	m->w[27] = local_port;
	m->w[38] = m->w[39] = UINT32_MAX;
}

/* -- the test ------------------------------------------------------------ */

struct run {
	int data;
	char *tx, *rx;
	unsigned next_port;	/* of a connection test */
	double start, interim_at;
	uint64_t interim_done;
};

static uint64_t done(const struct np_omni *c)
{
	return np_omni_transactional(c) ? c->transactions : c->local.sent + c->local.received;
}

static int over(const struct np_omni *c)
{
	return time_is_up || (c->length < 0 && done(c) >= (uint64_t)-c->length);
}

static void print_interim(const struct np_omni *c, struct run *r)
{
	double now = np_now(), scale = np_omni_transactional(c) ? 1 : 8 / 1e6;
	struct timeval tv;

	if (now - r->interim_at < c->interim)
		return;
	gettimeofday(&tv, NULL);
	printf("Interim result: %7.2f %s over %.3f seconds ending at %ld.%.3ld\n",
	       (double)(done(c) - r->interim_done) * scale / (now - r->interim_at),
	       np_omni_transactional(c) ? "Trans/s" : "10^6bits/s", now - r->interim_at,
	       (long)tv.tv_sec, (long)tv.tv_usec / 1000);
	fflush(stdout);
	r->interim_at = now;
	r->interim_done = done(c);
}

/* A connection for the next transaction, each from a local port of its own. */
static int next_connection(struct np_omni *c, struct run *r)
{
	for (int i = 0; i < PORT_TRIES; i++) {
		unsigned port = r->next_port;

		r->next_port = port < 65535 ? port + 1 : FIRST_PORT;
		r->data = data_socket(c, port);
		if (r->data >= 0 &&
		    connect(r->data, (struct sockaddr *)&c->peer, np_addr_len(&c->peer)) == 0)
			return 1;
		if (r->data >= 0)
			close(r->data);
		r->data = -1;
		if (over(c))
			return 0;
		if (errno != EADDRINUSE && errno != EADDRNOTAVAIL && errno != EINTR)
			return fail(c, "data connection: %s", strerror(errno));
	}
	return fail(c, "data connection: no local port is free");
}

static int note_send(struct np_omni *c, ssize_t n)
{
	if (n >= 0) {
		c->local.sent += (uint64_t)n;
		c->local.send_calls++;
	} else if (errno == ENOBUFS || errno == ENOMEM || errno == ECONNREFUSED) {
		c->local.failed_sends++;
	} else if (errno != EINTR) {
		return fail(c, "sending: %s", strerror(errno));
	}
	return 1;
}

/* One call of a stream.  Return: 1, 0 at the end, -1 with the error told. */
static int stream_step(struct np_omni *c, struct run *r)
{
	ssize_t n;

	if (c->direction == NP_RECEIVE) {
		n = send(r->data, r->tx, c->local.send_size, MSG_NOSIGNAL);
		return note_send(c, n);
	}
	n = recv(r->data, r->rx, c->local.recv_size, 0);
	if (n < 0)
		return errno == EINTR ? 1 : fail(c, "receiving: %s", strerror(errno));
	c->local.received += (uint64_t)n;
	c->local.recv_calls += n > 0;
	return n > 0;
}

/* The answer to a datagram; a lost one is asked for again. */
static int receive_answer(struct np_omni *c, struct run *r)
{
	ssize_t n;

	if (c->type == SOCK_STREAM)
		return np_recv_exactly(r->data, r->rx, c->local.recv_size, &time_is_up);
	while (!time_is_up) {
		n = recv(r->data, r->rx, c->local.recv_size + 1, 0);
		if (n == 0)
			return 0; /* the server's end mark */
		if (n == (ssize_t)c->local.recv_size)
			return 1;
		if (n < 0 && errno == EAGAIN)
			note_send(c, send(r->data, r->tx, c->local.send_size, MSG_NOSIGNAL));
		else if (n < 0 && errno != EINTR && errno != ECONNREFUSED)
			return -1;
	}
	return 0;
}

static int transaction(struct np_omni *c, struct run *r)
{
	double start = np_now();
	char rest;
	int got;

	if (c->connection) {
		got = next_connection(c, r);
		if (got <= 0)
			return got;
	}
	if (c->direction) {
		if (np_send_exactly(r->data, r->tx, c->local.send_size, &time_is_up) < 0 ||
		    (got = receive_answer(c, r)) < 0) {
			if (over(c))
				return 0;
			return fail(c, "transaction: %s", strerror(errno));
		}
		if (got == 0)
			return 0;
		c->local.sent += c->local.send_size;
		c->local.received += c->local.recv_size;
		c->local.send_calls++;
		c->local.recv_calls++;
	}
	if (c->connection) { /* the server closes first */
		while (recv(r->data, &rest, 1, 0) < 0 && errno == EINTR && !time_is_up)
			;
		close(r->data);
		r->data = -1;
	}
	c->transactions++;
	np_latency_add(&c->latency, np_now() - start);
	return 1;
}

static int loop(struct np_omni *c, struct run *r)
{
	int go = 1;

	for (unsigned i = 0; i < c->burst && np_omni_transactional(c) && !c->connection; i++)
		if (np_send_exactly(r->data, r->tx, c->local.send_size, &time_is_up) < 0)
			return fail(c, "first burst: %s", strerror(errno));
	while (go > 0 && !over(c)) {
		go = np_omni_transactional(c) ? transaction(c, r) : stream_step(c, r);
		if (c->interim > 0 && !(done(c) & 15))
			print_interim(c, r);
	}
	return go < 0 ? -1 : 0;
}

static void say_end(struct np_omni *c, struct run *r)
{
	char rest;

	if (r->data < 0)
		return;
	if (c->type == SOCK_DGRAM) {
		/* A classic server waits for its own clock; an empty datagram would be an error. */
		for (int i = 0; i < END_MARKS && c->direction != NP_SEND && !c->classic; i++)
			send(r->data, r->tx, 0, MSG_NOSIGNAL);
		return;
	}
	shutdown(r->data, SHUT_WR);
	np_timer(CLOSE_SECONDS, on_alarm);
	time_is_up = 0;
	if (c->direction & NP_RECEIVE)
		while (recv(r->data, &rest, 1, 0) != 0 && errno == EINTR && !time_is_up)
			;
	np_timer(0, on_alarm);
}

static int connect_data(struct np_omni *c, struct run *r)
{
	struct timeval lost = { .tv_usec = LOST_MS * 1000 };

	if (c->type == SOCK_DGRAM && c->direction == (NP_SEND | NP_RECEIVE))
		setsockopt(r->data, SOL_SOCKET, SO_RCVTIMEO, &lost, sizeof(lost));
	if (c->connection)
		return 0;
	if (connect(r->data, (struct sockaddr *)&c->peer, np_addr_len(&c->peer)) < 0)
		return fail(c, "data connection: %s", strerror(errno));
	return 0;
}

static void note_socket(struct np_omni *c, int fd)
{
	socklen_t len = sizeof(c->local.congestion) - 1;

	if (fd < 0)
		return;
	c->local.sndbuf_end = np_option(fd, SO_SNDBUF);
	c->local.rcvbuf_end = np_option(fd, SO_RCVBUF);
	if (c->type == SOCK_STREAM) {
		np_tcp_facts(fd, &c->local.retransmits, &c->mss);
		getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, c->local.congestion, &len);
	}
}

static int run_data(struct np_omni *c, struct run *r)
{
	struct np_cpu before, after;
	int measured = c->local.measure_cpu && np_cpu_read(&before) == 0, ret;

	time_is_up = 0;
	r->start = r->interim_at = np_now();
	if (c->length > 0)
		np_timer((double)c->length + (c->direction == NP_SEND ? GRACE_SECONDS : 0), on_alarm);
	ret = connect_data(c, r);
	if (ret == 0 && c->running)
		c->running(c);
	if (ret == 0)
		ret = loop(c, r);
	np_timer(0, on_alarm);
	note_socket(c, r->data);
	if (ret == 0)
		say_end(c, r);
	c->elapsed = c->local.elapsed = np_now() - r->start;
	if (measured && np_cpu_read(&after) == 0) {
		c->local.cpu = np_cpu_percent(&before, &after);
		c->local.cpus = after.cpus;
		c->local.cpu_method = NP_CPU_PROC_STAT;
	}
	return ret;
}

static int take_message(struct np_omni *c, int control, struct np_msg *m)
{
	m->w[1] = 0;
	if (np_recv(control, m, ANSWER_SECONDS) <= 0)
		return fail(c, "control connection: %s", strerror(errno));
	return m->w[1] ? fail(c, "remote error %u", m->w[1]) : 0;
}

/*
 * The server's answer to @m, an OMNI request; one that does not know it is asked
 * again in the classic way.
 */
static int agree(struct np_omni *c, int control, struct np_msg *m)
{
	if (np_send(control, m) < 0)
		return fail(c, "control connection: %s", strerror(errno));
	if (take_message(c, control, m) < 0) {
		if (m->w[1] != NP_UNKNOWN_REQUEST)
			return -1;
		c->classic = np_classic_request(c, m);
		if (!c->classic)
			return -1;
		if (np_send(control, m) < 0)
			return fail(c, "control connection: %s", strerror(errno));
		if (take_message(c, control, m) < 0)
			return -1;
		c->error[0] = '\0';
		np_classic_answer(c, c->classic, m);
		return 0;
	}
	c->remote.rcvbuf_begin = m->w[2];
	c->remote.recv_size = m->w[3];
	c->remote.sndbuf_begin = m->w[5];
	c->remote.send_size = m->w[6];
	np_set_port(&c->peer, m->w[13]);
	return 0;
}

static void take_results(struct np_omni *c, const struct np_msg *m)
{
	struct np_side *s = &c->remote;

	s->received = np_get_u64(m, 2);
	s->recv_calls = m->w[4];
	s->rcvbuf_end = m->w[5];
	s->sent = np_get_u64(m, 6);
	s->send_calls = m->w[8];
	s->sndbuf_end = m->w[9];
	s->failed_sends = m->w[10];
	s->elapsed = np_get_float(m, 12);
	s->cpu = c->remote.measure_cpu ? np_get_float(m, 13) : -1;
	s->cpu_method = m->w[20];
	s->cpus = m->w[21];
	s->retransmits = m->w[28];
	np_get_text(m, 276, s->congestion, sizeof(s->congestion));
}

static int test(struct np_omni *c, int control, struct run *r)
{
	struct sockaddr_storage bound;
	socklen_t len = sizeof(bound);
	struct np_msg m;

	srandom((unsigned)getpid());
	r->next_port = c->local.data_port ? c->local.data_port
					  : FIRST_PORT + (unsigned)random() % (65536 - FIRST_PORT);
	r->data = data_socket(c, c->connection ? 0 : c->local.data_port);
	if (r->data < 0 || getsockname(r->data, (struct sockaddr *)&bound, &len) < 0)
		return fail(c, "data socket: %s", strerror(errno));
	choose_sizes(c, r->data);
	r->tx = malloc((size_t)c->local.send_size + 1);
	r->rx = malloc((size_t)c->local.recv_size + 1);
	if (!r->tx || !r->rx)
		return fail(c, "out of memory");
	memset(r->tx, 'n', (size_t)c->local.send_size + 1);
	if (c->connection) {
		close(r->data);
		r->data = -1;
	}
	request(c, &m, c->connection ? r->next_port : np_port_of(&bound));
	if (agree(c, control, &m) < 0)
		return -1;
	if (run_data(c, r) < 0)
		return -1;
	if (r->data >= 0)
		close(r->data);
	r->data = -1;
	if (take_message(c, control, &m) < 0)
		return -1;
	if (c->classic)
		np_classic_results(c, c->classic, &m);
	else
		take_results(c, &m);
	return 0;
}

int np_omni_run(struct np_omni *c)
{
	struct run r = { .data = -1 };
	struct np_msg m;
	int control, ret;

	control = np_connect_control(c->host, c->family, c->port, &c->peer, c->error,
				     sizeof(c->error));
	if (control < 0)
		return -1;
	signal(SIGPIPE, SIG_IGN);
	ret = test(c, control, &r);
	if (r.data >= 0)
		close(r.data);
	free(r.tx);
	free(r.rx);
	shutdown(control, SHUT_WR);
	if (ret == 0)
		np_recv(control, &m, CLOSE_SECONDS);
	close(control);
	return ret;
}
