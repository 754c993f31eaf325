/* SPDX-License-Identifier: MIT */
/*
 * The IP layer against packets that the test makes up, on a device of 1500 bytes:
 * fragments in every order, overlapping, too many, too late; extension headers;
 * ICMP errors in both directions; path MTU; multicast.
 *
 * SOURCES: @net
 * FLAVOURS: plain asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/host/net_stub.h"
#include "net/dgram.h"
#include "net/frag.h"
#include "net/icmp_err.h"
#include "net/mcast.h"

#define PORT  7
#define RPORT 4000

static struct pqueue sent; /* what left through the device; one CPU, no lock */
static struct ip_addr us, peer;
static bool v6;
static uint8_t mark; /* ECN field of packets that are made */

static void dev_xmit(struct netdev *d, struct pbuf *p)
{
	pqueue_push(&sent, p);
}
static struct netdev dev = { .name = "test0", .mtu = 1500, .xmit = dev_xmit };

static uint64_t stat_of(enum net_stat s)
{
	return net_stat_sum(s);
}

static void wrong(const char *what)
{
	fprintf(stderr, "ip_test: %s\n", what);
	HOST_CHECK(!"a row of the table above it");
}

static void family(bool six)
{
	static bool ready;

	v6 = six;
	us = six ? addr_from_v6("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1")
		 : addr_from_v4("\xc0\0\2\1");
	peer = six ? addr_from_v6("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\2")
		   : addr_from_v4("\xc0\0\2\2");
	if (!ready) {
		t_init();
		netdev_register(&dev);
		ready = true;
	}
	ifaddr_add(&dev, &us, six ? 64 : 120);
	pqueue_purge(&sent);
}

static struct pbuf *out(void)
{
	struct pbuf *p = pqueue_pop(&sent);

	HOST_CHECK(p);
	return p;
}

/* Bytes of a whole packet, from its network header on. */
static unsigned flat(const struct pbuf *p, uint8_t *to)
{
	unsigned head = p->end - p->start;

	memcpy(to, p->head + p->start, head);
	if (p->len)
		pdata_copy_out(p->data, p->off, to + head, p->len);
	return head + p->len;
}

/* A UDP datagram (header and payload) of @len bytes from the peer, into @d; pattern by @seed. */
static void make_udp(uint8_t *d, unsigned len, uint64_t seed)
{
	uint32_t sum;
	uint16_t folded;

	put_be16(d, RPORT);
	put_be16(d + 2, PORT);
	put_be16(d + 4, (uint16_t)len);
	put_be16(d + 6, 0);
	pattern_fill(d + 8, len - 8, seed, 0);
	sum = csum_add(csum_pseudo(&peer, &us, len, IPPROTO_UDP), d, len, false);
	folded = csum_fold(sum);
	if (!folded)
		folded = 0xffff;
	memcpy(d + 6, &folded, 2);
}

/* A packet whose network header is followed by @n bytes at @d, partly in the head as drivers do it.
 */
static struct pbuf *packet(uint8_t proto, const uint8_t *d, unsigned n)
{
	struct pbuf *p = pbuf_alloc(PBUF_RESERVE);
	unsigned head = min(n, 20u);

	p->src = peer;
	p->dst = us;
	p->dev = &dev;
	p->th = p->start;
	memcpy(pbuf_put(p, head), d, head);
	if (n > head) {
		p->data = pdata_from_bytes(d + head, n - head);
		p->len = n - head;
	}
	if (v6)
		ipv6_push_header(p, proto, 64, mark);
	else
		ipv4_push_header(p, proto, 64, mark);
	return p;
}

/* Injects bytes @off..@off+@n of a datagram as a fragment. */
static void fragment(const uint8_t *d, unsigned off, unsigned n, bool more, uint32_t id)
{
	static uint8_t b[70000];
	struct pbuf *p;

	if (v6) {
		b[0] = IPPROTO_UDP;
		b[1] = 0;
		put_be16(b + 2, (uint16_t)(off | more));
		put_be32(b + 4, id);
		memcpy(b + 8, d + off, n);
		p = packet(IPPROTO_FRAGMENT, b, n + 8);
	} else {
		p = packet(IPPROTO_UDP, d + off, n);
		ipv4_set_fragment(p, (uint16_t)id, off, more);
	}
	netif_rx(p);
}

static ssize_t send_to(struct sock *s, const union sockaddr_any *to, unsigned n, size_t len)
{
	static char payload[70000];
	union sockaddr_any a = *to;
	struct iov v = { payload, len };
	struct iov_iter it;
	struct sock_msg m = { .it = &it, .nonblock = true, .name = &a, .name_len = n };

	iov_iter_init(&it, &v, 1, false);
	return s->ops->sendmsg(s, &m);
}

