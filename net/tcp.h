/* SPDX-License-Identifier: MIT */
/*
 * TCP: the connection and what its files share.
 *
 * What:      one struct tcp_sock per connection or listener.  The files tcp_*.c
 *            share this header; docs/net.md has a line about each.
 * Locks:     tp->own (net/own.h) protects everything marked [o].  Packets for a
 *            connection that is owned go to its backlog.  Lock order: ownership
 *            of one connection, then (without waiting) that of its peer;
 *            bucket locks and a listener's queue lock are innermost.
 * Order:     what a connection sends leaves it through tp->outq while it is
 *            still owned, so its packets reach the peer in the order in which
 *            they were sent, whoever runs.
 * Life time: ep.refs: one for the file, one while hashed or listening, one per
 *            armed timer, one per call that works on it.  Freed by RCU.
 */
#ifndef NET_TCP_H
#define NET_TCP_H

#include "net/sock.h"
#include "net/sock_info.h"
#include "net/own.h"
#include "net/ports.h"
#include "net/tcp_seq.h"
#include "net/ip.h"
#include "net/tcp_cc.h"
#include "net/tcp_rack.h"
#include "kernel/timer.h"

/* Linux's numbers: programs see them in TCP_INFO and /proc/net/tcp. */
enum tcp_state {
	TCP_ESTABLISHED = 1, TCP_SYN_SENT, TCP_SYN_RECV, TCP_FIN_WAIT1, TCP_FIN_WAIT2,
	TCP_TIME_WAIT, TCP_CLOSE, TCP_CLOSE_WAIT, TCP_LAST_ACK, TCP_LISTEN, TCP_CLOSING
};
#define TCPF(s) (1u << (s))

#define TH_FIN 0x01
#define TH_SYN 0x02
#define TH_RST 0x04
#define TH_PSH 0x08
#define TH_ACK 0x10
#define TH_URG 0x20
#define TH_ECE 0x40
#define TH_CWR 0x80

#define TCP_OPT_TS     0x01 /* found in a segment, or agreed on */
#define TCP_OPT_SACKOK 0x02
#define TCP_OPT_WSCALE 0x04
#define TCP_OPT_MSS    0x08
#define TCP_OPT_ECN    0x10 /* no option, but agreed on in the same way (RFC 3168) */

#define TCP_MSS_DEFAULT4 536u
#define TCP_MSS_DEFAULT6 1220u
#define TCP_MSS_FLOOR    88u  /* smaller ones only make work (CVE-2019-11479) */
#define TCP_SEG_MAX      65464u /* payload of the largest packet: 65535 - TCP header - timestamps */
#define TCP_WSCALE       7u   /* 8 MiB windows */
#define TCP_RCVBUF_MAX   (6u << 20)
#define TCP_SNDBUF_MAX   (4u << 20)
#define TCP_OFO_MAX      1024u /* runs kept out of order; their memory is charged as well */

#define TCP_RTO_INIT  (1 * NSEC_PER_SEC)
#define TCP_RTO_MIN   (200 * NSEC_PER_MSEC)
#define TCP_RTO_MAX   (120 * NSEC_PER_SEC)
#define TCP_LO_PROBES 4u /* unanswered questions before a loopback time-out counts as a loss */
#define TCP_DELACK    (40 * NSEC_PER_MSEC)
#define TCP_CORK_MAX  (200 * NSEC_PER_MSEC) /* partial segments of a corked socket leave then */
#define TCP_TIMEWAIT  (60 * NSEC_PER_SEC)
#define TCP_FIN2_TIME (60 * NSEC_PER_SEC)
#define TCP_CHALLENGE_GAP (500 * NSEC_PER_MSEC) /* per connection: RFC 5961 section 7 */
#define TCP_TRIM      NSEC_PER_SEC /* so long a quiet connection may keep credit for its bytes */
#define TCP_RETRIES   15u /* R2: about 15 minutes */
#define TCP_SYN_RETRIES 7u   /* 255 s: at least 3 minutes (MUST-23) */
#define TCP_SYNACK_RETRIES 5u
#define TCP_ORPHAN_RETRIES 8u

