/* SPDX-License-Identifier: MIT */
/* AF_UNIX sockets: life, options, polling, the table of calls (net/unix.h). */
#include "net/unix.h"
#include "fs/vfs.h"
#include "kernel/errno.h"
#include "mm/slab.h"

struct spinlock unix_lock = SPINLOCK_INIT("unix");
static struct list_head all_sockets = LIST_HEAD_INIT(all_sockets); /* unix_lock */
static const struct sock_ops unix_ops;
/* Who polls datagram sockets for room: any number of them send to one, and may turn to another. */
static struct wait_queue unix_room = {
	.lock = SPINLOCK_INIT("unix_room"), .entries = LIST_HEAD_INIT(unix_room.entries)
};

struct sock *unix_create(int type)
{
	struct unix_sock *u = kzalloc(sizeof(*u), GFP_KERNEL | GFP_ACCOUNT);

	if (!u)
		return ERR_PTR(-ENOMEM);
	sock_common_init(&u->sk, &unix_ops, AF_UNIX, type, 0, current_owner());
	spin_init(&u->lock, "unix_sock");
	atomic_init(&u->refs, 1);
	list_init(&u->name_link);
	list_init(&u->accept);
	list_init(&u->accept_link);
	list_init(&u->gc_link);
	spin_lock(&unix_lock);
	list_add_tail(&u->all_link, &all_sockets);
	spin_unlock(&unix_lock);
	return &u->sk;
}

void unix_for_each(void (*fn)(struct unix_sock *u, void *arg), void *arg)
{
	struct unix_sock *u;

	spin_lock(&unix_lock);
	list_for_each_entry (u, &all_sockets, all_link)
		fn(u, arg);
	spin_unlock(&unix_lock);
}

void unix_get(struct unix_sock *u)
{
	atomic_fetch_add_explicit(&u->refs, 1, memory_order_relaxed);
}

/* Takes a message that nobody reads off the queue; NULL: none.  unix_gc_lock held. */
static struct unix_msg *unread(struct unix_sock *u)
{
	struct unix_msg *m, *read;

	spin_lock(&u->lock);
	read = u->reading ? u->first : NULL;
	m = read ? read->next : u->first;
	if (m) {
		if (read)
			read->next = m->next;
		else
			u->first = m->next;
		if (u->last == m)
			u->last = read;
		atomic_fetch_sub_explicit(&u->rmem, m->charged, memory_order_seq_cst);
		atomic_fetch_sub_explicit(&u->queued, 1, memory_order_relaxed);
		sock_mem_uncharge(&u->sk.mem, m->charged);
	}
	spin_unlock(&u->lock);
	return m;
}

void unix_drop_queue(struct unix_sock *u)
{
	struct unix_msg *m;
	bool any = false;

	do {
		spin_lock(&unix_gc_lock);
		m = unread(u);
		if (m && m->files)
			unix_files_taken(m->files);
		spin_unlock(&unix_gc_lock);
		if (m)
			unix_msg_free(m);
		any |= m != NULL;
	} while (m);
	if (any)
		unix_made_room(u);
}

void unix_put(struct unix_sock *u)
{
	if (!u || atomic_fetch_sub_explicit(&u->refs, 1, memory_order_acq_rel) != 1)
		return;
	spin_lock(&unix_lock);
	list_del(&u->all_link);
	spin_unlock(&unix_lock);
	unix_drop_queue(u);
	sock_common_destroy(&u->sk);
	kfree(u);
}

void unix_made_room(struct unix_sock *u)
{
	struct wait_queue *q = &unix_room;
	struct unix_sock *p = NULL;

	if (atomic_load_explicit(&u->sk.wr.count, memory_order_seq_cst))
		wake_up_poll(&u->sk.wr, EPOLLOUT); /* who sleeps in a send */
	if (u->sk.type != SOCK_DGRAM) {
		p = unix_peer_get(u);
		q = p ? &p->sk.wr : NULL;
	}
	if (q && atomic_load_explicit(&q->count, memory_order_seq_cst))
		wake_up_poll(q, EPOLLOUT | EPOLLWRNORM);
	unix_put(p);
}

void unix_wake_all(struct unix_sock *u)
{
	wake_up_poll(&u->sk.rd, EPOLLIN | EPOLLHUP | EPOLLRDHUP);
	wake_up_poll(&u->sk.wr, EPOLLOUT | EPOLLHUP);
	if (u->sk.type == SOCK_DGRAM &&
	    atomic_load_explicit(&unix_room.count, memory_order_seq_cst))
		wake_up_poll(&unix_room, EPOLLOUT);
}

struct unix_sock *unix_peer_get(struct unix_sock *u)
{
	struct unix_sock *p;

	spin_lock(&unix_lock);
	p = u->peer;
	if (p)
		unix_get(p);
	spin_unlock(&unix_lock);
	return p;
}

