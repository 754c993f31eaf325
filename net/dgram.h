/* SPDX-License-Identifier: MIT */
/*
 * Datagram sockets' common half: UDP, raw and ping sockets.
 *
 * Locks: lock (spinlock) protects queue, rmem and sk.mem; the hash chains are
 *        read under RCU.  Life: refs, freed by RCU.
 */
#ifndef NET_DGRAM_H
#define NET_DGRAM_H

#include "net/sock.h"
#include "net/pbuf.h"
#include "net/ports.h"
#include "net/ip.h"

struct dgram_sock {
	struct sock sk;
	struct spinlock lock;
	_Atomic int refs;
	struct pqueue queue;       /* lock */
	_Atomic unsigned queued;   /* packets; looked at by sleepers */
	uint32_t rmem;             /* lock */
	_Atomic(struct dgram_sock *) next; /* hash chain */
	bool hashed;
	struct port_user port;
	struct ip_addr laddr, raddr;
	uint16_t lport, rport;     /* rport 0: not connected */
	uint32_t icmp_filter;      /* raw IPv4: types not wanted */
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
unsigned dgram_poll(struct sock *s, struct file *f, struct poll_table *pt);
int dgram_ioctl(struct sock *s, unsigned cmd, int *value);
int dgram_shutdown(struct sock *s, int how);
int dgram_getname(struct sock *s, union sockaddr_any *a, bool peer);
int dgram_init(void);
int udp_init(void);

#endif /* NET_DGRAM_H */
