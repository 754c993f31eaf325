/* SPDX-License-Identifier: MIT */
/*
 * RFC 9293: windows, sending, acknowledgements, retransmission.
 *
 * SOURCES: @net tests/host/tcp/harness.c
 * FLAVOURS: plain asan
 */
#include "tests/host/tcp/named.h"

static void must_1_window_unsigned_body(void)
{
	unsigned n = 0;
	struct pbuf *p;

	begin();
	h.wnd = 65535; /* negative as a signed number */
	h_ack(&h, h.ack);
	tp->cwnd = 60 * MSS;
	HOST_CHECK_EQ(h_setopt(s, SOL_SOCKET, SO_SNDBUF, 200000), 0);
	HOST_CHECK_EQ(h_send(s, data, 60 * MSS, 0), 60 * MSS);
	while ((p = h_next()))
		n += p->len;
	HOST_CHECK_EQ(n, 60 * MSS);
	end();
}

/* The peer takes his window back below what is in flight: nothing more goes, nothing breaks. */
static void must_34_shrinking_window_body(void)
{
	begin();
	HOST_CHECK_EQ(h_send(s, data, 10 * MSS, 0), 10 * MSS);
	HOST_CHECK_EQ(h_drain(), 10);
	h.wnd = 500;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_send(s, data, MSS, 0), MSS);
	h_quiet();
	h.wnd = 20000;
	h_ack(&h, h.ack + 10 * MSS);
	HOST_CHECK_EQ(h_expect(TH_ACK)->len, MSS);
	end();
}

/* MUST-35, 36, SHLD-29, 30: first after one time-out, then ever later, with the next byte (T1). */
static void must_36_zero_window_probe_body(void)
{
	uint64_t t, gap = 0;

	begin();
	h.wnd = 0;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_send(s, data, 10, 0), 10);
	t = clock_ns();
	for (unsigned i = 0; i < 8; i++) {
		struct pbuf *p = h_within(TH_ACK, 130000);

		HOST_CHECK_EQ(p->len, 1);
		HOST_CHECK_EQ(p->tcp.seq, h.ack);
		if (!i)
			HOST_CHECK(h_next_time() - t <= tp->rto + NSEC_PER_SEC / 10);
		else if (i > 1)
			HOST_CHECK(h_next_time() - t >= gap * 2 - NSEC_PER_MSEC || gap >= TCP_RTO_MAX / 2);
		gap = h_next_time() - t;
		t = h_next_time();
		h_ack(&h, h.ack);
	}
	end();
}

/* A peer that answers may keep his window closed for ever: two days here. */
static void must_37_window_zero_for_ever_body(void)
{
	begin();
	h.wnd = 0;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_send(s, data, 10, 0), 10);
	for (uint64_t from = clock_ns(); clock_ns() - from < 2 * 86400 * NSEC_PER_SEC;) {
		h_within(TH_ACK, 130000);
		h_ack(&h, h.ack);
	}
	HOST_CHECK_EQ(tcp_state(tp), TCP_ESTABLISHED);
	h.wnd = 1000;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_expect(TH_ACK)->len, 10);
	end();
}

/* Our window is closed: a reset, an acknowledgement and urgent data still count. */
static void must_66_reset_at_zero_window_body(void)
{
	listening();
	HOST_CHECK_EQ(h_setopt(l, SOL_SOCKET, SO_RCVBUF, 4096), 0);
	accepted();
	for (unsigned i = 0; i < 100 && tp->rcv_adv != tp->rcv_nxt; i++) {
		h_inject(&h, TH_ACK, h.seq, h.ack, min(MSS, tp->rcv_adv - h.seq));
		h.seq = tp->rcv_nxt;
		h_drain();
	}
	HOST_CHECK_EQ(tp->rcv_adv, tp->rcv_nxt);
	HOST_CHECK_EQ(h_send(s, data, 10, 0), 10);
	h_drain();
	h.urg = 1;
	h_inject(&h, TH_ACK | TH_URG, h.seq, h.ack + 10, 1); /* his probe */
	HOST_CHECK_EQ(tp->snd_una, h.ack + 10);
	HOST_CHECK_EQ(tp->urg_state, URG_EXPECTED);
	HOST_CHECK_EQ(h_expect(TH_ACK)->tcp.ack, h.seq);
	h.urg = 0;
	h_inject(&h, TH_RST, h.seq, 0, 0);
	HOST_CHECK_EQ(tcp_state(tp), TCP_CLOSE);
	end();
}