/* What the connection hash holds: connections, half-open requests, TIME_WAIT. */
enum ep_kind { EP_SOCK, EP_REQ, EP_TW };
struct ep {
	_Atomic(struct ep *) next; /* RCU chain; the end is a tagged bucket number */
	_Atomic int refs;
	uint8_t kind;
	bool hashed;               /* bucket lock */
	uint16_t lport, rport;
	uint64_t hash;
	struct ip_addr laddr, raddr;
	struct rcu_head rcu;
};

/* One element of the send queue: bytes written together, sent and acknowledged in order. */
struct tcp_seg {
	struct list_head link;
	struct list_head tlink; /* tsq, while it is in flight */
	uint32_t seq, len;
	uint32_t off;       /* into data */
	uint32_t truesize;  /* charged, prepaid included */
	uint32_t prepaid;   /* of it, for bytes still to come; returned when it is sent */
	uint8_t flags;      /* SEG_* */
	uint8_t tx;         /* times transmitted, saturating */
	struct pdata *data; /* NULL without payload */
	uint64_t sent_ns;   /* last transmission */
};
#define SEG_SYN     0x01
#define SEG_FIN     0x02
#define SEG_SACKED  0x04
#define SEG_LOST    0x08
#define SEG_RETRANS 0x10 /* the retransmission is in flight */
#define SEG_PUSH    0x20 /* a write ends here */
#define SEG_EOR     0x40 /* a record ends here: nothing is added behind it (MSG_EOR) */
static inline uint32_t seg_span(const struct tcp_seg *s)
{
	return s->len + ((s->flags & SEG_SYN) ? 1 : 0) + ((s->flags & SEG_FIN) ? 1 : 0);
}
static inline uint32_t seg_end(const struct tcp_seg *s)
{
	return s->seq + seg_span(s);
}

/*
 * What holds sending back, for TCP_INFO: nothing to send; the network; the peer's
 * window; the buffer's size.
 */
enum tcp_limit { LIMIT_NONE, LIMIT_BUSY, LIMIT_RWND, LIMIT_SNDBUF, TCP_LIMITS };
#define TCP_LIMIT_SHIFT 14 /* 16.384 us */

enum tcp_ca { CA_OPEN, CA_CWR, CA_RECOVERY, CA_LOSS }; /* tcp_cong.c */
/* After a time-out: not asking any more, one segment repeated, new data sent (RFC 5682). */
enum tcp_frto { FRTO_OFF, FRTO_FIRST, FRTO_SECOND };

/* Urgent data received: none, announced, arrived, taken with MSG_OOB (tcp_urg.c). */
enum tcp_urg_state { URG_NONE, URG_EXPECTED, URG_HERE, URG_READ };

/* An ICMP error that waits for the owner (tcp_icmp.c). */
struct tcp_icmp {
	uint32_t seq, mtu;
	int err; /* positive; EMSGSIZE: mtu is the path's */
	bool hard;
};

struct tcp_sock;
struct tcp_listener; /* net/tcp_listen.h */
struct tcp_run; /* net/tcp_ofo.h */

struct tcp_sock {
	struct sock sk;
	struct ep ep;
	struct sock_own own;
	struct port_user port;      /* bound by bind() or listen() */
	struct port_hold *hold;     /* [o] else: the port of an accepted or connected one */

	_Atomic int state;      /* [o] to write; enum tcp_state */
	bool orphan;            /* [o] the file is gone */
	bool loopback;          /* [o] the peer is this machine */
	struct netdev *dev;     /* [o] route, set with the connection */
	struct pqueue outq;     /* [o] built, not yet handed to the device */
	bool wake_rd, wake_wr;  /* [o] when ownership goes */
	/* [o] for pbuf.home: CPU + 1 of the program; changes with nothing in flight */
	uint16_t home;

