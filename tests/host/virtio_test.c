/* SPDX-License-Identifier: MIT */
/*
 * The virtio network driver against a device that the test plays, by writing into
 * its rings: an honest one answers a ping; one that lies is shut down with a message
 * and nothing else happens, whatever the lie.
 *
 * SOURCES: @net drivers/virtio_ring.c drivers/virtio_net.c drivers/virtio_net_queue.c
 * SOURCES: drivers/virtio_net_rx.c drivers/virtio_net_tx.c drivers/virtio_net_ctrl.c
 * FLAVOURS: plain asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/host/net_stub.h"
#include "drivers/virtio_net.h"
#include "net/icmp_err.h"

/* What stands for drivers/virtio_pci.c: registers are memory. */
static char common[64], notify[64], config[64], isr[4];
static uint64_t offered;
static const char *broken_because;
static uint8_t status = VIRTIO_STATUS_DRIVER_OK;
static unsigned row; /* of a table, or which variant */
static struct {
	void (*fn)(void *);
	void *arg;
} vectors[16];

const struct pci_function *pci_get(unsigned i)
{
	static const struct pci_function f = { .vendor = 0x1af4, .device = 0x1041 };

	return i ? NULL : &f;
}
int virtio_pci_probe(struct virtio_device *d, const struct pci_function *f)
{
	d->pci = f;
	d->common = common;
	d->notify = notify;
	d->config = config;
	d->isr = isr;
	d->notify_len = sizeof(notify);
	d->config_len = sizeof(config);
	d->nr_vectors = ARRAY_SIZE(vectors);
	snprintf(d->name, sizeof(d->name), "test");
	return 0;
}
void virtio_reset(struct virtio_device *d)
{
}
uint8_t virtio_status(struct virtio_device *d)
{
	return status;
}
void virtio_add_status(struct virtio_device *d, uint8_t bits)
{
}
uint64_t virtio_offered(struct virtio_device *d)
{
	return offered;
}
int virtio_accept(struct virtio_device *d, uint64_t want)
{
	d->features = offered & want;
	return 0;
}
int virtio_vector(struct virtio_device *d, unsigned entry, unsigned cpu, void (*fn)(void *),
		  void *arg, const char *name)
{
	vectors[entry].fn = fn;
	vectors[entry].arg = arg;
	return 0;
}
int virtio_config_vector(struct virtio_device *d, unsigned entry)
{
	return 0;
}
uint8_t virtio_config8(struct virtio_device *d, unsigned off)
{
	return (uint8_t)config[off];
}
uint16_t virtio_config16(struct virtio_device *d, unsigned off)
{
	uint16_t v;

	memcpy(&v, config + off, 2);
	return v;
}
void virtio_broken(struct virtio_device *d, const char *why)
{
	if (!atomic_exchange_explicit(&d->broken, true, memory_order_acq_rel))
		broken_because = why;
}

/* The device's side of a queue. */
struct side {
	struct virtq *q;
	uint16_t next_avail, used;
};
static struct vnet *v;
static struct side rx, tx;

static void *guest(uint64_t phys)
{
	return (char *)pfn_to_virt(phys >> PAGE_SHIFT) + (phys & (PAGE_SIZE - 1));
}

/* The next buffer that the driver offers; -1: none. */
static int take(struct side *s)
{
	uint16_t idx = atomic_load(&s->q->avail->idx);

	if (idx == s->next_avail)
		return -1;
	return s->q->avail->ring[s->next_avail++ & (s->q->size - 1)];
}

/* Says that buffer @id is done, @len bytes written; the index moves by @step. */
static void give(struct side *s, uint32_t id, uint32_t len, unsigned step)
{
	s->q->used->ring[s->used & (s->q->size - 1)].id = id;
	s->q->used->ring[s->used & (s->q->size - 1)].len = len;
	s->used += (uint16_t)step;
	atomic_store(&s->q->used->idx, s->used);
}

static void interrupt_and_wait(void)
{
	vectors[1].fn(vectors[1].arg);
	thread_sleep_until(clock_ns() + 20 * NSEC_PER_MSEC, false);
}

/* Bytes of the chain at @id, whole. */
static unsigned read_chain(struct side *s, unsigned id, uint8_t *to)
{
	struct vring_desc *d = &s->q->desc[id];
	unsigned n = 0;

	if (d->flags & 4) /* indirect */
		d = guest(d->addr);
	for (;;) {
		memcpy(to + n, guest(d->addr), d->len);
		n += d->len;
		if (!(d->flags & 1))
			return n;
		d = (s->q->desc[id].flags & 4)
			    ? (struct vring_desc *)guest(s->q->desc[id].addr) + d->next
			    : &s->q->desc[d->next];
	}
}

