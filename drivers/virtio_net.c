/* SPDX-License-Identifier: MIT */
/*
 * virtio network devices (virtio 1.2, section 5.1).
 *
 * What:      one pair of queues per CPU as far as device and vectors go.  Each
 *            pair has one MSI-X vector and one kernel thread on its CPU; the
 *            interrupt handler only wakes the thread, which takes packets in
 *            until there are none and then asks for the next interrupt.
 * Receive:   page-size buffers, merged by the device; payload goes up by
 *            reference, small payloads are copied so that they share a page.
 * Transmit:  by the sender's thread, under the queue's lock, the queue chosen by
 *            flow so that packets of a connection stay in order (pbuf.home).  Headers are
 *            copied into the queue's slots, payload is referenced until the
 *            device is done with it.  Finished buffers are collected lazily;
 *            packets that find no room wait in a bounded backlog.
 * Locks:     tx_lock protects tx, slots and backlog.  rx belongs to the thread.
 */
#include "drivers/virtio.h"
#include "drivers/virtio_net.h"
#include "kernel/errno.h"
#include "kernel/lock.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "mm/slab.h"

#define QUEUE_SIZE  256u
#define RX_BUDGET   64   /* packets between two chances for other threads */
#define TX_BACKLOG  4096 /* packets that wait for room; their payload is charged to who sent it */
#define COPY_MAX    256u /* payload up to this is copied */

static unsigned max_pairs = 1024;
PARAM_UINT("net.queues", max_pairs, 1, 1024, PARAM_RO,
	   "queue pairs of a virtio network device, at most");
static bool no_event, no_offload;
PARAM_BOOL("net.noevent", no_event, PARAM_RO, "virtio network: do without event indices");
PARAM_BOOL("net.nooffload", no_offload, PARAM_RO,
	   "virtio network: checksums and segments in software");

static void interrupt_handler(void *arg)
{
	struct vnet_queue *q = arg;
	struct thread *t = atomic_load_explicit(&q->thread, memory_order_acquire);

	if (t)
		thread_wake(t);
}

/* Puts fresh or recycled pages into the receive ring. */
static void rx_post(struct vnet_queue *q, struct page *page)
{
	struct virtq_part part = { page_virt(page), PAGE_SIZE };

	if (virtq_add(&q->rx, &part, 0, 1, page))
		page_put(page);
}

static void rx_refill(struct vnet_queue *q)
{
	while (virtq_room(&q->rx, 1)) {
		struct page *page = page_alloc(0, PAGE_NET, GFP_ATOMIC | GFP_NOWARN);

		if (!page)
			break; /* the next packet tries again; the thread looks from time to time */
		rx_post(q, page);
	}
	virtq_kick(&q->rx);
}

/* A pdata with a copy of a few bytes, in a page shared by several packets; NULL. */
static struct pdata *rx_copy(struct vnet_queue *q, const void *bytes, unsigned n)
{
	struct pdata *d;

	if (!q->small || q->small_off + n > PAGE_SIZE) {
		if (q->small)
			page_put(q->small);
		q->small = page_alloc(0, PAGE_NET, GFP_ATOMIC | GFP_NOWARN);
		q->small_off = 0;
		if (!q->small)
			return NULL;
	}
	d = pdata_alloc();
	if (!d)
		return NULL;
	memcpy((char *)page_virt(q->small) + q->small_off, bytes, n);
	pdata_add(d, q->small, q->small_off, n);
	q->small_off += ALIGN_UP(n, TRUESIZE_ROUND);
	return d;
}

