/* SPDX-License-Identifier: MIT */
/*
 * Half-open requests: net/tcp_listen.h.
 *
 * A SYN makes a small tcp_req in the connection table, charged to the listener's
 * group; the acknowledgement of our SYN-ACK turns it into a connection.  Their
 * number is bounded by the backlog; beyond that cookies take over.
 * Locks: listener->lock, innermost.  A request is claimed by the thread that
 * takes it out of the table (ep_remove, ep_replace), so each fate happens once.
 */
#include "net/tcp_listen.h"
#include "mm/slab.h"

#define SYN_QUEUE_MIN 16u
#define SYN_QUEUE_MAX 4096u

struct tcp_req {
	struct ep ep;
	struct tcp_sock *listener; /* referenced */
	struct list_head link;     /* listener's reqs */
	struct timer timer;
	struct tcp_offer offer;
	uint8_t retries;
};

static struct kmem_cache *req_cache;

int tcp_req_init(void)
{
	req_cache = kmem_cache_create("tcp_req", sizeof(struct tcp_req), 0, SLAB_ACCOUNT);
	return req_cache ? 0 : -ENOMEM;
}

/* RFC 6528: a clock plus a secret function of the four. */
uint32_t tcp_isn(const struct ep *e, uint64_t now)
{
	return (uint32_t)(ep_hash(&e->laddr, e->lport, &e->raddr, e->rport) >> 32) +
	       (uint32_t)(now / 64);
}

static struct tcp_req *ep_req(struct ep *e)
{
	return container_of(e, struct tcp_req, ep);
}

static void req_free_rcu(struct rcu_head *h)
{
	kmem_cache_free(req_cache, container_of(h, struct tcp_req, ep.rcu));
}

void tcp_req_free(struct ep *e)
{
	struct tcp_req *r = ep_req(e);

	tcp_put(r->listener);
	call_rcu(&r->ep.rcu, req_free_rcu);
}

uint32_t tcp_local_mss(const struct netdev *dev, const struct ip_addr *a)
{
	unsigned mtu = addr_is_v4(a) ? min(dev->mtu, 65535u) : dev->mtu;

	return mtu - ip_header_len(a) - 20;
}

void tcp_offer_read(struct tcp_offer *o, const struct pbuf *p)
{
	memset(o, 0, sizeof(*o));
	o->irs = p->tcp.seq;
	o->opts = p->tcp.opts & tcp_offered();
	if (tcp_ecn_accepts(p))
		o->opts |= TCP_OPT_ECN;
	o->wscale = p->tcp.wscale;
	o->ts_recent = p->tcp.tsval;
	o->mss = p->tcp.opts & TCP_OPT_MSS ? p->tcp.mss :
		 addr_is_v4(&p->src)	   ? TCP_MSS_DEFAULT4 :
					     TCP_MSS_DEFAULT6;
	o->dev = p->dev;
}

void tcp_send_syn_ack(struct tcp_sock *l, const struct ep *e, const struct tcp_offer *o,
		      uint32_t tsval)
{
	struct pbuf *p = tcp_packet(&e->laddr, e->lport, &e->raddr, e->rport);
	unsigned rcvbuf = atomic_load_explicit(&l->sk.rcvbuf, memory_order_relaxed);
	uint32_t mss = tcp_local_mss(o->dev, &e->raddr);

	if (!p)
		return;
	if (l->user_mss)
		mss = min(mss, l->user_mss);
	p->dev = o->dev;
	pbuf_put(p, tcp_put_options(p->head + p->end, o->opts, true, mss, TCP_WSCALE, tsval,
				    o->ts_recent));
	tcp_finish(p, o->iss, o->irs + 1, TH_SYN | TH_ACK | (o->opts & TCP_OPT_ECN ? TH_ECE : 0),
		   min(rcvbuf / 2, 65535u));
	ip_output(p, IPPROTO_TCP, l->sk.ttl, tcp_ecn_tos(l, false));
}

static void send_syn_ack(struct tcp_req *r)
{
	tcp_send_syn_ack(r->listener, &r->ep, &r->offer, tcp_ts(clock_ns()));
}

/* The request has left the table: off the listener's list. */
static void req_unlink(struct tcp_req *r)
{
	struct tcp_listener *q = r->listener->listener;

	spin_lock(&q->lock);
	if (!list_empty(&r->link)) {
		list_del(&r->link);
		q->nr_syn--;
	}
	spin_unlock(&q->lock);
	if (timer_cancel(&r->timer))
		ep_put(&r->ep);
}

static void req_timer(struct timer *t)
{
	struct tcp_req *r = container_of(t, struct tcp_req, timer);

	/* Not in the table: whoever took it out found us running and left the reference to us. */
	if (!__atomic_load_n(&r->ep.hashed, __ATOMIC_RELAXED) || r->retries >= TCP_SYNACK_RETRIES) {
		if (ep_remove(&r->ep))
			req_unlink(r);
		ep_put(&r->ep);
		return;
	}
	r->retries++;
	r->offer.repeated = true;
	net_count(tcp_retransmits);
	send_syn_ack(r);
	timer_set(&r->timer, clock_ns() + (TCP_RTO_INIT << r->retries)); /* keeps its reference */
}

static bool syn_queue_full(const struct tcp_listener *q)
{
	return __atomic_load_n(&q->nr_syn, __ATOMIC_RELAXED) >=
	       min(max(2 * q->backlog, SYN_QUEUE_MIN), SYN_QUEUE_MAX);
}

