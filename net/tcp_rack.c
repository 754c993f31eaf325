/* SPDX-License-Identifier: MIT */
/* Loss detection by time (RFC 8985 section 6): net/tcp_rack.h. */
#include "net/tcp.h"

#define DUP_THRESH                                                                                 \
	3u /* segments that arrived above a hole: RFC 5681's heuristic, while nothing was          \
	      reordered */
#define PERSIST      16u /* recoveries for which a widened window stays */
#define MULT_MAX     64u
#define REO_TIMER_SLACK (2 * NSEC_PER_MSEC) /* the timer is late rather than too early */

/* Was (t1, e1) sent after (t2, e2)?  Segments of one burst have one time. */
static bool sent_after(uint64_t t1, uint32_t e1, uint64_t t2, uint32_t e2)
{
	return t1 > t2 || (t1 == t2 && seq_gt(e1, e2));
}

void tcp_rack_delivered(struct tcp_sock *tp, const struct tcp_seg *s, const struct pbuf *p,
			uint64_t now)
{
	struct tcp_rack *r = &tp->rack;
	uint32_t end = seg_end(s);
	uint64_t rtt = now - s->sent_ns;

	if (s->tx > 1) {
		/*
		 * Which transmission arrived?  Not the last one if it is older or
		 * quicker than possible.
		 */
		if ((tp->opts & TCP_OPT_TS) && (p->tcp.opts & TCP_OPT_TS) && p->tcp.tsecr &&
		    (int32_t)(p->tcp.tsecr - tcp_ts(s->sent_ns)) < 0)
			return;
		if (rtt < tp->min_rtt)
			return;
	}
	if (!r->xmit_ns || seq_gt(end, r->fack))
		r->fack = end;
	else if (seq_lt(end, r->fack) && s->tx == 1)
		r->reordered = true;
	if (sent_after(s->sent_ns, end, r->xmit_ns, r->end_seq)) {
		r->xmit_ns = s->sent_ns;
		r->end_seq = end;
		r->rtt = rtt;
	}
}

void tcp_rack_dsack(struct tcp_sock *tp)
{
	struct tcp_rack *r = &tp->rack;

	if (r->in_dsack_round && seq_lt(tp->snd_una, r->dsack_round))
		return;
	r->in_dsack_round = true;
	r->dsack_round = tp->snd_nxt;
	if (r->mult < MULT_MAX)
		r->mult++;
	r->persist = PERSIST;
}

void tcp_rack_recovered(struct tcp_sock *tp)
{
	struct tcp_rack *r = &tp->rack;

	if (r->persist && !--r->persist)
		r->mult = 1;
}

/* How long a segment may arrive later than one that was sent after it. */
static uint64_t reo_window(const struct tcp_sock *tp)
{
	const struct tcp_rack *r = &tp->rack;

	if (!r->reordered &&
	    (tp->ca == CA_RECOVERY || tp->ca == CA_LOSS || tp->nr_sacked >= DUP_THRESH ||
	     tp->sacked > (DUP_THRESH - 1) * tp->mss))
		return 0;
	return min(max(r->mult, 1u) * (tp->min_rtt / 4), tp->srtt);
}

/* @s is lost, perhaps for the second time. */
static void mark_lost(struct tcp_sock *tp, struct tcp_seg *s)
{
	if (s->flags & SEG_RETRANS) {
		s->flags &= ~SEG_RETRANS;
		tp->retrans -= seg_span(s);
	}
	if (!(s->flags & SEG_LOST)) {
		s->flags |= SEG_LOST;
		tp->lost += seg_span(s);
	}
	list_del(&s->tlink);
	tp->rtx_hint = NULL;
}

bool tcp_rack_detect(struct tcp_sock *tp, uint64_t now)
{
	struct tcp_rack *r = &tp->rack;
	uint64_t wait = 0, window = reo_window(tp);
	struct tcp_seg *s, *n;
	bool news = false;

	tp->reo_at = 0;
	list_for_each_entry_safe (s, n, &tp->tsq, tlink) {
		uint64_t until = s->sent_ns + r->rtt + window;

		if (!sent_after(r->xmit_ns, r->end_seq, s->sent_ns, seg_end(s)))
			break;
		if (until <= now) {
			mark_lost(tp, s);
			news = true;
		} else {
			wait = max(wait, until - now);
		}
	}
	if (wait)
		tp->reo_at = now + wait + REO_TIMER_SLACK;
	return news;
}

void tcp_reo_expired(struct tcp_sock *tp, uint64_t now)
{
	if (!tcp_rack_detect(tp, now))
		return;
	if (tp->ca == CA_OPEN || tp->ca == CA_CWR)
		tcp_enter_recovery(tp);
	if (tp->ca == CA_RECOVERY)
		tcp_prr_update(tp, 0, false);
	tcp_output(tp, now);
}

void tcp_rack_mark_timeout(struct tcp_sock *tp, uint64_t now)
{
	struct tcp_seg *s, *n;

	list_for_each_entry_safe (s, n, &tp->tsq, tlink) {
		if (s->seq == tp->snd_una || s->sent_ns + tp->rack.rtt + reo_window(tp) <= now)
			mark_lost(tp, s);
	}
}
