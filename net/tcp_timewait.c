/* SPDX-License-Identifier: MIT */
/*
 * TIME_WAIT: what is left of a connection for a minute after its end, so that
 * old segments find an answer and not a new connection (RFC 9293 section 3.6.1,
 * RFC 6191, RFC 1337).
 *
 * One small object each, in the connection table in the connection's place and
 * in a per-CPU list in order of expiry, with one timer per CPU.  They are
 * bounded for the whole machine and charged to nobody; past the bound the
 * oldest of this CPU goes.
 */
#include "net/tcp.h"
#include "kernel/param.h"
#include "mm/slab.h"

static unsigned tw_max = 32768;
PARAM_UINT("net.tcp.timewait_max", tw_max, 0, 1048576, PARAM_RW,
	   "connections kept in TIME_WAIT, whole machine");

/* As in Linux: 0 never, 1 always, 2 on loopback. */
static unsigned tw_reuse = 2;
PARAM_UINT("net.tcp.tw_reuse", tw_reuse, 0, 2, PARAM_RW,
	   "connect() may take the port of a connection in TIME_WAIT: 0 never, 1 always, 2 on "
	   "loopback");

#define TW_REUSE_AFTER    (10 * NSEC_PER_MSEC) /* loopback: several ticks of the timestamp clock */
#define TW_REUSE_AFTER_NET                                                                         \
	NSEC_PER_SEC /* elsewhere the peer's clock may be slower (RFC 7323: 1 s at most) */

struct tcp_tw {
	struct ep ep;
	struct list_head link; /* tw_cpu.list, under its lock; empty: not in */
	unsigned cpu;
	uint32_t rcv_nxt, snd_nxt, ts_recent, rcv_wnd;
	uint8_t opts;
	uint64_t since_ns, expires_ns;
	struct port_hold *hold; /* NULL without memory for it */
};

struct tw_cpu {
	struct spinlock lock;
	struct list_head list;
	struct timer timer;
};
static DEFINE_PER_CPU(struct tw_cpu, tw_cpu);
static struct kmem_cache *tw_cache;
static _Atomic unsigned tw_count;

static struct tcp_tw *ep_tw(const struct ep *e)
{
	return (struct tcp_tw *)((uintptr_t)e - offsetof(struct tcp_tw, ep));
}

static void tw_free_rcu(struct rcu_head *h)
{
	kmem_cache_free(tw_cache, container_of(h, struct tcp_tw, ep.rcu));
}

void tcp_tw_free(struct ep *e)
{
	call_rcu(&e->rcu, tw_free_rcu);
}

unsigned tcp_tw_count(void)
{
	return atomic_load_explicit(&tw_count, memory_order_relaxed);
}

/* Takes it off its CPU's list, whose reference goes. */
void tcp_tw_kill(struct ep *e)
{
	struct tcp_tw *tw = ep_tw(e);
	struct tw_cpu *c = &per_cpu(tw_cpu, tw->cpu);
	bool was;

	spin_lock(&c->lock);
	was = !list_empty(&tw->link);
	list_del(&tw->link);
	spin_unlock(&c->lock);
	if (was) {
		atomic_fetch_sub_explicit(&tw_count, 1, memory_order_relaxed);
		port_hold_put(&tcp_ports, tw->hold);
		ep_put(e);
	}
}

/* The first of the list, referenced, if it expires by @now. */
static struct tcp_tw *tw_first(struct tw_cpu *c, uint64_t now, uint64_t *next)
{
	struct tcp_tw *tw = NULL;

	*next = 0;
	spin_lock(&c->lock);
	if (!list_empty(&c->list)) {
		tw = list_first_entry(&c->list, struct tcp_tw, link);
		if (tw->expires_ns > now) {
			*next = tw->expires_ns;
			tw = NULL;
		} else {
			atomic_fetch_add_explicit(&tw->ep.refs, 1, memory_order_relaxed);
		}
	}
	spin_unlock(&c->lock);
	return tw;
}

static void tw_end(struct tcp_tw *tw)
{
	ep_remove(&tw->ep);
	tcp_tw_kill(&tw->ep);
	ep_put(&tw->ep);
}

static void tw_timer(struct timer *t)
{
	struct tw_cpu *c = container_of(t, struct tw_cpu, timer);
	struct tcp_tw *tw;
	uint64_t next;

	while ((tw = tw_first(c, clock_ns(), &next)))
		tw_end(tw);
	if (next)
		timer_set(t, next + NSEC_PER_SEC / 8); /* several at a time */
}

int tcp_timewait_init(void)
{
	tw_cache = kmem_cache_create("tcp_tw", sizeof(struct tcp_tw), 0, 0);
	for_each_cpu (cpu) {
		struct tw_cpu *c = &per_cpu(tw_cpu, cpu);

		spin_init(&c->lock, "tcp_timewait");
		list_init(&c->list);
		timer_init(&c->timer, tw_timer);
	}
	return tw_cache ? 0 : -ENOMEM;
}

/**
 * tcp_time_wait - the connection has ended in order
 *
 * Context: owned.  Without memory the connection just ends: the peer's last FIN
 * will be answered by a reset.
 */