static void must_38_sender_silly_window_body(void)
{
	begin();
	h.wnd = 8000;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_send(s, data, 20 * MSS, 0), 20 * MSS);
	HOST_CHECK_EQ(h_drain(), 8);
	for (unsigned room = 1; room < MSS; room += 333) { /* crumbs */
		h.wnd = (uint16_t)(7 * MSS + room);
		h_ack(&h, h.ack + (room == 1 ? MSS : 0));
		h_quiet();
	}
	h.wnd = 8000;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_expect(TH_ACK)->len, MSS);
	end();
}

/* SHLD-14: the right edge moves by a segment or a quarter of the buffer, and never back. */
static void must_39_receiver_silly_window_body(void)
{
	uint32_t edge;

	listening();
	HOST_CHECK_EQ(h_setopt(l, SOL_SOCKET, SO_RCVBUF, 8192), 0);
	accepted();
	for (unsigned i = 0; i < 100 && tp->rcv_adv != tp->rcv_nxt; i++) {
		h_inject(&h, TH_ACK, h.seq, h.ack, min(MSS, tp->rcv_adv - h.seq));
		h.seq = tp->rcv_nxt;
		h_drain();
	}
	for (edge = tp->rcv_adv; h_recv(s, data, 7, 0) == 7; edge = tp->rcv_adv) {
		struct pbuf *p = h_next();

		HOST_CHECK(seq_geq(tp->rcv_adv, edge));
		HOST_CHECK(tp->rcv_adv == edge ||
			   tp->rcv_adv - edge >= min(tp->mss, atomic_load(&s->rcvbuf) / 4));
		HOST_CHECK(!p || tp->rcv_adv != edge || p->tcp.ack != h.seq || !p->tcp.wnd);
	}
	HOST_CHECK(seq_gt(edge, h.seq));
	end();
}

/* SHLD-7: one small segment in flight; TCP_NODELAY does without. */
static void must_17_nagle_off_body(void)
{
	begin();
	for (unsigned i = 0; i < 5; i++)
		HOST_CHECK_EQ(h_send(s, data, 1, 0), 1);
	HOST_CHECK_EQ(h_drain(), 1);
	h_ack(&h, h.ack + 1);
	HOST_CHECK_EQ(h_expect(TH_ACK)->len, 4);
	h_ack(&h, h.ack + 4);
	HOST_CHECK_EQ(h_setopt(s, SOL_TCP, TCP_NODELAY, 1), 0);
	for (unsigned i = 0; i < 5; i++)
		HOST_CHECK_EQ(h_send(s, data, 1, 0), 1);
	HOST_CHECK_EQ(h_drain(), 5);
	end();
}

/* Without timestamps a repeated segment's answer measures nothing. */
static void must_18_karn_body(void)
{
	uint64_t srtt;

	begin();
	srtt = tp->srtt;
	HOST_CHECK_EQ(h_send(s, data, 10, 0), 10);
	h_expect(TH_ACK);
	h_within(TH_ACK, 5000);
	h_ack(&h, h.ack + 10);
	HOST_CHECK_EQ(tp->srtt, srtt);
	end();
}

/* The time-out doubles; afterwards one segment, then two. */
static void must_19_backoff_slow_start_body(void)
{
	uint64_t t, gap = 0;

	listening();
	h.sack_ok = false;
	accepted();
	HOST_CHECK_EQ(h_send(s, data, 10 * MSS, 0), 10 * MSS);
	HOST_CHECK_EQ(h_drain(), 10);
	t = clock_ns();
	for (unsigned i = 0; i < 5; i++) {
		h_within(TH_ACK, 130000);
		h_quiet();
		HOST_CHECK(h_next_time() - t >= 2 * gap);
		gap = h_next_time() - t;
		t = h_next_time();
	}
	HOST_CHECK_EQ(tp->ca, CA_LOSS);
	HOST_CHECK(tp->cwnd <= MSS + tcp_pipe(tp));
	HOST_CHECK_EQ(tp->ssthresh, tp->cc->hystart ? 7 * MSS : 5 * MSS);
	h_ack(&h, h.ack + MSS);
	HOST_CHECK_EQ(h_drain(), 2);
	end();
}

/* SHLD-10: R2 is at least 100 s, 13 minutes by default; MUST-21: the program says otherwise. */
static void must_20_21_r2_body(void)
{
	uint64_t t;

	begin();
	HOST_CHECK_EQ(h_send(s, data, 10, 0), 10);
	t = clock_ns();
	while (tcp_state(tp) != TCP_CLOSE)
		h_sleep(1000);
	HOST_CHECK(clock_ns() - t >= 600 * NSEC_PER_SEC);
	HOST_CHECK(h_drain() > 3); /* R1 */
	HOST_CHECK_EQ(sock_take_error(s), -ETIMEDOUT);
	end();
	begin();
	HOST_CHECK_EQ(h_setopt(s, SOL_TCP, TCP_USER_TIMEOUT, 7000), 0);
	HOST_CHECK_EQ(h_send(s, data, 10, 0), 10);
	t = clock_ns();
	while (tcp_state(tp) != TCP_CLOSE)
		h_sleep(100);
	HOST_CHECK(clock_ns() - t >= 7 * NSEC_PER_SEC && clock_ns() - t < 15 * NSEC_PER_SEC);
	end();
}

