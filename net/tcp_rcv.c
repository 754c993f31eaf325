/* SPDX-License-Identifier: MIT */
/*
 * TCP's receiving half: data into the in-order or out-of-order queue, the
 * window that is offered, and when acknowledgements are due.
 *
 * Every queued packet is charged to the socket by truesize (tcp_pack.c).  A charge that is
 * refused drops the packet: the peer sends it again when memory is there.  So
 * that two ends in one group can't wait for each other's memory for ever, a
 * connection with nothing queued may take FORCED_BYTES past the limit: that,
 * plus structures, is the overrun per connection.
 * Sockets of the root group, which nothing limits, queue little when the machine
 * itself is short; that never decides over a socket of another group.
 * The window never promises more than could be charged now, and never shrinks.
 */
#include "net/tcp.h"
#include "net/tcp_ofo.h"
#include "kernel/param.h"

static unsigned leave_percent = 6;
PARAM_UINT("net.tcp.leave", leave_percent, 0, 100, PARAM_RW,
	   "percent of memory that root-group sockets leave free: below it only little is queued");

#define MODEST (64u << 10) /* bytes a connection may queue whatever the machine is short of */

bool tcp_memory_short(const struct tcp_sock *tp)
{
	static _Atomic uint64_t total;
	uint64_t n = atomic_load_explicit(&total, memory_order_relaxed);

	if (tp->sk.mem.owner)
		return false;
	if (!n) {
		struct page_stats st;

		page_stats(&st);
		n = st.total;
		atomic_store_explicit(&total, n, memory_order_relaxed);
	}
	return page_nr_free() * 100 < n * __atomic_load_n(&leave_percent, __ATOMIC_RELAXED);
}

#define FORCED_BYTES 16384u

/* The overrun: the first bytes of a packet for an empty queue. */
static bool charge_forced(struct tcp_sock *tp, struct pbuf *p)
{
	if (tp->rmem || !p->len)
		return false;
	if (p->len > FORCED_BYTES) {
		p->len = FORCED_BYTES;
		tp->fin_rcvd = false; /* it was behind what we leave out */
	}
	p->charged = tcp_rx_truesize(tp, p);
	if (sock_mem_charge(&tp->sk.mem, p->charged, CHARGE_NOFAIL | CHARGE_NOSLEEP))
		return false;
	tp->rmem += p->charged;
	tp->ack_now = true;
	return true;
}

/*
 * The window bounds bytes; this bounds the overhead of small segments.  A connection with
 * nothing queued takes what it promised, whatever one packet pins: otherwise it would
 * refuse the repetitions as well, for ever.
 */
static bool over_buffer(const struct tcp_sock *tp, uint32_t truesize)
{
	unsigned rcvbuf = atomic_load_explicit(&tp->sk.rcvbuf, memory_order_relaxed);

	return tp->rmem && tp->rmem + truesize > 2 * rcvbuf + truesize / 2;
}

bool tcp_rx_charge(struct tcp_sock *tp, struct pbuf *p, bool in_order)
{
	uint32_t ts = tcp_rx_truesize(tp, p);

	/* Sockets of the root group have no limit but the machine. */
	if (unlikely(tp->rmem > MODEST) && tcp_memory_short(tp)) {
		tcp_ofo_purge(tp);
		if (!in_order || tp->rmem > MODEST)
			goto refused;
	}
	if (over_buffer(tp, ts)) {
		if (!in_order || !tp->ofo)
			goto refused;
		tcp_ofo_purge(tp);
		if (over_buffer(tp, ts))
			goto refused;
	}
	if (sock_mem_charge(&tp->sk.mem, ts, CHARGE_NOSLEEP)) {
		if (in_order)
			tcp_ofo_purge(tp);
		if (!in_order)
			goto refused;
		if (sock_mem_charge(&tp->sk.mem, ts, CHARGE_NOSLEEP)) {
			if (charge_forced(tp, p))
				return true;
			goto refused;
		}
	}
	p->charged = ts;
	tp->rmem += ts;
	return true;
refused:
	sock_mem_count_dropped(&tp->sk.mem);
	net_count(tcp_rcv_dropped);
	return false;
}

