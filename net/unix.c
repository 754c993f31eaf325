/* SPDX-License-Identifier: MIT */
/*
 * AF_UNIX sockets: stream, datagram and sequenced packets between processes of
 * this machine; socketpair(), and names in the abstract or path name space.
 *
 * Messages are packet buffers: copied once into pages by the sender, once out
 * by the receiver.  A name is kept in one table whatever it looks like; a path
 * name also makes a node in the file system, which only marks the place.
 *
 * Locks: unix_lock over names, links to peers and accept queues; each socket's
 *        lock (spinlock) over its receive queue.  Order: unix_lock first.
 *        What a queue holds is charged to its receiver.
 * Life:  refs: one for the file, one for each socket whose peer it is, one
 *        while it waits in an accept queue.
 */
#include "net/sock.h"
#include "net/pbuf.h"
#include "net/ip.h"
#include "fs/vfs.h"
#include "kernel/work.h"
#include "mm/slab.h"

#define UNIX_CHUNK 32768u /* stream bytes per message */

struct unix_msg {
	struct unix_msg *next;
	struct pdata *data;
	uint32_t off, len, charged;
	struct scm_files *files;
	struct sa_un from;
	unsigned from_len;
};

struct unix_sock {
	struct sock sk;
	_Atomic int refs;
	struct spinlock lock;      /* first, last, rmem, sk.mem */
	struct unix_msg *first, *last;
	_Atomic uint32_t rmem;     /* truesize queued; read by waiting senders */
	_Atomic unsigned queued;   /* messages; read by waiting readers */
	bool reading;              /* a reader copies the first message (lock) */
	/* unix_lock */
	struct unix_sock *peer;    /* referenced */
	struct list_head name_link, accept, accept_link;
	struct unix_sock *parent;
	unsigned backlog;
	_Atomic unsigned nr_accept;
	_Atomic bool listening;
	_Atomic bool connected;
	struct sa_un name, peer_name;
	unsigned name_len, peer_len; /* 0: none */
};

static struct spinlock unix_lock = SPINLOCK_INIT("unix");
static struct list_head unix_names = LIST_HEAD_INIT(unix_names);
static const struct sock_ops unix_ops;

static struct unix_sock *unix_of(struct sock *s)
{
	return (struct unix_sock *)s;
}

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
	return &u->sk;
}

void scm_free(struct scm_files *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->nr; i++)
		fput(s->file[i]);
	kfree(s);
}

/*
 * Files in messages that nobody read are closed by a worker, one after the other: among
 * them may be a socket whose queue holds the next socket, and so on, as deep as a program
 * likes, and a stack is not.
 */
static _Atomic(struct scm_files *) scm_unread;

static void scm_close_unread(struct work *w)
{
	struct scm_files *s, *next;

	(void)w;
	for (s = atomic_exchange_explicit(&scm_unread, NULL, memory_order_acquire); s; s = next) {
		next = s->next;
		scm_free(s);
		cond_resched();
	}
}

static void scm_free_later(struct scm_files *s)
{
	static struct work work = { .fn = scm_close_unread };

	if (!s)
		return;
	s->next = atomic_load_explicit(&scm_unread, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&scm_unread, &s->next, s, memory_order_seq_cst,
						      memory_order_relaxed))
		;
	work_schedule(&work);
}

static void msg_free(struct unix_msg *m)
{
	pdata_put(m->data);
	scm_free_later(m->files);
	kfree(m);
}

static void unix_get(struct unix_sock *u)
{
	atomic_fetch_add_explicit(&u->refs, 1, memory_order_relaxed);
}

static void unix_put(struct unix_sock *u)
{
	struct unix_msg *m;

	if (!u || atomic_fetch_sub_explicit(&u->refs, 1, memory_order_acq_rel) != 1)
		return;
	while ((m = u->first)) {
		u->first = m->next;
		sock_mem_uncharge(&u->sk.mem, m->charged);
		msg_free(m);
	}
	sock_common_destroy(&u->sk);
	kfree(u);
}

static void wake_all(struct unix_sock *u)
{
	wake_up_poll(&u->sk.rd, EPOLLIN | EPOLLHUP | EPOLLRDHUP);
	wake_up_poll(&u->sk.wr, EPOLLOUT | EPOLLHUP);
}

/* The peer with a reference, or NULL. */
static struct unix_sock *peer_get(struct unix_sock *u)
{
	struct unix_sock *p;

	spin_lock(&unix_lock);
	p = u->peer;
	if (p)
		unix_get(p);
	spin_unlock(&unix_lock);
	return p;
}

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

