/* SPDX-License-Identifier: MIT */
/* TCP's socket options. */
#include "net/tcp.h"

static int set_keep(unsigned *where, int v, int lo, int hi)
{
	if (v < lo || v > hi)
		return -EINVAL;
	*where = (unsigned)v;
	return 0;
}

int tcp_setsockopt(struct sock *s, int level, int name, const void *val, unsigned len)
{
	struct tcp_sock *tp = tcp_of(s);
	int v, ret;

	if (level != SOL_TCP)
		return ip_setsockopt(s, level, name, val, len);
	if (name == TCP_CONGESTION) {
		char name[TCP_CC_NAME_MAX] = { 0 };
		const struct tcp_cc_ops *cc;

		memcpy(name, val, min_t(unsigned, len, sizeof(name) - 1));
		cc = tcp_cc_find(name);
		if (!cc)
			return -ENOENT;
		tcp_own(tp);
		tcp_cc_set(tp, cc);
		tcp_release(tp);
		return 0;
	}
	ret = sockopt_int(val, len, &v);
	if (ret)
		return ret;
	tcp_own(tp);
	switch (name) {
	case TCP_NODELAY:
		tp->nodelay = v != 0;
		if (v)
			tcp_output(tp, clock_ns());
		break;
	case TCP_CORK:
		tp->cork = v != 0;
		if (!v) {
			tp->more = false;
			tcp_output(tp, clock_ns());
		}
		break;
	case TCP_MAXSEG:
		if (v && (v < (int)TCP_MSS_FLOOR || v > 32767))
			ret = -EINVAL;
		else
			tp->user_mss = (uint32_t)v;
		break;
	case TCP_KEEPIDLE:
		ret = set_keep(&tp->keep_idle, v, 1, 32767);
		if (!ret && s->keepalive && !tcp_in(tp, TCPF(TCP_CLOSE) | TCPF(TCP_LISTEN))) {
			tp->keep_at = max(tp->last_rx_ns, 1ull) + tp->keep_idle * NSEC_PER_SEC;
			tcp_timer_update(tp);
		}
		break;
	case TCP_KEEPINTVL:
		ret = set_keep(&tp->keep_intvl, v, 1, 32767);
		break;
	case TCP_KEEPCNT:
		ret = set_keep(&tp->keep_cnt, v, 1, 127);
		break;
	case TCP_SYNCNT:
		ret = set_keep(&tp->syn_retries, v, 1, 127);
		break;
	case TCP_LINGER2:
		tp->linger2 = v < 0 ? 1 : (unsigned)min(v, 120);
		break;
	case TCP_DEFER_ACCEPT:
		tp->defer_accept = v > 0 ? (unsigned)v : 0;
		break;
	case TCP_QUICKACK:
		tp->quickack = v != 0;
		if (v && tp->ack_pending)
			tcp_send_ack(tp, clock_ns());
		break;
	case TCP_USER_TIMEOUT:
		if (v < 0)
			ret = -EINVAL;
		else
			tp->user_timeout_ms = (unsigned)v;
		break;
	case TCP_NOTSENT_LOWAT:
		tp->notsent_lowat = (unsigned)v;
		break;
	case TCP_WINDOW_CLAMP:
		break; /* the receive buffer bounds the window */
	default:
		ret = -ENOPROTOOPT;
	}
	tcp_release(tp);
	return ret;
}