/* Remembers the SYN @p and answers it. */
static void new_request(struct tcp_sock *l, const struct pbuf *p)
{
	struct tcp_req *r = kmem_cache_alloc_for(req_cache, GFP_ATOMIC, l->sk.mem.owner);
	struct tcp_listener *q = l->listener;
	uint64_t now = clock_ns();
	bool closed;

	if (!r) {
		net_count(tcp_syn_dropped);
		return;
	}
	memset(r, 0, sizeof(*r));
	atomic_init(&r->ep.refs, 1);
	r->ep.kind = EP_REQ;
	r->ep.laddr = p->dst;
	r->ep.raddr = p->src;
	r->ep.lport = p->tcp.dport;
	r->ep.rport = p->tcp.sport;
	list_init(&r->link);
	timer_init(&r->timer, req_timer);
	r->listener = l;
	tcp_get(l);
	tcp_offer_read(&r->offer, p);
	r->offer.iss = tcp_isn(&r->ep, now);
	r->offer.sent_ns = now;
	spin_lock(&q->lock);
	closed = q->closed;
	if (!closed) {
		list_add_tail(&r->link, &q->reqs);
		q->nr_syn++;
	}
	spin_unlock(&q->lock);
	if (closed || ep_insert(&r->ep, false)) {
		req_unlink(r);
	} else {
		atomic_fetch_add_explicit(&r->ep.refs, 1, memory_order_relaxed);
		timer_set(&r->timer, now + TCP_RTO_INIT);
		send_syn_ack(r);
	}
	ep_put(&r->ep);
}

void tcp_listen_input(struct tcp_sock *l, struct pbuf *p)
{
	struct tcp_listener *q = l->listener;
	uint8_t f = p->tcp.tcp_flags;
	bool full;

	if (f & TH_RST)
		goto out;
	if (f & TH_ACK) {
		if (tcp_cookie_ack(l, p))
			return;
		tcp_reply_stray(p);
		goto out;
	}
	if (!(f & TH_SYN) || !p->tcp.sport)
		goto out;
	if (tcp_accept_full(q)) {
		net_count(tcp_syn_dropped);
		goto out;
	}
	full = syn_queue_full(q);
	if (tcp_cookie_syn(l, p, full))
		goto out;
	if (full)
		net_count(tcp_syn_dropped);
	else
		new_request(l, p);
out:
	pbuf_free(p);
}

/*
 * TCP_DEFER_ACCEPT: an acknowledgement without data does not complete the handshake
 * for some time.
 */
static bool deferred(struct tcp_req *r, const struct pbuf *p)
{
	unsigned s = r->listener->defer_accept;

	return s && !p->len && !(p->tcp.tcp_flags & TH_FIN) &&
	       clock_ns() - r->offer.sent_ns < s * NSEC_PER_SEC;
}

void tcp_req_input(struct ep *e, struct pbuf *p)
{
	struct tcp_req *r = ep_req(e);
	const struct tcp_offer *o = &r->offer;
	uint8_t f = p->tcp.tcp_flags;
	struct tcp_sock *tp;

	if ((o->opts & TCP_OPT_TS) && (p->tcp.opts & TCP_OPT_TS) && !(f & TH_RST) &&
	    (int32_t)(p->tcp.tsval - o->ts_recent) < 0)
		goto challenge;
	if ((f & TH_SYN) && !(f & TH_ACK) && p->tcp.seq == o->irs) { /* our SYN-ACK was lost */
		send_syn_ack(r);
		goto out;
	}
	if (p->tcp.seq - (o->irs + 1) > 65535) {
		if (!(f & TH_RST))
			goto challenge;
		goto out;
	}
	if (f & (TH_RST | TH_SYN)) {
		if ((f & TH_SYN) || p->tcp.seq != o->irs + 1)
			goto challenge;
		net_count(tcp_resets_in);
		if (ep_remove(e))
			req_unlink(r);
		goto out;
	}
	if (!(f & TH_ACK))
		goto out;
	if (p->tcp.ack != o->iss + 1) {
		tcp_reply_reset(p);
		goto out;
	}
	/* A full queue, or no data yet: let the peer think the acknowledgement got lost. */
	if (tcp_accept_full(r->listener->listener) || deferred(r, p))
		goto out;
	tp = tcp_child(r->listener, e, o, clock_ns());
	if (!tp) {
		net_count(tcp_no_memory);
		goto out;
	}
	if (!ep_replace(e, &tp->ep)) {
		/* Another thread was faster: its connection gets the packet. */
		tcp_set_state(tp, TCP_CLOSE);
		tcp_release(tp);
		tcp_put(tp);
		tcp_input(p);
		return;
	}
	req_unlink(r);
	tcp_child_ready(r->listener, tp, p); /* alive: our caller holds the request */
	return;
challenge:
	tcp_reply_ack(p, o->iss + 1, o->irs + 1, 65535, o->opts & TCP_OPT_TS, o->ts_recent);
out:
	pbuf_free(p);
}

void tcp_req_error(struct ep *e, uint32_t seq)
{
	struct tcp_req *r = ep_req(e);

	if (seq == r->offer.iss && ep_remove(e))
		req_unlink(r);
}

void tcp_req_close_all(struct tcp_listener *q)
{
	for (;;) {
		struct tcp_req *r = NULL;

		spin_lock(&q->lock);
		if (!list_empty(&q->reqs)) {
			r = list_first_entry(&q->reqs, struct tcp_req, link);
			list_del(&r->link);
			q->nr_syn--;
			/*
			 * Still linked, so whoever removes it has not finished: it
			 * holds a reference.
			 */
			atomic_fetch_add_explicit(&r->ep.refs, 1, memory_order_relaxed);
		}
		spin_unlock(&q->lock);
		if (!r)
			return;
		if (ep_remove(&r->ep) && timer_cancel(&r->timer))
			ep_put(&r->ep);
		ep_put(&r->ep);
	}
}
