/* SPDX-License-Identifier: MIT */
/*
 * The virtio network driver with a device that does what the input says: it writes any
 * bytes of any length into buffers that it was given or was not, moves indices, answers
 * late, twice or never, while the stack behind receives and sends.
 *
 * The driver must stay within its buffers, must stop for good once it has called the
 * device broken, and when the ring is taken apart nothing may be left.
 *
 * Input: features, then operations.
 *
 * SOURCES: @net drivers/virtio_ring.c drivers/virtio_net_queue.c drivers/virtio_net_rx.c drivers/virtio_net_tx.c drivers/virtio_net_ctrl.c tests/fuzz/fix.c tests/fuzz/leak.c
 */
#include "tests/host/net_stub.h"
#include "drivers/virtio_net.h"
#include "tests/fuzz/fuzz.h"

#define OPS_MAX 200
#define SIZE    16 /* entries of a ring: soon full, soon around */

/* ---- registers: memory ---- */

static char common[64], notify[64], config[64];

uint8_t virtio_status(struct virtio_device *d)
{
	return (uint8_t)config[60];
}
int virtio_vector(struct virtio_device *d, unsigned entry, unsigned cpu, void (*fn)(void *), void *arg,
		  const char *name)
{
	return 0;
}
uint16_t virtio_config16(struct virtio_device *d, unsigned off)
{
	uint16_t v;

	memcpy(&v, config + off, 2);
	return v;
}
void virtio_broken(struct virtio_device *d, const char *why)
{
	atomic_store(&d->broken, true);
}

/* ---- the device ---- */

static struct vnet v;
static struct vnet_queue q;
static const uint8_t us[4] = { 10, 0, 0, 1 }, them[4] = { 10, 0, 0, 2 };

struct side {
	struct virtq *q;
	uint16_t next, used; /* available entry to take, used index */
	uint16_t taken[SIZE];
	unsigned nr;         /* taken and not given back */
};
static struct side rx, tx;

static void *guest(uint64_t phys)
{
	return (char *)pfn_to_virt(phys >> PAGE_SHIFT) + (phys & (PAGE_SIZE - 1));
}

/* Takes what the driver has made available. */
static void take(struct side *s)
{
	while (s->next != atomic_load(&s->q->avail->idx)) {
		uint16_t id = s->q->avail->ring[s->next++ & (s->q->size - 1)];

		MUST(id < s->q->size);
		if (s->nr < SIZE) /* after a lie it may believe to hold what it has given back */
			s->taken[s->nr++] = id;
	}
}

static void give(struct side *s, uint32_t id, uint32_t len, unsigned step)
{
	s->q->used->ring[s->used & (s->q->size - 1)].id = id;
	s->q->used->ring[s->used & (s->q->size - 1)].len = len;
	s->used += (uint16_t)step;
	atomic_store(&s->q->used->idx, s->used);
}

/* The buffer that it holds as the @i-th; false: none. */
static bool hold(struct side *s, unsigned i, uint16_t *id)
{
	take(s);
	if (!s->nr)
		return false;
	i %= s->nr;
	*id = s->taken[i];
	s->taken[i] = s->taken[--s->nr];
	return true;
}

/* Bytes that the device reads must be the driver's: address and undefined-behaviour sanitizers look. */
static void read_chain(uint16_t id)
{
	static uint8_t to[80000];
	struct vring_desc *d = &q.tx.desc[id];
	unsigned n = 0, parts = 0;

	if (d->flags & 4)
		d = guest(d->addr);
	for (;;) {
		MUST(++parts <= VIRTQ_PARTS && n + d->len <= sizeof(to) && !(d->flags & 2));
		memcpy(to + n, guest(d->addr), d->len);
		n += d->len;
		if (!(d->flags & 1))
			break;
		MUST(d->next < q.tx.size || (q.tx.desc[id].flags & 4));
		d = q.tx.desc[id].flags & 4 ? (struct vring_desc *)guest(q.tx.desc[id].addr) + d->next :
					     &q.tx.desc[d->next];
	}
	MUST(n >= sizeof(struct virtio_net_hdr) + ETHER_HEADER);
}

/* Fills the buffer at @id as far as it goes. */
static unsigned write_chain(uint16_t id, const uint8_t *from, unsigned n)
{
	struct vring_desc *table = q.rx.desc, *d = &q.rx.desc[id];
	unsigned done = 0, parts = 0;

	if (d->flags & 4)
		d = table = guest(d->addr);
	for (;;) {
		unsigned part = min(n - done, d->len);

		MUST(++parts <= VIRTQ_PARTS && (d->flags & 2));
		memcpy(guest(d->addr), from + done, part);
		done += part;
		if (!(d->flags & 1))
			return done;
		MUST(d->next < max(q.rx.size, VIRTQ_PARTS));
		d = &table[d->next];
	}
}

