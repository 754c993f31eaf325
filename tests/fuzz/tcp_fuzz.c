/* SPDX-License-Identifier: MIT */
/*
 * A TCP connection whose peer and program do anything in any order.
 *
 * Every byte that either side sends is a function of its position, so whatever
 * the order, overlap or loss, what arrives must be that function again; our
 * segments must parse, and nothing may be charged when all is over.
 *
 * Input: one byte for how the connection begins, then one operation after another.
 *
 * SOURCES: @net tests/host/tcp/harness.c tests/fuzz/leak.c
 */
#include "net/tcp.h"
#include "tests/fuzz/fuzz.h"
#include "tests/host/tcp/harness.h"

#define OPS_MAX 400
#define CHUNK   3000u

static struct h_peer peer;
static struct sock *listener, *conn;
static uint32_t his_isn, our_isn;
static uint64_t read_pos, written;
static uint32_t seen_end; /* behind the last byte or flag we sent, as the peer saw it */

static uint8_t byte_at(uint32_t pos)
{
	return (uint8_t)(pos * 31 + (pos >> 8));
}

void fuzz_setup(void)
{
	page_alloc_init_percpu();
	h_begin(false);
}

/* Looks at what we sent. */
static void collect(void)
{
	struct pbuf *p;

	while ((p = h_next()) != NULL) {
		uint8_t buf[4096];
		uint32_t pos = p->tcp.seq - our_isn - 1, end;

		if (p->proto != IPPROTO_TCP || p->tcp.sport != peer.lport || p->tcp.dport != peer.port)
			continue;
		if (p->tcp.tcp_flags & TH_RST)
			continue;
		if ((p->tcp.tcp_flags & TH_SYN) && !conn && p->tcp.seq != our_isn) {
			/* Another connection: the one before is closed, and its places in the stream with it. */
			our_isn = p->tcp.seq;
			seen_end = our_isn;
			if (written || read_pos)
				read_pos = UINT64_MAX;
			written = 0;
		}
		peer.tsecr = p->tcp.opts & TCP_OPT_TS ? p->tcp.tsval : peer.tsecr;
		MUST(p->len <= sizeof(buf));
		if (p->len && (int32_t)pos >= 0 && conn) {
			pdata_copy_out(p->data, p->off, buf, p->len);
			for (uint32_t i = 0; i < p->len; i++)
				MUST(buf[i] == byte_at(pos + i));
			MUST(pos + p->len <= written);
		}
		end = p->tcp.seq + p->len + !!(p->tcp.tcp_flags & TH_FIN) + !!(p->tcp.tcp_flags & TH_SYN);
		if ((int32_t)(end - seen_end) > 0)
			seen_end = end;
	}
}

static void segment(struct fuzz_in *in)
{
	uint8_t data[CHUNK], shape = fz_u8(in), flags = fz_u8(in);
	uint32_t seq = peer.seq + (uint32_t)(int16_t)fz_u16(in) * (shape & 1 ? 64 : 1);
	uint32_t ack = seen_end - (shape & 2 ? fz_u16(in) : 0);
	unsigned len = shape & 4 ? fz_u16(in) % CHUNK : 0;

	if (shape & 8)
		peer.wnd = fz_u16(in);
	if (shape & 16) {
		peer.nr_sack = 1 + fz_u8(in) % 3;
		for (unsigned i = 0; i < peer.nr_sack; i++) {
			peer.sack[i][0] = seen_end - fz_u16(in);
			peer.sack[i][1] = peer.sack[i][0] + fz_u16(in) % 5000;
		}
	} else {
		peer.nr_sack = 0;
	}
	peer.ts = shape & 32;
	peer.tsval += shape & 64 ? fz_u8(in) : (uint32_t)-1;
	peer.urg = flags & 0x20 ? fz_u16(in) : 0;
	if (peer.ts && peer.nr_sack == 3)
		peer.nr_sack = 2;
	for (unsigned i = 0; i < len; i++)
		data[i] = byte_at(seq - his_isn - 1 + i);
	h_inject_bytes(&peer, flags, seq, ack, data, len);
	if (seq == peer.seq)
		peer.seq += len;
}

static void raw_options(struct fuzz_in *in)
{
	uint8_t opts[40] = { 0 };
	size_t n;
	const uint8_t *p = fz_bytes(in, 1 + fz_u8(in) % 40, &n);

	memcpy(opts, p, n);
	h_raw(&peer, fz_u8(in), peer.seq, seen_end, opts, (unsigned)(n + 3) & ~3u, NULL, 0);
}

static void program_sends(struct fuzz_in *in)
{
	static uint8_t buf[1 << 16];
	uint32_t n = fz_u16(in);
	ssize_t k;

	for (uint32_t i = 0; i < n; i++)
		buf[i] = byte_at((uint32_t)written + i);
	k = h_send(conn, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL | (fz_u8(in) & 1 ? MSG_MORE : 0));
	if (k > 0)
		written += (uint64_t)k;
}

