/* SPDX-License-Identifier: MIT */
/*
 * Listening: half-open requests, and the queue of established connections that
 * wait for accept().
 *
 * A SYN makes a small tcp_req in the connection table; the acknowledgement of
 * our SYN-ACK turns it into a full connection, which is charged to the
 * listener's group until accept() moves it to the acceptor's.  Both queues are
 * bounded by the backlog.
 * Locks: listener->lock, innermost.  A request is claimed by the thread that
 * takes it out of the table (ep_remove, ep_replace), so each fate happens once.
 */
#include "net/tcp.h"
#include "fs/vfs.h"
#include "mm/slab.h"

#define SYN_QUEUE_MIN 16u
#define SYN_QUEUE_MAX 4096u

struct tcp_req {
	struct ep ep;
	struct tcp_sock *listener; /* referenced */
	struct list_head link;     /* listener's reqs */
	struct timer timer;
	uint64_t sent_ns;          /* the first SYN-ACK */
	uint32_t iss, irs, ts_recent;
	uint16_t mss;              /* what the peer takes */
	uint8_t opts, wscale, retries;
	struct netdev *dev;
};

static struct kmem_cache *req_cache;

int tcp_listen_init(void)
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

static uint32_t local_mss(const struct netdev *dev, const struct ip_addr *a)
{
	unsigned mtu = addr_is_v4(a) ? min(dev->mtu, 65535u) : dev->mtu;

	return mtu - ip_header_len(a) - 20;
}

static void send_syn_ack(struct tcp_req *r)
{
	struct tcp_sock *l = r->listener;
	struct pbuf *p = tcp_packet(&r->ep.laddr, r->ep.lport, &r->ep.raddr, r->ep.rport);
	unsigned rcvbuf = atomic_load_explicit(&l->sk.rcvbuf, memory_order_relaxed);

	if (!p)
		return;
	p->dev = r->dev;
	pbuf_put(p, tcp_put_options(p->head + p->end, r->opts, true,
				    local_mss(r->dev, &r->ep.raddr), TCP_WSCALE,
				    tcp_ts(clock_ns()), r->ts_recent));
	tcp_finish(p, r->iss, r->irs + 1, TH_SYN | TH_ACK | (r->opts & TCP_OPT_ECN ? TH_ECE : 0), min(rcvbuf / 2, 65535u));
	ip_output(p, IPPROTO_TCP, l->sk.ttl, tcp_ecn_tos(l, false));
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
	net_count(tcp_retransmits);
	send_syn_ack(r);
	timer_set(&r->timer, clock_ns() + (TCP_RTO_INIT << r->retries)); /* keeps its reference */
}

void tcp_listen_input(struct tcp_sock *l, struct pbuf *p)
{
	struct tcp_listener *q = l->listener;
	uint8_t f = p->tcp.tcp_flags;
	struct tcp_req *r;
	uint64_t now;
	bool full;

	if (f & TH_RST)
		goto out;
	if (f & TH_ACK) {
		tcp_reply_reset(p);
		goto out;
	}
	if (!(f & TH_SYN) || !p->tcp.sport)
		goto out;
	full = atomic_load_explicit(&q->nr_accept, memory_order_relaxed) > q->backlog;
	if (full)
		net_count(tcp_listen_overflows);
	if (full || __atomic_load_n(&q->nr_syn, __ATOMIC_RELAXED) >=
			    min(max(2 * q->backlog, SYN_QUEUE_MIN), SYN_QUEUE_MAX)) {
		net_count(tcp_syn_dropped);
		goto out;
	}
	r = kmem_cache_alloc_for(req_cache, GFP_ATOMIC, l->sk.mem.owner);
	if (!r) {
		net_count(tcp_syn_dropped);
		goto out;
	}
	memset(r, 0, sizeof(*r));
	now = clock_ns();
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
	r->irs = p->tcp.seq;
	r->iss = tcp_isn(&r->ep, now);
	r->opts = p->tcp.opts & (TCP_OPT_TS | TCP_OPT_SACKOK | TCP_OPT_WSCALE);
	if (tcp_ecn_accepts(p))
		r->opts |= TCP_OPT_ECN;
	r->wscale = p->tcp.wscale;
	r->ts_recent = p->tcp.tsval;
	r->mss = p->tcp.opts & TCP_OPT_MSS ? p->tcp.mss :
		 addr_is_v4(&p->src)	   ? TCP_MSS_DEFAULT4 :
					     TCP_MSS_DEFAULT6;
	r->dev = p->dev;
	spin_lock(&q->lock);
	if (!q->closed) {
		list_add_tail(&r->link, &q->reqs);
		q->nr_syn++;
	}
	full = q->closed;
	spin_unlock(&q->lock);
	if (full || ep_insert(&r->ep, false)) {
		req_unlink(r);
	} else {
		atomic_fetch_add_explicit(&r->ep.refs, 1, memory_order_relaxed);
		timer_set(&r->timer, now + TCP_RTO_INIT);
		r->sent_ns = now;
		send_syn_ack(r);
	}
	ep_put(&r->ep);
out:
	pbuf_free(p);
}

