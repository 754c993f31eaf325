/* SPDX-License-Identifier: MIT */
/*
 * Urgent data (RFC 9293 section 3.8.5, RFC 6093), as programs know it: MSG_OOB
 * is one byte, the last one before the urgent pointer.
 *
 * That byte lies in the stream like any other; when it arrives, a copy is kept
 * for recv(MSG_OOB) until a read passes it.  Reads end in front of it and then
 * skip it, unless SO_OOBINLINE leaves it in the stream.  A pointer to data that
 * never come does nothing; only the newest one counts.
 */
#include "net/tcp.h"
#include "kernel/errno.h"

void tcp_urg_received(struct tcp_sock *tp, const struct pbuf *p)
{
	/* The pointer names the byte behind the urgent one (MUST-62). */
	uint32_t at = p->tcp.seq + p->tcp.urg - 1;

	if (!p->tcp.urg || seq_lt(at, tp->rcv_nxt))
		return; /* it has been received without a word */
	if (tp->urg_state && seq_leq(at, tp->urg_seq))
		return;
	tp->urg_seq = at;
	tp->urg_state = URG_EXPECTED;
	tp->wake_rd = true;
}

void tcp_urg_take(struct tcp_sock *tp, const struct pbuf *p)
{
	uint32_t off = tp->urg_seq - p->tcp.seq;

	if (off >= p->len)
		return;
	pdata_copy_out(p->data, p->off + off, &tp->urg_byte, 1);
	tp->urg_state = URG_HERE;
	tp->wake_rd = true;
}

uint32_t tcp_urg_distance(const struct tcp_sock *tp)
{
	const struct pbuf *p = tp->rxq.first;
	uint32_t at = p ? p->tcp.seq + tp->rx_off : tp->rcv_nxt;

	return seq_gt(at, tp->urg_seq) ? UINT32_MAX : tp->urg_seq - at;
}

ssize_t tcp_urg_recv(struct tcp_sock *tp, struct sock_msg *m)
{
	ssize_t ret;

	tcp_own(tp);
	if (tp->sk.oobinline || tp->urg_state == URG_NONE || tp->urg_state == URG_READ) {
		ret = -EINVAL;
	} else if (tcp_in(tp, TCPF(TCP_CLOSE)) && !(sock_shut(&tp->sk) & SOCK_RCV_SHUT)) {
		ret = -ENOTCONN;
	} else if (tp->urg_state == URG_EXPECTED) {
		ret = sock_shut(&tp->sk) & SOCK_RCV_SHUT ? 0 : -EAGAIN; /* announced, not here */
	} else {
		uint8_t b = tp->urg_byte;

		if (!(m->flags & MSG_PEEK))
			tp->urg_state = URG_READ;
		ret = !m->it->count ? 0 : copy_to_iter(&b, 1, m->it) == 1 ? 1 : -EFAULT;
		m->out_flags |= MSG_OOB;
	}
	tcp_release(tp);
	return ret;
}

void tcp_urg_queued(struct tcp_sock *tp)
{
	tp->snd_up = tp->write_seq;
	tp->urg_send = true;
}

uint16_t tcp_urg_pointer(struct tcp_sock *tp, uint32_t seq)
{
	if (!seq_lt(tp->snd_una, tp->snd_up)) {
		tp->urg_send = false;
		return 0;
	}
	return seq_lt(seq, tp->snd_up) ? (uint16_t)min(tp->snd_up - seq, 65535u) : 0;
}