/* A frame in as many buffers as it takes; the header in front is the input's, its count right or not. */
static void receive(struct fuzz_in *in, uint8_t how)
{
	static uint8_t frame[70000];
	unsigned len = fz_u16(in) % (how & 64 ? 66000u : 1600u), at = 0, n;
	struct virtio_net_hdr h = { .flags = fz_u8(in) };
	size_t given;
	const uint8_t *bytes = fz_bytes(in, min(len, 200u), &given);
	uint16_t id;

	memset(frame, 0, sizeof(h) + len);
	n = (unsigned)sizeof(h) + len;
	h.num_buffers = (uint16_t)((n + PAGE_SIZE - 1) / PAGE_SIZE + (how & 16 ? fz_u16(in) : 0));
	memcpy(frame, &h, sizeof(h));
	memcpy(frame + sizeof(h), bytes, given);
	if (how & 32 && len >= ETHER_HEADER + 20) { /* for us, and good enough to come far */
		uint8_t *e = frame + sizeof(h), *ip = e + ETHER_HEADER;

		memcpy(e, v.dev.mac, 6);
		put_be16(e + 12, ETHER_IPV4);
		ip[0] = 0x45;
		put_be16(ip + 6, 0);
		memcpy(ip + 12, them, 4);
		memcpy(ip + 16, us, 4);
		fuzz_fix_packet(ip, len - ETHER_HEADER);
	}
	do {
		unsigned part;

		if (!hold(&rx, 0, &id))
			return;
		part = write_chain(id, frame + at, n - at);
		give(&rx, id, part, 1);
		at += part;
	} while (at < n);
}

/* ---- one input ---- */

static void lie(struct fuzz_in *in, struct side *s)
{
	uint8_t how = fz_u8(in);
	uint16_t id = 0;

	switch (how % 6) {
	case 0: /* any entry */
		give(s, fz_u32(in), fz_u32(in), 1);
		break;
	case 1: /* a number that is in range */
		give(s, fz_u8(in) % SIZE, fz_u16(in), 1);
		break;
	case 2: /* the index moves alone */
		give(s, fz_u8(in), fz_u8(in), fz_u16(in));
		break;
	case 3: /* a right buffer, any length */
		if (hold(s, fz_u8(in), &id))
			give(s, id, fz_u32(in), 1);
		break;
	case 4: /* the fields that ask for kicks */
		atomic_store(s->q->avail_event, fz_u16(in));
		atomic_store(&s->q->used->flags, fz_u16(in));
		break;
	case 5: /* the same twice */
		if (hold(s, fz_u8(in), &id)) {
			give(s, id, how, 1);
			give(s, id, how, 1);
		}
		break;
	}
}

static void send_some(struct sock *s, struct fuzz_in *in)
{
	static uint8_t buf[60000];
	unsigned n = fz_u8(in), len = fz_u16(in) % sizeof(buf);

	for (unsigned i = 0; i <= n % 40; i++)
		t_send(s, buf, len, MSG_DONTWAIT);
}

static void drive(void)
{
	uint64_t before = atomic_load(&v.dev.rx_packets);
	bool broken = atomic_load(&v.vd.broken);

	for (unsigned i = 0; i < 64 && vnet_rx_one(&q); i++)
		;
	gro_flush(&q.gro);
	vnet_rx_refill(&q);
	vnet_tx_service(&q);
	virtq_arm(&q.rx, 0);
	MUST(!broken || atomic_load(&v.dev.rx_packets) == before);
	MUST(v.rx_pages > 1 || q.rx.inflight + q.rx.nr_free == q.rx.size);
	MUST(q.rx.inflight <= q.rx.size && q.tx.inflight <= q.tx.size);
}

static void step(struct fuzz_in *in, struct sock *s)
{
	uint8_t op = fz_u8(in);
	uint16_t id;

	switch (op % 16) {
	case 0 ... 4:
		receive(in, op);
		break;
	case 5:
	case 6:
		drive();
		break;
	case 7:
	case 8:
		send_some(s, in);
		break;
	case 9 ... 11: /* what was sent is done, in any order */
		for (unsigned i = 0; i <= op / 16u; i++) {
			if (hold(&tx, op & 64 ? fz_u8(in) : 0, &id)) {
				read_chain(id);
				give(&tx, id, 0, 1);
			}
		}
		break;
	case 12:
		lie(in, &rx);
		break;
	case 13:
		lie(in, &tx);
		break;
	case 14: /* configuration changes: link, and a wish for a reset */
		config[6] = (char)fz_u8(in);
		config[60] = (char)(op & 128 ? fz_u8(in) : 0);
		vnet_config_work(&v.config_work);
		break;
	case 15:
		fz_sleep(fz_u8(in) * 10u);
		break;
	}
}

