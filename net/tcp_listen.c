/* SPDX-License-Identifier: MIT */
/*
 * Listening, as the program sees it: listen(), accept(), and the end.
 *
 * A connection that waits for accept() is charged to the listener's group and
 * moves to the acceptor's.  Both queues, of half-open requests and of
 * connections, are bounded by the backlog.
 */
#include "net/tcp_listen.h"
#include "fs/vfs.h"
#include "mm/slab.h"

static struct tcp_listener *listener_alloc(void)
{
	struct tcp_listener *q = kzalloc(sizeof(*q), GFP_KERNEL | GFP_ACCOUNT);

	if (!q)
		return NULL;
	spin_init(&q->lock, "tcp_listener");
	list_init(&q->accept);
	list_init(&q->reqs);
	return q;
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
	if (!tcp_in(tp, TCPF(TCP_CLOSE)) || tp->connecting || tp->connected)
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
	q = tp->listener ? tp->listener : listener_alloc();
	ret = q ? port_set_listening(&tcp_ports, &tp->port, true) : -ENOMEM;
	tp->listener = q; /* stays with the socket: packets on their way may still look at it */
	if (ret)
		goto out;
	spin_lock(&q->lock);
	q->backlog = (unsigned)backlog;
	q->closed = false;
	spin_unlock(&q->lock);
	tcp_set_state(tp, TCP_LISTEN);
	listen_insert(tp);
out:
	tcp_release(tp);
	return ret;
}

unsigned tcp_accept_waiting(const struct tcp_sock *l, unsigned *backlog)
{
	const struct tcp_listener *q = l->listener;

	if (backlog)
		*backlog = q ? q->backlog : 0;
	return q ? atomic_load_explicit(&q->nr_accept, memory_order_acquire) : 0;
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
	tp->connected = true;
	sock_mem_move(&tp->sk.mem, current_owner());
	if (tp->snd_una == tp->snd_nxt)
		tp->home = (uint16_t)(cpu_id() + 1);
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
	if (l->orphan || !l->port_locked)
		port_release(&tcp_ports, &l->port);
	else
		(void)port_set_listening(&tcp_ports, &l->port, false);
	spin_lock(&q->lock);
	q->closed = true;
	spin_unlock(&q->lock);
	tcp_req_close_all(q);
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
