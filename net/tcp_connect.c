/* SPDX-License-Identifier: MIT */
/* connect(): the way to the peer, a port, the SYN, and the wait for its answer. */
#include "net/tcp_listen.h"
#include "fs/vfs.h"
#include "kernel/errno.h"

struct connect_try {
	struct tcp_sock *tp;
	bool reuse_tw;
};
/* Would the four be ours with this port? */
static bool connect_port_free(struct port_user *u, uint16_t port, void *arg)
{
	struct connect_try *t = arg;

	(void)u;
	return !ep_taken(&t->tp->ep.laddr, port, &t->tp->ep.raddr, t->tp->ep.rport, t->reuse_tw);
}

/* Names both ends and sends the SYN.  On failure the caller renews what has been named so far. */
static int connect_start(struct tcp_sock *tp, const struct ip_addr *dst, uint16_t port)
{
	struct connect_try t = { .tp = tp };
	uint64_t now = clock_ns();
	struct route rt;
	int ret;

	tp->ep.raddr = *dst;
	if (addr_is_any(dst) && tp->sk.family == AF_INET && !addr_is_any(&tp->ep.laddr) &&
	    !addr_is_multicast(&tp->ep.laddr)) {
		tp->ep.raddr = tp->ep.laddr;
	} else if (addr_is_any(dst)) { /* "this machine" */
		/* also where :: is to be reached from IPv4 */
		if (addr_is_v4(dst) || addr_is_v4(&tp->ep.laddr))
			tp->ep.raddr = addr_from_v4("\x7f\0\0\1");
		else
			tp->ep.raddr = (struct ip_addr){ .b[15] = 1 };
	}
	tp->ep.rport = port;
	ret = route_lookup(&tp->ep.raddr, &rt);
	if (ret)
		return ret;
	if (ifaddr_is_broadcast(rt.dev, &tp->ep.raddr)) /* MUST-46 */
		return -ENETUNREACH;
	tp->dev = rt.dev;
	tp->loopback = rt.dev->loopback;
	/* bind() takes groups, too: nothing is sent from there. */
	if (addr_is_any(&tp->ep.laddr) || addr_is_multicast(&tp->ep.laddr) ||
	    ifaddr_is_broadcast(rt.dev, &tp->ep.laddr))
		tp->ep.laddr = rt.src;
	else if (addr_is_v4(&tp->ep.laddr) != addr_is_v4(&tp->ep.raddr))
		return -ENETUNREACH;
	t.reuse_tw = tcp_tw_reuse(tp->loopback);
	if (!tp->port.port) {
		ret = port_pick(&tcp_ports, &tp->ep.laddr, connect_port_free, &t, &tp->hold);
		if (ret)
			return ret;
	}
	tp->ep.lport = tp->hold ? tp->hold->port : tp->port.port;
	tp->adv_mss = tcp_local_mss(rt.dev, &tp->ep.raddr);
	if (tp->user_mss)
		tp->adv_mss = min(tp->adv_mss, tp->user_mss);
	tp->peer_mss = addr_is_v4(&tp->ep.raddr) ? TCP_MSS_DEFAULT4 : TCP_MSS_DEFAULT6;
	tcp_set_mss(tp);
	tcp_cong_init(tp);
	tp->iss = tcp_isn(&tp->ep, now);
	tp->snd_una = tp->iss;
	tp->snd_nxt = tp->iss;
	tp->write_seq = tp->iss;
	tp->snd_wnd = 0;
	tp->retries = 0;
	tp->backoff = 0;
	(void)sock_take_error(&tp->sk); /* of the last connection */
	ret = tcp_queue_flag(tp, SEG_SYN);
	if (ret)
		return ret;
	tp->home = (uint16_t)(cpu_id() + 1);
	tcp_set_state(tp, TCP_SYN_SENT);
	ret = ep_insert(&tp->ep, t.reuse_tw);
	if (ret) {
		tcp_set_state(tp, TCP_CLOSE);
		return ret;
	}
	net_count(tcp_active_opens);
	tcp_send_seg(tp, tp->tx_next, now);
	tp->snd_nxt = tp->iss + 1;
	tp->tx_next = NULL;
	tcp_rto_restart(tp, now);
	tcp_timer_update(tp);
	return 0;
}

