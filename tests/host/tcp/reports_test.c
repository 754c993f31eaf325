/* SPDX-License-Identifier: MIT */
/*
 * Failures that other stacks had, each with its kind: stalls at a zero window, windows
 * that shrink, handshakes that get stuck, resets that go to and fro, options that hang,
 * queues that cost too much, memory that does not come back.  T15's out-of-order queue
 * is in ofo_test.c.
 *
 * SOURCES: @net tests/host/tcp/harness.c
 * FLAVOURS: plain asan
 */
#include "tests/host/tcp/named.h"

/* The window update is lost: the probe must draw an answer, so it carries data. */
static void t1_probe_has_data_body(void)
{
	begin();
	h.wnd = 0;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_send(s, data, 3 * MSS, 0), 3 * MSS);
	HOST_CHECK_EQ(h_within(TH_ACK, 5000)->len, 1);
	h.wnd = 5000; /* what the answer says */
	h_ack(&h, h.ack);
	for (unsigned n = 0; n < 3 * MSS;)
		n += h_expect(TH_ACK)->len;
	end();
}

/* The receiver takes his window back again and again: the stream goes on at what there is. */
static void t2_shrinking_receiver_body(void)
{
	unsigned rounds = 0;

	begin();
	HOST_CHECK_EQ(h_send(s, data, 30 * MSS, 0), 30 * MSS);
	while (tp->snd_una != tp->write_seq && rounds++ < 200) {
		while (h_next())
			;
		h.wnd = (uint16_t)(rounds % 3 ? 4000 : 1000);
		h_ack(&h, tp->snd_nxt);
		h_wait(1000);
	}
	HOST_CHECK_EQ(tp->snd_una, tp->write_seq);
	HOST_CHECK(rounds < 100);
	end();
}

/* Segments longer than half of the buffer (slirp sends 32 KiB): the window opens again all the same. */
static void t3_large_segments_small_buffer_body(void)
{
	uint32_t done = 0;

	listening();
	HOST_CHECK_EQ(h_setopt(l, SOL_SOCKET, SO_RCVBUF, 2048), 0);
	h.mss = 1460;
	accepted();
	for (unsigned i = 0; i < 200 && done < 40000; i++) {
		uint32_t room = tp->rcv_adv - tp->rcv_nxt;
		ssize_t n;

		if (room)
			h_inject(&h, TH_ACK, h.seq, h.ack, min(room, 1460u));
		h.seq = tp->rcv_nxt;
		while ((n = h_recv(s, data, sizeof(data), 0)) > 0)
			done += (uint32_t)n;
		h_drain();
		h_sleep(50);
	}
	HOST_CHECK(done >= 40000);
	end();
}

/* Timestamps in the SYN, none in the acknowledgement or later. */
static void t4_timestamps_left_out_body(void)
{
	listening();
	h.ts = true;
	h_syn(&h, TH_SYN, 1000);
	h.seq = 1001;
	h.ack = h_expect(TH_SYN | TH_ACK)->tcp.seq + 1;
	h.ts = false;
	h_ack(&h, h.ack);
	s = h_accept(l);
	HOST_CHECK(s);
	tp = tcp_of(s);
	his_data(10);
	HOST_CHECK_EQ(h_recv(s, data, 100, 0), 10);
	end();
}

/* Crossing SYNs in each order, with a SYN-ACK lost. */
static void t5_simultaneous_open_body(void)
{
	listening();
	h.lport = 7000;
	s = h_connect(&h);
	h_syn(&h, TH_SYN, 500);
	h_expect(TH_SYN | TH_ACK);
	h_syn(&h, TH_SYN, 500); /* ours was lost: his SYN comes again */
	h_drain();
	h_syn(&h, TH_SYN | TH_ACK, 500);
	HOST_CHECK_EQ(tcp_state(tcp_of(s)), TCP_ESTABLISHED);
	h.seq = 501;
	his_data(5);
	HOST_CHECK_EQ(h_recv(s, data, 10, 0), 5);
	end();
}

