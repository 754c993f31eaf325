/* SPDX-License-Identifier: MIT */
/*
 * TCP against a peer that the test plays, packet by packet, on a device of 1500
 * bytes: states, windows, resets, options, recovery, garbage.
 *
 * SOURCES: @net
 * FLAVOURS: plain asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/host/net_stub.h"

#define PORT  80
#define RPORT 4000

static struct pqueue sent; /* what left through the device; one CPU, no lock */
static struct ip_addr us, peer;
static bool v6;

static void dev_xmit(struct netdev *d, struct pbuf *p)
{
	pqueue_push(&sent, p);
}
static struct netdev dev = { .name = "test0", .mtu = 1500, .xmit = dev_xmit };

/* The peer's side of the connection. */
static uint32_t his, ours; /* his next sequence number; what he acknowledges */
static uint32_t wnd = 65535, tsval = 1000, tsecr;
static bool ts;

static struct pbuf *make(uint16_t rport, uint8_t flags, uint32_t seq, uint32_t ack, const void *opts,
			 unsigned olen, const void *data, unsigned len)
{
	struct pbuf *p = pbuf_alloc(56);
	uint16_t sum;
	uint8_t *h;

	p->src = peer;
	p->dst = us;
	p->dev = &dev;
	p->th = p->start;
	h = pbuf_put(p, 20 + olen);
	memset(h, 0, 20 + olen);
	put_be16(h, rport);
	put_be16(h + 2, PORT);
	put_be32(h + 4, seq);
	put_be32(h + 8, ack);
	h[12] = (uint8_t)((20 + olen) / 4 << 4);
	h[13] = flags;
	put_be16(h + 14, (uint16_t)wnd);
	if (olen)
		memcpy(h + 20, opts, olen);
	if (len) {
		p->data = pdata_from_bytes(data, len);
		p->len = len;
	}
	sum = pbuf_csum(p, IPPROTO_TCP);
	memcpy(h + 16, &sum, 2);
	if (v6)
		ipv6_push_header(p, IPPROTO_TCP, 64, 0);
	else
		ipv4_push_header(p, IPPROTO_TCP, 64, 0);
	return p;
}

static void inject(uint8_t flags, uint32_t seq, uint32_t ack, unsigned len)
{
	uint8_t o[12] = { 1, 1, 8, 10 };
	static uint8_t data[3000];

	put_be32(o + 4, tsval);
	put_be32(o + 8, tsecr);
	netif_rx(make(RPORT, flags, seq, ack, o, ts ? 12 : 0, data, len));
}

/* The next packet that left, parsed; it is kept until the next call. */
static struct pbuf *last;
static struct pbuf *out_or_null(void)
{
	if (last)
		pbuf_free(last);
	last = pqueue_pop(&sent);
	if (!last)
		return NULL;
	/* What we sent must parse as what we receive. */
	HOST_CHECK(last->head[last->nh] >> 4 == (v6 ? 6 : 4));
	HOST_CHECK(tcp_parse(last));
	if (last->tcp.opts & TCP_OPT_TS)
		tsecr = last->tcp.tsval;
	return last;
}
static struct pbuf *out(uint8_t flags)
{
	struct pbuf *p = out_or_null();

	HOST_CHECK(p);
	HOST_CHECK_EQ(p->tcp.tcp_flags & ~TH_PSH, flags);
	return p;
}
static struct pbuf *out_within(uint8_t flags, unsigned ms)
{
	for (unsigned i = 0; i < ms && !sent.first; i++)
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	return out(flags);
}
static void quiet(void)
{
	HOST_CHECK(!sent.first);
}
static void quiet_for(unsigned ms)
{
	thread_sleep_until(clock_ns() + ms * NSEC_PER_MSEC, false);
	quiet();
}

static void begin(void)
{
	uint8_t a4[4] = { 10, 0, 0, 1 }, b4[4] = { 10, 0, 0, 2 };
	uint8_t a6[16] = { 0xfd, [15] = 1 }, b6[16] = { 0xfd, [15] = 2 };

	t_init();
	us = v6 ? addr_from_v6(a6) : addr_from_v4(a4);
	peer = v6 ? addr_from_v6(b6) : addr_from_v4(b4);
	netdev_register(&dev);
	ifaddr_add(&dev, &us, v6 ? 64 : 120);
}