	/* Sending. [o] */
	struct list_head txq;       /* tcp_seg: sent and unacknowledged, then unsent */
	/* first unsent; NULL none.  From here to timer: tcp_renew() clears */
	struct tcp_seg *tx_next;
	uint32_t snd_una, snd_nxt, snd_wnd, snd_wl1, snd_wl2, snd_max_wnd;
	uint32_t write_seq;         /* behind the last byte queued */
	uint32_t iss, irs;
	uint32_t mss;               /* payload bytes per segment, options counted out */
	uint32_t path_generation;   /* ip_path_generation() when mss was set */
	uint32_t adv_mss, peer_mss; /* we announce; the peer said */
	uint8_t snd_wscale, rcv_wscale;
	uint8_t opts;               /* TCP_OPT_* agreed on */
	bool fin_queued, more;
	bool probe_byte;            /* the byte at snd_nxt went out with a window probe */
	bool orphan_counted;        /* among tcp_orphans() */
	/* what ICMP said about segments in flight; told at a time-out */
	int soft_err;
	_Atomic uint32_t wmem;      /* truesize queued; read by waiting writers */
	struct page *frag;          /* partly used block for copied bytes */
	uint32_t frag_off, frag_size;

	/* Receiving. [o] */
	struct pqueue rxq;          /* in order; changed at the head only by the reader */
	uint32_t rx_off;            /* bytes of the first already read */
	_Atomic uint32_t rx_bytes;  /* readable; looked at by waiting readers */
	uint32_t rmem;              /* truesize of rxq and ofo */
	/* next expected; last acknowledged; right edge promised */
	uint32_t rcv_nxt, rcv_wup, rcv_adv;
	uint32_t rcv_wnd_last;
	uint32_t ts_recent;
	uint64_t ts_recent_ns;
	uint32_t small_end;         /* end of the last partial segment sent (Nagle) */
	struct tcp_run *ofo;        /* root of what waits out of order (tcp_ofo.h) */
	struct list_head ofo_recent; /* its runs, changed last first */
	uint32_t ofo_runs;
	uint32_t dsack_start, dsack_end; /* to report once; equal: none */
	bool rx_busy;               /* a reader copies without ownership … */
	bool rx_turn;               /* … and another one waits for its end */
	struct pbuf *rx_seen;       /* … up to and with this packet */
	uint32_t urg_seq;           /* the urgent byte */
	uint8_t urg_state, urg_byte; /* enum tcp_urg_state; the byte once it is here */
	bool urg_send;              /* bytes before snd_up are urgent */
	uint32_t snd_up;
	bool hungry;                /* the last reader waits for more than one byte */
	bool ack_now, ack_pending, fin_rcvd;
	/* the peer's end has been reached: no later error changes that */
	bool fin_done;
	bool interactive;           /* requests are answered soon: the answer acknowledges */
	uint8_t quick;              /* so many acknowledgements more do not wait */
	uint32_t answered;          /* rcv_nxt when data was last sent */
	uint32_t fin_seq;
	uint64_t copied;            /* bytes read since rcvbuf was last looked at */

	/* Congestion and loss. [o] */
	uint32_t cwnd, ssthresh, bytes_acked;
	uint8_t ca;                 /* enum tcp_ca */
	uint8_t dupacks, backoff, retries, probes_out;
	uint8_t rto_probes;         /* loopback: asked so often before retransmitting */
	uint8_t frto;               /* enum tcp_frto */
	/* ECE goes with each acknowledgement; CWR with the next new data */
	bool ecn_echo, ecn_cwr;
	bool tlp_out, tlp_retrans;  /* a tail probe is out; it was a repetition */
	uint32_t probe_ts;          /* our timestamp in the last of them */
	uint32_t recover;           /* recovery ends when this is acknowledged */
	uint32_t tlp_end, tlp_ts;   /* the probe's answer acknowledges this; our timestamp in it */
	/* bytes so marked in txq; without SACK: counted duplicates */
	uint32_t sacked, lost, retrans;
	uint32_t nr_sacked;         /* elements of txq marked SEG_SACKED */
	uint32_t prr_flight, prr_delivered, prr_out; /* since the recovery began (tcp_prr.c) */
	struct tcp_seg *sack_hint;  /* marked last; NULL: begin at the head */
	/* no lost element before it waits to be sent again; NULL: unknown */
	struct tcp_seg *rtx_hint;
	/* tcp_seg.tlink, in the order of the last transmission (tcp_rack.h) */
	struct list_head tsq;
	struct tcp_rack rack;
	union {
		struct tcp_cubic cubic;
	} cc_state;
	struct tcp_hystart hystart;
	uint32_t prior_cwnd, prior_ssthresh;
	uint32_t undo_una, undo_retrans;
	uint32_t retrans_ts;        /* our timestamp at the first retransmission; 0 none */
	uint64_t srtt, rttvar, rto; /* ns; srtt 0: no sample */
	uint64_t min_rtt, min_rtt_ns; /* of the last minutes, and when it was measured */
	uint64_t last_rx_ns, last_tx_ns, last_challenge_ns;

