/* SPDX-License-Identifier: MIT */
/*
 * TCP connections of the stack with itself over a wire that the input damages:
 * packets are lost, late, doubled, overtaken, cut, corrupted, stripped of options,
 * marked, or answered by "too big", while programs at both ends write, read, shut
 * down and close.
 *
 * Every byte is a function of its connection, direction and position.  Once the wire
 * is good again, everything that was written must arrive, each end must see the other's
 * end of stream, and then nothing may be charged and no object left.  A connection may
 * fail only with a time-out, or when one end was closed or failed before.
 *
 * The stack has 10.0.0.1 and connects to 10.0.0.2, which nobody has: the wire swaps the
 * addresses of each packet and so returns it to the stack's own listener.  The sum of a
 * segment does not change by that.
 *
 * Input: what the wire does to one packet after another (the table's 16 entries are the
 * first bytes and can be changed later), then operations.
 *
 * SOURCES: @net tests/fuzz/leak.c
 */
#include "tests/host/net_stub.h"
#include "tests/fuzz/fuzz.h"

#define OPS_MAX    300
#define CONNS      4
#define WIRE_MAX   4096   /* packets under way; more are lost */
#define PORT       80
#define STEP_MS    20 /* a packet that a timer sends may be that late */
#define WRITTEN_MAX (1u << 20) /* bytes each way, so that the end comes soon */
#define LAST_MS    1200000u /* until all is over on a good wire, whatever a retransmission time-out has become */

static struct ip_addr us, them;
static bool v6;

/* ---- the wire ---- */

enum fate { PASS, LOSE, TWICE, LATE, VERY_LATE, HOLD, CORRUPT, CUT, MARK, NO_SACK, NO_OPTIONS, TOO_BIG, NR_FATES };

static uint8_t fates[16];
static unsigned nr_packets;
static bool good, cut_off; /* all packets arrive; none does */
static struct flying {
	struct pbuf *p;
	uint64_t due;
} flying[WIRE_MAX];
static unsigned nr_flying;
static void xmit(struct netdev *d, struct pbuf *p);
static struct netdev wire = { .name = "wire0", .mtu = 1500, .xmit = xmit };

static void fly(struct pbuf *p, uint64_t delay_ms)
{
	if (!p)
		return;
	if (nr_flying == WIRE_MAX) {
		pbuf_free(p);
		return;
	}
	flying[nr_flying++] = (struct flying){ p, clock_ns() + delay_ms * NSEC_PER_MSEC };
}

/* Its options, by @kind, become padding; the checksum follows. */
static void strip(struct pbuf *p, uint8_t kind)
{
	uint8_t *t = p->head + p->th;
	unsigned end = min((t[12] >> 4) * 4u, (unsigned)(p->end - p->th));
	uint16_t sum;

	for (unsigned at = 20; at < end;) {
		unsigned len = t[at] <= 1 ? 1 : at + 1 < end ? t[at + 1] : 0;

		if (!t[at] || !len || len > end - at)
			break;
		if (t[at] == kind || !kind)
			memset(t + at, 1, len);
		at += len;
	}
	put_be16(t + 16, 0);
	sum = pbuf_csum(p, IPPROTO_TCP);
	memcpy(t + 16, &sum, 2);
}

static void mark_congestion(struct pbuf *p)
{
	uint8_t *h = p->head + p->nh;
	uint16_t sum;

	if (v6) {
		if (h[1] & 0x30)
			h[1] |= 0x30;
	} else if (h[1] & 3) {
		h[1] |= 3;
		put_be16(h + 10, 0);
		sum = csum_fold(csum_add(0, h, 20, false));
		memcpy(h + 10, &sum, 2);
	}
}

static void swap_addresses(struct pbuf *p)
{
	uint8_t *h = p->head + p->nh + (v6 ? 8 : 12), old[16];
	unsigned n = v6 ? 16 : 4;

	memcpy(old, h, n);
	memcpy(h, h + n, n);
	memcpy(h + n, old, n);
}

/* A router's answer to @p, whose addresses are still ours: the path takes @mtu bytes. */
static void too_big(const struct pbuf *p, unsigned mtu)
{
	unsigned quote = min((unsigned)(p->end - p->nh), 80u);
	struct pbuf *a = pbuf_alloc(56);
	uint8_t *t;
	uint16_t sum;

	if (!a)
		return;
	a->src = them;
	a->dst = us;
	a->dev = &wire;
	a->th = a->start;
	t = pbuf_put(a, 8 + quote);
	memset(t, 0, 8);
	t[0] = v6 ? 2 : 3;
	t[1] = v6 ? 0 : 4;
	put_be32(t + 4, mtu);
	memcpy(t + 8, p->head + p->nh, quote);
	sum = csum_fold(csum_add(v6 ? csum_pseudo(&a->src, &a->dst, 8 + quote, IPPROTO_ICMPV6) : 0, t, 8 + quote,
				 false));
	memcpy(t + 2, &sum, 2);
	if (v6)
		ipv6_push_header(a, IPPROTO_ICMPV6, 64, 0);
	else
		ipv4_push_header(a, IPPROTO_ICMP, 64, 0);
	fly(a, 1);
}