static struct sock *listener(void)
{
	struct sock *s = tcp_create(v6 ? AF_INET6 : AF_INET);
	union sockaddr_any a;
	unsigned len = addr_export(s->family, &us, PORT, &a);

	s->reuseaddr = true;
	HOST_CHECK_EQ(s->ops->bind(s, &a, len), 0);
	HOST_CHECK_EQ(s->ops->listen(s, 5), 0);
	return s;
}

/* Passive open; the peer offers MSS 1000, window scale 0 and what @ts says. */
static struct sock *established(struct sock **l, uint32_t isn)
{
	uint8_t o[20] = { 2, 4, 1000 >> 8, 1000 & 255, 1, 3, 3, 0, 4, 2, 8, 10 };
	struct sock *s;
	struct pbuf *p;

	*l = listener();
	put_be32(o + 12, tsval);
	netif_rx(make(RPORT, TH_SYN, isn, 0, o, ts ? 20 : 8, NULL, 0));
	p = out(TH_SYN | TH_ACK);
	HOST_CHECK_EQ(p->tcp.ack, isn + 1);
	HOST_CHECK_EQ(p->tcp.mss, v6 ? 1440 : 1460);
	his = isn + 1;
	ours = p->tcp.seq + 1;
	inject(TH_ACK, his, ours, 0);
	quiet();
	HOST_CHECK_EQ((*l)->ops->accept(*l, &s, true), 0);
	return s;
}

static void finish(struct sock *l, struct sock *s)
{
	t_close(s);
	t_close(l);
	inject(TH_RST, his, 0, 0);
	while (out_or_null())
		;
	pqueue_purge(&sent);
}

static void resets_body(void)
{
	struct sock *l, *s;
	struct pbuf *p;
	uint8_t b[10];

	begin();
	s = established(&l, 0xfffffff0u); /* crosses the wrap */
	/* In the window, not exact: challenge, with our numbers, once per gap (RFC 5961 3.2). */
	inject(TH_RST, his + 100, 0, 0);
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, ours);
	HOST_CHECK_EQ(p->tcp.ack, his);
	inject(TH_RST, his + 101, 0, 0);
	quiet();
	/* Outside: silence. */
	inject(TH_RST, his - 1, 0, 0);
	inject(TH_RST, his + (1 << 20), 0, 0);
	quiet();
	HOST_CHECK_EQ(tcp_state(tcp_of(s)), TCP_ESTABLISHED);
	/* A SYN in an established connection (RFC 5961 4.2): rate-limited challenge. */
	thread_sleep_until(clock_ns() + TCP_CHALLENGE_GAP + NSEC_PER_MSEC, false);
	inject(TH_SYN, his, 0, 0);
	out(TH_ACK);
	inject(TH_SYN, his + 5, 0, 0);
	quiet();
	/* An acknowledgement of what was never sent: not processed. */
	thread_sleep_until(clock_ns() + TCP_CHALLENGE_GAP + NSEC_PER_MSEC, false);
	inject(TH_ACK, his, ours + 1000, 3);
	out(TH_ACK);
	HOST_CHECK_EQ(t_recv(s, b, 3, MSG_DONTWAIT), -EAGAIN);
	/* Exact: reset. */
	inject(TH_RST, his, 0, 0);
	quiet();
	HOST_CHECK_EQ(tcp_state(tcp_of(s)), TCP_CLOSE);
	HOST_CHECK_EQ(t_recv(s, b, 3, 0), -ECONNRESET);
	/* Nobody there: reset, with the numbers of RFC 9293 3.10.7.1. */
	inject(TH_ACK, 5, 77, 0);
	p = out(TH_RST);
	HOST_CHECK_EQ(p->tcp.seq, 77);
	inject(TH_RST, 5, 77, 0);
	quiet();
	finish(l, s);
	netif_rx(make(RPORT, TH_SYN, 100, 0, NULL, 0, "abc", 3));
	p = out(TH_RST | TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, 0);
	HOST_CHECK_EQ(p->tcp.ack, 104);
	out_or_null();
}