	/* Timers: one, armed for the earliest deadline (clock_ns; 0 none). [o] */
	struct timer timer;
	uint64_t timer_at;
	struct net_node timer_node;
	_Atomic bool timer_queued;
	struct net_node icmp_node;
	_Atomic bool icmp_queued;   /* whoever sets it may write icmp and push the node */
	struct tcp_icmp icmp;
	uint64_t rto_at, probe_at, delack_at, keep_at, cork_at, close_at, reo_at, pto_at, trim_at;

	/* Options, and what outlives a connection. [o] */
	const struct tcp_cc_ops *cc;
	bool nodelay, cork, quickack, inq; /* inq: TCP_INQ */
	bool connecting;            /* connect() has begun and not yet told the result */
	bool connected;             /* connect() or accept() said so; until connect(AF_UNSPEC) */
	/* named by bind(): not given back when the connection ends */
	bool addr_locked, port_locked;
	uint32_t user_mss;          /* TCP_MAXSEG; 0 none */
	unsigned keep_idle, keep_intvl, keep_cnt; /* seconds */
	unsigned user_timeout_ms, syn_retries, defer_accept, linger2, notsent_lowat;

	/* when the present run of time-outs began.  From here: tcp_renew() clears */
	uint64_t first_rto_ns;
	unsigned keep_probes;

	/* Counts for TCP_INFO. [o] */
	uint32_t total_retrans;
	uint64_t bytes_in, bytes_acked_total, delivered, bytes_sent, bytes_retrans, last_data_ns;
	uint32_t dsacks, ofo_in, data_segs_in, data_segs_out;
	uint32_t segs_in, segs_out;
	uint32_t delivered_ce;        /* bytes, of delivered, acknowledged with ECE */
	uint8_t limit;                /* enum tcp_limit: what holds sending back … */
	bool no_room;                 /* a writer found the buffer full and has not come back */
	uint32_t limit_at;            /* … since then, in units of TCP_LIMIT_SHIFT, as are … */
	uint32_t limited[TCP_LIMITS]; /* … the sums; they stop at their largest value (19 hours) */
	uint32_t rate_mark;           /* low bits of delivered when the sample began, … */
	/* … that time, and the last sample in bytes a second; to here */
	uint64_t rate_at, rate;

	struct list_head accept_link; /* listener's lock */
	/* listener a child came from, until accepted; only compared */
	struct tcp_sock *parent;
	struct tcp_listener *listener;
	_Atomic(struct tcp_sock *) lnext; /* listener hash, RCU */
	bool listen_hashed;
};

static inline struct tcp_sock *tcp_of(struct sock *s)
{
	return (struct tcp_sock *)s; /* first member */
}
static inline struct tcp_sock *ep_sock(struct ep *e)
{
	return container_of(e, struct tcp_sock, ep);
}
static inline int tcp_state(const struct tcp_sock *tp)
{
	return atomic_load_explicit(&tp->state, memory_order_acquire);
}
static inline bool tcp_in(const struct tcp_sock *tp, unsigned mask)
{
	return (TCPF(tcp_state(tp)) & mask) != 0;
}
void tcp_set_state(struct tcp_sock *tp, int state);