static struct sock *udp_socket(bool conn)
{
	struct sock *s = udp_create(v6 ? AF_INET6 : AF_INET);
	union sockaddr_any a;
	unsigned n;

	n = addr_export(s->family, &us, PORT, &a);
	HOST_CHECK_EQ(s->ops->bind(s, &a, n), 0);
	if (conn) {
		n = addr_export(s->family, &peer, RPORT, &a);
		HOST_CHECK_EQ(s->ops->connect(s, &a, n, false), 0);
	}
	return s;
}

static uint8_t buf[70000], dgram[70000];

static void expect_datagram(struct sock *s, unsigned len, uint64_t seed)
{
	HOST_CHECK_EQ(t_recv(s, buf, sizeof(buf), MSG_DONTWAIT), (ssize_t)len - 8);
	HOST_CHECK_EQ(pattern_bad(buf, len - 8, seed, 0), 0);
}
static void expect_nothing(struct sock *s)
{
	HOST_CHECK_EQ(t_recv(s, buf, sizeof(buf), MSG_DONTWAIT), -EAGAIN);
}
static void expect_no_memory_held(void)
{
	uint32_t bytes;
	unsigned n;

	frag_usage(&n, &bytes);
	HOST_CHECK_EQ(n, 0);
	HOST_CHECK_EQ(bytes, 0);
}

/* Every order of five pieces, every duplicate of one of them. */
static void orders(struct sock *s)
{
	static const unsigned cut[6] = { 0, 8, 1000, 1008, 2000, 2491 };
	static uint32_t id = 100;

	make_udp(dgram, cut[5], 1);
	for (unsigned perm = 0; perm < 120; perm++) {
		unsigned left[5] = { 0, 1, 2, 3, 4 }, n = 5, k = perm, first = 0;

		id++;
		for (; n; n--) {
			unsigned i = k % n, x = left[i];

			k /= n;
			left[i] = left[n - 1];
			fragment(dgram, cut[x], cut[x + 1] - cut[x], x != 4, id);
			if (n == 5)
				first = x;
			else if (n == 3) /* the first one again */
				fragment(dgram, cut[first], cut[first + 1] - cut[first], first != 4,
					 id);
		}
		expect_datagram(s, cut[5], 1);
		expect_nothing(s);
		expect_no_memory_held();
	}
}

static void orders_body(void)
{
	for (int six = 0; six < 2; six++) {
		struct sock *s;

		family(six);
		s = udp_socket(false);
		orders(s);
		t_close(s);
	}
}

/* What must never become a datagram.  Each row is a list of fragments: offset, length, more. */
static void lies_body(void)
{
	static const struct {
		const char *what;
		struct { uint16_t off, len, more; } f[6];
	} rows[] = {
		{ "overlap of one byte group",
		  { { 0, 1000, 1 }, { 992, 1008, 1 }, { 2000, 491, 0 } } },
		{ "overlap from below", { { 1000, 1000, 1 }, { 0, 1008, 1 }, { 2000, 491, 0 } } },
		{ "contained", { { 0, 2000, 1 }, { 8, 8, 1 }, { 2000, 491, 0 } } },
		{ "containing", { { 8, 8, 1 }, { 0, 2000, 1 }, { 2000, 491, 0 } } },
		{ "same start, longer", { { 0, 1000, 1 }, { 0, 1008, 1 }, { 1008, 1483, 0 } } },
		{ "two ends", { { 1000, 1491, 0 }, { 1000, 1400, 0 }, { 0, 1000, 1 } } },
		{ "end before what is there",
		  { { 0, 1000, 1 }, { 1504, 987, 1 }, { 1000, 100, 0 } } },
		{ "data behind the end", { { 2000, 491, 0 }, { 2496, 8, 1 }, { 0, 2000, 1 } } },
		{ "a hole", { { 0, 1000, 1 }, { 1008, 1483, 0 } } },
		{ "no first one", { { 8, 992, 1 }, { 1000, 1491, 0 } } },
		{ "not a multiple of eight", { { 0, 1001, 1 }, { 1000, 1491, 0 } } },
		{ "beyond 64 KiB", { { 0, 1000, 1 }, { 65528, 1400, 0 } } },
	};
	static uint32_t id = 1000;

	for (int six = 0; six < 2; six++) {
		struct sock *s;

		family(six);
		s = udp_socket(false);
		make_udp(dgram, 2491, 2);
		for (unsigned r = 0; r < ARRAY_SIZE(rows); r++, id++) {
			for (unsigned i = 0; i < 6 && rows[r].f[i].len; i++)
				fragment(dgram, rows[r].f[i].off, rows[r].f[i].len,
					 rows[r].f[i].more, id);
			if (t_recv(s, buf, sizeof(buf), MSG_DONTWAIT) != -EAGAIN)
				wrong(rows[r].what);
		}
		/* What overlapped stays dead, whatever comes later (RFC 5722). */
		id++;
		fragment(dgram, 0, 1000, true, id);
		fragment(dgram, 992, 8, true, id);
		fragment(dgram, 0, 1000, true, id);
		fragment(dgram, 1000, 1491, false, id);
		expect_nothing(s);
		t_close(s);
	}
}

