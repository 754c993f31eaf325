/* SPDX-License-Identifier: MIT */
/*
 * virtio network devices, sending: by the sender's thread, under the queue's lock.
 *
 * The queue is chosen by flow, so that packets of a connection stay in order
 * (pbuf.home).  Headers are copied into the queue's slots, payload is referenced
 * until the device is done with it.  Finished buffers are collected lazily, but those
 * that a datagram socket is charged for (PB_PAID) within COLLECT_NS, and all when
 * nothing is sent any more (TIDY_NS); packets that find no room wait in a bounded
 * backlog.
 */
#include "drivers/virtio_net.h"

#define TX_BACKLOG 4096 /* packets that wait for room; their payload is charged to who sent it */
#define TX_CONGESTED (TX_BACKLOG / 8) /* as many waiting make TCP reduce its windows */
#define TELL_AT_LEAST 16u /* packets that the queue's thread tells the device of late */
#define COLLECT_NS NSEC_PER_MSEC
/* pages that nobody is charged for are not kept for ever either */
#define TIDY_NS    (500 * NSEC_PER_MSEC)

/* tx_lock held: the device is done with a slot. */
static void slot_done(struct vnet_queue *q, struct vnet_slot *s)
{
	pdata_put(s->data);
	s->data = NULL;
	if (s->paid) {
		pqueue_push(&q->sent, s->paid);
		s->paid = NULL;
		q->nr_paid--;
	}
	s->next = q->free;
	q->free = s;
}

/* tx_lock held: what the device has sent. */
static void tx_reclaim(struct vnet_queue *q)
{
	struct vnet_slot *s;
	uint32_t len;

	while ((s = virtq_get(&q->tx, &len)))
		slot_done(q, s);
}

/* Lets tx_lock go, then frees what was paid for: that takes sockets' locks and wakes senders. */
static void tx_unlock(struct vnet_queue *q)
{
	struct pqueue sent = q->sent;

	q->sent = (struct pqueue){ 0 };
	spin_unlock(&q->tx_lock);
	pqueue_purge(&sent);
}

/*
 * tx_lock held, something is with the device: somebody will look whether it is done,
 * even if nothing is sent any more.
 */
static void arm_collect(struct vnet_queue *q)
{
	if (q->nr_paid && !q->collect_soon) {
		q->collect_soon = true;
		timer_set(&q->collect, clock_ns() + COLLECT_NS);
	} else if (unlikely(!timer_pending(&q->collect))) {
		timer_set(&q->collect, clock_ns() + TIDY_NS);
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
	if (likely(!(p->flags & PB_PAID))) {
		pbuf_free(p);
	} else {
		s->paid = p;
		q->nr_paid++;
	}
	arm_collect(q);
	return true;
}

/* tx_lock held: says whether much waits; less than half of it before that is over. */
static void tell_congested(struct vnet_queue *q)
{
	unsigned n = q->backlog.count;

	if (likely(!q->congested && n < TX_CONGESTED))
		return;
	if (!q->congested) {
		q->congested = true;
		atomic_fetch_add_explicit(&q->v->dev.congested, 1, memory_order_relaxed);
	} else if (n < TX_CONGESTED / 2) {
		q->congested = false;
		atomic_fetch_sub_explicit(&q->v->dev.congested, 1, memory_order_relaxed);
	}
}

/*
 * tx_lock held: moves the backlog into the ring as far as it goes.  @later: the queue's thread
 * comes by soon and tells the device.
 */
static void tx_push(struct vnet_queue *q, bool later)
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
		if (!later || q->backlog.first || virtq_untold(&q->tx) >= TELL_AT_LEAST)
			virtq_kick(&q->tx);
		else
			virtq_publish(&q->tx); /* a device that is at it sees them */
		tell_congested(q);
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

static bool is_broken(struct vnet *v)
{
	return atomic_load_explicit(&v->vd.broken, memory_order_relaxed);
}

/* tx_lock held.  False: no room to wait in, and the packet is gone. */
static bool tx_enqueue(struct netdev *dev, struct vnet_queue *q, struct pbuf *p)
{
	if (q->backlog.last && ether_grow(dev, q->backlog.last, p))
		return true;
	if (q->backlog.count >= TX_BACKLOG) {
		pbuf_free(p);
		return false;
	}
	pqueue_push(&q->backlog, p);
	return true;
}

void vnet_tx_start_many(struct netdev *dev, struct pqueue *list)
{
	struct vnet *v = dev->priv;
	struct vnet_queue *q;
	unsigned lost = 0;
	struct pbuf *p;

	if (!list->first)
		return;
	q = tx_queue(v, list->first);
	if (!atomic_load_explicit(&q->poller.asked, memory_order_relaxed))
		atomic_store_explicit(&q->poller.asked, true, memory_order_relaxed);
	spin_lock(&q->tx_lock);
	/* Under the lock: what is queued behind vnet_tx_abandon() nobody would ever free. */
	if (likely(!is_broken(v) && atomic_load_explicit(&dev->carrier, memory_order_relaxed))) {
		if (q->tx.nr_free < q->tx.size / 2)
			tx_reclaim(q);
		while ((p = pqueue_pop(list)))
			lost += !tx_enqueue(dev, q, p);
		tx_push(q, current == atomic_load_explicit(&q->thread, memory_order_relaxed) &&
				   q->batching);
	}
	spin_unlock(&q->tx_lock);
	lost += list->count;
	pqueue_purge(list);
	if (lost)
		atomic_fetch_add_explicit(&dev->tx_dropped, lost, memory_order_relaxed);
}

void vnet_tx_start(struct netdev *dev, struct pbuf *p)
{
	struct pqueue one = { 0 };

	pqueue_push(&one, p);
	vnet_tx_start_many(dev, &one);
}

void vnet_tx_service(struct vnet_queue *q)
{
	spin_lock(&q->tx_lock);
	tx_reclaim(q);
	tx_push(q, false);
	tx_unlock(q);
}

void vnet_tx_collect(struct timer *t)
{
	struct vnet_queue *q = container_of(t, struct vnet_queue, collect);

	spin_lock(&q->tx_lock);
	q->collect_soon = false;
	tx_reclaim(q);
	if (q->backlog.first)
		tx_push(q, false);
	if (q->tx.inflight && !is_broken(q->v))
		arm_collect(q);
	tx_unlock(q);
}

void vnet_tx_abandon(struct vnet_queue *q)
{
	struct pbuf *p;

	spin_lock(&q->tx_lock);
	for (unsigned i = 0; i < q->tx.size; i++) {
		if (q->slots[i].data || q->slots[i].paid)
			slot_done(q, &q->slots[i]);
	}
	while ((p = pqueue_pop(&q->backlog)))
		pqueue_push(&q->sent, p);
	tx_unlock(q);
}
