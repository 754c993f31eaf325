/* SPDX-License-Identifier: MIT */
/*
 * Selective acknowledgements (RFC 2018, 2883): the sender's scoreboard
 * lives in the flags of the send queue's elements; the receiver reports its
 * out-of-order queue.
 *
 * An element may have left as several segments that the device cut; it is cut
 * likewise where a block begins or ends.  Only there: what claims to have got
 * part of a segment marks nothing, so nobody makes us cut to crumbs
 * (CVE-2019-11477).
 */
#include "net/tcp.h"
#include "net/tcp_ofo.h"

/* Counts @s as delivered out of order. */
static void mark_sacked(struct tcp_sock *tp, struct tcp_seg *s)
{
	uint32_t n = seg_span(s);

	if (s->flags & SEG_LOST)
		tp->lost -= n;
	if (s->flags & SEG_RETRANS)
		tp->retrans -= n;
	s->flags = (uint8_t)((s->flags & ~(SEG_LOST | SEG_RETRANS)) | SEG_SACKED);
	list_del(&s->tlink);
	tp->sacked += n;
	tp->nr_sacked++;
	tp->sack_hint = s;
}

/* Is the first block a report of a duplicate (RFC 2883)? */
static bool is_dsack(const uint8_t *b, unsigned nr, uint32_t ack)
{
	uint32_t start = get_be32(b), end = get_be32(b + 4);

	if (seq_lt(start, ack)) /* may be covered by this very acknowledgement */
		return seq_lt(start, end) && seq_leq(end, ack);
	return nr > 1 && seq_leq(get_be32(b + 8), start) && seq_leq(end, get_be32(b + 12));
}

/*
 * The first element at or behind @start.  Blocks repeat and grow at the end, so
 * it is near the one that was marked last: nobody can make us walk the whole
 * queue for each block (CVE-2019-11478).
 */
static struct tcp_seg *seek(struct tcp_sock *tp, uint32_t start)
{
	struct list_head *at = tp->sack_hint ? &tp->sack_hint->link : tp->txq.next;

	while (at != &tp->txq && seq_lt(list_entry(at, struct tcp_seg, link)->seq, start))
		at = at->next;
	while (at->prev != &tp->txq &&
	       seq_geq(list_entry(at->prev, struct tcp_seg, link)->seq, start))
		at = at->prev;
	return at == &tp->txq ? NULL : list_entry(at, struct tcp_seg, link);
}

/* Cuts a sent element after @n bytes, some whole segments.  False: there is nothing to cut off. */
static bool cut(struct tcp_sock *tp, struct tcp_seg *s, uint32_t n)
{
	return n && n < s->len && tcp_seg_split(tp, s, n);
}

/* The first element that lies behind @start, after cutting the one that @start lies in. */
static struct tcp_seg *first_within(struct tcp_sock *tp, uint32_t start)
{
	struct tcp_seg *s = seek(tp, start), *before;
	struct list_head *at = s ? s->link.prev : tp->txq.prev;

	if (at == &tp->txq)
		return s;
	before = list_entry(at, struct tcp_seg, link);
	if (seq_lt(start, seg_end(before)) && !(before->flags & SEG_SACKED) &&
	    cut(tp, before, (start - before->seq + tp->mss - 1) / tp->mss * tp->mss))
		return list_entry(before->link.next, struct tcp_seg, link);
	return s;
}

void tcp_sack_update(struct tcp_sock *tp, const struct pbuf *p, uint64_t now,
		     struct tcp_ack_info *a)
{
	const uint8_t *b = p->head + p->tcp.sack_off;
	unsigned nr = p->tcp.nr_sack, i = 0;

	if (!(tp->opts & TCP_OPT_SACKOK) || !nr)
		return;
	if (is_dsack(b, nr, p->tcp.ack)) {
		net_count(tcp_dsack);
		a->dsack = true;
		tp->dsacks++;
		if (tp->undo_retrans && seq_geq(get_be32(b), tp->undo_una))
			tp->undo_retrans--;
		tcp_rack_dsack(tp);
		i = 1;
	}
	for (; i < nr; i++) {
		uint32_t start = get_be32(b + 8 * i), end = get_be32(b + 8 * i + 4);
		struct tcp_seg *s;

		if (!seq_lt(start, end) || seq_lt(start, p->tcp.ack) ||
		    seq_lt(start, tp->snd_una) || seq_gt(end, tp->snd_nxt))
			continue;
		for (s = first_within(tp, start); s && s != tp->tx_next && seq_lt(s->seq, end);
		     s = s->link.next == &tp->txq
				 ? NULL
				 : list_entry(s->link.next, struct tcp_seg, link)) {
			if (s->flags & SEG_SACKED)
				continue;
			if (seq_gt(seg_end(s), end) &&
			    !cut(tp, s, (end - s->seq) / tp->mss * tp->mss))
				break;
			mark_sacked(tp, s);
			tcp_rack_delivered(tp, s, p, now);
			a->delivered += seg_span(s);
			a->first_tx |= s->tx == 1;
			a->sacked = true;
		}
	}
}