/* 64 KiB both ways, and pieces that arrive cut smaller than we would. */
static void large_body(void)
{
	static uint32_t id = 5000;

	for (int six = 0; six < 2; six++) {
		static const unsigned sizes[] = { 9, 1472, 1473, 2000, 30000, 65515 };
		struct sock *s;

		family(six);
		s = udp_socket(true);
		for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
			unsigned len = sizes[i], at;
			struct pbuf *p;

			/* Out, cut by us; each piece fits the device and comes back in as it is. */
			pattern_fill(buf, len - 8, i, 0);
			HOST_CHECK_EQ(t_send(s, buf, len - 8, 0), (ssize_t)len - 8);
			while ((p = pqueue_pop(&sent))) {
				unsigned whole = flat(p, dgram);

				HOST_CHECK(whole <= dev.mtu);
				if (six) {
					memcpy(dgram + 8, peer.b, 16);
					memcpy(dgram + 24, us.b, 16);
				} else {
					uint16_t sum;

					memcpy(dgram + 12, &peer.b[12], 4);
					memcpy(dgram + 16, &us.b[12], 4);
					put_be16(dgram + 10, 0);
					sum = csum_fold(csum_add(0, dgram, 20, false));
					memcpy(dgram + 10, &sum, 2);
				}
				pbuf_free(p);
				p = pbuf_alloc(16);
				p->dev = &dev;
				at = min(whole, 60u);
				memcpy(pbuf_put(p, at), dgram, at);
				if (whole > at) {
					p->data = pdata_from_bytes(dgram + at, whole - at);
					p->len = whole - at;
				}
				/*
				 * Ports are the other way round on the way back: patch them in the
				 * first piece.
				 */
				{
					uint8_t *h = p->head + p->start;
					unsigned th = six ? h[6] == IPPROTO_FRAGMENT ? 48 : 40 : 20;
					unsigned off = six ? th == 48 ? get_be16(h + 42) & 0xfff8
								      : 0
							   : (get_be16(h + 6) & 0x1fffu) * 8;

					if (off == 0) {
						put_be16(h + th, RPORT);
						put_be16(h + th + 2, PORT);
					}
				}
				netif_rx(p);
			}
			expect_datagram(s, len, i);
			/* In, cut to 576-byte packets. */
			make_udp(dgram, len, i);
			for (at = 0; at < len; at += 552)
				fragment(dgram, at, min(len - at, 552u), at + 552 < len, id);
			id++;
			expect_datagram(s, len, i); /* one of 9 bytes is whole at once */
		}
		HOST_CHECK_EQ(t_send(s, buf, 65508, 0), -EMSGSIZE);
		t_close(s);
		expect_no_memory_held();
	}
}

/* However many first fragments come, memory stays below its bound, and honest datagrams pass. */
static void flood_body(void)
{
	for (int six = 0; six < 2; six++) {
		uint64_t evicted = stat_of(NS_frag_evicted);
		uint32_t bytes;
		unsigned n;
		struct sock *s;

		family(six);
		s = udp_socket(false);
		make_udp(dgram, 2491, 3);
		for (uint32_t id = 0x10000; id < 0x10000 + 5000; id++) {
			fragment(dgram, 8, 1000, true, id);
			frag_usage(&n, &bytes);
			HOST_CHECK(bytes <= 4096 * 1024 && n <= 1025);
			if (id % 500 == 0) {
				fragment(dgram, 0, 1000, true, 7 + id);
				fragment(dgram, 1000, 1491, false, 7 + id);
				expect_datagram(s, 2491, 3);
			}
		}
		HOST_CHECK(stat_of(NS_frag_evicted) > evicted);
		t_close(s);
	}
}

