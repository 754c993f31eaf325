/* SPDX-License-Identifier: MIT */
/*
 * What arrives out of order: whatever the order, overlap and size of segments, the
 * bytes come out right, each costs one descent into a balanced tree, and all of it
 * stays within the buffer (RFC 2018, 2883; CVE-2018-5390).
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
#include "net/tcp_ofo.h"

#define DEPTH_MAX 60u /* of 1024 runs with random priorities: 30 is usual */

static struct sock *l, *s;
static struct tcp_sock *tp;
static struct h_peer h;
static uint32_t base; /* the sequence number of the stream's first byte */

static void begin(unsigned rcvbuf)
{
	l = h_listen(5);
	if (rcvbuf)
		HOST_CHECK_EQ(h_setopt(l, SOL_SOCKET, SO_RCVBUF, (int)rcvbuf), 0);
	h_peer_init(&h, 4000);
	h.sack_ok = true;
	h.wscale = 0;
	s = h_established(&h, l, 0xfffff000u); /* the stream crosses the wrap */
	tp = tcp_of(s);
	base = h.seq;
}

static void end(void)
{
	s->linger_on = true;
	h_close(s);
	h_close(l);
	h_drain();
}

static uint8_t byte_at(uint32_t off)
{
	return (uint8_t)(off * 31 + (off >> 8));
}

/* Bytes [off, off + n) of the stream arrive; returns our answer, NULL if there is none. */
static struct pbuf *arrive(uint32_t off, uint32_t n)
{
	static uint8_t b[4096];

	h_drain();
	for (uint32_t i = 0; i < n; i++)
		b[i] = byte_at(off + i);
	h_inject_bytes(&h, TH_ACK, base + off, h.ack, b, n);
	return h_next();
}

/* Checks order, gaps and heap of the tree.  Return: its depth. */
static unsigned check_tree(const struct tcp_run *r, const struct tcp_run **before, unsigned *nr)
{
	unsigned a, b;

	if (!r)
		return 0;
	for (unsigned i = 0; i < 2; i++)
		HOST_CHECK(!r->kid[i] || r->kid[i]->prio <= r->prio);
	a = check_tree(r->kid[0], before, nr);
	HOST_CHECK(!*before || seq_lt((*before)->end, r->start));
	HOST_CHECK(seq_lt(r->start, r->end));
	*before = r;
	++*nr;
	b = check_tree(r->kid[1], before, nr);
	return 1 + max(a, b);
}
static unsigned depth(void)
{
	const struct tcp_run *before = NULL;
	unsigned nr = 0, d = check_tree(tp->ofo, &before, &nr);

	HOST_CHECK_EQ(nr, tp->ofo_runs);
	return d;
}

static void read_all(uint32_t n)
{
	static uint8_t b[1 << 16];
	uint32_t got = 0;
	ssize_t r;

	while ((r = h_recv(s, b, sizeof(b), 0)) > 0) {
		for (ssize_t i = 0; i < r; i++)
			HOST_CHECK_EQ(b[i], byte_at(got + (uint32_t)i));
		got += (uint32_t)r;
		h_drain();
	}
	HOST_CHECK_EQ(got, n);
}

/* Random pieces, overlapping and repeated, until all has come. */
static void random_pieces_body(void)
{
	const uint32_t total = 50000;
	uint32_t x = 12345;

	begin(4 << 20); /* each piece may pin a page */
	for (unsigned i = 0; i < 1500; i++) {
		uint32_t off, n;
		struct pbuf *p;

		x = x * 1664525 + 1013904223;
		off = 1 + (x >> 8) % (total - 1);
		n = min(1 + (x >> 4) % (i % 3 ? 40 : 1400), total - off);
		p = arrive(off, n);
		(void)depth();
		HOST_CHECK(p && p->tcp.ack == base && p->tcp.nr_sack);
		/* The first block has what came last (RFC 2018), or says that it was there (RFC 2883). */
		HOST_CHECK(seq_leq(h_sack_block(p, 0, 0), base + off));
		HOST_CHECK(seq_gt(h_sack_block(p, 0, 1), base + off));
	}
	for (uint32_t off = 0; off < total; off += 1000)
		arrive(off, 1000);
	HOST_CHECK_EQ(tp->rcv_nxt, base + total);
	HOST_CHECK(!tp->ofo && !tp->ofo_runs);
	read_all(total);
	HOST_CHECK_EQ(tp->rmem, 0);
	end();
}

