/* SPDX-License-Identifier: MIT */
/*
 * How connections begin and who has which port: SYN cookies (RFC 4987), the
 * queue of half-open requests, deferred accept, bind() beside connections.
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

#define FLOOD 16u /* half-open requests that a backlog of 5 keeps */

static struct sock *flooded_listener(void)
{
	struct sock *l = h_listen(5);

	for (unsigned i = 0; i < FLOOD; i++) {
		struct h_peer f;

		h_peer_init(&f, (uint16_t)(10000 + i));
		h_syn(&f, TH_SYN, 77);
		h_expect(TH_SYN | TH_ACK);
	}
	return l;
}

/* Beyond the queue a SYN is answered from nothing, and the connection is like any other. */
static void cookies_body(void)
{
	struct sock *l = flooded_listener(), *s;
	struct tcp_sock *tp;
	struct h_peer h;
	struct pbuf *p;
	uint8_t b[8];

	h_peer_init(&h, 4000);
	h.ts = true;
	h.wscale = 5;
	h.sack_ok = true;
	h.mss = 1412;
	h_syn(&h, TH_SYN, 1000);
	p = h_expect(TH_SYN | TH_ACK);
	HOST_CHECK_EQ(p->tcp.ack, 1001);
	HOST_CHECK_EQ(p->tcp.opts & (TCP_OPT_TS | TCP_OPT_WSCALE | TCP_OPT_SACKOK),
		      TCP_OPT_TS | TCP_OPT_WSCALE | TCP_OPT_SACKOK);
	HOST_CHECK_EQ(net_stat_sum(NS_tcp_cookies_sent), 1);
	HOST_CHECK(!ep_lookup(&h_us, H_PORT, &h.addr, h.port)); /* nothing is remembered */
	h.ack = p->tcp.seq + 1;
	h.tsecr = p->tcp.tsval;
	h.seq = 1001;
	h_sleep(3000);
	/* The acknowledgement may be lost and come with data. */
	h_inject_bytes(&h, TH_ACK, h.seq, h.ack, "hello", 5);
	s = h_accept(l);
	HOST_CHECK(s);
	tp = tcp_of(s);
	HOST_CHECK_EQ(tp->opts, TCP_OPT_TS | TCP_OPT_WSCALE | TCP_OPT_SACKOK);
	HOST_CHECK_EQ(tp->snd_wscale, 5);
	HOST_CHECK_EQ(tp->peer_mss, 1400);
	HOST_CHECK_EQ(h_recv(s, b, 8, 0), 5);
	h_drain();
	/* Our timestamps go on from there. */
	HOST_CHECK_EQ(h_send(s, "x", 1, 0), 1);
	p = h_expect(TH_ACK);
	HOST_CHECK((int32_t)(p->tcp.tsval - h.tsecr) >= 0);
	s->linger_on = true;
	h_close(s);
	h_drain();
	/* A guess at a cookie, and one that is too old: a reset each, no connection. */
	h_peer_init(&h, 4001);
	h_inject(&h, TH_ACK, 500, 12345, 0);
	h_expect(TH_RST);
	h_syn(&h, TH_SYN, 1000);
	p = h_expect(TH_SYN | TH_ACK);
	HOST_CHECK_EQ(p->tcp.opts & (TCP_OPT_TS | TCP_OPT_WSCALE | TCP_OPT_SACKOK), 0);
	h.ack = p->tcp.seq + 1;
	h_inject(&h, TH_ACK, 1001, h.ack + 1, 0);
	h_expect(TH_RST);
	h_inject(&h, TH_ACK, 1002, h.ack, 0);
	h_expect(TH_RST);
	h_sleep(129000);
	h_drain();
	h_inject(&h, TH_ACK, 1001, h.ack, 0);
	h_expect(TH_RST);
	HOST_CHECK(!h_accept(l));
	h_close(l);
}

/* Without timestamps only the segment size survives. */
static void plain_cookie_body(void)
{
	struct sock *l = flooded_listener(), *s;
	struct h_peer h;

	h_peer_init(&h, 4000);
	h.wscale = 7;
	h.sack_ok = true;
	h.mss = 1460;
	s = h_established(&h, l, 9);
	HOST_CHECK_EQ(tcp_of(s)->opts, 0);
	HOST_CHECK_EQ(tcp_of(s)->snd_wscale, 0);
	HOST_CHECK_EQ(tcp_of(s)->mss, h_v6 ? 1440 : 1460);
	s->linger_on = true;
	h_close(s);
	h_close(l);
}

/* Switched off, the SYN is dropped and counted; the requests end by themselves. */
static void no_cookies_body(void)
{
	struct sock *l;
	struct h_peer h;

	h_param("net.tcp.syncookies", "0");
	l = flooded_listener();
	h_peer_init(&h, 4000);
	h_syn(&h, TH_SYN, 1);
	h_quiet();
	HOST_CHECK_EQ(net_stat_sum(NS_tcp_syn_dropped), 1);
	h_sleep(130000);
	HOST_CHECK_EQ(h_drain(), FLOOD * TCP_SYNACK_RETRIES);
	h_syn(&h, TH_SYN, 1);
	h_expect(TH_SYN | TH_ACK);
	h_close(l);
}

