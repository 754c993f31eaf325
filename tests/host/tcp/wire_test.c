/* SPDX-License-Identifier: MIT */
/*
 * The stack against itself over wires that lose, double and overtake, each wire and what
 * the two programs do from a number: every byte arrives as it was sent, none of them
 * stands still, and nothing is left charged.
 *
 *   wire_test [FIRST [HOW MANY]]   other numbers than the usual ones
 *
 * wire_fuzz.c damages packets, too, and looks for crashes; here wires are as bad as real
 * ones, so that a connection that crawls is a failure.
 *
 * SOURCES: @net tests/host/tcp/harness.c
 * FLAVOURS: plain asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/host/tcp/harness.h"

#define FLYING_MAX 1024
#define PORT       90
#define STALL_NS   (40 * NSEC_PER_SEC) /* five losses of the same segment in a row are not seen here */

static unsigned first_seed = 1, nr_seeds = 150;
static uint32_t state;

static uint32_t rnd(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % below;
}

/* ---- the wire: the stack is 10.1.0.1 and calls 10.1.0.2; addresses are swapped on the way ---- */

static struct {
	unsigned loss, twice;      /* of a thousand */
	unsigned delay_ms, jitter_ms;
} way;
static struct flying {
	struct pbuf *p;
	uint64_t due;
} flying[FLYING_MAX];
static unsigned nr_flying;

static void fly(struct pbuf *p)
{
	if (!p)
		return;
	if (nr_flying == FLYING_MAX) {
		pbuf_free(p);
		return;
	}
	flying[nr_flying++] = (struct flying){
		p, clock_ns() + (way.delay_ms + rnd(way.jitter_ms + 1)) * NSEC_PER_MSEC
	};
}

static void xmit(struct netdev *d, struct pbuf *p)
{
	uint8_t *h = p->head + p->nh + (h_v6 ? 8 : 12), old[16];
	unsigned n = h_v6 ? 16 : 4;

	HOST_CHECK(p->end - p->start + p->len <= d->mtu);
	if (rnd(1000) < way.loss) {
		pbuf_free(p);
		return;
	}
	memcpy(old, h, n);
	memcpy(h, h + n, n);
	memcpy(h + n, old, n);
	p->flags = 0; /* sums are looked at */
	if (rnd(1000) < way.twice)
		fly(pbuf_clone(p));
	fly(p);
}
static struct netdev wire = { .name = "wire0", .mtu = 1500, .xmit = xmit };

/* Delivers what is due; timers run until @ms from now. */
static void pass(unsigned ms)
{
	uint64_t end = clock_ns() + ms * NSEC_PER_MSEC;

	do {
		uint64_t next = end;

		for (unsigned i = 0; i < nr_flying;) {
			struct pbuf *p = flying[i].p;

			if (flying[i].due > clock_ns()) {
				next = min(next, flying[i++].due);
				continue;
			}
			memmove(&flying[i], &flying[i + 1], (--nr_flying - i) * sizeof(flying[0]));
			netif_rx(p); /* may send, which adds to the end */
		}
		thread_sleep_until(next, false);
	} while (clock_ns() < end);
}

/* ---- the two programs ---- */

static struct end {
	struct sock *s;
	uint32_t total, sent, got;
	unsigned lazy;             /* of a thousand: how often it does not look */
	bool shut, eof;
} ends[2];

static uint8_t byte_at(unsigned side, uint32_t pos)
{
	return (uint8_t)(pos * 31 + (pos >> 8) * 7 + side);
}

/* Writes and reads a little. Return: anything moved. */
static bool work(unsigned side)
{
	static uint8_t buf[40000];
	struct end *e = &ends[side];
	uint32_t n = min(e->total - e->sent, 1 + rnd(sizeof(buf)));
	bool moved = false;
	ssize_t ret;

	if (!e->s || rnd(1000) < e->lazy)
		return false;
	for (uint32_t i = 0; i < n; i++)
		buf[i] = byte_at(side, e->sent + i);
	ret = n ? h_send(e->s, buf, n, MSG_DONTWAIT | (rnd(4) ? 0 : MSG_MORE)) : 0;
	if (ret < 0)
		HOST_CHECK_EQ(ret, -EAGAIN);
	if (ret > 0) {
		e->sent += (uint32_t)ret;
		moved = true;
	}
	if (e->sent == e->total && !e->shut && tcp_in(tcp_of(e->s), TCPF(TCP_ESTABLISHED) | TCPF(TCP_CLOSE_WAIT))) {
		HOST_CHECK_EQ(e->s->ops->shutdown(e->s, SHUT_WR), 0);
		e->shut = true;
	}
	ret = h_recv(e->s, buf, 1 + rnd(sizeof(buf)), 0);
	if (ret < 0)
		HOST_CHECK_EQ(ret, -EAGAIN);
	for (ssize_t i = 0; i < ret; i++)
		HOST_CHECK_EQ(buf[i], byte_at(!side, e->got + (uint32_t)i));
	if (ret > 0)
		e->got += (uint32_t)ret;
	if (!ret)
		e->eof = true;
	return moved || ret > 0;
}

