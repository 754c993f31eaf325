/* SPDX-License-Identifier: MIT */
/*
 * Windows, probes and the end of patience: zero windows (MUST-34 to 37), silly
 * windows on both sides (MUST-38, 39), Nagle and corks, keepalive (MUST-24 to
 * 29), TCP_USER_TIMEOUT (RFC 5482), orphans, urgent data, path MTU, memory.
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
#include "fs/vfs.h"
#include "net/icmp_err.h"
#include "net/if_config.h"

#define MSS 1000u

static struct sock *l, *s;
static struct tcp_sock *tp;
static struct h_peer h;
static uint8_t data[200 * MSS];

static void begin(void)
{
	l = h_listen(5);
	h_peer_init(&h, 4000);
	h.delay_ms = 100;
	s = h_established(&h, l, 1000);
	tp = tcp_of(s);
}

static void end(void)
{
	s->linger_on = true;
	h_close(s);
	h_close(l);
	h_drain();
}

/* Zero window: the next byte as a question, at doubling intervals, for as long as it is answered. */
static void zero_window_body(void)
{
	uint64_t t = 0, gap = 0;
	struct pbuf *p;

	begin();
	h.wnd = 0;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_send(s, "0123456789", 10, 0), 10);
	h_quiet();
	for (unsigned i = 0; i < 40; i++) { /* more often than any retry limit */
		HOST_CHECK(h_wait(130000));
		p = h_expect(TH_ACK);
		HOST_CHECK_EQ(p->tcp.seq, h.ack);
		HOST_CHECK_EQ(p->len, 1);
		if (i > 1)
			HOST_CHECK(h_next_time() - t >= min(2 * gap, TCP_RTO_MAX));
		gap = i ? h_next_time() - t : 0;
		t = h_next_time();
		h_ack(&h, h.ack);
	}
	/* The window opens: everything at once, and the back-off is forgotten. */
	h.wnd = 65535;
	h_ack(&h, h.ack);
	p = h_expect(TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, h.ack);
	HOST_CHECK_EQ(p->len, 10);
	t = clock_ns();
	HOST_CHECK(h_wait(5000));
	HOST_CHECK(h_next() && h_next_time() - t < 2 * NSEC_PER_SEC);
	h_ack(&h, h.ack + 10);
	end();
	/* The peer takes the byte of the probe. */
	begin();
	h.wnd = 0;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_send(s, "0123456789", 10, 0), 10);
	HOST_CHECK(h_wait(5000));
	h_expect(TH_ACK);
	h_ack(&h, h.ack + 1);
	h_quiet();
	HOST_CHECK(h_wait(5000));
	p = h_expect(TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, h.ack);
	h.wnd = 1000;
	h_ack(&h, h.ack + 1);
	p = h_expect(TH_ACK);
	HOST_CHECK_EQ(p->tcp.seq, h.ack);
	HOST_CHECK_EQ(p->len, 8);
	/* The last byte, with a FIN behind it. */
	h_ack(&h, h.ack + 8);
	h.wnd = 0;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_send(s, "z", 1, 0), 1);
	HOST_CHECK_EQ(s->ops->shutdown(s, SHUT_WR), 0);
	HOST_CHECK(h_wait(5000));
	h_expect(TH_ACK);
	h_ack(&h, h.ack + 1);
	HOST_CHECK(h_wait(5000));
	HOST_CHECK_EQ(h_expect(TH_ACK | TH_FIN)->tcp.seq, h.ack);
	h_ack(&h, h.ack + 1);
	HOST_CHECK_EQ(tcp_state(tp), TCP_FIN_WAIT2);
	end();
	/* Nobody answers: it ends. */
	begin();
	h.wnd = 0;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_send(s, "x", 1, 0), 1);
	h_sleep(3600000);
	HOST_CHECK_EQ(h_drain(), TCP_RETRIES);
	HOST_CHECK_EQ(sock_take_error(s), -ETIMEDOUT);
	end();
}

