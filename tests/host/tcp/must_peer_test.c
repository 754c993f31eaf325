/* SPDX-License-Identifier: MIT */
/*
 * RFC 9293: keepalive, urgent data, errors from the network, and what the IP level
 * is asked for.
 *
 * SOURCES: @net tests/host/tcp/harness.c
 * FLAVOURS: plain asan
 */
#include "tests/host/tcp/named.h"

/* MUST-24, 25, 27, 28: off until the program asks, two hours unless it says otherwise. */
static void must_25_keepalive_off_body(void)
{
	uint64_t t;

	begin();
	h_quiet_for(5 * 3600 * 1000ull);
	t = clock_ns();
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_setopt(s, SOL_SOCKET, SO_KEEPALIVE, 1), 0);
	HOST_CHECK(h_wait(3 * 3600 * 1000ull));
	HOST_CHECK_EQ(h_expect(TH_ACK)->tcp.seq, h.ack - 1); /* SHLD-12 */
	HOST_CHECK(h_next_time() - t >= 7200 * NSEC_PER_SEC);
	HOST_CHECK_EQ(h_setopt(s, SOL_SOCKET, SO_KEEPALIVE, 0), 0);
	h_quiet_for(3 * 3600 * 1000ull);
	HOST_CHECK_EQ(tcp_state(tp), TCP_ESTABLISHED);
	end();
}

/* MUST-26, 29. */
static void must_26_one_lost_probe_body(void)
{
	begin();
	HOST_CHECK_EQ(h_setopt(s, SOL_TCP, TCP_KEEPIDLE, 10), 0);
	HOST_CHECK_EQ(h_setopt(s, SOL_TCP, TCP_KEEPINTVL, 5), 0);
	HOST_CHECK_EQ(h_setopt(s, SOL_TCP, TCP_KEEPCNT, 4), 0);
	HOST_CHECK_EQ(h_setopt(s, SOL_SOCKET, SO_KEEPALIVE, 1), 0);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 3; i++)
			h_within(TH_ACK, 20000);
		h_ack(&h, h.ack); /* the third is answered */
	}
	HOST_CHECK_EQ(tcp_state(tp), TCP_ESTABLISHED);
	for (unsigned i = 0; i < 4; i++)
		h_within(TH_ACK, 20000);
	h_within(TH_RST | TH_ACK, 20000);
	HOST_CHECK_EQ(sock_take_error(s), -ETIMEDOUT);
	end();
}

/* MUST-30 to 33, 62: of any length, announced before it is there, and the program can find it. */
static void must_30_33_urgent_body(void)
{
	struct pbuf *p;
	int v;

	begin();
	HOST_CHECK_EQ(h_send(s, data, 3 * MSS, MSG_OOB), 3 * MSS);
	p = h_expect(TH_ACK | TH_URG);
	HOST_CHECK_EQ(p->tcp.urg, 3 * MSS); /* the byte behind it */
	h_drain();
	h_ack(&h, h.ack + 3 * MSS);
	h.urg = 2 * MSS;
	h_inject(&h, TH_ACK | TH_URG, h.seq, h.ack, MSS);
	h.seq += MSS;
	HOST_CHECK_EQ(h_recv(s, data, 1, MSG_OOB), -EAGAIN);
	h.urg = MSS;
	h_inject(&h, TH_ACK | TH_URG, h.seq, h.ack, MSS);
	h.seq += MSS;
	HOST_CHECK(s->ops->poll(s, NULL, NULL) & EPOLLPRI);
	HOST_CHECK_EQ(h_recv(s, data, sizeof(data), 0), 2 * MSS - 1);
	HOST_CHECK_EQ(s->ops->ioctl(s, 0x8905, &v), 0); /* SIOCATMARK */
	HOST_CHECK_EQ(v, 1);
	HOST_CHECK_EQ(h_recv(s, data, 1, MSG_OOB), 1);
	h.urg = 0;
	end();
}