/* Builds the packet from its buffers; pages not used any more go back into the ring. */
static struct pbuf *rx_build(struct vnet_queue *q, struct page **pages, const uint32_t *lens,
			     unsigned n)
{
	char *first = page_virt(pages[0]);
	const struct virtio_net_hdr *h = (const void *)first;
	unsigned avail = lens[0] - sizeof(*h), total = avail, at, i;
	struct pbuf *p;

	for (i = 1; i < n; i++)
		total += lens[i];
	p = ether_rx_head(&q->v->dev, (uint8_t *)first + sizeof(*h), avail, total);
	if (!p)
		goto recycle;
	if (h->flags & (HDR_NEEDS_CSUM | HDR_DATA_VALID))
		p->flags |= PB_CSUM_OK;
	at = sizeof(*h) + ETHER_HEADER + p->end - p->start;
	if (n == 1 && lens[0] - at <= COPY_MAX) {
		if (lens[0] > at) {
			p->data = rx_copy(q, first + at, lens[0] - at);
			if (!p->data)
				goto drop;
			p->len = lens[0] - at;
		}
		rx_post(q, pages[0]);
		return p;
	}
	p->data = pdata_alloc();
	if (!p->data)
		goto drop;
	for (i = 0; i < n; i++) {
		unsigned off = i ? 0 : at;

		if (lens[i] > off)
			pdata_add(p->data, pages[i], off, lens[i] - off);
		page_put(pages[i]);
	}
	p->len = p->data->len;
	return p;
drop:
	pbuf_free(p);
recycle:
	atomic_fetch_add_explicit(&q->v->dev.rx_dropped, 1, memory_order_relaxed);
	for (i = 0; i < n; i++)
		rx_post(q, pages[i]);
	return NULL;
}

/* Return: false when the ring is empty (or the device lied). */
static bool rx_one(struct vnet_queue *q)
{
	struct page *pages[PDATA_FRAGS];
	uint32_t lens[PDATA_FRAGS];
	const struct virtio_net_hdr *h;
	unsigned n = 1, i;
	struct pbuf *p;

	pages[0] = virtq_get(&q->rx, &lens[0]);
	if (!pages[0])
		return false;
	h = page_virt(pages[0]);
	if (q->v->merge)
		n = h->num_buffers;
	if (lens[0] < sizeof(*h) || !n || n > PDATA_FRAGS) {
		virtio_broken(&q->v->vd, "received packet without a proper header");
		page_put(pages[0]);
		return false;
	}
	for (i = 1; i < n; i++) {
		pages[i] = virtq_get(&q->rx, &lens[i]);
		if (!pages[i]) {
			virtio_broken(&q->v->vd,
				      "received packet in fewer buffers than its header says");
			while (i--)
				page_put(pages[i]);
			return false;
		}
	}
	p = rx_build(q, pages, lens, n);
	if (p) {
		atomic_fetch_add_explicit(&q->v->dev.rx_packets, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&q->v->dev.rx_bytes,
					  p->end - p->start + p->len + ETHER_HEADER,
					  memory_order_relaxed);
		ether_rx(p);
	}
	return true;
}

/* tx_lock held: what the device has sent. */
static void tx_reclaim(struct vnet_queue *q)
{
	struct vnet_slot *s;
	uint32_t len;

	while ((s = virtq_get(&q->tx, &len))) {
		pdata_put(s->data);
		s->data = NULL;
		s->next = q->free;
		q->free = s;
	}
}