static void program(unsigned side)
{
	ends[side] = (struct end){ .total = rnd(4) ? 1 + rnd(200000) : rnd(3), .lazy = rnd(3) ? 0 : 900 };
}

static struct sock *listening(const struct ip_addr *us)
{
	struct sock *l = h_socket();
	union sockaddr_any a;
	unsigned len = addr_export(l->family, us, PORT, &a);

	l->reuseaddr = true;
	HOST_CHECK_EQ(l->ops->bind(l, &a, len), 0);
	if (!rnd(3)) /* a window that closes often */
		HOST_CHECK_EQ(h_setopt(l, SOL_SOCKET, SO_RCVBUF, (int)rnd(20000)), 0);
	HOST_CHECK_EQ(l->ops->listen(l, 5), 0);
	return l;
}

static void one(unsigned seed, const struct ip_addr *us, const struct ip_addr *them)
{
	uint64_t moved;
	union sockaddr_any a;
	struct sock *l;
	unsigned len;

	state = seed * 2654435761u | 1;
	for (unsigned i = 0; i < 8; i++)
		rnd(2);
	way.loss = rnd(3) ? rnd(40) : 0;
	way.twice = rnd(3) ? 0 : rnd(100);
	way.delay_ms = 1 + rnd(60);
	way.jitter_ms = rnd(2) ? 0 : rnd(way.delay_ms + 1);
	wire.mtu = h_v6 ? 1280 + rnd(8000) : 576 + rnd(8000);
	h_param("net.tcp.cc", rnd(2) ? "reno" : "cubic");
	program(0);
	program(1);
	l = listening(us);
	ends[0].s = h_socket();
	len = addr_export(ends[0].s->family, them, PORT, &a);
	HOST_CHECK_EQ(ends[0].s->ops->connect(ends[0].s, &a, len, true), -EINPROGRESS);
	moved = clock_ns();
	while (!ends[0].eof || !ends[1].eof || !ends[0].shut || !ends[1].shut) {
		if (!ends[1].s)
			ends[1].s = h_accept(l);
		for (unsigned side = 0; side < 2; side++)
			if (work(side))
				moved = clock_ns();
		if (clock_ns() - moved > STALL_NS)
			host_fail(__FILE__, __LINE__,
				  "number %u (IPv%d): stands still: sent %u of %u and %u of %u, read %u and %u", seed,
				  h_v6 ? 6 : 4, ends[0].sent, ends[0].total, ends[1].sent, ends[1].total,
				  ends[0].got, ends[1].got);
		pass(1 + rnd(20));
	}
	for (unsigned side = 0; side < 2; side++) {
		HOST_CHECK_EQ(ends[side].got, ends[!side].total);
		h_close(ends[side].s);
	}
	h_close(l);
	for (unsigned i = 0; i < 400 && (nr_flying || h_charged_pages() || h_charged_bytes()); i++)
		pass(1000); /* TIME_WAIT */
	HOST_CHECK_EQ(nr_flying, 0);
	HOST_CHECK_EQ(h_charged_pages(), 0);
	HOST_CHECK_EQ(h_charged_bytes(), 0);
}

static void body(void)
{
	struct ip_addr us = h_v6 ? (struct ip_addr){ .b = { 0xfc, [15] = 1 } } :
				   addr_from_v4((const uint8_t *)"\x0a\1\0\1");
	struct ip_addr them = us;

	them.b[15] = 2;
	netdev_register(&wire);
	HOST_CHECK_EQ(ifaddr_add(&wire, &us, h_v6 ? 64 : 120), 0);
	for (unsigned i = 0; i < nr_seeds; i++)
		one(first_seed + i, &us, &them);
	h_param("net.tcp.cc", "cubic");
}

static void test_wires(void **unused)
{
	assert_int_equal(h_run(body), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_wires) };

	if (argc > 1)
		first_seed = (unsigned)atoi(argv[1]);
	if (argc > 2)
		nr_seeds = (unsigned)atoi(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
