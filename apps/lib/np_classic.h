/* SPDX-License-Identifier: MIT */
/*
 * The classic messages of netperf 2.7: one layout each for streams that the
 * server receives (10) and sends (94), for transactions (13, 19, 34, 300) and
 * for datagram streams (16).  np_classic.c is the server's side of them,
 * np_classic_client.c the client's.
 */
#ifndef APPS_LIB_NP_CLASSIC_H
#define APPS_LIB_NP_CLASSIC_H

#include <stdint.h>
#include "apps/lib/np_omni_client.h"
#include "apps/lib/np_proto.h"

/* Words of what all layouts have; 0: this one has it not. */
struct np_layout {
	unsigned sndbuf, rcvbuf, nodelay, cpu, length, port, family;	 /* in the request */
	unsigned r_rcvbuf, r_sndbuf, r_nodelay, r_cpu, r_length, r_port, r_rate; /* in the answer */
};

extern const struct np_layout np_stream_layout, np_rr_layout, np_datagram_layout;

/* The layout of a request of that type, or NULL. */
const struct np_layout *np_layout_of(uint32_t type);

/**
 * np_classic_request - the classic request for an OMNI test
 * @c: what the user wants, with the sizes that were chosen
 * @m: set, if there is such a request
 *
 * Return: its type, or 0.
 */
uint32_t np_classic_request(const struct np_omni *c, struct np_msg *m);

/* Take the server's answer and its results to a request of that type into @c. */
void np_classic_answer(struct np_omni *c, uint32_t type, const struct np_msg *m);
void np_classic_results(struct np_omni *c, uint32_t type, const struct np_msg *m);

#endif
