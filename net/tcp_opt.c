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

/* Everything queued leaves as far as the windows let it, whatever held it back. */
static void push_out(struct tcp_sock *tp)
{
	bool cork = tp->cork;

	tp->cork = false;
	tp->more = false;
	tcp_output(tp, clock_ns());
	tp->cork = cork;
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
		if (v) /* sends what waits, once, even behind a cork */
			push_out(tp);
		break;
	case TCP_CORK:
		tp->cork = v != 0;
		if (!v)
			push_out(tp);
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
		tp->interactive = !v;
		if (v && tp->ack_pending)
			tcp_send_ack(tp, clock_ns());
		break;
	case TCP_INQ:
		if (v < 0 || v > 1)
			ret = -EINVAL;
		else
			tp->inq = v;
		break;
	case TCP_USER_TIMEOUT:
		if (v < 0)
			ret = -EINVAL;
		else
			tp->user_timeout_ms = (unsigned)v;
		break;
	case TCP_NOTSENT_LOWAT:
		tp->notsent_lowat = (unsigned)v;
		tp->wake_wr = true;
		break;
	case TCP_WINDOW_CLAMP:
		break; /* the receive buffer bounds the window */
	default:
		ret = -ENOPROTOOPT;
	}
	tcp_release(tp);
	return ret;
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
		return sockopt_put_int(val, len,
				       (int)(tp->mss	    ? tp->mss
					     : tp->user_mss ? tp->user_mss
							    : TCP_MSS_DEFAULT4));
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
		return sockopt_put_int(val, len, !tp->interactive);
	case TCP_INQ:
		return sockopt_put_int(val, len, tp->inq);
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
