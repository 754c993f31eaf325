/* SPDX-License-Identifier: MIT */
/*
 * Merging on receive (net/gro.c): a table of bursts and what becomes of them, for both
 * families, with checksums verified by the device or by us; then bursts at random, of
 * which every connection's bytes must come out in their order.  A packet socket sees
 * what the stack gets.
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
#include "net/ether.h"
#include "net/gro.h"
#include "net/gso.h"

enum odd {
	NOTHING,
	OTHER_ACK, OTHER_WINDOW, LATER_TS, EARLIER_TS, OTHER_ECHO, NO_TS, SACK,
	OTHER_TTL, MARKED, MAY_CUT, FRAGMENT, IP_OPTION, LABEL, EXTENSION,
	BAD_SUM, BAD_IP_SUM, TRAILER, OTHER_PORT, UDP,
};

struct piece {
	int at, len; /* bytes of the stream; len -1: the end of the burst's segments */
	uint8_t flags;
	enum odd odd;
};
#define A TH_ACK
#define P (TH_ACK | TH_PSH)
#define F (TH_ACK | TH_FIN)
#define S(a, n, f, ...) { .at = (a), .len = (n), .flags = (f), .odd = (enum odd)(__VA_ARGS__ + 0) }
#define END { .len = -1 }

/* Segments and bytes of each packet that comes out, in order. */
static const struct {
	const char *what;
	struct piece in[8];
	const char *want4, *want6; /* want6 NULL: the same */
} rows[] = {
	{ "two that follow", { S(0, 100, A), S(100, 100, A), END }, "2:200", NULL },
	{ "five, the last shorter",
	  { S(0, 100, A), S(100, 100, A), S(200, 100, A), S(300, 100, A), S(400, 7, A), END },
	  "5:407", NULL },
	{ "one longer than the first", { S(0, 50, A), S(50, 1000, A), END }, "2:1050", NULL },
	{ "PSH ends a packet",
	  { S(0, 100, A), S(100, 100, P), S(200, 100, A), S(300, 100, A), END }, "2:200 2:200", NULL },
	{ "PSH alone", { S(0, 100, P), S(100, 100, P), END }, "1:100 1:100", NULL },
	{ "FIN ends a packet", { S(0, 100, A), S(100, 100, F), END }, "2:200", NULL },
	{ "FIN without data", { S(0, 100, A), S(100, 0, F), END }, "1:100 1:0", NULL },
	{ "a pure acknowledgement", { S(0, 100, A), S(100, 0, A), S(100, 100, A), END },
	  "1:100 1:0 1:100", NULL },
	{ "SYN", { S(0, 100, A), S(100, 100, TH_SYN | TH_ACK), S(200, 100, A), END },
	  "1:100 1:100 1:100", NULL },
	{ "RST", { S(0, 100, A), S(100, 100, TH_RST | TH_ACK), S(200, 100, A), END },
	  "1:100 1:100 1:100", NULL },
	{ "URG", { S(0, 100, A), S(100, 100, TH_URG | TH_ACK), S(200, 100, A), END },
	  "1:100 1:100 1:100", NULL },
	{ "CWR", { S(0, 100, A), S(100, 100, TH_CWR | TH_ACK), S(200, 100, A), END },
	  "1:100 1:100 1:100", NULL },
	{ "without ACK", { S(0, 100, A), S(100, 100, 0), S(200, 100, A), END }, "1:100 1:100 1:100", NULL },
	{ "echo of congestion on both", { S(0, 100, A | TH_ECE), S(100, 100, A | TH_ECE), END }, "2:200", NULL },
	{ "echo of congestion on one", { S(0, 100, A), S(100, 100, A | TH_ECE), END }, "1:100 1:100", NULL },
	{ "a hole", { S(0, 100, A), S(200, 100, A), S(300, 100, A), END }, "1:100 2:200", NULL },
	{ "the same again", { S(0, 100, A), S(0, 100, A), S(100, 100, A), END }, "1:100 2:200", NULL },
	{ "an overlap", { S(0, 100, A), S(50, 100, A), END }, "1:100 1:100", NULL },
	{ "backwards", { S(100, 100, A), S(0, 100, A), END }, "1:100 1:100", NULL },
	{ "over the end of sequence numbers",
	  { S(-100, 100, A), S(0, 100, A), S(100, 100, A), END }, "3:300", NULL },
	{ "another acknowledgement", { S(0, 100, A), S(100, 100, A, OTHER_ACK), END }, "1:100 1:100", NULL },
	{ "another window", { S(0, 100, A), S(100, 100, A, OTHER_WINDOW), END }, "2:200", NULL },
	{ "a later timestamp", { S(0, 100, A), S(100, 100, A, LATER_TS), END }, "2:200", NULL },
	{ "an earlier timestamp", { S(0, 100, A), S(100, 100, A, EARLIER_TS), END }, "1:100 1:100", NULL },
	{ "another echo", { S(0, 100, A), S(100, 100, A, OTHER_ECHO), END }, "1:100 1:100", NULL },
	{ "one without timestamps", { S(0, 100, A), S(100, 100, A, NO_TS), END }, "1:100 1:100", NULL },
	{ "both without timestamps", { S(0, 100, A, NO_TS), S(100, 100, A, NO_TS), END }, "2:200", NULL },
	{ "one with SACK", { S(0, 100, A), S(100, 100, A, SACK), END }, "1:100 1:100", NULL },
	{ "the same SACK", { S(0, 100, A, SACK), S(100, 100, A, SACK), END }, "2:200", NULL },
	{ "another time to live", { S(0, 100, A), S(100, 100, A, OTHER_TTL), END }, "1:100 1:100", NULL },
	{ "a mark of congestion", { S(0, 100, A), S(100, 100, A, MARKED), S(200, 100, A, MARKED), END },
	  "1:100 2:200", NULL },
	{ "may be cut", { S(0, 100, A), S(100, 100, A, MAY_CUT), END }, "1:100 1:100", "2:200" },
	{ "a fragment", { S(0, 100, A), S(100, 100, A, FRAGMENT), S(200, 100, A), END },
	  "1:100 1:100 1:100", "3:300" },
	{ "an IP option", { S(0, 100, A), S(100, 100, A, IP_OPTION), S(200, 100, A), END },
	  "1:100 1:100 1:100", "3:300" },
	{ "another flow label", { S(0, 100, A), S(100, 100, A, LABEL), END }, "2:200", "1:100 1:100" },
	{ "an extension header", { S(0, 100, A), S(100, 100, A, EXTENSION), S(200, 100, A), END },
	  "3:300", "1:100 1:100 1:100" },
	{ "a wrong checksum", { S(0, 100, A), S(100, 100, A, BAD_SUM), S(200, 100, A), END },
	  "1:100 1:100 1:100", NULL },
	{ "a wrong checksum first", { S(0, 100, A, BAD_SUM), S(100, 100, A), END }, "1:100 1:100", NULL },
	{ "a wrong header checksum", { S(0, 100, A), S(100, 100, A, BAD_IP_SUM), END }, "1:100 1:100", "2:200" },
	{ "bytes behind the datagram", { S(0, 100, A), S(100, 100, A, TRAILER), END }, "1:100 1:100", NULL },
	{ "two connections in turn",
	  { S(0, 100, A), S(0, 50, A, OTHER_PORT), S(100, 100, A), S(50, 50, A, OTHER_PORT), END },
	  "2:200 2:100", NULL },
	{ "a datagram between", { S(0, 100, A), S(0, 80, 0, UDP), S(100, 100, A), END }, "1:104 2:200", NULL },
};

