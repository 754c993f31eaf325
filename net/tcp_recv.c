/* SPDX-License-Identifier: MIT */
/*
 * The program receives: the one copy of loopback traffic.
 *
 * The reader looks at the queue under ownership, then copies without it, so
 * packets go on arriving (they are appended behind what it saw) while rx_busy
 * keeps other readers away and the head of the queue in place.  What it has
 * read is taken off under ownership, which opens the window; freeing happens
 * after ownership is gone.
 */
#include "net/tcp.h"

/* Copies up to @n bytes that are queued from @first on. No ownership needed. */
static size_t copy_queue(struct pbuf *first, uint32_t skip, size_t n, struct iov_iter *it)
{
	size_t done = 0;

	for (struct pbuf *p = first;; p = pbuf_next(p)) {
		size_t part = min_t(size_t, p->len - skip, n), got;

		got = pdata_copy_to_iter(p->data, p->off + skip, part, it);
		done += got;
		n -= part;
		/* The last one's link may be written at this moment: not read. */
		if (got < part || !n)
			break;
		skip = 0;
	}
	return done;
}

/* The receive buffer follows a program that empties whole windows. */
static void autotune(struct tcp_sock *tp, size_t n)
{
	unsigned rcvbuf = atomic_load_explicit(&tp->sk.rcvbuf, memory_order_relaxed);

	tp->copied += n;
	if (tp->copied < rcvbuf / 2)
		return;
	tp->copied = 0;
	if (tp->sk.rcvbuf_locked || rcvbuf >= TCP_RCVBUF_MAX || sock_mem_pressure(&tp->sk.mem) ||
	    tcp_memory_short(tp))
		return;
	if (tp->sk.mem.owner && sock_mem_headroom(&tp->sk.mem) < 2ull * rcvbuf)
		return;
	atomic_store_explicit(&tp->sk.rcvbuf, min(2 * rcvbuf, TCP_RCVBUF_MAX),
			      memory_order_relaxed);
}

/* Takes @n bytes off the queue; whole packets go to @dead. Owned. */
static void consume(struct tcp_sock *tp, size_t n, struct pqueue *dead)
{
	uint32_t freed = 0, rcvbuf, cur, news;

	atomic_fetch_sub_explicit(&tp->rx_bytes, (uint32_t)n, memory_order_relaxed);
	autotune(tp, n);
	while (n) {
		struct pbuf *p = tp->rxq.first;
		uint32_t left = p->len - tp->rx_off;

		if (n < left) {
			tp->rx_off += (uint32_t)n;
			break;
		}
		n -= left;
		tp->rx_off = 0;
		pqueue_pop(&tp->rxq);
		freed += p->charged;
		pqueue_push(dead, p);
	}
	if (freed) {
		tp->rmem -= freed;
		sock_mem_uncharge(&tp->sk.mem, freed);
	}
	if (!tcp_in(tp, TCPF(TCP_ESTABLISHED) | TCPF(TCP_FIN_WAIT1) | TCPF(TCP_FIN_WAIT2)))
		return;
	/*
	 * Acknowledge what was read when the queue is empty, unless an answer is
	 * likely to do so, and tell of room when the window can double and grow by
	 * two segments or a quarter of the buffer.
	 */
	if (tp->ack_pending && !tp->rxq.first && !tp->interactive) {
		tp->ack_now = true;
		return;
	}
	rcvbuf = atomic_load_explicit(&tp->sk.rcvbuf, memory_order_relaxed);
	cur = seq_gt(tp->rcv_adv, tp->rcv_nxt) ? tp->rcv_adv - tp->rcv_nxt : 0;
	news = cur + max(cur, min(2 * tp->mss, rcvbuf / 4));
	if (tcp_window_room(tp, news - 1) >= news)
		tp->ack_now = true;
}

static bool data_or_end(struct tcp_sock *tp, size_t want)
{
	return atomic_load_explicit(&tp->rx_bytes, memory_order_acquire) >= want ||
	       atomic_load_explicit(&tp->sk.err, memory_order_relaxed) ||
	       (sock_shut(&tp->sk) & SOCK_RCV_SHUT) || tcp_in(tp, TCPF(TCP_CLOSE));
}

/*
 * Nothing is queued: 1 for end of file, 0 to wait, -errno, which is kept for the next
 * call if @done. Owned.
 */
static int read_end(struct tcp_sock *tp, bool done)
{
	int err;

	if (tp->fin_done || (done && atomic_load_explicit(&tp->sk.err, memory_order_relaxed)))
		return 1;
	err = sock_take_error(&tp->sk);
	if (err)
		return err;
	if (sock_shut(&tp->sk) & SOCK_RCV_SHUT)
		return 1;
	if (tcp_in(tp, TCPF(TCP_CLOSE) | TCPF(TCP_LISTEN)))
		return -ENOTCONN;
	return 0;
}

/* The next reader's turn comes when rx_busy has gone; it sleeps on the same queue. */
static int wait_turn(struct tcp_sock *tp, bool nonblock, uint64_t deadline)
{
	int ret;

	if (nonblock)
		return -EAGAIN;
	tp->rx_turn = true;
	tcp_release(tp);
	ret = wait_event_interruptible_timeout(
		&tp->sk.rd, !__atomic_load_n(&tp->rx_busy, __ATOMIC_ACQUIRE), deadline);
	tcp_own(tp);
	return ret ? sock_intr(ret, tp->sk.rcvtimeo) : 0;
}