/* splice() from a connection ends in front of an urgent byte, and reads nothing there; read() passes it. */
static void urgent_splice_body(void)
{
	char buf[200];
	struct iov v = { .base = buf, .len = sizeof(buf) };
	struct iov_iter it;
	struct sock_msg m = { .it = &it, .nonblock = true, .spliced = true };

	begin();
	h.urg = 100;
	h_inject(&h, TH_ACK | TH_URG, h.seq, h.ack, 100);
	h.urg = 0;
	h.seq += 100;
	his_data(50);
	iov_iter_init(&it, &v, 1, false);
	HOST_CHECK_EQ(s->ops->recvmsg(s, &m), 99);
	HOST_CHECK_EQ(s->ops->recvmsg(s, &m), 0);
	HOST_CHECK_EQ(h_recv(s, buf, 1, MSG_OOB), 1);
	HOST_CHECK_EQ(s->ops->recvmsg(s, &m), 0);
	HOST_CHECK_EQ(h_recv(s, buf, 20, 0), 20);
	HOST_CHECK_EQ(s->ops->recvmsg(s, &m), 30);
	HOST_CHECK_EQ(s->ops->recvmsg(s, &m), -EAGAIN);
	end();
}

/* MUST-47, 54, 56, SHLD-25: told, and not fatal to a connection that works. */
static void must_56_soft_errors_body(void)
{
	static const uint8_t codes4[] = { 0, 1, 5, 2, 3 }, codes6[] = { 0, 3, 1 };
	const uint8_t *codes = h_v6 ? codes6 : codes4;

	begin();
	HOST_CHECK_EQ(h_send(s, data, 10, 0), 10);
	h_drain();
	for (unsigned i = 0; i < (h_v6 ? sizeof(codes6) : sizeof(codes4)); i++) {
		h_icmp(&h, h_v6 ? ICMP6_UNREACH : ICMP4_UNREACH, codes[i], h.ack, 0);
		HOST_CHECK_EQ(tcp_state(tp), TCP_ESTABLISHED);
	}
	h_icmp(&h, h_v6 ? 3 : 11, 0, h.ack, 0); /* time exceeded */
	h_icmp(&h, h_v6 ? 4 : 12, 0, h.ack, 0); /* parameter problem */
	HOST_CHECK_EQ(tcp_state(tp), TCP_ESTABLISHED);
	HOST_CHECK(tp->soft_err); /* what a time-out will tell */
	h_drain();
	end();
}

static void must_55_source_quench_body(void)
{
	uint32_t cwnd;

	if (h_v6)
		return;
	begin();
	HOST_CHECK_EQ(h_send(s, data, 10, 0), 10);
	h_drain();
	cwnd = tp->cwnd;
	h_icmp(&h, 4, 0, h.ack, 0);
	HOST_CHECK_EQ(tp->cwnd, cwnd);
	HOST_CHECK_EQ(tp->soft_err, 0);
	h_quiet();
	end();
}

/* SHLD-26: a hard error ends what has not begun; RFC 5927: only for a segment of ours. */
static void shld_26_hard_error_opening_body(void)
{
	listening();
	h.lport = 7000;
	s = h_connect(&h);
	h_icmp(&h, h_v6 ? ICMP6_UNREACH : ICMP4_UNREACH, h_v6 ? 4 : 3, h.ack + 1, 0);
	HOST_CHECK_EQ(tcp_state(tcp_of(s)), TCP_SYN_SENT);
	h_icmp(&h, h_v6 ? ICMP6_UNREACH : ICMP4_UNREACH, h_v6 ? 4 : 3, h.ack - 1, 0);
	HOST_CHECK_EQ(tcp_state(tcp_of(s)), TCP_CLOSE);
	HOST_CHECK_EQ(sock_take_error(s), -ECONNREFUSED);
	end();
}

/* MUST-48, SHLD-22: the service class; MUST-49: the time to live. */
static void must_48_49_tos_ttl_body(void)
{
	struct pbuf *p;
	uint8_t *ip;

	begin();
	HOST_CHECK_EQ(h_setopt(s, h_v6 ? SOL_IPV6 : SOL_IP, h_v6 ? 67 : IP_TOS, 0x28), 0);
	HOST_CHECK_EQ(h_setopt(s, h_v6 ? SOL_IPV6 : SOL_IP, h_v6 ? 16 : IP_TTL, 9), 0);
	HOST_CHECK_EQ(h_send(s, data, 10, 0), 10);
	p = h_expect(TH_ACK);
	ip = p->head + p->nh;
	HOST_CHECK_EQ(h_v6 ? (ip[0] & 15) << 4 | ip[1] >> 4 : ip[1], 0x28);
	HOST_CHECK_EQ(ip[h_v6 ? 7 : 8], 9);
	end();
}