/* A full connection from a request; owned by the caller, one reference. */
static struct tcp_sock *child_of(struct tcp_req *r, const struct pbuf *p, uint64_t now)
{
	struct tcp_sock *l = r->listener, *tp = tcp_alloc(l->sk.family, l->sk.mem.owner, GFP_ATOMIC);

	if (!tp)
		return NULL;
	if (!own_try(&tp->own)) /* nobody else knows it */
		return NULL;
	tp->ep.laddr = r->ep.laddr;
	tp->ep.raddr = r->ep.raddr;
	tp->ep.lport = r->ep.lport;
	tp->ep.rport = r->ep.rport;
	tp->dev = r->dev;
	tp->loopback = r->dev->loopback;
	tp->adv_mss = local_mss(r->dev, &r->ep.raddr);
	tp->peer_mss = r->mss;
	tp->user_mss = l->user_mss;
	tp->opts = r->opts;
	tp->snd_wscale = r->opts & TCP_OPT_WSCALE ? r->wscale : 0;
	tp->rcv_wscale = r->opts & TCP_OPT_WSCALE ? TCP_WSCALE : 0;
	tp->cc = l->cc;
	tcp_set_mss(tp);
	if (!r->retries)
		tcp_rtt_sample(tp, max(now - r->sent_ns, 1ull), now);
	tp->last_tx_ns = r->sent_ns;
	tp->iss = r->iss;
	tp->irs = r->irs;
	tp->snd_una = r->iss;
	tp->snd_nxt = r->iss + 1;
	tp->write_seq = r->iss + 1;
	tp->small_end = r->iss;
	tp->rcv_nxt = r->irs + 1;
	tp->rcv_wup = tp->rcv_nxt;
	tp->snd_wl1 = r->irs;
	tp->snd_wl2 = r->iss;
	tp->ts_recent = r->ts_recent;
	tp->ts_recent_ns = now;

	/* Options of the listener that its children inherit. */
	tp->sk.rcvbuf_locked = l->sk.rcvbuf_locked;
	tp->sk.sndbuf_locked = l->sk.sndbuf_locked;
	atomic_init(&tp->sk.rcvbuf, atomic_load_explicit(&l->sk.rcvbuf, memory_order_relaxed));
	atomic_init(&tp->sk.sndbuf, atomic_load_explicit(&l->sk.sndbuf, memory_order_relaxed));
	tp->sk.rcvlowat = l->sk.rcvlowat;
	tp->sk.keepalive = l->sk.keepalive;
	tp->sk.reuseaddr = l->sk.reuseaddr;
	tp->sk.reuseport = l->sk.reuseport;
	tp->sk.linger_on = l->sk.linger_on;
	tp->sk.linger_s = l->sk.linger_s;
	tp->sk.rcvtimeo = l->sk.rcvtimeo;
	tp->sk.sndtimeo = l->sk.sndtimeo;
	tp->sk.tos = l->sk.tos;
	tp->sk.ttl = l->sk.ttl;
	tp->sk.v6only = l->sk.v6only;
	tp->nodelay = l->nodelay;
	tp->quickack = l->quickack;
	tp->keep_idle = l->keep_idle;
	tp->keep_intvl = l->keep_intvl;
	tp->keep_cnt = l->keep_cnt;
	tp->user_timeout_ms = l->user_timeout_ms;
	tp->linger2 = l->linger2;
	/* The window that the SYN-ACK promised. */
	tp->rcv_wnd_last = min(atomic_load_explicit(&tp->sk.rcvbuf, memory_order_relaxed) / 2, 65535u);
	tp->rcv_adv = tp->rcv_nxt + tp->rcv_wnd_last;
	tcp_set_state(tp, TCP_SYN_RECV);
	tp->parent = l;
	(void)p;
	return tp;
}