void tcp_fill_info(struct tcp_sock *tp, struct abi_tcp_info *i)
{
	uint64_t now = clock_ns();

	memset(i, 0, sizeof(*i));
	i->state = (uint8_t)tcp_state(tp);
	i->ca_state = tp->ca == CA_OPEN ? 0 : tp->ca == CA_CWR ? 2 : tp->ca == CA_RECOVERY ? 3 : 4;
	i->retransmits = tp->retries;
	i->probes = tp->probes_out;
	i->backoff = tp->backoff;
	i->options = (tp->opts & TCP_OPT_TS ? 1 : 0) | (tp->opts & TCP_OPT_SACKOK ? 2 : 0) |
		     (tp->opts & TCP_OPT_WSCALE ? 4 : 0);
	i->wscale = (uint8_t)(tp->snd_wscale | tp->rcv_wscale << 4);
	i->rto = (uint32_t)(tp->rto / 1000);
	i->ato = TCP_DELACK / 1000;
	i->snd_mss = tp->mss;
	i->rcv_mss = tp->mss;
	if (i->state == TCP_LISTEN) {
		i->unacked = tcp_accept_waiting(tp, &i->sacked);
		return;
	}
	if (tp->mss) {
		i->unacked = (tp->snd_nxt - tp->snd_una + tp->mss - 1) / tp->mss;
		i->sacked = tp->sacked / tp->mss;
		i->lost = tp->lost / tp->mss;
		i->retrans = tp->retrans / tp->mss;
		i->snd_cwnd = max(tp->cwnd / tp->mss, 1u);
		i->snd_ssthresh = tp->ssthresh / tp->mss;
	}
	i->last_data_sent = (uint32_t)((now - tp->last_tx_ns) / NSEC_PER_MSEC);
	i->last_data_recv = (uint32_t)((now - tp->last_rx_ns) / NSEC_PER_MSEC);
	i->last_ack_recv = i->last_data_recv;
	i->pmtu = tp->dev ? ip_path_mtu(tp->dev, &tp->ep.raddr) : 0;
	i->rcv_ssthresh = tp->rcv_wnd_last;
	i->rtt = (uint32_t)(tp->srtt / 1000);
	i->rttvar = (uint32_t)(tp->rttvar / 1000);
	i->min_rtt = (uint32_t)(tp->min_rtt / 1000);
	i->advmss = tp->adv_mss;
	i->reordering = 3;
	i->rcv_space = atomic_load_explicit(&tp->sk.rcvbuf, memory_order_relaxed) / 2;
	i->total_retrans = tp->total_retrans;
	i->bytes_acked = tp->bytes_acked_total;
	i->bytes_received = tp->bytes_in;
	i->segs_out = tp->segs_out;
	i->segs_in = tp->segs_in;
	i->notsent_bytes = tp->write_seq - tp->snd_nxt;
	i->snd_wnd = tp->snd_wnd;
}

int tcp_getsockopt(struct sock *s, int level, int name, void *val, unsigned *len)
{
	struct tcp_sock *tp = tcp_of(s);
	struct abi_tcp_info info;

	if (level != SOL_TCP)
		return ip_getsockopt(s, level, name, val, len);
	switch (name) {
	case TCP_NODELAY:
		return sockopt_put_int(val, len, tp->nodelay);
	case TCP_CORK:
		return sockopt_put_int(val, len, tp->cork);
	case TCP_MAXSEG:
		return sockopt_put_int(val, len, (int)(tp->mss ? tp->mss : tp->user_mss ? tp->user_mss : TCP_MSS_DEFAULT4));
	case TCP_KEEPIDLE:
		return sockopt_put_int(val, len, (int)tp->keep_idle);
	case TCP_KEEPINTVL:
		return sockopt_put_int(val, len, (int)tp->keep_intvl);
	case TCP_KEEPCNT:
		return sockopt_put_int(val, len, (int)tp->keep_cnt);
	case TCP_SYNCNT:
		return sockopt_put_int(val, len, (int)tp->syn_retries);
	case TCP_LINGER2:
		return sockopt_put_int(val, len, (int)(tp->linger2 ? tp->linger2 : 60));
	case TCP_DEFER_ACCEPT:
		return sockopt_put_int(val, len, (int)tp->defer_accept);
	case TCP_QUICKACK:
		return sockopt_put_int(val, len, tp->quickack);
	case TCP_USER_TIMEOUT:
		return sockopt_put_int(val, len, (int)tp->user_timeout_ms);
	case TCP_NOTSENT_LOWAT:
		return sockopt_put_int(val, len, (int)tp->notsent_lowat);
	case TCP_INFO:
		tcp_own(tp);
		tcp_fill_info(tp, &info);
		tcp_release(tp);
		*len = min_t(unsigned, *len, sizeof(info));
		memcpy(val, &info, *len);
		return 0;
	case TCP_CONGESTION:
		*len = min_t(unsigned, *len, TCP_CC_NAME_MAX);
		memset(val, 0, *len);
		memcpy(val, tp->cc->name, min_t(size_t, *len, strlen(tp->cc->name)));
		return 0;
	}
	return -ENOPROTOOPT;
}