/* After its time a datagram is gone, and its sender hears of it if we know who that is. */
static void timeout_body(void)
{
	HOST_CHECK_EQ(param_set(param_find("net.frag.seconds"), "1"), 0);
	for (int six = 0; six < 2; six++) {
		struct sock *s;
		struct pbuf *p;

		family(six);
		s = udp_socket(false);
		make_udp(dgram, 2491, 4);
		fragment(dgram, 0, 1000, true, 0x20000);
		fragment(dgram, 8, 8, true, 0x20001); /* no first fragment: no error */
		for (unsigned i = 0; i < 400 && !sent.first; i++)
			thread_sleep_until(clock_ns() + 10 * NSEC_PER_MSEC, false);
		p = out();
		flat(p, buf);
		HOST_CHECK_EQ(buf[six ? 40 : 20], six ? ICMP6_TIME : ICMP4_TIME);
		HOST_CHECK_EQ(buf[six ? 41 : 21], 1);
		pbuf_free(p);
		fragment(dgram, 1000, 1491, false, 0x20000);
		expect_nothing(s);
		t_close(s);
	}
}

/* Contiguous pieces of 1480 bytes up to @end, the last without "more"; @last again @again times. */
static void pieces(unsigned end, unsigned again, uint32_t id)
{
	for (unsigned off = 0; off < end; off += 1480) {
		unsigned n = min(1480u, end - off);

		for (unsigned i = 0; i <= (off + n == end ? again : 0); i++)
			fragment(dgram, off, n, off + n < end, id);
	}
}

/*
 * I2: fragments that add up to more than 65535 bytes, exactly that many, and the last one
 * again, before and after the datagram is whole.  Overlap and holes are in lies_body().
 */
static void i2_sizes_body(void)
{
	static uint32_t id = 0x30000;

	for (int six = 0; six < 2; six++) {
		unsigned most = six ? 65535 : 65515; /* bytes behind the network header */
		struct sock *s;

		family(six);
		s = udp_socket(false);
		HOST_CHECK_EQ(sock_setsockopt(s, SOL_SOCKET, SO_RCVBUF, &(int){ 1 << 20 }, 4), 0);
		make_udp(dgram, most, 7);
		pieces(most, 2, ++id);
		expect_datagram(s, most, 7);
		expect_nothing(s);
		for (unsigned beyond = 1; beyond < 3000; beyond += 731) {
			pieces(most + beyond, 0, ++id);
			expect_nothing(s);
		}
		/* The length field says one thing, the last fragment another. */
		for (unsigned off = 0; off < 64000; off += 1600)
			fragment(dgram, off, 1600, true, id + 1);
		fragment(dgram, 65528, 600, false, ++id);
		expect_nothing(s);
		t_close(s);
		pqueue_purge(&sent);
	}
}

/*
 * I2: the time-out and the last fragment meet.  Whatever comes first, the datagram is whole
 * or gone, and nothing is held in the end.
 */
static void i2_race_body(void)
{
	HOST_CHECK_EQ(param_set(param_find("net.frag.seconds"), "1"), 0);
	for (int six = 0; six < 2; six++) {
		uint32_t id = 0x40000, held;
		unsigned n, got = 0;
		struct sock *s;

		family(six);
		s = udp_socket(false);
		make_udp(dgram, 2491, 8);
		for (unsigned i = 0; i < 40; i++) {
			fragment(dgram, 0, 1000, true, id + i);
			thread_sleep_until(clock_ns() + 2 * NSEC_PER_MSEC, false);
		}
		/* While those expire one after the other, each gets its last fragment. */
		thread_sleep_until(clock_ns() + 880 * NSEC_PER_MSEC, false);
		for (unsigned i = 0; i < 40; i++) {
			fragment(dgram, 1000, 1491, false, id + i);
			if (t_recv(s, buf, sizeof(buf), MSG_DONTWAIT) >= 0) {
				HOST_CHECK_EQ(pattern_bad(buf, 2483, 8, 0), 0);
				got++;
			}
			thread_sleep_until(clock_ns() + 3 * NSEC_PER_MSEC, false);
		}
		HOST_CHECK(got <= 40);
		for (unsigned i = 0; i < 400; i++) {
			frag_usage(&n, &held);
			if (!n)
				break;
			thread_sleep_until(clock_ns() + 10 * NSEC_PER_MSEC, false);
		}
		expect_no_memory_held();
		t_close(s);
		pqueue_purge(&sent);
	}
}