/* After a time-out: what it says is lost. */
void tcp_mark_timeout(struct tcp_sock *tp, uint64_t now)
{
	struct tcp_seg *s;
	bool renege = false;

	if (!(tp->opts & TCP_OPT_SACKOK))
		tp->sacked = 0;
	/*
	 * A receiver that reported the very next bytes and does not acknowledge them
	 * has thrown them away (RFC 2018 section 8): then no report counts any more.
	 */
	if (!list_empty(&tp->txq))
		renege = list_first_entry(&tp->txq, struct tcp_seg, link)->flags & SEG_SACKED;
	if ((tp->opts & TCP_OPT_SACKOK) && !renege) {
		tcp_rack_mark_timeout(tp, now);
		return;
	}
	tp->sacked = 0;
	tp->nr_sacked = 0;
	tp->lost = 0;
	tp->retrans = 0;
	tp->rtx_hint = NULL;
	list_for_each_entry (s, &tp->txq, link) {
		if (s == tp->tx_next)
			break;
		s->flags = (uint8_t)((s->flags & ~(SEG_SACKED | SEG_RETRANS)) | SEG_LOST);
		tp->lost += seg_span(s);
		list_del(&s->tlink);
	}
}

bool tcp_mark_longer(struct tcp_sock *tp, uint32_t mss)
{
	struct tcp_seg *s;
	bool any = false;

	list_for_each_entry (s, &tp->txq, link) {
		if (s == tp->tx_next)
			break;
		if ((s->flags & SEG_SACKED) || s->len <= mss)
			continue;
		if (s->flags & SEG_RETRANS)
			tp->retrans -= seg_span(s);
		if (!(s->flags & SEG_LOST))
			tp->lost += seg_span(s);
		s->flags = (uint8_t)((s->flags & ~SEG_RETRANS) | SEG_LOST);
		list_del(&s->tlink);
		any = true;
	}
	tp->rtx_hint = NULL;
	return any;
}

/* Nothing was lost after all: it is in flight since it was sent first. */
void tcp_clear_lost(struct tcp_sock *tp)
{
	struct list_head *at = tp->tx_next ? tp->tx_next->link.prev : tp->txq.prev;

	for (; at != &tp->txq; at = at->prev) {
		struct tcp_seg *s = list_entry(at, struct tcp_seg, link);

		if (s->flags & SEG_SACKED)
			continue;
		if (list_empty(&s->tlink))
			list_add(&s->tlink, &tp->tsq);
		s->flags &= ~(SEG_LOST | SEG_RETRANS);
	}
	tp->lost = 0;
	tp->retrans = 0;
	tp->rtx_hint = NULL;
}

/* Has the end come before what lies in front of it? */
static bool fin_waits(const struct tcp_sock *tp)
{
	return unlikely(tp->fin_rcvd) && seq_gt(tp->fin_seq, tp->rcv_nxt);
}

bool tcp_may_report(const struct tcp_sock *tp)
{
	return tp->ofo || tp->dsack_start != tp->dsack_end || fin_waits(tp);
}

/**
 * tcp_put_sack - write the receiver's report
 * @o: where; @room: bytes left for options (a multiple of 4)
 *
 * A FIN takes a sequence number: without it in the report, the peer would not know of its
 * last segment, and only a time-out would repair a loss before it.
 *
 * Return: bytes written.
 */
unsigned tcp_put_sack(struct tcp_sock *tp, uint8_t *o, unsigned room)
{
	uint32_t blocks[4][2];
	unsigned max = room >= 12 ? min((room - 4) / 8, 4u) : 0, nr = 0;
	bool fin = fin_waits(tp);
	struct tcp_run *r;

	if (!max)
		return 0;
	if (tp->dsack_start != tp->dsack_end) {
		blocks[nr][0] = tp->dsack_start;
		blocks[nr++][1] = tp->dsack_end;
		tp->dsack_start = tp->dsack_end;
	}
	/* The run that changed last comes first (RFC 2018 section 4). */
	list_for_each_entry (r, &tp->ofo_recent, recent) {
		if (nr == max)
			break;
		blocks[nr][0] = r->start;
		blocks[nr][1] = r->end;
		if (fin && r->end == tp->fin_seq) {
			blocks[nr][1]++;
			fin = false;
		}
		nr++;
	}
	if (fin && nr < max) { /* alone, or with what it follows not reported here */
		blocks[nr][0] = tp->fin_seq;
		blocks[nr++][1] = tp->fin_seq + 1;
	}
	if (!nr)
		return 0;
	o[0] = 1;
	o[1] = 1;
	o[2] = 5;
	o[3] = (uint8_t)(2 + 8 * nr);
	for (unsigned i = 0; i < nr; i++) {
		put_be32(o + 4 + 8 * i, blocks[i][0]);
		put_be32(o + 8 + 8 * i, blocks[i][1]);
	}
	return 4 + 8 * nr;
}