static int connect_to(struct tcp_sock *tp, const union sockaddr_any *a, unsigned len)
{
	struct ip_addr addr;
	uint16_t port;
	int ret = addr_import(tp->sk.family, a, len, &addr, &port);

	if (ret)
		return ret;
	if (addr_is_multicast(&addr) ||
	    (tp->sk.v6only && addr_is_v4(&addr) && tp->sk.family == AF_INET6))
		return -ENETUNREACH;
	ret = connect_start(tp, &addr, port);
	if (ret)
		tcp_renew(tp);
	return ret;
}

void tcp_disconnect(struct tcp_sock *tp)
{
	if (tcp_in(tp, TCPF(TCP_LISTEN)))
		tcp_listen_close(tp);
	else
		tcp_abort(tp, ECONNRESET);
	/* A reader that copies without owning the socket ends before its bytes go. */
	while (unlikely(tp->rx_busy)) {
		tp->rx_turn = true;
		tcp_release(tp);
		wait_event(&tp->sk.rd, !__atomic_load_n(&tp->rx_busy, __ATOMIC_ACQUIRE));
		tcp_own(tp);
	}
	if (!tcp_in(tp, TCPF(TCP_CLOSE))) /* another thread has connected it meanwhile */
		return;
	tp->connecting = false;
	tp->connected = false;
	tcp_renew(tp);
}

/* Waits for the end of the handshake.  Owned before and after.  Return: 0 or -errno. */
int tcp_wait_connected(struct tcp_sock *tp, uint64_t deadline, uint64_t timeo)
{
	const unsigned opening = TCPF(TCP_SYN_SENT) | TCPF(TCP_SYN_RECV);
	int ret = 0;

	while (tcp_in(tp, opening) && !ret) {
		tcp_release(tp);
		ret = wait_event_interruptible_timeout(&tp->sk.wr, !tcp_in(tp, opening), deadline);
		tcp_own(tp);
	}
	if (ret && tcp_in(tp, opening))
		return ret == -ETIMEDOUT ? -EINPROGRESS : timeo ? -EINTR : -ERESTARTSYS;
	return sock_take_error(&tp->sk);
}

int tcp_connect(struct sock *s, const union sockaddr_any *a, unsigned len, bool nonblock)
{
	struct tcp_sock *tp = tcp_of(s);
	int ret;

	if (len < sizeof(a->family))
		return -EINVAL;
	if (a->family == AF_UNSPEC) {
		tcp_own(tp);
		tcp_disconnect(tp);
		tcp_release(tp);
		return 0;
	}
	tcp_own(tp);
	switch (tcp_state(tp)) {
	case TCP_CLOSE:
		if (tp->connecting) { /* an earlier attempt has failed: tell how */
			tp->connecting = false;
			ret = sock_take_error(s);
			if (!ret)
				ret = -ECONNABORTED;
			tcp_disconnect(tp);
			goto out;
		}
		ret = tp->connected ? -EISCONN : connect_to(tp, a, len);
		if (ret)
			goto out;
		tp->connecting = true;
		if (nonblock) {
			ret = -EINPROGRESS;
			goto out;
		}
		break;
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		if (nonblock) {
			ret = -EALREADY;
			goto out;
		}
		break;
	default:
		ret = tp->connecting ? 0 : -EISCONN;
		tp->connected = tp->connected || tp->connecting;
		tp->connecting = false;
		goto out;
	}
	ret = tcp_wait_connected(tp, sock_deadline(s->sndtimeo), s->sndtimeo);
	if (!tcp_in(tp, TCPF(TCP_SYN_SENT) | TCPF(TCP_SYN_RECV))) {
		tp->connecting = false;
		if (!ret && tcp_in(tp, TCPF(TCP_CLOSE)))
			ret = -ECONNABORTED;
		tp->connected = !ret;
		if (ret && tcp_in(tp, TCPF(TCP_CLOSE)))
			tcp_disconnect(tp);
	}
out:
	tcp_release(tp);
	return ret;
}