/* A checksum of 0 is none for IPv4 (RFC 768) and wrong for IPv6 (RFC 8200, RFC 6935). */
static void udp_checksum_body(void)
{
	for (int six = 0; six < 2; six++) {
		struct sock *s;

		family(six);
		s = udp_socket(false);
		make_udp(dgram, 200, 9);
		netif_rx(packet(IPPROTO_UDP, dgram, 200));
		expect_datagram(s, 200, 9);
		dgram[6] ^= 0x55;
		netif_rx(packet(IPPROTO_UDP, dgram, 200));
		expect_nothing(s);
		dgram[6] = dgram[7] = 0;
		netif_rx(packet(IPPROTO_UDP, dgram, 200));
		if (six)
			expect_nothing(s);
		else
			expect_datagram(s, 200, 9);
		t_close(s);
	}
}

/* A mark on one fragment is a mark on the datagram; beside not-ECT it is a lie (RFC 3168 5.3). */
static void ecn_body(void)
{
	static const struct { uint8_t a, b; int whole, tos; } rows[] = {
		{ 2, 2, 1, 2 }, { 2, 3, 1, 3 }, { 3, 1, 1, 3 }, { 0, 0, 1, 0 }, { 0, 3, 0, 0 },
	};

	for (int six = 0; six < 2; six++) {
		struct sock *s;

		family(six);
		s = udp_socket(false);
		make_udp(dgram, 2000, 10);
		for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
			mark = rows[i].a;
			fragment(dgram, 0, 1000, true, 0x50000 + i);
			mark = rows[i].b;
			fragment(dgram, 1000, 1000, false, 0x50000 + i);
			mark = 0;
			if (rows[i].whole) {
				HOST_CHECK_EQ(dgram_of(s)->queue.first->tos & 3, rows[i].tos);
				expect_datagram(s, 2000, 10);
			} else {
				expect_nothing(s);
			}
		}
		t_close(s);
	}
}

/*
 * What waits for the device is charged to who sent it, each fragment for its part, and comes
 * back with the packets; SO_SNDBUF limits it, and a closed socket's packets still pay.
 */
static void charge_body(void)
{
	for (int six = 0; six < 2; six++) {
		int64_t before = atomic_load(&stub_pages);
		union sockaddr_any to;
		struct dgram_sock *d;
		struct sock *s;
		unsigned n;

		family(six);
		s = udp_socket(false);
		d = dgram_of(s);
		n = addr_export(s->family, &peer, RPORT, &to);
		HOST_CHECK_EQ(sock_setsockopt(s, SOL_SOCKET, SO_SNDBUF, &(int){ 20000 }, 4), 0);
		HOST_CHECK_EQ(send_to(s, &to, n, 30000), 30000);
		HOST_CHECK_EQ(sent.count, 21);
		HOST_CHECK(d->wmem >= 30000 && d->wmem < 60000);
		HOST_CHECK(atomic_load(&stub_pages) - before >= 30000 / (int64_t)PAGE_SIZE);
		HOST_CHECK_EQ(send_to(s, &to, n, 30000), 30000); /* there was room when it began */
		HOST_CHECK(!dgram_writable(d));
		HOST_CHECK_EQ(send_to(s, &to, n, 1), -EAGAIN);
		pbuf_free(pqueue_pop(&sent));
		HOST_CHECK_EQ(send_to(s, &to, n, 1), -EAGAIN);
		t_close(s); /* what it has on its way keeps it */
		HOST_CHECK(atomic_load(&stub_pages) > before);
		pqueue_purge(&sent);
		HOST_CHECK_EQ(atomic_load(&stub_pages), before);
	}
}

/*
 * Chains of extension headers.  What comes back: nothing, an answer to the ping, or an ICMPv6
 * error.
 */
