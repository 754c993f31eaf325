/* SPDX-License-Identifier: MIT */
/*
 * TCP output: which bytes may be sent now, and the segments for them.
 *
 * The send queue is a list of tcp_seg in sequence order; tx_next is the first
 * one not yet sent.  A segment is cut where the window or the segment size ends
 * (both halves share the payload), so sent and unsent bytes never mix in one
 * element.  Partial segments wait while anything is unacknowledged (Nagle, RFC
 * 9293 section 3.7.4): on loopback a reader acknowledges what it has read, so
 * this gathers small writes into large packets exactly while the reader is busy.
 */
#include "net/tcp.h"
#include "mm/slab.h"
#include "kernel/trace.h"

static struct kmem_cache *seg_cache;

int tcp_output_init(void)
{
	seg_cache = kmem_cache_create("tcp_seg", sizeof(struct tcp_seg), 0, 0);
	return seg_cache ? 0 : -ENOMEM;
}

struct tcp_seg *tcp_seg_alloc(struct tcp_sock *tp)
{
	struct tcp_seg *s = kmem_cache_alloc(seg_cache, GFP_ATOMIC);

	if (s) {
		memset(s, 0, sizeof(*s));
		list_init(&s->link);
		list_init(&s->tlink);
		s->seq = tp->write_seq;
	}
	return s;
}

static void seg_uncharge(struct tcp_sock *tp, struct tcp_seg *s, uint32_t n)
{
	s->truesize -= n;
	sock_mem_uncharge(&tp->sk.mem, n);
	atomic_store_explicit(&tp->wmem, atomic_load_explicit(&tp->wmem, memory_order_relaxed) - n,
			      memory_order_relaxed);
}

/* Gives back what was charged for bytes that did not come. */
void tcp_seg_refund(struct tcp_sock *tp, struct tcp_seg *s)
{
	uint32_t n = s->prepaid;

	if (!n)
		return;
	s->prepaid = 0;
	seg_uncharge(tp, s, n);
}

/* Takes @s off the queue, too. */
void tcp_seg_free(struct tcp_sock *tp, struct tcp_seg *s)
{
	if (unlikely(tp->sack_hint == s))
		tp->sack_hint = NULL;
	if (unlikely(tp->rtx_hint == s))
		tp->rtx_hint = NULL;
	list_del(&s->link);
	list_del(&s->tlink);
	if (s->truesize)
		seg_uncharge(tp, s, s->truesize);
	pdata_put(s->data);
	kmem_cache_free(seg_cache, s);
}

void tcp_free_txq(struct tcp_sock *tp)
{
	struct tcp_seg *s, *n;

	list_for_each_entry_safe (s, n, &tp->txq, link)
		tcp_seg_free(tp, s);
	tp->tx_next = NULL;
	tp->sacked = 0;
	tp->nr_sacked = 0;
	tp->lost = 0;
	tp->retrans = 0;
	if (tp->frag) {
		page_put(tp->frag);
		tp->frag = NULL;
	}
}

/* Puts a SYN or FIN behind everything queued: on the last unsent segment, or on one of its own. */
int tcp_queue_flag(struct tcp_sock *tp, uint8_t flag)
{
	struct tcp_seg *s;

	if (flag == SEG_FIN && tp->tx_next) {
		s = list_last_entry(&tp->txq, struct tcp_seg, link);
	} else {
		s = tcp_seg_alloc(tp);
		if (!s)
			return -ENOBUFS;
		list_add_tail(&s->link, &tp->txq);
		if (!tp->tx_next)
			tp->tx_next = s;
	}
	s->flags |= flag;
	tp->write_seq++;
	return 0;
}