void tcp_rx_uncharge(struct tcp_sock *tp, struct pbuf *p)
{
	if (!p->charged)
		return;
	tp->rmem -= p->charged;
	sock_mem_uncharge(&tp->sk.mem, p->charged);
	p->charged = 0;
}

void tcp_free_rxq(struct tcp_sock *tp)
{
	struct pbuf *p;

	tcp_ofo_purge(tp);
	while ((p = pqueue_pop(&tp->rxq))) {
		tcp_rx_uncharge(tp, p);
		pbuf_free(p);
	}
	tp->rx_off = 0;
	atomic_store_explicit(&tp->rx_bytes, 0, memory_order_relaxed);
}

#define DUPACKS      3u           /* duplicates that start a fast retransmission (RFC 5681) */
#define QUICK_ACKS   16u          /* when a stream begins, so many acknowledgements do not wait */
#define LO_ACK_EVERY (256u << 10) /* bytes: frees the sender's buffer while a slow reader reads */

/* The bytes of @p are in order; @p is queued, or what was in it has been copied (@packed). */
void tcp_rx_append(struct tcp_sock *tp, struct pbuf *p, bool packed)
{
	uint32_t n = p->len;

	tp->rcv_nxt += n;
	tp->bytes_in += n;
	if (unlikely(tp->urg_state == URG_EXPECTED))
		tcp_urg_take(tp, p);
	if (packed) {
		tcp_rx_uncharge(tp, p);
		pbuf_free(p);
	} else {
		pqueue_push(&tp->rxq, p);
	}
	/*
	 * Sequentially consistent: a reader that goes to sleep has looked before or is
	 * seen after.
	 */
	atomic_fetch_add_explicit(&tp->rx_bytes, n, memory_order_seq_cst);
	tp->wake_rd = true;
}

/**
 * tcp_data - payload of an acceptable segment
 *
 * Context: owned; the state may receive data.  Consumes @p.
 */
void tcp_data(struct tcp_sock *tp, struct pbuf *p, uint64_t now)
{
	uint32_t end = p->tcp.seq + p->len, edge = tp->rcv_adv, full = tp->mss;
	uint32_t segs = pbuf_segs(p);
	bool packed;

	/* Merged ones tell how long the peer's segments are. */
	if (segs > 1)
		full = min(full, max(p->len / segs, TCP_MSS_DEFAULT4));
	/*
	 * A sender that begins, or begins again, has a small window that acknowledgements
	 * open: the first ones do not wait.
	 */
	if (unlikely(now - tp->last_data_ns > tp->rto)) /* 0 before the first */
		tp->quick = QUICK_ACKS;
	tp->data_segs_in += segs;
	tp->last_data_ns = now;
	if (seq_leq(end, tp->rcv_nxt)) { /* old: acknowledge at once (and say which, RFC 2883) */
		tp->dsack_start = p->tcp.seq;
		tp->dsack_end = end;
		tp->ack_now = true;
		pbuf_free(p);
		return;
	}
	if (seq_lt(p->tcp.seq, tp->rcv_nxt)) {
		tp->dsack_start = p->tcp.seq;
		tp->dsack_end = tp->rcv_nxt;
		pbuf_trim_front(p, tp->rcv_nxt);
	}
	if (seq_gt(end, edge)) {
		uint32_t over = end - edge;

		if (over >= p->len) {
			tp->ack_now = true;
			pbuf_free(p);
			return;
		}
		p->len -= over;
	}
	if (p->tcp.seq != tp->rcv_nxt) {
		tp->ack_now = true;
		tcp_ofo_insert(tp, p);
		/*
		 * A peer without SACK counts: each of the merged segments asks for the
		 * missing one.
		 */
		if (unlikely(segs > 1) && !(tp->opts & TCP_OPT_SACKOK)) {
			for (unsigned n = min(segs, DUPACKS); n > 1; n--)
				tcp_send_ack(tp, now);
			tp->ack_now = true;
		}
		return;
	}
	packed = tcp_pack(tp, &tp->rxq, p);
	if (!packed && !tcp_rx_charge(tp, p, true)) {
		tp->ack_now = true;
		pbuf_free(p);
		return;
	}
	tcp_rx_append(tp, p, packed);
	if (tp->ofo) {
		tcp_ofo_drain(tp);
		tp->ack_now = true; /* a hole was filled (RFC 5681 section 4.2) */
	}
	/*
	 * At least every second full segment; on loopback the reader acknowledges
	 * what it has read, so here only a window that is half used up does, or a
	 * quarter of a megabyte.
	 */
	if (tp->rcv_nxt - tp->rcv_wup >=
	    (tp->loopback ? max(2 * tp->mss, min(tp->rcv_wnd_last / 2, LO_ACK_EVERY)) : 2 * full))
		tp->ack_now = true;
	/*
	 * A reader that leaves the data lying until there is more won't acknowledge it
	 * by reading.
	 */
	if (tp->quickack || tp->hungry || (tp->quick && !tp->interactive && !tp->loopback))
		tp->ack_now = true;
	if (!tp->ack_pending) {
		tp->ack_pending = true;
		tp->delack_at = now + TCP_DELACK;
	}
}