static int unix_getname(struct sock *s, union sockaddr_any *a, enum sock_end end)
{
	struct unix_sock *u = unix_of(s);
	bool peer = end != SOCK_END_OWN;
	unsigned len;

	memset(a, 0, sizeof(*a));
	spin_lock(&unix_lock);
	if (end == SOCK_END_PEER && !u->peer) {
		spin_unlock(&unix_lock);
		return -ENOTCONN;
	}
	if (peer)
		u = u->peer;
	len = u ? u->name_len : 0;
	if (len)
		memcpy(&a->un, &u->name, sizeof(a->un));
	spin_unlock(&unix_lock);
	a->family = AF_UNIX;
	if (!len)
		return 2;
	return (int)(a->un.path[0] ? len + 1 : len);
}

static unsigned unix_poll(struct sock *s, struct file *f, struct poll_table *pt)
{
	struct unix_sock *u = unix_of(s), *p;
	unsigned ev = 0, shut = sock_shut(s);

	poll_wait(f, &s->rd, pt);
	if (atomic_load_explicit(&u->listening, memory_order_acquire)) {
		if (atomic_load_explicit(&u->nr_accept, memory_order_acquire))
			ev |= EPOLLIN | EPOLLRDNORM;
		if (shut & SOCK_RCV_SHUT)
			ev |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
		return ev | (shut == (SOCK_RCV_SHUT | SOCK_SND_SHUT) ? EPOLLHUP : 0);
	}
	if (atomic_load_explicit(&u->queued, memory_order_acquire))
		ev |= EPOLLIN | EPOLLRDNORM;
	if (shut & SOCK_RCV_SHUT)
		ev |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (atomic_load_explicit(&s->err, memory_order_acquire))
		ev |= EPOLLERR;
	if (shut == (SOCK_RCV_SHUT | SOCK_SND_SHUT) ||
	    (s->type != SOCK_DGRAM && !atomic_load_explicit(&u->connected, memory_order_relaxed)))
		ev |= EPOLLHUP;
	/* Never on the peer's queues: a datagram socket may get another peer, and this one go. */
	poll_wait(f, s->type == SOCK_DGRAM ? &unix_room : &s->wr, pt);
	p = unix_peer_get(u);
	if (p) {
		if (unix_has_room(p))
			ev |= EPOLLOUT | EPOLLWRNORM;
		unix_put(p);
	} else {
		ev |= EPOLLOUT | EPOLLWRNORM;
	}
	return ev;
}

static int unix_ioctl(struct sock *s, unsigned cmd, int *value)
{
	struct unix_sock *u = unix_of(s), *p;
	uint32_t n = 0;

	if (cmd == 0x5411) { /* SIOCOUTQ: what the other end has not read */
		p = s->type == SOCK_DGRAM ? NULL : unix_peer_get(u);
		*value = p ? (int)atomic_load_explicit(&p->rmem, memory_order_relaxed) : 0;
		unix_put(p);
		return 0;
	}
	if (cmd != 0x541B)
		return -ENOTTY;
	if (atomic_load_explicit(&u->listening, memory_order_relaxed))
		return -EINVAL;
	spin_lock(&u->lock);
	for (struct unix_msg *m = u->first; m; m = m->next) {
		n += m->len;
		if (s->type == SOCK_DGRAM)
			break;
	}
	spin_unlock(&u->lock);
	*value = (int)n;
	return 0;
}

void unix_close(struct sock *s)
{
	struct unix_sock *u = unix_of(s), *p, *n;
	bool unread;

	unix_name_release(u);
	spin_lock(&unix_lock);
	p = u->peer;
	u->peer = NULL;
	/* before shut, which says so */
	atomic_store_explicit(&u->dead, true, memory_order_relaxed);
	atomic_store_explicit(&u->listening, false, memory_order_release);
	spin_unlock(&unix_lock);
	unread = atomic_load_explicit(&u->queued, memory_order_relaxed) != 0;
	atomic_fetch_or_explicit(&s->shut, SOCK_RCV_SHUT | SOCK_SND_SHUT, memory_order_seq_cst);
	unix_wake_all(u);
	if (p && s->type != SOCK_DGRAM) {
		if (unread)
			atomic_store_explicit(&p->sk.err, ECONNRESET, memory_order_release);
		atomic_fetch_or_explicit(&p->sk.shut, SOCK_RCV_SHUT | SOCK_SND_SHUT,
					 memory_order_seq_cst);
		unix_wake_all(p);
	}
	unix_put(p);
	for (;;) { /* connections that nobody accepted */
		spin_lock(&unix_lock);
		n = NULL;
		if (!list_empty(&u->accept)) {
			n = list_first_entry(&u->accept, struct unix_sock, accept_link);
			list_del(&n->accept_link);
		}
		spin_unlock(&unix_lock);
		if (!n)
			break;
		unix_close(&n->sk);
	}
	unix_put(u);
	unix_gc_hint();
}

static const struct sock_ops unix_ops = {
	.bind = unix_bind,
	.connect = unix_connect,
	.listen = unix_listen,
	.accept = unix_accept,
	.getname = unix_getname,
	.sendmsg = unix_sendmsg,
	.recvmsg = unix_recvmsg,
	.shutdown = unix_shutdown,
	.poll = unix_poll,
	.ioctl = unix_ioctl,
	.close = unix_close,
};