static uint8_t frame[70000];

/* A ping from 10.0.0.2 in @frame, header for the device included; its length. */
static unsigned make_ping(unsigned payload)
{
	struct virtio_net_hdr h = { .num_buffers = 1 };
	uint8_t *e = frame + sizeof(h), *ip = e + 14, *icmp = ip + 20;
	uint16_t sum;

	memset(frame, 0, sizeof(frame));
	memcpy(frame, &h, sizeof(h));
	memcpy(e, v->dev.mac, 6);
	e[6] = 2;
	put_be16(e + 12, ETHER_IPV4);
	ip[0] = 0x45;
	put_be16(ip + 2, (uint16_t)(28 + payload));
	ip[8] = 64;
	ip[9] = IPPROTO_ICMP;
	memcpy(ip + 12, "\x0a\0\0\2\x0a\0\0\1", 8);
	sum = csum_fold(csum_add(0, ip, 20, false));
	memcpy(ip + 10, &sum, 2);
	icmp[0] = ICMP4_ECHO;
	for (unsigned i = 0; i < payload; i++)
		icmp[8 + i] = (uint8_t)i;
	sum = csum_fold(csum_add(0, icmp, 8 + payload, false));
	memcpy(icmp + 2, &sum, 2);
	return (unsigned)sizeof(h) + 14 + 28 + payload;
}

/* The device fills buffer @id, one page or a chain. */
static void write_chain(struct side *s, unsigned id, const uint8_t *from, unsigned n)
{
	struct vring_desc *table = s->q->desc, *d = &table[id];

	if (d->flags & 4) { /* indirect */
		table = guest(d->addr);
		d = table;
	}
	for (;;) {
		unsigned part = min(n, d->len);

		HOST_CHECK(d->flags & 2); /* ours to write */
		memcpy(guest(d->addr), from, part);
		from += part;
		n -= part;
		if (!n)
			return;
		HOST_CHECK(d->flags & 1);
		d = &table[d->next];
	}
}

static int receive(unsigned n)
{
	int id = take(&rx);

	HOST_CHECK(id >= 0);
	write_chain(&rx, (unsigned)id, frame, n);
	give(&rx, (uint32_t)id, n, 1);
	return id;
}

/* A ping of @payload bytes is answered. */
static void ping(unsigned payload)
{
	static uint8_t answer[70000];
	unsigned n = make_ping(payload), len;
	int id;

	receive(n);
	interrupt_and_wait();
	id = take(&tx);
	HOST_CHECK(id >= 0);
	len = read_chain(&tx, (unsigned)id, answer);
	HOST_CHECK_EQ(len, n);
	HOST_CHECK_EQ(answer[12 + 14 + 20], ICMP4_ECHO_REPLY);
	HOST_CHECK(!memcmp(answer + 12 + 14 + 28, frame + 12 + 14 + 28, payload));
	give(&tx, (uint32_t)id, 0, 1);
	interrupt_and_wait();
}

static void begin(void)
{
	struct ip_addr us = addr_from_v4("\x0a\0\0\1"), peer = addr_from_v4("\x0a\0\0\2");
	uint16_t size = 256;

	t_init();
	if (!offered)
		offered = VIRTIO_F_VERSION_1 | VIRTIO_F_INDIRECT_DESC | VIRTIO_F_EVENT_IDX |
			  VNET_F_MAC | VNET_F_MRG_RXBUF;
	memcpy(config, "\2\0\0\0\0\1", 6);
	memcpy(common + 24, &size, 2);
	virtio_net_init();
	HOST_CHECK(netdev_by_name("eth0"));
	v = netdev_by_name("eth0")->priv;
	rx.q = &v->queues[0].rx;
	tx.q = &v->queues[0].tx;
	ifaddr_add(&v->dev, &us, 120);
	HOST_CHECK_EQ(neigh_set(&v->dev, &peer, (const uint8_t *)"\2\0\0\0\0\0", true, true), 0);
	while (take(&tx) >= 0) /* what the stack says of itself */
		;
}