/* Life and ownership (tcp_sock.c). */
struct tcp_sock *tcp_alloc(int family, struct owner *owner, gfp_t gfp);
static inline void tcp_get(struct tcp_sock *tp)
{
	atomic_fetch_add_explicit(&tp->ep.refs, 1, memory_order_relaxed);
}
uint8_t tcp_offered(void); /* TCP_OPT_* that a new connection asks for or accepts */
void tcp_put(struct tcp_sock *tp);
static inline void tcp_own(struct tcp_sock *tp)
{
	own_get(&tp->own);
}
/* Handles the backlog, sends what is in outq, lets go, wakes.  The caller holds a reference. */
void tcp_release(struct tcp_sock *tp);
void tcp_done(struct tcp_sock *tp);              /* dead: unhashed, timers off, everybody woken */
void tcp_reset(struct tcp_sock *tp, int err);    /* the same with an error for the program */
void tcp_abort(struct tcp_sock *tp, int err);    /* the same, and tells the peer by RST */
void tcp_established(struct tcp_sock *tp, uint64_t now); /* buffers, keepalive, wake-ups */
void tcp_set_mss(struct tcp_sock *tp);
/* owned; before something is sent: does the path take less by now? */
void tcp_path_check(struct tcp_sock *tp);
/* connections without a file that still have something to do */
unsigned tcp_orphans(void);
void tcp_flush(struct tcp_sock *tp); /* hands outq to the device, in order */
/* owned; 0 or -errno */
int tcp_wait_connected(struct tcp_sock *tp, uint64_t deadline, uint64_t timeo);
int tcp_connect(struct sock *s, const union sockaddr_any *a, unsigned len, bool nonblock);
/*
 * Ends whatever the socket is doing, with a reset if need be, and renews it.  Owned
 * before and after.
 */
void tcp_disconnect(struct tcp_sock *tp);
/*
 * Makes a dead connection's socket as good as new: no bytes, no numbers, no name but what
 * bind() gave.  Options stay.  Owned, in TCP_CLOSE, and no reader copies.
 */
void tcp_renew(struct tcp_sock *tp);
void tcp_release_port(struct tcp_sock *tp); /* bound or held; owned, or nobody else knows it */
void tcp_free_txq(struct tcp_sock *tp);
void tcp_free_rxq(struct tcp_sock *tp);
static inline bool tcp_wmem_free(const struct tcp_sock *tp)
{
	return atomic_load_explicit(&tp->wmem, memory_order_relaxed) <
	       atomic_load_explicit(&tp->sk.sndbuf, memory_order_relaxed);
}

/*
 * TCP_NOTSENT_LOWAT: does as much wait to be sent as the program wants to wait?  Who waits or
 * polls is told when half of it has gone (@shift 1), so that it is not woken for each segment.
 * Context: any; exact when owned.
 */
static inline bool tcp_unsent_enough(const struct tcp_sock *tp, unsigned shift)
{
	return unlikely(tp->notsent_lowat) &&
	       ((uint64_t)(__atomic_load_n(&tp->write_seq, __ATOMIC_RELAXED) -
			   __atomic_load_n(&tp->snd_nxt, __ATOMIC_RELAXED))
		<< shift) >= tp->notsent_lowat;
}

/* tcp_hash.c */
int tcp_hash_init(void);
uint64_t ep_hash(const struct ip_addr *l, uint16_t lport, const struct ip_addr *r, uint16_t rport);
/* Return: the endpoint with a reference, or NULL.  Context: any thread; takes RCU itself. */
struct ep *ep_lookup(const struct ip_addr *l, uint16_t lport, const struct ip_addr *r,
		     uint16_t rport);
/* Adds @e (its addresses are set) with a reference: 0, or -EADDRNOTAVAIL if the four are taken. */
int ep_insert(struct ep *e, bool reuse_tw);
bool ep_remove(struct ep *e);                   /* drops the table's reference; true if it was in */
bool ep_replace(struct ep *old, struct ep *new); /* false (and nothing done) if @old had gone */
void ep_put(struct ep *e);
bool ep_taken(const struct ip_addr *l, uint16_t lport, const struct ip_addr *r, uint16_t rport,
	      bool reuse_tw);
