/* SPDX-License-Identifier: MIT */
/*
 * Netlink messages and interface requests (SIOC*): addresses, links, routes,
 * neighbours and lists of sockets, with any header, attributes and flags.  Answers
 * must be well-formed messages, lists must end, and when devices are as they were
 * nothing may be left.
 *
 * Input: operations; a message's family header and attributes are bytes of the input,
 * with addresses and device numbers that exist now and then.
 *
 * SOURCES: @net @rtnl net/if_ioctl.c tests/fuzz/leak.c
 */
#include "tests/host/net_stub.h"
#include "kernel/process.h"
#include "net/ether.h"
#include "net/if_config.h"
#include "net/netlink/netlink.h"
#include "tests/fuzz/fuzz.h"

#define OPS_MAX   60
#define MTU       1500
#define READS_MAX 2000 /* buffers of one list */

struct process *init_process;
int copy_to_user(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
	return 0;
}

static void start(struct netdev *dev, struct pbuf *p)
{
	pbuf_free(p);
}
static struct netdev eth = { .name = "eth0", .mtu = MTU, .start = start, .carrier = true };

static const struct ip_addr addresses[] = {
	{ .b = { [10] = 0xff, 0xff, 10, 0, 0, 1 } }, { .b = { [10] = 0xff, 0xff, 10, 0, 0, 2 } },
	{ .b = { [10] = 0xff, 0xff, 192, 168, 7, 1 } }, { .b = { 0xfd, [15] = 1 } },
	{ .b = { 0xfd, [15] = 2 } }, { .b = { 0xfe, 0x80, [15] = 9 } }, { .b = { [15] = 1 } }, { .b = { 0 } },
};
static struct sock *sockets[8];

/* ---- requests ---- */

static uint8_t message[2048];
static unsigned message_len;

static void put(const void *bytes, unsigned n)
{
	if (message_len + n + 4 > sizeof(message))
		return;
	if (n)
		memcpy(message + message_len, bytes, n);
	message_len += n;
	while (message_len % 4)
		message[message_len++] = 0;
}

static void put_attr(uint16_t type, const void *bytes, unsigned n)
{
	struct nlattr a = { .len = (uint16_t)(sizeof(a) + n), .type = type };

	put(&a, sizeof(a));
	put(bytes, n);
}

static void attribute(struct fuzz_in *in)
{
	uint8_t type = fz_u8(in), how = fz_u8(in);
	const struct ip_addr *a = &addresses[how % ARRAY_SIZE(addresses)];
	uint32_t v = how >> 4;
	const uint8_t *bytes;
	size_t n;

	switch (how >> 3 & 3) {
	case 0:
		if (addr_is_v4(a) && !(how & 128)) /* else as IPv6 writes it */
			put_attr(type % NL_ATTRS, &a->b[12], 4);
		else
			put_attr(type % NL_ATTRS, a->b, 16);
		break;
	case 1:
		put_attr(type % NL_ATTRS, &v, 4);
		break;
	case 2:
		put_attr(type % NL_ATTRS, "eth0", 5);
		break;
	case 3:
		bytes = fz_bytes(in, fz_u8(in) % 40, &n);
		put_attr(type, bytes, (unsigned)n);
		break;
	}
}