bool tcp_seg_split(struct tcp_sock *tp, struct tcp_seg *s, uint32_t n)
{
	struct tcp_seg *r;

	/* The further element costs, too: a peer that makes us cut small must not get it for nothing. */
	if (sock_mem_charge(&tp->sk.mem, sizeof(*r), tp->snd_una == tp->snd_nxt ?
			    CHARGE_NOFAIL | CHARGE_NOSLEEP : CHARGE_NOSLEEP))
		return false;
	r = tcp_seg_alloc(tp);
	if (!r) {
		sock_mem_uncharge(&tp->sk.mem, sizeof(*r));
		return false;
	}
	tcp_seg_refund(tp, s);
	r->seq = s->seq + n;
	r->len = s->len - n;
	r->off = s->off + n;
	r->data = s->data;
	pdata_get(r->data);
	r->truesize = (uint32_t)((uint64_t)s->truesize * r->len / s->len);
	s->truesize -= r->truesize;
	r->truesize += sizeof(*r);
	atomic_store_explicit(&tp->wmem,
			      atomic_load_explicit(&tp->wmem, memory_order_relaxed) + (uint32_t)sizeof(*r),
			      memory_order_relaxed);
	r->flags = s->flags;
	r->tx = s->tx;
	r->sent_ns = s->sent_ns;
	s->len = n;
	s->flags &= ~(SEG_FIN | SEG_PUSH);
	list_add(&r->link, &s->link);
	if (!list_empty(&s->tlink))
		list_add(&r->tlink, &s->tlink);
	if (s->flags & SEG_SACKED)
		tp->nr_sacked++;
	return true;
}

struct pbuf *tcp_packet(const struct ip_addr *src, uint16_t sport, const struct ip_addr *dst,
			uint16_t dport)
{
	struct pbuf *p = pbuf_alloc(56); /* room for link and IPv6 headers */
	uint8_t *h;

	if (!p)
		return NULL;
	p->src = *src;
	p->dst = *dst;
	p->th = p->start;
	h = pbuf_put(p, 20);
	put_be16(h, sport);
	put_be16(h + 2, dport);
	return p;
}

/* Fills in the rest of the header, behind which the options are complete. */
void tcp_finish(struct pbuf *p, uint32_t seq, uint32_t ack, uint8_t flags, uint32_t wnd_field)
{
	uint8_t *h = p->head + p->th;
	uint16_t sum;

	put_be32(h + 4, seq);
	put_be32(h + 8, ack);
	h[12] = (uint8_t)((p->end - p->th) / 4 << 4);
	h[13] = flags;
	put_be16(h + 14, (uint16_t)min_t(uint32_t, wnd_field, 65535));
	put_be16(h + 16, 0);
	put_be16(h + 18, p->tcp.urg);
	if (!p->dev || !p->dev->loopback) {
		struct route rt;

		if (!p->dev && route_lookup(&p->dst, &rt) == 0)
			p->dev = rt.dev;
		if (p->dev && !p->dev->loopback) {
			if (p->dev->features & NETDEV_CSUM) { /* the device completes it */
				sum = (uint16_t)~csum_fold(csum_pseudo(&p->src, &p->dst, pbuf_transport_len(p),
								       IPPROTO_TCP));
				p->flags |= PB_CSUM_PARTIAL;
			} else {
				sum = pbuf_csum(p, IPPROTO_TCP);
			}
			memcpy(h + 16, &sum, 2);
		}
	}
	net_count(tcp_out);
}

/*
 * A connection's packet goes through outq: ip_output() runs when the queue is
 * emptied by tcp_release(), still under ownership.
 */
static void tcp_queue_packet(struct tcp_sock *tp, struct pbuf *p, bool ecn)
{
	p->dev = tp->dev;
	p->tos = tcp_ecn_tos(tp, ecn);
	p->home = tp->home;
	p->ttl = tp->sk.ttl;
	tp->segs_out++;
	pqueue_push(&tp->outq, p);
}

/* Header with our window and acknowledgement.  Clears what the acknowledgement settles. */
static struct pbuf *tcp_build(struct tcp_sock *tp, uint64_t now, bool syn, bool may_sack)
{
	struct pbuf *p = tcp_packet(&tp->ep.laddr, tp->ep.lport, &tp->ep.raddr, tp->ep.rport);
	uint8_t *o;
	unsigned n;

	if (!p)
		return NULL;
	p->dev = tp->dev;
	o = p->head + p->end;
	n = tcp_put_options(o, tp->opts, syn, tp->adv_mss, tp->rcv_wscale, tcp_ts(now), tp->ts_recent);
	if (may_sack && (tp->opts & TCP_OPT_SACKOK) &&
	    (tp->ofo.first || tp->dsack_start != tp->dsack_end))
		n += tcp_put_sack(tp, o + n, 40 - n);
	pbuf_put(p, n);
	return p;
}

static void tcp_acked_to_peer(struct tcp_sock *tp)
{
	tp->rcv_wup = tp->rcv_nxt;
	tp->ack_now = false;
	tp->ack_pending = false;
	tp->delack_at = 0;
}