int listen_insert(struct tcp_sock *tp);
void listen_remove(struct tcp_sock *tp);
struct tcp_sock *listen_lookup(const struct ip_addr *l, uint16_t lport, const struct ip_addr *r,
			       uint16_t rport); /* referenced; NULL */
/* Calls @fn for each connection, request and TIME_WAIT, under RCU. */
void ep_for_each(void (*fn)(struct ep *e, void *arg), void *arg);
void listen_for_each(void (*fn)(struct tcp_sock *tp, void *arg), void *arg);
/*
 * The same for lists made in parts: until @fn returns false (then false), from @at on,
 * where it stopped.
 */
bool ep_walk(struct sock_place *at, bool (*fn)(struct ep *e, void *arg), void *arg);
bool listen_walk(struct sock_place *at, bool (*fn)(struct tcp_sock *tp, void *arg), void *arg);
struct abi_tcp_info;
/* TCP_INFO; without ownership the figures may be a moment old. */
void tcp_fill_info(struct tcp_sock *tp, struct abi_tcp_info *i);
void tcp_limit_change(struct tcp_sock *tp, uint8_t limit, uint64_t now);
/* Owned.  From now on @limit holds sending back. */
static inline void tcp_limited(struct tcp_sock *tp, uint8_t limit, uint64_t now)
{
	if (unlikely(tp->limit != limit))
		tcp_limit_change(tp, limit, now);
}
void tcp_rate_sample(struct tcp_sock *tp, uint64_t now); /* owned; after tp->delivered grew */
extern struct port_table tcp_ports;

/* tcp_options.c */
bool tcp_parse(struct pbuf *p); /* header and options into p->tcp; false: malformed */
unsigned tcp_put_options(uint8_t *o, unsigned opts, bool syn, uint32_t mss, uint8_t wscale,
			 uint32_t tsval, uint32_t tsecr);
static inline uint32_t tcp_ts(uint64_t now)
{
	return (uint32_t)(now / NSEC_PER_MSEC) + 1;
}

/* tcp_input.c, tcp_rcv.c, tcp_ack.c */
void tcp_segment(struct tcp_sock *tp, struct pbuf *p); /* owned; consumes p */
void tcp_data(struct tcp_sock *tp, struct pbuf *p, uint64_t now); /* consumes p */
bool tcp_rx_charge(struct tcp_sock *tp, struct pbuf *p, bool in_order); /* false: no room for it */
void tcp_rx_uncharge(struct tcp_sock *tp, struct pbuf *p);
/* @p comes next: queued, or freed because its bytes have been copied (@packed). */
void tcp_rx_append(struct tcp_sock *tp, struct pbuf *p, bool packed);
/* a root-group socket, and the machine has little left */
bool tcp_memory_short(const struct tcp_sock *tp);
void tcp_fin_received(struct tcp_sock *tp, uint64_t now);
/* false: segment is to be dropped */
bool tcp_ack(struct tcp_sock *tp, struct pbuf *p, uint64_t now);
void tcp_challenge_ack(struct tcp_sock *tp, uint64_t now);
uint32_t tcp_window(struct tcp_sock *tp); /* window to offer now, bytes */
uint32_t tcp_window_room(const struct tcp_sock *tp, uint32_t least);
bool tcp_ts_ok(const struct tcp_sock *tp, const struct pbuf *p, uint64_t now); /* PAWS */