/* A window that shrinks over data in flight: they are repeated until it opens, however long. */
static void shrunk_body(void)
{
	begin();
	HOST_CHECK_EQ(h_send(s, data, 5 * MSS, 0), 5 * MSS);
	HOST_CHECK_EQ(h_drain(), 5);
	h.wnd = 0;
	h_ack(&h, h.ack + MSS);
	for (unsigned i = 0; i < 30; i++) {
		HOST_CHECK(h_wait(130000));
		h_drain();
		h_ack(&h, h.ack);
	}
	HOST_CHECK_EQ(tcp_state(tp), TCP_ESTABLISHED);
	h.wnd = 65535;
	h_ack(&h, h.ack);
	for (unsigned i = 0; i < 20 && tp->snd_una != tp->write_seq; i++) {
		h_wait(130000);
		while (h_next())
			;
		h_ack(&h, tp->snd_nxt);
	}
	HOST_CHECK_EQ(tp->snd_una, tp->write_seq);
	end();
}

/* Neither side makes silly windows. */
static void silly_body(void)
{
	struct pbuf *p;
	uint8_t b[4000];
	uint32_t edge;

	begin();
	/* Sender: a window of a few bytes is not filled … */
	h.wnd = 5000;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_send(s, data, 20 * MSS, 0), 20 * MSS);
	HOST_CHECK_EQ(h_drain(), 5);
	h.wnd = 100;
	h_ack(&h, h.ack + 5 * MSS);
	h_quiet();
	/* … until half of the largest window is there, or the time for a probe has come. */
	HOST_CHECK(h_wait(5000));
	p = h_expect(TH_ACK);
	HOST_CHECK_EQ(p->len, 100);
	h.wnd = 0;
	h_ack(&h, h.ack + 100);
	h.wnd = 900;
	h_ack(&h, h.ack);
	h_quiet();
	h.wnd = 1000;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_expect(TH_ACK)->len, MSS);
	end();
	/* Receiver: the right edge moves by a segment or a quarter of the buffer, or not at all. */
	begin();
	HOST_CHECK_EQ(h_setopt(s, SOL_SOCKET, SO_RCVBUF, 4000), 0);
	h.seq = tp->rcv_nxt;
	edge = tp->rcv_adv;
	for (unsigned i = 0; i < 200 && tp->rcv_adv != tp->rcv_nxt; i++) {
		h_inject(&h, TH_ACK, h.seq, h.ack, min(MSS, tp->rcv_adv - h.seq));
		h.seq = tp->rcv_nxt;
		h_drain();
	}
	HOST_CHECK(seq_geq(tp->rcv_adv, edge)); /* never back (SHLD-14) */
	edge = tp->rcv_adv;
	while (h_recv(s, b, 10, 0) == 10) {
		if (tp->rcv_adv != edge)
			HOST_CHECK(tp->rcv_adv - edge >= min(tp->mss, atomic_load(&s->rcvbuf) / 4));
		edge = tp->rcv_adv;
		h_drain();
	}
	end();
}

/* Nagle, TCP_NODELAY, corks, MSG_MORE. */
static void nagle_body(void)
{
	begin();
	HOST_CHECK_EQ(h_send(s, "a", 1, 0), 1);
	HOST_CHECK_EQ(h_expect(TH_ACK)->len, 1);
	HOST_CHECK_EQ(h_send(s, "b", 1, 0), 1);
	HOST_CHECK_EQ(h_send(s, "c", 1, 0), 1);
	h_quiet();
	h_ack(&h, h.ack + 1);
	HOST_CHECK_EQ(h_expect(TH_ACK)->len, 2);
	HOST_CHECK_EQ(h_setopt(s, SOL_TCP, TCP_NODELAY, 1), 0);
	HOST_CHECK_EQ(h_send(s, "d", 1, 0), 1);
	HOST_CHECK_EQ(h_expect(TH_ACK)->len, 1);
	h_ack(&h, h.ack + 3);
	/* A cork holds a partial segment back, for 200 ms at most. */
	HOST_CHECK_EQ(h_setopt(s, SOL_TCP, TCP_CORK, 1), 0);
	HOST_CHECK_EQ(h_send(s, data, MSS + 10, 0), MSS + 10);
	HOST_CHECK_EQ(h_expect(TH_ACK)->len, MSS);
	h_quiet();
	HOST_CHECK(h_wait(300));
	HOST_CHECK_EQ(h_expect(TH_ACK)->len, 10);
	HOST_CHECK_EQ(h_send(s, data, 5, 0), 5);
	h_quiet();
	HOST_CHECK_EQ(h_setopt(s, SOL_TCP, TCP_CORK, 0), 0);
	HOST_CHECK_EQ(h_expect(TH_ACK)->len, 5);
	HOST_CHECK_EQ(h_send(s, data, 5, MSG_MORE), 5);
	h_quiet();
	HOST_CHECK_EQ(h_send(s, data, 5, 0), 5);
	HOST_CHECK_EQ(h_expect(TH_ACK)->len, 10);
	end();
}