/* Length of a name that counts, or -EINVAL. */
static int name_check(const union sockaddr_any *a, unsigned len)
{
	if (len < 3 || len > sizeof(struct sa_un) || a->family != AF_UNIX)
		return -EINVAL;
	if (a->un.path[0])
		len = 2 + (unsigned)strnlen(a->un.path, len - 2);
	return (int)len;
}

static struct unix_sock *name_find(const struct sa_un *n, unsigned len)
{
	struct unix_sock *u;

	list_for_each_entry (u, &unix_names, name_link) {
		if (u->name_len == len && !memcmp(&u->name, n, len))
			return u;
	}
	return NULL;
}

static int unix_bind(struct sock *s, const union sockaddr_any *a, unsigned len)
{
	struct unix_sock *u = unix_of(s), *other;
	int n = name_check(a, len), ret = 0;

	if (n < 0)
		return n;
	spin_lock(&unix_lock);
	other = name_find(&a->un, (unsigned)n);
	if (u->name_len)
		ret = -EINVAL;
	else if (other)
		ret = -EADDRINUSE;
	else {
		memset(&u->name, 0, sizeof(u->name));
		memcpy(&u->name, a, (unsigned)n);
		u->name_len = (unsigned)n;
		list_add_tail(&u->name_link, &unix_names);
	}
	spin_unlock(&unix_lock);
	return ret;
}

static int unix_listen(struct sock *s, int backlog)
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

static int connect_stream(struct unix_sock *u, const struct sa_un *name, unsigned len, bool nonblock)
{
	struct sock *ns = unix_create(u->sk.type);
	struct unix_sock *n, *l;
	int ret;

	if (IS_ERR(ns))
		return (int)PTR_ERR(ns);
	n = unix_of(ns);
	for (;;) {
		spin_lock(&unix_lock);
		l = name_find(name, len);
		ret = u->peer ? -EISCONN : !l ? -ENOENT :
		      !atomic_load_explicit(&l->listening, memory_order_relaxed) ? -ECONNREFUSED :
		      l->sk.type != u->sk.type ? -EPROTOTYPE : 0;
		if (!ret && atomic_load_explicit(&l->nr_accept, memory_order_relaxed) <= l->backlog)
			break;
		if (!ret)
			unix_get(l);
		spin_unlock(&unix_lock);
		if (!ret && nonblock) {
			unix_put(l);
			ret = -EAGAIN;
		}
		if (ret)
			goto fail;
		ret = wait_event_interruptible(&l->sk.wr,
			!atomic_load_explicit(&l->listening, memory_order_acquire) ||
			atomic_load_explicit(&l->nr_accept, memory_order_acquire) <= l->backlog);
		unix_put(l);
		if (ret) {
			ret = -ERESTARTSYS;
			goto fail;
		}
	}
	link_peers(u, n);
	n->name = l->name;
	n->name_len = l->name_len;
	n->peer_name = u->name;
	n->peer_len = u->name_len;
	u->peer_name = l->name;
	u->peer_len = l->name_len;
	list_add_tail(&n->accept_link, &l->accept); /* with the creator's reference */
	atomic_fetch_add_explicit(&l->nr_accept, 1, memory_order_seq_cst);
	unix_get(l);
	spin_unlock(&unix_lock);
	wq_wake(&l->sk.rd, 1, EPOLLIN);
	unix_put(l);
	return 0;
fail:
	unix_put(n);
	return ret;
}

static int unix_connect(struct sock *s, const union sockaddr_any *a, unsigned len, bool nonblock)
{
	struct unix_sock *u = unix_of(s), *old = NULL, *p;
	int n, ret = 0;

	if (len >= 2 && a->family == AF_UNSPEC && s->type == SOCK_DGRAM) {
		spin_lock(&unix_lock);
		old = u->peer;
		u->peer = NULL;
		spin_unlock(&unix_lock);
		unix_put(old);
		return 0;
	}
	n = name_check(a, len);
	if (n < 0)
		return n;
	if (s->type != SOCK_DGRAM)
		return connect_stream(u, &a->un, (unsigned)n, nonblock);
	spin_lock(&unix_lock);
	p = name_find(&a->un, (unsigned)n);
	if (!p) {
		ret = -ENOENT;
	} else if (p->sk.type != SOCK_DGRAM) {
		ret = -EPROTOTYPE;
	} else {
		unix_get(p);
		old = u->peer;
		u->peer = p;
		u->peer_name = p->name;
		u->peer_len = p->name_len;
	}
	spin_unlock(&unix_lock);
	unix_put(old);
	return ret;
}