/* tcp_output.c (what may be sent), tcp_seg.c (elements), tcp_xmit.c (packets) */
void tcp_output(struct tcp_sock *tp, uint64_t now);
void tcp_output_one(struct tcp_sock *tp, uint64_t now);  /* tx_next is there */
void tcp_send_ack(struct tcp_sock *tp, uint64_t now);
void tcp_send_probe(struct tcp_sock *tp, uint64_t now);  /* one below snd_una, no data */
/* the next byte, beyond the window */
void tcp_send_window_probe(struct tcp_sock *tp, uint64_t now);
/* that byte was taken: it is sent; false: no memory to say so */
bool tcp_claim_probe(struct tcp_sock *tp);
void tcp_send_reset(struct tcp_sock *tp, uint64_t now);
void tcp_push_last(struct tcp_sock *tp); /* PSH on the last packet of outq, which is data */
void tcp_reply_reset(const struct pbuf *p);              /* to a segment nobody wants */
/* the same to one of no connection, at a bounded rate */
void tcp_reply_stray(const struct pbuf *p);
void tcp_reply_ack(const struct pbuf *p, uint32_t seq, uint32_t ack, uint32_t wnd, bool ts,
		   uint32_t tsecr);
bool tcp_send_seg(struct tcp_sock *tp, struct tcp_seg *seg, uint64_t now);
struct tcp_seg *tcp_seg_alloc(struct tcp_sock *tp);
void tcp_seg_free(struct tcp_sock *tp, struct tcp_seg *s);
/* A partial last segment @s takes bytes from the next one if the pieces fit together. */
void tcp_seg_fill(struct tcp_sock *tp, struct tcp_seg *s);
/* Cuts @s after @n bytes; the rest is the next element.  False without memory. */
bool tcp_seg_split(struct tcp_sock *tp, struct tcp_seg *s, uint32_t n);
void tcp_seg_refund(struct tcp_sock *tp, struct tcp_seg *s);
int tcp_queue_flag(struct tcp_sock *tp, uint8_t flag);    /* SEG_SYN or SEG_FIN */
uint32_t tcp_pipe(const struct tcp_sock *tp);
struct pbuf *tcp_packet(const struct ip_addr *src, uint16_t sport, const struct ip_addr *dst,
			uint16_t dport);
void tcp_finish(struct pbuf *p, uint32_t seq, uint32_t ack, uint8_t flags, uint32_t wnd_field);
int tcp_seg_init(void);

/* tcp_sack.c */
void tcp_sack_update(struct tcp_sock *tp, const struct pbuf *p, uint64_t now,
		     struct tcp_ack_info *a);
bool tcp_mark_longer(struct tcp_sock *tp, uint32_t mss); /* true: something in flight was longer */
void tcp_mark_timeout(struct tcp_sock *tp, uint64_t now);
void tcp_clear_lost(struct tcp_sock *tp);
bool tcp_may_report(const struct tcp_sock *tp); /* is there something for tcp_put_sack()? */
unsigned tcp_put_sack(struct tcp_sock *tp, uint8_t *o, unsigned room);

/* tcp_cong.c */
void tcp_cong_init(struct tcp_sock *tp);
uint32_t tcp_initial_cwnd(const struct tcp_sock *tp);
void tcp_rtt_sample(struct tcp_sock *tp, uint64_t rtt_ns, uint64_t now);
void tcp_congestion(struct tcp_sock *tp, const struct pbuf *p, struct tcp_ack_info *a, bool dup,
		    uint64_t now);
void tcp_enter_cwr(struct tcp_sock *tp);
void tcp_enter_recovery(struct tcp_sock *tp);
/* the same without a reduction: no sign of congestion */
void tcp_enter_repair(struct tcp_sock *tp);
void tcp_enter_loss(struct tcp_sock *tp, uint64_t now);

/* tcp_prr.c */
void tcp_prr_begin(struct tcp_sock *tp);
void tcp_prr_update(struct tcp_sock *tp, uint32_t delivered, bool safe);

/* tcp_ecn.c */
bool tcp_ecn_asks(const struct tcp_sock *tp);    /* is our SYN to ask for it? */
bool tcp_ecn_accepts(const struct pbuf *syn);    /* the peer's SYN asks, and we want it */
uint8_t tcp_ecn_tos(const struct tcp_sock *tp, bool capable); /* type of service of a packet */
/* data: a mark, or the end of an echo */
void tcp_ecn_received(struct tcp_sock *tp, const struct pbuf *p);
void tcp_ecn_echoed(struct tcp_sock *tp, const struct pbuf *p);   /* an acknowledgement */
void tcp_ecn_reduced(struct tcp_sock *tp);       /* the window has been reduced */
uint8_t tcp_ecn_flags(struct tcp_sock *tp, bool new_data); /* for the next segment */

