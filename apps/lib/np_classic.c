/* SPDX-License-Identifier: MIT */
/* netserver's side of the classic requests.  Source: the messages of netperf 2.7. */
#include <errno.h>
#include <string.h>
#include "apps/lib/np_classic.h"
#include "apps/lib/np_sock.h"
#include "apps/lib/np_test.h"

#define LONGEST_TEST 10000000 /* seconds; a byte count may stand in the same word */

const struct np_layout np_stream_layout = { 2, 3, 7, 8, 10, 15, 16, 2, 7, 4, 5, 6, 8, 9 };
const struct np_layout np_rr_layout = { 3, 2, 10, 11, 13, 16, 17, 2, 6, 3, 4, 5, 7, 8 };
const struct np_layout np_datagram_layout = { 0, 2, 0, 8, 10, 13, 14, 2, 3, 0, 4, 5, 6, 7 };

const struct np_layout *np_layout_of(uint32_t type)
{
	switch (type) {
	case NP_TCP_STREAM:
	case NP_TCP_MAERTS:
		return &np_stream_layout;
	case NP_UDP_STREAM:
		return &np_datagram_layout;
	case NP_TCP_RR:
	case NP_TCP_CRR:
	case NP_TCP_CC:
	case NP_UDP_RR:
		return &np_rr_layout;
	default:
		return NULL;
	}
}

static void decode(const struct np_msg *req, const struct np_layout *l, struct np_test *t)
{
	uint32_t type = req->w[0];
	int stream = l == &np_stream_layout;

	t->type = type == NP_UDP_STREAM || type == NP_UDP_RR ? SOCK_DGRAM : SOCK_STREAM;
	t->sndbuf = l->sndbuf ? (int)req->w[l->sndbuf] : -1;
	t->rcvbuf = (int)req->w[l->rcvbuf];
	t->nodelay = l->nodelay && req->w[l->nodelay];
	t->measure_cpu = req->w[l->cpu] != 0;
	t->length = (int32_t)req->w[l->length];
	t->pad = NP_PAD_SECONDS;
	t->local.ss_family = req->w[l->family] == NP_INET6 ? AF_INET6 : AF_INET;
	np_set_port(&t->local, req->w[l->port]);
	if (l == &np_rr_layout) {
		t->req_size = (int)req->w[8];
		t->rsp_size = (int)req->w[9];
		t->connection = type == NP_TCP_CRR || type == NP_TCP_CC;
		t->direction = type == NP_TCP_CC ? 0 : NP_SEND | NP_RECEIVE;
		return;
	}
	/* A byte count stands here as a positive number, too: the end of file ends the test. */
	if (t->length <= 0 || t->length > LONGEST_TEST)
		t->length = LONGEST_TEST;
	t->direction = type == NP_TCP_MAERTS ? NP_SEND : NP_RECEIVE;
	t->half_close = stream;
	t->clock_at_accept = type == NP_TCP_STREAM;
	if (stream) {
		*(t->direction == NP_SEND ? &t->send_size : &t->recv_size) = req->w[4];
		if (t->direction == NP_SEND)
			t->pad = 0;
	} else {
		t->recv_size = req->w[3];
		t->exact_datagrams = 1;
		t->connect_udp = req->w[4] != 0;
	}
}

static void answer(const struct np_test *t, const struct np_msg *req, const struct np_layout *l,
		   struct np_msg *m)
{
	memset(m, 0, sizeof(*m));
	m->w[0] = req->w[0] + 1;
	m->w[l->r_rcvbuf] = t->rcvbuf_now;
	m->w[l->r_sndbuf] = t->sndbuf_now;
	if (l->r_nodelay)
		m->w[l->r_nodelay] = (uint32_t)t->nodelay;
	m->w[l->r_cpu] = (uint32_t)t->measure_cpu;
	m->w[l->r_port] = t->port;
	np_set_float(m, l->r_rate, t->measure_cpu ? 100.0f : 0.0f);
	if (l == &np_stream_layout)
		m->w[3] = t->direction == NP_SEND ? t->send_size : t->recv_size;
}

static void set_cpu(const struct np_test *t, struct np_msg *m, unsigned use, unsigned demand,
		    unsigned method)
{
	if (!t->measure_cpu)
		return;
	np_set_float(m, use, t->cpu);
	if (demand)
		np_set_float(m, demand, -1.0f);
	m->w[method] = t->cpus ? NP_CPU_PROC_STAT : NP_CPU_UNKNOWN;
	m->w[method + 1] = t->cpus;
}

static void results(const struct np_test *t, const struct np_msg *req, struct np_msg *m)
{
	memset(m, 0, sizeof(*m));
	m->w[0] = req->w[0] + 2;
	switch (req->w[0]) {
	case NP_TCP_STREAM:
	case NP_TCP_MAERTS:
		np_set_double(m, 2, (double)(t->received + t->sent));
		m->w[4] = t->recv_calls + t->send_calls;
		np_set_float(m, 5, (float)t->elapsed);
		set_cpu(t, m, 6, 7, 8);
		break;
	case NP_UDP_STREAM:
		m->w[2] = t->recv_calls;
		m->w[3] = (uint32_t)t->received;
		np_set_float(m, 4, (float)t->elapsed);
		set_cpu(t, m, 5, 0, 6);
		break;
	default:
		m->w[2] = (uint32_t)(t->received + t->sent);
		m->w[3] = t->recv_calls;
		m->w[4] = t->transactions;
		np_set_float(m, 5, (float)t->elapsed);
		set_cpu(t, m, 6, 7, 8);
	}
}

int np_classic_serve(int control, const struct np_msg *req)
{
	const struct np_layout *l = np_layout_of(req->w[0]);
	struct np_test t;
	struct np_msg m;
	int error, ret;

	if (!l)
		return -2;
	memset(&t, 0, sizeof(t));
	decode(req, l, &t);
	error = np_test_open(&t);
	if (error) {
		ret = np_refuse(control, req->w[0] + 1, error);
	} else {
		answer(&t, req, l, &m);
		ret = np_send(control, &m);
		if (ret == 0) {
			error = np_test_run(&t, control);
			results(&t, req, &m);
			/* Transactions: the data sockets close before the results; streams: after. */
			if (l == &np_rr_layout)
				np_test_close(&t);
			ret = error ? np_refuse(control, req->w[0] + 2, error) : np_send(control, &m);
		}
	}
	np_test_close(&t);
	return ret;
}
