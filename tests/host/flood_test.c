/* SPDX-License-Identifier: MIT */
/*
 * Floods, in virtual time, on an Ethernet device: what a hostile station may make us
 * remember and send, at most.  Neighbours that do not answer, multicast queries, router
 * advertisements, redirects, segments of no connection; for both families where there
 * are both.  Beside them the arithmetic that every packet costs, against plain loops.
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
#include "arch/host/host.h"
#include "net/icmp_err.h"
#include "net/mcast.h"
#include "net/nd.h"

#define FIRST_NS (1000 * NSEC_PER_SEC)

/* Frames that left, by what they are. */
static struct {
	unsigned questions, reports, resets, others;
} sent;
static bool v6;
static struct ip_addr us, peer;

static void count(const uint8_t *e)
{
	const uint8_t *ip = e + ETHER_HEADER;
	uint16_t type = get_be16(e + 12);

	if (type == ETHER_ARP)
		sent.questions += get_be16(ip + 6) == 1;
	else if (type == ETHER_IPV4 && ip[9] == IPPROTO_IGMP)
		sent.reports++;
	else if (type == ETHER_IPV4 && ip[9] == IPPROTO_TCP)
		sent.resets += (ip[20 + 13] & TH_RST) != 0;
	else if (type == ETHER_IPV6 && ip[6] == IPPROTO_TCP)
		sent.resets += (ip[40 + 13] & TH_RST) != 0;
	else if (type == ETHER_IPV6 && ip[6] == IPPROTO_ICMPV6 && ip[40] == ND_NS)
		sent.questions++;
	else if (type == ETHER_IPV6 && (ip[6] == 0 || ip[40] == 143))
		sent.reports++;
	else
		sent.others++;
}

static void dev_start(struct netdev *d, struct pbuf *p)
{
	count(p->head + p->start);
	pbuf_free(p);
}
static struct netdev dev = { .name = "test0", .mtu = 1500, .mac = { 2, 0, 0, 0, 0, 1 } };

static void begin(bool six)
{
	v6 = six;
	host_clock_virtual(FIRST_NS);
	us = six ? addr_from_v6("\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1") : addr_from_v4("\x0a\0\0\1");
	peer = six ? addr_from_v6("\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2") : addr_from_v4("\x0a\0\0\2");
	t_init();
	dev.start = dev_start;
	atomic_store(&dev.carrier, true);
	ether_register(&dev);
	ifaddr_add(&dev, &us, six ? 64 : 104);
	neigh_set(&dev, &peer, (const uint8_t *)"\2\0\0\0\0\2", true, true);
	memset(&sent, 0, sizeof(sent));
}

static void pass(uint64_t ns)
{
	thread_sleep_until(clock_ns() + ns, false);
}

/* A packet of @n bytes behind the network header arrives. */
static void arrives(const struct ip_addr *src, const struct ip_addr *dst, uint8_t proto, uint8_t ttl,
		    const uint8_t *d, unsigned n)
{
	struct pbuf *p = pbuf_alloc(PBUF_RESERVE);
	unsigned head = min(n, 40u);

	p->src = *src;
	p->dst = *dst;
	p->dev = &dev;
	p->th = p->start;
	p->flags |= PB_CSUM_OK;
	memcpy(pbuf_put(p, head), d, head);
	if (n > head) {
		p->data = pdata_from_bytes(d + head, n - head);
		p->len = n - head;
	}
	if (addr_is_v4(dst))
		ipv4_push_header(p, proto, ttl, 0);
	else
		ipv6_push_header(p, proto, ttl, 0);
	netif_rx(p);
}

static struct ip_addr station(unsigned i)
{
	struct ip_addr a = peer;

	put_be32(&a.b[12], (v6 ? 0 : 0x0a000000u) + 0x1000 + i);
	return a;
}

static unsigned nr_routes, nr_set;
static void count_route(const struct route_entry *r, void *arg)
{
	nr_routes += r->proto == *(const uint8_t *)arg;
	nr_set += r->proto == ROUTE_BOOT;
}
static unsigned routes_of(uint8_t proto)
{
	nr_routes = 0;
	nr_set = 0;
	route_for_each(count_route, &proto);
	return nr_routes;
}

/* ---- arithmetic ---- */

