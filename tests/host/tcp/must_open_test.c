/* SPDX-License-Identifier: MIT */
/*
 * RFC 9293: how connections begin and end: sequence numbers, both kinds of open,
 * addresses, closing, TIME-WAIT; RFC 6528 and 6056.
 *
 * SOURCES: @net tests/host/tcp/harness.c
 * FLAVOURS: plain asan
 */
#include "tests/host/tcp/named.h"

/* The number that we choose for a connection from @port. */
static uint32_t isn(uint16_t port)
{
	uint32_t seq;

	h_peer_init(&h, port);
	h_syn(&h, TH_SYN, 1);
	seq = h_expect(TH_SYN | TH_ACK)->tcp.seq;
	h_inject(&h, TH_RST, 2, 0, 0);
	return seq;
}

/* The same four: the number follows the clock, 64 ns a step, whatever was between. */
static void must_8_isn_clock_driven_body(void)
{
	uint32_t a, b;
	uint64_t t;

	listening();
	a = isn(4000);
	t = clock_ns();
	h_sleep(1000);
	b = isn(4000);
	HOST_CHECK(b - a >= (clock_ns() - t) / 64 - 1000 && b - a <= (clock_ns() - t) / 64 + 1000);
	end();
}

/* MUST-9, SHLD-1 (RFC 6528): what one connection sees says nothing about another. */
static void must_9_isn_secret_body(void)
{
	uint32_t v[20];

	listening();
	for (unsigned i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = isn((uint16_t)(4000 + i));
	for (unsigned i = 2; i < ARRAY_SIZE(v); i++)
		HOST_CHECK(v[i] - v[i - 1] != v[i - 1] - v[i - 2]);
	for (unsigned i = 0; i < ARRAY_SIZE(v); i++) {
		unsigned near = 0;

		for (unsigned j = 0; j < ARRAY_SIZE(v); j++)
			near += v[i] - v[j] + (1 << 20) < 1 << 21;
		HOST_CHECK(near <= 2); /* itself */
	}
	end();
}

/* RFC 6056: a port that the peer cannot count on. */
static void rfc6056_ports_body(void)
{
	unsigned next = 0;
	uint16_t last = 0;

	listening();
	for (unsigned i = 0; i < 20; i++) {
		struct sock *c = h_socket();
		union sockaddr_any a;
		unsigned len = addr_export(c->family, &h.addr, (uint16_t)(5000 + i), &a);
		uint16_t port;

		HOST_CHECK_EQ(c->ops->connect(c, &a, len, true), -EINPROGRESS);
		port = h_next()->tcp.sport;
		next += port - last + 16u <= 32;
		last = port;
		h_close(c);
	}
	HOST_CHECK(next <= 4);
	end();
}

static void must_10_simultaneous_open_body(void)
{
	struct pbuf *p;

	listening();
	h.lport = 7000;
	s = h_connect(&h);
	h_syn(&h, TH_SYN, 500);
	p = h_expect(TH_SYN | TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, h.ack - 1);
	HOST_CHECK_EQ(p->tcp.ack, 501);
	h.seq = 501;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(tcp_state(tcp_of(s)), TCP_ESTABLISHED);
	end();
	/* His SYN-ACK does it as well. */
	listening();
	h.lport = 7001;
	s = h_connect(&h);
	h_syn(&h, TH_SYN, 500);
	h_expect(TH_SYN | TH_ACK);
	h_syn(&h, TH_SYN | TH_ACK, 500);
	HOST_CHECK_EQ(tcp_state(tcp_of(s)), TCP_ESTABLISHED);
	h.seq = 501;
	end();
}

/* A reset in SYN-RECEIVED: back to LISTEN, or refused, as it had begun. */
static void must_11_origin_remembered_body(void)
{
	listening();
	h_syn(&h, TH_SYN, 500);
	h_expect(TH_SYN | TH_ACK);
	h_inject(&h, TH_RST, 501, 0, 0);
	HOST_CHECK(!ep_lookup(&h_us, H_PORT, &h.addr, h.port));
	accepted();
	end();
	listening();
	h.lport = 7000;
	s = h_connect(&h);
	h_syn(&h, TH_SYN, 500);
	h_expect(TH_SYN | TH_ACK);
	h_inject(&h, TH_RST, 501, 0, 0);
	HOST_CHECK_EQ(tcp_state(tcp_of(s)), TCP_CLOSE);
	HOST_CHECK_EQ(sock_take_error(s), -ECONNREFUSED);
	end();
}

/* The program can tell an end from an abort. */
static void must_12_told_how_it_ended_body(void)
{
	begin();
	h_inject(&h, TH_FIN | TH_ACK, h.seq, h.ack, 0);
	HOST_CHECK_EQ(h_recv(s, data, 10, 0), 0);
	HOST_CHECK_EQ(h_recv(s, data, 10, 0), 0);
	end();
	begin();
	h_inject(&h, TH_RST, h.seq, 0, 0);
	HOST_CHECK(s->ops->poll(s, NULL, NULL) & EPOLLERR);
	HOST_CHECK_EQ(h_recv(s, data, 10, 0), -ECONNRESET);
	HOST_CHECK_EQ(h_recv(s, data, 10, 0), 0);
	HOST_CHECK_EQ(h_send(s, data, 10, 0), -EPIPE);
	end();
}

/* We close first: TIME-WAIT for 60 s, which a late FIN begins anew. */
static void into_time_wait(void)
{
	begin();
	h_close(s);
	s = NULL;
	h_expect(TH_FIN | TH_ACK);
	h.ack++;
	h_inject(&h, TH_FIN | TH_ACK, h.seq, h.ack, 0);
	h_expect(TH_ACK);
	h.seq++;
	HOST_CHECK_EQ(tcp_tw_count(), 1);
}
static void must_13_time_wait_2msl_body(void)
{
	into_time_wait();
	h_sleep(59000);
	HOST_CHECK_EQ(tcp_tw_count(), 1);
	h_inject(&h, TH_FIN | TH_ACK, h.seq - 1, h.ack, 0);
	HOST_CHECK_EQ(h_expect(TH_ACK)->tcp.ack, h.seq);
	h_sleep(59000);
	HOST_CHECK_EQ(tcp_tw_count(), 1);
	h_sleep(4000);
	HOST_CHECK_EQ(tcp_tw_count(), 0);
	end();
}

/* MAY-2, SHLD-4 (RFC 6191): a SYN with a later number, or a later timestamp, opens anew. */
static void shld_4_time_wait_reuse_body(void)
{
	into_time_wait();
	h_syn(&h, TH_SYN, h.seq + 1000);
	h_expect(TH_SYN | TH_ACK);
	end();
	listening();
	h.ts = true;
	accepted();
	h_close(s);
	s = NULL;
	h_expect(TH_FIN | TH_ACK);
	h.ack++;
	h_inject(&h, TH_FIN | TH_ACK, h.seq, h.ack, 0);
	h_expect(TH_ACK);
	h.tsval += 100;
	h_syn(&h, TH_SYN, h.seq - 50000); /* an earlier number */
	h_expect(TH_SYN | TH_ACK);
	end();
}

/* RFC 1337: nothing ends TIME-WAIT early. */
static void rfc1337_no_assassination_body(void)
{
	into_time_wait();
	h_inject(&h, TH_RST, h.seq, 0, 0);
	h_inject(&h, TH_ACK, h.seq - 500, h.ack, 100);
	h_drain();
	HOST_CHECK_EQ(tcp_tw_count(), 1);
	end();
}

static void shld_3_reset_with_unread_data_body(void)
{
	begin();
	his_data(10);
	h_drain();
	h_close(s);
	s = NULL;
	h_expect(TH_RST | TH_ACK);
	end();
	/* And when more comes after the end. */
	begin();
	h_close(s);
	s = NULL;
	h_expect(TH_FIN | TH_ACK);
	his_data(10);
	h_expect(TH_RST);
	end();
}

/* Listeners beside connections in every state, on the same and on other ports. */
static void must_41_42_listeners_body(void)
{
	struct sock *other = h_socket();
	union sockaddr_any a;

	other->reuseaddr = true;
	HOST_CHECK_EQ(other->ops->bind(other, &a, addr_export(other->family, &h_us, 81, &a)), 0);
	HOST_CHECK_EQ(other->ops->listen(other, 5), 0);
	begin();
	for (unsigned i = 0; i < 3; i++) {
		struct h_peer g;

		h_peer_init(&g, (uint16_t)(6000 + i));
		g.lport = i & 1 ? H_PORT : 81;
		h_syn(&g, TH_SYN, 1);
		h_expect(TH_SYN | TH_ACK);
	}
	h_close(other);
	end();
}

/* MUST-43 to 45: the address that the program names, else the route's, and always the same. */
static void must_44_45_local_address_body(void)
{
	union sockaddr_any a;
	struct pbuf *p;
	unsigned len;

	listening();
	s = h_socket();
	len = addr_export(s->family, &h.addr, 5000, &a);
	HOST_CHECK_EQ(s->ops->connect(s, &a, len, true), -EINPROGRESS);
	p = h_expect(TH_SYN);
	HOST_CHECK(addr_equal(&p->src, &h_us));
	h_within(TH_SYN, 2000);
	s->ops->getname(s, &a, false);
	p = h_within(TH_SYN, 5000);
	HOST_CHECK(addr_equal(&p->src, &h_us));
	end();
}

static const char *const nobody4[] = { "\xe0\0\0\1", "\xff\xff\xff\xff" };

static void must_46_no_open_to_many_body(void)
{
	listening();
	s = h_socket();
	for (unsigned i = 0; i < (h_v6 ? 1 : 2); i++) {
		struct ip_addr to = h_v6 ? addr_from_v6((const uint8_t *)"\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\0\1") :
					   addr_from_v4(nobody4[i]);
		union sockaddr_any a;
		unsigned len = addr_export(s->family, &to, 80, &a);

		HOST_CHECK(s->ops->connect(s, &a, len, true) < 0 && tcp_state(tcp_of(s)) == TCP_CLOSE);
	}
	h_quiet();
	end();
}

static void must_57_63_no_syn_of_many_body(void)
{
	struct ip_addr many = h_v6 ? addr_from_v6((const uint8_t *)"\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\0\1") :
				     addr_from_v4("\xe0\0\0\1");

	listening();
	h.addr = many; /* from */
	h_syn(&h, TH_SYN, 1);
	h_peer_init(&h, 4000);
	h.to = many;
	h_syn(&h, TH_SYN, 1);
	h_quiet();
	if (!h_v6) {
		h.to = addr_from_v4(nobody4[1]);
		h_syn(&h, TH_SYN, 1);
		h_quiet();
	}
	end();
}

#define TESTS(X)                                                                                   \
	X(must_8_isn_clock_driven) X(must_9_isn_secret) X(rfc6056_ports)                           \
	X(must_10_simultaneous_open) X(must_11_origin_remembered) X(must_12_told_how_it_ended)     \
	X(must_13_time_wait_2msl) X(shld_4_time_wait_reuse) X(rfc1337_no_assassination)            \
	X(shld_3_reset_with_unread_data) X(must_41_42_listeners) X(must_44_45_local_address)       \
	X(must_46_no_open_to_many) X(must_57_63_no_syn_of_many)
MAIN(TESTS)
