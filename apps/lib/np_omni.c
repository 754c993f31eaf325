/* SPDX-License-Identifier: MIT */
/*
 * netserver's side of the OMNI request (97), which netperf 2.7 sends for most
 * tests.  Word numbers are those of the messages of netperf 2.7.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include "apps/lib/np_sock.h"
#include "apps/lib/np_test.h"

#define CONGESTION_WANTED 160 /* byte in the request */
#define CONGESTION_USED	  276 /* byte in the results */

/*
 * An address in four words.  The client swaps an IPv6 address as if it were
 * four numbers, so that a word in host order is four bytes in their right order.
 */
static void get_address(const struct np_msg *m, unsigned n, struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET6)
		memcpy(&((struct sockaddr_in6 *)a)->sin6_addr, &m->w[n], 16);
	else
		((struct sockaddr_in *)a)->sin_addr.s_addr = htonl(m->w[n]);
}

static int decode(const struct np_msg *req, int control, struct np_test *t)
{
	uint32_t flags = req->w[14];
	socklen_t len = sizeof(t->client);

	t->type = req->w[24] == 2 ? SOCK_DGRAM : SOCK_STREAM;
	if ((req->w[24] != 1 && req->w[24] != 2) ||
	    (req->w[25] && req->w[25] != (t->type == SOCK_DGRAM ? IPPROTO_UDP : IPPROTO_TCP)))
		return EPROTONOSUPPORT;
	t->direction = req->w[26] & (NP_SEND | NP_RECEIVE);
	t->connection = (flags & NP_OMNI_CONNECTION) != 0;
	if (t->type == SOCK_DGRAM && (t->connection || !t->direction))
		return EPROTONOSUPPORT;
	t->sndbuf = (int)req->w[2];
	t->rcvbuf = (int)req->w[8];
	t->send_size = (int32_t)req->w[3] > 0 ? req->w[3] : 0;
	t->recv_size = (int32_t)req->w[9] > 0 ? req->w[9] : 0;
	t->req_size = (int32_t)req->w[7] > 0 ? (int32_t)req->w[7] : 0;
	t->rsp_size = (int32_t)req->w[13] > 0 ? (int32_t)req->w[13] : 0;
	t->nodelay = (flags & NP_OMNI_NODELAY) != 0;
	t->measure_cpu = (flags & NP_OMNI_CPU) != 0;
	t->keepalive = (flags & NP_OMNI_KEEPALIVE) != 0;
	t->dontroute = !(flags & NP_OMNI_ROUTE);
	t->connect_udp = t->type == SOCK_DGRAM && (flags & NP_OMNI_CONNECTED);
	t->length = (int32_t)req->w[16];
	t->pad = t->direction == NP_SEND ? 0 : NP_PAD_SECONDS;
	t->local.ss_family = req->w[23] == NP_INET6 ? AF_INET6 : AF_INET;
	get_address(req, 34, &t->local);
	np_set_port(&t->local, req->w[22]);
	t->client.ss_family = t->local.ss_family;
	get_address(req, 30, &t->client);
	if (np_is_wildcard(&t->client) &&
	    getpeername(control, (struct sockaddr *)&t->client, &len) < 0)
		return errno;
	np_set_port(&t->client, req->w[27]);
	return 0;
}

static uint32_t width(const struct np_test *t, unsigned direction, uint32_t buffer, uint32_t size)
{
	uint32_t w = (t->direction & direction) && size ? buffer / size + 1 : 0;

	if (t->direction == (NP_SEND | NP_RECEIVE) || t->direction == 0)
		return 1;
	return w < 2 ? 2 : w;
}

static void answer(const struct np_test *t, const struct np_msg *req, struct np_msg *m)
{
	memset(m, 0, sizeof(*m));
	m->w[0] = NP_OMNI + 1;
	m->w[2] = t->rcvbuf_now;
	m->w[3] = t->direction & NP_RECEIVE ? t->recv_size : req->w[9];
	m->w[4] = req->w[12] ? req->w[12] : width(t, NP_RECEIVE, t->rcvbuf_now, t->recv_size);
	m->w[5] = t->sndbuf_now;
	m->w[6] = t->direction & NP_SEND ? t->send_size : req->w[3];
	m->w[7] = req->w[6] ? req->w[6] : width(t, NP_SEND, t->sndbuf_now, t->send_size);
	m->w[8] = (t->nodelay ? NP_OMNI_NODELAY : 0) | (t->measure_cpu ? NP_OMNI_CPU : 0);
	np_set_float(m, 9, t->measure_cpu ? 100.0f : 0.0f);
	m->w[13] = t->port;
	m->w[18] = m->w[19] = UINT32_MAX;
}

static void results(const struct np_test *t, struct np_msg *m)
{
	memset(m, 0, sizeof(*m));
	m->w[0] = NP_OMNI + 2;
	np_set_u64(m, 2, t->received);
	m->w[4] = t->recv_calls;
	m->w[5] = t->rcvbuf_end;
	np_set_u64(m, 6, t->sent);
	m->w[8] = t->send_calls;
	m->w[9] = t->sndbuf_end;
	m->w[10] = t->failed_sends;
	m->w[11] = t->transactions;
	np_set_float(m, 12, (float)t->elapsed);
	if (t->measure_cpu) {
		np_set_float(m, 13, t->cpu);
		for (unsigned n = 14; n <= 19; n++)
			np_set_float(m, n, -1.0f);
		m->w[20] = t->cpus ? NP_CPU_PROC_STAT : NP_CPU_UNKNOWN;
		m->w[21] = t->cpus;
		m->w[22] = UINT32_MAX;
		np_set_float(m, 23, -1.0f);
	}
	m->w[28] = t->retransmits;
	np_set_text(m, CONGESTION_USED, t->congestion, sizeof(t->congestion));
}

int np_omni_serve(int control, const struct np_msg *req)
{
	struct np_test t;
	struct np_msg m;
	int error, ret;

	memset(&t, 0, sizeof(t));
	t.listener = t.data = -1;
	error = decode(req, control, &t);
	if (!error) {
		np_get_text(req, CONGESTION_WANTED, t.congestion, sizeof(t.congestion));
		error = np_test_open(&t);
	}
	if (error) {
		np_test_close(&t);
		return np_refuse(control, NP_OMNI + 1, error);
	}
	answer(&t, req, &m);
	ret = np_send(control, &m);
	if (ret == 0) {
		error = np_test_run(&t, control);
		results(&t, &m);
		np_test_close(&t); /* this gives the client its end of file */
		ret = error ? np_refuse(control, NP_OMNI + 2, error) : np_send(control, &m);
	}
	np_test_close(&t);
	return ret;
}