void tcp_icmp_event(struct tcp_sock *tp); /* owned: what icmp holds (tcp_icmp.c) */

/* tcp_urg.c */
void tcp_urg_received(struct tcp_sock *tp, const struct pbuf *p); /* acceptable, with URG */
/* in-order data while it is expected */
void tcp_urg_take(struct tcp_sock *tp, const struct pbuf *p);
/* Bytes that can be read before the urgent one; UINT32_MAX: it has been read. */
uint32_t tcp_urg_distance(const struct tcp_sock *tp);
ssize_t tcp_urg_recv(struct tcp_sock *tp, struct sock_msg *m);    /* recv(MSG_OOB), not owned */
void tcp_urg_queued(struct tcp_sock *tp);                         /* everything queued is urgent */
/* for a segment; 0: without URG */
uint16_t tcp_urg_pointer(struct tcp_sock *tp, uint32_t seq);

/* tcp_pack.c */
uint32_t tcp_rx_truesize(const struct tcp_sock *tp, const struct pbuf *p);
/* True: the bytes of @p are in the last packet of @q, charged, and @p is not needed. */
bool tcp_pack(struct tcp_sock *tp, struct pqueue *q, struct pbuf *p);

/* tcp_timer.c */
void tcp_timer_init(struct tcp_sock *tp);
void tcp_timer_update(struct tcp_sock *tp); /* arm for the earliest deadline */
void tcp_timer_event(struct tcp_sock *tp);  /* owned: do what is due */
void tcp_timer_stop(struct tcp_sock *tp);
void tcp_rto_restart(struct tcp_sock *tp, uint64_t now);

/* tcp_listen.c, tcp_req.c; more in net/tcp_listen.h */
unsigned tcp_accept_waiting(const struct tcp_sock *l, unsigned *backlog); /* NULL is fine */
/* what we take from there */
uint32_t tcp_local_mss(const struct netdev *dev, const struct ip_addr *a);
int tcp_listen(struct sock *s, int backlog);
int tcp_accept(struct sock *s, struct sock **out, bool nonblock);
void tcp_listen_input(struct tcp_sock *l, struct pbuf *p);    /* consumes p, not the reference */
void tcp_req_input(struct ep *e, struct pbuf *p);             /* the same */
void tcp_listen_close(struct tcp_sock *l);
void tcp_req_free(struct ep *e);
void tcp_req_error(struct ep *e, uint32_t seq); /* our SYN-ACK @seq gets nowhere */
uint32_t tcp_isn(const struct ep *e, uint64_t now);

/* tcp_timewait.c */
int tcp_timewait_init(void);
void tcp_time_wait(struct tcp_sock *tp, uint64_t now);        /* replaces and finishes tp */
void tcp_tw_input(struct ep *e, struct pbuf *p);
void tcp_tw_free(struct ep *e);
bool tcp_tw_reuse(bool loopback); /* net.tcp.tw_reuse: may connect() take over a TIME_WAIT? */
bool tcp_tw_reusable(const struct ep *e);
void tcp_tw_kill(struct ep *e);
unsigned tcp_tw_count(void);

/* tcp_opt.c */
int tcp_setsockopt(struct sock *s, int level, int name, const void *val, unsigned len);
int tcp_getsockopt(struct sock *s, int level, int name, void *val, unsigned *len);

/* tcp_recv.c, tcp_send.c */
void tcp_frag_idle(struct tcp_sock *tp); /* nothing is queued: gives frag, which is there, up */
ssize_t tcp_recvmsg(struct sock *s, struct sock_msg *m);
ssize_t tcp_sendmsg(struct sock *s, struct sock_msg *m);
ssize_t tcp_send_pages(struct sock *s, const struct page_part *v, unsigned n, unsigned flags);

void tcp_init(void);

#endif /* NET_TCP_H */
