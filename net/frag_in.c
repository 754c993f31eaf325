/* SPDX-License-Identifier: MIT */
/*
 * Reassembly (RFC 791, RFC 8200 section 4.5, RFC 5722): net/frag.h.
 *
 * What:      a datagram that is not whole is a list of its fragments in order of
 *            offset.  When the last byte has come, one copy into fresh pages makes
 *            it an ordinary packet, however small its pieces were.
 * Bounds:    DATAGRAM_FRAGS fragments a datagram, QUEUES_MAX datagrams, and the
 *            pages that all of them hold; over that the oldest datagram goes.  They
 *            are charged to no group: until a datagram is whole nobody owns it.
 * Invariant: the fragments of a list don't overlap, so the datagram is whole
 *            exactly when their lengths add up to its length.
 * Locks:     frag_lock protects everything here.  Packets leave and errors are
 *            sent without it.
 */
#include "net/frag.h"
#include "net/icmp_err.h"
#include "net/ip.h"
#include "kernel/errno.h"
#include "kernel/list.h"
#include "kernel/lock.h"
#include "kernel/param.h"
#include "kernel/timer.h"
#include "mm/slab.h"

#define BUCKETS        256u
#define QUEUES_MAX     1024u
#define DATAGRAM_FRAGS 192u /* 64 KiB in pieces of 576 bytes are 120 */

static unsigned max_kib = 4096;
PARAM_UINT("net.frag.kib", max_kib, 64, 1u << 20, PARAM_RW,
	   "KiB that datagrams being reassembled may hold, whole machine");

static unsigned timeout_s = 60; /* RFC 1122 section 3.3.2, RFC 8200 section 4.5 */
PARAM_UINT("net.frag.seconds", timeout_s, 1, 120, PARAM_RW,
	   "seconds that a datagram waits for its other fragments");

struct datagram {
	struct list_head age;      /* all, oldest first */
	struct datagram *next;     /* bucket */
	struct ip_addr src, dst;
	struct netdev *dev;
	uint32_t id;
	uint8_t proto;
	uint8_t ecn;               /* bit n: a fragment with ECN field n */
	bool dead;                 /* overlapped: what still comes is dropped */
	uint64_t deadline;
	struct pbuf *first, *last; /* in order of offset */
	unsigned nr, have, total;  /* fragments; bytes; length, 0: unknown */
	uint32_t held;             /* bytes of memory */
};

static struct spinlock frag_lock = SPINLOCK_INIT("frag");
static struct datagram *buckets[BUCKETS];
static struct list_head by_age = LIST_HEAD_INIT(by_age);
static unsigned nr_datagrams;
static uint32_t held_bytes;
static struct kmem_cache *cache;
static struct timer expiry;

static struct datagram **bucket_of(const struct ip_addr *src, const struct ip_addr *dst,
				   uint32_t id)
{
	uint64_t w[5] = { src->q[0], src->q[1], dst->q[0], dst->q[1], id };

	return &buckets[net_hash(w, 5) & (BUCKETS - 1)];
}

static unsigned data_len(const struct pbuf *p)
{
	return pbuf_transport_len(p);
}

/* Memory that a fragment keeps from others: whole pages, as drivers receive into. */
static uint32_t memory_of(const struct pbuf *p)
{
	return (uint32_t)(sizeof(*p) + (p->data ? sizeof(*p->data) + p->data->nr * PAGE_SIZE : 0));
}

static void hold(struct datagram *d, int64_t bytes)
{
	d->held = (uint32_t)(d->held + bytes);
	held_bytes = (uint32_t)(held_bytes + bytes);
}

/* Takes the fragments out; the caller frees them without the lock. */
static void take_fragments(struct datagram *d, struct pqueue *out)
{
	struct pbuf *p;

	while ((p = d->first)) {
		d->first = pbuf_next(p);
		pqueue_push(out, p);
	}
	d->last = NULL;
	d->nr = 0;
	hold(d, (int64_t)sizeof(*d) - d->held);
}

