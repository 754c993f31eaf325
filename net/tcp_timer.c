/* SPDX-License-Identifier: MIT */
/*
 * TCP's timers: one struct timer per connection, armed for the earliest of its
 * deadlines.  Deadlines move with nearly every packet, the timer does not: it
 * fires at the old time, finds nothing due and is armed for the new one.
 *
 * The timer's function never waits for ownership: it leaves its event in the
 * backlog.  An armed timer holds a reference.
 *
 * On loopback nothing is lost unless somebody asked for it, but the thread that
 * should answer may not run for a long time.  So the first time-out sends an
 * empty probe, which must be answered at once; only an answer that shows a
 * hole, or TCP_LO_PROBES time-outs without one, retransmits.
 */
#include "net/tcp.h"

static void tcp_timer_fn(struct timer *t)
{
	struct tcp_sock *tp = container_of(t, struct tcp_sock, timer);

	if (!atomic_exchange_explicit(&tp->timer_queued, true, memory_order_acq_rel) &&
	    own_get_or_push(&tp->own, &tp->timer_node)) {
		tcp_timer_event(tp);
		tcp_release(tp);
	}
	tcp_put(tp);
}

void tcp_timer_init(struct tcp_sock *tp)
{
	timer_init(&tp->timer, tcp_timer_fn);
	tp->timer_node.kind = NODE_TIMER;
	tp->rto = TCP_RTO_INIT;
}

void tcp_rto_restart(struct tcp_sock *tp, uint64_t now)
{
	tp->rto_at = now + min(tp->rto << min_t(unsigned, tp->backoff, 16), TCP_RTO_MAX);
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a && (!b || a < b) ? a : b;
}

void tcp_timer_update(struct tcp_sock *tp)
{
	uint64_t next = earliest(tp->rto_at, tp->delack_at);

	if (unlikely(!tp->trim_at && sock_mem_spare(&tp->sk.mem)))
		tp->trim_at = clock_ns() + TCP_TRIM;
	next = earliest(next, tp->trim_at);
	next = earliest(next, tp->probe_at);
	next = earliest(next, tp->keep_at);
	next = earliest(next, tp->cork_at);
	next = earliest(next, tp->close_at);
	next = earliest(next, tp->pto_at);
	next = earliest(next, tp->reo_at);
	if (!next || (tp->timer_at && tp->timer_at <= next))
		return;
	if (atomic_load_explicit(&tp->timer_queued, memory_order_relaxed))
		return; /* the event in the backlog will look */
	/*
	 * A cancelled timer's reference serves the new one.  It may be armed even
	 * with timer_at 0: set again while its function had begun to run.
	 */
	if (!timer_pending(&tp->timer) || !timer_cancel(&tp->timer))
		tcp_get(tp);
	tp->timer_at = next;
	timer_set(&tp->timer, next);
}

void tcp_timer_stop(struct tcp_sock *tp)
{
	tp->rto_at = 0;
	tp->delack_at = 0;
	tp->probe_at = 0;
	tp->keep_at = 0;
	tp->cork_at = 0;
	tp->close_at = 0;
	tp->pto_at = 0;
	tp->reo_at = 0;
	tp->trim_at = 0;
	tp->timer_at = 0;
	sock_mem_trim(&tp->sk.mem);
	if (timer_cancel(&tp->timer))
		tcp_put(tp); /* the caller has its own */
}

/* Too many tries, or TCP_USER_TIMEOUT?  Ends the connection. */
static bool gave_up(struct tcp_sock *tp, uint64_t now)
{
	unsigned limit = tcp_in(tp, TCPF(TCP_SYN_SENT)) ? tp->syn_retries :
			 tcp_in(tp, TCPF(TCP_SYN_RECV)) ? TCP_SYNACK_RETRIES :
			 tp->orphan			 ? TCP_ORPHAN_RETRIES :
							   TCP_RETRIES;

	if (!tp->retries)
		tp->first_rto_ns = now;
	/*
	 * A peer that closed its window over what is in flight and still answers is
	 * alive (MUST-37).
	 */
	if (!tp->snd_wnd && tcp_in(tp, ~(TCPF(TCP_SYN_SENT) | TCPF(TCP_SYN_RECV))) && !tp->orphan &&
	    now - tp->last_rx_ns < 2 * TCP_RTO_MAX)
		return false;
	if (tp->user_timeout_ms && tp->retries &&
	    now - tp->first_rto_ns >= tp->user_timeout_ms * NSEC_PER_MSEC)
		limit = 0;
	if (tp->retries < limit) {
		tp->retries++;
		return false;
	}
	tcp_reset(tp, tp->soft_err ? tp->soft_err : ETIMEDOUT);
	return true;
}

static void rto_expired(struct tcp_sock *tp, uint64_t now)
{
	tp->rto_at = 0;
	if (tp->snd_una == tp->snd_nxt)
		return;
	if (tp->loopback && tp->rto_probes < TCP_LO_PROBES && tp->ca == CA_OPEN &&
	    !tcp_in(tp, TCPF(TCP_SYN_SENT) | TCPF(TCP_SYN_RECV))) {
		tp->rto_probes++;
		tp->probe_ts = tcp_ts(now);
		tcp_send_probe(tp, now);
		tcp_rto_restart(tp, now);
		return;
	}
	if (gave_up(tp, now))
		return;
	net_count(tcp_timeouts);
	tp->rto_probes = 0;
	tcp_enter_loss(tp, now);
	if (tp->backoff < 16)
		tp->backoff++;
	tcp_rto_restart(tp, now);
	tcp_output(tp, now);
}

