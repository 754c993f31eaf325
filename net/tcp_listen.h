/* SPDX-License-Identifier: MIT */
/*
 * From a SYN to a connection: what the files of the passive side share.
 *
 *	tcp_listen.c  the program's calls: listen(), accept(), the end
 *	tcp_req.c     half-open requests, each a small object in the connection table
 *	tcp_cookie.c  half-open requests that are remembered only by the peer
 *	tcp_child.c   the connection that comes of either
 */
#ifndef NET_TCP_LISTEN_H
#define NET_TCP_LISTEN_H

#include "net/tcp.h"

/* What only a listener has. lock protects all of it, innermost. */
struct tcp_listener {
	struct spinlock lock;
	struct list_head accept; /* tcp_sock.accept_link: established, waiting for accept() */
	_Atomic unsigned nr_accept;
	unsigned nr_syn;         /* of reqs; read without the lock, too */
	unsigned backlog;
	bool closed;
	struct list_head reqs;   /* tcp_req.link */
	_Atomic uint64_t cookie_ns; /* clock_ns: when a cookie was sent last; 0: never */
};

/* What SYN and SYN-ACK agreed on. */
struct tcp_offer {
	uint64_t sent_ns;        /* our first SYN-ACK; 0: unknown */
	uint32_t iss, irs, ts_recent;
	uint16_t mss;            /* what the peer takes */
	uint8_t opts, wscale;    /* TCP_OPT_* both want; the peer's scale */
	bool repeated;           /* the SYN-ACK was sent more than once */
	struct netdev *dev;      /* the way back */
};

/* Reads the offer in the SYN @p; iss and sent_ns are the caller's. */
void tcp_offer_read(struct tcp_offer *o, const struct pbuf *p);
/* Answers the SYN of @e (addresses) for the listener @l.  @tsval: our timestamp. */
void tcp_send_syn_ack(struct tcp_sock *l, const struct ep *e, const struct tcp_offer *o,
		      uint32_t tsval);

/*
 * tcp_child.c: a connection in SYN_RECV, owned by the caller, with one reference; NULL
 * without memory.
 */
struct tcp_sock *tcp_child(struct tcp_sock *l, const struct ep *e, const struct tcp_offer *o,
			   uint64_t now);
/*
 * The child is in the connection table: processes the segment that completes the
 * handshake (consumes it) and queues the child for accept().  Lets go of the child.
 */
void tcp_child_ready(struct tcp_sock *l, struct tcp_sock *tp, struct pbuf *p);
/* No room for one more: counted. */
bool tcp_accept_full(struct tcp_listener *q);

/* tcp_req.c */
int tcp_req_init(void);
void tcp_req_close_all(struct tcp_listener *q); /* closed is set: no new ones come */

/* tcp_cookie.c */
/* Answers a SYN without remembering it.  False: cookies are off. */
bool tcp_cookie_syn(struct tcp_sock *l, const struct pbuf *p, bool full);
/*
 * A segment with ACK for which there is no request.  True: it brings back a
 * cookie of ours, and was consumed; false: it is untouched.
 */
bool tcp_cookie_ack(struct tcp_sock *l, struct pbuf *p);

#endif /* NET_TCP_LISTEN_H */
