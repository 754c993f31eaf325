/* SPDX-License-Identifier: MIT */
/*
 * Packets: the header with our window and acknowledgement, and the segments that
 * carry no data of the stream (acknowledgements, probes, resets).
 */
#include "net/tcp.h"
#include "net/rate.h"

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
		if (!p->dev)
			p->dev = route_device(&p->dst);
		if (p->dev && !p->dev->loopback) {
			/* completed by the device, or when cut */
			if ((p->dev->features & NETDEV_CSUM) || p->gso_size) {
				sum = (uint16_t)~csum_fold(csum_pseudo(
					&p->src, &p->dst, pbuf_transport_len(p), IPPROTO_TCP));
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
	n = tcp_put_options(o, tp->opts, syn, tp->adv_mss, tp->rcv_wscale, tcp_ts(now),
			    tp->ts_recent);
	if (may_sack && (tp->opts & TCP_OPT_SACKOK) && tcp_may_report(tp))
		n += tcp_put_sack(tp, o + n, 40 - n);
	pbuf_put(p, n);
	return p;
}

static void tcp_acked_to_peer(struct tcp_sock *tp)
{
	tp->rcv_wup = tp->rcv_nxt;
	if (tp->ack_pending && tp->quick)
		tp->quick--;
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
			p->gso_size = (uint16_t)tp->mss; /* cut by the device, or just before it */
			tp->data_segs_out += (seg->len - 1) / tp->mss;
		}
		tp->data_segs_out++;
		tp->bytes_sent += seg->len;
		if (unlikely(seg->tx))
			tp->bytes_retrans += seg->len;
		/* The end of a write, and of what one packet of several segments brings at once. */
		if ((seg->flags & SEG_PUSH) || seg->len > tp->mss)
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

/*
 * Several new segments have left at once.  From a device that cuts packets the last
 * one of each large packet comes marked, and receivers take that for the end of what
 * they may gather: so we mark the last one of a burst.  It is still in outq.
 */
void tcp_push_last(struct tcp_sock *tp)
{
	struct pbuf *p = tp->outq.last;
	uint8_t *h;
	uint16_t sum;

	if (!p || !p->len || (p->head[p->th + 13] & TH_PSH))
		return;
	h = p->head + p->th;
	h[13] |= TH_PSH;
	if (p->flags & PB_CSUM_PARTIAL)
		return;
	/* The sum grows by the bit, which lies in the second byte of its word (RFC 1624). */
	memcpy(&sum, h + 16, 2);
	sum = csum_fold((uint32_t)(uint16_t)~sum + (TH_PSH << 8));
	memcpy(h + 16, &sum, 2);
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
	tcp_finish(p, tp->snd_nxt, tp->rcv_nxt, TH_ACK | tcp_ecn_flags(tp, false),
		   tcp_window(tp) >> tp->rcv_wscale);
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
	end = in->tcp.seq + in->len + !!(in->tcp.tcp_flags & TH_SYN) +
	      !!(in->tcp.tcp_flags & TH_FIN);
	if (in->tcp.tcp_flags & TH_ACK)
		tcp_finish(p, in->tcp.ack, 0, TH_RST, 0);
	else
		tcp_finish(p, 0, end, TH_RST | TH_ACK, 0);
	ip_output(p, IPPROTO_TCP, IP_TTL_DEFAULT, 0);
}

/*
 * RFC 9293 section 3.5.2 asks for a reset whenever a segment belongs to no connection.  A peer
 * gets this many at once, which is a whole scan of two thousand ports, and as many a second on
 * average; what is beyond that gets none, as if the network had lost it.
 */
#define STRAY_BURST  2000u
#define STRAY_A_SECOND 200u
static struct rate stray = { .gap = NSEC_PER_SEC / STRAY_A_SECOND, .burst = STRAY_BURST };

void tcp_reply_stray(const struct pbuf *in)
{
	if (in->tcp.tcp_flags & TH_RST)
		return;
	if (in->dev->loopback || rate_ok(&stray, &in->src))
		tcp_reply_reset(in);
	else
		net_count(tcp_resets_saved);
}

/* An acknowledgement without a connection: TIME_WAIT and half-open requests. */
void tcp_reply_ack(const struct pbuf *in, uint32_t seq, uint32_t ack, uint32_t wnd, bool ts,
		   uint32_t tsecr)
{
	struct pbuf *p = tcp_packet(&in->dst, in->tcp.dport, &in->src, in->tcp.sport);

	if (!p)
		return;
	pbuf_put(p, tcp_put_options(p->head + p->end, ts ? TCP_OPT_TS : 0, false, 0, 0,
				    tcp_ts(clock_ns()), tsecr));
	tcp_finish(p, seq, ack, TH_ACK, wnd);
	ip_output(p, IPPROTO_TCP, IP_TTL_DEFAULT, 0);
}