static struct netdev dev = { .name = "test0", .mtu = 1500, .mac = { 2, 0, 0, 0, 0, 1 } };
static struct dgram_sock *watch;
static bool v6, summed; /* summed: the device says that the checksum is right */

static void dev_start(struct netdev *d, struct pbuf *p)
{
	pbuf_free(p);
}

static void begin(void)
{
	struct sock *s;

	t_init();
	dev.start = dev_start;
	ether_register(&dev);
	s = sock_create(AF_PACKET, SOCK_RAW, be16(3 /* everything */));
	HOST_CHECK(!IS_ERR(s));
	watch = dgram_of(s);
	atomic_store(&s->rcvbuf, 64u << 20);
}

static uint16_t checksum(const uint8_t *ip, unsigned th, unsigned len, bool six)
{
	struct ip_addr a = six ? addr_from_v6(ip + 8) : addr_from_v4(ip + 12);
	struct ip_addr b = six ? addr_from_v6(ip + 24) : addr_from_v4(ip + 16);

	return csum_fold(csum_add(csum_pseudo(&a, &b, len, IPPROTO_TCP), ip + th, len, false));
}

/* One frame; its bytes.  @flow: which connection. */
static unsigned make(uint8_t *e, const struct piece *s, unsigned flow)
{
	bool ext = v6 && s->odd == EXTENSION, option = !v6 && s->odd == IP_OPTION;
	unsigned ts = s->odd == NO_TS ? 0 : s->odd == SACK ? 24 : 12;
	unsigned iplen = v6 ? 40 + 8 * ext : 20 + 4 * option, hlen = iplen + 20 + ts;
	uint8_t *ip = e + ETHER_HEADER, *th = ip + iplen;
	unsigned total = hlen + (unsigned)s->len;
	uint16_t sum;

	memset(e, 0, ETHER_HEADER + hlen);
	memcpy(e, dev.mac, 6);
	e[6] = 2;
	put_be16(e + 12, v6 ? ETHER_IPV6 : ETHER_IPV4);
	if (v6) {
		ip[0] = 0x60;
		ip[1] = s->odd == MARKED ? 0x30 : 0x20;
		ip[3] = s->odd == LABEL ? 2 : 1;
		put_be16(ip + 4, (uint16_t)(total - 40));
		ip[6] = ext ? 60 : IPPROTO_TCP;
		ip[7] = s->odd == OTHER_TTL ? 63 : 64;
		ip[8] = ip[24] = 0xfd;
		ip[23] = 2;
		ip[39] = 1;
		if (ext)
			ip[40] = IPPROTO_TCP;
	} else {
		ip[0] = option ? 0x46 : 0x45;
		ip[1] = s->odd == MARKED ? 3 : 2;
		put_be16(ip + 2, (uint16_t)total);
		put_be16(ip + 6, s->odd == MAY_CUT ? 0 : s->odd == FRAGMENT ? 0x2000 : 0x4000);
		ip[8] = s->odd == OTHER_TTL ? 63 : 64;
		ip[9] = IPPROTO_TCP;
		memcpy(ip + 12, "\x0a\0\0\2\x0a\0\0\1", 8);
		if (option)
			memset(ip + 20, 1, 4);
		sum = csum_fold(csum_add(0, ip, iplen, false));
		memcpy(ip + 10, &sum, 2);
		ip[10] ^= s->odd == BAD_IP_SUM;
	}
	put_be16(th, (uint16_t)(1000 + flow));
	put_be16(th + 2, s->odd == OTHER_PORT ? 8 : 7);
	put_be32(th + 4, (uint32_t)s->at);
	put_be32(th + 8, s->odd == OTHER_ACK ? 5001 : 5000);
	th[12] = (uint8_t)((20 + ts) / 4 << 4);
	th[13] = s->flags;
	put_be16(th + 14, s->odd == OTHER_WINDOW ? 3000 : 2000);
	if (ts) {
		put_be32(th + 20, 0x0101080a);
		put_be32(th + 24, s->odd == LATER_TS ? 105 : s->odd == EARLIER_TS ? 95 : 100);
		put_be32(th + 28, s->odd == OTHER_ECHO ? 78 : 77);
	}
	if (s->odd == SACK)
		memcpy(th + 32, "\1\1\5\x0a\0\0\1\0\0\0\2\0", 12);
	pattern_fill(ip + hlen, (unsigned)s->len, flow, (uint32_t)s->at);
	sum = checksum(ip, iplen, total - iplen, v6);
	memcpy(th + 16, &sum, 2);
	th[17] ^= s->odd == BAD_SUM;
	if (s->odd == UDP) {
		ip[v6 ? 6 : 9] = IPPROTO_UDP;
		put_be16(th + 4, (uint16_t)(total - iplen));
	}
	if (s->odd == TRAILER) {
		memset(ip + total, 0, 6);
		total += 6;
	}
	return ETHER_HEADER + total;
}

