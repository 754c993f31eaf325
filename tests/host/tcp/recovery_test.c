/* SPDX-License-Identifier: MIT */
/*
 * What is sent again, when, and how fast: RACK-TLP (RFC 8985), PRR (RFC 6937),
 * NewReno with limited transmit (RFC 6582, 3042), F-RTO (RFC 5682), undo by
 * timestamps and duplicate reports (RFC 3522, 3708), RTO (RFC 6298).
 *
 * SOURCES: @net tests/host/tcp/harness.c
 * FLAVOURS: plain asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/host/tcp/harness.h"

#define MSS 1000u
#define RTT 100u /* ms */

static struct sock *l, *s;
static struct tcp_sock *tp;
static struct h_peer h;
static uint32_t first; /* sequence number of the burst's first byte */

/* An established connection with one round-trip sample of RTT. */
static void begin(bool sack, bool ts)
{
	l = h_listen(5);
	h_peer_init(&h, 4000);
	h.sack_ok = sack;
	h.ts = ts;
	h.delay_ms = RTT;
	if (ts)
		h.mss = MSS + 12;
	s = h_established(&h, l, 1000);
	tp = tcp_of(s);
	HOST_CHECK_EQ(tp->mss, MSS);
	HOST_CHECK_EQ(h_setopt(s, SOL_SOCKET, SO_SNDBUF, 1 << 20), 0);
	first = h.ack;
}

static void end(void)
{
	s->linger_on = true;
	h_close(s);
	h_close(l);
	h_drain();
}

/* Sends @n segments, of which @out leave at once. */
static void burst(unsigned n, unsigned out)
{
	static uint8_t data[100 * MSS];

	HOST_CHECK_EQ(h_send(s, data, n * MSS, 0), n * MSS);
	for (unsigned i = 0; i < out; i++) {
		struct pbuf *p = h_expect(TH_ACK);

		HOST_CHECK_EQ(p->len, MSS);
		h.tsecr = p->tcp.tsval;
	}
	h_quiet();
}

/* Acknowledges @n segments of the burst and reports segments [from, to). */
static void sack(unsigned n, unsigned from, unsigned to)
{
	h.nr_sack = from != to;
	h.sack[0][0] = first + from * MSS;
	h.sack[0][1] = first + to * MSS;
	h_ack(&h, first + n * MSS);
	h.nr_sack = 0;
}

static void expect_seg(unsigned k)
{
	struct pbuf *p = h_expect(TH_ACK);

	HOST_CHECK_EQ((int32_t)(p->tcp.seq - first), k * MSS);
	HOST_CHECK_EQ(p->len, MSS);
}

/* Three segments above a hole: it is repeated at once (RFC 8985 6.2, as RFC 5681). */
static void dupthresh_body(void)
{
	begin(true, false);
	burst(10, 10);
	h_sleep(RTT);
	sack(0, 1, 2);
	sack(0, 1, 3);
	h_quiet();
	sack(0, 1, 4);
	expect_seg(0);
	HOST_CHECK_EQ(tp->ca, CA_RECOVERY);
	/* What it repairs ends the recovery. */
	h_sleep(RTT);
	sack(10, 0, 0);
	HOST_CHECK_EQ(tp->ca, CA_OPEN);
	HOST_CHECK_EQ(tp->cwnd, tp->ssthresh);
	HOST_CHECK_EQ(tp->cwnd, 7 * MSS); /* CUBIC: 0.7 */
	h_quiet();
	end();
}

/* One segment above a hole: a quarter of a round trip for reordering, then it is lost. */
static void reorder_timer_body(void)
{
	uint64_t t0;

	begin(true, false);
	t0 = clock_ns();
	burst(3, 3);
	h_sleep(RTT);
	sack(0, 2, 3);
	h_quiet();
	HOST_CHECK(h_wait(200));
	expect_seg(0);
	HOST_CHECK(h_next_time() - t0 >= (RTT + RTT / 4) * NSEC_PER_MSEC);
	HOST_CHECK(h_next_time() - t0 <= (RTT + RTT / 4 + 5) * NSEC_PER_MSEC);
	h_quiet(); /* nothing has come back yet that would make room for the second */
	h_sleep(RTT);
	sack(1, 2, 3);
	expect_seg(1);
	end();
}

/* Reordering that fills the hole in time costs nothing, and is remembered. */
static void reordered_body(void)
{
	begin(true, false);
	burst(10, 10);
	h_sleep(RTT);
	sack(0, 1, 2);
	h_sleep(10);
	sack(2, 0, 0);
	h_quiet();
	HOST_CHECK(tp->rack.reordered);
	HOST_CHECK_EQ(tp->ca, CA_OPEN);
	/* Three above a hole are no proof any more: time is. */
	sack(2, 3, 6);
	h_quiet();
	HOST_CHECK(h_wait(RTT));
	expect_seg(2);
	end();
}

