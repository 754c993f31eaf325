/* SPDX-License-Identifier: MIT */
/*
 * TCP sockets: life, ownership, and the calls that open and close connections.
 */
#include "net/ether.h"
#include "net/tcp_listen.h"
#include "net/tcp_ofo.h"
#include "fs/vfs.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "mm/slab.h"

static struct kmem_cache *tcp_cache;
#ifndef CONFIG_DEBUG /* whose locks are larger */
_Static_assert(sizeof(struct tcp_sock) <= 1536,
	       "an idle connection with its file takes 2 KiB at most");
#endif

static unsigned orphans_max = 32768;
PARAM_UINT("net.tcp.orphans_max", orphans_max, 0, 1048576, PARAM_RW,
	   "closed connections that may still send, whole machine; beyond it they are reset");
static bool timestamps = true, sack = true;
PARAM_BOOL("net.tcp.timestamps", timestamps, PARAM_RW,
	   "new TCP connections use timestamps (RFC 7323)");
PARAM_BOOL("net.tcp.sack", sack, PARAM_RW,
	   "new TCP connections use selective acknowledgements (RFC 2018)");
static _Atomic unsigned orphans;
static const struct sock_ops tcp_ops;

uint8_t tcp_offered(void)
{
	return (uint8_t)((__atomic_load_n(&timestamps, __ATOMIC_RELAXED) ? TCP_OPT_TS : 0) |
			 (__atomic_load_n(&sack, __ATOMIC_RELAXED) ? TCP_OPT_SACKOK : 0) |
			 TCP_OPT_WSCALE);
}

struct tcp_sock *tcp_alloc(int family, struct owner *owner, gfp_t gfp)
{
	struct tcp_sock *tp = kmem_cache_alloc_for(tcp_cache, gfp, owner);

	if (!tp)
		return NULL;
	memset(tp, 0, sizeof(*tp));
	sock_common_init(&tp->sk, &tcp_ops, family, SOCK_STREAM, IPPROTO_TCP, owner);
	atomic_init(&tp->ep.refs, 1);
	tp->ep.kind = EP_SOCK;
	own_init(&tp->own);
	atomic_init(&tp->state, TCP_CLOSE);
	list_init(&tp->txq);
	list_init(&tp->tsq);
	list_init(&tp->ofo_recent);
	tp->cc = tcp_cc_default();
	list_init(&tp->accept_link);
	list_init(&tp->port.link);
	tp->opts = tcp_offered();
	tp->rcv_wscale = TCP_WSCALE;
	tp->keep_idle = 7200;
	tp->keep_intvl = 75;
	tp->keep_cnt = 9;
	tp->syn_retries = TCP_SYN_RETRIES;
	tp->icmp_node.kind = NODE_ICMP;
	tcp_timer_init(tp);
	return tp;
}

struct sock *tcp_create(int family)
{
	struct tcp_sock *tp = tcp_alloc(family, current_owner(), GFP_KERNEL);

	if (!tp)
		return ERR_PTR(-ENOMEM);
	tp->ep.laddr = family == AF_INET ? addr_from_v4("\0\0\0\0") : ADDR_ANY6;
	return &tp->sk;
}

static void tcp_free_rcu(struct rcu_head *h)
{
	struct tcp_sock *tp = container_of(h, struct tcp_sock, ep.rcu);

	kfree(tp->listener);
	kmem_cache_free(tcp_cache, tp);
}

void tcp_release_port(struct tcp_sock *tp)
{
	port_release(&tcp_ports, &tp->port);
	port_hold_put(&tcp_ports, tp->hold);
	tp->hold = NULL;
}

void tcp_put(struct tcp_sock *tp)
{
	if (atomic_fetch_sub_explicit(&tp->ep.refs, 1, memory_order_acq_rel) != 1)
		return;
	tcp_release_port(tp);
	tcp_free_txq(tp);
	tcp_free_rxq(tp);
	pqueue_purge(&tp->outq);
	sock_common_destroy(&tp->sk);
	call_rcu(&tp->ep.rcu, tcp_free_rcu);
}

void tcp_set_state(struct tcp_sock *tp, int state)
{
	atomic_store_explicit(&tp->state, state, memory_order_release);
}

