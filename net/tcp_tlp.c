/* SPDX-License-Identifier: MIT */
/*
 * Tail loss probe (RFC 8985 section 7): when nothing comes back for two round
 * trips, one segment more tells the receiver, and by its answer us, what is
 * missing, long before the retransmission time-out: net/tcp_rack.h.
 *
 * Not on loopback, where nothing is lost but the peer's thread may be away for
 * long; there a time-out asks before it retransmits (tcp_timer.c).
 */
#include "net/tcp.h"

#define PTO_MIN       (10 * NSEC_PER_MSEC)
/* a lone segment's acknowledgement may be held back so long */
#define ACK_DELAY_MAX (200 * NSEC_PER_MSEC)

void tcp_tlp_arm(struct tcp_sock *tp, uint64_t now)
{
	uint64_t pto;

	tp->pto_at = 0;
	if (tp->loopback || !(tp->opts & TCP_OPT_SACKOK) || tp->ca != CA_OPEN || tp->sacked ||
	    tp->tlp_out || !tp->srtt || tp->snd_una == tp->snd_nxt)
		return;
	pto = max(2 * tp->srtt, PTO_MIN);
	if (tp->snd_nxt - tp->snd_una <= tp->mss)
		pto += ACK_DELAY_MAX;
	/* When the time-out would come first, the probe takes its place (RFC 8985 section 7.2). */
	tp->pto_at = now + pto;
	if (tp->rto_at && tp->pto_at > tp->rto_at)
		tp->pto_at = tp->rto_at;
}

void tcp_tlp_expired(struct tcp_sock *tp, uint64_t now)
{
	struct tcp_seg *s = tp->tx_next;
	uint32_t edge = tp->snd_nxt;

	tp->pto_at = 0;
	if (tp->ca != CA_OPEN || tp->snd_una == tp->snd_nxt)
		return;
	/* A new segment if there is one and the peer has room, else the last one again. */
	tp->tlp_out = true;
	tp->tlp_retrans = false;
	if (s)
		tcp_output_one(tp, now);
	if (tp->snd_nxt == edge) {
		s = tp->tx_next ? list_entry(tp->tx_next->link.prev, struct tcp_seg, link) :
				  list_last_entry(&tp->txq, struct tcp_seg, link);
		if (&s->link != &tp->txq && s->len > tp->mss) { /* several: the last of them */
			uint32_t tail = s->len % tp->mss ? s->len % tp->mss : tp->mss;

			if (tcp_seg_split(tp, s, s->len - tail))
				s = list_entry(s->link.next, struct tcp_seg, link);
		}
		if (&s->link == &tp->txq || s->len > tp->mss || !tcp_send_seg(tp, s, now)) {
			tp->tlp_out = false;
			return;
		}
		tp->tlp_retrans = true;
		tp->total_retrans++;
		net_count(tcp_retransmits);
	}
	net_count(tcp_tail_probes);
	tp->tlp_end = tp->snd_nxt;
	tp->tlp_ts = tcp_ts(now);
	tcp_rto_restart(tp, now);
}

void tcp_tlp_acked(struct tcp_sock *tp, const struct pbuf *p, const struct tcp_ack_info *a)
{
	if (!tp->tlp_out || seq_lt(p->tcp.ack, tp->tlp_end))
		return;
	tp->tlp_out = false;
	/*
	 * A new segment's answer says nothing of a loss, nor does a late answer to
	 * the original, which its timestamp shows.  A repeated one's either reports
	 * the duplicate, or the original was lost and the probe repaired it: then the
	 * window must fall as after any loss.
	 */
	if (!tp->tlp_retrans || a->dsack || !a->acked || tp->ca != CA_OPEN ||
	    ((tp->opts & TCP_OPT_TS) && (p->tcp.opts & TCP_OPT_TS) && p->tcp.tsecr &&
	     (int32_t)(p->tcp.tsecr - tp->tlp_ts) < 0))
		return;
	tcp_enter_cwr(tp);
}