/* A packet leaves: what happens to it is the table's next entry. */
static void xmit(struct netdev *d, struct pbuf *p)
{
	uint8_t f = good ? PASS : fates[nr_packets++ % sizeof(fates)];
	unsigned len = p->end - p->start + p->len, delay = 10;
	uint8_t *t = p->head + p->th;
	bool tcp = p->proto == IPPROTO_TCP;

	MUST(len <= wire.mtu);
	MUST(p->head[p->start] >> 4 == (v6 ? 6 : 4));
	if (cut_off) { /* "reassembly took too long", say, long after the end */
		pbuf_free(p);
		return;
	}
	if (tcp && f % 16 == TOO_BIG && len > 1280) {
		too_big(p, 1280 + f / 16);
		pbuf_free(p);
		return;
	}
	swap_addresses(p);
	p->flags = 0; /* sums are looked at */
	switch (f % 16) {
	case LOSE:
		pbuf_free(p);
		return;
	case TWICE:
		fly(pbuf_clone(p), delay + f / 16 * 20u);
		break;
	case LATE:
		delay += 1 + f / 16;
		break;
	case VERY_LATE:
		delay += 50u * (1 + f / 16) * (1 + f / 16);
		break;
	case HOLD:
		delay += 100;
		break;
	case CORRUPT:
		if (p->end > p->th) /* later fragments have payload only */
			p->head[p->th + f / 16 % (p->end - p->th)] ^= 1u << f / 16 % 8;
		break;
	case CUT:
		if (p->len)
			p->len -= min(p->len, 1u + f / 16);
		else
			p->end -= min(1 + f / 16, p->end - p->th);
		break;
	case MARK:
		mark_congestion(p);
		break;
	case NO_SACK:
		if (tcp && !(t[13] & TH_SYN))
			strip(p, 5);
		break;
	case NO_OPTIONS:
		/*
		 * In some but not in all of them: what was agreed on is in both.  Without the answer's
		 * window scale one side would take windows for 128 times smaller than the other means:
		 * that connection crawls with any stack.
		 */
		if (tcp && (t[13] & TH_SYN)) {
			uint8_t kind = f / 16 % 4 ? 2 + f / 16 % 4 : 0;

			if (!(t[13] & TH_ACK) || kind > 3)
				strip(p, kind);
		}
		break;
	}
	fly(p, delay);
}