/* tx_lock held.  Return: false without room; the packet is untouched then. */
static bool tx_put(struct vnet_queue *q, struct pbuf *p)
{
	struct virtq_part parts[1 + PDATA_FRAGS];
	unsigned n = 1, head = p->end - p->start;
	struct vnet_slot *s = q->free;
	struct virtio_net_hdr *h;
	uint32_t off = p->off, left = p->len;

	if (!s)
		return false;
	h = (struct virtio_net_hdr *)s->head;
	for (unsigned i = 0; p->data && i < p->data->nr && left; i++) {
		const struct frag *f = &p->data->frags[i];

		if (off >= f->len) {
			off -= f->len;
			continue;
		}
		parts[n].addr = (char *)page_virt(f->page) + f->off + off;
		parts[n].len = min(f->len - off, left);
		left -= parts[n++].len;
		off = 0;
	}
	memset(h, 0, sizeof(*h));
	if (p->flags & PB_CSUM_PARTIAL) {
		h->flags = HDR_NEEDS_CSUM;
		h->csum_start = p->th - p->start;
		h->csum_offset = p->proto == IPPROTO_TCP ? 16 : 6;
	}
	if (p->gso_size) {
		h->gso_type = addr_is_v4(&p->dst) ? GSO_TCPV4 : GSO_TCPV6;
		h->gso_size = p->gso_size;
		h->hdr_len = (uint16_t)head;
	}
	memcpy(h + 1, p->head + p->start, head);
	parts[0].addr = h;
	parts[0].len = sizeof(*h) + head;
	if (virtq_add(&q->tx, parts, n, 0, s))
		return false;
	q->free = s->next;
	s->data = p->data; /* the slot takes the reference over */
	p->data = NULL;
	atomic_fetch_add_explicit(&q->v->dev.tx_packets, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&q->v->dev.tx_bytes, head + p->len, memory_order_relaxed);
	pbuf_free(p);
	return true;
}

/* tx_lock held: moves the backlog into the ring as far as it goes. */
static void tx_push(struct vnet_queue *q)
{
	for (;;) {
		while (q->backlog.first) {
			struct pbuf *p = q->backlog.first, *next = pbuf_next(p);

			if (!tx_put(q, p))
				break;
			q->backlog.first = next;
			if (!next)
				q->backlog.last = NULL;
			q->backlog.count--;
		}
		virtq_kick(&q->tx);
		if (!q->backlog.first)
			return;
		/* Full: an interrupt when half of it is done. */
		if (virtq_arm(&q->tx, q->tx.inflight / 2))
			return;
		tx_reclaim(q);
	}
}

/*
 * A flow's queue: that of its home CPU, or one chosen by its addresses.  A tap device
 * returns what it receives for the flow on the same pair (its automatic steering).
 */
static struct vnet_queue *tx_queue(struct vnet *v, const struct pbuf *p)
{
	unsigned n = v->nr_pairs;

	if (n == 1)
		return &v->queues[0];
	if (p->home)
		return &v->queues[min((p->home - 1u) / max(nr_cpus / n, 1u), n - 1)];
	return &v->queues[ether_flow_hash(p) % n];
}

static void vnet_start(struct netdev *dev, struct pbuf *p)
{
	struct vnet *v = dev->priv;
	struct vnet_queue *q = tx_queue(v, p);

	if (unlikely(atomic_load_explicit(&v->vd.broken, memory_order_relaxed) ||
		     !atomic_load_explicit(&dev->carrier, memory_order_relaxed)))
		goto drop;
	spin_lock(&q->tx_lock);
	if (q->tx.nr_free < q->tx.size / 2)
		tx_reclaim(q);
	if (q->backlog.last && ether_grow(dev, q->backlog.last, p)) {
		tx_push(q);
		spin_unlock(&q->tx_lock);
		return;
	}
	if (q->backlog.count >= TX_BACKLOG) {
		spin_unlock(&q->tx_lock);
		goto drop;
	}
	pqueue_push(&q->backlog, p);
	tx_push(q);
	spin_unlock(&q->tx_lock);
	return;
drop:
	atomic_fetch_add_explicit(&dev->tx_dropped, 1, memory_order_relaxed);
	pbuf_free(p);
}

static void tx_service(struct vnet_queue *q)
{
	spin_lock(&q->tx_lock);
	tx_reclaim(q);
	if (q->backlog.first)
		tx_push(q);
	spin_unlock(&q->tx_lock);
}