/* One message: a header that may lie about its length, the family's header, attributes. */
static void add_message(struct fuzz_in *in, bool route)
{
	static const uint8_t header_len[] = { 16, 8, 12, 12, 12 };
	uint8_t type = fz_u8(in), flags = fz_u8(in), nr = fz_u8(in), head[64] = { 0 };
	struct nlmsghdr h = { .type = route ? (uint16_t)(16 + type % 24) : 20, .flags = 1, .seq = type };
	unsigned at = message_len, want = route ? header_len[type % 24 / 4 % 5] : 56;
	const uint8_t *bytes;
	size_t n;

	if (flags & 64)
		h.type = type;
	h.flags |= (uint16_t)((flags & 1 ? NLM_F_DUMP : 0) | (flags & 2 ? NLM_F_ACK : 0) | (flags & 12) << 7);
	put(&h, sizeof(h));
	bytes = fz_bytes(in, want, &n);
	memcpy(head, bytes, n);
	if (!(flags & 16) && route) {
		head[0] = nr & 128 ? AF_INET6 : AF_INET;
		if (want == 8 || want == 12)
			head[4] = (uint8_t)(1 + (nr >> 6 & 1)); /* a device, where there is one */
	}
	if (!(flags & 16) && !route)
		head[1] = nr & 128 ? IPPROTO_TCP : nr & 64 ? IPPROTO_UDP : 255;
	put(head, want);
	for (unsigned i = 0; i < nr % 8; i++)
		attribute(in);
	h.len = message_len - at + (flags & 32 ? (uint32_t)(int8_t)fz_u8(in) : 0);
	memcpy(message + at, &h, sizeof(h.len));
}

/* ---- answers ---- */

static void check_attributes(const uint8_t *p, unsigned n)
{
	while (n >= sizeof(struct nlattr)) {
		const struct nlattr *a = (const void *)p;
		unsigned step = (a->len + 3u) & ~3u;

		MUST(a->len >= sizeof(*a) && a->len <= n);
		if (step >= n)
			return;
		p += step;
		n -= step;
	}
}

/* Messages fill the buffer.  Return: false after the end of a list. */
static bool check_messages(const uint8_t *p, size_t n)
{
	static const uint8_t header_len[] = { 16, 8, 12, 12 };
	bool more = true;

	while (n) {
		const struct nlmsghdr *h = (const void *)p;

		MUST(n >= sizeof(*h) && h->len >= sizeof(*h) && h->len <= n);
		if (h->type == 3)
			more = false;
		if (h->type >= 16 && h->type < 32) {
			unsigned skip = h->type == 20 && (h->len == 24 || h->len > 88) ? 0 : header_len[(h->type - 16) / 4];

			if (skip)
				check_attributes(p + sizeof(*h) + skip, h->len - (unsigned)sizeof(*h) - skip);
		}
		MUST(h->len % 4 == 0);
		p += h->len;
		n -= h->len;
	}
	return more;
}

static void read_answers(struct sock *s, unsigned size)
{
	static uint8_t buf[65536] __attribute__((aligned(8)));
	ssize_t n;

	for (unsigned i = 0; (n = t_recv(s, buf, size, MSG_DONTWAIT | MSG_TRUNC)) >= 0; i++) {
		MUST(i < READS_MAX);
		if ((size_t)n <= size)
			check_messages(buf, (size_t)n);
	}
}

/* ---- SIOC* ---- */

static void ioctl_call(struct fuzz_in *in)
{
	static const uint16_t cmds[] = { 0x890b, 0x890c, 0x8910, 0x8912, 0x8913, 0x8914, 0x8915, 0x8916, 0x8919,
					 0x891a, 0x891b, 0x891c, 0x891d, 0x8921, 0x8922, 0x8927, 0x8933, 0x8936,
					 0x8955, 0x8954, 0x8953, 0x8942, 0x8970 };
	static uint8_t arg[256], more[1024];
	unsigned cmd = cmds[fz_u8(in) % ARRAY_SIZE(cmds)];
	uint8_t how = fz_u8(in);
	const uint8_t *bytes;
	uint64_t at = (uintptr_t)more;
	size_t n;

	bytes = fz_bytes(in, how % 120, &n);
	memset(arg, 0, sizeof(arg));
	memcpy(arg, bytes, n);
	if (how & 128 && cmd < 0x8950 && cmd > 0x8912)
		memcpy(arg, "eth0\0", 5);
	/* Pointers in it lead to memory of the program, or nowhere. */
	if (cmd == 0x8912)
		memcpy(arg + 8, &at, 8);
	if (cmd == 0x890b || cmd == 0x890c) {
		memcpy(more, "eth0", 5);
		at = how & 128 ? (uintptr_t)more : 0;
		memcpy(arg + 80, &at, 8); /* struct rtentry: rt_dev */
	}
	if (cmd == 0x8912) {
		int32_t len = min((int32_t)how * 4, (int32_t)sizeof(more));

		memcpy(arg, &len, 4);
	}
	if_ioctl(how & 64 ? AF_INET6 : AF_INET, cmd, arg);
}