/* The packet as a driver hands it over. */
static struct pbuf *received(const struct piece *s, unsigned flow)
{
	struct page *page = page_alloc(0, PAGE_NET, GFP_KERNEL);
	uint8_t *frame = page_virt(page);
	unsigned n = make(frame, s, flow), at;
	struct pbuf *p = ether_rx_head(&dev, frame, n, n);

	HOST_CHECK(p);
	at = ETHER_HEADER + p->end - p->start;
	if (n > at) {
		p->data = pdata_alloc();
		pdata_add(p->data, page, at, n - at);
		p->len = n - at;
	}
	page_put(page);
	if (summed && s->odd != BAD_SUM)
		p->flags |= PB_CSUM_OK;
	return p;
}

/* The next packet that the stack got, flat; NULL: no more. */
static struct pbuf *came_out(uint8_t *flat, unsigned *head, unsigned *len)
{
	struct pbuf *p = pqueue_pop(&watch->queue);

	if (!p)
		return NULL;
	watch->rmem -= p->charged;
	sock_mem_uncharge(&watch->sk.mem, p->charged);
	*head = p->end - p->start;
	memcpy(flat, p->head + p->start, *head);
	if (p->len)
		pdata_copy_out(p->data, p->off, flat + *head, p->len);
	*len = *head + p->len;
	return p;
}