/* Tiny segments with holes between, in the orders that make a bad tree deep. */
static void t15_segment_smack_body(void)
{
	for (unsigned order = 0; order < 4; order++) {
		begin(2 << 20);
		for (unsigned i = 0; i < 3 * TCP_OFO_MAX; i++) {
			unsigned k = i % TCP_OFO_MAX;
			unsigned at = order == 0 ? k : order == 1 ? TCP_OFO_MAX - k :
				      order == 2 ? (k & 1 ? TCP_OFO_MAX - k : k) : k * 389 % TCP_OFO_MAX;

			arrive(2 + 4 * at + i / TCP_OFO_MAX, 1);
		}
		HOST_CHECK(tp->ofo_runs > TCP_OFO_MAX / 2 && tp->ofo_runs <= TCP_OFO_MAX);
		HOST_CHECK(depth() <= DEPTH_MAX);
		HOST_CHECK(tp->rmem <= 2 * atomic_load(&s->rcvbuf));
		end();
	}
}

/* A small buffer, and segments that each pin a page: what is not paid for is dropped. */
static void charged_body(void)
{
	int64_t pages;

	begin(8192);
	for (unsigned i = 0; i < 2000; i++)
		arrive(2 + 2 * i, 1);
	HOST_CHECK(tp->rmem <= 2 * atomic_load(&s->rcvbuf) + PAGE_SIZE);
	pages = h_charged_pages();
	HOST_CHECK(pages <= 2 * 8192 / (int64_t)PAGE_SIZE + 32);
	/* The byte that is missing still has room: what waits behind it yields. */
	arrive(0, 2);
	HOST_CHECK(seq_gt(tp->rcv_nxt, base));
	end();
}

/* A stream of single bytes behind a hole costs blocks, not packets. */
static void coalesced_body(void)
{
	begin(400000);
	for (unsigned i = 0; i < 40000; i++)
		arrive(1 + i, 1);
	HOST_CHECK_EQ(tp->ofo_runs, 1);
	HOST_CHECK(tp->rmem < 160 << 10);
	arrive(0, 1);
	read_all(40001);
	HOST_CHECK_EQ(tp->rmem, 0);
	end();
}

/* The end of the stream comes first, behind bytes or alone: it is part of the report. */
static void fin_body(void)
{
	static uint8_t b[200];

	for (unsigned alone = 0; alone < 2; alone++) {
		uint32_t first = alone ? 200 : 100;
		struct pbuf *p;

		begin(0);
		h_drain();
		for (uint32_t i = 0; i < sizeof(b); i++)
			b[i] = byte_at(i);
		h_inject_bytes(&h, TH_ACK | TH_FIN, base + first, h.ack, b + first, 200 - first);
		p = h_expect(TH_ACK);
		HOST_CHECK_EQ(p->tcp.nr_sack, 1);
		HOST_CHECK_EQ(h_sack_block(p, 0, 0), base + first);
		HOST_CHECK_EQ(h_sack_block(p, 0, 1), base + 201);
		p = arrive(150, 20); /* twice, or in front of the end */
		HOST_CHECK_EQ(p->tcp.nr_sack, 2);
		HOST_CHECK_EQ(h_sack_block(p, 1, 1), base + 201);
		arrive(0, 200);
		HOST_CHECK_EQ(tp->rcv_nxt, base + 201);
		HOST_CHECK_EQ(tcp_state(tp), TCP_CLOSE_WAIT);
		read_all(200);
		HOST_CHECK_EQ(h_recv(s, b, sizeof(b), 0), 0);
		end();
	}
}

#define TEST(name)                                                                                 \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		assert_int_equal(h_run(name##_body), 0);                                           \
	}
#define TESTS(X) X(random_pieces) X(t15_segment_smack) X(charged) X(coalesced) X(fin)
TESTS(TEST)

int main(void)
{
#define ENTRY(name) cmocka_unit_test(test_##name),
	const struct CMUnitTest tests[] = { TESTS(ENTRY) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
