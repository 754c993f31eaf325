/* SPDX-License-Identifier: MIT */
/*
 * The elements of the send queue: made, cut, joined, charged, given up.
 *
 * The queue is a list of tcp_seg in sequence order; tx_next is the first one not
 * yet sent.  An element is cut where the window or a segment ends (both parts
 * share the payload), so sent and unsent bytes never mix in one.  Each byte is
 * charged to the socket until it is acknowledged.
 */
#include "net/tcp.h"
#include "mm/slab.h"

static struct kmem_cache *seg_cache;

int tcp_seg_init(void)
{
	seg_cache = kmem_cache_create("tcp_seg", sizeof(struct tcp_seg), 0, 0);
	return seg_cache ? 0 : -ENOMEM;
}

struct tcp_seg *tcp_seg_alloc(struct tcp_sock *tp)
{
	struct tcp_seg *s = kmem_cache_alloc(seg_cache, GFP_ATOMIC);

	if (s) {
		memset(s, 0, sizeof(*s));
		list_init(&s->link);
		list_init(&s->tlink);
		s->seq = tp->write_seq;
	}
	return s;
}

static void seg_uncharge(struct tcp_sock *tp, struct tcp_seg *s, uint32_t n)
{
	s->truesize -= n;
	sock_mem_uncharge(&tp->sk.mem, n);
	atomic_store_explicit(&tp->wmem, atomic_load_explicit(&tp->wmem, memory_order_relaxed) - n,
			      memory_order_relaxed);
}

/* Gives back what was charged for bytes that did not come. */
void tcp_seg_refund(struct tcp_sock *tp, struct tcp_seg *s)
{
	uint32_t n = s->prepaid;

	if (!n)
		return;
	s->prepaid = 0;
	seg_uncharge(tp, s, n);
}

/* Takes @s off the queue, too. */
void tcp_seg_free(struct tcp_sock *tp, struct tcp_seg *s)
{
	if (unlikely(tp->sack_hint == s))
		tp->sack_hint = NULL;
	if (unlikely(tp->rtx_hint == s))
		tp->rtx_hint = NULL;
	list_del(&s->link);
	list_del(&s->tlink);
	if (s->truesize)
		seg_uncharge(tp, s, s->truesize);
	pdata_put(s->data);
	kmem_cache_free(seg_cache, s);
}

void tcp_free_txq(struct tcp_sock *tp)
{
	struct tcp_seg *s, *n;

	list_for_each_entry_safe (s, n, &tp->txq, link)
		tcp_seg_free(tp, s);
	tp->tx_next = NULL;
	tp->sacked = 0;
	tp->nr_sacked = 0;
	tp->lost = 0;
	tp->retrans = 0;
	if (tp->frag) {
		page_put(tp->frag);
		tp->frag = NULL;
	}
}

/* Puts a SYN or FIN behind everything queued: on the last unsent segment, or on one of its own. */
int tcp_queue_flag(struct tcp_sock *tp, uint8_t flag)
{
	struct tcp_seg *s;

	if (flag == SEG_FIN && tp->tx_next) {
		s = list_last_entry(&tp->txq, struct tcp_seg, link);
	} else {
		s = tcp_seg_alloc(tp);
		if (!s)
			return -ENOBUFS;
		list_add_tail(&s->link, &tp->txq);
		if (!tp->tx_next)
			tp->tx_next = s;
	}
	s->flags |= flag;
	tp->write_seq++;
	return 0;
}

bool tcp_seg_split(struct tcp_sock *tp, struct tcp_seg *s, uint32_t n)
{
	struct tcp_seg *r;

	/*
	 * The further element costs, too: a peer that makes us cut small must not get
	 * it for nothing.
	 */
	if (sock_mem_charge(&tp->sk.mem, sizeof(*r), tp->snd_una == tp->snd_nxt ?
			    CHARGE_NOFAIL | CHARGE_NOSLEEP : CHARGE_NOSLEEP))
		return false;
	r = tcp_seg_alloc(tp);
	if (!r) {
		sock_mem_uncharge(&tp->sk.mem, sizeof(*r));
		return false;
	}
	tcp_seg_refund(tp, s);
	r->seq = s->seq + n;
	r->len = s->len - n;
	r->off = s->off + n;
	r->data = s->data;
	pdata_get(r->data);
	r->truesize = (uint32_t)((uint64_t)s->truesize * r->len / s->len);
	s->truesize -= r->truesize;
	r->truesize += sizeof(*r);
	atomic_store_explicit(&tp->wmem,
			      atomic_load_explicit(&tp->wmem, memory_order_relaxed) +
				      (uint32_t)sizeof(*r),
			      memory_order_relaxed);
	r->flags = s->flags;
	r->tx = s->tx;
	r->sent_ns = s->sent_ns;
	s->len = n;
	s->flags &= ~(SEG_FIN | SEG_PUSH | SEG_EOR);
	list_add(&r->link, &s->link);
	if (!list_empty(&s->tlink))
		list_add(&r->tlink, &s->tlink);
	if (s->flags & SEG_SACKED)
		tp->nr_sacked++;
	return true;
}

/* A partial last segment takes bytes from the next one if the pieces fit together. */
void tcp_seg_fill(struct tcp_sock *tp, struct tcp_seg *s)
{
	while (s->link.next != &tp->txq && s->len && s->len < tp->mss &&
	       !(s->flags & (SEG_SYN | SEG_EOR))) {
		struct tcp_seg *n = list_entry(s->link.next, struct tcp_seg, link);
		uint32_t take = min(tp->mss - s->len, n->len);
		struct pdata *d;

		if (!take || s->data->nr + n->data->nr > PDATA_FRAGS)
			return;
		d = pdata_join(s->data, s->off, s->len, n->data, n->off, take);
		if (!d)
			return;
		pdata_put(s->data);
		s->data = d;
		s->off = 0;
		s->len += take;
		tcp_seg_refund(tp, s);
		tcp_seg_refund(tp, n);
		if (take == n->len) {
			s->truesize += n->truesize;
			n->truesize = 0;
			s->flags |= n->flags & (SEG_FIN | SEG_PUSH | SEG_EOR);
			tcp_seg_free(tp, n);
		} else {
			uint32_t part = (uint32_t)((uint64_t)n->truesize * take / n->len);

			s->truesize += part;
			n->truesize -= part;
			n->seq += take;
			n->off += take;
			n->len -= take;
		}
	}
}

bool tcp_claim_probe(struct tcp_sock *tp)
{
	struct tcp_seg *s = tp->tx_next;

	if (!tp->probe_byte || !s || !s->len)
		return false;
	if (s->len > 1 && !tcp_seg_split(tp, s, 1))
		return false;
	if (s->flags & SEG_FIN) { /* it was the last byte: the FIN goes on its own */
		struct tcp_seg *f = tcp_seg_alloc(tp);

		if (!f)
			return false;
		f->seq = s->seq + 1;
		f->flags = SEG_FIN;
		s->flags &= ~SEG_FIN;
		list_add(&f->link, &s->link);
	}
	tp->probe_byte = false;
	tp->tx_next =
		s->link.next == &tp->txq ? NULL : list_entry(s->link.next, struct tcp_seg, link);
	tp->snd_nxt = s->seq + 1;
	s->tx = 2; /* no round-trip sample */
	return true;
}