/* Keepalive: off by default; then after the idle time, each interval, and all must go unanswered. */
static void keepalive_body(void)
{
	uint64_t t;

	begin();
	h_quiet_for(4 * 3600 * 1000ull);
	HOST_CHECK_EQ(h_getopt(s, SOL_TCP, TCP_KEEPIDLE), 7200);
	HOST_CHECK_EQ(h_setopt(s, SOL_TCP, TCP_KEEPIDLE, 60), 0);
	HOST_CHECK_EQ(h_setopt(s, SOL_TCP, TCP_KEEPINTVL, 10), 0);
	HOST_CHECK_EQ(h_setopt(s, SOL_TCP, TCP_KEEPCNT, 3), 0);
	h_ack(&h, h.ack);
	t = clock_ns();
	HOST_CHECK_EQ(h_setopt(s, SOL_SOCKET, SO_KEEPALIVE, 1), 0);
	HOST_CHECK(h_wait(100000));
	HOST_CHECK_EQ(h_expect(TH_ACK)->tcp.seq, h.ack - 1);
	HOST_CHECK_EQ((h_next_time() - t) / NSEC_PER_SEC, 60);
	/* One lost answer is no dead peer. */
	HOST_CHECK(h_wait(20000));
	h_expect(TH_ACK);
	HOST_CHECK_EQ((h_next_time() - t) / NSEC_PER_SEC, 70);
	h_ack(&h, h.ack);
	t = clock_ns();
	for (unsigned i = 0; i < 3; i++) {
		HOST_CHECK(h_wait(100000));
		h_expect(TH_ACK);
		HOST_CHECK_EQ((h_next_time() - t) / NSEC_PER_SEC, 60 + 10 * i);
	}
	HOST_CHECK(h_wait(100000));
	h_expect(TH_RST | TH_ACK);
	HOST_CHECK_EQ(sock_take_error(s), -ETIMEDOUT);
	end();
}

/* TCP_USER_TIMEOUT bounds how long data may stay unacknowledged. */
static void user_timeout_body(void)
{
	uint64_t t;

	begin();
	HOST_CHECK_EQ(h_setopt(s, SOL_TCP, TCP_USER_TIMEOUT, 5000), 0);
	HOST_CHECK_EQ(h_send(s, "x", 1, 0), 1);
	t = clock_ns();
	while (tcp_state(tp) != TCP_CLOSE) {
		h_sleep(100);
		HOST_CHECK(clock_ns() - t < 60 * NSEC_PER_SEC);
	}
	HOST_CHECK((clock_ns() - t) >= 5 * NSEC_PER_SEC);
	HOST_CHECK_EQ(sock_take_error(s), -ETIMEDOUT);
	end();
	/* An error that ICMP told meanwhile is what the program hears; it ended nothing by itself. */
	begin();
	HOST_CHECK_EQ(h_setopt(s, SOL_TCP, TCP_USER_TIMEOUT, 5000), 0);
	HOST_CHECK_EQ(h_send(s, "x", 1, 0), 1);
	h_drain();
	h_icmp(&h, h_v6 ? ICMP6_UNREACH : ICMP4_UNREACH, h_v6 ? 3 : 1, h.ack + 5000, 0); /* not in flight */
	HOST_CHECK_EQ(tp->soft_err, 0);
	h_icmp(&h, h_v6 ? ICMP6_UNREACH : ICMP4_UNREACH, h_v6 ? 3 : 1, h.ack, 0);
	HOST_CHECK_EQ(tcp_state(tp), TCP_ESTABLISHED);
	h_sleep(60000);
	HOST_CHECK_EQ(sock_take_error(s), -EHOSTUNREACH);
	end();
}

