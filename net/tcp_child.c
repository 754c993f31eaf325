/* SPDX-License-Identifier: MIT */
/*
 * The connection that comes of a SYN: made when the handshake is complete, with
 * the listener's options, charged to the listener's group until accept() moves
 * it to the acceptor's: net/tcp_listen.h.
 */
#include "net/tcp_listen.h"
#include "fs/vfs.h"

/* What a connection inherits from its listener. */
static void inherit(struct tcp_sock *tp, const struct tcp_sock *l)
{
	tp->sk.rcvbuf_locked = l->sk.rcvbuf_locked;
	tp->sk.sndbuf_locked = l->sk.sndbuf_locked;
	atomic_init(&tp->sk.rcvbuf, atomic_load_explicit(&l->sk.rcvbuf, memory_order_relaxed));
	atomic_init(&tp->sk.sndbuf, atomic_load_explicit(&l->sk.sndbuf, memory_order_relaxed));
	tp->sk.rcvlowat = l->sk.rcvlowat;
	tp->sk.keepalive = l->sk.keepalive;
	tp->sk.reuseaddr = l->sk.reuseaddr;
	tp->sk.reuseport = l->sk.reuseport;
	tp->sk.oobinline = l->sk.oobinline;
	tp->sk.linger_on = l->sk.linger_on;
	tp->sk.linger_s = l->sk.linger_s;
	tp->sk.rcvtimeo = l->sk.rcvtimeo;
	tp->sk.sndtimeo = l->sk.sndtimeo;
	tp->sk.tos = l->sk.tos;
	tp->sk.ttl = l->sk.ttl;
	tp->sk.v6only = l->sk.v6only;
	tp->nodelay = l->nodelay;
	tp->quickack = l->quickack;
	tp->inq = l->inq;
	tp->keep_idle = l->keep_idle;
	tp->keep_intvl = l->keep_intvl;
	tp->keep_cnt = l->keep_cnt;
	tp->user_timeout_ms = l->user_timeout_ms;
	tp->linger2 = l->linger2;
	tp->notsent_lowat = l->notsent_lowat;
	tp->user_mss = l->user_mss;
	tp->cc = l->cc;
}

/* Undoes tcp_child() before anybody else knows it. */
static void discard(struct tcp_sock *tp)
{
	tcp_set_state(tp, TCP_CLOSE);
	tcp_release(tp);
	tcp_put(tp);
}

struct tcp_sock *tcp_child(struct tcp_sock *l, const struct ep *e, const struct tcp_offer *o,
			   uint64_t now)
{
	struct tcp_sock *tp = tcp_alloc(l->sk.family, l->sk.mem.owner, GFP_ATOMIC);

	if (!tp)
		return NULL;
	tcp_own(tp);
	inherit(tp, l);
	tp->ep.laddr = e->laddr;
	tp->ep.raddr = e->raddr;
	tp->ep.lport = e->lport;
	tp->ep.rport = e->rport;
	tp->dev = o->dev;
	tp->loopback = o->dev->loopback;
	tp->adv_mss = tcp_local_mss(o->dev, &e->raddr);
	tp->peer_mss = o->mss;
	tp->opts = o->opts;
	tp->snd_wscale = o->opts & TCP_OPT_WSCALE ? o->wscale : 0;
	tp->rcv_wscale = o->opts & TCP_OPT_WSCALE ? TCP_WSCALE : 0;
	tcp_set_mss(tp);
	if (o->sent_ns && !o->repeated)
		tcp_rtt_sample(tp, max(now - o->sent_ns, 1ull), now);
	tp->last_tx_ns = o->sent_ns ? o->sent_ns : now;
	tp->iss = o->iss;
	tp->irs = o->irs;
	tp->snd_una = o->iss;
	tp->snd_nxt = o->iss + 1;
	tp->write_seq = o->iss + 1;
	tp->small_end = o->iss;
	tp->rcv_nxt = o->irs + 1;
	tp->rcv_wup = tp->rcv_nxt;
	tp->answered = tp->rcv_nxt;
	tp->snd_wl1 = o->irs;
	tp->snd_wl2 = o->iss;
	tp->ts_recent = o->ts_recent;
	tp->ts_recent_ns = now;
	/* The window that the SYN-ACK promised. */
	tp->rcv_wnd_last =
		min(atomic_load_explicit(&tp->sk.rcvbuf, memory_order_relaxed) / 2, 65535u);
	tp->rcv_adv = tp->rcv_nxt + tp->rcv_wnd_last;
	tcp_set_state(tp, TCP_SYN_RECV);
	tp->parent = l;
	tp->hold =
		port_hold_get(&tcp_ports, &e->laddr, e->lport, tp->sk.reuseaddr, tp->sk.reuseport);
	if (!tp->hold) {
		discard(tp);
		return NULL;
	}
	return tp;
}

bool tcp_accept_full(struct tcp_listener *q)
{
	if (atomic_load_explicit(&q->nr_accept, memory_order_relaxed) <= q->backlog)
		return false;
	net_count(tcp_listen_overflows);
	return true;
}

void tcp_child_ready(struct tcp_sock *l, struct tcp_sock *tp, struct pbuf *p)
{
	struct tcp_listener *q = l->listener;
	bool closed;

	net_count(tcp_passive_opens);
	tcp_segment(tp, p);
	tcp_get(tp);
	spin_lock(&q->lock);
	closed = q->closed;
	if (!closed) {
		/* takes over the creator's reference */
		list_add_tail(&tp->accept_link, &q->accept);
		atomic_fetch_add_explicit(&q->nr_accept, 1, memory_order_seq_cst);
	}
	spin_unlock(&q->lock);
	if (closed) {
		tp->orphan = true;
		tcp_abort(tp, ECONNRESET);
		tcp_release(tp);
		tcp_put(tp);
		tcp_put(tp);
		return;
	}
	tcp_release(tp);
	tcp_put(tp);
	if (atomic_load_explicit(&l->sk.rd.count, memory_order_seq_cst)) {
		/* A new connection is work enough for another CPU, if one idles. */
		current->wakes_near = false;
		wq_wake(&l->sk.rd, 1, EPOLLIN | EPOLLRDNORM);
	}
}
