/* SPDX-License-Identifier: MIT */
/*
 * Connections that stood still, found by random wires (tests/fuzz/wire_fuzz.c), each in
 * the few packets that it takes.
 *
 * SOURCES: @net tests/host/tcp/harness.c
 * FLAVOURS: plain asan
 */
#include "tests/host/tcp/named.h"

/*
 * Both ends probe a zero window and both take the byte: for each, the other's segments
 * now lie one octet to the left of what it expects.  Their acknowledgements count.
 */
static void crossing_probes_body(void)
{
	struct pbuf *p;
	uint32_t probed;

	begin();
	h.wnd = 0;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_send(s, "0123456789", 10, 0), 10);
	p = h_within(TH_ACK, 5000);
	HOST_CHECK_EQ(p->len, 1);
	probed = p->tcp.seq + 1;
	/* His probe, sent before ours came: one byte. */
	h_inject(&h, TH_ACK, h.seq, h.ack, 1);
	HOST_CHECK_EQ(tp->rcv_nxt, h.seq + 1);
	h_drain();
	/* He has taken ours, has room, and does not know that we have taken his. */
	h.wnd = 5000;
	h_inject(&h, TH_ACK, h.seq, probed, 0);
	HOST_CHECK_EQ(tp->snd_una, probed);
	p = h_within(TH_ACK, 5000);
	while (p && !p->len) /* an acknowledgement of his may come first */
		p = h_within(TH_ACK, 5000);
	HOST_CHECK(p);
	HOST_CHECK_EQ(p->tcp.seq, probed);
	HOST_CHECK_EQ(p->len, 9);
	h_ack(&h, probed + 9);
	HOST_CHECK_EQ(tp->snd_una, tp->write_seq);
	end();
}

/* An end that answers each acknowledgement it does not accept would do so at the rate of the wire. */
static void no_chatter_body(void)
{
	unsigned answers = 0;

	begin();
	his_data(1);
	h_drain();
	for (unsigned i = 0; i < 100; i++) { /* within one second */
		h_inject(&h, TH_ACK, h.seq - 1, h.ack, 0);
		answers += h_drain();
		h_sleep(10);
	}
	HOST_CHECK(answers >= 1); /* if it is he who missed something, he must hear */
	HOST_CHECK(answers <= 4);
	end();
}

/* The smallest receive buffer, and packets that pin eight pages each for a few bytes. */
static void small_buffer_large_page_body(void)
{
	uint32_t got = 0;
	ssize_t n;

	listening();
	HOST_CHECK_EQ(h_setopt(l, SOL_SOCKET, SO_RCVBUF, 1), 0);
	accepted();
	h.order = 3;
	for (unsigned i = 0; i < 50; i++) {
		uint32_t room = tp->rcv_adv - tp->rcv_nxt, before = tp->rcv_nxt;

		/* What the window promised is taken, segment by segment, and never refused. */
		HOST_CHECK(room);
		while (room) {
			unsigned len = min(room, 100u);

			his_data(len);
			HOST_CHECK_EQ(tp->rcv_nxt, h.seq);
			room -= len;
		}
		while ((n = h_recv(s, data, sizeof(data), 0)) > 0)
			got += (uint32_t)n;
		HOST_CHECK(tp->rcv_nxt != before);
		h_drain();
		h_sleep(50);
	}
	HOST_CHECK_EQ(got, h.seq - 1001);
	end();
}

#define TESTS(X) X(crossing_probes) X(no_chatter) X(small_buffer_large_page)
MAIN(TESTS)