/* Resets inside of the window, close to the wrap too: challenges with our numbers, and few. */
static void t6_reset_in_window_body(void)
{
	static const uint32_t isns[] = { 1000, 0x7fffffff, 0xfffffff0, 0xffffffff };

	for (unsigned i = 0; i < ARRAY_SIZE(isns); i++) {
		unsigned answers = 0;
		struct pbuf *p;

		listening();
		s = h_established(&h, l, isns[i]);
		tp = tcp_of(s);
		for (unsigned k = 0; k < 200; k++) {
			h_inject(&h, TH_RST, h.seq + 1 + 37 * k, 0, 0);
			while ((p = h_next())) {
				HOST_CHECK_EQ(p->tcp.tcp_flags, TH_ACK);
				HOST_CHECK_EQ(p->tcp.seq, h.ack);
				HOST_CHECK_EQ(p->tcp.ack, h.seq);
				answers++;
			}
		}
		HOST_CHECK_EQ(answers, 1);
		h_inject(&h, TH_RST, h.seq, 0, 0); /* what follows a challenge */
		HOST_CHECK_EQ(tcp_state(tp), TCP_CLOSE);
		end();
	}
}

/* A SYN that comes twice is answered twice, alike; a lost SYN-ACK comes again by itself. */
static void t7_duplicate_syn_body(void)
{
	uint32_t isn;

	listening();
	h_syn(&h, TH_SYN, 1000);
	isn = h_expect(TH_SYN | TH_ACK)->tcp.seq;
	h_syn(&h, TH_SYN, 1000);
	HOST_CHECK_EQ(h_expect(TH_SYN | TH_ACK)->tcp.seq, isn);
	HOST_CHECK_EQ(h_within(TH_SYN | TH_ACK, 2000)->tcp.seq, isn);
	h.seq = 1001;
	h_ack(&h, isn + 1);
	s = h_accept(l);
	HOST_CHECK(s);
	end();
}

static void t8_lost_syn_body(void)
{
	listening();
	h.lport = 7000;
	s = h_connect(&h);
	HOST_CHECK_EQ(h_within(TH_SYN, 2000)->tcp.seq, h.ack - 1);
	h_syn(&h, TH_SYN | TH_ACK, 1000);
	h_expect(TH_ACK);
	h.seq = 1001;
	end();
}

/* Half-closed by the peer: what we write, and our FIN, are repeated until acknowledged. */
static void t9_close_wait_retransmits_body(void)
{
	begin();
	h_inject(&h, TH_FIN | TH_ACK, h.seq++, h.ack, 0);
	h_expect(TH_ACK);
	HOST_CHECK_EQ(h_send(s, data, 10, 0), 10);
	h_expect(TH_ACK);
	HOST_CHECK_EQ(h_within(TH_ACK, 2000)->len, 10);
	h_close(s);
	s = NULL;
	h_drain();
	HOST_CHECK(h_wait(5000));
	h_drain();
	h_ack(&h, h.ack + 11);
	HOST_CHECK(!ep_lookup(&h_us, H_PORT, &h.addr, h.port));
	end();
}

/* A full accept queue: handshakes wait, none is told that it is connected and forgotten. */
static void t10_accept_queue_body(void)
{
	unsigned got = 0;

	l = h_listen(2);
	s = NULL;
	for (unsigned i = 0; i < 2500; i++) {
		h_peer_init(&h, (uint16_t)(4000 + i));
		h_syn(&h, TH_SYN, 1);
		h.ack = h_expect(TH_SYN | TH_ACK)->tcp.seq + 1;
		h.seq = 2;
		h_ack(&h, h.ack);
		if (i % 3 == 2)
			while ((s = h_accept(l))) {
				s->linger_on = true;
				h_close(s);
				got++;
			}
		h_drain();
	}
	s = NULL;
	HOST_CHECK(got >= 2499);
	end();
	/* Beyond the backlog: the SYN is dropped and may come again, no reset. */
	l = h_listen(1);
	for (unsigned i = 0; i < 2; i++) {
		h_peer_init(&h, (uint16_t)(4000 + i));
		h_syn(&h, TH_SYN, 1);
		h.ack = h_expect(TH_SYN | TH_ACK)->tcp.seq + 1;
		h.seq = 2;
		h_ack(&h, h.ack);
	}
	h_peer_init(&h, 4100);
	h_syn(&h, TH_SYN, 1);
	h_quiet();
	s = h_accept(l);
	HOST_CHECK(s);
	h_syn(&h, TH_SYN, 1);
	h_expect(TH_SYN | TH_ACK);
	end();
}