static void receive_body(void)
{
	struct sock *l, *s;
	struct pbuf *p;
	uint8_t b[3000];

	begin();
	ts = true;
	s = established(&l, 1000);
	/* The first ones of a stream are acknowledged at once: the sender is in slow start. */
	for (unsigned i = 0; i < 16; i++) {
		inject(TH_ACK, his, ours, 1000);
		his += 1000;
		HOST_CHECK_EQ(out(TH_ACK)->tcp.ack, his);
		HOST_CHECK_EQ(t_recv(s, b, 3000, MSG_DONTWAIT), 1000);
		while (out_or_null())
			;
	}
	/* Then two full segments draw an acknowledgement, one waits. */
	inject(TH_ACK, his, ours, 1000);
	quiet();
	inject(TH_ACK, his + 1000, ours, 1000);
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.ack, his + 2000);
	his += 2000;
	HOST_CHECK_EQ(t_recv(s, b, 3000, MSG_DONTWAIT), 2000);
	while (out_or_null())
		;
	/* One small one: within the delayed-acknowledgement time, or when it is read. */
	inject(TH_ACK, his, ours, 10);
	his += 10;
	p = out_within(TH_ACK, 200);
	HOST_CHECK_EQ(p->tcp.ack, his);
	HOST_CHECK_EQ(t_recv(s, b, 3000, MSG_DONTWAIT), 10);
	/* A hole: duplicate acknowledgements at once, with the block. */
	inject(TH_ACK, his + 100, ours, 100);
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.ack, his);
	HOST_CHECK_EQ(p->tcp.nr_sack, 1);
	HOST_CHECK_EQ(get_be32(p->head + p->tcp.sack_off), his + 100);
	HOST_CHECK_EQ(get_be32(p->head + p->tcp.sack_off + 4), his + 200);
	inject(TH_ACK, his + 300, ours, 100);
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.nr_sack, 2);
	HOST_CHECK_EQ(get_be32(p->head + p->tcp.sack_off), his + 300); /* the newest first */
	HOST_CHECK_EQ(get_be32(p->head + p->tcp.sack_off + 8), his + 100);
	/* Filled: acknowledged at once. */
	inject(TH_ACK, his, ours, 320);
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.ack, his + 400);
	his += 400;
	HOST_CHECK_EQ(t_recv(s, b, 3000, MSG_DONTWAIT), 400);
	while (out_or_null())
		;
	/* Old data is reported (RFC 2883). */
	inject(TH_ACK, his - 50, ours, 50);
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.nr_sack, 1);
	HOST_CHECK_EQ(get_be32(p->head + p->tcp.sack_off), his - 50);
	/* An old timestamp is refused (PAWS). */
	tsval -= 500;
	inject(TH_ACK, his, ours, 5);
	out(TH_ACK);
	HOST_CHECK_EQ(t_recv(s, b, 10, MSG_DONTWAIT), -EAGAIN);
	tsval += 501;
	/* Beyond the window: only what fits. */
	inject(TH_ACK, his + (1 << 20), ours, 5);
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.ack, his);
	/* FIN before its data, then the data. */
	inject(TH_ACK | TH_FIN, his + 10, ours, 10);
	out(TH_ACK);
	HOST_CHECK_EQ(tcp_state(tcp_of(s)), TCP_ESTABLISHED);
	inject(TH_ACK, his, ours, 10);
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.ack, his + 21);
	HOST_CHECK_EQ(tcp_state(tcp_of(s)), TCP_CLOSE_WAIT);
	his += 21;
	HOST_CHECK_EQ(t_recv(s, b, 30, 0), 20);
	HOST_CHECK_EQ(t_recv(s, b, 30, 0), 0);
	/* CLOSE_WAIT still retransmits what we write (utcp 24). */
	HOST_CHECK_EQ(t_send(s, "bye", 3, 0), 3);
	out(TH_ACK);
	p = out_within(TH_ACK, 1500);
	HOST_CHECK_EQ(p->tcp.seq, ours);
	HOST_CHECK_EQ(p->len, 3);
	finish(l, s);
}