/*
 * New data leaves.  If it follows a small request that has just come, the next
 * request will be answered soon as well: no acknowledgement of its own then,
 * until the delayed one's timer finds an answer missing.
 */
static void tcp_note_answer(struct tcp_sock *tp, uint64_t now)
{
	if (tp->rcv_nxt == tp->answered)
		return;
	tp->interactive = tp->rcv_nxt - tp->answered < 2 * tp->mss &&
			  now - tp->last_rx_ns < TCP_DELACK;
	tp->answered = tp->rcv_nxt;
}

/* Sends (again) one element of the queue.  False without memory: the timer will try again. */
bool tcp_send_seg(struct tcp_sock *tp, struct tcp_seg *seg, uint64_t now)
{
	bool syn = seg->flags & SEG_SYN;
	uint8_t flags = syn ? TH_SYN : TH_ACK;
	uint32_t wnd;
	struct pbuf *p = tcp_build(tp, now, syn, !syn && !seg->len);

	if (!p) {
		net_count(tcp_no_memory);
		return false;
	}
	if (syn && tcp_state(tp) == TCP_SYN_RECV)
		flags |= TH_ACK;
	if (seg->flags & SEG_FIN)
		flags |= TH_FIN;
	if (unlikely(syn))
		flags |= flags & TH_ACK ? 0 : tcp_ecn_asks(tp) ? TH_ECE | TH_CWR : 0;
	else if (unlikely(tp->opts & TCP_OPT_ECN))
		flags |= tcp_ecn_flags(tp, seg->len && !seg->tx);
	if (seg->len) {
		if (!seg->tx)
			tcp_note_answer(tp, now);
		p->data = seg->data;
		p->off = seg->off;
		p->len = seg->len;
		pdata_get(seg->data);
		if (seg->len > tp->mss) {
			p->gso_size = (uint16_t)tp->mss; /* the device cuts it */
			tp->data_segs_out += (seg->len - 1) / tp->mss;
		}
		tp->data_segs_out++;
		tp->bytes_sent += seg->len;
		if (unlikely(seg->tx))
			tp->bytes_retrans += seg->len;
		if (seg->link.next == &tp->txq || (seg->flags & SEG_PUSH))
			flags |= TH_PSH;
		if (unlikely(tp->urg_send)) {
			p->tcp.urg = tcp_urg_pointer(tp, seg->seq);
			flags |= p->tcp.urg ? TH_URG : 0;
		}
	}
	tcp_seg_refund(tp, seg);
	wnd = tcp_window(tp);
	tcp_finish(p, seg->seq, flags & TH_ACK ? tp->rcv_nxt : 0, flags,
		   syn ? min(wnd, 65535u) : wnd >> tp->rcv_wscale);
	if (flags & TH_ACK)
		tcp_acked_to_peer(tp);
	seg->sent_ns = now;
	list_move_tail(&seg->tlink, &tp->tsq);
	if (unlikely(tp->ca == CA_RECOVERY))
		tp->prr_out += seg->len;
	tp->last_tx_ns = now;
	tcp_queue_packet(tp, p, seg->len && !seg->tx);
	if (seg->tx < 255)
		seg->tx++;
	return true;
}

void tcp_send_ack(struct tcp_sock *tp, uint64_t now)
{
	struct pbuf *p = tcp_build(tp, now, false, true);

	if (!p) { /* try again soon */
		net_count(tcp_no_memory);
		tp->delack_at = now + TCP_DELACK;
		return;
	}
	net_count(tcp_acks_out);
	tcp_finish(p, tp->snd_nxt, tp->rcv_nxt, TH_ACK | tcp_ecn_flags(tp, false), tcp_window(tp) >> tp->rcv_wscale);
	tcp_acked_to_peer(tp);
	tcp_queue_packet(tp, p, false);
}

/* An empty segment one below the window's left edge: whoever gets it must answer. */
void tcp_send_probe(struct tcp_sock *tp, uint64_t now)
{
	struct pbuf *p = tcp_build(tp, now, false, false);

	if (!p)
		return;
	net_count(tcp_probes);
	tcp_finish(p, tp->snd_una - 1, tp->rcv_nxt, TH_ACK, tcp_window(tp) >> tp->rcv_wscale);
	tcp_queue_packet(tp, p, false);
}

