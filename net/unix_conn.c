/* SPDX-License-Identifier: MIT */
/* AF_UNIX: listening, connecting, accepting, shutting down (net/unix.h). */
#include "net/unix.h"
#include "fs/vfs.h"
#include "kernel/errno.h"

/* unix_lock held. */
static void link_peers(struct unix_sock *a, struct unix_sock *b)
{
	unix_get(a);
	unix_get(b);
	a->peer = b;
	b->peer = a;
	atomic_store_explicit(&a->connected, true, memory_order_release);
	atomic_store_explicit(&b->connected, true, memory_order_release);
}

int unix_pair(struct sock *a, struct sock *b)
{
	spin_lock(&unix_lock);
	link_peers(unix_of(a), unix_of(b));
	spin_unlock(&unix_lock);
	return 0;
}

int unix_listen(struct sock *s, int backlog)
{
	struct unix_sock *u = unix_of(s);

	if (s->type == SOCK_DGRAM)
		return -EOPNOTSUPP;
	if (!u->name_len || u->peer)
		return -EINVAL;
	u->backlog = (unsigned)min(backlog < 0 ? SOMAXCONN : max(backlog, 1), SOMAXCONN);
	atomic_store_explicit(&u->listening, true, memory_order_release);
	return 0;
}

/* @l: who has the name; consumed. */
static int connect_stream(struct unix_sock *u, struct unix_sock *l, bool nonblock)
{
	struct sock *ns = unix_create(u->sk.type);
	struct unix_sock *n;
	int ret;

	if (IS_ERR(ns)) {
		unix_put(l);
		return (int)PTR_ERR(ns);
	}
	n = unix_of(ns);
	for (;;) {
		spin_lock(&unix_lock);
		ret = l->sk.type != u->sk.type ? -EPROTOTYPE :
		      !atomic_load_explicit(&l->listening, memory_order_relaxed) ||
				      (sock_shut(&l->sk) & SOCK_RCV_SHUT) ? -ECONNREFUSED :
		      atomic_load_explicit(&u->connected, memory_order_relaxed) ? -EISCONN :
		      atomic_load_explicit(&u->listening, memory_order_relaxed) ? -EINVAL : 0;
		if (!ret && atomic_load_explicit(&l->nr_accept, memory_order_relaxed) <= l->backlog)
			break;
		spin_unlock(&unix_lock);
		if (!ret && nonblock)
			ret = -EAGAIN;
		if (ret)
			goto fail;
		ret = wait_event_interruptible(&l->sk.wr,
			!atomic_load_explicit(&l->listening, memory_order_acquire) ||
			(sock_shut(&l->sk) & SOCK_RCV_SHUT) ||
			atomic_load_explicit(&l->nr_accept, memory_order_acquire) <= l->backlog);
		if (ret) {
			ret = -ERESTARTSYS;
			goto fail;
		}
	}
	link_peers(u, n);
	n->name = l->name;
	n->name_len = l->name_len;
	list_add_tail(&n->accept_link, &l->accept); /* with the creator's reference */
	atomic_fetch_add_explicit(&l->nr_accept, 1, memory_order_seq_cst);
	spin_unlock(&unix_lock);
	wq_wake(&l->sk.rd, 1, EPOLLIN);
	unix_put(l);
	return 0;
fail:
	unix_put(l);
	unix_put(n);
	return ret;
}

int unix_connect(struct sock *s, const union sockaddr_any *a, unsigned len, bool nonblock)
{
	struct unix_sock *u = unix_of(s), *old, *p = NULL;

	if (len < 2 || a->family != AF_UNSPEC || s->type != SOCK_DGRAM) {
		p = unix_find(a, len, s->type);
		if (IS_ERR(p))
			return (int)PTR_ERR(p);
		if (s->type != SOCK_DGRAM)
			return connect_stream(u, p, nonblock);
		if (p->sk.type != SOCK_DGRAM) {
			unix_put(p);
			return -EPROTOTYPE;
		}
	}
	/* A datagram socket gets another peer, or with AF_UNSPEC none. */
	spin_lock(&unix_lock);
	if (p && !unix_may_send(u, p)) {
		spin_unlock(&unix_lock);
		unix_put(p);
		return -EPERM;
	}
	old = u->peer;
	u->peer = p; /* with the reference from unix_find() */
	atomic_store_explicit(&u->connected, p != NULL, memory_order_release);
	spin_unlock(&unix_lock);
	if (old && old != p)
		unix_drop_queue(u); /* what comes next is from somebody else */
	unix_put(old);
	return 0;
}

int unix_accept(struct sock *s, struct sock **out, bool nonblock)
{
	struct unix_sock *l = unix_of(s), *n = NULL;
	int ret;

	if (s->type == SOCK_DGRAM)
		return -EOPNOTSUPP;
	for (;;) {
		if (!atomic_load_explicit(&l->listening, memory_order_acquire))
			return -EINVAL;
		spin_lock(&unix_lock);
		if (!list_empty(&l->accept)) {
			n = list_first_entry(&l->accept, struct unix_sock, accept_link);
			list_del(&n->accept_link);
			atomic_fetch_sub_explicit(&l->nr_accept, 1, memory_order_seq_cst);
		}
		spin_unlock(&unix_lock);
		if (n)
			break;
		if (sock_shut(s) & SOCK_RCV_SHUT)
			return -EINVAL;
		if (nonblock)
			return -EAGAIN;
		ret = wait_event_full(&s->rd,
				      (sock_shut(s) & SOCK_RCV_SHUT) ||
				      atomic_load_explicit(&l->nr_accept, memory_order_acquire) ||
				      !atomic_load_explicit(&l->listening, memory_order_acquire),
				      THREAD_INTERRUPTIBLE, sock_deadline(s->rcvtimeo), true);
		if (ret)
			return sock_intr(ret, s->rcvtimeo);
	}
	wake_up(&s->wr);
	spin_lock(&n->lock);
	sock_mem_move(&n->sk.mem, current_owner());
	spin_unlock(&n->lock);
	*out = &n->sk;
	return 0;
}

int unix_shutdown(struct sock *s, int how)
{
	struct unix_sock *u = unix_of(s), *p = unix_peer_get(u);
	unsigned bits = (how != SHUT_WR ? SOCK_RCV_SHUT : 0) | (how != SHUT_RD ? SOCK_SND_SHUT : 0);
	unsigned back = (bits & SOCK_RCV_SHUT ? SOCK_SND_SHUT : 0) |
			(bits & SOCK_SND_SHUT ? SOCK_RCV_SHUT : 0);

	atomic_fetch_or_explicit(&s->shut, bits, memory_order_seq_cst);
	unix_wake_all(u);
	if (p && s->type != SOCK_DGRAM) {
		atomic_fetch_or_explicit(&p->sk.shut, back, memory_order_seq_cst);
		unix_wake_all(p);
	}
	unix_put(p);
	return 0;
}