/* A handshake without data waits; data or the time complete it. */
static void defer_body(void)
{
	struct sock *l = h_listen(5), *s;
	struct h_peer h;

	HOST_CHECK_EQ(h_setopt(l, SOL_TCP, TCP_DEFER_ACCEPT, 10), 0);
	h_peer_init(&h, 4000);
	h_syn(&h, TH_SYN, 1);
	h.seq = 2;
	h.ack = h_expect(TH_SYN | TH_ACK)->tcp.seq + 1;
	h_ack(&h, h.ack);
	HOST_CHECK(!h_accept(l));
	h_inject(&h, TH_ACK, h.seq, h.ack, 3);
	s = h_accept(l);
	HOST_CHECK(s);
	s->linger_on = true;
	h_close(s);
	h_close(l);
	h_drain();
}

static int bind_port(struct sock *s, uint16_t port, bool any)
{
	struct ip_addr wild = s->family == AF_INET ? addr_from_v4("\0\0\0\0") : ADDR_ANY6;
	union sockaddr_any a;
	unsigned len = addr_export(s->family, any ? &wild : &h_us, port, &a);

	return s->ops->bind(s, &a, len);
}

/* Who may bind to @port now: without and with SO_REUSEADDR. */
static void check_bind(uint16_t port, int plain, int reuse)
{
	struct sock *s = h_socket();

	HOST_CHECK_EQ(bind_port(s, port, true), plain);
	h_close(s);
	s = h_socket();
	s->reuseaddr = true;
	HOST_CHECK_EQ(bind_port(s, port, false), reuse);
	h_close(s);
}

/* Connections and TIME_WAIT hold their port against bind(), as bound sockets do. */
static void ports_body(void)
{
	struct sock *l = h_listen(5), *s, *c; /* h_listen() sets SO_REUSEADDR */
	struct h_peer h;
	uint16_t port;

	h_peer_init(&h, 4000);
	s = h_established(&h, l, 1);
	check_bind(H_PORT, -EADDRINUSE, -EADDRINUSE); /* somebody listens */
	h_close(l);
	check_bind(H_PORT, -EADDRINUSE, 0);
	/* TIME_WAIT. */
	h_close(s);
	h_expect(TH_FIN | TH_ACK);
	h_inject(&h, TH_FIN | TH_ACK, h.seq, h.ack + 1, 0);
	h_expect(TH_ACK);
	HOST_CHECK_EQ(tcp_tw_count(), 1);
	check_bind(H_PORT, -EADDRINUSE, 0);
	l = h_listen(5); /* a server that starts again */
	h_close(l);
	h_sleep(TCP_TIMEWAIT / NSEC_PER_MSEC + 1000);
	HOST_CHECK_EQ(tcp_tw_count(), 0);
	check_bind(H_PORT, 0, 0);
	/* connect() without bind(): nobody else may bind to the port. */
	c = h_socket();
	{
		union sockaddr_any a;
		unsigned len = addr_export(c->family, &h.addr, 5000, &a);

		HOST_CHECK_EQ(c->ops->connect(c, &a, len, true), -EINPROGRESS);
	}
	port = h_next()->tcp.sport;
	HOST_CHECK(port >= EPHEMERAL_FIRST && port <= EPHEMERAL_LAST);
	check_bind(port, -EADDRINUSE, -EADDRINUSE);
	h_close(c);
	check_bind(port, 0, 0);
}

/* A lost SYN is sent again after 1, 2, 4 … s; after all tries the program hears ETIMEDOUT. */
static void syn_retries_body(void)
{
	struct h_peer h;
	struct sock *s;
	uint64_t t = clock_ns();

	h_peer_init(&h, 4000);
	s = h_connect(&h);
	for (unsigned i = 0; i < TCP_SYN_RETRIES; i++) {
		HOST_CHECK(h_wait(130000));
		h_expect(TH_SYN);
		HOST_CHECK_EQ((h_next_time() - t) / NSEC_PER_SEC, 1u << i);
		t = h_next_time();
	}
	h_quiet_for(300000);
	HOST_CHECK_EQ(tcp_state(tcp_of(s)), TCP_CLOSE);
	HOST_CHECK_EQ(sock_take_error(s), -ETIMEDOUT);
	h_close(s);
}

#define TEST(name)                                                                                 \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		assert_int_equal(h_run(name##_body), 0);                                           \
	}
#define TESTS(X) X(cookies) X(plain_cookie) X(no_cookies) X(defer) X(ports) X(syn_retries)
TESTS(TEST)

int main(void)
{
#define ENTRY(name) cmocka_unit_test(test_##name),
	const struct CMUnitTest tests[] = { TESTS(ENTRY) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