/* Zero window: ask whether it has opened (RFC 9293 section 3.8.6.1). */
static void probe_expired(struct tcp_sock *tp, uint64_t now)
{
	tp->probe_at = 0;
	if (!tp->tx_next || tp->snd_una != tp->snd_nxt)
		return;
	/* The peer may answer with a zero window for ever (MUST-37); silence has a limit. */
	if (!tp->probes_out)
		tp->first_rto_ns = now;
	if (tp->probes_out++ >= (tp->orphan ? TCP_ORPHAN_RETRIES : TCP_RETRIES) ||
	    (tp->user_timeout_ms &&
	     now - tp->first_rto_ns >= tp->user_timeout_ms * NSEC_PER_MSEC)) {
		tcp_reset(tp, tp->soft_err ? tp->soft_err : ETIMEDOUT);
		return;
	}
	tcp_output(tp, now); /* a window too small for the rules may go out by now */
	if (tp->tx_next && tp->snd_una == tp->snd_nxt) {
		uint32_t room = tp->snd_una + tp->snd_wnd - tp->tx_next->seq;

		if (room && (int32_t)room > 0 && tp->tx_next->len) { /* silly window override */
			uint32_t max = tp->snd_max_wnd;

			tp->snd_max_wnd = 1;
			tcp_output(tp, now);
			tp->snd_max_wnd = max;
			return;
		}
		tcp_send_window_probe(tp, now);
		if (tp->backoff < 16)
			tp->backoff++;
		tp->probe_at = now + min(tp->rto << tp->backoff, TCP_RTO_MAX);
	}
}

static void keep_expired(struct tcp_sock *tp, uint64_t now)
{
	uint64_t idle = tp->keep_idle * NSEC_PER_SEC;

	tp->keep_at = 0;
	if (!tp->sk.keepalive || tcp_in(tp, TCPF(TCP_SYN_SENT) | TCPF(TCP_CLOSE)))
		return;
	if (now < tp->last_rx_ns + idle || tp->snd_una != tp->snd_nxt) {
		tp->keep_at = max(now, tp->last_rx_ns) + (tp->snd_una != tp->snd_nxt ? idle : 1) +
			      (tp->last_rx_ns + idle > now ? tp->last_rx_ns + idle - now : 0);
		return;
	}
	/*
	 * One lost answer is no dead peer (MUST-26): all must be missing, or
	 * TCP_USER_TIMEOUT has passed.
	 */
	if (tp->user_timeout_ms ?
		    tp->keep_probes && now - tp->last_rx_ns >= tp->user_timeout_ms * NSEC_PER_MSEC :
		    tp->keep_probes >= tp->keep_cnt) {
		tcp_send_reset(tp, now);
		tcp_reset(tp, tp->soft_err ? tp->soft_err : ETIMEDOUT);
		return;
	}
	tp->keep_probes++;
	tcp_send_probe(tp, now);
	tp->keep_at = now + tp->keep_intvl * NSEC_PER_SEC;
}

static bool due(uint64_t at, uint64_t now)
{
	return at && at <= now;
}

/**
 * tcp_timer_event - do what is due
 *
 * Context: owned.
 */
void tcp_timer_event(struct tcp_sock *tp)
{
	uint64_t now = clock_ns();

	atomic_store_explicit(&tp->timer_queued, false, memory_order_release);
	tp->timer_at = 0;
	if (tcp_in(tp, TCPF(TCP_CLOSE)))
		return;
	if (due(tp->trim_at, now)) {
		tp->trim_at = 0; /* set again by what happens next */
		sock_mem_trim(&tp->sk.mem);
	}
	if (due(tp->close_at, now)) { /* orphan in FIN_WAIT_2, or lingering too long */
		tcp_done(tp);
		return;
	}
	if (due(tp->delack_at, now) || tp->ack_now) {
		tp->delack_at = 0;
		tp->interactive = false;
		if (tp->ack_pending || tp->ack_now)
			tcp_send_ack(tp, now);
	}
	if (due(tp->cork_at, now)) {
		bool cork = tp->cork, more = tp->more;

		tp->cork_at = 0;
		tp->cork = false;
		tp->more = false;
		if (tp->tx_next)
			list_last_entry(&tp->txq, struct tcp_seg, link)->flags |= SEG_PUSH;
		tcp_output(tp, now);
		tp->cork = cork;
		tp->more = more && tp->tx_next;
	}
	if (unlikely(tp->path_generation != ip_path_generation()))
		tcp_output(tp, now); /* before something is repeated as long as it was */
	if (due(tp->reo_at, now))
		tcp_reo_expired(tp, now);
	/* before a time-out that is due as well: the probe sets it anew */
	if (due(tp->pto_at, now))
		tcp_tlp_expired(tp, now);
	if (due(tp->rto_at, now))
		rto_expired(tp, now);
	if (!tcp_in(tp, TCPF(TCP_CLOSE)) && due(tp->probe_at, now))
		probe_expired(tp, now);
	if (!tcp_in(tp, TCPF(TCP_CLOSE)) && due(tp->keep_at, now))
		keep_expired(tp, now);
	if (!tcp_in(tp, TCPF(TCP_CLOSE)))
		tcp_timer_update(tp);
}
