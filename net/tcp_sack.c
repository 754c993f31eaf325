/* SPDX-License-Identifier: MIT */
/*
 * Selective acknowledgements (RFC 2018, 2883, 6675): the sender's scoreboard
 * lives in the flags of the send queue's elements; the receiver reports its
 * out-of-order queue.
 *
 * A block that covers an element only in part marks nothing: elements are what
 * was sent in one packet, so honest blocks end where they end.
 */
#include "net/tcp.h"

#define DUP_THRESH 3 /* RFC 6675: segments above a hole that make it a loss */

/* Counts @s as delivered out of order. */
static void mark_sacked(struct tcp_sock *tp, struct tcp_seg *s)
{
	uint32_t n = seg_span(s);

	if (s->flags & SEG_LOST)
		tp->lost -= n;
	if (s->flags & SEG_RETRANS)
		tp->retrans -= n;
	s->flags = (uint8_t)((s->flags & ~(SEG_LOST | SEG_RETRANS)) | SEG_SACKED);
	tp->sacked += n;
}

/* Is the first block a report of a duplicate (RFC 2883)? */
static bool is_dsack(const struct tcp_sock *tp, const uint8_t *b, unsigned nr, uint32_t ack)
{
	uint32_t start = get_be32(b), end = get_be32(b + 4);

	if (seq_lt(start, ack))
		return seq_leq(end, ack) && tp->snd_una - start < 1u << 30;
	return nr > 1 && seq_leq(get_be32(b + 8), start) && seq_leq(end, get_be32(b + 12));
}

bool tcp_sack_update(struct tcp_sock *tp, const struct pbuf *p)
{
	const uint8_t *b = p->head + p->tcp.sack_off;
	unsigned nr = p->tcp.nr_sack, i = 0;
	bool news = false;

	if (!(tp->opts & TCP_OPT_SACKOK) || !nr)
		return false;
	if (is_dsack(tp, b, nr, p->tcp.ack)) {
		net_count(tcp_dsack);
		if (tp->undo_retrans)
			tp->undo_retrans--;
		i = 1;
	}
	for (; i < nr; i++) {
		uint32_t start = get_be32(b + 8 * i), end = get_be32(b + 8 * i + 4);
		struct tcp_seg *s;

		if (!seq_lt(start, end) || seq_lt(start, p->tcp.ack) || seq_lt(start, tp->snd_una) ||
		    seq_gt(end, tp->snd_nxt))
			continue;
		list_for_each_entry (s, &tp->txq, link) {
			if (s == tp->tx_next || seq_geq(s->seq, end))
				break;
			if ((s->flags & SEG_SACKED) || seq_lt(s->seq, start) || seq_gt(seg_end(s), end))
				continue;
			mark_sacked(tp, s);
			news = true;
		}
	}
	return news;
}

bool tcp_mark_lost(struct tcp_sock *tp)
{
	struct list_head *at = tp->tx_next ? tp->tx_next->link.prev : tp->txq.prev;
	unsigned above = 0;
	uint32_t bytes = 0;
	bool news = false;

	if (!tp->sacked)
		return false;
	for (; at != &tp->txq; at = at->prev) {
		struct tcp_seg *s = list_entry(at, struct tcp_seg, link);

		if (s->flags & SEG_SACKED) {
			above++;
			bytes += s->len;
			continue;
		}
		if (above < DUP_THRESH && bytes <= (DUP_THRESH - 1) * tp->mss)
			continue;
		if (s->flags & (SEG_LOST | SEG_RETRANS))
			continue;
		s->flags |= SEG_LOST;
		tp->lost += seg_span(s);
		news = true;
	}
	return news;
}

/* After a time-out everything that was not selectively acknowledged is lost. */
void tcp_mark_all_lost(struct tcp_sock *tp)
{
	struct tcp_seg *s;
	bool renege = false;

	tp->sacked = 0;
	tp->lost = 0;
	tp->retrans = 0;
	list_for_each_entry (s, &tp->txq, link) {
		if (s == tp->tx_next)
			break;
		/* A receiver that reported the very next bytes and does not acknowledge them has thrown them away. */
		if (&s->link == tp->txq.next && (s->flags & SEG_SACKED))
			renege = true;
		s->flags &= ~(SEG_LOST | SEG_RETRANS);
		if (renege)
			s->flags &= ~SEG_SACKED;
		if (s->flags & SEG_SACKED) {
			tp->sacked += seg_span(s);
		} else {
			s->flags |= SEG_LOST;
			tp->lost += seg_span(s);
		}
	}
}

void tcp_clear_marks(struct tcp_sock *tp, uint8_t flags)
{
	struct tcp_seg *s;

	list_for_each_entry (s, &tp->txq, link) {
		if (s == tp->tx_next)
			break;
		if (s->flags & flags & SEG_LOST)
			tp->lost -= seg_span(s);
		if (s->flags & flags & SEG_RETRANS)
			tp->retrans -= seg_span(s);
		s->flags &= ~flags;
	}
}

/**
 * tcp_put_sack - write the receiver's report
 * @o: where; @room: bytes left for options (a multiple of 4)
 * Return: bytes written.
 */
unsigned tcp_put_sack(struct tcp_sock *tp, uint8_t *o, unsigned room)
{
	uint32_t blocks[4][2];
	unsigned max = room >= 12 ? min((room - 4) / 8, 4u) : 0, nr = 0;
	bool dsack = false;
	struct pbuf *p;

	if (!max)
		return 0;
	if (tp->dsack_start != tp->dsack_end) {
		blocks[nr][0] = tp->dsack_start;
		blocks[nr++][1] = tp->dsack_end;
		tp->dsack_start = tp->dsack_end;
		dsack = true;
	}
	/* Runs of the queue; the one with the newest segment first. */
	for (p = tp->ofo.first; p;) {
		uint32_t start = p->tcp.seq, end = p->tcp.seq + p->len;
		unsigned at = nr;

		for (p = pbuf_next(p); p && seq_leq(p->tcp.seq, end); p = pbuf_next(p))
			end = seq_max(end, p->tcp.seq + p->len);
		if (seq_between(tp->last_ofo_seq, start, end)) {
			for (at = min(nr, max - 1); at > dsack; at--) {
				blocks[at][0] = blocks[at - 1][0];
				blocks[at][1] = blocks[at - 1][1];
			}
		} else if (nr == max) {
			continue;
		}
		if (at >= max)
			continue;
		blocks[at][0] = start;
		blocks[at][1] = end;
		if (nr < max)
			nr++;
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