/* The repetition is lost as well: found by what was sent after it, without a time-out. */
static void lost_twice_body(void)
{
	begin(true, false);
	burst(20, 10);
	h_sleep(RTT);
	sack(0, 1, 4);
	expect_seg(0);
	h_drain();
	sack(0, 1, 10);
	h_drain(); /* new data, behind the repetition */
	HOST_CHECK(seq_gt(tp->snd_nxt, first + 10 * MSS));
	h_sleep(RTT);
	sack(0, 1, 13);
	expect_seg(0);
	HOST_CHECK_EQ(tp->ca, CA_RECOVERY);
	HOST_CHECK_EQ(net_stat_sum(NS_tcp_timeouts), 0);
	end();
}

/* The tail is lost: after two round trips its last segment, whose answer finds the rest. */
static void tail_probe_body(void)
{
	uint64_t t0 = 0;

	begin(true, false);
	t0 = clock_ns();
	burst(5, 5);
	HOST_CHECK(h_wait(1000));
	expect_seg(4);
	HOST_CHECK_EQ((h_next_time() - t0) / NSEC_PER_MSEC, 2 * RTT);
	HOST_CHECK_EQ(net_stat_sum(NS_tcp_tail_probes), 1);
	h_sleep(RTT);
	sack(2, 4, 5);
	expect_seg(2);
	HOST_CHECK_EQ(tp->ca, CA_RECOVERY);
	expect_seg(3);
	HOST_CHECK_EQ(net_stat_sum(NS_tcp_timeouts), 0);
	end();
}

/* The probe repaired the only loss: the window falls (8985 7.4.2); a duplicate: it does not. */
static void probe_loss_body(void)
{
	uint32_t cwnd;

	begin(true, false);
	burst(5, 5);
	HOST_CHECK(h_wait(1000));
	expect_seg(4);
	cwnd = tp->cwnd;
	h_sleep(RTT);
	sack(5, 0, 0);
	HOST_CHECK(tp->cwnd < cwnd);
	end();
}
static void probe_dup_body(void)
{
	uint32_t cwnd, echo;

	begin(true, false);
	burst(5, 5);
	HOST_CHECK(h_wait(1000));
	expect_seg(4);
	cwnd = tp->cwnd;
	sack(5, 4, 5);
	HOST_CHECK_EQ(tp->ca, CA_OPEN);
	HOST_CHECK(tp->cwnd >= cwnd);
	end();
	/* A timestamp shows that the originals were answered, only late. */
	begin(true, true);
	burst(5, 5);
	echo = h.tsecr;
	HOST_CHECK(h_wait(1000));
	expect_seg(4);
	cwnd = tp->cwnd;
	h.tsecr = echo;
	sack(5, 0, 0);
	HOST_CHECK(tp->cwnd >= cwnd);
	end();
}

/* During a recovery what leaves stays in proportion to what arrives. */
static void prr_body(void)
{
	unsigned sent = 1;

	begin(true, false);
	h.wnd = 65535;
	HOST_CHECK_EQ(tcp_cc_find("reno"), &tcp_reno);
	tcp_cc_set(tp, &tcp_reno);
	burst(40, 10);
	h_sleep(RTT);
	sack(0, 1, 2);
	h_drain();
	sack(0, 1, 3);
	h_drain();
	sack(0, 1, 4);
	expect_seg(0);
	sent += h_drain();
	for (unsigned k = 5; k <= 10; k++) {
		sack(0, 1, k);
		sent += h_drain();
	}
	/* Nine arrived; half as many (ssthresh is half of the flight) and the first may have left. */
	HOST_CHECK(sent >= 4 && sent <= 6);
	sack(10, 0, 0);
	h_drain();
	end();
}

/* No SACK: new data on the first two duplicates (RFC 3042), then the hole, then the next hole. */
static void newreno_body(void)
{
	begin(false, false);
	burst(30, 10);
	h_sleep(RTT);
	h_ack(&h, first);
	expect_seg(10);
	h_quiet();
	h_ack(&h, first);
	expect_seg(11);
	h_quiet();
	h_ack(&h, first);
	expect_seg(0);
	h_quiet();
	HOST_CHECK_EQ(tp->ca, CA_RECOVERY);
	h_ack(&h, first + 4 * MSS); /* partial */
	expect_seg(4);
	h_drain();
	h_ack(&h, first + 12 * MSS);
	HOST_CHECK_EQ(tp->ca, CA_OPEN);
	h_drain();
	/* Duplicates that our repetitions made start nothing (RFC 6582, section 3.2, step 2). */
	for (unsigned i = 0; i < 3; i++)
		h_ack(&h, first + 12 * MSS);
	HOST_CHECK_EQ(tp->ca, CA_OPEN);
	h_drain();
	end();
}