/* Connections without a file are bounded: their number, and each one's time. */
static void orphans_body(void)
{
	h_param("net.tcp.orphans_max", "0");
	begin();
	h_close(s);
	h_expect(TH_FIN | TH_ACK);
	h_expect(TH_RST | TH_ACK);
	HOST_CHECK_EQ(tcp_orphans(), 0);
	h_close(l);
	h_param("net.tcp.orphans_max", "10");
	begin();
	h_close(s);
	h_expect(TH_FIN | TH_ACK);
	HOST_CHECK_EQ(tcp_orphans(), 1);
	h_ack(&h, h.ack + 1); /* FIN_WAIT_2, and the peer never closes */
	h_sleep(TCP_FIN2_TIME / NSEC_PER_MSEC + 1000);
	HOST_CHECK_EQ(tcp_orphans(), 0);
	h_close(l);
	/* Its FIN is never acknowledged. */
	begin();
	h_close(s);
	h_sleep(1200000);
	h_drain();
	HOST_CHECK_EQ(tcp_orphans(), 0);
	h_close(l);
}

static void urgent_body(void)
{
	struct pbuf *p;
	uint8_t b[16];
	int v;

	begin();
	/* Sending: the pointer names the byte behind (MUST-62). */
	HOST_CHECK_EQ(h_send(s, "abc!", 4, MSG_OOB), 4);
	p = h_expect(TH_ACK | TH_URG);
	HOST_CHECK_EQ(p->tcp.urg, 4);
	h_ack(&h, h.ack + 4);
	HOST_CHECK_EQ(h_send(s, "d", 1, 0), 1);
	h_expect(TH_ACK);
	h_ack(&h, h.ack + 1);
	/* Receiving: "12!34" with the third byte urgent. */
	HOST_CHECK_EQ(h_recv(s, b, 1, MSG_OOB), -EINVAL);
	h.urg = 3;
	h_inject_bytes(&h, TH_ACK | TH_URG, h.seq, h.ack, "12", 2);
	HOST_CHECK_EQ(h_recv(s, b, 1, MSG_OOB), -EAGAIN); /* announced */
	h.urg = 1;
	h_inject_bytes(&h, TH_ACK | TH_URG, h.seq + 2, h.ack, "!34", 3);
	h.seq += 5;
	HOST_CHECK(s->ops->poll(s, NULL, NULL) & EPOLLPRI);
	HOST_CHECK_EQ(s->ops->ioctl(s, 0x8905, &v), 0); /* SIOCATMARK */
	HOST_CHECK_EQ(v, 0);
	HOST_CHECK_EQ(h_recv(s, b, 16, 0), 2);
	HOST_CHECK_EQ(s->ops->ioctl(s, 0x8905, &v), 0);
	HOST_CHECK_EQ(v, 1);
	HOST_CHECK_EQ(h_recv(s, b, 1, MSG_OOB), 1);
	HOST_CHECK_EQ(b[0], '!');
	HOST_CHECK_EQ(h_recv(s, b, 16, 0), 2);
	HOST_CHECK(!memcmp(b, "34", 2));
	HOST_CHECK_EQ(h_recv(s, b, 1, MSG_OOB), -EINVAL);
	/* Inline, it stays where it is; a call ends in front of it. */
	HOST_CHECK_EQ(h_setopt(s, SOL_SOCKET, SO_OOBINLINE, 1), 0);
	h.urg = 2;
	h_inject_bytes(&h, TH_ACK | TH_URG, h.seq, h.ack, "5!67", 4);
	h.seq += 4;
	HOST_CHECK_EQ(h_recv(s, b, 16, 0), 1);
	HOST_CHECK_EQ(h_recv(s, b, 16, 0), 3);
	HOST_CHECK(!memcmp(b, "!67", 3));
	/* A pointer into nowhere, and to what has been read: nothing happens. */
	HOST_CHECK_EQ(h_setopt(s, SOL_SOCKET, SO_OOBINLINE, 0), 0);
	h.urg = 60000;
	h_inject_bytes(&h, TH_ACK | TH_URG, h.seq, h.ack, "8", 1);
	h.seq++;
	HOST_CHECK_EQ(h_recv(s, b, 16, 0), 1);
	h.urg = 0;
	h_inject_bytes(&h, TH_ACK | TH_URG, h.seq, h.ack, "9", 1);
	h.seq++;
	HOST_CHECK_EQ(h_recv(s, b, 16, 0), 1);
	HOST_CHECK_EQ(h_recv(s, b, 16, 0), -EAGAIN);
	end();
}

