/* SPDX-License-Identifier: MIT */
/*
 * AF_UNIX messages: copied once into pages by the sender, queued at the receiver and
 * charged to it, copied once out (net/unix.h).
 *
 * Files that travel along belong to the queue only under unix_gc_lock, so that who
 * looks for cycles of sockets sees each of them either on its way or not.
 */
#include "net/unix.h"
#include "fs/vfs.h"
#include "kernel/errno.h"
#include "mm/slab.h"

#define UNIX_CHUNK 32768u  /* stream bytes per message */
#define DGRAM_MAX  196608u /* bytes of a datagram */

void unix_msg_free(struct unix_msg *m)
{
	pdata_put(m->data);
	scm_free_later(m->files);
	kfree(m);
}

bool unix_has_room(struct unix_sock *to)
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
		ret = to->sk.type == SOCK_DGRAM &&
				      atomic_load_explicit(&to->dead, memory_order_relaxed)
			      ? -ECONNREFUSED
			      : -EPIPE;
	} else if (!unix_has_room(to)) {
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

/* The same for a message with files. */
static int deliver_files(struct unix_sock *to, struct unix_msg *m)
{
	int ret;

	if (!m->files)
		return deliver(to, m);
	spin_lock(&unix_gc_lock);
	ret = deliver(to, m);
	if (!ret)
		unix_files_queued(m->files);
	spin_unlock(&unix_gc_lock);
	return ret;
}

static struct scm_files *take_files(struct unix_msg *m)
{
	struct scm_files *f;

	spin_lock(&unix_gc_lock);
	f = m->files;
	m->files = NULL;
	if (f)
		unix_files_taken(f);
	spin_unlock(&unix_gc_lock);
	return f;
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
		ret = deliver_files(to, m);
		if (ret != -EAGAIN || nonblock)
			break;
		ret = wait_event_interruptible_timeout(&to->sk.wr, unix_has_room(to), deadline);
		if (ret) {
			ret = sock_intr(ret, u->sk.sndtimeo);
			break;
		}
	}
	if (ret) {
		m->files = NULL;
		unix_msg_free(m);
		return ret;
	}
	sm->files = NULL;
	return (ssize_t)len;
}

/* A connected datagram socket's peer has been closed: it has none any more. */
static void unix_forget_peer(struct unix_sock *u, struct unix_sock *gone)
{
	bool mine;

	spin_lock(&unix_lock);
	mine = u->peer == gone;
	if (mine) {
		u->peer = NULL;
		atomic_store_explicit(&u->connected, false, memory_order_relaxed);
	}
	spin_unlock(&unix_lock);
	if (!mine)
		return;
	unix_drop_queue(u); /* as Linux does: what comes next is from somebody else */
	unix_put(gone);
}

ssize_t unix_sendmsg(struct sock *s, struct sock_msg *m)
{
	struct unix_sock *u = unix_of(s), *to;
	bool nonblock = m->nonblock || (m->flags & MSG_DONTWAIT);
	uint64_t deadline = nonblock ? 0 : sock_deadline(s->sndtimeo);
	size_t done = 0;
	ssize_t ret;

	if (!m->name_len)
		m->name = NULL;
	if (m->name && s->type == SOCK_STREAM)
		return atomic_load_explicit(&u->connected, memory_order_relaxed) ? -EISCONN
										 : -EOPNOTSUPP;
	if (s->type != SOCK_DGRAM && !atomic_load_explicit(&u->connected, memory_order_acquire))
		return -ENOTCONN;
	/* What became of the other end is told once, but to streams only when they read. */
	if (s->type != SOCK_STREAM) {
		ret = sock_take_error(s);
		if (ret)
			return ret;
	}
	if (sock_shut(s) & SOCK_SND_SHUT)
		return -EPIPE;
	if (m->name && s->type == SOCK_DGRAM) {
		to = unix_find(m->name, m->name_len, s->type);
		if (IS_ERR(to))
			return PTR_ERR(to);
		spin_lock(&unix_lock);
		ret = to->sk.type != SOCK_DGRAM ? -EPROTOTYPE : unix_may_send(u, to) ? 0 : -EPERM;
		spin_unlock(&unix_lock);
		if (ret) {
			unix_put(to);
			return ret;
		}
	} else {
		to = unix_peer_get(u);
		if (!to)
			return atomic_load_explicit(&u->connected, memory_order_acquire)
				       ? -EPIPE
				       : -ENOTCONN;
	}
	if (s->type == SOCK_STREAM) {
		ret = 0;
		while (m->it->count) {
			ret = send_one(u, to, m, min_t(size_t, m->it->count, UNIX_CHUNK), nonblock,
				       deadline);
			if (ret < 0)
				break;
			done += (size_t)ret;
		}
		if (done)
			ret = (ssize_t)done;
	} else if (m->it->count > DGRAM_MAX) {
		ret = -EMSGSIZE;
	} else {
		ret = send_one(u, to, m, m->it->count, nonblock, deadline);
		if (ret == -ECONNREFUSED && !m->name)
			unix_forget_peer(u, to);
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
		/* a stream's bytes come first */
		*err = u->sk.type == SOCK_STREAM ? 0 : sock_take_error(&u->sk);
		if (*err)
			return NULL;
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
		if (u->sk.type != SOCK_DGRAM &&
		    !atomic_load_explicit(&u->connected, memory_order_acquire)) {
			*err = u->sk.type == SOCK_STREAM ? -EINVAL : -ENOTCONN;
			return NULL;
		}
		if ((sock_shut(&u->sk) & SOCK_RCV_SHUT) &&
		    !atomic_load_explicit(&u->queued, memory_order_acquire)) {
			*err = u->sk.type == SOCK_DGRAM && nonblock ? -EAGAIN : 0; /* as UDP */
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
	bool full = false;

	spin_lock(&u->lock);
	__atomic_store_n(&u->reading, false, __ATOMIC_RELEASE);
	if (gone) {
		u->first = m->next;
		if (!u->first)
			u->last = NULL;
		full = !unix_has_room(u);
		atomic_fetch_sub_explicit(&u->rmem, m->charged, memory_order_seq_cst);
		atomic_fetch_sub_explicit(&u->queued, 1, memory_order_relaxed);
		sock_mem_uncharge(&u->sk.mem, m->charged);
	}
	spin_unlock(&u->lock);
	if (gone) {
		unix_msg_free(m);
		if (full && unix_has_room(u))
			unix_made_room(u);
	}
	if (atomic_load_explicit(&u->sk.rd.count, memory_order_seq_cst))
		wake_up(&u->sk.rd);
}

ssize_t unix_recvmsg(struct sock *s, struct sock_msg *m)
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
		if (msg->files && !m->files && !peek)
			m->files = take_files(msg);
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