static void honest_body(void)
{
	begin();
	for (unsigned i = 0; i < 20; i++)
		ping(i * 70);
	/* Runts and frames for others are dropped, their buffers used again. */
	for (unsigned n = sizeof(struct virtio_net_hdr); n < 40; n++) {
		make_ping(0);
		receive(n);
		interrupt_and_wait();
	}
	ping(100);
	/* What was sent is let go even if nothing happens any more. */
	receive(make_ping(100));
	interrupt_and_wait();
	give(&tx, (uint32_t)take(&tx), 0, 1);
	HOST_CHECK_EQ(tx.q->inflight, 1);
	for (unsigned i = 0; i < 100 && __atomic_load_n(&tx.q->inflight, __ATOMIC_RELAXED); i++)
		thread_sleep_until(clock_ns() + 50 * NSEC_PER_MSEC, false);
	HOST_CHECK_EQ(tx.q->inflight, 0);
	HOST_CHECK(!broken_because);
}

/* The lies.  Each is told once, after an honest exchange. */
static void lie_id_range(void)
{
	give(&rx, rx.q->size, 100, 1);
}
static void lie_id_huge(void)
{
	give(&rx, 0xffffffff, 100, 1);
}
static void lie_same_twice(void)
{
	unsigned n = make_ping(10);
	int id = receive(n);

	interrupt_and_wait();
	/*
	 * The driver has put that buffer back under some number; name one that it has not given out
	 * again.
	 */
	for (id = 0; id < rx.q->size && rx.q->slots[id].token; id++)
		;
	give(&rx, id < rx.q->size ? (uint32_t)id : rx.q->size, n, 1);
}
static void lie_length(void)
{
	give(&rx, (uint32_t)take(&rx), PAGE_SIZE + 1, 1);
}
static void lie_length_huge(void)
{
	give(&rx, (uint32_t)take(&rx), 0xffffffff, 1);
}
static void lie_index_ahead(void)
{
	give(&rx, (uint32_t)take(&rx), 100, rx.q->size + 1u);
}
static void lie_index_back(void)
{
	give(&rx, 0, 100, 0xffff);
}
static void lie_short(void)
{
	make_ping(10);
	receive(sizeof(struct virtio_net_hdr) - 1);
}
static void with_buffers(uint16_t buffers)
{
	unsigned n = make_ping(10);

	((struct virtio_net_hdr *)frame)->num_buffers = buffers;
	receive(n);
}
static void lie_no_buffers(void)
{
	with_buffers(0);
}
static void lie_many_buffers(void)
{
	with_buffers(0xffff);
}
static void lie_missing_buffers(void)
{
	with_buffers(3);
}
static void lie_tx_id(void)
{
	give(&tx, tx.q->size + 7u, 0, 1);
}
static void lie_tx_nothing_sent(void)
{
	give(&tx, 0, 0, 1);
}
static void lie_tx_index(void)
{
	give(&tx, 0, 0, 1000);
}

static const struct {
	const char *what;
	void (*lie)(void);
} lies[] = {
	{ "id out of range", lie_id_range },
	{ "id of all ones", lie_id_huge },
	{ "buffer that it does not have", lie_same_twice },
	{ "longer than the buffer", lie_length },
	{ "length of all ones", lie_length_huge },
	{ "index ahead", lie_index_ahead },
	{ "index back", lie_index_back },
	{ "shorter than its header", lie_short },
	{ "no buffers", lie_no_buffers },
	{ "65535 buffers", lie_many_buffers },
	{ "buffers missing", lie_missing_buffers },
	{ "sent: id out of range", lie_tx_id },
	{ "sent: nothing was", lie_tx_nothing_sent },
	{ "sent: index ahead", lie_tx_index },
};
static void lie_body(void)
{
	struct sock *s, *c;
	uint64_t pages;
	union sockaddr_any a;
	char b[8];
	unsigned n;

	begin();
	ping(64);
	lies[row].lie();
	interrupt_and_wait();
	interrupt_and_wait();
	HOST_CHECK(broken_because);
	HOST_CHECK(!atomic_load(&v->dev.carrier));
	/* Nothing more is taken from it or given to it, and nothing is kept for it. */
	pages = atomic_load(&v->dev.rx_packets);
	make_ping(10);
	give(&rx, 0, 100, 1);
	interrupt_and_wait();
	HOST_CHECK_EQ(atomic_load(&v->dev.rx_packets), pages);
	/* The rest of the machine goes on. */
	s = udp_create(AF_INET);
	c = udp_create(AF_INET);
	n = t_addr(&a, AF_INET, 9);
	HOST_CHECK_EQ(s->ops->bind(s, &a, n), 0);
	HOST_CHECK_EQ(c->ops->connect(c, &a, n, false), 0);
	HOST_CHECK_EQ(t_send(c, "hello", 5, 0), 5);
	HOST_CHECK_EQ(t_recv(s, b, sizeof(b), MSG_DONTWAIT), 5);
	/* Towards the network there is none. */
	a.in.family = AF_INET;
	memcpy(a.in.addr, "\x0a\0\0\2", 4);
	HOST_CHECK_EQ(c->ops->connect(c, &a, n, false), 0);
	for (unsigned i = 0; i < 2000; i++)
		t_send(c, "hello", 5, 0);
	HOST_CHECK_EQ(v->queues[0].backlog.count, 0);
	t_close(s);
	t_close(c);
}