/* A router says that the way takes less: shorter segments at once, without slowing down. */
static void pmtu_body(void)
{
	uint8_t type = h_v6 ? ICMP6_TOO_BIG : ICMP4_UNREACH, code = h_v6 ? 0 : 4;
	unsigned mtu = 1300, mss = mtu - (h_v6 ? 60 : 40);
	struct pbuf *p;
	uint32_t cwnd, at;

	l = h_listen(5);
	h_peer_init(&h, 4000);
	h.mss = 1460;
	s = h_established(&h, l, 1000);
	tp = tcp_of(s);
	HOST_CHECK_EQ(h_send(s, data, 4 * tp->mss, 0), 4 * tp->mss);
	HOST_CHECK_EQ(h_drain(), 4);
	cwnd = tp->cwnd;
	/* Quoting what is not in flight: somebody guesses (RFC 5927). */
	h_icmp(&h, type, code, h.ack - 1, mtu);
	h_icmp(&h, type, code, tp->snd_nxt, mtu);
	h_quiet();
	HOST_CHECK_EQ(net_stat_sum(NS_tcp_icmp_stray), 2);
	h_icmp(&h, type, code, h.ack, mtu);
	HOST_CHECK_EQ(tp->mss, mss);
	HOST_CHECK(tp->cwnd >= cwnd / 2);
	for (at = h.ack; (p = h_next()); at += p->len) {
		HOST_CHECK_EQ(p->tcp.seq, at);
		HOST_CHECK(p->len <= mss);
		h_ack(&h, at + p->len);
	}
	HOST_CHECK_EQ(tp->snd_una, tp->write_seq);
	end();
	/* The next connection knows. */
	h_peer_init(&h, 4001);
	h.mss = 1460;
	l = h_listen(5);
	s = h_established(&h, l, 1000);
	HOST_CHECK_EQ(tcp_of(s)->mss, mss);
	end();
}

/* The same, found out by somebody else: in flight and new, nothing longer is sent, and all arrives. */
static void path_known_body(void)
{
	unsigned mtu = 1300, mss = mtu - (h_v6 ? 60 : 40);
	uint8_t type = h_v6 ? ICMP6_TOO_BIG : ICMP4_UNREACH, code = h_v6 ? 0 : 4;
	struct h_peer other;
	struct pbuf *p;
	uint32_t at;

	for (unsigned by_hand = 0; by_hand < 2; by_hand++) {
		h_sleep(601 * 1000); /* what was known of the path is forgotten */
		l = h_listen(5);
		h_peer_init(&other, 4001);
		h_peer_init(&h, 4000);
		h.mss = other.mss = 1460;
		s = h_established(&h, l, 1000);
		tp = tcp_of(s);
		HOST_CHECK_EQ(h_send(s, data, 2 * tp->mss, 0), 2 * tp->mss);
		HOST_CHECK_EQ(h_drain(), 2);
		if (by_hand) {
			HOST_CHECK_EQ(netdev_set_mtu(tp->dev, mtu), 0);
		} else {
			struct sock *s2 = h_established(&other, l, 5000);

			HOST_CHECK_EQ(h_send(s2, data, tcp_of(s2)->mss, 0), tcp_of(s2)->mss);
			HOST_CHECK_EQ(h_drain(), 1);
			h_icmp(&other, type, code, other.ack, mtu);
			HOST_CHECK(h_drain() > 0);
			s2->linger_on = true;
			h_close(s2);
			h_drain();
		}
		HOST_CHECK_EQ(h_send(s, data, 4 * mss, 0), 4 * mss);
		at = h.ack;
		for (unsigned tries = 0; at != tp->write_seq; tries++) {
			HOST_CHECK(tries < 100);
			p = h_next();
			if (!p) {
				h_sleep(100);
				continue;
			}
			HOST_CHECK(p->len <= mss);
			HOST_CHECK_EQ(get_be16(p->head + p->th), 80);
			if (p->tcp.seq == at && p->len)
				at += p->len;
			h_ack(&h, at);
		}
		HOST_CHECK_EQ(tp->mss, mss);
		if (by_hand)
			HOST_CHECK_EQ(netdev_set_mtu(tp->dev, 1500), 0);
		end();
	}
}

static uint64_t info_us(int what)
{
	struct abi_tcp_info i;

	tcp_own(tp);
	tcp_fill_info(tp, &i);
	tcp_release(tp);
	return what == LIMIT_RWND ? i.rwnd_limited : what == LIMIT_SNDBUF ? i.sndbuf_limited :
	       what == LIMIT_BUSY ? i.busy_time : i.delivery_rate;
}

