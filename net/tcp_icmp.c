/* SPDX-License-Identifier: MIT */
/*
 * ICMP errors about segments of ours (RFC 1122 section 4.2.3.9, RFC 5461), and
 * path MTU discovery (RFC 1191, RFC 8201).
 *
 * Anybody can send such an error, so it counts only if it quotes a sequence
 * number that is in flight now (RFC 5927).  Nothing ends an established
 * connection; what kept it from getting through is what the program hears if it
 * times out.  A connection that is opening ends at a hard error.
 *
 * Errors come from whoever receives packets.  One for a connection that somebody
 * owns waits in its backlog, like a packet; while one waits, further ones are
 * dropped: the segment that caused them is sent again and again.
 */
#include "net/icmp_err.h"
#include "net/tcp_listen.h"
#include "kernel/errno.h"

/*
 * Whoever learnt it (an error about another connection to the same host, an administrator
 * with another MTU): shorter segments from now on, and what is in flight and was too long
 * counts as lost, for no router will complain about a packet that never leaves.
 */
void tcp_path_check(struct tcp_sock *tp)
{
	uint32_t before = tp->mss;

	if (likely(tp->path_generation == ip_path_generation()))
		return;
	tcp_set_mss(tp);
	if (tp->mss >= before)
		return;
	net_count(tcp_pmtu_lowered);
	if (tcp_mark_longer(tp, tp->mss))
		tcp_enter_repair(tp);
}

/* The way takes less: shorter segments, and what was too long again at once, at the same pace. */
static void path_shrunk(struct tcp_sock *tp, unsigned mtu, uint64_t now)
{
	if (tp->loopback)
		return;
	pmtu_update(&tp->ep.raddr, mtu);
	tcp_output(tp, now);
}

/* Owned. */
static void handle(struct tcp_sock *tp, const struct tcp_icmp *e, uint64_t now)
{
	if (tcp_in(tp, TCPF(TCP_CLOSE) | TCPF(TCP_LISTEN)))
		return;
	if (tcp_in(tp, TCPF(TCP_SYN_SENT))) {
		if (e->seq != tp->iss)
			return;
		if (e->err == EMSGSIZE)
			path_shrunk(tp, e->mtu, now);
		else if (e->hard)
			tcp_reset(tp, e->err);
		else
			tp->soft_err = e->err;
		return;
	}
	if (seq_lt(e->seq, tp->snd_una) || seq_geq(e->seq, tp->snd_nxt)) {
		net_count(tcp_icmp_stray);
		return;
	}
	if (e->err == EMSGSIZE)
		path_shrunk(tp, e->mtu, now);
	else
		tp->soft_err = e->err;
}

void tcp_icmp_event(struct tcp_sock *tp)
{
	struct tcp_icmp e = tp->icmp;

	atomic_store_explicit(&tp->icmp_queued, false, memory_order_release);
	handle(tp, &e, clock_ns());
	tcp_timer_update(tp);
}

void tcp_icmp_error(const struct icmp_error *e)
{
	struct ep *ep = ep_lookup(&e->src, e->sport, &e->dst, e->dport);
	/* Made up on this machine, it is no rumour: there is no neighbour. */
	bool hard = e->hard || (!e->type && !e->code);
	struct tcp_sock *tp;

	if (!ep)
		return;
	if (ep->kind == EP_REQ && hard)
		tcp_req_error(ep, e->seq);
	if (ep->kind == EP_SOCK) {
		tp = ep_sock(ep);
		if (!atomic_exchange_explicit(&tp->icmp_queued, true, memory_order_acq_rel)) {
			tp->icmp = (struct tcp_icmp){
				.seq = e->seq, .mtu = e->mtu, .err = e->err, .hard = hard
			};
			if (own_get_or_push(&tp->own, &tp->icmp_node)) {
				tcp_icmp_event(tp);
				tcp_release(tp);
			}
		}
	}
	ep_put(ep);
}