/*
 * Without merged buffers each is a chain that takes the largest packet (OSv 1058);
 * what a packet does not use is used again.
 */
static void chains_body(void)
{
	offered = VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX | VNET_F_MAC | VNET_F_GUEST_CSUM |
		  VNET_F_GUEST_TSO4 | VNET_F_GUEST_TSO6 | (row & 1 ? VIRTIO_F_INDIRECT_DESC : 0);
	begin();
	HOST_CHECK_EQ(v->rx_pages, VNET_RX_PAGES);
	HOST_CHECK_EQ(rx.q->inflight, row & 1 ? VNET_RX_CHAINS : rx.q->size / VNET_RX_PAGES);
	for (unsigned i = 0; i < 300; i++) {
		unsigned payload = i % 7 * 1009 % 1400;

		ping(payload);
		HOST_CHECK_EQ(rx.q->inflight, row & 1 ? VNET_RX_CHAINS : rx.q->size / VNET_RX_PAGES);
	}
	/* A large one, which no answer of one frame would hold: it comes, and its pages are replaced. */
	for (unsigned i = 0; i < 40; i++) {
		uint64_t before = atomic_load(&v->dev.rx_bytes);
		unsigned n = make_ping(65000);

		receive(n);
		interrupt_and_wait();
		HOST_CHECK_EQ(atomic_load(&v->dev.rx_bytes) - before, n - sizeof(struct virtio_net_hdr));
		for (int id; (id = take(&tx)) >= 0;)
			give(&tx, (uint32_t)id, 0, 1);
	}
	HOST_CHECK(!broken_because);
	give(&rx, (uint32_t)take(&rx), VNET_RX_PAGES * PAGE_SIZE + 1, 1);
	interrupt_and_wait();
	HOST_CHECK(broken_because);
}

/* A device that asks for a reset is not used any more, and programs see that the link is gone. */
static void reset_body(void)
{
	begin();
	ping(10);
	status |= VIRTIO_STATUS_NEEDS_RESET;
	vectors[0].fn(vectors[0].arg);
	thread_sleep_until(clock_ns() + 50 * NSEC_PER_MSEC, false);
	HOST_CHECK(broken_because);
	HOST_CHECK(!atomic_load(&v->dev.carrier));
}

