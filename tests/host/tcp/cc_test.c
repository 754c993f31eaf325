/* SPDX-License-Identifier: MIT */
/*
 * How the window grows and falls: Reno (RFC 5681), CUBIC (RFC 9438) against its
 * own formula, HyStart++ (RFC 9406), ECN (RFC 3168), the choice of an algorithm.
 *
 * SOURCES: @net tests/host/tcp/harness.c
 * FLAVOURS: plain asan
 * LDLIBS: -lm
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/host/tcp/harness.h"

#define MSS 1000u

static struct sock *l, *s;
static struct tcp_sock *tp;
static struct h_peer h;

static void begin(void)
{
	l = h_listen(5);
	s = h_established(&h, l, 1000);
	tp = tcp_of(s);
	HOST_CHECK_EQ(h_setopt(s, SOL_SOCKET, SO_SNDBUF, 4 << 20), 0);
}

static void end(void)
{
	s->linger_on = true;
	h_close(s);
	h_close(l);
	h_drain();
}

static void name_is(const char *name)
{
	char b[TCP_CC_NAME_MAX];
	unsigned len = sizeof(b);

	HOST_CHECK_EQ(sock_getsockopt(s, SOL_TCP, TCP_CONGESTION, b, &len), 0);
	HOST_CHECK(!strcmp(b, name));
}

static void choice_body(void)
{
	h_peer_init(&h, 4000);
	begin();
	name_is("cubic");
	HOST_CHECK_EQ(sock_setsockopt(s, SOL_TCP, TCP_CONGESTION, "bbr", 3), -ENOENT);
	name_is("cubic");
	HOST_CHECK_EQ(sock_setsockopt(s, SOL_TCP, TCP_CONGESTION, "reno", 4), 0);
	name_is("reno");
	end();
	/* For new sockets; a listener's choice is inherited. */
	h_param("net.tcp.cc", "reno");
	begin();
	name_is("reno");
	end();
	h_param("net.tcp.cc", "cubic");
}

/* A round trip in which @n segments are always in flight, and as many are acknowledged. */
static void round_trip(unsigned n, uint64_t rtt_ms)
{
	h_sleep(rtt_ms);
	for (unsigned i = 0; i < n; i++) {
		tp->snd_una += MSS;
		tp->snd_nxt = tp->snd_una + n * MSS;
		tcp_cc_acked(tp, MSS, clock_ns());
	}
	tp->snd_nxt = tp->snd_una;
}

static void reno_body(void)
{
	h_param("net.tcp.cc", "reno");
	h_peer_init(&h, 4000);
	begin();
	/* Slow start doubles, avoidance adds one segment a round trip. */
	tp->cwnd = 10 * MSS;
	round_trip(10, 100);
	HOST_CHECK_EQ(tp->cwnd, 20 * MSS);
	tp->ssthresh = 20 * MSS;
	for (unsigned i = 0; i < 10; i++)
		round_trip(tp->cwnd / MSS, 100);
	HOST_CHECK_EQ(tp->cwnd, 30 * MSS);
	/* A window that is not used does not grow. */
	round_trip(3, 100);
	HOST_CHECK_EQ(tp->cwnd, 30 * MSS);
	tp->snd_nxt = tp->snd_una + 30 * MSS;
	HOST_CHECK_EQ(tp->cc->ssthresh(tp), 15 * MSS);
	tp->snd_nxt = tp->snd_una;
	end();
}

