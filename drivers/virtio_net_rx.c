/* SPDX-License-Identifier: MIT */
/*
 * virtio network devices, receiving: page-size buffers, several to a packet where
 * the device merges them.
 *
 * Payload goes up by reference: the headers are copied into the packet's head
 * exactly up to the payload.  Small payloads are copied into a page that they
 * share, and their buffer goes straight back into the ring.
 *
 * Everything here is the queue's thread's; nothing is locked.
 */
#include "drivers/virtio_net.h"
#include "kernel/log.h"

#define COPY_MAX 256u /* payload up to this is copied */

/* Puts fresh or recycled pages into the receive ring. */
static void rx_post(struct vnet_queue *q, struct page *page)
{
	struct virtq_part part = { page_virt(page), PAGE_SIZE };

	if (virtq_add(&q->rx, &part, 0, 1, page))
		page_put(page);
}

void vnet_rx_refill(struct vnet_queue *q)
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
	unsigned gso_type = h->gso_type, gso_size = h->gso_size;
	struct pbuf *p;

	for (i = 1; i < n; i++)
		total += lens[i];
	p = ether_rx_head(&q->v->dev, (uint8_t *)first + sizeof(*h), avail, total);
	if (!p)
		goto recycle;
	if (h->flags & (HDR_NEEDS_CSUM | HDR_DATA_VALID))
		p->flags |= PB_CSUM_OK;
	if (h->flags & HDR_NEEDS_CSUM) /* made on this machine and not completed */
		p->flags |= PB_CSUM_STALE;
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
	if (gso_type && gso_size)
		p->segs = (p->len + gso_size - 1) / gso_size;
	return p;
drop:
	pbuf_free(p);
recycle:
	atomic_fetch_add_explicit(&q->v->dev.rx_dropped, 1, memory_order_relaxed);
	for (i = 0; i < n; i++)
		rx_post(q, pages[i]);
	return NULL;
}

bool vnet_rx_one(struct vnet_queue *q)
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
		/*
		 * Alone in its burst it is not worth a look; nor is what the device has
		 * merged, but it does not overtake what is held.
		 */
		if (!p->segs && (q->gro.nr || virtq_more(&q->rx))) {
			gro_receive(&q->gro, p);
		} else {
			gro_flush(&q->gro);
			ether_rx(p);
		}
	}
	return true;
}