static int unix_accept(struct sock *s, struct sock **out, bool nonblock)
{
	struct unix_sock *l = unix_of(s), *n = NULL;
	int ret;

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
		if (nonblock)
			return -EAGAIN;
		ret = wait_event_full(&s->rd,
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

static int unix_getname(struct sock *s, union sockaddr_any *a, bool peer)
{
	struct unix_sock *u = unix_of(s);
	unsigned len;

	memset(a, 0, sizeof(*a));
	spin_lock(&unix_lock);
	if (peer && !u->peer) {
		spin_unlock(&unix_lock);
		return -ENOTCONN;
	}
	len = peer ? u->peer_len : u->name_len;
	memcpy(&a->un, peer ? &u->peer_name : &u->name, sizeof(a->un));
	spin_unlock(&unix_lock);
	a->family = AF_UNIX;
	if (!len)
		return 2;
	return (int)(a->un.path[0] ? len + 1 : len);
}

static bool has_room(struct unix_sock *to)
{
	return atomic_load_explicit(&to->rmem, memory_order_acquire) <
		       atomic_load_explicit(&to->sk.rcvbuf, memory_order_relaxed) ||
	       (sock_shut(&to->sk) & SOCK_RCV_SHUT);
}

/* Queues one message. 0, -EAGAIN (no room), -ENOBUFS (group's limit), -EPIPE. */
static int deliver(struct unix_sock *to, struct unix_msg *m)
{
	uint32_t ts = pdata_truesize(m->data, m->off, m->len);
	int ret = 0;

	spin_lock(&to->lock);
	if (sock_shut(&to->sk) & SOCK_RCV_SHUT) {
		ret = -EPIPE;
	} else if (!has_room(to)) {
		ret = -EAGAIN;
	} else if (sock_mem_charge(&to->sk.mem, ts, CHARGE_NOSLEEP)) {
		sock_mem_count_dropped(&to->sk.mem);
		ret = -ENOBUFS;
	} else {
		m->charged = ts;
		m->next = NULL;
		if (to->last)
			to->last->next = m;
		else
			to->first = m;
		to->last = m;
		atomic_fetch_add_explicit(&to->rmem, ts, memory_order_relaxed);
		atomic_fetch_add_explicit(&to->queued, 1, memory_order_seq_cst);
	}
	spin_unlock(&to->lock);
	if (!ret && atomic_load_explicit(&to->sk.rd.count, memory_order_seq_cst))
		wake_up_poll(&to->sk.rd, EPOLLIN | EPOLLRDNORM);
	return ret;
}

static ssize_t send_one(struct unix_sock *u, struct unix_sock *to, struct sock_msg *sm, size_t len,
			bool nonblock, uint64_t deadline)
{
	struct unix_msg *m;
	struct pdata *d = NULL;
	int ret;

	if (len) {
		d = pdata_from_iter(sm->it, len);
		if (IS_ERR(d))
			return PTR_ERR(d);
	}
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m) {
		pdata_put(d);
		return -ENOMEM;
	}
	m->data = d;
	m->len = (uint32_t)len;
	m->from = u->name;
	m->from_len = u->name_len;
	m->files = sm->files;
	for (;;) {
		ret = deliver(to, m);
		if (ret != -EAGAIN || nonblock)
			break;
		ret = wait_event_interruptible_timeout(&to->sk.wr, has_room(to), deadline);
		if (ret) {
			ret = sock_intr(ret, u->sk.sndtimeo);
			break;
		}
	}
	if (ret) {
		m->files = NULL;
		msg_free(m);
		return ret;
	}
	sm->files = NULL;
	return (ssize_t)len;
}

static ssize_t unix_sendmsg(struct sock *s, struct sock_msg *m)
{
	struct unix_sock *u = unix_of(s), *to;
	bool nonblock = m->nonblock || (m->flags & MSG_DONTWAIT);
	uint64_t deadline = nonblock ? 0 : sock_deadline(s->sndtimeo);
	size_t done = 0;
	ssize_t ret;

	if (sock_shut(s) & SOCK_SND_SHUT)
		return -EPIPE;
	if (m->name && s->type == SOCK_DGRAM) {
		int n = name_check(m->name, m->name_len);

		if (n < 0)
			return n;
		spin_lock(&unix_lock);
		to = name_find(&m->name->un, (unsigned)n);
		if (to)
			unix_get(to);
		spin_unlock(&unix_lock);
		if (!to)
			return -ENOENT;
	} else {
		to = peer_get(u);
		if (!to)
			return atomic_load_explicit(&u->connected, memory_order_acquire) ? -EPIPE : -ENOTCONN;
	}
	if (s->type == SOCK_STREAM) {
		ret = 0;
		while (m->it->count) {
			ret = send_one(u, to, m, min_t(size_t, m->it->count, UNIX_CHUNK), nonblock, deadline);
			if (ret < 0)
				break;
			done += (size_t)ret;
		}
		if (done)
			ret = (ssize_t)done;
	} else if (m->it->count > 196608) {
		ret = -EMSGSIZE;
	} else {
		ret = send_one(u, to, m, m->it->count, nonblock, deadline);
	}
	unix_put(to);
	return ret;
}

static bool readable(struct unix_sock *u)
{
	return (atomic_load_explicit(&u->queued, memory_order_acquire) &&
		!__atomic_load_n(&u->reading, __ATOMIC_ACQUIRE)) ||
	       (sock_shut(&u->sk) & SOCK_RCV_SHUT);
}

/* Claims the first message for copying; NULL with *err (0: end of file). */
static struct unix_msg *claim(struct unix_sock *u, bool nonblock, uint64_t deadline, int *err)
{
	struct unix_msg *m;

	for (;;) {
		spin_lock(&u->lock);
		m = u->reading ? NULL : u->first;
		if (m)
			__atomic_store_n(&u->reading, true, __ATOMIC_RELAXED);
		spin_unlock(&u->lock);
		if (m)
			return m;
		*err = sock_take_error(&u->sk);
		if (*err)
			return NULL;
		if ((sock_shut(&u->sk) & SOCK_RCV_SHUT) && !atomic_load_explicit(&u->queued, memory_order_acquire)) {
			*err = 0;
			return NULL;
		}
		if (u->sk.type != SOCK_DGRAM && !atomic_load_explicit(&u->connected, memory_order_acquire)) {
			*err = -ENOTCONN;
			return NULL;
		}
		*err = -EAGAIN;
		if (nonblock)
			return NULL;
		*err = wait_event_interruptible_timeout(&u->sk.rd, readable(u), deadline);
		if (*err) {
			*err = sock_intr(*err, u->sk.rcvtimeo);
			return NULL;
		}
	}
}

/* Ends a claim; @gone: the message has been used up. */
static void unclaim(struct unix_sock *u, struct unix_msg *m, bool gone)
{
	spin_lock(&u->lock);
	__atomic_store_n(&u->reading, false, __ATOMIC_RELEASE);
	if (gone) {
		u->first = m->next;
		if (!u->first)
			u->last = NULL;
		atomic_fetch_sub_explicit(&u->rmem, m->charged, memory_order_seq_cst);
		atomic_fetch_sub_explicit(&u->queued, 1, memory_order_relaxed);
		sock_mem_uncharge(&u->sk.mem, m->charged);
	}
	spin_unlock(&u->lock);
	if (gone) {
		msg_free(m);
		if (atomic_load_explicit(&u->sk.wr.count, memory_order_seq_cst))
			wake_up_poll(&u->sk.wr, EPOLLOUT);
	}
	if (atomic_load_explicit(&u->sk.rd.count, memory_order_seq_cst))
		wake_up(&u->sk.rd);
}

static ssize_t unix_recvmsg(struct sock *s, struct sock_msg *m)
{
	struct unix_sock *u = unix_of(s);
	bool nonblock = m->nonblock || (m->flags & MSG_DONTWAIT), stream = s->type == SOCK_STREAM;
	uint64_t deadline = nonblock ? 0 : sock_deadline(s->rcvtimeo);
	size_t want = m->it->count, done = 0;
	int err = 0;

	do {
		bool peek = m->flags & MSG_PEEK, wait = !done || (m->flags & MSG_WAITALL);
		struct unix_msg *msg = claim(u, nonblock || !wait, deadline, &err);
		size_t n, got;

		if (!msg)
			break;
		if (done && msg->files) { /* files begin a new read */
			unclaim(u, msg, false);
			break;
		}
		n = min_t(size_t, msg->len, want - done);
		got = msg->data ? pdata_copy_to_iter(msg->data, msg->off, n, m->it) : 0;
		done += got;
		if (!done && m->name && msg->from_len)
			m->name_len = 0;
		if (m->name) {
			memset(m->name, 0, sizeof(struct sa_un));
			memcpy(&m->name->un, &msg->from, sizeof(msg->from));
			m->name_len = msg->from_len;
		}
		if (msg->files && !m->files && !peek) {
			m->files = msg->files;
			msg->files = NULL;
		}
		if (got < n) {
			err = -EFAULT;
			unclaim(u, msg, false);
			break;
		}
		if (!stream) {
			if (n < msg->len)
				m->out_flags |= MSG_TRUNC;
			if (m->flags & MSG_TRUNC)
				done = msg->len;
			unclaim(u, msg, !peek);
			return (ssize_t)done;
		}
		if (peek) {
			unclaim(u, msg, false);
			break;
		}
		msg->off += (uint32_t)n;
		msg->len -= (uint32_t)n;
		unclaim(u, msg, !msg->len);
		if (m->files)
			break;
	} while (done < want);
	return done ? (ssize_t)done : err;
}

static int unix_shutdown(struct sock *s, int how)
{
	struct unix_sock *u = unix_of(s), *p = peer_get(u);
	unsigned bits = (how != SHUT_WR ? SOCK_RCV_SHUT : 0) | (how != SHUT_RD ? SOCK_SND_SHUT : 0);
	unsigned back = (bits & SOCK_RCV_SHUT ? SOCK_SND_SHUT : 0) | (bits & SOCK_SND_SHUT ? SOCK_RCV_SHUT : 0);

	if (!p && s->type != SOCK_DGRAM)
		return -ENOTCONN;
	atomic_fetch_or_explicit(&s->shut, bits, memory_order_seq_cst);
	wake_all(u);
	if (p && s->type != SOCK_DGRAM) {
		atomic_fetch_or_explicit(&p->sk.shut, back, memory_order_seq_cst);
		wake_all(p);
	}
	unix_put(p);
	return 0;
}

static unsigned unix_poll(struct sock *s, struct file *f, struct poll_table *pt)
{
	struct unix_sock *u = unix_of(s), *p;
	unsigned ev = 0, shut = sock_shut(s);

	poll_wait(f, &s->rd, pt);
	if (atomic_load_explicit(&u->listening, memory_order_acquire))
		return atomic_load_explicit(&u->nr_accept, memory_order_acquire) ? EPOLLIN | EPOLLRDNORM : 0;
	if (atomic_load_explicit(&u->queued, memory_order_acquire))
		ev |= EPOLLIN | EPOLLRDNORM;
	if (shut & SOCK_RCV_SHUT)
		ev |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (shut == (SOCK_RCV_SHUT | SOCK_SND_SHUT))
		ev |= EPOLLHUP;
	p = peer_get(u);
	if (p) {
		/* The file keeps us alive, and we keep the peer whose queue we wait on. */
		poll_wait(f, &p->sk.wr, pt);
		if (has_room(p))
			ev |= EPOLLOUT | EPOLLWRNORM;
		unix_put(p);
	} else {
		ev |= EPOLLOUT | EPOLLWRNORM;
	}
	return ev;
}

static int unix_ioctl(struct sock *s, unsigned cmd, int *value)
{
	struct unix_sock *u = unix_of(s);
	uint32_t n = 0;

	if (cmd != 0x541B)
		return -ENOTTY;
	spin_lock(&u->lock);
	for (struct unix_msg *m = u->first; m; m = m->next) {
		n += m->len;
		if (s->type != SOCK_STREAM)
			break;
	}
	spin_unlock(&u->lock);
	*value = (int)n;
	return 0;
}

static int unix_opt(struct sock *s, int level, int name, const void *val, unsigned len)
{
	(void)s;
	(void)level;
	(void)name;
	(void)val;
	(void)len;
	return -ENOPROTOOPT;
}

static void unix_close(struct sock *s)
{
	struct unix_sock *u = unix_of(s), *p, *n;
	bool unread;

	spin_lock(&unix_lock);
	list_del(&u->name_link);
	p = u->peer;
	u->peer = NULL;
	atomic_store_explicit(&u->listening, false, memory_order_release);
	spin_unlock(&unix_lock);
	unread = atomic_load_explicit(&u->queued, memory_order_relaxed) != 0;
	atomic_fetch_or_explicit(&s->shut, SOCK_RCV_SHUT | SOCK_SND_SHUT, memory_order_seq_cst);
	wake_all(u);
	if (p && s->type != SOCK_DGRAM) {
		if (unread)
			atomic_store_explicit(&p->sk.err, ECONNRESET, memory_order_release);
		atomic_fetch_or_explicit(&p->sk.shut, SOCK_RCV_SHUT | SOCK_SND_SHUT, memory_order_seq_cst);
		wake_all(p);
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
}

static int unix_getopt(struct sock *s, int level, int name, void *val, unsigned *len)
{
	(void)val;
	(void)len;
	return unix_opt(s, level, name, NULL, 0);
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
	.setsockopt = unix_opt,
	.getsockopt = unix_getopt,
	.ioctl = unix_ioctl,
	.close = unix_close,
};