void tcp_req_input(struct ep *e, struct pbuf *p)
{
	struct tcp_req *r = ep_req(e);
	struct tcp_listener *q = r->listener->listener;
	uint8_t f = p->tcp.tcp_flags;
	struct tcp_sock *tp;
	bool closed;

	if ((r->opts & TCP_OPT_TS) && (p->tcp.opts & TCP_OPT_TS) && !(f & TH_RST) &&
	    (int32_t)(p->tcp.tsval - r->ts_recent) < 0) {
		tcp_reply_ack(p, r->iss + 1, r->irs + 1, 65535, true, r->ts_recent);
		goto out;
	}
	if ((f & TH_SYN) && !(f & TH_ACK) && p->tcp.seq == r->irs) { /* our SYN-ACK was lost */
		send_syn_ack(r);
		goto out;
	}
	if (p->tcp.seq - (r->irs + 1) > 65535) {
		if (!(f & TH_RST))
			tcp_reply_ack(p, r->iss + 1, r->irs + 1, 65535, r->opts & TCP_OPT_TS, r->ts_recent);
		goto out;
	}
	if (f & (TH_RST | TH_SYN)) {
		if ((f & TH_SYN) || p->tcp.seq != r->irs + 1) {
			tcp_reply_ack(p, r->iss + 1, r->irs + 1, 65535, r->opts & TCP_OPT_TS, r->ts_recent);
			goto out;
		}
		net_count(tcp_resets_in);
		if (ep_remove(e))
			req_unlink(r);
		goto out;
	}
	if (!(f & TH_ACK))
		goto out;
	if (p->tcp.ack != r->iss + 1) {
		tcp_reply_reset(p);
		goto out;
	}
	/* A full queue: let the peer think the acknowledgement got lost. */
	if (atomic_load_explicit(&q->nr_accept, memory_order_relaxed) > q->backlog) {
		net_count(tcp_listen_overflows);
		goto out;
	}
	tp = child_of(r, p, clock_ns());
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
	net_count(tcp_passive_opens);
	tcp_segment(tp, p);
	spin_lock(&q->lock);
	closed = q->closed;
	if (!closed) {
		list_add_tail(&tp->accept_link, &q->accept); /* takes over the creator's reference */
		atomic_fetch_add_explicit(&q->nr_accept, 1, memory_order_seq_cst);
	}
	spin_unlock(&q->lock);
	if (closed) {
		tp->orphan = true;
		tcp_abort(tp, ECONNRESET);
		tcp_release(tp);
		tcp_put(tp);
		return;
	}
	{
		struct tcp_sock *l = r->listener; /* alive: our caller holds the request */

		tcp_get(tp);
		tcp_release(tp);
		tcp_put(tp);
		if (atomic_load_explicit(&l->sk.rd.count, memory_order_seq_cst))
			wq_wake(&l->sk.rd, 1, EPOLLIN | EPOLLRDNORM);
	}
	return;
out:
	pbuf_free(p);
}

