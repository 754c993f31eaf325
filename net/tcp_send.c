/* SPDX-License-Identifier: MIT */
/*
 * The program sends: bytes are copied once into fresh pages, pages of files are
 * taken by reference.  Both land at the end of the send queue, in elements of
 * up to one packet's size.
 *
 * Blocking calls return short only for a signal, an error or an end; they wait
 * for their own acknowledgements when the buffer is full or when the group has
 * no memory left while bytes of this socket still hold some.
 */
#include "net/tcp.h"
#include "fs/vfs.h"

/* Payload that one element takes: one packet on loopback, several segments elsewhere. */
static uint32_t seg_goal(const struct tcp_sock *tp)
{
	return likely(tp->mss >= TCP_SEG_MAX / 2) ? tp->mss : TCP_SEG_MAX / tp->mss * tp->mss;
}

/*
 * Charges for up to @want bytes of @page at @off behind the queue and prepares
 * the element that takes them.  Return: bytes that fit (the rest of the element
 * may be less than @want), -ENOMEM.
 */
static long append_begin(struct tcp_sock *tp, struct page *page, uint32_t off, size_t want,
			 struct tcp_seg **out)
{
	struct tcp_seg *s = NULL;
	uint32_t goal = seg_goal(tp), n, cost, extra = 0;

	if (unlikely(tp->notsent_lowat)) { /* owned and not tcp_unsent_enough(): less waits */
		uint32_t unsent = tp->write_seq - tp->snd_nxt;

		want = min_t(size_t, want,
			     max(tp->mss, tp->notsent_lowat - min(unsent, tp->notsent_lowat)));
	}
	if (tp->tx_next) {
		s = list_last_entry(&tp->txq, struct tcp_seg, link);
		if ((s->flags & (SEG_FIN | SEG_SYN | SEG_EOR)) || s->len >= goal || !s->data ||
		    atomic_load_explicit(&s->data->refs, memory_order_relaxed) != 1 ||
		    s->off + s->len != s->data->len)
			s = NULL;
	}
	if (s) {
		struct frag *f = s->data->nr ? &s->data->frags[s->data->nr - 1] : NULL;

		n = (uint32_t)min_t(size_t, want, goal - s->len);
		if (f && f->page == page && f->off + f->len == off)
			cost = ALIGN_UP(f->len + n, (uint32_t)TRUESIZE_ROUND) -
			       ALIGN_UP(f->len, (uint32_t)TRUESIZE_ROUND);
		else if (s->data->nr < PDATA_FRAGS)
			cost = ALIGN_UP(n, (uint32_t)TRUESIZE_ROUND);
		else
			s = NULL;
	}
	if (!s) {
		/* The last of the group's memory is for receivers: they free ours. */
		if (tp->sk.mem.owner && sock_mem_pressure(&tp->sk.mem) &&
		    atomic_load_explicit(&tp->wmem, memory_order_relaxed) &&
		    sock_mem_headroom(&tp->sk.mem) < 2 * TCP_SEG_MAX)
			return -ENOMEM;
		n = (uint32_t)min_t(size_t, want, goal);
		cost = ALIGN_UP(n, (uint32_t)TRUESIZE_ROUND) + sizeof(struct tcp_seg) +
		       sizeof(struct pdata) + sizeof(struct pbuf);
	}
	if (s && s->prepaid >= cost) {
		s->prepaid -= cost;
		*out = s;
		return n;
	}
	/*
	 * A stream on loopback will fill a new element: one charge for all of it.  Elsewhere an
	 * element is many segments, and the charge alone would fill a young buffer.
	 */
	if (!s && tp->loopback && tp->snd_nxt != tp->snd_una && !tp->nodelay && n < goal) {
		extra = goal - n + TRUESIZE_ROUND;
		if (sock_mem_charge(&tp->sk.mem, cost + extra, CHARGE_NOSLEEP))
			extra = 0;
	}
	if (!extra && cost && sock_mem_charge(&tp->sk.mem, cost, CHARGE_NOOOM))
		return -ENOMEM;
	if (!s) {
		s = tcp_seg_alloc(tp);
		if (s)
			s->data = pdata_alloc();
		if (!s || !s->data) {
			if (s)
				tcp_seg_free(tp, s);
			sock_mem_uncharge(&tp->sk.mem, cost + extra);
			return -ENOMEM;
		}
		list_add_tail(&s->link, &tp->txq);
		if (!tp->tx_next)
			tp->tx_next = s;
	}
	s->truesize += cost + extra;
	s->prepaid += extra;
	atomic_store_explicit(&tp->wmem,
			      atomic_load_explicit(&tp->wmem, memory_order_relaxed) + cost + extra,
			      memory_order_relaxed);
	*out = s;
	return n;
}

