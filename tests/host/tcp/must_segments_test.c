/* SPDX-License-Identifier: MIT */
/*
 * RFC 9293: what segments look like: checksum, options, segment size.
 *
 * SOURCES: @net tests/host/tcp/harness.c
 * FLAVOURS: plain asan
 */
#include "tests/host/tcp/named.h"

/* A SYN with these options arrives; the connection is made. */
static void syn_with(const void *opts, unsigned n)
{
	listening();
	h_raw(&h, TH_SYN, 1000, 0, opts, n, NULL, 0);
	h.seq = 1001;
	h.ack = h_expect(TH_SYN | TH_ACK)->tcp.seq + 1;
	h_ack(&h, h.ack);
	s = h_accept(l);
	HOST_CHECK(s);
	tp = tcp_of(s);
}
#define SYN_WITH(...) syn_with((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* A segment of ten bytes with these options arrives and is taken. */
static void data_with(const void *opts, unsigned n)
{
	h_raw(&h, TH_ACK, h.seq, h.ack, opts, n, data, 10);
	h.seq += 10;
	HOST_CHECK_EQ(h_expect(TH_ACK)->tcp.ack, h.seq);
	HOST_CHECK_EQ(h_recv(s, data, 100, 0), 10);
	h_drain();
}
#define DATA_WITH(...) data_with((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void must_2_checksum_generated_body(void)
{
	struct pbuf *p;

	begin();
	for (unsigned n = 1; n < 1000; n += 97) {
		HOST_CHECK_EQ(h_send(s, data, n, 0), n);
		p = h_expect(TH_ACK);
		HOST_CHECK_EQ(pbuf_csum(p, IPPROTO_TCP), 0);
		h_ack(&h, h.ack + n);
	}
	/* A burst, whose last segment is marked after its sum was made. */
	HOST_CHECK_EQ(h_send(s, data, 4 * MSS, 0), 4 * MSS);
	while ((p = h_next()))
		HOST_CHECK_EQ(pbuf_csum(p, IPPROTO_TCP), 0);
	end();
}

static void must_3_checksum_checked_body(void)
{
	begin();
	h.bad_sum = true;
	h_inject(&h, TH_ACK, h.seq, h.ack, 10);
	h_inject(&h, TH_RST, h.seq, h.ack, 0);
	h_quiet();
	HOST_CHECK_EQ(h_recv(s, data, 10, 0), -EAGAIN);
	HOST_CHECK_EQ(tcp_state(tp), TCP_ESTABLISHED);
	h.bad_sum = false;
	end();
}

static void must_4_end_nop_mss_body(void)
{
	SYN_WITH(1, 2, 4, 900 >> 8, 900 & 255, 0, 2, 4); /* behind the end nothing counts */
	HOST_CHECK_EQ(tp->mss, 900);
	end();
}

static void must_5_option_in_any_segment_body(void)
{
	begin();
	DATA_WITH(1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2);
	DATA_WITH(1, 1, 1, 0);
	h_raw(&h, TH_FIN | TH_ACK, h.seq, h.ack, (const uint8_t[]){ 1, 1, 1, 1 }, 4, NULL, 0);
	HOST_CHECK_EQ(h_expect(TH_ACK)->tcp.ack, h.seq + 1);
	end();
}

static void must_6_unknown_option_ignored_body(void)
{
	SYN_WITH(253, 4, 1, 2, 2, 4, 900 >> 8, 900 & 255);
	HOST_CHECK_EQ(tp->mss, 900);
	DATA_WITH(254, 8, 1, 2, 3, 4, 5, 6);
	end();
}