static void remove_datagram(struct datagram *d, struct pqueue *out)
{
	struct datagram **at = bucket_of(&d->src, &d->dst, d->id);

	take_fragments(d, out);
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	list_del(&d->age);
	hold(d, -(int64_t)d->held);
	nr_datagrams--;
	kmem_cache_free(cache, d);
}

/* Drops the oldest datagrams until there is room for @bytes more; @keep is not one of them. */
static void make_room(uint32_t bytes, struct datagram *keep, struct pqueue *out)
{
	uint64_t max = (uint64_t)__atomic_load_n(&max_kib, __ATOMIC_RELAXED) * 1024;

	while (!list_empty(&by_age) && (held_bytes + bytes > max || nr_datagrams > QUEUES_MAX)) {
		struct datagram *d = list_first_entry(&by_age, struct datagram, age);

		if (d == keep)
			return;
		net_count(frag_evicted);
		remove_datagram(d, out);
	}
}

static struct datagram *find_or_make(const struct pbuf *p, uint32_t id, uint8_t proto)
{
	struct datagram **b = bucket_of(&p->src, &p->dst, id), *d;

	for (d = *b; d; d = d->next) {
		if (d->id == id && d->proto == proto && d->dev == p->dev &&
		    addr_equal(&d->src, &p->src) && addr_equal(&d->dst, &p->dst))
			return d;
	}
	d = kmem_cache_alloc(cache, GFP_ATOMIC);
	if (!d)
		return NULL;
	memset(d, 0, sizeof(*d));
	d->src = p->src;
	d->dst = p->dst;
	d->dev = p->dev;
	d->id = id;
	d->proto = proto;
	d->deadline = clock_ns() + __atomic_load_n(&timeout_s, __ATOMIC_RELAXED) * NSEC_PER_SEC;
	d->next = *b;
	*b = d;
	list_add_tail(&d->age, &by_age);
	nr_datagrams++;
	hold(d, sizeof(*d));
	if (!timer_pending(&expiry))
		timer_set(&expiry, d->deadline);
	return d;
}

/*
 * Where fragment @off..@end belongs: @prev before it (NULL: first).  False: overlap; *dup: it is
 * there.
 */
static bool find_place(struct datagram *d, unsigned off, unsigned end, struct pbuf **prev,
		       bool *dup)
{
	struct pbuf *at, *before = NULL;

	*dup = false;
	/* Fragments mostly come in order. */
	if (d->last && off >= d->last->frag.off + data_len(d->last)) {
		*prev = d->last;
		return true;
	}
	for (at = d->first; at && at->frag.off + data_len(at) <= off; at = pbuf_next(at))
		before = at;
	*prev = before;
	if (!at || end <= at->frag.off)
		return true;
	*dup = at->frag.off == off && at->frag.off + data_len(at) == end;
	return false;
}

static void insert(struct datagram *d, struct pbuf *prev, struct pbuf *p)
{
	struct net_node **at = prev ? &prev->node.next : NULL;

	if (prev) {
		p->node.next = *at;
		*at = &p->node;
	} else {
		p->node.next = d->first ? &d->first->node : NULL;
		d->first = p;
	}
	if (!p->node.next)
		d->last = p;
	d->nr++;
	d->have += data_len(p);
	d->ecn |= (uint8_t)(1u << (p->tos & 3));
}

/*
 * Adds a fragment.  Return: 1: the datagram is whole; 0: it is not yet; -EINVAL:
 * the fragment contradicts others; -EEXIST: it is there already.
 */
static int add(struct datagram *d, struct pbuf *p, bool more)
{
	unsigned off = p->frag.off, end = off + data_len(p);
	struct pbuf *prev;
	bool dup;

	if (!find_place(d, off, end, &prev, &dup))
		return dup && (more || d->total == end) ? -EEXIST : -EINVAL;
	if (d->total && (end > d->total || !more))
		return -EINVAL;
	if (!more) {
		if (d->last && d->last->frag.off + data_len(d->last) > end)
			return -EINVAL;
		d->total = end;
	}
	if (d->nr == DATAGRAM_FRAGS)
		return -EINVAL;
	insert(d, prev, p);
	hold(d, memory_of(p));
	return d->total && d->have == d->total;
}

