/* SPDX-License-Identifier: MIT */
/* Packet buffers: net/pbuf.h. */
#include "net/pbuf.h"
#include "mm/slab.h"
#include "kernel/errno.h"

static struct kmem_cache *pbuf_cache, *pdata_cache;

int pbuf_init(void)
{
	pbuf_cache = kmem_cache_create("pbuf", sizeof(struct pbuf), CACHE_LINE, 0);
	pdata_cache = kmem_cache_create("pdata", sizeof(struct pdata), CACHE_LINE, 0);
	return pbuf_cache && pdata_cache ? 0 : -ENOMEM;
}

struct pbuf *pbuf_alloc(unsigned reserve)
{
	struct pbuf *p = kmem_cache_alloc(pbuf_cache, GFP_ATOMIC);

	if (!p)
		return NULL;
	memset(p, 0, offsetof(struct pbuf, head));
	p->start = (uint16_t)reserve;
	p->end = (uint16_t)reserve;
	return p;
}

void pbuf_free(struct pbuf *p)
{
	if (unlikely(p->flags & PB_PAID))
		pbuf_settle(p);
	pdata_put(p->data);
	kmem_cache_free(pbuf_cache, p);
}

struct pbuf *pbuf_clone(const struct pbuf *p)
{
	struct pbuf *n = kmem_cache_alloc(pbuf_cache, GFP_ATOMIC);

	if (!n)
		return NULL;
	memcpy(n, p, sizeof(*n));
	n->node.next = NULL;
	n->flags &= (uint8_t)~PB_PAID;
	n->charged = 0;
	if (n->data)
		pdata_get(n->data);
	return n;
}

bool pbuf_pull(struct pbuf *p, unsigned n)
{
	unsigned have = p->end - p->th, need = n - have;

	if (have >= n)
		return true;
	if (need > p->len || p->end + need > PBUF_HEAD)
		return false;
	pdata_copy_out(p->data, p->off, pbuf_put(p, need), need);
	p->off += need;
	p->len -= need;
	return true;
}

bool pbuf_pull_transport(struct pbuf *p)
{
	unsigned most = min(pbuf_transport_len(p), 60u);

	return pbuf_pull(p, min(most, (unsigned)(PBUF_HEAD - p->th)));
}

void pqueue_purge(struct pqueue *q)
{
	struct pbuf *p;

	while ((p = pqueue_pop(q)))
		pbuf_free(p);
}

struct pdata *pdata_alloc(void)
{
	struct pdata *d = kmem_cache_alloc(pdata_cache, GFP_ATOMIC);

	if (!d)
		return NULL;
	atomic_init(&d->refs, 1);
	d->nr = 0;
	d->len = 0;
	d->truesize = 0;
	return d;
}