/* Reset before accept(): the program gets an error from its calls, never a wait. */
static void t11_reset_before_accept_body(void)
{
	listening();
	h_syn(&h, TH_SYN, 1);
	h.ack = h_expect(TH_SYN | TH_ACK)->tcp.seq + 1;
	h.seq = 2;
	h_ack(&h, h.ack);
	h_inject(&h, TH_RST, h.seq, 0, 0);
	s = h_accept(l);
	HOST_CHECK(s);
	HOST_CHECK_EQ(h_send(s, data, 10, MSG_DONTWAIT), -ECONNRESET);
	HOST_CHECK_EQ(h_send(s, data, 10, MSG_DONTWAIT), -EPIPE);
	end();
}

static void t12_no_data_with_syn_body(void)
{
	struct pbuf *p;

	begin();
	HOST_CHECK_EQ(h_send(s, data, 10, 0), 10);
	p = h_expect(TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, h.ack);
	end();
	listening();
	h.lport = 7000;
	s = h_connect(&h);
	HOST_CHECK_EQ(h_send(s, data, 10, MSG_DONTWAIT), -EAGAIN);
	h_quiet();
	end();
}

/* A SYN from nobody; reports with impossible numbers; streams of single bytes. */
static void t13_raw_packets_body(void)
{
	static const uint32_t far[] = { 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 1 };

	listening();
	h.addr = h_v6 ? ADDR_ANY6 : addr_from_v4("\0\0\0\0");
	h_syn(&h, TH_SYN, 1);
	h_quiet();
	h_peer_init(&h, 4000);
	h.sack_ok = true;
	accepted();
	HOST_CHECK_EQ(h_send(s, data, 10 * MSS, 0), 10 * MSS);
	h_drain();
	for (unsigned i = 0; i < ARRAY_SIZE(far) * ARRAY_SIZE(far); i++) {
		h.nr_sack = 1;
		h.sack[0][0] = h.ack + far[i % ARRAY_SIZE(far)];
		h.sack[0][1] = h.ack + far[i / ARRAY_SIZE(far)];
		h_ack(&h, h.ack);
	}
	h.nr_sack = 0;
	HOST_CHECK_EQ(tp->sacked, 0);
	for (unsigned i = 0; i < 3000; i++)
		h_inject(&h, TH_ACK, h.seq + 1 + i * 2 % 3001, h.ack, 1);
	h_drain();
	HOST_CHECK_EQ(tcp_state(tp), TCP_ESTABLISHED);
	end();
}

static void t14_option_length_0_body(void)
{
	static const uint8_t bad[][4] = { { 3, 0, 0, 0 }, { 255, 0, 0, 0 }, { 8, 0, 0, 0 }, { 5, 0, 0, 0 },
					  { 2, 0, 0, 0 }, { 4, 0, 0, 0 },   { 1, 1, 3, 0 }, { 5, 1, 0, 0 } };

	listening();
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		h.port++;
		h_raw(&h, TH_SYN, 1, 0, bad[i], 4, NULL, 0);
		h_expect(TH_SYN | TH_ACK);
	}
	end();
}