static uint8_t flat[70000];

/* Bytes that are not the stream's, from sequence number @seq on. */
static unsigned wrong(const uint8_t *b, unsigned n, unsigned flow, uint32_t seq)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < n; i++)
		bad += b[i] != pattern(flow, (uint32_t)(seq + i));
	return bad;
}

static void row_is_right(unsigned r)
{
	const char *want = v6 && rows[r].want6 ? rows[r].want6 : rows[r].want4;
	char got[128] = "";
	struct gro g = { .nr = 0 };
	unsigned head, len, at = 0, pages = 0, segments = 0;
	uint32_t before = 0, after = 0;
	struct pbuf *p;

	for (const struct piece *s = rows[r].in; s->len >= 0; s++) {
		p = received(s, 0);
		before += p->data ? p->data->truesize : 0;
		segments++;
		gro_receive(&g, p);
	}
	gro_flush(&g);
	HOST_CHECK_EQ(g.nr, 0);
	while ((p = came_out(flat, &head, &len))) {
		const uint8_t *ip = flat + ETHER_HEADER;
		unsigned th = v6 ? ip[6] == 60 ? 48 : 40 : (ip[0] & 15) * 4u;
		unsigned total = v6 ? get_be16(ip + 4) + 40u : get_be16(ip + 2);
		bool tcp = ip[v6 ? 6 : 9] != IPPROTO_UDP;
		unsigned headers = tcp ? th + (ip[th + 12] >> 4) * 4u : th + 8;

		at += (unsigned)snprintf(got + at, sizeof(got) - at, "%s%u:%u", at ? " " : "", pbuf_segs(p),
					 total - headers);
		pages += pbuf_segs(p);
		after += p->data ? p->data->truesize : 0;
		if (pbuf_segs(p) > 1) {
			HOST_CHECK_EQ(len, ETHER_HEADER + total);
			HOST_CHECK(tcp);
			/* Header, checksums and payload are those of one large segment. */
			HOST_CHECK_EQ(checksum(ip, th, total - th, v6), 0);
			if (!v6)
				HOST_CHECK_EQ(csum_fold(csum_add(0, ip, 20, false)), 0);
			HOST_CHECK_EQ(wrong(flat + head, len - head, 0, get_be32(ip + th + 4)), 0);
		}
		pbuf_free(p);
	}
	if (strcmp(got, want) || pages != segments || before != after) {
		fprintf(stderr, "gro_test: IPv%d, %s: got %s instead of %s (truesize %u, %u)\n",
			v6 ? 6 : 4, rows[r].what, got, want, before, after);
		HOST_CHECK(!"a row of the table");
	}
}

/* Header fields of a merged packet: the first one's sequence and timestamp, the last one's window. */
static void fields(void)
{
	static const struct piece in[] = { S(0, 10, A), S(10, 10, A, LATER_TS), S(20, 10, P) };
	struct gro g = { .nr = 0 };
	unsigned head, len;
	struct pbuf *p;
	uint8_t *th;

	v6 = false;
	for (unsigned i = 0; i < 3; i++) {
		p = received(&in[i], 0);
		if (i == 2)
			put_be16(p->head + p->start + 20 + 14, 999);
		p->flags |= PB_CSUM_OK;
		gro_receive(&g, p);
	}
	HOST_CHECK_EQ(g.nr, 0); /* PSH: nothing to wait for */
	p = came_out(flat, &head, &len);
	th = flat + ETHER_HEADER + 20;
	HOST_CHECK_EQ(get_be32(th + 4), 0);
	HOST_CHECK_EQ(get_be32(th + 24), 100);
	HOST_CHECK_EQ(get_be16(th + 14), 999);
	HOST_CHECK_EQ(th[13], P);
	pbuf_free(p);
}

