/* SPDX-License-Identifier: MIT */
/*
 * Any frames on an Ethernet device, with the whole stack and a few sockets behind:
 * ARP, IPv4, IPv6, neighbour and router discovery, ICMP, DHCP, UDP, TCP,
 * fragments.  Afterwards, once every time-out has passed, nothing may be charged
 * and no packet's page may be left.
 *
 * Input: records of a control byte, a length (two bytes) and a frame.
 *
 * SOURCES: @net
 */
#include "tests/host/net_stub.h"
#include "net/ether.h"
#include "tests/fuzz/fuzz.h"

#define FRAMES_MAX 64
#define MTU        1500
/* Control byte. */
#define C_FIX    (1u << 0) /* lengths and sums are made right */
#define C_TO_US  (1u << 1) /* destination: our addresses, hardware and network */
#define C_SLEEP  (1u << 2) /* time passes after it: the high nibble squared, in tenths of a second */
#define C_DRAIN  (1u << 3) /* the programs read what came */

static const uint8_t our_mac[6] = { 2, 0, 0, 0, 0, 1 };
static const uint8_t our_v4[4] = { 10, 0, 0, 1 }, our_v6[16] = { 0xfe, 0x80, [8] = 0, [11] = 0xff, [12] = 0xfe, [15] = 1 };

static void start(struct netdev *dev, struct pbuf *p)
{
	MUST(p->end - p->start >= ETHER_HEADER);
	MUST(p->end - p->start + p->len <= MTU + ETHER_HEADER);
	pbuf_free(p);
}
static struct netdev eth = { .name = "eth0", .mtu = MTU, .start = start, .carrier = true };

static struct sock *sockets[5];

static struct sock *bound(struct sock *s, uint16_t port)
{
	struct ip_addr any = { 0 };
	union sockaddr_any a;
	unsigned len = addr_export(AF_INET6, &any, port, &a);

	MUST(!IS_ERR(s));
	s->reuseaddr = true;
	MUST(s->ops->bind(s, &a, len) == 0);
	return s;
}

static void open_sockets(void)
{
	sockets[0] = bound(tcp_create(AF_INET6), 80);
	MUST(sockets[0]->ops->listen(sockets[0], 4) == 0);
	sockets[1] = bound(udp_create(AF_INET6), 53);
	sockets[2] = raw_create(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	sockets[3] = raw_create(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6);
	sockets[4] = bound(udp_create(AF_INET6), 68);
	for (unsigned i = 0; i < ARRAY_SIZE(sockets); i++)
		MUST(!IS_ERR(sockets[i]));
}

static void drain(void)
{
	static char buf[65536];
	struct sock *c;

	for (unsigned i = 1; i < ARRAY_SIZE(sockets); i++) {
		while (t_recv(sockets[i], buf, sizeof(buf), MSG_DONTWAIT) >= 0)
			;
	}
	while (sockets[0]->ops->accept(sockets[0], &c, true) == 0) {
		while (t_recv(c, buf, sizeof(buf), MSG_DONTWAIT) > 0)
			;
		t_send(c, "answer", 6, MSG_DONTWAIT | MSG_NOSIGNAL);
		t_close(c);
	}
}

static uint64_t net_pages(void)
{
	struct page_stats s;

	page_stats(&s);
	return s.kind[PAGE_NET];
}

static uint64_t pages_before;

void fuzz_setup(void)
{
	struct ip_addr v4 = addr_from_v4(our_v4);

	page_alloc_init_percpu();
	t_init();
	memcpy(eth.mac, our_mac, 6);
	ether_register(&eth);
	eth.up = true;
	ifaddr_add(&eth, &v4, 120);
	nd_start(&eth);
	fz_sleep(10000);
}

static void frame_arrives(const uint8_t *bytes, size_t n, uint8_t control)
{
	uint8_t frame[4096];
	struct pbuf *p;
	unsigned head;

	if (n < ETHER_HEADER || n > MTU + ETHER_HEADER)
		return;
	memcpy(frame, bytes, n);
	if (control & C_TO_US) {
		uint8_t *ip = frame + ETHER_HEADER;

		memcpy(frame, our_mac, 6);
		if (n >= ETHER_HEADER + 20 && ip[0] >> 4 == 4) {
			put_be16(frame + 12, ETHER_IPV4);
			memcpy(ip + 16, our_v4, 4);
		} else if (n >= ETHER_HEADER + 40 && ip[0] >> 4 == 6) {
			put_be16(frame + 12, ETHER_IPV6);
			memcpy(ip + 24, our_v6, 16);
		}
	}
	if (control & C_FIX)
		fuzz_fix_packet(frame + ETHER_HEADER, n - ETHER_HEADER);
	p = ether_rx_head(&eth, frame, (unsigned)n, (unsigned)n);
	if (!p)
		return;
	head = ETHER_HEADER + (p->end - p->start);
	MUST(head <= n);
	if (head < n) {
		p->data = pdata_from_bytes(frame + head, n - head);
		MUST(p->data);
		p->len = (uint32_t)(n - head);
	}
	ether_rx(p);
}

void fuzz_one(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };

	if (!pages_before)
		pages_before = net_pages() + 1;
	open_sockets();
	for (unsigned i = 0; i < FRAMES_MAX && in.n; i++) {
		uint8_t control = fz_u8(&in);
		size_t n;
		const uint8_t *bytes = fz_bytes(&in, fz_u16(&in) % 2048, &n);

		frame_arrives(bytes, n, control);
		if (control & C_DRAIN)
			drain();
		if (control & C_SLEEP)
			fz_sleep((control >> 4) * (control >> 4) * 100u);
	}
	drain();
	for (unsigned i = 0; i < ARRAY_SIZE(sockets); i++)
		t_close(sockets[i]);
	/* Connections whose peer is gone, half-open ones, fragments, questions to neighbours. */
	for (unsigned i = 0; i < 100 && (atomic_load(&stub_pages) || atomic_load(&stub_bytes) ||
					 net_pages() + 1 != pages_before); i++)
		fz_sleep(20000);
	MUST(atomic_load(&stub_pages) == 0);
	MUST(atomic_load(&stub_bytes) == 0);
	MUST(net_pages() + 1 == pages_before);
}