static void send_body(void)
{
	struct sock *l, *s;
	struct pbuf *p;
	static uint8_t b[20000];
	uint8_t o[24] = { 1, 1, 5, 10 };
	uint64_t t0;

	begin();
	s = established(&l, 1000);
	/* Initial window of ten segments of the peer's size, no more than his window. */
	wnd = 8000;
	inject(TH_ACK, his, ours, 0);
	HOST_CHECK_EQ(t_send(s, b, 20000, 0), 20000);
	for (int i = 0; i < 8; i++) {
		p = out(TH_ACK);
		HOST_CHECK_EQ(p->tcp.seq, ours + 1000u * i);
		HOST_CHECK_EQ(p->len, 1000);
	}
	quiet();
	/* Three duplicates: fast retransmit of the first only (no SACK here). */
	for (int i = 0; i < 3; i++) {
		quiet();
		inject(TH_ACK, his, ours, 0);
	}
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, ours);
	quiet();
	/* A partial acknowledgement sends the next hole (RFC 6582). */
	inject(TH_ACK, his, ours + 2000, 0);
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, ours + 2000);
	ours += 8000;
	while (out_or_null())
		;
	/* Zero window: nothing, then probes that must be answered; opening resumes. */
	wnd = 0;
	inject(TH_ACK, his, ours + 2000, 0);
	if (tcp_of(s)->snd_una != ours + 2000)
		ours = tcp_of(s)->snd_nxt - 2000;
	ours += 2000;
	inject(TH_ACK, his, ours, 0);
	while (out_or_null())
		;
	p = out_within(TH_ACK, 1500);
	HOST_CHECK_EQ(p->tcp.seq, ours);
	HOST_CHECK_EQ(p->len, 1);
	inject(TH_ACK, his, ours, 0);
	quiet_for(20);
	wnd = 65535;
	inject(TH_ACK, his, ours, 0);
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, ours);
	while (out_or_null())
		;
	/* Time-outs double; the connection does not end for one lost answer. */
	t0 = clock_ns();
	p = out_within(TH_ACK, 2000);
	HOST_CHECK_EQ(p->tcp.seq, ours);
	t0 = clock_ns();
	p = out_within(TH_ACK, 4000);
	HOST_CHECK(clock_ns() - t0 > 350 * NSEC_PER_MSEC);
	HOST_CHECK_EQ(p->tcp.seq, ours);
	/* Everything arrives. */
	ours = tcp_of(s)->write_seq;
	inject(TH_ACK, his, tcp_of(s)->snd_nxt, 0);
	while (tcp_of(s)->snd_una != ours) {
		while (out_or_null())
			;
		inject(TH_ACK, his, tcp_of(s)->snd_nxt, 0);
	}
	while (out_or_null())
		;
	HOST_CHECK_EQ(atomic_load(&tcp_of(s)->wmem), 0);
	(void)o;
	finish(l, s);
}

static void sack_body(void)
{
	struct sock *l, *s;
	struct pbuf *p;
	static uint8_t b[20000];
	uint8_t o[24];

	begin();
	ts = true;
	s = established(&l, 1000);
	HOST_CHECK_EQ(t_send(s, b, 8 * 988, 0), 8 * 988);
	for (int i = 0; i < 8; i++) {
		p = out(TH_ACK);
		HOST_CHECK_EQ(p->len, 988);
	}
	/* Segments 1 and 2 lost, 3..6 arrive: both holes are sent again, nothing else. */
	for (unsigned k = 3; k <= 6; k++) {
		uint8_t x[24] = { 1, 1, 8, 10 };

		put_be32(x + 4, tsval);
		put_be32(x + 8, tsecr);
		x[12] = x[13] = 1;
		x[14] = 5;
		x[15] = 10;
		put_be32(x + 16, ours + 3 * 988);
		put_be32(x + 20, ours + (k + 1) * 988);
		memcpy(o, x, sizeof(o));
		netif_rx(make(RPORT, TH_ACK, his, ours + 988, o, 24, NULL, 0));
	}
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, ours + 988);
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, ours + 2 * 988);
	quiet();
	HOST_CHECK_EQ(tcp_of(s)->sacked, 4 * 988);
	/* The answer carries the time of the first transmission: it was not needed (Eifel). */
	HOST_CHECK_EQ(tcp_of(s)->ca, CA_RECOVERY);
	tsecr = tcp_of(s)->retrans_ts - 5;
	inject(TH_ACK, his, ours + 8 * 988, 0);
	HOST_CHECK_EQ(tcp_of(s)->ca, CA_OPEN);
	HOST_CHECK(tcp_of(s)->cwnd >= 9880);
	HOST_CHECK_EQ(net_stat_sum(NS_tcp_spurious), 1);
	ours += 8 * 988;
	finish(l, s);
}