static void vnet_thread(void *arg)
{
	struct vnet_queue *q = arg;
	struct vnet *v = q->v;

	while (!atomic_load_explicit(&v->vd.broken, memory_order_relaxed)) {
		int n = 0;

		while (n < RX_BUDGET && rx_one(q))
			n++;
		rx_refill(q);
		tx_service(q);
		if (n == RX_BUDGET) {
			cond_resched();
			continue;
		}
		thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
		if (virtq_arm(&q->rx, 0)) {
			/*
			 * An empty receive ring brings no interrupt: memory may be back a little
			 * later.
			 */
			schedule_until(q->rx.inflight ? UINT64_MAX
						      : clock_ns() + 10 * NSEC_PER_MSEC);
		}
		thread_finish_sleep();
	}
	/* The device has been reset; what it still held is memory only. */
	atomic_store_explicit(&v->dev.carrier, false, memory_order_relaxed);
	for (;;)
		thread_sleep_until(UINT64_MAX, false);
}

static void vnet_config_work(struct work *w)
{
	struct vnet *v = container_of(w, struct vnet, config_work);
	bool up = !(v->vd.features & VNET_F_STATUS) || (virtio_config16(&v->vd, 6) & 1);

	if (atomic_load_explicit(&v->vd.broken, memory_order_relaxed))
		return;
	if (virtio_status(&v->vd) & VIRTIO_STATUS_NEEDS_RESET) {
		virtio_broken(&v->vd, "it asks for a reset");
		return;
	}
	if (up == atomic_exchange_explicit(&v->dev.carrier, up, memory_order_acq_rel))
		return;
	pr_info("net: %s: link %s", v->dev.name, up ? "up" : "down");
	netdev_carrier_changed(&v->dev);
}

static void config_handler(void *arg)
{
	work_schedule(&((struct vnet *)arg)->config_work);
}

/* One command to the control queue; waits, bounded.  Return: 0, -EIO, -ETIMEDOUT. */
static int vnet_command(struct vnet *v, uint8_t class, uint8_t cmd, const void *data, unsigned n)
{
	uint64_t deadline = clock_ns() + NSEC_PER_SEC;
	uint8_t *m = v->command;
	struct virtq_part parts[3] = { { m, 2 }, { m + 2, n }, { m + 32, 1 } };
	uint32_t len;

	if (v->ctrl_dead)
		return -EIO;
	m[0] = class;
	m[1] = cmd;
	memcpy(m + 2, data, n);
	m[32] = 0xff;
	if (virtq_add(&v->ctrl, parts, 2, 1, m))
		return -EIO;
	virtq_kick(&v->ctrl);
	while (!virtq_get(&v->ctrl, &len)) {
		if (clock_ns() > deadline ||
		    atomic_load_explicit(&v->vd.broken, memory_order_relaxed)) {
			/* It may still read the command, so there is no other one. */
			v->ctrl_dead = true;
			pr_warn("net: %s: the control queue does not answer and is not used",
				v->name);
			return -ETIMEDOUT;
		}
		thread_sleep_until(clock_ns() + 50 * NSEC_PER_USEC, false);
	}
	return __atomic_load_n(&m[32], __ATOMIC_ACQUIRE) == 0 ? 0 : -EIO;
}

static int queue_init(struct vnet *v, unsigned i)
{
	struct vnet_queue *q = &v->queues[i];
	unsigned cpu = i * max(nr_cpus / v->nr_pairs, 1u) % nr_cpus, entry = i + 1;
	int err;

	q->v = v;
	q->cpu = cpu;
	spin_init(&q->tx_lock, "vnet_tx");
	snprintf(q->name, sizeof(q->name), "%s-%u", v->dev.name, i);
	err = virtio_vector(&v->vd, entry, cpu, interrupt_handler, q, q->name);
	if (err)
		return err;
	err = virtq_init(&v->vd, &q->rx, 2 * i, entry, QUEUE_SIZE, false);
	if (err)
		return err;
	err = virtq_init(&v->vd, &q->tx, 2 * i + 1, entry, QUEUE_SIZE, true);
	if (err)
		return err;
	q->slots = kmalloc(q->tx.size * sizeof(*q->slots), GFP_KERNEL);
	if (!q->slots)
		return -ENOMEM;
	for (unsigned k = 0; k < q->tx.size; k++) {
		q->slots[k].data = NULL;
		q->slots[k].next = q->free;
		q->free = &q->slots[k];
	}
	return 0;
}