#define NEAR(us, ms) ((us) + 1000 >= (ms) * 1000ull && (us) <= ((ms) + 20) * 1000ull)

/* What TCP_INFO says of who held sending back, and how fast it went. */
static void limits_body(void)
{
	begin();
	h_sleep(1000);
	HOST_CHECK_EQ(info_us(LIMIT_BUSY), 0);
	/* The network: a round trip of 50 ms. */
	HOST_CHECK_EQ(h_send(s, data, 2 * MSS, 0), 2 * MSS);
	h_drain();
	h_sleep(50);
	h_ack(&h, h.ack + 2 * MSS);
	HOST_CHECK(NEAR(info_us(LIMIT_BUSY), 50));
	HOST_CHECK(info_us(-1) > 2 * MSS * 15 && info_us(-1) <= 2 * MSS * 20);
	h_sleep(500); /* idle counts for nobody */
	HOST_CHECK(NEAR(info_us(LIMIT_BUSY), 50));
	HOST_CHECK_EQ(info_us(LIMIT_RWND), 0);
	/* The peer: 100 ms without a window, while all it let in is acknowledged. */
	h.wnd = 0;
	h_ack(&h, h.ack);
	HOST_CHECK_EQ(h_send(s, data, MSS, 0), MSS);
	h_sleep(100);
	HOST_CHECK(NEAR(info_us(LIMIT_RWND), 100));
	h.wnd = 65535;
	h_ack(&h, h.ack);
	HOST_CHECK(h_drain() > 0);
	h_sleep(50);
	HOST_CHECK(NEAR(info_us(LIMIT_RWND), 100));
	h_ack(&h, h.ack + MSS);
	HOST_CHECK(NEAR(info_us(LIMIT_BUSY), 200));
	/* The buffer: all that it takes is in flight, and the program has more. */
	HOST_CHECK_EQ(h_setopt(s, SOL_SOCKET, SO_SNDBUF, 2304), 0);
	while (h_send(s, data, MSS, MSG_DONTWAIT) > 0)
		;
	h_drain();
	h_sleep(70);
	HOST_CHECK(NEAR(info_us(LIMIT_SNDBUF), 70));
	HOST_CHECK(NEAR(info_us(LIMIT_BUSY), 270));
	end();
}

/* TCP_NOTSENT_LOWAT: what has not been sent stays short, for writes as for poll(); and all of it arrives. */
static void unsent_body(void)
{
	static const unsigned lowats[] = { 1, 3000, 40000 };
	static uint8_t b[sizeof(data)];

	for (unsigned i = 0; i < ARRAY_SIZE(lowats); i++) {
		size_t queued = 0, got = 0;
		unsigned v = lowats[i], stuck = 0;

		begin();
		HOST_CHECK_EQ(h_setopt(s, IPPROTO_TCP, TCP_NOTSENT_LOWAT, (int)v), 0);
		while (got < sizeof(data)) {
			ssize_t n = queued < sizeof(data) ?
					    h_send(s, data + queued, sizeof(data) - queued, MSG_DONTWAIT) : -EAGAIN;
			struct pbuf *p;

			HOST_CHECK(n > 0 || n == -EAGAIN);
			HOST_CHECK(tp->write_seq - tp->snd_nxt < v + tp->mss);
			queued += n > 0 ? (size_t)n : 0;
			if (queued < sizeof(data)) { /* the buffer has room: only this limit can have ended the write */
				HOST_CHECK(tp->write_seq - tp->snd_nxt >= v || !tcp_wmem_free(tp));
				HOST_CHECK_EQ(h_send(s, data + queued, 1, MSG_DONTWAIT), -EAGAIN);
				HOST_CHECK(!(s->ops->poll(s, NULL, NULL) & EPOLLOUT));
			}
			for (stuck++; (p = h_next()); stuck = 0) {
				HOST_CHECK_EQ(p->tcp.seq, h.ack);
				if (p->len)
					pdata_copy_out(p->data, p->off, b + got, p->len);
				got += p->len;
				h.ack += p->len;
			}
			HOST_CHECK(stuck < 3);
			h_ack(&h, h.ack);
		}
		HOST_CHECK(!memcmp(b, data, sizeof(data)));
		HOST_CHECK(s->ops->poll(s, NULL, NULL) & EPOLLOUT);
		end();
	}
}