static void sums_body(void)
{
	uint8_t b[200];
	struct ip_addr x, y;

	pattern_fill(b, sizeof(b), 1, 0);
	memset(b + 40, 0xff, 60); /* carries */
	for (unsigned from = 0; from < 48; from++) {
		for (unsigned n = 0; from + n <= 150; n++) {
			uint64_t sum = 0;
			uint16_t fast = csum_fold(csum_add(0, b + from, n, false));

			for (unsigned i = 0; i < n; i++)
				sum += (uint64_t)b[from + i] << (i & 1 ? 8 : 0);
			while (sum >> 16)
				sum = (sum & 0xffff) + (sum >> 16);
			HOST_CHECK_EQ(fast, (uint16_t)~sum);
		}
	}
	for (int six = 0; six < 2; six++) {
		uint8_t pseudo[40] = { 0 };
		unsigned n = six ? 16 : 4;

		x = six ? addr_from_v6(b + 30) : addr_from_v4(b + 30);
		y = six ? addr_from_v6(b + 90) : addr_from_v4(b + 90);
		memcpy(pseudo, &x.b[16 - n], n);
		memcpy(pseudo + n, &y.b[16 - n], n);
		put_be32(pseudo + 2 * n, 65535);
		pseudo[2 * n + 7] = IPPROTO_TCP;
		HOST_CHECK_EQ(csum_fold(csum_pseudo(&x, &y, 65535, IPPROTO_TCP)),
			      csum_fold(csum_add(0, pseudo, 2 * n + 8, false)));
	}
	for (unsigned bit = 0; bit <= 128; bit++) {
		x = y = addr_from_v6(b);
		if (bit < 128)
			y.b[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		if (bit < 120)
			y.b[15] ^= 1;
		HOST_CHECK_EQ(addr_common_bits(&x, &y), bit);
		for (unsigned p = 0; p <= 128; p++)
			HOST_CHECK_EQ(prefix_match(&x, &y, p), p <= bit);
	}
}

/* ---- neighbours ---- */

/* Packets for 600 stations that there are not: each is asked for at once, then few at a time. */
static void neighbours_body(void)
{
	enum { STATIONS = 600 };
	unsigned entries, packets, most = 0, before;
	uint64_t bytes;

	for (unsigned i = 0; i < STATIONS; i++) {
		struct ip_addr a = station(i);
		uint8_t echo[8] = { v6 ? ICMP6_ECHO : ICMP4_ECHO };

		arrives(&a, &us, v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP, 64, echo, 8);
	}
	HOST_CHECK_EQ(sent.questions, STATIONS);
	neigh_usage(&entries, &packets, &bytes);
	HOST_CHECK_EQ(packets, STATIONS);
	for (unsigned i = 0; i < 400; i++) { /* 20 s */
		before = sent.questions;
		pass(50 * NSEC_PER_MSEC);
		most = max(most, sent.questions - before);
	}
	HOST_CHECK_EQ(sent.questions, 3 * STATIONS); /* each as often as is due, */
	HOST_CHECK(most >= 32 && most <= 64);        /* but not all at once */
	neigh_usage(&entries, &packets, &bytes);
	HOST_CHECK_EQ(packets, 0);
	HOST_CHECK_EQ(bytes, 0);
	HOST_CHECK(entries <= 1024);
}

/* ---- queries ---- */

static void queries_body(void)
{
	struct ip_addr group = v6 ? addr_from_v6("\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\x77\x77") : addr_from_v4("\xe0\1\2\3");
	struct ip_addr all = v6 ? nd_all_nodes : addr_from_v4("\xe0\0\0\1");
	struct ip_addr router = v6 ? addr_from_v6("\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\7") : peer;
	uint8_t query[28] = { v6 ? 130 : 0x11, v6 ? 0 : 1 };
	unsigned n = v6 ? 28 : 12;
	uint16_t sum;

	HOST_CHECK_EQ(mcast_join(&dev, &group), 0);
	pass(5 * NSEC_PER_SEC);
	sum = csum_fold(csum_add(0, query, n, false));
	if (v6)
		query[5] = 1; /* a millisecond */
	else
		memcpy(query + 2, &sum, 2);
	sent.reports = 0;
	for (unsigned i = 0; i < 2000; i++) { /* 2 s */
		arrives(&router, &all, v6 ? IPPROTO_ICMPV6 : IPPROTO_IGMP, 1, query, n);
		pass(NSEC_PER_MSEC);
	}
	HOST_CHECK(sent.reports >= 15 && sent.reports <= 21);
	pass(NSEC_PER_SEC);
	sent.reports = 0;
	arrives(&router, &all, v6 ? IPPROTO_ICMPV6 : IPPROTO_IGMP, 1, query, n);
	pass(NSEC_PER_SEC);
	HOST_CHECK_EQ(sent.reports, 1); /* and who asks seldom gets his answer */
	HOST_CHECK_EQ(mcast_leave(&dev, &group), 0);
}

/* ---- routers ---- */

/* An advertisement of router fe80::@i: life time @life, and a prefix of its own. */
static void advert(unsigned i, uint16_t life, uint32_t valid)
{
	struct ip_addr router = nd_link_prefix;
	uint8_t m[48] = { ND_RA };

	put_be32(&router.b[12], i);
	put_be16(m + 6, life);
	m[16] = OPT_PREFIX;
	m[17] = 4;
	m[18] = 64;
	m[19] = 0xc0;
	put_be32(m + 20, valid);
	put_be32(m + 24, valid);
	m[32] = 0xfd;
	m[33] = 0x88;
	put_be32(m + 36, i);
	arrives(&router, &nd_all_nodes, IPPROTO_ICMPV6, 255, m, 48);
}

static unsigned nr_addresses(void)
{
	const struct ifaddr *t = ifaddr_table();
	unsigned n = 0;

	for (unsigned i = 0; i < NR_IFADDRS; i++)
		n += atomic_load(&t[i].dev) == &dev;
	return n;
}

static void routers_body(void)
{
	struct route_entry mine = { .dst = ADDR_ANY6, .gw = nd_link_prefix, .metric = 1024, .dev = &dev,
				    .proto = ROUTE_BOOT };
	struct ip_addr gw = nd_link_prefix;
	unsigned saved;

	put_be32(&gw.b[12], 1);
	advert(1, 1800, 1800);
	HOST_CHECK(route_is_router(&dev, &gw));
	for (unsigned i = 2; i < 5000; i++) { /* 5 s */
		advert(i, i % 3 ? 1800 : 1, i % 5 ? 1800 : 1);
		if (i % 100 == 0) /* the real one among them is heard every time */
			advert(1, i == 4900 ? 0 : 1800, 1800);
		HOST_CHECK_EQ(route_is_router(&dev, &gw), i < 4900);
		pass(NSEC_PER_MSEC);
	}
	saved = (unsigned)net_stat_sum(NS_nd_adverts_saved);
	HOST_CHECK(saved > 4850 && saved < 4998 - 20 - 40);
	HOST_CHECK(routes_of(ROUTE_RA) <= NR_LEARNT);
	HOST_CHECK(nr_addresses() <= 16);
	/* What an administrator has set is no router's to take. */
	put_be32(&mine.gw.b[12], 7777);
	pass(5 * NSEC_PER_SEC);
	HOST_CHECK_EQ(route_add(&mine), 0);
	advert(7777, 1800, 0);
	pass(NSEC_PER_SEC);
	advert(7777, 0, 0);
	routes_of(ROUTE_RA);
	HOST_CHECK_EQ(nr_set, 1);
	/* All that was learnt ends. */
	pass(2000 * NSEC_PER_SEC);
	advert(1, 1800, 1800);
	HOST_CHECK_EQ(routes_of(ROUTE_RA), 2);
}

/* ---- redirects ---- */

static void redirects_body(void)
{
	struct route_entry way = { .dst = v6 ? ADDR_ANY6 : addr_from_v4("\0\0\0\0"), .gw = peer,
				   .prefix = v6 ? 0 : 96, .dev = &dev, .proto = ROUTE_BOOT };
	struct ip_addr far = v6 ? addr_from_v6("\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\0") : addr_from_v4("\xc6\x33\0\0");
	struct ip_addr other = v6 ? addr_from_v6("\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\7") : station(7);
	unsigned taken = 0;

	HOST_CHECK_EQ(route_add(&way), 0);
	for (unsigned i = 0; i < 3000; i++) { /* 3 s */
		put_be16(&far.b[14], (uint16_t)i);
		HOST_CHECK(!route_redirect(&dev, &other, &far, &peer)); /* not the way that we use */
		taken += route_redirect(&dev, &peer, &far, &other);
		pass(NSEC_PER_MSEC);
	}
	HOST_CHECK(taken > 0 && taken <= NR_LEARNT);
	HOST_CHECK(routes_of(ROUTE_REDIRECT) <= NR_LEARNT);
	HOST_CHECK_EQ(nr_set, 1);
}

/* ---- resets ---- */

static void stray(const struct ip_addr *from, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint8_t segment[20] = { 0 };

		put_be16(segment, (uint16_t)(1024 + i));
		put_be16(segment + 2, 80);
		segment[12] = 0x50;
		segment[13] = i & 1 ? TH_SYN : TH_ACK;
		arrives(from, &us, IPPROTO_TCP, 64, segment, 20);
	}
}