static void program_reads(struct fuzz_in *in)
{
	static uint8_t buf[1 << 16];
	unsigned flags = fz_u8(in) & 1 ? MSG_PEEK : 0;
	ssize_t k = h_recv(conn, buf, fz_u16(in), flags);

	/* An urgent byte may be left out of the stream; then positions say nothing any more. */
	for (ssize_t i = 0; i < k && read_pos != UINT64_MAX; i++)
		MUST(buf[i] == byte_at((uint32_t)(read_pos + (uint64_t)i)));
	if (k > 0 && !flags && read_pos != UINT64_MAX)
		read_pos += (uint64_t)k;
}

static void option(struct fuzz_in *in)
{
	static const uint8_t levels[] = { IPPROTO_TCP, SOL_SOCKET, IPPROTO_IP };
	int level = levels[fz_u8(in) % sizeof(levels)], name = fz_u8(in) % 64;
	int value = (int16_t)fz_u16(in);

	if (level == SOL_SOCKET && name == SO_LINGER)
		return; /* a close that waits is tested elsewhere */
	h_setopt(conn, level, name, value);
	h_getopt(conn, level, name);
}

static void step(struct fuzz_in *in)
{
	switch (fz_u8(in) % 16) {
	case 0 ... 5:
		segment(in);
		break;
	case 6:
		raw_options(in);
		break;
	case 7:
		if (conn)
			program_sends(in);
		break;
	case 8:
		if (conn)
			program_reads(in);
		break;
	case 9:
		if (conn)
			conn->ops->shutdown(conn, fz_u8(in) % 3);
		break;
	case 10:
		if (conn && fz_u8(in) % 4 == 0) {
			h_close(conn);
			conn = NULL;
		}
		break;
	case 11:
		h_sleep(fz_u16(in));
		break;
	case 12:
		if (conn)
			option(in);
		break;
	case 13:
		h_icmp(&peer, fz_u8(in), fz_u8(in), seen_end - fz_u16(in), fz_u16(in));
		break;
	case 14: { /* a peer that behaves: takes what came and says so */
		peer.nr_sack = 0;
		peer.wnd = 65535;
		h_inject(&peer, TH_ACK, peer.seq, seen_end, 0);
		break;
	}
	case 15:
		if (!conn && listener)
			conn = h_accept(listener);
		break;
	}
	if (peer.urg)
		read_pos = UINT64_MAX;
	collect();
}

static void begin(uint8_t how)
{
	static uint16_t port;

	h_peer_init(&peer, (uint16_t)(1024 + port++ % 60000));
	peer.ts = how & 1;
	peer.sack_ok = how & 2;
	peer.wscale = how & 4 ? 7 : -1;
	peer.mss = how & 8 ? 536 : 1460;
	his_isn = how & 16 ? 0xffffff00u : 1;
	listener = h_listen(2);
	conn = NULL;
	read_pos = written = 0;
	if (how & 32) {
		h_syn(&peer, TH_SYN, his_isn);
		peer.seq = his_isn + 1;
		seen_end = 0;
	} else if (how & 64) {
		/* Our own port is where the listener is: an active open takes another. */
		h_close(listener);
		listener = NULL;
		conn = h_connect(&peer);
		peer.seq = his_isn + 1;
		our_isn = peer.ack - 1;
		seen_end = peer.ack;
	} else {
		conn = h_established(&peer, listener, his_isn);
		our_isn = peer.ack - 1;
		seen_end = peer.ack;
	}
	if (how & 32) {
		struct pbuf *p = h_next();

		if (p && p->proto == IPPROTO_TCP) {
			our_isn = p->tcp.seq;
			seen_end = our_isn + 1;
		}
	}
}

static void one_input(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };

	begin(fz_u8(&in));
	for (unsigned i = 0; i < OPS_MAX && in.n; i++)
		step(&in);
	if (conn)
		h_close(conn);
	if (listener)
		h_close(listener);
	for (unsigned i = 0; i < 200 && (h_charged_pages() || h_charged_bytes()); i++) {
		h_sleep(10000);
		h_drain();
	}
	h_end();
}

/* What is known of a path stays for ten minutes, for the machine. */
static const char *const kept[] = { "pmtu", NULL };

void fuzz_one(const uint8_t *data, size_t size)
{
	static bool noted;

	if (!noted) {
		one_input((const uint8_t *)"", 0);
		fuzz_objects_note();
		noted = true;
	}
	one_input(data, size);
	h_drain(); /* the last packet that the bench looked at */
	fuzz_objects_must_be_back(kept);
}