/* The link goes and comes; a migration: who is on it is told, and the device that they were. */
static void announce_body(void)
{
	struct side ctrl = { .q = NULL };
	static uint8_t b[2000];
	unsigned told = 0;
	int id;

	offered = VIRTIO_F_VERSION_1 | VNET_F_MAC | VNET_F_MRG_RXBUF | VNET_F_STATUS | VNET_F_CTRL_VQ |
		  VNET_F_GUEST_ANNOUNCE;
	config[CONFIG_STATUS] = STATUS_LINK_UP;
	begin();
	ctrl.q = &v->ctrl;
	config[CONFIG_STATUS] = 0;
	vectors[0].fn(vectors[0].arg);
	thread_sleep_until(clock_ns() + 50 * NSEC_PER_MSEC, false);
	HOST_CHECK(!atomic_load(&v->dev.carrier));
	while ((id = take(&tx)) >= 0)
		give(&tx, (uint32_t)id, 0, 1);
	config[CONFIG_STATUS] = STATUS_LINK_UP | STATUS_ANNOUNCE;
	vectors[0].fn(vectors[0].arg);
	for (unsigned i = 0; i < 100 && (id = take(&ctrl)) < 0; i++)
		thread_sleep_until(clock_ns() + 5 * NSEC_PER_MSEC, false);
	HOST_CHECK(id >= 0);
	HOST_CHECK_EQ(read_chain(&ctrl, (unsigned)id, b), 3);
	HOST_CHECK_EQ(b[0], CTRL_ANNOUNCE);
	HOST_CHECK_EQ(b[1], CTRL_ANNOUNCE_ACK);
	*((uint8_t *)guest(ctrl.q->desc[ctrl.q->desc[id].next].addr)) = 0;
	config[CONFIG_STATUS] = STATUS_LINK_UP;
	give(&ctrl, (uint32_t)id, 1, 1);
	thread_sleep_until(clock_ns() + 50 * NSEC_PER_MSEC, false);
	HOST_CHECK(atomic_load(&v->dev.carrier));
	while ((id = take(&tx)) >= 0) {
		const uint8_t *arp = b + sizeof(struct virtio_net_hdr) + ETHER_HEADER;

		read_chain(&tx, (unsigned)id, b);
		told += get_be16(arp - 2) == ETHER_ARP && !memcmp(arp + 14, arp + 24, 4) && arp[14] == 10;
		give(&tx, (uint32_t)id, 0, 1);
	}
	HOST_CHECK(told >= 2); /* once for the link, once for the migration */
	HOST_CHECK(!v->ctrl_dead);
	HOST_CHECK(!broken_because);
}

/* A control queue that never answers costs a bounded time; one pair of queues works without it. */
static void silent_body(void)
{
	uint16_t pairs = 4;
	uint64_t start = clock_ns();

	offered = VIRTIO_F_VERSION_1 | VNET_F_MAC | VNET_F_CTRL_VQ | VNET_F_CTRL_RX | VNET_F_MQ |
		  VNET_F_MRG_RXBUF;
	memcpy(config + 8, &pairs, 2);
	begin();
	HOST_CHECK(clock_ns() - start < 30 * NSEC_PER_SEC);
	HOST_CHECK_EQ(v->nr_pairs, 1);
	HOST_CHECK(v->ctrl_dead);
	ping(200);
	HOST_CHECK(!broken_because);
}

static _Atomic bool sending;

static void send_one(void *arg)
{
	struct pbuf *p = pbuf_alloc(PBUF_RESERVE);

	pbuf_put(p, 60);
	p->dev = &v->dev;
	atomic_store(&sending, true);
	v->dev.start(&v->dev, p);
}

/* Who waits for the queue when the device breaks leaves nothing in it. */
static void late_sender_body(void)
{
	struct vnet_queue *q;
	uint64_t dropped, until;
	unsigned inflight;

	begin();
	q = &v->queues[0];
	dropped = atomic_load(&v->dev.tx_dropped);
	inflight = q->tx.inflight;
	spin_lock(&q->tx_lock);
	t_go(send_one, NULL);
	while (!atomic_load(&sending))
		cpu_relax();
	for (until = clock_ns() + 20 * NSEC_PER_MSEC; clock_ns() < until;)
		cpu_relax();
	virtio_broken(&v->vd, "the test says so");
	spin_unlock(&q->tx_lock);
	t_wait();
	HOST_CHECK_EQ(q->backlog.count, 0);
	HOST_CHECK_EQ(q->tx.inflight, inflight);
	HOST_CHECK_EQ(atomic_load(&v->dev.tx_dropped), dropped + 1);
}

static void test_honest(void **state)
{
	assert_int_equal(host_run(2, honest_body), 0);
}
static void test_lies(void **state)
{
	for (row = 0; row < ARRAY_SIZE(lies); row++) {
		if (host_run(1, lie_body))
			fail_msg("not survived: %s", lies[row].what);
	}
}
static void test_late_sender(void **state)
{
	assert_int_equal(host_run(2, late_sender_body), 0);
}
static void test_chains(void **state)
{
	for (row = 0; row < 2; row++)
		assert_int_equal(host_run(1, chains_body), 0);
}
static void test_needs_reset(void **state)
{
	assert_int_equal(host_run(1, reset_body), 0);
}
static void test_announce(void **state)
{
	assert_int_equal(host_run(1, announce_body), 0);
}
static void test_silent_control_queue(void **state)
{
	assert_int_equal(host_run(4, silent_body), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_honest),
		cmocka_unit_test(test_lies), cmocka_unit_test(test_late_sender),
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_needs_reset),
		cmocka_unit_test(test_announce),
		cmocka_unit_test(test_silent_control_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