/* A million tiny segments to a reader that does not read: bounded, and nothing is lost of what was taken. */
static void tiny_body(void)
{
	static uint8_t b[1 << 20];
	size_t got = 0;
	ssize_t n;

	begin();
	for (unsigned i = 0; i < 60000; i++) {
		uint8_t byte = (uint8_t)i;

		h_inject_bytes(&h, TH_ACK, h.seq, h.ack, &byte, 1);
		h.seq = tp->rcv_nxt;
		if (!(i % 64))
			h_drain();
	}
	/* What 60 000 bytes cost: some blocks, no 60 000 packets. */
	HOST_CHECK(h.seq - 1001 > 40000);
	HOST_CHECK(tp->rmem < 160 << 10);
	HOST_CHECK(h_charged_pages() < 64);
	while ((n = h_recv(s, b + got, sizeof(b) - got, 0)) > 0)
		got += (size_t)n;
	HOST_CHECK_EQ(got, h.seq - 1001);
	for (unsigned i = 0; i < got; i++)
		HOST_CHECK_EQ(b[i], (uint8_t)i);
	HOST_CHECK_EQ(tp->rmem, 0);
	/* Out of order: bounded by number and by memory. */
	for (unsigned i = 0; i < 5000; i++) {
		h_inject(&h, TH_ACK, h.seq + 2 + 2 * i, h.ack, 1);
		h_drain();
	}
	HOST_CHECK(tp->ofo_runs <= TCP_OFO_MAX);
	HOST_CHECK(tp->rmem <= 2 * atomic_load(&s->rcvbuf) + 8192);
	end();
}

/* A connection that has sent and received and is idle holds no page. */
static void idle_body(void)
{
	struct page_stats st;
	uint64_t before;
	uint8_t b[100];

	begin();
	page_stats(&st);
	before = st.kind[PAGE_NET];
	for (unsigned i = 0; i < 10; i++) {
		h_inject(&h, TH_ACK, h.seq, h.ack, 100);
		h.seq += 100;
		HOST_CHECK_EQ(h_recv(s, b, 100, 0), 100);
		HOST_CHECK_EQ(h_send(s, b, 100, 0), 100);
		h_drain();
		h_ack(&h, h.ack + 100);
	}
	h_drain();
	page_stats(&st);
	HOST_CHECK(st.kind[PAGE_NET] <= before + 1); /* the CPU's spare block */
	HOST_CHECK_EQ(atomic_load(&tp->wmem), 0);
	end();
}

/* What the stack queues for a reader that does not read, while nothing is free. */
static uint32_t queued_when_short(bool group)
{
	uint32_t bytes;

	h_group(group);
	l = h_listen(5);
	HOST_CHECK_EQ(h_setopt(l, SOL_SOCKET, SO_RCVBUF, 1 << 20), 0);
	h_peer_init(&h, 4000);
	h.wscale = 0; /* so that ours counts: large windows */
	s = h_established(&h, l, 1000);
	tp = tcp_of(s);
	h_param("net.tcp.leave", "100");
	for (unsigned i = 0; i < 1000; i++) {
		h_inject(&h, TH_ACK, h.seq, h.ack, MSS);
		h.seq = tp->rcv_nxt;
		h_drain();
	}
	bytes = tp->rmem;
	h_param("net.tcp.leave", "6");
	end();
	h_group(true);
	return bytes;
}
/* Sockets of the root group stop; those of a group are not the machine's business. */
static void short_memory_body(void)
{
	HOST_CHECK(queued_when_short(false) <= 72 << 10);
	HOST_CHECK(queued_when_short(true) >= 400 << 10);
}

#define TEST(name)                                                                                 \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		assert_int_equal(h_run(name##_body), 0);                                           \
	}
#define TESTS(X)                                                                                   \
	X(zero_window) X(shrunk) X(silly) X(nagle) X(keepalive) X(user_timeout) X(orphans)         \
	X(urgent) X(pmtu) X(path_known) X(limits) X(unsent) X(tiny) X(idle) X(short_memory)
TESTS(TEST)

int main(void)
{
#define ENTRY(name) cmocka_unit_test(test_##name),
	const struct CMUnitTest tests[] = { TESTS(ENTRY) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