/* IP options in SYNs, data and acknowledgements, known, unknown and broken: no concern of TCP's (MUST-50 to 53). */
static void must_50_ip_options_body(void)
{
	static const struct { const char *what; uint8_t n, b[40]; } options[] = {
		{ "nothing", 4, { 1, 1, 1, 0 } },
		{ "unknown", 8, { 0x5e, 8, 1, 2, 3, 4, 5, 6 } },
		{ "record route", 12, { 7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
		{ "timestamps", 12, { 68, 12, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
		{ "loose source route, used up", 8, { 131, 7, 8, 192, 0, 2, 9, 0 } },
		{ "router alert", 4, { 148, 4, 0, 0 } },
		{ "length 0", 4, { 0x5e, 0, 0, 0 } },
		{ "length 1", 4, { 7, 1, 1, 1 } },
		{ "beyond the header", 4, { 7, 39, 4, 0 } },
		{ "as long as can be", 40, { 0x5e, 40 } },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(options); i++) {
		uint8_t b[100];

		l = h_listen(5);
		h_peer_init(&h, (uint16_t)(4000 + i));
		h.ip_options = options[i].b;
		h.ip_options_len = options[i].n;
		s = h_established(&h, l, 1000);
		tp = tcp_of(s);
		h_inject(&h, TH_ACK, h.seq, h.ack, 100);
		h.seq += 100;
		HOST_CHECK_EQ(h_recv(s, b, sizeof(b), 0), 100);
		h_drain();
		HOST_CHECK_EQ(h_send(s, data, 10, 0), 10);
		h_expect(TH_ACK);
		h_ack(&h, h.ack + 10);
		HOST_CHECK_EQ(tp->snd_una, tp->write_seq);
		end();
	}
}

/* RFC 5961: what is in the window but not exact gets a challenge, one per half second. */
static void rfc5961_challenge_body(void)
{
	begin();
	for (unsigned round = 0; round < 3; round++) {
		struct pbuf *p;

		h_inject(&h, TH_RST, h.seq + 10, 0, 0);
		p = h_expect(TH_ACK);
		HOST_CHECK_EQ(p->tcp.seq, h.ack);
		HOST_CHECK_EQ(p->tcp.ack, h.seq);
		for (unsigned i = 0; i < 50; i++) {
			h_inject(&h, TH_RST, h.seq + 10 + i, 0, 0);
			h_inject(&h, TH_SYN, h.seq + 10 + i, 0, 0);
		}
		h_quiet();
		h_sleep(600);
	}
	HOST_CHECK_EQ(tcp_state(tp), TCP_ESTABLISHED);
	end();
}

/* CVE-2016-5696: no count that all connections share, which one could read through another. */
static void rfc5961_no_shared_count_body(void)
{
	struct h_peer g;
	struct sock *other;

	begin();
	h_peer_init(&g, 4001);
	other = h_established(&g, l, 5000);
	for (unsigned i = 0; i < 300; i++)
		h_inject(&h, TH_RST, h.seq + 10, 0, 0);
	HOST_CHECK_EQ(h_drain(), 1);
	h_inject(&g, TH_RST, g.seq + 10, 0, 0);
	h_expect(TH_ACK);
	other->linger_on = true;
	h_close(other);
	end();
}

#define TESTS(X)                                                                                   \
	X(must_25_keepalive_off) X(must_26_one_lost_probe) X(must_30_33_urgent) X(urgent_splice)   \
	X(must_56_soft_errors) X(must_55_source_quench) X(shld_26_hard_error_opening)              \
	X(must_48_49_tos_ttl) X(must_50_ip_options) X(rfc5961_challenge) X(rfc5961_no_shared_count)
MAIN(TESTS)