int tcp_listen(struct sock *s, int backlog)
{
	struct tcp_sock *tp = tcp_of(s);
	struct tcp_listener *q;
	int ret = 0;

	backlog = backlog < 0 || backlog > SOMAXCONN ? SOMAXCONN : backlog;
	tcp_own(tp);
	if (tcp_in(tp, TCPF(TCP_LISTEN))) {
		tp->listener->backlog = (unsigned)backlog;
		goto out;
	}
	ret = -EINVAL;
	if (!tcp_in(tp, TCPF(TCP_CLOSE)) || tp->connecting || tp->listener)
		goto out;
	if (!tp->port.port) {
		tp->port.addr = tp->ep.laddr;
		tp->port.v6only = s->v6only || s->family == AF_INET;
		ret = port_bind(&tcp_ports, &tp->port, 0, NULL, NULL);
		if (ret)
			goto out;
		tp->ep.lport = tp->port.port;
	}
	/* Options may have changed since bind(). */
	tp->port.reuseaddr = s->reuseaddr;
	tp->port.reuseport = s->reuseport;
	q = kzalloc(sizeof(*q), GFP_KERNEL | GFP_ACCOUNT);
	ret = q ? port_set_listening(&tcp_ports, &tp->port, true) : -ENOMEM;
	if (ret) {
		kfree(q);
		goto out;
	}
	spin_init(&q->lock, "tcp_listener");
	list_init(&q->accept);
	list_init(&q->reqs);
	q->backlog = (unsigned)backlog;
	tp->listener = q;
	tcp_set_state(tp, TCP_LISTEN);
	listen_insert(tp);
out:
	tcp_release(tp);
	return ret;
}

static struct tcp_sock *accept_pop(struct tcp_listener *q)
{
	struct tcp_sock *tp = NULL;

	spin_lock(&q->lock);
	if (!list_empty(&q->accept)) {
		tp = list_first_entry(&q->accept, struct tcp_sock, accept_link);
		list_del(&tp->accept_link);
		atomic_fetch_sub_explicit(&q->nr_accept, 1, memory_order_relaxed);
	}
	spin_unlock(&q->lock);
	return tp;
}

int tcp_accept(struct sock *s, struct sock **out, bool nonblock)
{
	struct tcp_sock *l = tcp_of(s), *tp;
	uint64_t deadline = nonblock ? 0 : sock_deadline(s->rcvtimeo);
	int ret;

	for (;;) {
		if (!tcp_in(l, TCPF(TCP_LISTEN)))
			return -EINVAL;
		tp = accept_pop(l->listener);
		if (tp)
			break;
		if (nonblock)
			return -EAGAIN;
		/* Exclusive: one connection wakes one acceptor. */
		ret = wait_event_full(
			&s->rd,
			!tcp_in(l, TCPF(TCP_LISTEN)) ||
				atomic_load_explicit(&l->listener->nr_accept, memory_order_acquire),
			THREAD_INTERRUPTIBLE, deadline, true);
		if (ret)
			return sock_intr(ret, s->rcvtimeo);
	}
	tcp_own(tp);
	tp->parent = NULL;
	sock_mem_move(&tp->sk.mem, current_owner());
	tcp_release(tp);
	*out = &tp->sk;
	return 0;
}

/* Owned; the state becomes CLOSE. What waits is reset. */
void tcp_listen_close(struct tcp_sock *l)
{
	struct tcp_listener *q = l->listener;
	struct tcp_sock *tp;

	listen_remove(l);
	tcp_set_state(l, TCP_CLOSE);
	port_release(&tcp_ports, &l->port);
	spin_lock(&q->lock);
	q->closed = true;
	spin_unlock(&q->lock);
	for (;;) {
		struct tcp_req *r = NULL;

		spin_lock(&q->lock);
		if (!list_empty(&q->reqs)) {
			r = list_first_entry(&q->reqs, struct tcp_req, link);
			list_del(&r->link);
			q->nr_syn--;
			/* Still linked, so whoever removes it has not finished: it holds a reference. */
			atomic_fetch_add_explicit(&r->ep.refs, 1, memory_order_relaxed);
		}
		spin_unlock(&q->lock);
		if (!r)
			break;
		if (ep_remove(&r->ep) && timer_cancel(&r->timer))
			ep_put(&r->ep);
		ep_put(&r->ep);
	}
	while ((tp = accept_pop(q))) {
		tcp_own(tp);
		tp->orphan = true;
		tcp_abort(tp, ECONNRESET);
		tcp_free_rxq(tp);
		tcp_release(tp);
		tcp_put(tp);
	}
	l->wake_rd = true;
	l->wake_wr = true;
}