/* A time-out repeats one segment, doubles, and slow start repairs the rest. */
static void timeout_body(void)
{
	uint64_t t0, rto;

	begin(false, false);
	burst(4, 4);
	t0 = clock_ns();
	rto = tp->rto;
	HOST_CHECK(rto >= TCP_RTO_MIN);
	HOST_CHECK(h_wait(10000));
	expect_seg(0);
	HOST_CHECK_EQ(h_next_time() - t0, rto);
	h_quiet();
	HOST_CHECK_EQ(tp->ca, CA_LOSS);
	HOST_CHECK_EQ(tp->cwnd, MSS);
	t0 = clock_ns();
	HOST_CHECK(h_wait(10000));
	expect_seg(0);
	HOST_CHECK_EQ(h_next_time() - t0, 2 * rto);
	h_ack(&h, first + MSS);
	expect_seg(1);
	expect_seg(2);
	h_ack(&h, first + 4 * MSS);
	HOST_CHECK_EQ(tp->ca, CA_OPEN);
	h_quiet();
	end();
}

/* The time-out was premature: new data instead of repetitions, and the window is back (F-RTO). */
static void frto_body(void)
{
	uint32_t cwnd;

	begin(false, false);
	burst(20, 10);
	cwnd = tp->cwnd;
	HOST_CHECK(h_wait(10000));
	expect_seg(0);
	h_quiet();
	h_ack(&h, first + MSS); /* the original's late answer */
	expect_seg(10);
	expect_seg(11);
	h_quiet();
	h_ack(&h, first + 2 * MSS); /* something that was sent once has arrived */
	HOST_CHECK_EQ(tp->ca, CA_OPEN);
	HOST_CHECK(tp->cwnd >= cwnd);
	HOST_CHECK_EQ(net_stat_sum(NS_tcp_spurious), 1);
	HOST_CHECK_EQ(net_stat_sum(NS_tcp_retransmits), 1);
	end();
}
/* With SACK a report of what was sent once is enough. */
static void frto_sack_body(void)
{
	uint32_t cwnd;

	begin(true, false);
	burst(10, 10);
	cwnd = tp->cwnd;
	while (!net_stat_sum(NS_tcp_timeouts)) {
		HOST_CHECK(h_wait(10000));
		h_drain();
	}
	HOST_CHECK_EQ(tp->ca, CA_LOSS);
	sack(3, 0, 0);
	HOST_CHECK_EQ(tp->ca, CA_OPEN);
	HOST_CHECK(tp->cwnd >= cwnd);
	h_quiet();
	end();
}
/* A real loss: the duplicate acknowledgement after the time-out says so, and repair goes on. */
static void frto_real_body(void)
{
	begin(false, false);
	burst(20, 10);
	HOST_CHECK(h_wait(10000));
	expect_seg(0);
	h_ack(&h, first + MSS);
	h_drain();
	h_ack(&h, first + MSS);
	expect_seg(1);
	HOST_CHECK_EQ(tp->ca, CA_LOSS);
	HOST_CHECK_EQ(net_stat_sum(NS_tcp_spurious), 0);
	end();
}

/* Eifel: the answer bears the time of the first transmission. */
static void eifel_body(void)
{
	uint32_t cwnd, echo;

	begin(true, true);
	burst(10, 10);
	cwnd = tp->cwnd;
	echo = h.tsecr;
	h_sleep(RTT);
	sack(0, 1, 4);
	expect_seg(0);
	HOST_CHECK_EQ(tp->ca, CA_RECOVERY);
	h.tsecr = echo;
	sack(4, 0, 0);
	HOST_CHECK_EQ(tp->ca, CA_OPEN);
	HOST_CHECK(tp->cwnd >= cwnd);
	end();
}

/* Every repetition is reported as a duplicate. */
static void dsack_undo_body(void)
{
	uint32_t cwnd;

	begin(true, false);
	burst(20, 10);
	cwnd = tp->cwnd;
	h_sleep(RTT);
	sack(0, 1, 4);
	expect_seg(0);
	h_drain();
	sack(10, 0, 0);
	/* It ended without a sign; the next recovery gets one in time. */
	h_drain();
	end();
	begin(true, false);
	burst(20, 10);
	h_sleep(RTT);
	sack(0, 1, 4);
	expect_seg(0);
	h_drain();
	sack(4, 0, 1);
	HOST_CHECK_EQ(tp->ca, CA_OPEN);
	HOST_CHECK(tp->cwnd >= cwnd);
	HOST_CHECK_EQ(net_stat_sum(NS_tcp_spurious), 1);
	HOST_CHECK(tp->rack.mult > 1); /* and the reordering window is wider */
	end();
}