void tcp_flush(struct tcp_sock *tp)
{
	struct pbuf *p;

	if (tp->outq.count > 1 && tp->dev->features)
		ether_merge(&tp->outq, tp->dev, tp->mss);
	while ((p = pqueue_pop(&tp->outq)))
		ip_output(p, IPPROTO_TCP, p->ttl, p->tos);
}

void tcp_release(struct tcp_sock *tp)
{
	for (;;) {
		struct net_node *n, *next;
		bool rd, wr;

		tcp_flush(tp);
		rd = tp->wake_rd;
		wr = tp->wake_wr;
		tp->wake_rd = false;
		tp->wake_wr = false;
		n = own_release(&tp->own);
		if (likely(!n)) {
			/*
			 * The release was a full barrier: a sleeper is seen here or
			 * saw what we did.
			 */
			if (rd && atomic_load_explicit(&tp->sk.rd.count, memory_order_relaxed)) {
				net_count(tcp_wake_reader);
				wake_up_poll(&tp->sk.rd, EPOLLIN | EPOLLRDNORM | EPOLLRDHUP |
								 EPOLLPRI | EPOLLHUP | EPOLLERR);
			}
			if (wr && atomic_load_explicit(&tp->sk.wr.count, memory_order_relaxed)) {
				net_count(tcp_wake_writer);
				wake_up_poll(&tp->sk.wr,
					     EPOLLOUT | EPOLLWRNORM | EPOLLHUP | EPOLLERR);
			}
			return;
		}
		tp->wake_rd = rd;
		tp->wake_wr = wr;
		for (; n; n = next) {
			next = n->next;
			if (n->kind == NODE_TIMER)
				tcp_timer_event(tp);
			else if (unlikely(n->kind == NODE_ICMP))
				tcp_icmp_event(tp);
			else
				tcp_segment(tp, container_of(n, struct pbuf, node));
		}
	}
}

/* Segment size from the route, what the peer takes, and TCP_MAXSEG. */
void tcp_set_mss(struct tcp_sock *tp)
{
	uint32_t mss = min(tp->adv_mss, tp->peer_mss);

	tp->path_generation = ip_path_generation();
	if (tp->user_mss)
		mss = min(mss, tp->user_mss);
	if (!tp->loopback)
		mss = min(mss,
			  ip_path_mtu(tp->dev, &tp->ep.raddr) - ip_header_len(&tp->ep.raddr) - 20);
	mss = max(mss, TCP_MSS_FLOOR);
	if (tp->opts & TCP_OPT_TS)
		mss -= 12;
	tp->mss = min(mss, TCP_SEG_MAX);
}

/* Both directions work: buffers for the path, and the program hears of it. */
void tcp_established(struct tcp_sock *tp, uint64_t now)
{
	tcp_set_state(tp, TCP_ESTABLISHED);
	tcp_cong_init(tp);
	if (!tp->sk.sndbuf_locked)
		atomic_store_explicit(&tp->sk.sndbuf,
				      min(max(6 * tp->cwnd, SOCK_SNDBUF_DEFAULT), TCP_SNDBUF_MAX),
				      memory_order_relaxed);
	tp->last_rx_ns = now;
	if (tp->sk.keepalive)
		tp->keep_at = now + tp->keep_idle * NSEC_PER_SEC;
	tp->wake_rd = true;
	tp->wake_wr = true;
}

unsigned tcp_orphans(void)
{
	return atomic_load_explicit(&orphans, memory_order_relaxed);
}

/* The file is gone while the connection goes on.  Return: there may be one more. */
static bool orphan_count(struct tcp_sock *tp)
{
	if (atomic_fetch_add_explicit(&orphans, 1, memory_order_relaxed) >=
	    __atomic_load_n(&orphans_max, __ATOMIC_RELAXED)) {
		atomic_fetch_sub_explicit(&orphans, 1, memory_order_relaxed);
		return false;
	}
	tp->orphan_counted = true;
	return true;
}