static void append_end(struct tcp_sock *tp, struct tcp_seg *s, struct page *page, uint32_t off,
		       uint32_t n)
{
	pdata_add(s->data, page, off, n);
	s->flags &= ~SEG_PUSH;
	s->len += n;
	tp->write_seq += n;
}

/* Nothing was added to a fresh element: it goes. */
static void append_cancel(struct tcp_sock *tp, struct tcp_seg *s)
{
	if (s->len)
		return;
	if (tp->tx_next == s)
		tp->tx_next = NULL;
	tcp_seg_free(tp, s);
}

/*
 * May the program write? 0 or -errno; with bytes @done already the error is kept for
 * the next call.
 */
static int write_error(struct tcp_sock *tp, size_t done)
{
	int err;

	if (unlikely(atomic_load_explicit(&tp->sk.err, memory_order_relaxed))) {
		err = done ? -EPIPE : sock_take_error(&tp->sk);
		if (err)
			return err;
	}
	if (sock_shut(&tp->sk) & SOCK_SND_SHUT)
		return -EPIPE;
	if (!tcp_in(tp, TCPF(TCP_ESTABLISHED) | TCPF(TCP_CLOSE_WAIT)))
		return -EPIPE;
	return 0;
}

/* What is queued is all for now: @flag on the last element that has not been sent (MUST-61). */
static void mark_end(struct tcp_sock *tp, uint8_t flag)
{
	if (tp->tx_next)
		list_last_entry(&tp->txq, struct tcp_seg, link)->flags |= flag;
}

static bool may_queue(const struct tcp_sock *tp)
{
	return tcp_wmem_free(tp) && !tcp_unsent_enough(tp, 0);
}

static bool room_or_end(struct tcp_sock *tp, uint32_t enough)
{
	return (atomic_load_explicit(&tp->wmem, memory_order_relaxed) <= enough &&
		!tcp_unsent_enough(tp, 1)) ||
	       atomic_load_explicit(&tp->sk.err, memory_order_relaxed) ||
	       (sock_shut(&tp->sk) & SOCK_SND_SHUT) || tcp_in(tp, TCPF(TCP_CLOSE));
}

/*
 * Lets go until there is room: a third of the buffer (and half of what may wait
 * unsent), or, when it is the group that has no memory, half of what this socket
 * holds.  Owned before and after.
 * Return: 0, -EAGAIN, -EINTR …
 */
static int wait_room(struct tcp_sock *tp, bool nonblock, uint64_t deadline, bool memory)
{
	uint32_t sndbuf = atomic_load_explicit(&tp->sk.sndbuf, memory_order_relaxed);
	uint32_t enough = memory ? atomic_load_explicit(&tp->wmem, memory_order_relaxed) / 2 :
				   sndbuf - sndbuf / 3;
	int ret;

	tp->more = false;
	tp->no_room = true;
	mark_end(tp, SEG_PUSH);
	tcp_output(tp, clock_ns());
	if (nonblock) {
		/* What is queued may have been acknowledged in this very call. */
		tcp_release(tp);
		tcp_own(tp);
		return may_queue(tp) && !memory ? 0 : -EAGAIN;
	}
	tcp_release(tp);
	ret = wait_event_interruptible_timeout(&tp->sk.wr, room_or_end(tp, enough), deadline);
	tcp_own(tp);
	tp->no_room = false;
	return ret ? sock_intr(ret, tp->sk.sndtimeo) : 0;
}

/* Common start of both calls. Owned. */
static int send_begin(struct tcp_sock *tp, bool nonblock, uint64_t deadline)
{
	int ret;

	if (unlikely(tcp_in(tp, TCPF(TCP_SYN_SENT) | TCPF(TCP_SYN_RECV)))) {
		if (nonblock)
			return -EAGAIN;
		ret = tcp_wait_connected(tp, deadline, tp->sk.sndtimeo);
		if (ret)
			return ret;
	}
	tp->no_room = false;
	/* Nothing of ours can be overtaken: the packets may take another queue from now on. */
	if (tp->snd_una == tp->snd_nxt)
		tp->home = (uint16_t)(cpu_id() + 1);
	return 0;
}