static void open_body(void)
{
	struct sock *l = NULL, *s;
	union sockaddr_any a;
	struct pbuf *p;
	unsigned len;

	begin();
	/* Crossing SYNs. */
	s = tcp_create(v6 ? AF_INET6 : AF_INET);
	len = addr_export(s->family, &us, PORT, &a);
	s->reuseaddr = true;
	HOST_CHECK_EQ(s->ops->bind(s, &a, len), 0);
	len = addr_export(s->family, &peer, RPORT, &a);
	HOST_CHECK_EQ(s->ops->connect(s, &a, len, true), -EINPROGRESS);
	p = out(TH_SYN);
	ours = p->tcp.seq;
	inject(TH_SYN, 500, 0, 0);
	p = out(TH_SYN | TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, ours);
	HOST_CHECK_EQ(p->tcp.ack, 501);
	inject(TH_SYN | TH_ACK, 500, ours + 1, 0);
	HOST_CHECK_EQ(tcp_state(tcp_of(s)), TCP_ESTABLISHED);
	while (out_or_null())
		;
	/* Crossing FINs. */
	his = 501;
	ours++;
	HOST_CHECK_EQ(s->ops->shutdown(s, SHUT_WR), 0);
	out(TH_FIN | TH_ACK);
	inject(TH_FIN | TH_ACK, his, ours, 0);
	HOST_CHECK_EQ(tcp_state(tcp_of(s)), TCP_CLOSING);
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.ack, his + 1);
	inject(TH_ACK, his + 1, ours + 1, 0);
	HOST_CHECK_EQ(tcp_tw_count(), 1);
	/* TIME_WAIT: a reset does nothing, an old FIN is answered, a new SYN needs a listener. */
	inject(TH_RST, his + 1, 0, 0);
	HOST_CHECK_EQ(tcp_tw_count(), 1);
	inject(TH_FIN | TH_ACK, his, ours, 0);
	p = out(TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, ours + 1);
	HOST_CHECK_EQ(p->tcp.ack, his + 1);
	t_close(s);
	l = listener();
	inject(TH_SYN, his + 100000, 0, 0);
	p = out(TH_SYN | TH_ACK);
	HOST_CHECK_EQ(tcp_tw_count(), 0);
	/* A SYN that comes twice gets the same answer; the last step without timestamps is fine. */
	ours = p->tcp.seq + 1;
	inject(TH_SYN, his + 100000, 0, 0);
	p = out(TH_SYN | TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq + 1, ours);
	his += 100001;
	/* A wrong acknowledgement is reset, the request stays. */
	inject(TH_ACK, his, ours + 7, 0);
	p = out(TH_RST);
	HOST_CHECK_EQ(p->tcp.seq, ours + 7);
	/* The SYN-ACK is sent again by itself. */
	out_within(TH_SYN | TH_ACK, 1500);
	inject(TH_ACK, his, ours, 4);
	HOST_CHECK_EQ(l->ops->accept(l, &s, true), 0);
	{
		uint8_t b[8];

		HOST_CHECK_EQ(t_recv(s, b, 8, 0), 4);
	}
	his += 4;
	finish(l, s);
	/* Refused. */
	s = tcp_create(v6 ? AF_INET6 : AF_INET);
	len = addr_export(s->family, &us, PORT, &a);
	s->reuseaddr = true;
	HOST_CHECK_EQ(s->ops->bind(s, &a, len), 0);
	len = addr_export(s->family, &peer, RPORT + 1, &a);
	HOST_CHECK_EQ(s->ops->connect(s, &a, len, true), -EINPROGRESS);
	p = out(TH_SYN);
	ours = p->tcp.seq;
	/* Wrong acknowledgement: reset back, still opening; a lost SYN is sent again. */
	netif_rx(make(RPORT + 1, TH_SYN | TH_ACK, 1, ours, NULL, 0, NULL, 0));
	out(TH_RST);
	out_within(TH_SYN, 1500);
	netif_rx(make(RPORT + 1, TH_RST | TH_ACK, 1, ours + 1, NULL, 0, NULL, 0));
	HOST_CHECK_EQ(s->ops->connect(s, &a, len, true), -ECONNREFUSED);
	t_close(s);
	out_or_null();
}