/* Everything up to DRIVER_OK. */
static int vnet_setup(struct vnet *v)
{
	uint64_t want = VIRTIO_F_VERSION_1 | VIRTIO_F_INDIRECT_DESC | VNET_F_MAC | VNET_F_MTU |
			VNET_F_STATUS | VNET_F_MRG_RXBUF | VNET_F_CTRL_VQ | VNET_F_CTRL_RX |
			VNET_F_MQ;
	uint64_t offered = virtio_offered(&v->vd);
	unsigned device_pairs = 1;
	int err;

	if (!no_event)
		want |= VIRTIO_F_EVENT_IDX;
	if (!no_offload && (offered & VNET_F_CSUM))
		want |= VNET_F_CSUM | VNET_F_HOST_TSO4 | VNET_F_HOST_TSO6;
	if (!no_offload && (offered & VNET_F_GUEST_CSUM)) {
		want |= VNET_F_GUEST_CSUM;
		if (offered & VNET_F_MRG_RXBUF)
			want |= VNET_F_GUEST_TSO4 | VNET_F_GUEST_TSO6;
	}
	if (!(offered & VNET_F_CTRL_VQ))
		want &= ~(VNET_F_MQ | VNET_F_CTRL_RX);
	err = virtio_accept(&v->vd, want);
	if (err)
		return err;
	v->merge = (v->vd.features & VNET_F_MRG_RXBUF) != 0;
	if (v->vd.features & VNET_F_MQ)
		device_pairs = max(virtio_config16(&v->vd, 8), (uint16_t)1);
	v->nr_pairs = min(min(device_pairs, max_pairs), nr_cpus);
	if (v->vd.nr_vectors < 2) {
		pr_warn("virtio: %s: %u MSI-X vectors, at least 2 expected", v->vd.name,
			v->vd.nr_vectors);
		return -ENODEV;
	}
	v->nr_pairs = min(v->nr_pairs, v->vd.nr_vectors - 1);
	if (virtio_vector(&v->vd, 0, 0, config_handler, v, v->dev.name) == 0)
		virtio_config_vector(&v->vd, 0);
	v->queues = kzalloc(v->nr_pairs * sizeof(*v->queues), GFP_KERNEL);
	if (!v->queues)
		return -ENOMEM;
	for (unsigned i = 0; i < v->nr_pairs; i++) {
		err = queue_init(v, i);
		if (err && i == 0)
			return err;
		if (err) {
			v->nr_pairs = i;
			break;
		}
	}
	if (v->vd.features & VNET_F_CTRL_VQ) {
		err = virtq_init(&v->vd, &v->ctrl, 2 * device_pairs, VIRTIO_NO_VECTOR, 16, false);
		if (err)
			return err;
	}
	virtio_add_status(&v->vd, VIRTIO_STATUS_DRIVER_OK);
	return 0;
}

static void vnet_describe(struct vnet *v)
{
	struct netdev *d = &v->dev;
	uint64_t f = v->vd.features;

	if (f & VNET_F_MAC) {
		for (unsigned i = 0; i < 6; i++)
			d->mac[i] = virtio_config8(&v->vd, i);
	} else {
		uint32_t r = net_random();

		memcpy(d->mac + 2, &r, 4);
		d->mac[0] = 2; /* locally administered */
	}
	d->mtu = 1500;
	if ((f & VNET_F_MTU) && virtio_config16(&v->vd, 10) >= 1280)
		d->mtu = virtio_config16(&v->vd, 10);
	if (d->mtu + ETHER_HEADER + sizeof(struct virtio_net_hdr) > PAGE_SIZE && !v->merge)
		d->mtu = 1500;
	if (f & VNET_F_CSUM)
		d->features |= NETDEV_CSUM;
	if (f & VNET_F_HOST_TSO4)
		d->features |= NETDEV_TSO4;
	if (f & VNET_F_HOST_TSO6)
		d->features |= NETDEV_TSO6;
	d->start = vnet_start;
	d->priv = v;
	atomic_store_explicit(&d->carrier, !(f & VNET_F_STATUS) || (virtio_config16(&v->vd, 6) & 1),
			      memory_order_relaxed);
}