static void extension_headers_body(void)
{
	enum { DROP, PONG, PARAM_0, PARAM_1, PARAM_2 };
	static const struct {
		const char *what, *bytes; /* headers; the last one names ICMPv6 */
		unsigned n;
		uint8_t first;
		int expect;
		uint32_t at;
	} rows[] = {
		{ "hop by hop, padding", "\x3a\0\1\4\0\0\0\0", 8, 0, PONG, 0 },
		{ "destination options", "\x3a\0\1\4\0\0\0\0", 8, 60, PONG, 0 },
		{ "both", "\x3c\0\1\4\0\0\0\0\x3a\0\1\4\0\0\0\0", 16, 0, PONG, 0 },
		{ "hop by hop not first", "\0\0\1\4\0\0\0\0\x3a\0\1\4\0\0\0\0", 16, 60, PARAM_1,
		  40 },
		{ "unknown option, skipped", "\x3a\0\x1e\4\0\0\0\0", 8, 60, PONG, 0 },
		{ "unknown option, drop", "\x3a\0\x5e\4\0\0\0\0", 8, 60, DROP, 0 },
		{ "unknown option, complain", "\x3a\0\x9e\4\0\0\0\0", 8, 60, PARAM_2, 42 },
		{ "option beyond its header", "\x3a\0\1\5\0\0\0\0", 8, 60, DROP, 0 },
		{ "header beyond the packet", "\x3a\x20\1\4\0\0\0\0", 8, 60, DROP, 0 },
		{ "routing header, used up", "\x3a\0\0\0\0\0\0\0", 8, 43, PONG, 0 },
		{ "routing header with segments left", "\x3a\0\0\1\0\0\0\0", 8, 43, PARAM_0, 42 },
		{ "atomic fragment", "\x3a\0\0\0\0\0\0\1", 8, 44, PONG, 0 },
		{ "two fragment headers", "\x2c\0\0\0\0\0\0\1\x3a\0\0\0\0\0\0\1", 16, 44, DROP, 0 },
		{ "unknown next header", "\xfd\0\1\4\0\0\0\0", 8, 60, PARAM_1, 40 },
	};

	family(true);
	for (unsigned r = 0; r < ARRAY_SIZE(rows); r++) {
		uint8_t b[128] = { 0 };
		unsigned n = rows[r].n;
		struct pbuf *p;
		uint16_t sum;
		int got = DROP;

		memcpy(b, rows[r].bytes, n);
		b[n] = ICMP6_ECHO;
		put_be32(b + n + 4, 0x12345678);
		sum = csum_fold(
			csum_add(csum_pseudo(&peer, &us, 16, IPPROTO_ICMPV6), b + n, 16, false));
		memcpy(b + n + 2, &sum, 2);
		netif_rx(packet(rows[r].first, b, n + 16));
		p = pqueue_pop(&sent);
		if (p) {
			flat(p, buf);
			got = buf[40] == ICMP6_ECHO_REPLY ? PONG
			      : buf[40] == ICMP6_PARAM	  ? PARAM_0 + buf[41]
							  : -1;
			pbuf_free(p);
		}
		if (got != rows[r].expect || (got >= PARAM_0 && get_be32(buf + 44) != rows[r].at))
			wrong(rows[r].what);
		HOST_CHECK(!sent.first);
		thread_sleep_until(clock_ns() + 12 * NSEC_PER_MSEC, false); /* the rate of errors */
	}
	/* Nine headers are one too many. */
	for (unsigned count = 8; count <= 9; count++) {
		uint8_t b[128] = { 0 };
		uint16_t sum;

		for (unsigned i = 0; i < count; i++)
			memcpy(b + 8 * i,
			       i + 1 < count ? "\x3c\0\1\4\0\0\0\0" : "\x3a\0\1\4\0\0\0\0", 8);
		b[8 * count] = ICMP6_ECHO;
		sum = csum_fold(csum_add(csum_pseudo(&peer, &us, 16, IPPROTO_ICMPV6), b + 8 * count,
					 16, false));
		memcpy(b + 8 * count + 2, &sum, 2);
		netif_rx(packet(60, b, 8 * count + 16));
		HOST_CHECK_EQ(sent.first != NULL, count == 8);
		pqueue_purge(&sent);
	}
}

/* An ICMP error quoting a UDP datagram of ours (or what pretends to be one). */
static void icmp_error(uint8_t type, uint8_t code, uint32_t word, uint16_t sport, uint16_t dport)
{
	uint8_t b[128] = { type, code };
	unsigned n = 8;
	uint16_t sum;

	put_be32(b + 4, word);
	if (v6) {
		b[n] = 0x60;
		put_be16(b + n + 4, 8);
		b[n + 6] = IPPROTO_UDP;
		memcpy(b + n + 8, us.b, 16);
		memcpy(b + n + 24, peer.b, 16);
		n += 40;
	} else {
		b[n] = 0x45;
		put_be16(b + n + 2, 1500);
		b[n + 9] = IPPROTO_UDP;
		memcpy(b + n + 12, &us.b[12], 4);
		memcpy(b + n + 16, &peer.b[12], 4);
		n += 20;
	}
	put_be16(b + n, sport);
	put_be16(b + n + 2, dport);
	put_be16(b + n + 4, 8);
	n += 8;
	sum = csum_fold(csum_add(v6 ? csum_pseudo(&peer, &us, n, IPPROTO_ICMPV6) : 0, b, n, false));
	memcpy(b + 2, &sum, 2);
	netif_rx(packet(v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP, b, n));
}

