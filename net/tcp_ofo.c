/* SPDX-License-Identifier: MIT */
/* The out-of-order queue: net/tcp_ofo.h. */
#include "net/tcp.h"
#include "net/tcp_ofo.h"
#include "mm/slab.h"

static struct kmem_cache *run_cache;

int tcp_ofo_init(void)
{
	run_cache = kmem_cache_create("tcp_run", sizeof(struct tcp_run), 0, SLAB_ACCOUNT);
	return run_cache ? 0 : -ENOMEM;
}

/* ---- the tree ---- */

/* Both trees become one; every key of @a lies before those of @b. */
static struct tcp_run *join(struct tcp_run *a, struct tcp_run *b)
{
	struct tcp_run *root, **at = &root;

	while (a && b) {
		if (a->prio >= b->prio) {
			*at = a;
			at = &a->kid[1];
			a = *at;
		} else {
			*at = b;
			at = &b->kid[0];
			b = *at;
		}
	}
	*at = a ? a : b;
	return root;
}

/* Cuts @t into the runs before @seq and the others. */
static void cut(struct tcp_run *t, uint32_t seq, struct tcp_run **before, struct tcp_run **behind)
{
	while (t) {
		if (seq_lt(t->start, seq)) {
			*before = t;
			before = &t->kid[1];
			t = *before;
		} else {
			*behind = t;
			behind = &t->kid[0];
			t = *behind;
		}
	}
	*before = NULL;
	*behind = NULL;
}

static void tree_add(struct tcp_sock *tp, struct tcp_run *r)
{
	struct tcp_run **at = &tp->ofo;

	while (*at && (*at)->prio >= r->prio)
		at = &(*at)->kid[seq_lt((*at)->start, r->start)];
	cut(*at, r->start, &r->kid[0], &r->kid[1]);
	*at = r;
}

/* Takes @r, which is there, out. */
static void tree_del(struct tcp_sock *tp, struct tcp_run *r)
{
	struct tcp_run **at = &tp->ofo;

	while (*at != r)
		at = &(*at)->kid[seq_lt((*at)->start, r->start)];
	*at = join(r->kid[0], r->kid[1]);
}

/* The last run that begins at or before @seq, and the first that begins behind it; NULL: none. */
static void tree_find(const struct tcp_sock *tp, uint32_t seq, struct tcp_run **before,
		      struct tcp_run **behind)
{
	*before = NULL;
	*behind = NULL;
	for (struct tcp_run *t = tp->ofo; t;) {
		bool right = seq_leq(t->start, seq);

		*(right ? before : behind) = t;
		t = t->kid[right];
	}
}

/* ---- runs ---- */

static void run_drop(struct tcp_sock *tp, struct tcp_run *r)
{
	struct pbuf *p;

	tree_del(tp, r);
	list_del(&r->recent);
	tp->ofo_runs--;
	while ((p = pqueue_pop(&r->q))) {
		tcp_rx_uncharge(tp, p);
		pbuf_free(p);
	}
	kmem_cache_free(run_cache, r);
}

static struct tcp_run *run_new(struct tcp_sock *tp, uint32_t start)
{
	struct tcp_run *r = NULL;

	if (tp->ofo_runs < TCP_OFO_MAX)
		r = kmem_cache_alloc_for(run_cache, GFP_ATOMIC | GFP_NOWARN, tp->sk.mem.owner);
	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	r->prio = net_random();
	r->start = start;
	r->end = start;
	list_init(&r->recent);
	list_add(&r->recent, &tp->ofo_recent);
	tree_add(tp, r);
	tp->ofo_runs++;
	return r;
}

/* @r is the news of the next report. */
static void touch(struct tcp_sock *tp, struct tcp_run *r)
{
	list_del(&r->recent);
	list_add(&r->recent, &tp->ofo_recent);
}

/* @r grows to touch @n, the next one: they become one. */
static void run_join(struct tcp_sock *tp, struct tcp_run *r, struct tcp_run *n)
{
	r->end = n->end;
	r->q.last->node.next = &n->q.first->node;
	r->q.last = n->q.last;
	r->q.count += n->q.count;
	n->q = (struct pqueue){ 0 };
	run_drop(tp, n);
}

void tcp_ofo_insert(struct tcp_sock *tp, struct pbuf *p)
{
	uint32_t end = p->tcp.seq + p->len;
	struct tcp_run *r, *n, *before;
	bool packed;

	net_count(tcp_ofo);
	tp->ofo_in++;
	tree_find(tp, p->tcp.seq, &r, &n);
	if (r && seq_lt(r->end, p->tcp.seq))
		r = NULL; /* there is a hole between */
	if (r && seq_gt(r->end, p->tcp.seq)) {
		tp->dsack_start = p->tcp.seq;
		tp->dsack_end = seq_min(r->end, end);
		touch(tp, r);
		if (seq_leq(end, r->end)) { /* all of it is there */
			pbuf_free(p);
			return;
		}
		pbuf_trim_front(p, r->end);
	}
	/* Runs that it covers are superfluous; it ends where the next one begins. */
	while (n && seq_leq(n->end, end)) {
		run_drop(tp, n);
		tree_find(tp, p->tcp.seq, &before, &n);
	}
	if (n && seq_gt(end, n->start)) {
		p->len -= end - n->start;
		end = n->start;
	}
	packed = r && tcp_pack(tp, &r->q, p);
	if (!packed && !tcp_rx_charge(tp, p, false)) {
		pbuf_free(p);
		return;
	}
	if (!r)
		r = run_new(tp, p->tcp.seq);
	if (!r) {
		tcp_rx_uncharge(tp, p);
		pbuf_free(p);
		return;
	}
	r->end = end;
	touch(tp, r);
	if (packed)
		pbuf_free(p);
	else
		pqueue_push(&r->q, p);
	if (n && n->start == end)
		run_join(tp, r, n);
}

void tcp_ofo_drain(struct tcp_sock *tp)
{
	struct tcp_run *r = tp->ofo;
	struct pbuf *p;

	for (;;) {
		for (r = tp->ofo; r && r->kid[0]; r = r->kid[0])
			;
		if (!r || seq_gt(r->start, tp->rcv_nxt))
			return;
		while ((p = pqueue_pop(&r->q))) {
			if (seq_leq(p->tcp.seq + p->len, tp->rcv_nxt)) {
				tcp_rx_uncharge(tp, p);
				pbuf_free(p);
				continue;
			}
			if (seq_lt(p->tcp.seq, tp->rcv_nxt))
				pbuf_trim_front(p, tp->rcv_nxt);
			tcp_rx_append(tp, p, tcp_pack(tp, &tp->rxq, p));
		}
		run_drop(tp, r);
	}
}

void tcp_ofo_purge(struct tcp_sock *tp)
{
	while (tp->ofo)
		run_drop(tp, tp->ofo);
}