void pdata_put(struct pdata *d)
{
	if (!d)
		return;
	/* A sole holder needs no atomic subtraction: nobody else can take a reference. */
	if (atomic_load_explicit(&d->refs, memory_order_acquire) != 1 &&
	    atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (unsigned i = 0; i < d->nr; i++)
		page_put(d->frags[i].page);
	kmem_cache_free(pdata_cache, d);
}

static inline uint32_t frag_truesize(uint32_t len)
{
	return ALIGN_UP(len, (uint32_t)TRUESIZE_ROUND);
}

bool pdata_add(struct pdata *d, struct page *page, uint32_t off, uint32_t len)
{
	struct frag *f;

	if (d->nr) {
		f = &d->frags[d->nr - 1];
		if (f->page == page && f->off + f->len == off) {
			d->truesize += frag_truesize(f->len + len) - frag_truesize(f->len);
			f->len += len;
			d->len += len;
			return true;
		}
		if (d->nr == PDATA_FRAGS)
			return false;
	}
	page_get(page);
	f = &d->frags[d->nr++];
	f->page = page;
	f->off = off;
	f->len = len;
	d->len += len;
	d->truesize += frag_truesize(len);
	return true;
}

bool pdata_absorb(struct pdata *to, struct pdata **from)
{
	struct pdata *d = *from;

	if (to->nr + d->nr > PDATA_FRAGS ||
	    atomic_load_explicit(&to->refs, memory_order_acquire) != 1 ||
	    atomic_load_explicit(&d->refs, memory_order_acquire) != 1)
		return false;
	for (unsigned i = 0; i < d->nr; i++)
		to->frags[to->nr++] = d->frags[i];
	to->len += d->len;
	to->truesize += d->truesize;
	kmem_cache_free(pdata_cache, d);
	*from = NULL;
	return true;
}

/* Finds the fragment with byte *@off and turns *@off into an offset in it. */
static unsigned pdata_find(const struct pdata *d, uint32_t *off)
{
	unsigned i = 0;

	while (i < d->nr && *off >= d->frags[i].len)
		*off -= d->frags[i++].len;
	return i;
}

uint32_t pdata_truesize(const struct pdata *d, uint32_t off, uint32_t len)
{
	uint32_t sum = sizeof(struct pbuf) + sizeof(struct pdata);

	if (!d)
		return sizeof(struct pbuf);
	if (off == 0 && len == d->len)
		return sum + d->truesize;
	for (unsigned i = pdata_find(d, &off); i < d->nr && len; i++) {
		uint32_t n = min(d->frags[i].len - off, len);

		sum += frag_truesize(n);
		len -= n;
		off = 0;
	}
	return sum;
}

static inline char *frag_virt(const struct frag *f)
{
	return (char *)page_virt(f->page) + f->off;
}

size_t pdata_copy_to_iter(const struct pdata *d, uint32_t off, size_t n, struct iov_iter *it)
{
	size_t done = 0;

	for (unsigned i = pdata_find(d, &off); i < d->nr && n; i++) {
		size_t part = min_t(size_t, d->frags[i].len - off, n);
		size_t got = copy_to_iter(frag_virt(&d->frags[i]) + off, part, it);

		done += got;
		if (got < part)
			break;
		n -= part;
		off = 0;
	}
	return done;
}

void pdata_copy_out(const struct pdata *d, uint32_t off, void *dst, size_t n)
{
	char *to = dst;

	for (unsigned i = pdata_find(d, &off); i < d->nr && n; i++) {
		size_t part = min_t(size_t, d->frags[i].len - off, n);

		memcpy(to, frag_virt(&d->frags[i]) + off, part);
		to += part;
		n -= part;
		off = 0;
	}
}

static bool pdata_add_view(struct pdata *to, const struct pdata *d, uint32_t off, uint32_t len)
{
	for (unsigned i = pdata_find(d, &off); i < d->nr && len; i++) {
		uint32_t part = min(d->frags[i].len - off, len);

		if (!pdata_add(to, d->frags[i].page, d->frags[i].off + off, part))
			return false;
		len -= part;
		off = 0;
	}
	return true;
}

struct pdata *pdata_join(const struct pdata *a, uint32_t aoff, uint32_t alen,
			 const struct pdata *b, uint32_t boff, uint32_t blen)
{
	struct pdata *d = pdata_alloc();

	if (d && (!pdata_add_view(d, a, aoff, alen) || !pdata_add_view(d, b, boff, blen))) {
		pdata_put(d);
		d = NULL;
	}
	return d;
}

/* Order of a block that holds @n bytes without much waste: 0..3. */
static unsigned block_order(size_t n)
{
	unsigned order = 0;

	while (order < 3 && (PAGE_SIZE << order) < n)
		order++;
	return order;
}

struct pdata *pdata_room(size_t n)
{
	struct pdata *d = pdata_alloc();
	unsigned order = block_order(n);

	while (d && n) {
		size_t part = min_t(size_t, n, PAGE_SIZE << order);
		struct page *page = page_alloc(order, PAGE_NET, GFP_ATOMIC | GFP_NOWARN);

		if (!page && order) { /* memory in small pieces only */
			order = 0;
			continue;
		}
		if (!page || !pdata_add(d, page, 0, part)) {
			if (page)
				page_put(page);
			pdata_put(d);
			return NULL;
		}
		page_put(page); /* the fragment has its own */
		n -= part;
	}
	return d;
}

void pdata_copy_in(struct pdata *d, uint32_t at, const void *src, size_t n)
{
	const char *from = src;

	for (unsigned i = pdata_find(d, &at); i < d->nr && n; i++) {
		size_t part = min_t(size_t, d->frags[i].len - at, n);

		memcpy(frag_virt(&d->frags[i]) + at, from, part);
		from += part;
		n -= part;
		at = 0;
	}
}

void pdata_copy(struct pdata *to, uint32_t at, const struct pdata *from, uint32_t off, size_t n)
{
	for (unsigned i = pdata_find(from, &off); i < from->nr && n; i++) {
		size_t part = min_t(size_t, from->frags[i].len - off, n);

		pdata_copy_in(to, at, frag_virt(&from->frags[i]) + off, part);
		at += (uint32_t)part;
		n -= part;
		off = 0;
	}
}

struct pdata *pdata_from_bytes(const void *src, size_t n)
{
	struct pdata *d = pdata_alloc();

	while (d && n) {
		unsigned order = block_order(n);
		size_t part = min_t(size_t, n, PAGE_SIZE << order);
		struct page *page = page_alloc(order, PAGE_NET, GFP_ATOMIC | GFP_NOWARN);

		if (!page || !pdata_add(d, page, 0, part)) {
			if (page)
				page_put(page);
			pdata_put(d);
			return NULL;
		}
		memcpy(page_virt(page), src, part);
		page_put(page); /* the fragment has its own */
		src = (const char *)src + part;
		n -= part;
	}
	return d;
}

struct pdata *pdata_from_iter(struct iov_iter *it, size_t n)
{
	struct pdata *d = pdata_alloc();

	if (!d)
		return ERR_PTR(-ENOMEM);
	while (n) {
		unsigned order = block_order(n);
		size_t part = min_t(size_t, n, PAGE_SIZE << order);
		struct page *page = page_alloc(order, PAGE_NET, GFP_KERNEL | GFP_NOWARN);
		bool room;

		if (!page && order) {
			part = min_t(size_t, n, PAGE_SIZE);
			page = page_alloc(0, PAGE_NET, GFP_KERNEL);
		}
		if (!page)
			goto nomem;
		if (copy_from_iter(page_virt(page), part, it) != part) {
			page_put(page);
			pdata_put(d);
			return ERR_PTR(-EFAULT);
		}
		room = pdata_add(d, page, 0, part);
		page_put(page);
		if (!room)
			goto nomem;
		n -= part;
	}
	return d;
nomem:
	pdata_put(d);
	return ERR_PTR(-ENOMEM);
}