/* The curve after a loss at 200 segments, against W(t) = 0.4 (t - K)^3 + 200. */
static void cubic_body(void)
{
	const double w_max = 200, k = cbrt(w_max * 0.3 / 0.4);
	uint64_t t0;

	h_peer_init(&h, 4000);
	begin();
	tp->srtt = 100 * NSEC_PER_MSEC;
	tp->cwnd = 200 * MSS;
	tp->snd_nxt = tp->snd_una + 200 * MSS;
	tp->ssthresh = tp->cc->ssthresh(tp);
	HOST_CHECK_EQ(tp->ssthresh, 140 * MSS);
	tp->cwnd = tp->ssthresh;
	tp->snd_nxt = tp->snd_una;
	round_trip(140, 100);
	t0 = tp->cc_state.cubic.epoch;
	for (unsigned i = 0; i < 90; i++) {
		double t, want;

		round_trip(tp->cwnd / MSS, 100);
		t = (double)(clock_ns() - t0) / 1e9;
		want = 0.4 * pow(t - k, 3) + w_max;
		/* Within 3 %: the target is one round trip ahead, and is reached during one. */
		if (fabs(tp->cwnd / (double)MSS - want) > 0.03 * want + 1)
			host_fail(__FILE__, __LINE__, "at %u ms (K %u ms): %u segments instead of %u",
				  (unsigned)(t * 1000), (unsigned)(k * 1000), tp->cwnd / MSS, (unsigned)want);
	}
	/* Fast convergence: a loss below the last maximum lowers it further. */
	tp->cwnd = 100 * MSS;
	tp->cc_state.cubic.w_max = 200 * MSS;
	tp->snd_nxt = tp->snd_una + 100 * MSS;
	HOST_CHECK_EQ(tp->cc->ssthresh(tp), 70 * MSS);
	HOST_CHECK_EQ(tp->cc_state.cubic.w_max, 85 * MSS);
	tp->cc->undo(tp);
	HOST_CHECK_EQ(tp->cc_state.cubic.w_max, 200 * MSS);
	tp->snd_nxt = tp->snd_una;
	end();
	/* On a short path it is never slower than Reno with the same reduction. */
	begin();
	tp->srtt = NSEC_PER_MSEC;
	tp->cwnd = 14 * MSS;
	tp->ssthresh = 14 * MSS;
	tp->cc_state.cubic.w_max = 20 * MSS;
	for (unsigned i = 0; i < 100; i++)
		round_trip(tp->cwnd / MSS, 1);
	HOST_CHECK(tp->cwnd >= 14 * MSS + 50 * MSS);
	end();
}

/* Round trips that rise end the doubling before a loss; a dip says that it was jitter. */
static void hystart_body(void)
{
	h_peer_init(&h, 4000);
	begin();
	tp->cwnd = 16 * MSS;
	tp->ssthresh = UINT32_MAX / 2;
	for (unsigned r = 0; r < 12 && tp->cwnd < tp->ssthresh; r++) {
		unsigned n = tp->cwnd / MSS;

		h_sleep(50 + 8 * r);
		for (unsigned i = 0; i < n; i++) {
			tcp_rtt_sample(tp, (50 + 8 * r) * NSEC_PER_MSEC, clock_ns());
			tp->snd_una += MSS;
			tp->snd_nxt = tp->snd_una + n * MSS;
			tcp_cc_acked(tp, MSS, clock_ns());
		}
	}
	HOST_CHECK(tp->ssthresh < 512 * MSS); /* 16 would have become thousands */
	tp->snd_nxt = tp->snd_una;
	end();
	/* A steady path keeps doubling. */
	begin();
	tp->cwnd = 16 * MSS;
	for (unsigned r = 0; r < 6; r++) {
		unsigned n = tp->cwnd / MSS;

		h_sleep(50);
		for (unsigned i = 0; i < n; i++) {
			tcp_rtt_sample(tp, 50 * NSEC_PER_MSEC, clock_ns());
			tp->snd_una += MSS;
			tp->snd_nxt = tp->snd_una + n * MSS;
			tcp_cc_acked(tp, MSS, clock_ns());
		}
	}
	HOST_CHECK_EQ(tp->cwnd, 1024 * MSS);
	tp->snd_nxt = tp->snd_una;
	end();
}

#define CE 3
#define ECT0 2

static unsigned tos_of(const struct pbuf *p)
{
	const uint8_t *ip = p->head + p->nh;

	return h_v6 ? (get_be16(ip) >> 4) & 0xff : ip[1];
}