/*
 * Sends what the rules allow; most calls only lengthen a packet that waits for an
 * acknowledgement.
 */
static void push(struct tcp_sock *tp, bool more)
{
	struct tcp_seg *s = tp->tx_next;

	tp->more = more;
	if (!s || (s->link.next == &tp->txq && s->len < tp->mss && tp->snd_nxt != tp->snd_una &&
		   tp->rto_at && (more || tp->cork || (tp->loopback && !tp->nodelay))))
		return;
	tcp_output(tp, clock_ns());
}

/*
 * What most calls of a stream do: the whole run fits behind the last element,
 * which is charged for already.  Return: false, with nothing done, otherwise.
 */
static inline bool append_prepaid(struct tcp_sock *tp, uint32_t goal, const struct page_part *v)
{
	struct tcp_seg *s = tp->tx_next;
	struct pdata *d;
	struct frag *f;
	uint32_t len = v->len, cost;

	if (!s || s->link.next != &tp->txq || s->len + len > goal ||
	    (s->flags & (SEG_FIN | SEG_SYN | SEG_EOR)) || unlikely(tp->notsent_lowat))
		return false;
	d = s->data;
	if (!d || !d->nr || atomic_load_explicit(&d->refs, memory_order_relaxed) != 1 ||
	    s->off + s->len != d->len)
		return false;
	f = &d->frags[d->nr - 1];
	if (f->page == v->page && f->off + f->len == v->off) {
		cost = ALIGN_UP(f->len + len, (uint32_t)TRUESIZE_ROUND) -
		       ALIGN_UP(f->len, (uint32_t)TRUESIZE_ROUND);
		if (s->prepaid < cost)
			return false;
		f->len += len;
	} else {
		cost = ALIGN_UP(len, (uint32_t)TRUESIZE_ROUND);
		if (s->prepaid < cost || d->nr == PDATA_FRAGS)
			return false;
		page_get(v->page);
		f++;
		f->page = v->page;
		f->off = v->off;
		f->len = len;
		d->nr++;
	}
	s->prepaid -= cost;
	d->truesize += cost;
	d->len += len;
	s->flags &= ~SEG_PUSH;
	s->len += len;
	tp->write_seq += len;
	return true;
}

ssize_t tcp_send_pages(struct sock *s, const struct page_part *v, unsigned nr, unsigned flags)
{
	struct tcp_sock *tp = tcp_of(s);
	bool nonblock = flags & MSG_DONTWAIT;
	uint64_t deadline = UINT64_MAX;
	size_t done = 0;
	uint32_t at = 0, goal; /* bytes of *v that are queued */
	int err;

	if (s->sndtimeo && !nonblock)
		deadline = sock_deadline(s->sndtimeo);
	tcp_own(tp);
	err = send_begin(tp, nonblock, deadline);
	if (!err)
		err = write_error(tp, done);
	goal = err ? 0 : seg_goal(tp); /* before a handshake there is no segment size */
	while (!err && nr) {
		struct tcp_seg *seg;
		long n;

		if (likely(!at) && likely(append_prepaid(tp, goal, v))) {
			done += v->len;
			v++;
			nr--;
			continue;
		}
		if (unlikely(!may_queue(tp))) {
			err = wait_room(tp, nonblock, deadline, false);
			if (!err)
				err = write_error(tp, done);
			continue;
		}
		n = append_begin(tp, v->page, v->off + at, v->len - at, &seg);
		if (unlikely(n < 0)) {
			err = (int)n;
			if (atomic_load_explicit(&tp->wmem, memory_order_relaxed))
				err = wait_room(tp, nonblock, deadline, true);
			if (!err)
				err = write_error(tp, done);
			continue;
		}
		append_end(tp, seg, v->page, v->off + at, (uint32_t)n);
		done += (size_t)n;
		at += (uint32_t)n;
		if (at == v->len) {
			v++;
			nr--;
			at = 0;
		}
	}
	if (!(flags & MSG_MORE))
		mark_end(tp, SEG_PUSH);
	push(tp, flags & MSG_MORE);
	tcp_release(tp);
	return done ? (ssize_t)done : err;
}