void tcp_time_wait(struct tcp_sock *tp, uint64_t now)
{
	struct tw_cpu *c = &this_cpu(tw_cpu);
	struct tcp_tw *tw;
	bool first;

	if (tcp_tw_count() >= __atomic_load_n(&tw_max, __ATOMIC_RELAXED)) {
		uint64_t next;

		tw = tw_first(c, UINT64_MAX - 1, &next);
		if (tw)
			tw_end(tw);
		else
			goto done;
	}
	tw = kmem_cache_alloc(tw_cache, GFP_ATOMIC | GFP_NOWARN);
	if (!tw)
		goto done;
	memset(tw, 0, sizeof(*tw));
	atomic_init(&tw->ep.refs, 2); /* ours and the list's */
	tw->ep.kind = EP_TW;
	tw->ep.laddr = tp->ep.laddr;
	tw->ep.raddr = tp->ep.raddr;
	tw->ep.lport = tp->ep.lport;
	tw->ep.rport = tp->ep.rport;
	list_init(&tw->link);
	tw->cpu = cpu_id();
	tw->rcv_nxt = tp->rcv_nxt;
	tw->snd_nxt = tp->snd_nxt;
	tw->ts_recent = tp->ts_recent;
	tw->opts = tp->opts;
	tw->hold = port_hold_get(&tcp_ports, &tw->ep.laddr, tw->ep.lport, tp->sk.reuseaddr,
				 tp->sk.reuseport);
	tw->since_ns = now;
	tw->expires_ns = now + TCP_TIMEWAIT;
	atomic_fetch_add_explicit(&tw_count, 1, memory_order_relaxed);
	spin_lock(&c->lock);
	first = list_empty(&c->list);
	list_add_tail(&tw->link, &c->list);
	spin_unlock(&c->lock);
	net_count(tcp_timewait);
	if (!ep_replace(&tp->ep, &tw->ep))
		tcp_tw_kill(&tw->ep);
	else if (first)
		timer_set(&c->timer, tw->expires_ns);
	ep_put(&tw->ep);
done:
	tcp_done(tp);
}

bool tcp_tw_reuse(bool loopback)
{
	unsigned mode = __atomic_load_n(&tw_reuse, __ATOMIC_RELAXED);

	return mode == 1 || (mode == 2 && loopback);
}

/*
 * May a new connection from here take the same four?  Its timestamps and
 * sequence numbers are later once the timestamp clock has moved on (RFC 6191
 * wants that, not a certain time); bind() with port 0 may well hit a port that
 * a connection to the same peer had a moment ago.
 */
bool tcp_tw_reusable(const struct ep *e)
{
	const struct tcp_tw *tw = ep_tw(e);

	return (tw->opts & TCP_OPT_TS) &&
	       clock_ns() - tw->since_ns >
		       (addr_equal(&e->laddr, &e->raddr) || addr_is_loopback(&e->raddr)
				? TW_REUSE_AFTER
				: TW_REUSE_AFTER_NET);
}

/*
 * The peer's last FIN has come again: he waits from now on, and so do we (RFC 9293
 * section 3.10.7.4).
 */
static void tw_restart(struct tcp_tw *tw)
{
	struct tw_cpu *c = &per_cpu(tw_cpu, tw->cpu);

	spin_lock(&c->lock);
	if (!list_empty(&tw->link)) {
		tw->expires_ns = clock_ns() + TCP_TIMEWAIT;
		list_move_tail(&tw->link, &c->list); /* which stays in order of expiry */
	}
	spin_unlock(&c->lock);
}

void tcp_tw_input(struct ep *e, struct pbuf *p)
{
	struct tcp_tw *tw = ep_tw(e);
	uint8_t f = p->tcp.tcp_flags;
	bool ts = (tw->opts & TCP_OPT_TS) && (p->tcp.opts & TCP_OPT_TS);

	if (f & TH_RST) /* RFC 1337: no assassination */
		goto out;
	if ((f & (TH_SYN | TH_ACK)) == TH_SYN &&
	    (seq_gt(p->tcp.seq, tw->rcv_nxt) ||
	     (ts && (int32_t)(p->tcp.tsval - tw->ts_recent) > 0))) {
		struct tcp_sock *l = listen_lookup(&p->dst, p->tcp.dport, &p->src, p->tcp.sport);

		if (l) { /* MAY-2, RFC 6191: a new connection */
			net_count(tcp_timewait_reused);
			ep_remove(e);
			tcp_tw_kill(e);
			tcp_listen_input(l, p);
			tcp_put(l);
			return;
		}
	}
	if ((f & TH_FIN) && p->tcp.seq + p->len + 1 == tw->rcv_nxt)
		tw_restart(tw);
	/*
	 * Old data, a repeated FIN or SYN: say where we were. A bare acknowledgement
	 * needs no answer.
	 */
	if ((f & (TH_SYN | TH_FIN)) || p->len || p->tcp.seq != tw->rcv_nxt)
		tcp_reply_ack(p, tw->snd_nxt, tw->rcv_nxt, 0, tw->opts & TCP_OPT_TS, tw->ts_recent);
out:
	pbuf_free(p);
}