/* Delivers what is due until @ms from now; the timers of the stack run meanwhile. */
static void pump(unsigned ms)
{
	uint64_t end = clock_ns() + ms * NSEC_PER_MSEC;

	do {
		uint64_t next = min(end, clock_ns() + STEP_MS * NSEC_PER_MSEC);

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

/* ---- the programs ---- */

static struct end {
	struct sock *s;        /* NULL: not there yet, or closed */
	uint32_t sent, got;
	bool closed, shut, eof;
	int error;             /* that a call returned, positive */
} ends[CONNS][2];
static unsigned nr_conns;
static struct sock *listener;

static uint8_t byte_at(unsigned conn, unsigned from, uint32_t pos)
{
	return (uint8_t)(pos * 31 + (pos >> 8) * 7 + conn * 2 + from);
}

static void failed(struct end *e, ssize_t ret)
{
	if (ret < 0 && ret != -EAGAIN && !e->error)
		e->error = (int)-ret;
}

static void open_one(void)
{
	union sockaddr_any a;
	struct end *e;
	unsigned len;
	int err;

	if (nr_conns == CONNS)
		return;
	e = &ends[nr_conns][0];
	e->s = tcp_create(v6 ? AF_INET6 : AF_INET);
	MUST(!IS_ERR(e->s));
	len = addr_export(e->s->family, &them, PORT, &a);
	err = e->s->ops->connect(e->s, &a, len, true);
	MUST(err == -EINPROGRESS);
	nr_conns++;
}

/* A connection that waits is told apart by its peer's port. */
static void accept_one(void)
{
	union sockaddr_any a, mine;
	struct sock *s;

	if (listener->ops->accept(listener, &s, true))
		return;
	for (unsigned i = 0; i < nr_conns; i++) {
		if (!ends[i][0].s || ends[i][1].s || ends[i][1].closed)
			continue;
		/* The client's end may be gone again (no name) when the server's comes. */
		if (ends[i][0].s->ops->getname(ends[i][0].s, &mine, false) < 0 ||
		    s->ops->getname(s, &a, true) < 0 || mine.in.port != a.in.port)
			continue;
		ends[i][1].s = s;
		return;
	}
	t_close(s);
}

static void write_some(unsigned conn, unsigned side, uint32_t n, unsigned flags)
{
	static uint8_t buf[1 << 16];
	struct end *e = &ends[conn][side];
	ssize_t ret;

	if (!e->s || e->shut || e->sent > WRITTEN_MAX)
		return;
	for (uint32_t i = 0; i < n; i++)
		buf[i] = byte_at(conn, side, e->sent + i);
	ret = t_send(e->s, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL | flags);
	failed(e, ret);
	if (ret > 0)
		e->sent += (uint32_t)ret;
}

static void read_some(unsigned conn, unsigned side, uint32_t n, unsigned flags)
{
	static uint8_t buf[1 << 16];
	struct end *e = &ends[conn][side];
	ssize_t ret;

	if (!e->s || !n)
		return;
	ret = t_recv(e->s, buf, n, MSG_DONTWAIT | flags);
	failed(e, ret);
	for (ssize_t i = 0; i < ret; i++)
		MUST(buf[i] == byte_at(conn, !side, e->got + (uint32_t)i));
	if (ret > 0 && !(flags & MSG_PEEK))
		e->got += (uint32_t)ret;
	if (!ret)
		e->eof = true;
	MUST(e->got <= ends[conn][!side].sent);
	MUST(ret || !e->eof || ends[conn][!side].shut || ends[conn][!side].closed || e->error);
}

static void close_one(unsigned conn, unsigned side)
{
	struct end *e = &ends[conn][side];

	if (!e->s)
		return;
	t_close(e->s);
	e->s = NULL;
	e->closed = true;
}

static void option(struct end *e, struct fuzz_in *in)
{
	static const struct { int level, name; } options[] = {
		{ IPPROTO_TCP, TCP_NODELAY }, { IPPROTO_TCP, TCP_CORK }, { SOL_SOCKET, SO_RCVBUF },
		{ SOL_SOCKET, SO_SNDBUF }, { IPPROTO_TCP, TCP_QUICKACK }, { SOL_SOCKET, SO_KEEPALIVE },
		{ IPPROTO_TCP, TCP_WINDOW_CLAMP }, { SOL_SOCKET, SO_RCVLOWAT },
	};
	unsigned i = fz_u8(in) % ARRAY_SIZE(options);
	int value = fz_u8(in) * (options[i].name == SO_RCVBUF || options[i].name == SO_SNDBUF ? 256 : 1);

	if (e->s)
		sock_setsockopt(e->s, options[i].level, options[i].name, &value, sizeof(value));
}

static void step(struct fuzz_in *in)
{
	uint8_t op = fz_u8(in), which = fz_u8(in);
	unsigned conn = which % CONNS, side = which / CONNS % 2;
	struct end *e = &ends[conn][side];

	switch (op % 16) {
	case 0:
	case 1:
		pump(which);
		break;
	case 2:
		open_one();
		break;
	case 3:
		accept_one();
		break;
	case 4 ... 6:
		write_some(conn, side, fz_u16(in) & (op & 16 ? 0xffff : 0xff), op & 32 ? MSG_MORE : 0);
		break;
	case 7 ... 9:
		read_some(conn, side, fz_u16(in), op & 128 ? MSG_PEEK : 0);
		break;
	case 10:
		fates[which % sizeof(fates)] = fz_u8(in);
		break;
	case 11:
		memset(fates, fz_u8(in), sizeof(fates)); /* all alike, "lost" for a while among them */
		break;
	case 12:
		if (e->s && e->s->ops->shutdown(e->s, 1) == 0)
			e->shut = true;
		break;
	case 13:
		if (op & 16)
			close_one(conn, side);
		break;
	case 14:
		option(e, in);
		break;
	case 15:
		pump(which * 40u);
		break;
	}
}

/* Both ends are done: all was read, or the connection is over for a reason. */
static bool settled(unsigned conn)
{
	struct end *a = &ends[conn][0], *b = &ends[conn][1];

	if (a->closed || b->closed)
		return true;
	/* Who gives up says nothing: the other end may wait for ever. */
	if (a->error == ETIMEDOUT || b->error == ETIMEDOUT)
		return true;
	/* A reason may wait behind bytes that have not been read. */
	if (a->error || b->error)
		return (a->error || a->eof || !a->s) && (b->error || b->eof || !b->s);
	return a->s && b->s && a->got == b->sent && b->got == a->sent && a->eof && b->eof;
}

/* All was read, only the last FIN's acknowledgement got lost until the peer's TIME_WAIT was over: a reset. */
static bool forgotten(const struct end *e, const struct end *peer)
{
	return e->error == ECONNRESET && e->shut && e->eof && !peer->error && peer->eof && e->got == peer->sent &&
	       peer->got == e->sent;
}

/* The wire is good: everything written arrives, and ends of streams. */
static void finish(void)
{
	uint64_t last = clock_ns() + LAST_MS * NSEC_PER_MSEC;
	bool all = false;

	good = true;
	while (!all) {
		accept_one();
		all = true;
		for (unsigned i = 0; i < nr_conns; i++) {
			for (unsigned side = 0; side < 2; side++) {
				struct end *e = &ends[i][side];
				int off = 0, low = 1;

				if (!e->s || e->error)
					continue;
				sock_setsockopt(e->s, IPPROTO_TCP, TCP_CORK, &off, sizeof(off));
				sock_setsockopt(e->s, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low));
				read_some(i, side, 65535, 0);
				if (e->eof && tcp_in(tcp_of(e->s), TCPF(TCP_CLOSE))) /* gave up after the peer's end */
					failed(e, sock_take_error(e->s));
				if (!e->shut && e->s->ops->shutdown(e->s, 1) == 0)
					e->shut = true;
			}
			all &= settled(i);
		}
		if (all)
			break;
		MUST(clock_ns() < last);
		pump(50);
	}
	for (unsigned i = 0; i < nr_conns; i++) {
		struct end *a = &ends[i][0], *b = &ends[i][1];
		bool excused = a->closed || b->closed || a->error == ETIMEDOUT || b->error == ETIMEDOUT;

		excused |= forgotten(a, b) || forgotten(b, a);
		/* The third packet of the handshake never came, and the listener gave up: data meets a reset. */
		excused |= !b->s && a->error == ECONNRESET;
		/* A write after one's own shutdown does not happen here, so other errors are nobody's fault. */
		MUST(excused || (!a->error && !b->error));
	}
}

static void one_input(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	union sockaddr_any a;
	unsigned len;

	memset(ends, 0, sizeof(ends));
	nr_conns = nr_packets = 0;
	good = cut_off = false;
	v6 = fz_u8(&in) & 1;
	us = v6 ? (struct ip_addr){ .b = { 0xfd, [15] = 1 } } : addr_from_v4((const uint8_t *)"\x0a\0\0\1");
	them = v6 ? (struct ip_addr){ .b = { 0xfd, [15] = 2 } } : addr_from_v4((const uint8_t *)"\x0a\0\0\2");
	for (unsigned i = 0; i < sizeof(fates); i++)
		fates[i] = fz_u8(&in);
	listener = tcp_create(v6 ? AF_INET6 : AF_INET);
	MUST(!IS_ERR(listener));
	listener->reuseaddr = true;
	len = addr_export(listener->family, &us, PORT, &a);
	MUST(listener->ops->bind(listener, &a, len) == 0);
	MUST(listener->ops->listen(listener, 16) == 0);
	open_one();
	for (unsigned i = 0; i < OPS_MAX && in.n; i++)
		step(&in);
	finish();
	for (unsigned i = 0; i < nr_conns; i++) {
		close_one(i, 0);
		close_one(i, 1);
	}
	t_close(listener);
	for (unsigned i = 0; i < 400 && (nr_flying || atomic_load(&stub_pages) || atomic_load(&stub_bytes)); i++)
		pump(1000);
	MUST(!nr_flying);
	MUST(atomic_load(&stub_pages) == 0);
	MUST(atomic_load(&stub_bytes) == 0);
	cut_off = true;
}

void fuzz_setup(void)
{
	struct ip_addr a4 = addr_from_v4((const uint8_t *)"\x0a\0\0\1"), a6 = { .b = { 0xfd, [15] = 1 } };

	page_alloc_init_percpu();
	t_init();
	netdev_register(&wire);
	ifaddr_add(&wire, &a4, 120);
	ifaddr_add(&wire, &a6, 64);
	one_input((const uint8_t *)"", 0);
	fuzz_objects_note();
}

/* What is known of a path stays for ten minutes, for the machine. */
static const char *const kept[] = { "pmtu", NULL };

void fuzz_one(const uint8_t *data, size_t size)
{
	one_input(data, size);
	fuzz_objects_must_be_back(kept);
}