void tcp_renew(struct tcp_sock *tp)
{
	const size_t from = offsetof(struct tcp_sock, tx_next),
		     to = offsetof(struct tcp_sock, timer);
	const size_t from2 = offsetof(struct tcp_sock, first_rto_ns);
	const size_t to2 = offsetof(struct tcp_sock, accept_link);
	struct ip_addr any = tp->sk.family == AF_INET ? addr_from_v4("\0\0\0\0") : ADDR_ANY6;

	tcp_free_txq(tp);
	tcp_free_rxq(tp);
	memset((char *)tp + from, 0, to - from);
	memset((char *)tp + from2, 0, to2 - from2);
	list_init(&tp->tsq);
	list_init(&tp->ofo_recent);
	tp->opts = tcp_offered();
	tp->rcv_wscale = TCP_WSCALE;
	tp->rto = TCP_RTO_INIT;
	atomic_store_explicit(&tp->sk.shut, 0, memory_order_seq_cst);
	if (!tp->port_locked)
		tcp_release_port(tp);
	if (!tp->addr_locked)
		tp->ep.laddr = any;
	tp->ep.lport = tp->port.port;
	tp->ep.raddr = any;
	tp->ep.rport = 0;
}

void tcp_done(struct tcp_sock *tp)
{
	if (tcp_in(tp, TCPF(TCP_CLOSE)))
		return;
	if (tp->orphan_counted) {
		tp->orphan_counted = false;
		atomic_fetch_sub_explicit(&orphans, 1, memory_order_relaxed);
	}
	tcp_set_state(tp, TCP_CLOSE);
	atomic_fetch_or_explicit(&tp->sk.shut, SOCK_RCV_SHUT | SOCK_SND_SHUT, memory_order_seq_cst);
	tcp_timer_stop(tp);
	tcp_free_txq(tp);
	ep_remove(&tp->ep);
	if (tp->orphan || !tp->port_locked)
		tcp_release_port(tp);
	if (tp->orphan)
		tcp_free_rxq(tp);
	tp->wake_rd = true;
	tp->wake_wr = true;
}

void tcp_reset(struct tcp_sock *tp, int err)
{
	if (tcp_in(tp, TCPF(TCP_CLOSE)))
		return;
	atomic_store_explicit(&tp->sk.err, err, memory_order_release);
	tcp_done(tp);
}

void tcp_abort(struct tcp_sock *tp, int err)
{
	if (!tcp_in(tp, TCPF(TCP_CLOSE) | TCPF(TCP_SYN_SENT)))
		tcp_send_reset(tp, clock_ns());
	tcp_reset(tp, err);
}

static int tcp_bind(struct sock *s, const union sockaddr_any *a, unsigned len)
{
	struct tcp_sock *tp = tcp_of(s);
	struct ip_addr addr;
	uint16_t port;
	int ret = ip_bind_address(s, a, len, &addr, &port);

	if (ret)
		return ret;
	tcp_own(tp);
	if (!tcp_in(tp, TCPF(TCP_CLOSE)) || tp->port.port) {
		ret = -EINVAL;
	} else {
		tp->port.addr = addr;
		tp->port.v6only = s->v6only || s->family == AF_INET;
		tp->port.reuseaddr = s->reuseaddr;
		tp->port.reuseport = s->reuseport;
		ret = port_bind(&tcp_ports, &tp->port, port, NULL, NULL);
		if (!ret) {
			tp->ep.laddr = addr;
			tp->ep.lport = tp->port.port;
			tp->addr_locked = !addr_is_any(&addr);
			tp->port_locked = port != 0;
			ip_bound_to(s, &addr);
		}
	}
	tcp_release(tp);
	return ret;
}

static int tcp_getname(struct sock *s, union sockaddr_any *a, enum sock_end end)
{
	struct tcp_sock *tp = tcp_of(s);

	if (end == SOCK_END_OWN)
		return addr_export(s->family, &tp->ep.laddr, tp->ep.lport, a);
	if (!tp->ep.rport ||
	    (end == SOCK_END_PEER && tcp_in(tp, TCPF(TCP_CLOSE) | TCPF(TCP_SYN_SENT))))
		return -ENOTCONN;
	return addr_export(s->family, &tp->ep.raddr, tp->ep.rport, a);
}