static void must_22_23_r2_of_a_syn_body(void)
{
	uint64_t t = clock_ns();

	listening();
	h.lport = 7000;
	s = h_connect(&h);
	while (tcp_state(tcp_of(s)) != TCP_CLOSE)
		h_sleep(1000);
	HOST_CHECK(clock_ns() - t >= 180 * NSEC_PER_SEC);
	HOST_CHECK_EQ(sock_take_error(s), -ETIMEDOUT);
	end();
}

/* SHLD-18, 19: held back for less than half a second, but not the second full segment. */
static void must_40_delayed_ack_body(void)
{
	uint64_t t;

	begin();
	for (unsigned i = 0; i < 20; i++) /* the first ones do not wait */
		his_data(MSS);
	h_recv(s, data, sizeof(data), 0);
	h_sleep(100);
	h_drain();
	t = clock_ns();
	his_data(MSS);
	h_quiet();
	HOST_CHECK_EQ(h_within(TH_ACK, 500)->tcp.ack, h.seq);
	HOST_CHECK(h_next_time() - t < NSEC_PER_SEC / 2);
	his_data(MSS);
	h_quiet();
	his_data(MSS);
	HOST_CHECK_EQ(h_expect(TH_ACK)->tcp.ack, h.seq);
	end();
}

/* MUST-58: an acknowledgement goes with data; MUST-59: what waits is taken before one is sent. */
static void must_58_59_aggregated_body(void)
{
	begin();
	for (unsigned i = 0; i < 20; i++)
		his_data(MSS);
	h_recv(s, data, sizeof(data), 0);
	h_sleep(100);
	h_drain();
	his_data(10);
	h_quiet();
	HOST_CHECK_EQ(h_send(s, data, 10, 0), 10);
	HOST_CHECK_EQ(h_expect(TH_ACK)->tcp.ack, h.seq);
	h_ack(&h, h.ack + 10);
	h_quiet_for(300);
	end();
	begin();
	tcp_own(tp); /* busy: the segments wait */
	for (unsigned i = 0; i < 8; i++)
		his_data(MSS);
	tp->quick = 0;
	tp->ack_now = false;
	tcp_release(tp);
	HOST_CHECK(h_drain() <= 8);
	HOST_CHECK_EQ(tp->rcv_wup, h.seq);
	end();
}

static void shld_31_out_of_order_queued_body(void)
{
	begin();
	h_inject(&h, TH_ACK, h.seq + MSS, h.ack, MSS);
	HOST_CHECK_EQ(h_expect(TH_ACK)->tcp.ack, h.seq);
	h_inject(&h, TH_ACK, h.seq, h.ack, MSS);
	HOST_CHECK_EQ(h_expect(TH_ACK)->tcp.ack, h.seq + 2 * MSS);
	end();
}

/* SHLD-28, MUST-60, 61: full segments, and the last of what is queued is marked. */
static void must_60_61_push_body(void)
{
	struct pbuf *p;
	bool push = false;
	unsigned n = 0;

	begin();
	HOST_CHECK_EQ(h_send(s, data, 5 * MSS + 10, 0), 5 * MSS + 10);
	while ((p = h_next())) {
		n += p->len;
		HOST_CHECK(p->len == MSS || n == 5 * MSS + 10);
		push = p->tcp.tcp_flags & TH_PSH;
		HOST_CHECK(n == 5 * MSS + 10 || !push);
	}
	HOST_CHECK(push);
	h_ack(&h, h.ack + n);
	/* Nothing is held back for ever, not even behind a cork. */
	HOST_CHECK_EQ(h_send(s, data, 3, MSG_MORE), 3);
	HOST_CHECK_EQ(h_within(TH_ACK, 1000)->len, 3);
	end();
}

#define TESTS(X)                                                                                   \
	X(must_1_window_unsigned) X(must_34_shrinking_window) X(must_36_zero_window_probe)         \
	X(must_37_window_zero_for_ever) X(must_66_reset_at_zero_window)                            \
	X(must_38_sender_silly_window) X(must_39_receiver_silly_window) X(must_17_nagle_off)       \
	X(must_18_karn) X(must_19_backoff_slow_start) X(must_20_21_r2) X(must_22_23_r2_of_a_syn)   \
	X(must_40_delayed_ack) X(must_58_59_aggregated) X(shld_31_out_of_order_queued)             \
	X(must_60_61_push)
MAIN(TESTS)