/* A receiver that takes back what it reported (RFC 2018 section 8). */
static void renege_body(void)
{
	begin(true, false);
	burst(4, 4);
	h_sleep(RTT);
	sack(0, 1, 4);
	expect_seg(0);
	/* It acknowledges the repetition only: the reported ones are gone. */
	sack(1, 0, 0);
	h_drain();
	while (!net_stat_sum(NS_tcp_timeouts)) {
		HOST_CHECK(h_wait(10000));
		if (!net_stat_sum(NS_tcp_timeouts))
			h_drain();
	}
	expect_seg(1);
	sack(2, 0, 0);
	expect_seg(2);
	end();
}

/* The initial window (RFC 6928), and the restart after an idle time (RFC 5681, section 4.1). */
static void windows_body(void)
{
	begin(true, false);
	tp->cwnd = 50 * MSS;
	h_sleep(60000);
	burst(40, 10);
	for (unsigned k = 1; k <= 10; k++)
		sack(k, 0, 0);
	h_drain();
	end();
	/* A window of zero in flight lets one segment out, however small cwnd is. */
	begin(true, false);
	tp->cwnd = 10;
	burst(2, 1);
	end();
}

/* Several segments leave as one packet; reports and repetitions are still of single ones. */
static void offload_body(void)
{
	static uint8_t data[30 * MSS];
	struct pbuf *p;

	h_offload(true);
	begin(true, false);
	HOST_CHECK_EQ(h_send(s, data, 25 * MSS + 10, 0), 25 * MSS + 10);
	p = h_expect(TH_ACK);
	HOST_CHECK_EQ(p->len, 10 * MSS);
	HOST_CHECK_EQ(p->gso_size, MSS);
	h_quiet();
	h_sleep(RTT);
	/* Part of it acknowledged, segment 4 and 6 missing; a block that ends within a segment is cut down. */
	sack(4, 5, 6);
	p = h_expect(TH_ACK);
	HOST_CHECK_EQ(p->len % MSS, 0);
	HOST_CHECK_EQ(tp->sacked, MSS);
	h_drain();
	h.nr_sack = 2;
	h.sack[1][0] = first + 5 * MSS;
	h.sack[1][1] = first + 6 * MSS;
	h.sack[0][0] = first + 7 * MSS + 1;
	h.sack[0][1] = first + 10 * MSS - 1;
	h_ack(&h, first + 4 * MSS);
	HOST_CHECK_EQ(tp->sacked, 2 * MSS); /* 5, and of the second block only 8 */
	h.sack[0][0] = first + 7 * MSS;
	h.sack[0][1] = first + 10 * MSS;
	h_ack(&h, first + 4 * MSS);
	h.nr_sack = 0;
	HOST_CHECK_EQ(tp->sacked, 4 * MSS);
	h_drain();
	HOST_CHECK(h_wait(RTT)); /* 7 after 8 looked like reordering: time decides */
	HOST_CHECK_EQ(tp->ca, CA_RECOVERY);
	HOST_CHECK_EQ(tp->lost, 2 * MSS);
	expect_seg(4);
	h_drain();
	h_sleep(RTT);
	h_ack(&h, tp->snd_nxt);
	h_drain();
	while (tp->snd_una != tp->write_seq) {
		h_ack(&h, tp->snd_nxt);
		h_drain();
	}
	HOST_CHECK_EQ(atomic_load(&tp->wmem), 0);
	end();
	/* The last segment of several is the tail probe. */
	begin(true, false);
	HOST_CHECK_EQ(h_send(s, data, 3 * MSS + 10, 0), 3 * MSS + 10);
	HOST_CHECK_EQ(h_expect(TH_ACK)->len, 3 * MSS + 10);
	HOST_CHECK(h_wait(1000));
	p = h_expect(TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, first + 3 * MSS);
	HOST_CHECK_EQ(p->len, 10);
	end();
}

#define TEST(name)                                                                                 \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		assert_int_equal(h_run(name##_body), 0);                                           \
	}
#define TESTS(X)                                                                                   \
	X(dupthresh) X(reorder_timer) X(reordered) X(lost_twice) X(tail_probe) X(probe_loss)       \
	X(probe_dup) X(prr) X(newreno) X(timeout) X(frto) X(frto_sack) X(frto_real) X(eifel)       \
	X(dsack_undo) X(renege) X(windows) X(offload)
TESTS(TEST)

int main(void)
{
#define ENTRY(name) cmocka_unit_test(test_##name),
	const struct CMUnitTest tests[] = { TESTS(ENTRY) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
