/* SPDX-License-Identifier: MIT */
/*
 * What a datagram on its way out costs, and who waits for room: net/dgram.h.
 *
 * A packet that a socket sends is charged to the socket until it is freed: by the
 * device once it has been sent, by whoever drops it, or by loopback, from where on
 * the receiver pays.  Cut into pieces (net/frag_out.c), each piece takes its part of
 * the charge along.  A packet holds a reference to who pays, so a socket may be
 * closed while its last datagrams wait for a neighbour or for the device.
 *
 * Locks: the socket's lock over wmem and sk.mem.  pbuf_settle() takes it, so packets
 *        are not freed under locks that it may not be taken in.
 */
#include "net/dgram.h"
#include "fs/vfs.h"
#include "kernel/errno.h"

#define TRIES 3u /* to get room from a group that is at its limit */

uint32_t dgram_cost(const struct dgram_way *w, unsigned head, size_t payload)
{
	unsigned mtu = ip_path_mtu(w->dev, &w->dst), net = ip_header_len(&w->dst);
	size_t total = head + payload;
	uint32_t pieces = 1;

	if (total + net > mtu) /* as net/frag_out.c cuts; a few bytes more or less are one piece */
		pieces = (uint32_t)DIV_ROUND_UP(total, (size_t)(mtu - net - 8) & ~7ul);
	return pieces * (uint32_t)sizeof(struct pbuf) +
	       (payload ? (uint32_t)(sizeof(struct pdata) +
				     ALIGN_UP(payload, (size_t)TRUESIZE_ROUND)) : 0);
}

static inline uint32_t wmem(struct dgram_sock *d)
{
	return atomic_load_explicit(&d->wmem, memory_order_seq_cst);
}

static inline uint32_t sndbuf(struct dgram_sock *d)
{
	return atomic_load_explicit(&d->sk.sndbuf, memory_order_relaxed);
}

/* 0; -EAGAIN: its buffer is full; -ENOMEM: the group refuses. */
static int try_charge(struct dgram_sock *d, uint32_t bytes)
{
	int ret = -EAGAIN;

	spin_lock(&d->lock);
	if (wmem(d) < sndbuf(d)) {
		ret = sock_mem_charge(&d->sk.mem, bytes, CHARGE_NOSLEEP);
		if (!ret)
			atomic_fetch_add_explicit(&d->wmem, bytes, memory_order_seq_cst);
	}
	spin_unlock(&d->lock);
	return ret;
}

/* Is there another reason not to wait any longer? */
static bool stopped(struct dgram_sock *d)
{
	return (sock_shut(&d->sk) & SOCK_SND_SHUT) ||
	       atomic_load_explicit(&d->sk.err, memory_order_relaxed);
}

/* Lets the group make room, as a charge that may sleep does, without holding the socket. */
static bool make_room(struct dgram_sock *d, uint32_t bytes)
{
	struct owner *o = d->sk.mem.owner;
	unsigned got = o ? memcg_charge_sock(o, DIV_ROUND_UP(bytes, PAGE_SIZE), CHARGE_NOOOM) : 0;

	if (got)
		memcg_uncharge(o, got, MEMCG_SOCK);
	return got != 0;
}

int dgram_pay(struct dgram_sock *d, const struct sock_msg *m, struct pbuf *p, uint32_t bytes)
{
	bool nonblock = m->nonblock || (m->flags & MSG_DONTWAIT);
	uint64_t deadline = nonblock ? 0 : sock_deadline(d->sk.sndtimeo);
	unsigned tries = 0;

	/* the receiver's, or gone, before the call returns: never queued here */
	if (p->dev->loopback)
		return 0;
	for (;;) {
		uint32_t before = wmem(d), enough;
		int ret = try_charge(d, bytes);

		if (!ret)
			break;
		if (ret == -ENOMEM && tries++ < TRIES && make_room(d, bytes))
			continue;
		if (ret == -ENOMEM && !before) /* nothing of ours to wait for */
			return -ENOBUFS;
		if (nonblock)
			return -EAGAIN;
		enough = ret == -ENOMEM ? before : sndbuf(d);
		ret = wait_event_interruptible_timeout(&d->sk.wr, wmem(d) < enough || stopped(d),
						       deadline);
		if (ret)
			return sock_intr(ret, d->sk.sndtimeo);
		ret = sock_take_error(&d->sk);
		if (ret)
			return ret;
		if (sock_shut(&d->sk) & SOCK_SND_SHUT)
			return -EPIPE;
	}
	p->flags |= PB_PAID;
	p->paid.by = d;
	p->charged = bytes;
	atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
	return 0;
}

void pbuf_settle(struct pbuf *p)
{
	struct dgram_sock *d = p->paid.by;

	p->flags &= (uint8_t)~PB_PAID;
	spin_lock(&d->lock);
	atomic_fetch_sub_explicit(&d->wmem, p->charged, memory_order_seq_cst);
	sock_mem_uncharge(&d->sk.mem, p->charged);
	spin_unlock(&d->lock);
	p->charged = 0;
	if (atomic_load_explicit(&d->sk.wr.count, memory_order_seq_cst) && dgram_writable(d))
		wake_up_poll(&d->sk.wr, EPOLLOUT | EPOLLWRNORM);
	dgram_put(d);
}

void pbuf_pay_from(struct pbuf *to, struct pbuf *from, uint32_t bytes)
{
	if (!(from->flags & PB_PAID))
		return;
	bytes = min(bytes, from->charged);
	from->charged -= bytes;
	to->charged = bytes;
	to->flags |= PB_PAID;
	to->paid.by = from->paid.by;
	atomic_fetch_add_explicit(&to->paid.by->refs, 1, memory_order_relaxed);
}
