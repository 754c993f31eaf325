/* SPDX-License-Identifier: MIT */
/*
 * virtio network devices, receiving: page-size buffers, several to a packet where
 * the device merges them; else chains of pages for the largest packet it may send.
 *
 * Payload goes up by reference: the headers are copied into the packet's head
 * exactly up to the payload.  Small payloads are copied into a page that they
 * share, and their buffer goes straight back into the ring.
 *
 * Everything here is the queue's thread's; nothing is locked.
 */
#include "drivers/virtio_net.h"
#include "kernel/errno.h"
#include "mm/slab.h"

#define COPY_MAX 256u /* payload up to this is copied */

int vnet_rx_init(struct vnet_queue *q)
{
	if (q->v->rx_pages == 1)
		return 0;
	q->chains = kzalloc(VNET_RX_CHAINS * sizeof(*q->chains), GFP_KERNEL);
	if (!q->chains)
		return -ENOMEM;
	for (unsigned i = 0; i < VNET_RX_CHAINS; i++) {
		q->chains[i].next = q->free_chains;
		q->free_chains = &q->chains[i];
	}
	return 0;
}

/* Puts a page into the ring, which has room. */
static void rx_post(struct vnet_queue *q, struct page *page)
{
	struct virtq_part part = { page_virt(page), PAGE_SIZE };

	if (virtq_add(&q->rx, &part, 0, 1, page))
		page_put(page);
}

/* A page that the packet does not need: back into the ring, at once or with others. */
static void rx_recycle(struct vnet_queue *q, struct page *page)
{
	if (q->v->rx_pages == 1)
		rx_post(q, page);
	else if (q->nr_spare < VNET_RX_PAGES)
		q->spare[q->nr_spare++] = page;
	else
		page_put(page);
}

static struct page *rx_page(struct vnet_queue *q)
{
	if (q->nr_spare)
		return q->spare[--q->nr_spare];
	return page_alloc(0, PAGE_NET, GFP_ATOMIC | GFP_NOWARN);
}

/* One chain, made whole again, goes into the ring.  False: no room, no memory. */
static bool rx_post_chain(struct vnet_queue *q)
{
	struct virtq_part parts[VNET_RX_PAGES];
	struct vnet_chain *c = q->free_chains;
	unsigned n = q->v->rx_pages;

	if (!c || !virtq_room(&q->rx, n))
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (!c->pages[i])
			c->pages[i] = rx_page(q);
		if (!c->pages[i])
			return false;
		parts[i].addr = page_virt(c->pages[i]);
		parts[i].len = PAGE_SIZE;
	}
	if (virtq_add(&q->rx, parts, 0, n, c))
		return false;
	q->free_chains = c->next;
	return true;
}

/* What can't be had now is tried for after the next packet; the thread looks from time to time. */
void vnet_rx_refill(struct vnet_queue *q)
{
	if (q->v->rx_pages > 1) {
		while (rx_post_chain(q))
			;
	} else {
		while (virtq_room(&q->rx, 1)) {
			struct page *page = rx_page(q);

			if (!page)
				break;
			rx_post(q, page);
		}
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
		rx_recycle(q, pages[0]);
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
		rx_recycle(q, pages[i]);
	return NULL;
}

/*
 * The pages of the next packet and the bytes in each, headers included; 0: none, or
 * the device lied.
 */
static unsigned rx_take(struct vnet_queue *q, struct page **pages, uint32_t *lens)
{
	const struct virtio_net_hdr *h;
	unsigned n = 1, i;

	pages[0] = virtq_get(&q->rx, &lens[0]);
	if (!pages[0])
		return 0;
	h = page_virt(pages[0]);
	if (q->v->merge)
		n = h->num_buffers;
	if (lens[0] < sizeof(*h) || !n || n > PDATA_FRAGS) {
		virtio_broken(&q->v->vd, "received packet without a proper header");
		page_put(pages[0]);
		return 0;
	}
	for (i = 1; i < n; i++) {
		pages[i] = virtq_get(&q->rx, &lens[i]);
		if (!pages[i]) {
			virtio_broken(&q->v->vd,
				      "received packet in fewer buffers than its header says");
			while (i--)
				page_put(pages[i]);
			return 0;
		}
	}
	return n;
}

/* The same where each buffer is a chain of pages, for a device that does not merge. */
static unsigned rx_take_chain(struct vnet_queue *q, struct page **pages, uint32_t *lens)
{
	unsigned n = 0;
	uint32_t len;
	struct vnet_chain *c = virtq_get(&q->rx, &len);

	if (!c)
		return 0;
	c->next = q->free_chains;
	q->free_chains = c;
	if (len < sizeof(struct virtio_net_hdr)) {
		virtio_broken(&q->v->vd, "received packet without a proper header");
		return 0;
	}
	for (; len; n++) { /* at most the chain's bytes: virtq_get() has looked */
		pages[n] = c->pages[n];
		c->pages[n] = NULL;
		lens[n] = min(len, (uint32_t)PAGE_SIZE);
		len -= lens[n];
	}
	return n;
}

bool vnet_rx_one(struct vnet_queue *q)
{
	struct page *pages[PDATA_FRAGS];
	uint32_t lens[PDATA_FRAGS];
	unsigned n = q->v->rx_pages > 1 ? rx_take_chain(q, pages, lens) : rx_take(q, pages, lens);
	struct pbuf *p;

	if (!n)
		return false;
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