/* Fresh pages for @n bytes, filled from the fragments in @list behind the first one's head. */
static struct pdata *gather(struct pbuf *list, unsigned n)
{
	struct pdata *d = pdata_room(n);
	unsigned at = 0;

	for (struct pbuf *p = list; d && p; p = pbuf_next(p)) {
		unsigned head = p == list ? 0 : p->end - p->th;

		pdata_copy_in(d, at, p->head + p->th, head);
		at += head;
		if (p->len)
			pdata_copy(d, at, p->data, p->off, p->len);
		at += p->len;
	}
	return d;
}

/* RFC 3168, section 5.3: a mark on one fragment is a mark on all; not-ECT among marked is a lie. */
static bool merge_ecn(struct pbuf *p, uint8_t seen)
{
	if (!(seen & 1u << 3))
		return true;
	if (seen & 1u << 0)
		return false;
	p->tos |= 3;
	return true;
}

/* Makes one packet of a whole datagram's fragments; consumes them. */
static struct pbuf *assemble(struct pqueue *q, unsigned total, uint8_t ecn)
{
	struct pbuf *p = q->first;
	unsigned head = p->end - p->th;
	struct pdata *d = NULL;

	if (total > head) {
		d = gather(p, total - head);
		if (!d)
			goto fail;
	}
	pqueue_pop(q);
	pqueue_purge(q);
	pdata_put(p->data);
	p->data = d;
	p->off = 0;
	p->len = total - head;
	p->node.next = NULL;
	p->flags &= (uint8_t)~PB_CSUM_OK; /* of a fragment: says nothing about the whole */
	if (!merge_ecn(p, ecn) || !pbuf_pull_transport(p)) {
		pbuf_free(p);
		return NULL;
	}
	net_count(frag_whole);
	return p;
fail:
	net_count(frag_no_memory);
	pqueue_purge(q);
	return NULL;
}

struct pbuf *frag_input(struct pbuf *p, uint32_t id, uint8_t proto, unsigned off, bool more)
{
	struct pqueue done = { 0 }, gone = { 0 };
	struct datagram *d;
	unsigned total = 0;
	uint8_t ecn = 0;
	int ret = -EINVAL;

	net_count(frag_in);
	p->frag.off = off;
	spin_lock(&frag_lock);
	d = find_or_make(p, id, proto);
	if (d && !d->dead) {
		make_room(memory_of(p), d, &gone);
		ret = data_len(p) ? add(d, p, more) : -EINVAL;
		if (ret == 1) {
			total = d->total;
			ecn = d->ecn;
			remove_datagram(d, &done);
		} else if (ret == -EINVAL) {
			net_count(frag_bad);
			take_fragments(d, &gone);
			d->dead = true;
		}
	}
	spin_unlock(&frag_lock);
	pqueue_purge(&gone);
	if (ret < 0)
		pbuf_free(p);
	return ret == 1 ? assemble(&done, total, ecn) : NULL;
}

/* Datagrams that did not become whole in time; whoever sent a first fragment hears of it. */
static void expire(struct timer *t)
{
	struct pqueue gone = { 0 };
	struct pbuf *p;
	uint64_t now = clock_ns();

	spin_lock(&frag_lock);
	while (!list_empty(&by_age)) {
		struct datagram *d = list_first_entry(&by_age, struct datagram, age);

		if (d->deadline > now) {
			timer_set(t, d->deadline);
			break;
		}
		net_count(frag_timeouts);
		remove_datagram(d, &gone);
	}
	spin_unlock(&frag_lock);
	while ((p = pqueue_pop(&gone))) {
		if (p->frag.off == 0)
			icmp_send_error(p, ICMP_REASSEMBLY_TIMEOUT, 0);
		pbuf_free(p);
	}
}

void frag_usage(unsigned *datagrams, uint32_t *bytes)
{
	spin_lock(&frag_lock);
	*datagrams = nr_datagrams;
	*bytes = held_bytes;
	spin_unlock(&frag_lock);
}

int frag_init(void)
{
	cache = kmem_cache_create("frag_datagram", sizeof(struct datagram), 0, 0);
	timer_init(&expiry, expire);
	return cache ? 0 : -ENOMEM;
}
