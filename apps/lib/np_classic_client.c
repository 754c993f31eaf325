/* SPDX-License-Identifier: MIT */
/*
 * The client's side of the classic messages, for a server that knows no OMNI
 * (netperf built with --disable-omni).  The test itself is the same.
 */
#include <string.h>
#include "apps/lib/np_classic.h"
#include "apps/lib/np_sock.h"

static uint32_t type_of(const struct np_omni *c)
{
	int datagrams = c->type == SOCK_DGRAM;

	if (np_omni_transactional(c)) {
		if (!c->direction)
			return c->connection && !datagrams ? NP_TCP_CC : 0;
		if (datagrams)
			return c->connection ? 0 : NP_UDP_RR;
		return c->connection ? NP_TCP_CRR : NP_TCP_RR;
	}
	if (c->connection)
		return 0;
	if (c->direction == NP_SEND)
		return datagrams ? 0 : NP_TCP_MAERTS;
	return datagrams ? NP_UDP_STREAM : NP_TCP_STREAM;
}

uint32_t np_classic_request(const struct np_omni *c, struct np_msg *m)
{
	uint32_t type = type_of(c);
	const struct np_layout *l = type ? np_layout_of(type) : NULL;
	int32_t length = (int32_t)c->length;

	if (!l)
		return 0;
	memset(m, 0, sizeof(*m));
	m->w[0] = type;
	m->w[1] = UINT32_MAX;
	if (l->sndbuf)
		m->w[l->sndbuf] = (uint32_t)c->remote.sndbuf;
	m->w[l->rcvbuf] = (uint32_t)c->remote.rcvbuf;
	if (l->nodelay)
		m->w[l->nodelay] = (uint32_t)c->remote.nodelay;
	m->w[l->cpu] = (uint32_t)c->remote.measure_cpu;
	m->w[l->port] = c->remote.data_port;
	m->w[l->family] = c->peer.ss_family == AF_INET6 ? NP_INET6 : NP_INET;
	if (l == &np_rr_layout) {
		m->w[4] = m->w[6] = 8; /* alignments */
		m->w[8] = (uint32_t)c->req_size;
		m->w[9] = (uint32_t)c->rsp_size;
	} else {
		/* A number of bytes stands here as a positive number. */
		length = length < 0 ? -length : length;
		m->w[5] = 8;
		if (l == &np_datagram_layout)
			m->w[3] = c->local.send_size;
		else
			m->w[4] = type == NP_TCP_MAERTS ? c->remote.send_size : c->remote.recv_size;
	}
	m->w[l->length] = (uint32_t)length;
	return type;
}

void np_classic_answer(struct np_omni *c, uint32_t type, const struct np_msg *m)
{
	const struct np_layout *l = np_layout_of(type);

	c->remote.rcvbuf_begin = c->remote.rcvbuf_end = m->w[l->r_rcvbuf];
	c->remote.sndbuf_begin = c->remote.sndbuf_end = m->w[l->r_sndbuf];
	if (l == &np_stream_layout)
		*(type == NP_TCP_MAERTS ? &c->remote.send_size : &c->remote.recv_size) = m->w[3];
	np_set_port(&c->peer, m->w[l->r_port]);
}

void np_classic_results(struct np_omni *c, uint32_t type, const struct np_msg *m)
{
	struct np_side *s = &c->remote;
	unsigned cpu = 6, method = 8;

	switch (type) {
	case NP_TCP_STREAM:
		s->received = (uint64_t)np_get_double(m, 2);
		s->recv_calls = m->w[4];
		s->elapsed = np_get_float(m, 5);
		break;
	case NP_TCP_MAERTS:
		s->sent = (uint64_t)np_get_double(m, 2);
		s->send_calls = m->w[4];
		s->elapsed = np_get_float(m, 5);
		break;
	case NP_UDP_STREAM: /* the bytes in word 3 wrap at 4 GiB, the messages do not */
		s->received = (uint64_t)m->w[2] * c->local.send_size;
		s->recv_calls = m->w[2];
		s->elapsed = np_get_float(m, 4);
		cpu = 5;
		method = 6;
		break;
	default:
		s->received = (uint64_t)m->w[4] * (uint32_t)c->req_size;
		s->sent = (uint64_t)m->w[4] * (uint32_t)c->rsp_size;
		s->recv_calls = m->w[3];
		s->elapsed = np_get_float(m, 5);
	}
	s->cpu = c->remote.measure_cpu ? np_get_float(m, cpu) : -1;
	s->cpu_method = m->w[method];
	s->cpus = m->w[method + 1];
}