static void begin(uint64_t features)
{
	uint16_t size = SIZE;

	memset(&q, 0, sizeof(q));
	memset(common, 0, sizeof(common));
	memset(config, 0, sizeof(config));
	memcpy(common + 24, &size, 2);
	config[6] = 1;
	atomic_store(&v.vd.broken, false);
	atomic_store(&v.dev.carrier, true);
	v.vd.features = features;
	v.merge = features & VNET_F_MRG_RXBUF;
	v.rx_pages = v.merge ? 1 : 2;
	v.dev.features = (features & VNET_F_CSUM ? NETDEV_CSUM : 0) | (features & VNET_F_HOST_TSO4 ? NETDEV_TSO4 : 0);
	MUST(vnet_queue_init(&v, 0) == 0);
	rx = (struct side){ .q = &q.rx };
	tx = (struct side){ .q = &q.tx };
	vnet_rx_refill(&q);
}

/* What the driver holds for the device is given back, as after a reset. */
static void end(void)
{
	void *token;

	atomic_store(&v.vd.broken, true);
	atomic_store(&v.dev.carrier, false); /* nothing new is sent */
	vnet_tx_abandon(&q);
	timer_cancel_sync(&q.collect);
	while ((token = virtq_take(&q.rx))) {
		if (v.rx_pages == 1)
			page_put(token);
	}
	for (unsigned i = 0; q.chains && i < VNET_RX_CHAINS; i++) {
		for (unsigned k = 0; k < VNET_RX_PAGES; k++) {
			if (q.chains[i].pages[k])
				page_put(q.chains[i].pages[k]);
		}
	}
	while (q.nr_spare)
		page_put(q.spare[--q.nr_spare]);
	if (q.small)
		page_put(q.small);
	virtq_free(&q.rx);
	virtq_free(&q.tx);
	kfree(q.slots);
	kfree(q.chains);
}

static void one_input(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	uint8_t f = fz_u8(&in);
	struct ip_addr to = addr_from_v4(them);
	struct sock *s = udp_create(AF_INET);
	union sockaddr_any a;
	unsigned len = addr_export(AF_INET, &to, 9, &a);

	MUST(!IS_ERR(s));
	begin(VIRTIO_F_VERSION_1 | VNET_F_STATUS | (f & 1 ? VIRTIO_F_INDIRECT_DESC : 0) |
	      (f & 2 ? VIRTIO_F_EVENT_IDX : 0) | (f & 4 ? VNET_F_MRG_RXBUF : 0) |
	      (f & 8 ? VNET_F_CSUM | VNET_F_HOST_TSO4 : 0));
	MUST(s->ops->connect(s, &a, len, false) == 0);
	for (unsigned i = 0; i < OPS_MAX && in.n; i++)
		step(&in, s);
	drive();
	t_close(s);
	end();
	for (unsigned i = 0; i < 100 && (atomic_load(&stub_pages) || atomic_load(&stub_bytes)); i++)
		fz_sleep(10000);
	MUST(atomic_load(&stub_pages) == 0 && atomic_load(&stub_bytes) == 0);
}

static uint64_t net_pages(void)
{
	struct page_stats s;

	page_stats(&s);
	return s.kind[PAGE_NET];
}

void fuzz_setup(void)
{
	struct ip_addr a = addr_from_v4(us), peer = addr_from_v4(them);

	page_alloc_init_percpu();
	t_init();
	v.queues = &q;
	v.nr_pairs = 1;
	v.vd.common = common;
	v.vd.notify = notify;
	v.vd.config = config;
	v.vd.notify_len = sizeof(notify);
	v.vd.config_len = sizeof(config);
	work_init(&v.config_work, vnet_config_work);
	v.dev.name = "eth0";
	v.dev.mtu = 1500;
	v.dev.start = vnet_tx_start;
	v.dev.start_many = vnet_tx_start_many;
	v.dev.priv = &v;
	memcpy(v.dev.mac, "\2\0\0\0\0\1", 6);
	begin(VIRTIO_F_VERSION_1);
	ether_register(&v.dev);
	v.dev.up = true;
	ifaddr_add(&v.dev, &a, 120);
	MUST(neigh_set(&v.dev, &peer, (const uint8_t *)"\2\0\0\0\0\2", true, true) == 0);
	fz_sleep(20000);
	end();
	one_input((const uint8_t *)"", 0);
	fuzz_objects_note();
}

/* Neighbours and paths that frames tell of are remembered, within bounds. */
static const char *const kept[] = { "pmtu", "neigh", NULL };

void fuzz_one(const uint8_t *data, size_t size)
{
	one_input(data, size);
	fuzz_objects_must_be_back(kept);
	for (unsigned i = 0; i < 100 && net_pages(); i++) /* fragments wait for their like */
		fz_sleep(10000);
	MUST(net_pages() == 0);
}