/* CVE-2019-11477, 11478, 11479: blocks that would cut segments to crumbs, and tiny segment sizes. */
static void t15_sack_attacks_body(void)
{
	unsigned before, after = 0;
	struct tcp_seg *e;

	listening();
	h_offload(true);
	h.sack_ok = true;
	h.mss = 48;
	accepted();
	HOST_CHECK(tp->mss >= TCP_MSS_FLOOR - 12);
	HOST_CHECK_EQ(h_setopt(s, SOL_SOCKET, SO_SNDBUF, 400000), 0);
	tp->cwnd = 100000;
	HOST_CHECK_EQ(h_send(s, data, 60000, 0), 60000);
	h_drain();
	before = atomic_load(&tp->wmem);
	for (unsigned i = 0; i < 5000; i++) {
		h.nr_sack = 4;
		for (unsigned k = 0; k < 4; k++) {
			h.sack[k][0] = h.ack + 8 + (i * 4 + k) * 8 % 59000;
			h.sack[k][1] = h.sack[k][0] + 8; /* parts of segments: they mark nothing */
		}
		h_ack(&h, h.ack);
		if (!(i % 64))
			h_drain();
	}
	list_for_each_entry (e, &tp->txq, link)
		after++;
	HOST_CHECK(after < 60000 / tp->mss + 10);
	HOST_CHECK(atomic_load(&tp->wmem) <= before + after * (sizeof(*e) + 64));
	h.nr_sack = 0;
	h_offload(false);
	end();
}

/* listen() with a million allocates nothing in advance; a table lookup does not grow with sockets. */
static void t16_huge_backlog_body(void)
{
	int64_t bytes = h_charged_bytes(), pages = h_charged_pages();

	l = h_listen(1000000);
	s = NULL;
	h_peer_init(&h, 4000);
	HOST_CHECK(h_charged_bytes() - bytes < 16384);
	HOST_CHECK(h_charged_pages() - pages <= 1);
	accepted();
	end();
}

/* Pressure closes the window; when it is over, the window is what it was. */
static void m1_recovers_after_pressure_body(void)
{
	uint32_t before, during = 0, after = 0;

	listening();
	h.wscale = 0;
	HOST_CHECK_EQ(h_setopt(l, SOL_SOCKET, SO_RCVBUF, 500000), 0);
	accepted();
	for (unsigned i = 0; i < 100; i++) {
		his_data(MSS);
		h_recv(s, data, sizeof(data), 0);
	}
	h_drain();
	before = tp->rcv_adv - tp->rcv_nxt;
	h_limit(4);
	for (unsigned i = 0; i < 2000; i++) {
		h_inject(&h, TH_ACK, h.seq, h.ack, MSS);
		h.seq = tp->rcv_nxt;
		h_drain();
	}
	during = tp->rcv_adv - tp->rcv_nxt;
	HOST_CHECK(during < before);
	h_limit(-1);
	for (unsigned i = 0; i < 400; i++) {
		uint32_t n = min(tp->rcv_adv - tp->rcv_nxt, MSS);

		while (h_recv(s, data, sizeof(data), 0) > 0)
			;
		h_drain();
		if (n)
			h_inject(&h, TH_ACK, h.seq, h.ack, n);
		h.seq = tp->rcv_nxt;
	}
	after = tp->rcv_adv - tp->rcv_nxt;
	HOST_CHECK(after >= before - 2 * MSS);
	end();
}

/* More ends than TIME_WAIT may hold: the oldest go, new connections are never refused. */
static void m3_time_wait_bounded_body(void)
{
	h_param("net.tcp.timewait_max", "50");
	listening();
	for (unsigned i = 0; i < 500; i++) {
		h_peer_init(&h, (uint16_t)(4000 + i));
		s = h_established(&h, l, 1);
		h_close(s);
		h_expect(TH_FIN | TH_ACK);
		h_inject(&h, TH_FIN | TH_ACK, h.seq, h.ack + 1, 0);
		h_expect(TH_ACK);
		HOST_CHECK(tcp_tw_count() <= 50);
	}
	s = NULL;
	end();
}

#define TESTS(X)                                                                                   \
	X(t1_probe_has_data) X(t2_shrinking_receiver) X(t3_large_segments_small_buffer)            \
	X(t4_timestamps_left_out) X(t5_simultaneous_open) X(t6_reset_in_window)                    \
	X(t7_duplicate_syn) X(t8_lost_syn) X(t9_close_wait_retransmits) X(t10_accept_queue)        \
	X(t11_reset_before_accept) X(t12_no_data_with_syn) X(t13_raw_packets)                      \
	X(t14_option_length_0) X(t15_sack_attacks) X(t16_huge_backlog)                             \
	X(m1_recovers_after_pressure) X(m3_time_wait_bounded)
MAIN(TESTS)