ssize_t tcp_recvmsg(struct sock *s, struct sock_msg *m)
{
	struct tcp_sock *tp = tcp_of(s);
	bool nonblock = m->nonblock || (m->flags & MSG_DONTWAIT);
	bool peek = m->flags & MSG_PEEK, discard = m->flags & MSG_TRUNC;
	uint64_t deadline = nonblock ? 0 : sock_deadline(s->rcvtimeo);
	size_t want = m->it->count, done = 0, target;
	/* MSG_PEEK: 1 behind an urgent byte at the front, which is not in the stream */
	size_t hole = 0;
	struct pqueue dead = { 0 };
	int err = 0;

	if (m->flags & MSG_ERRQUEUE)
		return -EAGAIN;
	if (tcp_in(tp, TCPF(TCP_LISTEN)))
		return -ENOTCONN;
	if (m->flags & MSG_OOB)
		return tcp_urg_recv(tp, m);
	/* Who asks for nothing hears whether there is something, as on Linux. */
	target = m->flags & MSG_WAITALL ? want : min_t(size_t, max(s->rcvlowat, 1u), want);
	target = max_t(size_t, target, 1);
	tcp_own(tp);
	while (done < want || !want) {
		size_t avail, n, got;

		if (unlikely(tp->rx_busy)) {
			err = wait_turn(tp, nonblock, deadline);
			if (err)
				break;
			continue;
		}
		avail = atomic_load_explicit(&tp->rx_bytes, memory_order_relaxed);
		if (peek)
			avail -= min(avail, done + hole);
		if (avail && want) {
			struct pbuf *first = tp->rxq.first;
			uint32_t skip = tp->rx_off;

			n = min(avail, want - done);
			if (unlikely(tp->urg_state)) {
				uint32_t before = tcp_urg_distance(tp);

				if (before == UINT32_MAX) {
					tp->urg_state = URG_NONE; /* passed */
				} else if (done && before == (peek ? done : 0)) {
					break; /* a call ends in front of it */
				} else if (!before && !s->oobinline && m->spliced) {
					err = 1; /* only read() passes the mark */
					break;
				} else if (!before && !s->oobinline && !peek) {
					consume(tp, 1, &dead); /* it is not in the stream */
					tp->urg_state = URG_NONE;
					continue;
				} else if (!before && !s->oobinline && !hole) {
					hole = 1;
					continue;
				} else if (before) {
					n = min_t(size_t, n, before - (peek ? done : 0));
				}
			}
			/* MSG_PEEK | MSG_WAITALL: behind what was copied */
			if (peek && done + hole) {
				size_t at = done + hole + skip;

				while (at >= first->len) {
					at -= first->len;
					first = pbuf_next(first);
				}
				skip = (uint32_t)at;
			}
			if (discard) {
				got = n;
			} else {
				__atomic_store_n(&tp->rx_busy, true, __ATOMIC_RELAXED);
				tp->rx_seen = tp->rxq.last;
				tcp_release(tp);
				pqueue_purge(&dead);
				got = copy_queue(first, skip, n, m->it);
				tcp_own(tp);
				__atomic_store_n(&tp->rx_busy, false, __ATOMIC_RELEASE);
				if (unlikely(tp->rx_turn)) { /* another reader waits for its turn */
					tp->rx_turn = false;
					tp->wake_rd = true;
				}
			}
			done += got;
			if (!peek && got) {
				consume(tp, got, &dead);
				/* Packets in the backlog will be acknowledged with it. */
				if (tp->ack_now && !own_pending(&tp->own))
					tcp_send_ack(tp, clock_ns());
			}
			if (got < n) {
				err = -EFAULT;
				break;
			}
			if (peek && !(m->flags & MSG_WAITALL))
				break;
			continue;
		}
		if (done >= target || (avail && !want) ||
		    (unlikely(tp->urg_state) && done && !tcp_urg_distance(tp)))
			break;
		err = read_end(tp, done != 0);
		if (err)
			break;
		if (nonblock) {
			err = -EAGAIN;
			break;
		}
		tp->hungry = target > 1;
		tcp_release(tp);
		pqueue_purge(&dead);
		n = 1;
		if (peek)
			n = done + hole + 1;
		else if (!(m->flags &
			   MSG_WAITALL)) /* SO_RCVLOWAT; never more than the buffer can hold */
			n = min_t(size_t, target,
				  atomic_load_explicit(&s->rcvbuf, memory_order_relaxed) / 4 + 1);
		err = wait_event_interruptible_timeout(&s->rd, data_or_end(tp, n), deadline);
		tcp_own(tp);
		if (err) {
			err = sock_intr(err, s->rcvtimeo);
			break;
		}
	}
	if (unlikely(tp->inq) && done) { /* the end of the stream counts as one */
		m->anc.have |= ANC_INQ;
		m->anc.inq = (int)atomic_load_explicit(&tp->rx_bytes, memory_order_relaxed);
		if (!m->anc.inq && (sock_shut(s) & SOCK_RCV_SHUT))
			m->anc.inq = 1;
	}
	tcp_release(tp);
	pqueue_purge(&dead);
	if (done || err == 1)
		return (ssize_t)done;
	return err;
}