static int pending(struct sock *s)
{
	int v;
	unsigned n = sizeof(v);

	HOST_CHECK_EQ(sock_getsockopt(s, SOL_SOCKET, SO_ERROR, &v, &n), 0);
	return v;
}

/* Errors count only for the socket that can have sent the datagram. */
static void errors_in_body(void)
{
	for (int six = 0; six < 2; six++) {
		const uint8_t unreach = six ? ICMP6_UNREACH : ICMP4_UNREACH, port = six ? 4 : 3;
		struct sock *s;
		int one = 1;
		struct iov v = { buf, sizeof(buf) };
		struct iov_iter it;
		union sockaddr_any from;
		struct sock_msg m = { .it = &it, .flags = MSG_ERRQUEUE, .name = &from };

		family(six);
		s = udp_socket(true);
		icmp_error(unreach, port, 0, PORT, RPORT);
		HOST_CHECK_EQ(pending(s), ECONNREFUSED);
		icmp_error(unreach, port, 0, PORT, RPORT + 1);
		HOST_CHECK_EQ(pending(s), 0);
		icmp_error(unreach, port, 0, PORT + 1, RPORT);
		HOST_CHECK_EQ(pending(s), 0);
		icmp_error(unreach, 0, 0, PORT, RPORT); /* soft: no network now */
		HOST_CHECK_EQ(pending(s), 0);
		HOST_CHECK_EQ(sock_setsockopt(s, six ? SOL_IPV6 : SOL_IP,
					      six ? IPV6_RECVERR : IP_RECVERR, &one, 4),
			      0);
		icmp_error(unreach, 0, 0, PORT, RPORT);
		HOST_CHECK_EQ(pending(s), ENETUNREACH);
		iov_iter_init(&it, &v, 1, false);
		HOST_CHECK(s->ops->recvmsg(s, &m) >= 0);
		HOST_CHECK_EQ(m.anc.have, ANC_ERROR);
		HOST_CHECK_EQ(m.anc.err.err, ENETUNREACH);
		HOST_CHECK_EQ(m.anc.err.origin, six ? ERR_ORIGIN_ICMP6 : ERR_ORIGIN_ICMP);
		HOST_CHECK(addr_equal(&m.anc.from, &peer));
		HOST_CHECK_EQ(be16(from.in.port), RPORT);
		HOST_CHECK_EQ(s->ops->recvmsg(s, &m), -EAGAIN);
		t_close(s);
	}
}

/* Packet too big: believed within bounds, then datagrams are cut to the path's size. */
static void path_mtu_body(void)
{
	for (int six = 0; six < 2; six++) {
		const uint8_t type = six ? ICMP6_TOO_BIG : ICMP4_UNREACH, code = six ? 0 : 4;
		struct sock *s;
		struct pbuf *p;
		int v = PMTUDISC_DO;

		family(six);
		s = udp_socket(true);
		HOST_CHECK_EQ(pmtu_get(&peer, 1500), 1500);
		icmp_error(type, code, 1300, PORT, RPORT + 1); /* nobody sent that */
		HOST_CHECK_EQ(pmtu_get(&peer, 1500), 1500);
		icmp_error(type, code, six ? 1279 : 67, PORT, RPORT); /* no such link */
		HOST_CHECK_EQ(pmtu_get(&peer, 1500), 1500);
		icmp_error(type, code, 1400, PORT, RPORT);
		HOST_CHECK_EQ(pmtu_get(&peer, 1500), 1400);
		icmp_error(type, code, 1450, PORT, RPORT); /* never upwards */
		HOST_CHECK_EQ(pmtu_get(&peer, 1500), 1400);
		pending(s);
		HOST_CHECK_EQ(t_send(s, buf, 1450, 0), 1450);
		for (unsigned n = 0; n < 2; n++) {
			p = out();
			HOST_CHECK(flat(p, dgram) <= 1400);
			pbuf_free(p);
		}
		HOST_CHECK(!sent.first);
		HOST_CHECK_EQ(sock_setsockopt(s, SOL_IP, IP_MTU_DISCOVER, &v, sizeof(v)), 0);
		HOST_CHECK_EQ(t_send(s, buf, 1450, 0), -EMSGSIZE);
		if (!six) { /* below 552 bytes packets stay that size and may be cut on the way */
			icmp_error(type, code, 100, PORT, RPORT);
			HOST_CHECK_EQ(pmtu_get(&peer, 1500), 552);
			pending(s);
			HOST_CHECK_EQ(t_send(s, buf, 100, 0), 100);
			p = out();
			HOST_CHECK_EQ(p->head[p->nh + 6] & 0x40, 0);
			pbuf_free(p);
		}
		t_close(s);
	}
}