/*
 * A connection that has nothing queued keeps no block: thousands of idle ones
 * would hold a page each.  The last one given up on this CPU is kept for the next
 * that needs one, so a request and its answer cost no allocation.
 */
static DEFINE_PER_CPU(_Atomic(struct page *), spare_frag);

void tcp_frag_idle(struct tcp_sock *tp)
{
	struct page *page = tp->frag;

	tp->frag = NULL;
	if (page->order == 0 && atomic_load_explicit(&page->refs, memory_order_acquire) == 1)
		page = atomic_exchange_explicit(&this_cpu(spare_frag), page, memory_order_acq_rel);
	if (page)
		page_put(page);
}

/* A block for copied bytes; the rest of the last one is used first. */
static int frag_ready(struct tcp_sock *tp, size_t want)
{
	unsigned order = want >= 32768 ? 3 : want > 8192 ? 2 : want > 4096 ? 1 : 0;

	if (tp->frag && tp->frag_off < tp->frag_size)
		return 0;
	if (tp->frag)
		page_put(tp->frag);
	tp->frag =
		order ? NULL
		      : atomic_exchange_explicit(&this_cpu(spare_frag), NULL, memory_order_acq_rel);
	if (!tp->frag)
		tp->frag = page_alloc(order, PAGE_NET, GFP_KERNEL | GFP_NOWARN);
	if (!tp->frag && order) {
		order = 0;
		tp->frag = page_alloc(0, PAGE_NET, GFP_KERNEL);
	}
	if (!tp->frag)
		return -ENOMEM;
	tp->frag_off = 0;
	tp->frag_size = PAGE_SIZE << order;
	return 0;
}

ssize_t tcp_sendmsg(struct sock *s, struct sock_msg *m)
{
	struct tcp_sock *tp = tcp_of(s);
	bool nonblock = m->nonblock || (m->flags & MSG_DONTWAIT);
	uint64_t deadline = nonblock ? 0 : sock_deadline(s->sndtimeo);
	size_t done = 0;
	unsigned filled = 0;
	int err;

	tcp_own(tp);
	err = send_begin(tp, nonblock, deadline);
	if (!err && !m->it->count)
		err = write_error(tp, done);
	while (!err && m->it->count) {
		struct tcp_seg *seg;
		size_t got;
		long n;

		err = write_error(tp, done);
		if (err)
			break;
		if (!may_queue(tp)) {
			err = wait_room(tp, nonblock, deadline, false);
			continue;
		}
		err = frag_ready(tp, m->it->count);
		n = err;
		if (!err)
			n = append_begin(tp, tp->frag, tp->frag_off,
					 min_t(size_t, m->it->count, tp->frag_size - tp->frag_off),
					 &seg);
		if (n < 0) {
			if (!atomic_load_explicit(&tp->wmem, memory_order_relaxed))
				err = (int)n;
			else
				err = wait_room(tp, nonblock, deadline, true);
			continue;
		}
		got = copy_from_iter((char *)page_virt(tp->frag) + tp->frag_off, (size_t)n, m->it);
		if (got)
			append_end(tp, seg, tp->frag, tp->frag_off, (uint32_t)got);
		else
			append_cancel(tp, seg);
		tp->frag_off += (uint32_t)got;
		done += got;
		if (got < (size_t)n)
			err = -EFAULT;
		/* Long writes: the receiver starts while we go on copying. */
		filled += (unsigned)got;
		if (filled >= 2 * TCP_SEG_MAX && m->it->count) {
			filled = 0;
			tcp_output(tp, clock_ns());
			tcp_release(tp);
			tcp_own(tp);
		}
	}
	if (m->flags & MSG_EOR)
		mark_end(tp, SEG_PUSH | SEG_EOR);
	else if (!(m->flags & MSG_MORE) && done)
		mark_end(tp, SEG_PUSH);
	if (unlikely(m->flags & MSG_OOB) && done)
		tcp_urg_queued(tp);
	push(tp, m->flags & MSG_MORE);
	tcp_release(tp);
	return done ? (ssize_t)done : err;
}