static void must_7_illegal_length_body(void)
{
	static const uint8_t bad[][8] = {
		{ 3, 0, 0, 0, 2, 4, 3, 232 }, { 255, 0, 0, 0, 0, 0, 0, 0 }, { 2, 1, 1, 1, 1, 1, 1, 1 },
		{ 8, 255, 1, 1, 1, 1, 1, 1 }, { 5, 9, 1, 1, 1, 1, 1, 1 },   { 1, 1, 1, 1, 1, 1, 1, 2 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		syn_with(bad[i], 8);
		data_with(bad[i], 8);
		end();
	}
}

static void must_64_any_alignment_body(void)
{
	SYN_WITH(1, 1, 1, 2, 4, 900 >> 8, 900 & 255, 0);
	HOST_CHECK_EQ(tp->mss, 900);
	end();
	SYN_WITH(1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 0, 1);
	HOST_CHECK_EQ(tp->ts_recent, 7);
	end();
}

static void must_65_mss_only_on_syn_body(void)
{
	struct pbuf *p;

	begin();
	DATA_WITH(2, 4, 0, 200);
	HOST_CHECK_EQ(tp->mss, MSS);
	HOST_CHECK_EQ(h_send(s, data, 10, 0), 10);
	p = h_expect(TH_ACK);
	HOST_CHECK_EQ(p->th + 20, p->end); /* no option at all */
	end();
}

static void must_68_lengths_skip_body(void)
{
	SYN_WITH(200, 6, 2, 4, 0, 100, 2, 4, 900 >> 8, 900 & 255, 1, 0);
	HOST_CHECK_EQ(tp->mss, 900);
	end();
}

/* What follows the options of ours in the header is zero, or there is nothing. */
static void must_69_padding_body(void)
{
	for (unsigned kind = 0; kind < 16; kind++) {
		const uint8_t *o;
		struct pbuf *p;
		unsigned n, at = 0;

		listening();
		h.ts = kind & 1;
		h.sack_ok = kind & 2;
		h.wscale = kind & 4 ? 7 : -1;
		h.mss = kind & 8 ? 1000 : 0;
		h_syn(&h, TH_SYN, 1);
		p = h_expect(TH_SYN | TH_ACK);
		o = p->head + p->th + 20;
		n = p->end - p->th - 20u;
		HOST_CHECK_EQ(n % 4, 0);
		while (at < n && o[at])
			at += o[at] == 1 ? 1 : o[at + 1];
		while (at < n)
			HOST_CHECK_EQ(o[at++], 0);
		HOST_CHECK_EQ(at, n);
		end();
	}
}

static void must_15_mss_default_body(void)
{
	SYN_WITH(1, 1, 1, 1);
	HOST_CHECK_EQ(tp->mss, h_v6 ? 1220 : 536);
	HOST_CHECK_EQ(h_send(s, data, 4000, 0), 4000);
	HOST_CHECK_EQ(h_expect(TH_ACK)->len, tp->mss);
	end();
}

/* MUST-14, 16: the peer's size, less the options, and what TCP_MAXSEG says. */
static void must_16_mss_effective_body(void)
{
	struct pbuf *p;

	listening();
	h.ts = true;
	accepted();
	HOST_CHECK_EQ(h_send(s, data, 3 * MSS, 0), 3 * MSS);
	p = h_expect(TH_ACK);
	HOST_CHECK_EQ(p->end - p->th - 20u + p->len, MSS);
	while ((p = h_next()))
		HOST_CHECK(p->end - p->th - 20u + p->len <= MSS);
	end();
	listening();
	HOST_CHECK_EQ(h_setopt(l, SOL_TCP, TCP_MAXSEG, 500), 0);
	h.mss = 1460;
	accepted();
	HOST_CHECK_EQ(tp->mss, 500);
	end();
}

/* A size of nearly nothing would only make work (MSS 0; CVE-2019-11479). */
static void must_16_mss_floor_body(void)
{
	for (unsigned mss = 1; mss < 100; mss += 33) {
		SYN_WITH(2, 4, 0, (uint8_t)(mss - 1));
		HOST_CHECK(tp->mss >= TCP_MSS_FLOOR - 12);
		end();
	}
}

static void must_67_mss_announced_body(void)
{
	unsigned mss = H_MTU - (h_v6 ? 60 : 40);

	listening();
	h_syn(&h, TH_SYN, 1);
	HOST_CHECK_EQ(h_expect(TH_SYN | TH_ACK)->tcp.mss, mss);
	h_close(l);
	h_drain();
	l = h_socket();
	{
		union sockaddr_any a;
		unsigned len = addr_export(l->family, &h.addr, 5000, &a);

		HOST_CHECK_EQ(l->ops->connect(l, &a, len, true), -EINPROGRESS);
	}
	HOST_CHECK_EQ(h_expect(TH_SYN)->tcp.mss, mss); /* SHLD-5: always there */
	end();
}

#define TESTS(X)                                                                                   \
	X(must_2_checksum_generated) X(must_3_checksum_checked) X(must_4_end_nop_mss)              \
	X(must_5_option_in_any_segment) X(must_6_unknown_option_ignored) X(must_7_illegal_length)  \
	X(must_64_any_alignment) X(must_65_mss_only_on_syn) X(must_68_lengths_skip)                \
	X(must_69_padding) X(must_15_mss_default) X(must_16_mss_effective) X(must_16_mss_floor)    \
	X(must_67_mss_announced)
MAIN(TESTS)