/* One peer gets a burst of errors, then no more than the rate; none about errors. */
static void errors_out_body(void)
{
	for (int six = 0; six < 2; six++) {
		unsigned n = 0;
		struct pbuf *p;

		family(six);
		thread_sleep_until(clock_ns() + 300 * NSEC_PER_MSEC, false);
		make_udp(dgram, 800, 5);
		for (unsigned i = 0; i < 200; i++)
			netif_rx(packet(IPPROTO_UDP, dgram, 800)); /* no socket */
		while ((p = pqueue_pop(&sent))) {
			unsigned len = flat(p, buf);

			HOST_CHECK_EQ(buf[six ? 40 : 20], six ? ICMP6_UNREACH : ICMP4_UNREACH);
			HOST_CHECK_EQ(len, six ? 40 + 8 + 40 + 800 : 576);
			pbuf_free(p);
			n++;
		}
		HOST_CHECK(n >= 20 && n <= 40);
		thread_sleep_until(clock_ns() + 300 * NSEC_PER_MSEC, false);
		icmp_error(six ? ICMP6_UNREACH : ICMP4_UNREACH, 3, 0, 9, 9);
		HOST_CHECK(!sent.first);
	}
}

static void multicast_body(void)
{
	struct ip_addr group = addr_from_v4("\xef\1\2\3");
	uint8_t mreq[8] = { 239, 1, 2, 3, 192, 0, 2, 1 };
	union sockaddr_any a;
	struct sock *s[2];
	unsigned n;

	family(false);
	for (unsigned i = 0; i < 2; i++) {
		struct ip_addr any = addr_from_v4("\0\0\0\0");
		int one = 1;

		s[i] = udp_create(AF_INET);
		HOST_CHECK_EQ(sock_setsockopt(s[i], SOL_SOCKET, SO_REUSEADDR, &one, 4), 0);
		n = addr_export(AF_INET, &any, PORT, &a);
		HOST_CHECK_EQ(s[i]->ops->bind(s[i], &a, n), 0);
	}
	make_udp(dgram, 100, 6);
	us = group;
	make_udp(dgram, 100, 6);
	netif_rx(packet(IPPROTO_UDP, dgram, 100));
	expect_nothing(s[0]);
	HOST_CHECK_EQ(sock_setsockopt(s[0], SOL_IP, IP_ADD_MEMBERSHIP, mreq, 8), 0);
	HOST_CHECK_EQ(sock_setsockopt(s[0], SOL_IP, IP_ADD_MEMBERSHIP, mreq, 8), -EADDRINUSE);
	HOST_CHECK(mcast_wants(&dev, &group));
	netif_rx(packet(IPPROTO_UDP, dgram, 100));
	expect_datagram(s[0], 100, 6);
	expect_datagram(s[1], 100, 6);
	t_close(s[0]);
	HOST_CHECK(!mcast_wants(&dev, &group));
	t_close(s[1]);
	HOST_CHECK(!sent.first); /* no errors about multicast */
}

static void run(void (*body)(void))
{
	assert_int_equal(host_run(1, body), 0);
}
static void test_orders(void **state)
{
	run(orders_body);
}
static void test_lies(void **state)
{
	run(lies_body);
}
static void test_large(void **state)
{
	run(large_body);
}
static void test_flood(void **state)
{
	run(flood_body);
}
static void test_timeout(void **state)
{
	run(timeout_body);
}
static void test_i2_sizes(void **state)
{
	run(i2_sizes_body);
}
static void test_i2_race(void **state)
{
	run(i2_race_body);
}
static void test_udp_checksum(void **state)
{
	run(udp_checksum_body);
}
static void test_ecn(void **state)
{
	run(ecn_body);
}
static void test_charge(void **state)
{
	run(charge_body);
}
static void test_extension_headers(void **state)
{
	run(extension_headers_body);
}
static void test_errors_in(void **state)
{
	run(errors_in_body);
}
static void test_path_mtu(void **state)
{
	run(path_mtu_body);
}
static void test_errors_out(void **state)
{
	run(errors_out_body);
}
static void test_multicast(void **state)
{
	run(multicast_body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_i2_sizes),
		cmocka_unit_test(test_i2_race),
		cmocka_unit_test(test_udp_checksum),
		cmocka_unit_test(test_ecn),
		cmocka_unit_test(test_charge),
		cmocka_unit_test(test_extension_headers),
		cmocka_unit_test(test_errors_in),
		cmocka_unit_test(test_path_mtu),
		cmocka_unit_test(test_errors_out),
		cmocka_unit_test(test_multicast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