/* Both directions of ECN on a connection that the peer opened. */
static void ecn_body(void)
{
	static uint8_t data[20 * MSS];
	struct pbuf *p;
	uint32_t cwnd;

	h_peer_init(&h, 4000);
	l = h_listen(5);
	h_syn(&h, TH_SYN | TH_ECE | TH_CWR, 1000);
	p = h_next();
	HOST_CHECK_EQ(p->tcp.tcp_flags, TH_SYN | TH_ACK | TH_ECE);
	HOST_CHECK_EQ(tos_of(p) & 3, 0);
	h.seq = 1001;
	h.ack = p->tcp.seq + 1;
	h_ack(&h, h.ack);
	s = h_accept(l);
	tp = tcp_of(s);
	HOST_CHECK(tp->opts & TCP_OPT_ECN);
	HOST_CHECK_EQ(h_setopt(s, SOL_SOCKET, SO_SNDBUF, 1 << 20), 0);
	/* Receiver: a mark is echoed until CWR. */
	h.tos = CE;
	h_inject(&h, TH_ACK, h.seq, h.ack, 100);
	h.seq += 100;
	h.tos = ECT0;
	HOST_CHECK_EQ(h_next()->tcp.tcp_flags, TH_ACK | TH_ECE);
	h_inject(&h, TH_ACK, h.seq, h.ack, MSS);
	h_inject(&h, TH_ACK, h.seq + MSS, h.ack, MSS);
	h.seq += 2 * MSS;
	HOST_CHECK_EQ(h_next()->tcp.tcp_flags, TH_ACK | TH_ECE);
	h_drain();
	h_inject(&h, TH_ACK | TH_CWR, h.seq, h.ack, MSS);
	h_inject(&h, TH_ACK, h.seq + MSS, h.ack, MSS);
	h.seq += 2 * MSS;
	HOST_CHECK_EQ(h_next()->tcp.tcp_flags, TH_ACK);
	h.tos = 0;
	h_drain();
	/* Sender: data are marked as capable, bare acknowledgements are not. */
	HOST_CHECK_EQ(h_send(s, data, 20 * MSS, 0), 20 * MSS);
	for (unsigned i = 0; i < 10; i++)
		HOST_CHECK_EQ(tos_of(h_next()) & 3, ECT0);
	h_quiet();
	cwnd = tp->cwnd;
	h_inject(&h, TH_ACK | TH_ECE, h.seq, h.ack + MSS, 0);
	HOST_CHECK(tp->cwnd < cwnd);
	cwnd = tp->cwnd;
	/* Once per window; the next new segment says so. */
	h_inject(&h, TH_ACK | TH_ECE, h.seq, h.ack + 2 * MSS, 0);
	HOST_CHECK_EQ(tp->cwnd, cwnd);
	for (unsigned k = 3; k <= 6; k++)
		h_inject(&h, TH_ACK, h.seq, h.ack + k * MSS, 0);
	p = h_next();
	HOST_CHECK(p && (p->tcp.tcp_flags & TH_CWR));
	p = h_next();
	HOST_CHECK(p && !(p->tcp.tcp_flags & TH_CWR));
	/* A repetition is not capable. */
	h_drain();
	while (!net_stat_sum(NS_tcp_retransmits)) {
		h_drain();
		HOST_CHECK(h_wait(20000));
	}
	HOST_CHECK_EQ(tos_of(h_next()) & 3, 0);
	end();
	/* As opener: only if asked to. */
	h_peer_init(&h, 4001);
	h.lport = 3000;
	s = h_connect(&h);
	s->linger_on = true;
	h_close(s);
	h_drain();
	h_param("net.tcp.ecn", "1");
	h.lport = 3001;
	{
		union sockaddr_any a;
		unsigned len = addr_export(h_v6 ? AF_INET6 : AF_INET, &h.addr, h.port, &a);

		s = h_socket();
		HOST_CHECK_EQ(s->ops->connect(s, &a, len, true), -EINPROGRESS);
		p = h_next();
		HOST_CHECK_EQ(p->tcp.tcp_flags, TH_SYN | TH_ECE | TH_CWR);
		h.lport = p->tcp.sport;
		h.ack = p->tcp.seq + 1;
		h_syn(&h, TH_SYN | TH_ACK | TH_ECE, 77);
		HOST_CHECK_EQ(h_next()->tcp.tcp_flags, TH_ACK);
		HOST_CHECK(tcp_of(s)->opts & TCP_OPT_ECN);
		s->linger_on = true;
		h_close(s);
	}
}

#define TEST(name)                                                                                 \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		assert_int_equal(h_run(name##_body), 0);                                           \
	}
#define TESTS(X) X(choice) X(reno) X(cubic) X(hystart) X(ecn)
TESTS(TEST)

int main(void)
{
#define ENTRY(name) cmocka_unit_test(test_##name),
	const struct CMUnitTest tests[] = { TESTS(ENTRY) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
