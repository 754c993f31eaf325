/* SPDX-License-Identifier: MIT */
/*
 * Explicit congestion notification (RFC 3168): routers mark what they would
 * have dropped.
 *
 * Agreed on in the handshake (net.tcp.ecn).  As receiver we echo a mark (ECE)
 * until the sender says that it has slowed down (CWR); as sender we answer an
 * echo with one reduction per window.  Only first transmissions of data are
 * marked as capable: no retransmission, probe, SYN or bare acknowledgement.
 */
#include "net/tcp.h"
#include "kernel/param.h"

#define TOS_ECN  3u
#define TOS_ECT0 2u
#define TOS_CE   3u

/* As in Linux: 0 never, 1 ask for it, 2 only if the peer asks. */
static unsigned ecn_mode = 2;
PARAM_UINT("net.tcp.ecn", ecn_mode, 0, 2, PARAM_RW,
	   "ECN: 0 never, 1 ask for it, 2 if the peer asks");

bool tcp_ecn_asks(const struct tcp_sock *tp)
{
	/*
	 * A box on the way that drops such SYNs must not keep us from connecting
	 * (section 6.1.1.1).
	 */
	return __atomic_load_n(&ecn_mode, __ATOMIC_RELAXED) == 1 && tp->retries < 2;
}

bool tcp_ecn_accepts(const struct pbuf *p)
{
	return __atomic_load_n(&ecn_mode, __ATOMIC_RELAXED) &&
	       (p->tcp.tcp_flags & (TH_ECE | TH_CWR)) == (TH_ECE | TH_CWR);
}

uint8_t tcp_ecn_tos(const struct tcp_sock *tp, bool capable)
{
	return (uint8_t)((tp->sk.tos & ~TOS_ECN) |
			 (capable && (tp->opts & TCP_OPT_ECN) ? TOS_ECT0 : 0));
}

void tcp_ecn_received(struct tcp_sock *tp, const struct pbuf *p)
{
	if (p->tcp.tcp_flags & TH_CWR)
		tp->ecn_echo = false;
	if ((p->tos & TOS_ECN) == TOS_CE) {
		net_count(tcp_ecn_marks);
		if (!tp->ecn_echo)
			tp->ack_now = true;
		tp->ecn_echo = true;
	}
}

void tcp_ecn_echoed(struct tcp_sock *tp, const struct pbuf *p)
{
	if ((p->tcp.tcp_flags & TH_ECE) && tp->ca == CA_OPEN && tp->snd_una != tp->snd_nxt)
		tcp_enter_cwr(tp);
}

void tcp_ecn_reduced(struct tcp_sock *tp)
{
	tp->ecn_cwr = (tp->opts & TCP_OPT_ECN) != 0;
}

uint8_t tcp_ecn_flags(struct tcp_sock *tp, bool new_data)
{
	uint8_t f = tp->ecn_echo ? TH_ECE : 0;

	if (new_data && tp->ecn_cwr) {
		tp->ecn_cwr = false;
		f |= TH_CWR;
	}
	return f;
}