/* ---- the whole ---- */

static void restore(void)
{
	const struct ifaddr *t = ifaddr_table();

	netdev_set_up(&eth, true);
	netdev_set_mtu(&eth, MTU);
	route_flush(&eth);
	route_flush(&loopback_dev);
	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		struct netdev *d = atomic_load(&t[i].dev);
		struct ip_addr a = t[i].addr;

		if (d && !(d->loopback && addr_is_loopback(&a)))
			ifaddr_del(d, &a);
	}
	neigh_flush(&eth);
	ifaddr_add(&eth, &addresses[0], 120);
	ifaddr_add(&eth, &addresses[3], 64);
	ifaddr_add(&loopback_dev, &(struct ip_addr){ .b = { [10] = 0xff, 0xff, 127, 0, 0, 1 } }, 104);
	ifaddr_add(&loopback_dev, &(struct ip_addr){ .b = { [15] = 1 } }, 128);
}

static void one_input(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct sock *route = sock_create(AF_NETLINK, SOCK_RAW, 0), *diag = sock_create(AF_NETLINK, SOCK_RAW, 4);

	MUST(!IS_ERR(route) && !IS_ERR(diag));
	for (unsigned i = 0; i < OPS_MAX && in.n; i++) {
		uint8_t op = fz_u8(&in);
		struct sock *s = op & 16 ? diag : route;

		switch (op % 8) {
		case 0 ... 3:
			message_len = 0;
			for (unsigned k = 0; k <= op >> 6; k++)
				add_message(&in, s == route);
			t_send(s, message, message_len, 0);
			break;
		case 4:
			ioctl_call(&in);
			break;
		case 5:
		case 6:
			read_answers(s, op & 32 ? 65536 : 1u + fz_u16(&in));
			break;
		case 7:
			fz_sleep(fz_u8(&in) * 20u);
			break;
		}
	}
	read_answers(route, 8192);
	read_answers(diag, 8192);
	t_close(route);
	t_close(diag);
	restore();
	for (unsigned i = 0; i < 100 && atomic_load(&stub_bytes) > 0; i++)
		fz_sleep(10000);
}

static int64_t bytes_before;

/* Some sockets for lists. */
static void populate(void)
{
	struct sock *l = t_listen(AF_INET, 80, 5);

	sockets[0] = l;
	sockets[1] = tcp_create(AF_INET);
	MUST(t_connect(sockets[1], AF_INET, 80, false) == 0);
	MUST(l->ops->accept(l, &sockets[2], false) == 0);
	sockets[3] = udp_create(AF_INET6);
	sockets[4] = raw_create(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	sockets[5] = udp_create(AF_INET);
	MUST(t_connect(sockets[5], AF_INET, 9, false) == 0);
	for (unsigned i = 0; i < 40; i++) { /* more than one buffer of answers */
		struct sock *u = udp_create(i % 2 ? AF_INET : AF_INET6);

		MUST(!IS_ERR(u) && t_connect(u, u->family, (uint16_t)(1000 + i), false) == 0);
	}
}

void fuzz_setup(void)
{
	static struct process root;

	page_alloc_init_percpu();
	t_init();
	netlink_init();
	init_process = &root;
	current->process = &root;
	memcpy(eth.mac, "\2\0\0\0\0\1", 6);
	ether_register(&eth);
	eth.up = true;
	restore();
	populate();
	one_input((const uint8_t *)"", 0);
	fuzz_objects_note();
	bytes_before = atomic_load(&stub_bytes);
}

/* Neighbours are asked for while an input runs, and forgotten with time. */
static const char *const kept[] = { "pmtu", NULL };

void fuzz_one(const uint8_t *data, size_t size)
{
	one_input(data, size);
	fuzz_objects_must_be_back(kept);
	MUST(atomic_load(&stub_bytes) <= bytes_before);
}