/* Malformed and random packets: nothing is read beyond its end, nothing stays. */
static void garbage_body(void)
{
	static const uint8_t bad[][8] = {
		{ 3, 0, 0, 0 }, { 0xff, 0, 0, 0 }, { 2, 1, 0, 0 }, { 1, 1, 1, 2 }, { 5, 40, 1, 1 },
		{ 8, 10, 0, 0 }, { 2, 4, 0, 0 }, { 5, 9, 0, 0, 0, 0, 0, 0 },
	};
	uint64_t rng = 42;
	struct sock *l, *s;

	begin();
	ts = true;
	s = established(&l, 1000);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		netif_rx(make(RPORT, TH_ACK, his, ours, bad[i], 8, NULL, 0));
		netif_rx(make((uint16_t)(5000 + i), TH_SYN, 9, 0, bad[i], 8, NULL, 0));
	}
	for (unsigned i = 0; i < 60000; i++) {
		uint64_t r = host_random(&rng);
		uint8_t o[40];
		struct pbuf *p;

		for (unsigned k = 0; k < sizeof(o); k++)
			o[k] = (uint8_t)(host_random(&rng) >> 9) & (r & 1 ? 15 : 255);
		p = make(r & 2 ? RPORT : (uint16_t)(r >> 20), (uint8_t)(r >> 8), his + (uint32_t)(r >> 40) % 3000 - 1000,
			 ours + (uint32_t)(r >> 50) % 100 - 50, o, (unsigned)(r >> 3) % 11 * 4, o, (unsigned)(r >> 30) % 40);
		if (r & 4) { /* damage behind the checksum: lengths and the like */
			p->flags |= PB_CSUM_OK;
			p->head[p->start + host_random(&rng) % (p->end - p->start)] ^= (uint8_t)(r >> 16);
		}
		if (!(r & 0xf0))
			p->end = (uint16_t)(p->start + host_random(&rng) % (p->end - p->start + 1u));
		netif_rx(p);
		pqueue_purge(&sent);
		if (tcp_in(tcp_of(s), TCPF(TCP_CLOSE)) || i % 1000 == 999) {
			t_close(s);
			t_close(l);
			pqueue_purge(&sent);
			s = NULL;
			thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
			ts = r & 8;
			inject(TH_RST, his, 0, 0);
			pqueue_purge(&sent);
			{
				struct ep *e = ep_lookup(&us, PORT, &peer, RPORT);

				if (e) { /* a corpse of ours: out of the way */
					ep_remove(e);
					ep_put(e);
				}
			}
			s = established(&l, (uint32_t)host_random(&rng));
		}
	}
	finish(l, s);
}

static void run(void (*body)(void))
{
	for (v6 = false;; v6 = true) {
		assert_int_equal(host_run(1, body), 0);
		if (v6)
			break;
	}
}
static void test_resets(void **state)
{
	run(resets_body);
}
static void test_receive(void **state)
{
	run(receive_body);
}
static void test_send(void **state)
{
	run(send_body);
}
static void test_sack(void **state)
{
	run(sack_body);
}
static void test_open(void **state)
{
	run(open_body);
}
static void test_garbage(void **state)
{
	run(garbage_body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resets), cmocka_unit_test(test_receive), cmocka_unit_test(test_send),
		cmocka_unit_test(test_sack),   cmocka_unit_test(test_open),    cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