/*
 * At a zero window: the next byte (RFC 9293 section 3.8.6.1), which the peer must
 * answer and may take.  It stays unsent for us until an acknowledgement covers it.
 */
void tcp_send_window_probe(struct tcp_sock *tp, uint64_t now)
{
	struct tcp_seg *s = tp->tx_next;
	struct pbuf *p;

	if (!s->len) {
		tcp_send_probe(tp, now);
		return;
	}
	p = tcp_build(tp, now, false, false);
	if (!p)
		return;
	net_count(tcp_probes);
	p->data = s->data;
	p->off = s->off;
	p->len = 1;
	pdata_get(s->data);
	tcp_seg_refund(tp, s);
	tp->probe_byte = true;
	tcp_finish(p, s->seq, tp->rcv_nxt, TH_ACK, tcp_window(tp) >> tp->rcv_wscale);
	tcp_acked_to_peer(tp);
	tcp_queue_packet(tp, p, false);
}

bool tcp_claim_probe(struct tcp_sock *tp)
{
	struct tcp_seg *s = tp->tx_next;

	if (!tp->probe_byte || !s || !s->len)
		return false;
	if (s->len > 1 && !tcp_seg_split(tp, s, 1))
		return false;
	if (s->flags & SEG_FIN) { /* it was the last byte: the FIN goes on its own */
		struct tcp_seg *f = tcp_seg_alloc(tp);

		if (!f)
			return false;
		f->seq = s->seq + 1;
		f->flags = SEG_FIN;
		s->flags &= ~SEG_FIN;
		list_add(&f->link, &s->link);
	}
	tp->probe_byte = false;
	tp->tx_next = s->link.next == &tp->txq ? NULL : list_entry(s->link.next, struct tcp_seg, link);
	tp->snd_nxt = s->seq + 1;
	s->tx = 2; /* no round-trip sample */
	return true;
}

void tcp_send_reset(struct tcp_sock *tp, uint64_t now)
{
	struct pbuf *p = tcp_build(tp, now, false, false);

	if (!p)
		return;
	net_count(tcp_resets_out);
	tcp_finish(p, tp->snd_nxt, tp->rcv_nxt, TH_RST | TH_ACK, 0);
	tcp_queue_packet(tp, p, false);
}

/* RFC 9293 section 3.5.2, group 1. */
void tcp_reply_reset(const struct pbuf *in)
{
	struct pbuf *p;
	uint32_t end;

	if (in->tcp.tcp_flags & TH_RST)
		return;
	p = tcp_packet(&in->dst, in->tcp.dport, &in->src, in->tcp.sport);
	if (!p)
		return;
	net_count(tcp_resets_out);
	end = in->tcp.seq + in->len + !!(in->tcp.tcp_flags & TH_SYN) + !!(in->tcp.tcp_flags & TH_FIN);
	if (in->tcp.tcp_flags & TH_ACK)
		tcp_finish(p, in->tcp.ack, 0, TH_RST, 0);
	else
		tcp_finish(p, 0, end, TH_RST | TH_ACK, 0);
	ip_output(p, IPPROTO_TCP, IP_TTL_DEFAULT, 0);
}

/* An acknowledgement without a connection: TIME_WAIT and half-open requests. */
void tcp_reply_ack(const struct pbuf *in, uint32_t seq, uint32_t ack, uint32_t wnd, bool ts, uint32_t tsecr)
{
	struct pbuf *p = tcp_packet(&in->dst, in->tcp.dport, &in->src, in->tcp.sport);

	if (!p)
		return;
	pbuf_put(p, tcp_put_options(p->head + p->end, ts ? TCP_OPT_TS : 0, false, 0, 0,
				    tcp_ts(clock_ns()), tsecr));
	tcp_finish(p, seq, ack, TH_ACK, wnd);
	ip_output(p, IPPROTO_TCP, IP_TTL_DEFAULT, 0);
}

/* Bytes thought to be in the network (RFC 6675 "pipe"). */
uint32_t tcp_pipe(const struct tcp_sock *tp)
{
	uint32_t out = tp->snd_nxt - tp->snd_una, gone = tp->sacked + tp->lost;

	return (out > gone ? out - gone : 0) + tp->retrans;
}