/* As many as fit: fragments of one packet, bytes of one datagram; nothing is lost at the edge. */
static void bounds(unsigned size)
{
	struct gro g = { .nr = 0 };
	unsigned head, len, out = 0, bytes = 0, most = 0;
	struct pbuf *p;

	for (unsigned i = 0; i < 100; i++) {
		struct piece s = { (int)(i * size), (int)size, A, NOTHING };

		gro_receive(&g, received(&s, 0));
	}
	gro_flush(&g);
	while ((p = came_out(flat, &head, &len))) {
		HOST_CHECK_EQ(get_be32(flat + ETHER_HEADER + (v6 ? 44 : 24)), bytes);
		bytes += len - head;
		out++;
		most = max(most, pbuf_segs(p));
		HOST_CHECK(p->data->nr <= PDATA_FRAGS);
		pbuf_free(p);
	}
	HOST_CHECK_EQ(bytes, 100 * size);
	HOST_CHECK_EQ(most, min(PDATA_FRAGS, (65535u - (v6 ? 72 : 52)) / size));
	HOST_CHECK_EQ(out, (100 + most - 1) / most);
}

#define FLOWS 12u /* more than are held */

/* Nothing of a connection overtakes anything of it, nothing is lost, whatever comes between. */
static void at_random(unsigned seed)
{
	static const enum odd odds[] = { NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, OTHER_ACK, MARKED,
					 EARLIER_TS, NO_TS, IP_OPTION, EXTENSION, BAD_SUM, TRAILER, FRAGMENT };
	static const uint8_t flags[] = { A, A, A, A, A, A, P, F, TH_RST, A | TH_URG };
	uint32_t in[FLOWS] = { 0 }, out[FLOWS] = { 0 };
	struct gro g = { .nr = 0 };
	unsigned head, len;
	struct pbuf *p;

	for (unsigned i = 0; i < 3000; i++) {
		unsigned flow = (seed = seed * 1103515245 + 12345) >> 16, what = seed >> 8;
		struct piece s = { 0 };

		flow %= FLOWS;
		s.at = (int)in[flow];
		s.len = what % 37 == 0 ? 0 : 1 + (int)(what % 900);
		s.flags = flags[what / 7 % ARRAY_SIZE(flags)];
		s.odd = odds[what / 11 % ARRAY_SIZE(odds)];
		in[flow] += (uint32_t)s.len;
		gro_receive(&g, received(&s, flow));
		if (what % 61 == 0)
			gro_flush(&g);
		HOST_CHECK(g.nr <= GRO_FLOWS);
	}
	gro_flush(&g);
	while ((p = came_out(flat, &head, &len))) {
		const uint8_t *ip = flat + ETHER_HEADER;
		unsigned hlen = v6 ? ip[6] == 60 ? 48 : 40 : (ip[0] & 15) * 4u;
		unsigned total = v6 ? get_be16(ip + 4) + 40u : get_be16(ip + 2), flow;
		const uint8_t *th = ip + hlen;
		unsigned data = hlen + (th[12] >> 4) * 4u;

		flow = get_be16(th) - 1000u;
		HOST_CHECK(flow < FLOWS);
		HOST_CHECK_EQ(get_be32(th + 4), out[flow]);
		HOST_CHECK_EQ(wrong(ip + data, total - data, flow, out[flow]), 0);
		out[flow] += total - data;
		pbuf_free(p);
	}
	for (unsigned f = 0; f < FLOWS; f++)
		HOST_CHECK_EQ(in[f], out[f]);
}

/*
 * A large packet is cut for a device that does not (net/gso.c): each segment is right
 * by itself, and merged again they are the packet.
 */
