/* SPDX-License-Identifier: MIT */
/*
 * What a received packet costs, and how small ones are packed.
 *
 * A packet from a device pins the pages that the device wrote it into, however
 * few bytes of them it uses: those pages are what it is charged.  On loopback,
 * and where several packets share a page, it is each one's part (net/pbuf.h).
 *
 * When a queue has some packets in it, or the buffer would be used up, and the next
 * one would pin more than twice its bytes, the bytes are copied into a block that such
 * packets share instead: a block of 4 KiB, or of 32 KiB where much waits.  So a peer
 * that sends tiny segments to a slow reader costs what it sends, and not fifty times as
 * much.
 */
#include "net/tcp.h"

#define PACK_AFTER  8u               /* packets in the queue before copying begins */
#define PACK_ORDER  3u               /* of a large block */
/* Bytes of a packet that is worth copying: a large block, for what was merged of small ones. */
#define PACK_MAX    ((uint32_t)PAGE_SIZE << PACK_ORDER)
#define PACK_LARGE  (64u << 10)      /* queued bytes from which on blocks are large */

/* The page is nobody else's: it goes when this packet goes. */
static bool sole(const struct page *page)
{
	return atomic_load_explicit(&page->refs, memory_order_relaxed) == 1;
}

uint32_t tcp_rx_truesize(const struct tcp_sock *tp, const struct pbuf *p)
{
	uint32_t sum = pdata_truesize(p->data, p->off, p->len);

	if (tp->loopback || !p->data)
		return sum;
	for (unsigned i = 0; i < p->data->nr; i++) {
		const struct frag *f = &p->data->frags[i];

		if (sole(f->page))
			sum += ((uint32_t)PAGE_SIZE << f->page->order) -
			       min(ALIGN_UP(f->len, (uint32_t)TRUESIZE_ROUND),
				   (uint32_t)PAGE_SIZE << f->page->order);
	}
	return sum;
}

/*
 * Copies @p behind the last packet of the queue, if that is a block of such
 * copies with room.  Not if a reader is looking at it.
 */
static bool append(struct tcp_sock *tp, struct pqueue *q, const struct pbuf *p)
{
	struct pbuf *t = q->last;
	struct frag *f;

	if (!t || (tp->rx_busy && t == tp->rx_seen) || !t->data || t->data->nr != 1 ||
	    atomic_load_explicit(&t->data->refs, memory_order_acquire) != 1 ||
	    t->off + t->len != t->data->len)
		return false;
	f = &t->data->frags[0];
	if (!sole(f->page) || f->off + f->len + p->len > (uint32_t)PAGE_SIZE << f->page->order)
		return false;
	pdata_copy_out(p->data, p->off, (char *)page_virt(f->page) + f->off + f->len, p->len);
	/* The block was charged as a whole when it was made. */
	f->len += p->len;
	t->data->len += p->len;
	t->len += p->len;
	return true;
}

/* Gives @p a block of its own with room behind its bytes. */
static void begin(struct tcp_sock *tp, struct pbuf *p)
{
	bool large = p->len > PAGE_SIZE ||
		     atomic_load_explicit(&tp->rx_bytes, memory_order_relaxed) >= PACK_LARGE;
	struct page *page = page_alloc(large ? PACK_ORDER : 0, PAGE_NET, GFP_ATOMIC | GFP_NOWARN);
	struct pdata *d = page ? pdata_alloc() : NULL;

	if (d) {
		pdata_copy_out(p->data, p->off, page_virt(page), p->len);
		pdata_add(d, page, 0, p->len);
		pdata_put(p->data);
		p->data = d;
		p->off = 0;
	}
	if (page)
		page_put(page);
}

bool tcp_pack(struct tcp_sock *tp, struct pqueue *q, struct pbuf *p)
{
	uint32_t ts = tcp_rx_truesize(tp, p);

	if (p->len > PACK_MAX || ts <= 2 * p->len)
		return false;
	/*
	 * A small buffer is full of a few packets; the bytes that it promised to take
	 * must fit all the same.
	 */
	if (q->count <= PACK_AFTER &&
	    tp->rmem + ts <= atomic_load_explicit(&tp->sk.rcvbuf, memory_order_relaxed))
		return false;
	if (append(tp, q, p))
		return true;
	begin(tp, p);
	return false;
}