/* Queues our FIN and moves on. Owned. */
static void send_fin(struct tcp_sock *tp, uint64_t now)
{
	int next;

	switch (tcp_state(tp)) {
	case TCP_SYN_RECV:
	case TCP_ESTABLISHED:
		next = TCP_FIN_WAIT1;
		break;
	case TCP_CLOSE_WAIT:
		next = TCP_LAST_ACK;
		break;
	default:
		return;
	}
	if (tcp_queue_flag(tp, SEG_FIN)) { /* no memory for a FIN: a reset says it too */
		tcp_abort(tp, ENOBUFS);
		return;
	}
	tp->fin_queued = true;
	tp->more = false;
	tp->cork = false;
	tcp_set_state(tp, next);
	tcp_output(tp, now);
}

static int tcp_shutdown(struct sock *s, int how)
{
	unsigned bits = (how != SHUT_WR ? SOCK_RCV_SHUT : 0) | (how != SHUT_RD ? SOCK_SND_SHUT : 0);
	struct tcp_sock *tp = tcp_of(s);
	int ret = 0;

	tcp_own(tp);
	if (tcp_in(tp, TCPF(TCP_LISTEN))) {
		if (how != SHUT_WR)
			tcp_disconnect(tp);
	} else if (tcp_in(tp, TCPF(TCP_SYN_SENT))) {
		tcp_disconnect(tp);
	} else if (tcp_in(tp, TCPF(TCP_CLOSE))) {
		/* who polls hears of it */
		atomic_fetch_or_explicit(&s->shut, bits, memory_order_seq_cst);
		tp->wake_rd = true;
		tp->wake_wr = true;
		ret = -ENOTCONN;
	} else {
		atomic_fetch_or_explicit(&s->shut, bits, memory_order_seq_cst);
		tp->connected = true; /* who shuts a connection down knows of it */
		tp->connecting = false;
		if (bits & SOCK_SND_SHUT)
			send_fin(tp, clock_ns());
		tp->wake_rd = true;
		tp->wake_wr = true;
	}
	tcp_release(tp);
	return ret;
}

static void tcp_close(struct sock *s)
{
	const unsigned lingering = TCPF(TCP_FIN_WAIT1) | TCPF(TCP_CLOSING) | TCPF(TCP_LAST_ACK);
	struct tcp_sock *tp = tcp_of(s);
	uint64_t now = clock_ns();
	bool unread;

	tcp_own(tp);
	tp->orphan = true;
	unread = atomic_load_explicit(&tp->rx_bytes, memory_order_relaxed) != 0;
	if (tcp_in(tp, TCPF(TCP_LISTEN))) {
		tcp_listen_close(tp);
	} else if (tcp_in(tp, TCPF(TCP_SYN_SENT))) {
		tcp_done(tp);
	} else if (unread || (s->linger_on && !s->linger_s)) {
		/* Bytes that nobody will read: a FIN would say that all is well (SHLD-3). */
		tcp_abort(tp, ECONNRESET);
	} else {
		send_fin(tp, now);
		if (tcp_in(tp, TCPF(TCP_FIN_WAIT2))) {
			tp->close_at =
				now + (tp->linger2 ? tp->linger2 * NSEC_PER_SEC : TCP_FIN2_TIME);
			tcp_timer_update(tp);
		}
		/* Too many of those would hold memory that nobody answers for. */
		if (!tcp_in(tp, TCPF(TCP_CLOSE)) && !orphan_count(tp)) {
			net_count(tcp_orphans_reset);
			tcp_abort(tp, ECONNRESET);
		}
		if (s->linger_on && tcp_in(tp, lingering)) {
			tcp_release(tp);
			(void)wait_event_interruptible_timeout(&s->wr, !tcp_in(tp, lingering),
							       now + s->linger_s * NSEC_PER_SEC);
			tcp_own(tp);
		}
	}
	tcp_free_rxq(tp);
	if (tcp_in(tp, TCPF(TCP_CLOSE))) /* also a port that bind() named and the end left */
		tcp_release_port(tp);
	tcp_release(tp);
	tcp_put(tp);
}