static void there_and_back(unsigned bytes, unsigned mss, uint8_t last, unsigned features)
{
	static uint8_t large[66000], again[66000];
	unsigned ip_len = v6 ? 40 : 20, head = ETHER_HEADER + ip_len + 32, h, len, count = 0, at = 0;
	struct piece s = { .at = 0, .len = 0, .flags = last | TH_CWR };
	struct gro g = { .nr = 0 };
	struct pqueue q;
	struct pbuf *p = received(&s, 0);

	/* Its headers, with the payload that belongs to them. */
	pbuf_push(p, ETHER_HEADER);
	p->nh = p->start + ETHER_HEADER;
	p->th = (uint16_t)(p->nh + ip_len);
	p->proto = IPPROTO_TCP;
	p->src = v6 ? addr_from_v6(p->head + p->nh + 8) : addr_from_v4(p->head + p->nh + 12);
	p->dst = v6 ? addr_from_v6(p->head + p->nh + 24) : addr_from_v4(p->head + p->nh + 16);
	pattern_fill(large, bytes, 0, 0);
	p->data = pdata_from_bytes(large, bytes);
	p->len = bytes;
	p->gso_size = (uint16_t)mss;
	p->flags |= PB_CSUM_PARTIAL;
	dev.features = features;
	HOST_CHECK(gso_needed(&dev, p));
	gso_cut(&dev, p, &q);
	dev.features = 0;
	while ((p = pqueue_pop(&q))) {
		unsigned n = p->end - p->start;
		struct page *page = page_alloc(0, PAGE_NET, GFP_KERNEL);
		uint8_t *frame = page_virt(page), *th = frame + ETHER_HEADER + ip_len;
		struct pbuf *r;

		HOST_CHECK_EQ(n, head);
		HOST_CHECK(!!(p->flags & PB_CSUM_PARTIAL) == !!features);
		memcpy(frame, p->head + p->start, n);
		pdata_copy_out(p->data, p->off, frame + n, p->len);
		HOST_CHECK_EQ(get_be32(th + 4), at);
		HOST_CHECK_EQ(p->len, min(mss, bytes - at));
		at += p->len;
		HOST_CHECK_EQ(th[13] & (TH_FIN | TH_PSH), at == bytes ? last & (TH_FIN | TH_PSH) : 0);
		HOST_CHECK_EQ(th[13] & TH_CWR, count++ ? 0 : TH_CWR);
		if (features) {
			put_be16(th + 16, 0);
			put_be16(th + 16, be16(checksum(frame + ETHER_HEADER, ip_len, 32 + p->len, v6)));
		}
		th[13] &= (uint8_t)~TH_CWR; /* which is never merged */
		if (count == 1) {
			put_be16(th + 16, 0);
			put_be16(th + 16, be16(checksum(frame + ETHER_HEADER, ip_len, 32 + p->len, v6)));
		}
		r = ether_rx_head(&dev, frame, n + p->len, n + p->len);
		r->data = pdata_alloc();
		pdata_add(r->data, page, n, p->len);
		r->len = p->len;
		page_put(page);
		pbuf_free(p);
		gro_receive(&g, r);
	}
	gro_flush(&g);
	HOST_CHECK_EQ(at, bytes);
	HOST_CHECK_EQ(count, (bytes + mss - 1) / mss);
	for (at = 0; (p = came_out(again + at, &h, &len)); at += len - h) {
		memmove(again + at, again + at + h, len - h);
		pbuf_free(p);
	}
	HOST_CHECK_EQ(at, bytes);
	HOST_CHECK(!memcmp(large, again, bytes));
}

/* Each page is back when everything is quiet. */
static void quiet(uint64_t before)
{
	pqueue_purge(&watch->queue);
	HOST_CHECK(page_nr_free() + 64 >= before); /* slabs keep a few */
}

static void body(void)
{
	uint64_t pages;

	begin();
	for (unsigned round = 0; round < 4; round++) {
		v6 = round & 1;
		summed = round & 2;
		for (unsigned r = 0; r < ARRAY_SIZE(rows); r++)
			row_is_right(r);
	}
	fields();
	pages = page_nr_free();
	for (unsigned round = 0; round < 2; round++) {
		v6 = round;
		there_and_back(3000, 1448, A, 0);
		there_and_back(1449, 1448, F | P, 0);
		there_and_back(64000, 1448, P, 0);
		there_and_back(20000, 536, P, NETDEV_CSUM);
		bounds(1448);
		bounds(3800);
		bounds(10);
		for (unsigned seed = 1; seed <= 20; seed++) {
			summed = seed & 1;
			at_random(seed);
		}
	}
	quiet(pages);
	/* Told not to, it merges nothing. */
	t_param("net.gro", "0");
	for (unsigned i = 0; i < 2; i++) {
		struct gro g = { .nr = 0 };
		struct piece s = S(0, 100, A, NOTHING);

		gro_receive(&g, received(&s, i));
		HOST_CHECK_EQ(g.nr, 0);
	}
	quiet(pages);
}

static void test_gro(void **state)
{
	assert_int_equal(host_run(1, body), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gro),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