/* Sends lost segments again as far as the congestion window lets us. */
static void tcp_retransmit(struct tcp_sock *tp, uint64_t now)
{
	struct tcp_seg *s;

	if (likely(tp->lost <= tp->retrans) || tp->frto == FRTO_SECOND)
		return;
	/* Before rtx_hint everything lost has been sent again. */
	s = tp->rtx_hint ? tp->rtx_hint : list_first_entry(&tp->txq, struct tcp_seg, link);
	for (; &s->link != &tp->txq && s != tp->tx_next; s = list_entry(s->link.next, struct tcp_seg, link)) {
		if ((s->flags & (SEG_LOST | SEG_RETRANS)) != SEG_LOST)
			continue;
		tp->rtx_hint = s;
		if (s->len > tp->mss && !tcp_seg_split(tp, s, tp->mss)) /* sent in one, or the path takes less now */
			break;
		if (tp->retrans && tcp_pipe(tp) + s->len > tp->cwnd)
			break;
		if (!tcp_send_seg(tp, s, now))
			break;
		s->flags |= SEG_RETRANS;
		tp->retrans += seg_span(s);
		tp->total_retrans++;
		tp->undo_retrans++;
		if (!tp->retrans_ts)
			tp->retrans_ts = tcp_ts(now);
		net_count(tcp_retransmits);
		trace(tcp_retransmit, tp->ep.lport, s->seq);
		if (tp->ca == CA_RECOVERY)
			net_count(tcp_fast_retransmits);
		if (!tp->rto_at)
			tcp_rto_restart(tp, now);
		if (tp->lost <= tp->retrans)
			break;
	}
}

/* May the last, partial segment leave now? */
static bool tcp_may_send_partial(const struct tcp_sock *tp, const struct tcp_seg *s)
{
	if (s->flags & (SEG_FIN | SEG_SYN))
		return true;
	if (s->link.next != &tp->txq)
		return true; /* more follows: it can't grow */
	if (tp->cork || tp->more)
		return false;
	if (tp->nodelay)
		return true;
	if (tp->snd_nxt == tp->snd_una)
		return true;
	if (tp->loopback)
		return false;
	/* Off this machine only an unacknowledged partial segment holds us back (Minshall). */
	return !seq_gt(tp->small_end, tp->snd_una);
}

/* A partial last segment takes bytes from the next one if the pieces fit together. */
static void tcp_fill(struct tcp_sock *tp, struct tcp_seg *s)
{
	while (s->link.next != &tp->txq && s->len && s->len < tp->mss && !(s->flags & SEG_SYN)) {
		struct tcp_seg *n = list_entry(s->link.next, struct tcp_seg, link);
		uint32_t take = min(tp->mss - s->len, n->len);
		struct pdata *d;

		if (!take || s->data->nr + n->data->nr > PDATA_FRAGS)
			return;
		d = pdata_join(s->data, s->off, s->len, n->data, n->off, take);
		if (!d)
			return;
		pdata_put(s->data);
		s->data = d;
		s->off = 0;
		s->len += take;
		tcp_seg_refund(tp, s);
		tcp_seg_refund(tp, n);
		if (take == n->len) {
			s->truesize += n->truesize;
			n->truesize = 0;
			s->flags |= n->flags & (SEG_FIN | SEG_PUSH);
			tcp_seg_free(tp, n);
		} else {
			uint32_t part = (uint32_t)((uint64_t)n->truesize * take / n->len);

			s->truesize += part;
			n->truesize -= part;
			n->seq += take;
			n->off += take;
			n->len -= take;
		}
	}
}

/* The network was empty for longer than a time-out: what we knew of it is old (RFC 5681 section 4.1). */
static void idle_restart(struct tcp_sock *tp, uint64_t now)
{
	uint64_t idle = now - tp->last_tx_ns;

	if (tp->loopback || !tp->last_tx_ns || idle < tp->rto)
		return;
	tcp_set_mss(tp); /* the way may take more by now */
	tp->cwnd = min(tp->cwnd, tcp_initial_cwnd(tp));
	tp->cc->restart(tp, idle);
}

/* @s has been sent for the first time. */
static void sent(struct tcp_sock *tp, struct tcp_seg *s, uint64_t now)
{
	tp->probe_byte = false;
	if (unlikely(tp->notsent_lowat)) /* who polls may write more now */
		tp->wake_wr = true;
	tp->tx_next = s->link.next == &tp->txq ? NULL : list_entry(s->link.next, struct tcp_seg, link);
	tp->snd_nxt = seg_end(s);
	if (s->len < tp->mss || (s->len > tp->mss && s->len % tp->mss))
		tp->small_end = tp->snd_nxt;
	if (!tp->rto_at)
		tcp_rto_restart(tp, now);
}