static void resets_body(void)
{
	struct ip_addr other = station(1);

	neigh_set(&dev, &other, (const uint8_t *)"\2\0\0\0\0\3", true, true);
	stray(&peer, 1999); /* a scan gets all its answers */
	HOST_CHECK_EQ(sent.resets, 1999);
	stray(&peer, 3000);
	HOST_CHECK(sent.resets >= 2000 && sent.resets <= 2002);
	HOST_CHECK_EQ(net_stat_sum(NS_tcp_resets_out) + net_stat_sum(NS_tcp_resets_saved), 4999);
	sent.resets = 0;
	stray(&other, 100); /* somebody else his own */
	HOST_CHECK_EQ(sent.resets, 100);
	pass(NSEC_PER_SEC);
	sent.resets = 0;
	stray(&peer, 3000);
	HOST_CHECK(sent.resets >= 199 && sent.resets <= 202);
}

static void (*run_body)(void);
static bool run_v6;
static void run_main(void)
{
	begin(run_v6);
	run_body();
	t_check_empty();
}

static int run(void (*body)(void), bool six)
{
	run_body = body;
	run_v6 = six;
	return host_run(1, run_main);
}

#define TEST(name, first)                                                                          \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		for (int six = first; six < 2; six++)                                              \
			assert_int_equal(run(name##_body, six), 0);                                \
	}
#define TESTS(X) X(sums, 1) X(neighbours, 0) X(queries, 0) X(routers, 1) X(redirects, 0) X(resets, 0)
TESTS(TEST)

int main(void)
{
#define UNIT(name, first) cmocka_unit_test(test_##name),
	const struct CMUnitTest tests[] = { TESTS(UNIT) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
