/* SPDX-License-Identifier: MIT */
/*
 * Datagram sockets' common half: UDP, raw and ping sockets.
 *
 * Locks: naming (mutex) protects the two ends against other calls on the socket: bind(),
 *        connect(), the first send; who looks for a receiver reads them without it.
 *        lock (spinlock) protects queue, errors, rmem, wmem and sk.mem; the hash chains
 *        are read under RCU.  Life: refs (the file, packets on their way out, whoever
 *        looks), freed by RCU.
 */
#ifndef NET_DGRAM_H
#define NET_DGRAM_H

#include "net/sock.h"
#include "net/pbuf.h"
#include "net/ports.h"
#include "net/ip.h"

struct dgram_sock {
	struct sock sk;
	struct mutex naming;       /* laddr, raddr, lport, rport, port */
	struct spinlock lock;
	_Atomic int refs;
	struct pqueue queue;       /* lock */
	_Atomic unsigned queued;   /* packets; looked at by sleepers */
	/* bytes charged for packets on their way out; written under lock */
	_Atomic uint32_t wmem;
	uint32_t rmem;             /* lock */
	_Atomic uint32_t drops;    /* datagrams that found no room */
	struct pqueue errors;      /* lock: what ICMP said, for MSG_ERRQUEUE */
	_Atomic unsigned nr_errors;
	_Atomic(struct dgram_sock *) next; /* chain of its port, or of all raw sockets */
	_Atomic(struct dgram_sock *) next_conn; /* UDP, connected: chain of both ends */
	bool hashed, conn_hashed;  /* bucket's lock */
	unsigned conn_slot;
	struct port_user port;
	bool addr_locked, port_locked; /* named by bind(), not given back by connect(AF_UNSPEC) */
	struct ip_addr laddr, raddr;
	uint16_t lport, rport;     /* rport 0: not connected */
	uint32_t icmp_filter[8];   /* raw ICMP: types not wanted; IPv4 has one word */
	int csum_off;              /* raw: where a checksum is filled in on sending, -1: nowhere */
};

static inline struct dgram_sock *dgram_of(struct sock *s)
{
	return (struct dgram_sock *)s;
}
struct dgram_sock *dgram_alloc(const struct sock_ops *ops, int family, int type, int protocol);
void dgram_put(struct dgram_sock *d);
bool dgram_try_get(struct dgram_sock *d);
/* Charges and queues @p, or drops and counts it; consumes. */
void dgram_queue(struct dgram_sock *d, struct pbuf *p);
/* The next packet, dequeued unless MSG_PEEK (then a clone); NULL with *err set. */
struct pbuf *dgram_next(struct dgram_sock *d, struct sock_msg *m, int *err);
/*
 * addr_import() for a destination: an AF_INET6 socket takes IPv4 addresses, too,
 * unless IPV6_V6ONLY.
 */
int dgram_addr_import(const struct dgram_sock *d, const union sockaddr_any *sa, unsigned len,
		      struct ip_addr *out, uint16_t *port);
/* Where a datagram goes, and from which address. */
struct dgram_way {
	struct ip_addr dst, src;
	uint16_t port;          /* of the destination */
	struct netdev *dev;
};
/**
 * dgram_way - destination (from the message, or the connected one), route and source
 * Control messages of @m and the socket's options count.
 * Return: 0, -EDESTADDRREQ, -EACCES (broadcast not allowed), -EINVAL (source), or as
 * addr_import() and route_lookup().
 */
int dgram_way(struct dgram_sock *d, struct sock_msg *m, struct dgram_way *w);
/*
 * Truesize of a datagram of @head and @payload bytes behind the network header, cut as
 * its path asks.
 */
uint32_t dgram_cost(const struct dgram_way *w, unsigned head, size_t payload);
/**
 * dgram_pay - charge the socket for a packet on its way out, waiting for room if need be
 * @m: whether to wait; SO_SNDTIMEO limits it
 * @p: p->dev set; freeing it gives the charge back
 * @bytes: from dgram_cost()
 *
 * There is room while less than SO_SNDBUF is on its way, so one datagram always gets
 * through, however large.  A group at its limit is asked to make room; if it cannot, what
 * the socket has on its way is waited for.
 *
 * Context: thread; may sleep.
 * Return: 0; -EAGAIN (not to wait, or time out), -ENOBUFS (the group's limit, and nothing
 * to wait for), -EINTR, -ERESTARTSYS, -EPIPE (shut down meanwhile), the socket's error.
 */
int dgram_pay(struct dgram_sock *d, const struct sock_msg *m, struct pbuf *p, uint32_t bytes);
/* Is at most half of SO_SNDBUF on its way?  What poll() calls writable. */
static inline bool dgram_writable(struct dgram_sock *d)
{
	return atomic_load_explicit(&d->wmem, memory_order_seq_cst) <=
	       atomic_load_explicit(&d->sk.sndbuf, memory_order_relaxed) / 2;
}
/* Route for a connect(): honours SO_BINDTODEVICE and a link-local address's scope. */
int dgram_route(struct dgram_sock *d, const union sockaddr_any *a, const struct ip_addr *dst,
		struct route *rt);
/**
 * dgram_transmit - send a complete datagram as the socket's options say
 * @p: consumed; transport header (checksum done) and payload
 * Copies of multicast come back to this machine if it listens.
 * Return: as ip_output().
 */
int dgram_transmit(struct dgram_sock *d, struct sock_msg *m, struct pbuf *p, uint8_t proto);
/* What the socket wants to know about @p, for recvmsg(). */
void dgram_describe(struct dgram_sock *d, struct sock_msg *m, const struct pbuf *p);
/* May the socket, bound to a device perhaps, see @p? */
static inline bool dgram_dev_ok(const struct dgram_sock *d, const struct pbuf *p)
{
	return !d->sk.ip.bound || d->sk.ip.bound == p->dev;
}
struct icmp_error;
/* An ICMP error about a datagram of this socket. @connected: it has one peer, and hears of it. */
void dgram_error(struct dgram_sock *d, const struct icmp_error *e, bool connected);
/* recvmsg(MSG_ERRQUEUE): one entry of the error queue, or -EAGAIN. */
ssize_t dgram_recv_error(struct dgram_sock *d, struct sock_msg *m);
unsigned dgram_poll(struct sock *s, struct file *f, struct poll_table *pt);
int dgram_ioctl(struct sock *s, unsigned cmd, int *value);
int dgram_shutdown(struct sock *s, int how);
int dgram_getname(struct sock *s, union sockaddr_any *a, enum sock_end end);
int dgram_init(void);
int udp_init(void);

#endif /* NET_DGRAM_H */