/*
 * Most bytes that may leave as one packet: several segments if the device cuts
 * them.  What only the first of them may carry goes alone.
 */
static uint32_t packet_max(const struct tcp_sock *tp)
{
	unsigned tso = addr_is_v4(&tp->ep.raddr) ? NETDEV_TSO4 : NETDEV_TSO6;

	if (likely(tp->loopback) || !(tp->dev->features & tso) || tp->ecn_cwr || tp->urg_send)
		return tp->mss;
	return TCP_SEG_MAX / tp->mss * tp->mss;
}

/* One new segment within the peer's window, whatever the congestion window says: a tail probe. */
void tcp_output_one(struct tcp_sock *tp, uint64_t now)
{
	struct tcp_seg *s = tp->tx_next;
	uint32_t len = min(s->len, tp->mss);

	if (seq_gt(s->seq + len, tp->snd_una + tp->snd_wnd) || (s->flags & SEG_SYN) ||
	    (len < s->len && !tcp_seg_split(tp, s, len)))
		return;
	if (tcp_send_seg(tp, s, now))
		sent(tp, s, now);
}

/**
 * tcp_output - send what the windows and the rules allow
 *
 * Context: owned.  Packets go to tp->outq; tcp_release() hands them over.
 */
void tcp_output(struct tcp_sock *tp, uint64_t now)
{
	uint32_t most = packet_max(tp), mss = tp->mss;
	struct tcp_seg *s;
	bool any = false;

	if (tcp_in(tp, TCPF(TCP_CLOSE) | TCPF(TCP_LISTEN)))
		return;
	tcp_retransmit(tp, now);
	if (tp->tx_next && tp->snd_una == tp->snd_nxt)
		idle_restart(tp, now);
	while ((s = tp->tx_next)) {
		uint32_t flight = tcp_pipe(tp), cw, wnd, room, len;

		if (s->flags & SEG_SYN)
			break; /* sent by connect() and the timer */
		if (tcp_in(tp, TCPF(TCP_SYN_SENT) | TCPF(TCP_SYN_RECV)))
			break;
		cw = tp->cwnd > flight ? tp->cwnd - flight : 0;
		wnd = seq_gt(tp->snd_una + tp->snd_wnd, s->seq) ? tp->snd_una + tp->snd_wnd - s->seq : 0;
		if (s->len && s->len < mss && s->link.next != &tp->txq)
			tcp_fill(tp, s);
		len = min(s->len, most);
		room = min(cw, wnd);
		/* The first segment in an empty network may exceed the congestion window. */
		if (!flight && wnd && room < len)
			room = min(wnd, max(cw, mss));
		if (s->len && !room)
			break;
		if (room < len) {
			/* Sender's silly window rule: a full segment, or half of the largest window. */
			if (room < mss && (flight || room < tp->snd_max_wnd / 2))
				break;
			len = room;
		}
		/* Several segments end with a partial one only where the stream does. */
		if (len > mss && len % mss &&
		    !(len == s->len && s->link.next == &tp->txq && tcp_may_send_partial(tp, s)))
			len -= len % mss;
		if (len == s->len && len < mss && !tcp_may_send_partial(tp, s)) {
			if ((tp->cork || tp->more) && !tp->cork_at)
				tp->cork_at = now + TCP_CORK_MAX;
			break;
		}
		if (len < s->len && !tcp_seg_split(tp, s, len))
			break;
		if (!tcp_send_seg(tp, s, now))
			break;
		sent(tp, s, now);
		any = true;
	}
	if (any)
		tcp_tlp_arm(tp, now);
	if (!tp->tx_next)
		tp->cork_at = 0;
	/* Nothing in flight will open the window: ask for it (persist). */
	if (tp->tx_next && tp->snd_una == tp->snd_nxt && !tp->rto_at && !tp->probe_at && !tp->cork_at &&
	    !tcp_in(tp, TCPF(TCP_SYN_SENT) | TCPF(TCP_SYN_RECV)))
		tp->probe_at = now + max(tp->rto, TCP_RTO_MIN);
	tcp_timer_update(tp);
}