static unsigned tcp_poll(struct sock *s, struct file *f, struct poll_table *pt)
{
	struct tcp_sock *tp = tcp_of(s);
	unsigned ev = 0, shut, urg;
	/* SO_RCVLOWAT; never more than the buffer can hold, as in tcp_recvmsg(). */
	unsigned lowat = min(max(s->rcvlowat, 1u),
			     atomic_load_explicit(&s->rcvbuf, memory_order_relaxed) / 4 + 1);
	int state;

	poll_wait(f, &s->rd, pt);
	poll_wait(f, &s->wr, pt);
	state = tcp_state(tp);
	if (state == TCP_LISTEN)
		return tcp_accept_waiting(tp, NULL) ? EPOLLIN | EPOLLRDNORM : 0;
	shut = sock_shut(s);
	if (shut == (SOCK_RCV_SHUT | SOCK_SND_SHUT) || state == TCP_CLOSE)
		ev |= EPOLLHUP;
	if (shut & SOCK_RCV_SHUT)
		ev |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (atomic_load_explicit(&s->err, memory_order_acquire))
		ev |= EPOLLERR;
	if (state == TCP_SYN_SENT || state == TCP_SYN_RECV)
		return ev;
	urg = __atomic_load_n(&tp->urg_state, __ATOMIC_ACQUIRE);
	if (unlikely(urg)) {
		uint32_t have = atomic_load_explicit(&tp->rx_bytes, memory_order_acquire);

		if (urg == URG_HERE)
			ev |= EPOLLPRI;
		/* The urgent byte alone is nothing to read. */
		if (!s->oobinline &&
		    __atomic_load_n(&tp->rcv_nxt, __ATOMIC_RELAXED) - have == tp->urg_seq)
			lowat++;
	}
	if (atomic_load_explicit(&tp->rx_bytes, memory_order_acquire) >= lowat)
		ev |= EPOLLIN | EPOLLRDNORM;
	if (shut & SOCK_SND_SHUT)
		ev |= EPOLLOUT | EPOLLWRNORM; /* a write would not block: it fails */
	else if (tcp_wmem_free(tp) && !tcp_unsent_enough(tp, 1))
		ev |= EPOLLOUT | EPOLLWRNORM;
	return ev;
}

#define SIOCINQ   0x541B
#define SIOCOUTQ  0x5411
#define SIOCATMARK  0x8905
#define SIOCOUTQNSD 0x894B
static int tcp_ioctl(struct sock *s, unsigned cmd, int *value)
{
	struct tcp_sock *tp = tcp_of(s);

	if (tcp_in(tp, TCPF(TCP_LISTEN)) && cmd != SIOCATMARK)
		return -EINVAL;
	switch (cmd) {
	case SIOCINQ: /* up to an urgent byte, which is not one of them */
		tcp_own(tp);
		*value = (int)atomic_load_explicit(&tp->rx_bytes, memory_order_relaxed);
		if (unlikely(tp->urg_state) && !s->oobinline && *value)
			*value = (int)min((uint32_t)*value, tcp_urg_distance(tp));
		tcp_release(tp);
		return 0;
	case SIOCATMARK:
		tcp_own(tp);
		*value = tp->urg_state != URG_NONE && tcp_urg_distance(tp) == 0;
		tcp_release(tp);
		return 0;
	case SIOCOUTQ:
		tcp_own(tp);
		*value = tcp_in(tp, TCPF(TCP_CLOSE) | TCPF(TCP_SYN_SENT))
				 ? 0
				 : (int)(tp->write_seq - tp->snd_una);
		tcp_release(tp);
		return 0;
	case SIOCOUTQNSD:
		tcp_own(tp);
		*value = (int)(tp->write_seq - tp->snd_nxt);
		tcp_release(tp);
		return 0;
	}
	return -ENOTTY;
}

static const struct sock_ops tcp_ops = {
	.bind = tcp_bind,
	.connect = tcp_connect,
	.listen = tcp_listen,
	.accept = tcp_accept,
	.getname = tcp_getname,
	.sendmsg = tcp_sendmsg,
	.recvmsg = tcp_recvmsg,
	.send_pages = tcp_send_pages,
	.shutdown = tcp_shutdown,
	.poll = tcp_poll,
	.setsockopt = tcp_setsockopt,
	.getsockopt = tcp_getsockopt,
	.ioctl = tcp_ioctl,
	.close = tcp_close,
};

void tcp_init(void)
{
	tcp_cache =
		kmem_cache_create("tcp_sock", sizeof(struct tcp_sock), CACHE_LINE, SLAB_ACCOUNT);
	if (!tcp_cache || tcp_hash_init() || tcp_seg_init() || tcp_ofo_init() || tcp_req_init() ||
	    tcp_timewait_init())
		panic("tcp: no memory for the tables");
}