static void vnet_free(struct vnet *v)
{
	virtio_add_status(&v->vd, VIRTIO_STATUS_FAILED);
	virtio_reset(&v->vd);
	/* Interrupt handlers name v and its queues for good, so these stay. */
	for (unsigned i = 0; v->queues && i < v->nr_pairs; i++) {
		virtq_free(&v->queues[i].rx);
		virtq_free(&v->queues[i].tx);
	}
}

static void vnet_probe(const struct pci_function *f, unsigned number)
{
	struct vnet *v = kzalloc(sizeof(*v), GFP_KERNEL);
	int err;

	if (!v)
		return;
	snprintf(v->name, sizeof(v->name), "eth%u", number);
	v->dev.name = v->name;
	work_init(&v->config_work, vnet_config_work);
	err = virtio_pci_probe(&v->vd, f);
	if (!err)
		err = vnet_setup(v);
	if (err) {
		pr_warn("net: %s (virtio %s): not usable, error %d", v->name, v->vd.name, -err);
		if (v->vd.common)
			vnet_free(v);
		return;
	}
	vnet_describe(v);
	/* Only pair 0 is live before this command has been acknowledged. */
	if (v->nr_pairs > 1) {
		uint16_t n = (uint16_t)v->nr_pairs;

		if (vnet_command(v, 4, 0, &n, 2))
			v->nr_pairs = 1;
	}
	if (v->vd.features & VNET_F_CTRL_RX) {
		vnet_command(v, 0, 1, "\1", 1); /* all multicast: solicited-node groups */
		vnet_command(v, 0, 0, "\0", 1); /* not promiscuous */
	}
	for (unsigned i = 0; i < v->nr_pairs; i++) {
		struct vnet_queue *q = &v->queues[i];
		struct thread *t = thread_create(q->name, vnet_thread, q, (int)q->cpu);

		if (IS_ERR(t)) {
			/* Packets that come to this queue are lost; nobody sends on it. */
			pr_warn("net: %s: no memory for the thread of queue %u", v->name, i);
			if (!i)
				return;
			v->nr_pairs = i;
			break;
		}
		atomic_store_explicit(&q->thread, t, memory_order_release);
		rx_refill(q);
		thread_start(t);
	}
	pr_info("net: %s: virtio %s, %02x:%02x:%02x:%02x:%02x:%02x, mtu %u, %u queue "
		"pair%s,%s%s%s%s%s",
		v->name, v->vd.name, v->dev.mac[0], v->dev.mac[1], v->dev.mac[2], v->dev.mac[3],
		v->dev.mac[4], v->dev.mac[5], v->dev.mtu, v->nr_pairs, v->nr_pairs > 1 ? "s" : "",
		v->dev.features & NETDEV_CSUM ? " csum" : "",
		v->dev.features & NETDEV_TSO4 ? " tso" : "",
		v->vd.features & VNET_F_GUEST_TSO4 ? " lro" : "", v->merge ? " merge" : "",
		atomic_load_explicit(&v->dev.carrier, memory_order_relaxed) ? "" : " no link");
	ether_register(&v->dev);
}

void virtio_net_init(void)
{
	const struct pci_function *f;
	unsigned number = 0;

	for (unsigned i = 0; (f = pci_get(i)); i++) {
		if (f->vendor == 0x1af4 && (f->device == 0x1041 || f->device == 0x1000))
			vnet_probe(f, number++);
	}
}