void tcp_fin_received(struct tcp_sock *tp, uint64_t now)
{
	tp->rcv_nxt++;
	tp->ack_now = true;
	tp->fin_rcvd = false;
	tp->fin_done = true;
	atomic_fetch_or_explicit(&tp->sk.shut, SOCK_RCV_SHUT, memory_order_seq_cst);
	tp->wake_rd = true;
	switch (tcp_state(tp)) {
	case TCP_SYN_RECV:
	case TCP_ESTABLISHED:
		tcp_set_state(tp, TCP_CLOSE_WAIT);
		break;
	case TCP_FIN_WAIT1:
		tcp_set_state(tp, TCP_CLOSING);
		break;
	case TCP_FIN_WAIT2:
		tcp_send_ack(tp, now);
		tcp_time_wait(tp, now);
		break;
	}
}

/**
 * tcp_window_room - the window that buffer, memory and the peer's scale allow
 * @least: a window of no more than this is of no interest, so memory need not be asked
 *
 * Half of the free buffer: the other half is for what small segments cost
 * beside their bytes.
 * Context: owned.  Return: bytes.
 */
uint32_t tcp_window_room(const struct tcp_sock *tp, uint32_t least)
{
	unsigned rcvbuf = atomic_load_explicit(&tp->sk.rcvbuf, memory_order_relaxed);
	uint32_t room = rcvbuf > tp->rmem ? (rcvbuf - tp->rmem) / 2 : 0;

	room = min(room, 65535u << tp->rcv_wscale);
	if (room > least && tp->sk.mem.owner) {
		uint64_t head = sock_mem_headroom(&tp->sk.mem) / 2;

		if (room > head)
			room = (uint32_t)head;
	}
	return room & ~((1u << tp->rcv_wscale) - 1);
}

/**
 * tcp_window - the window to offer now
 *
 * Grows in steps of a segment or a quarter of the buffer (silly window, MUST-39)
 * and never takes back what was promised (SHLD-14).
 * Context: owned; the caller sends it, so the promise is noted here.
 * Return: bytes.
 */
uint32_t tcp_window(struct tcp_sock *tp)
{
	unsigned rcvbuf = atomic_load_explicit(&tp->sk.rcvbuf, memory_order_relaxed);
	uint32_t cur = seq_gt(tp->rcv_adv, tp->rcv_nxt) ? tp->rcv_adv - tp->rcv_nxt : 0;
	uint32_t new = tcp_window_room(tp, cur);

	if (new <= cur || new - cur < min(tp->mss, rcvbuf / 4))
		return cur;
	tp->rcv_adv = tp->rcv_nxt + new;
	tp->rcv_wnd_last = new;
	return new;
}
