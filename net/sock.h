/* SPDX-License-Identifier: MIT */
/*
 * Sockets: what all protocols share, and the calls each brings.
 *
 * A socket is created with one reference, which its file holds; ops->close()
 * takes it over.  Addresses and message headers are already in kernel memory
 * here; only the bytes themselves are copied from or to the program by the
 * protocol.
 */
#ifndef NET_SOCK_H
#define NET_SOCK_H

#include "net/abi.h"
#include "net/addr.h"
#include "net/cmsg.h"
#include "mm/memcg.h"
#include "mm/uaccess.h"
#include "kernel/wait.h"
#include "kernel/rcu.h"

struct sock;
struct file;
struct poll_table;
struct page;
struct page_part;

#define SOCK_RCV_SHUT 1u
#define SOCK_SND_SHUT 2u

/* Files in flight (SCM_RIGHTS): at most this many per message. */
#define SCM_MAX 64
struct scm_files {
	struct scm_files *next; /* in the list of those to be closed later */
	unsigned nr;
	struct file *file[SCM_MAX];
};
/* Closes what was sent or received along and nobody took; NULL is fine.  May sleep. */
void scm_free(struct scm_files *s);

struct sock_msg {
	struct iov_iter *it;
	unsigned flags;            /* MSG_* */
	bool nonblock;
	bool spliced;              /* receive: into a pipe, which has no place for a mark */
	/* send: destination or NULL; receive: source goes here, or NULL */
	union sockaddr_any *name;
	unsigned name_len;
	unsigned out_flags;        /* receive: MSG_TRUNC, MSG_CTRUNC */
	struct scm_files *files;   /* send: taken over on success; receive: out */
	struct sock_anc anc;       /* control messages of the IP level, both ways */
};

/* Whose name: an accepted connection's peer has one even if it is gone by then. */
enum sock_end { SOCK_END_OWN, SOCK_END_PEER, SOCK_END_ACCEPTED };

struct sock_ops {
	int (*bind)(struct sock *s, const union sockaddr_any *a, unsigned len);
	int (*connect)(struct sock *s, const union sockaddr_any *a, unsigned len, bool nonblock);
	int (*listen)(struct sock *s, int backlog);
	int (*accept)(struct sock *s, struct sock **out, bool nonblock);
	/* length or -errno */
	int (*getname)(struct sock *s, union sockaddr_any *a, enum sock_end end);
	ssize_t (*sendmsg)(struct sock *s, struct sock_msg *m);
	ssize_t (*recvmsg)(struct sock *s, struct sock_msg *m);
	/* Takes its own page references.  @flags: MSG_MORE, MSG_DONTWAIT. */
	ssize_t (*send_pages)(struct sock *s, const struct page_part *v, unsigned n,
			      unsigned flags);
	int (*shutdown)(struct sock *s, int how);
	unsigned (*poll)(struct sock *s, struct file *f, struct poll_table *pt);
	int (*setsockopt)(struct sock *s, int level, int name, const void *val, unsigned len);
	int (*getsockopt)(struct sock *s, int level, int name, void *val, unsigned *len);
	int (*ioctl)(struct sock *s, unsigned cmd, int *value); /* -ENOTTY: unknown */
	void (*close)(struct sock *s);
};

#define PMTUDISC_DONT  0 /* routers may cut what we send (IPv4) */
#define PMTUDISC_WANT  1 /* cut here what is too large for its path */
#define PMTUDISC_DO    2 /* never cut: EMSGSIZE */
#define PMTUDISC_PROBE 3 /* the same, without looking at the path's MTU */
#define PMTUDISC_OMIT  5

/* Options of the IP levels (net/ip_opt.c): plain words set by a call, read anywhere. */
struct ip_member;
struct netdev;
struct ip_opts {
	struct netdev *bound;     /* SO_BINDTODEVICE, or NULL */
	struct netdev *mcast_dev; /* IP_MULTICAST_IF, or NULL */
	struct ip_member *members; /* ip_members (net/ip_opt.c) */
	uint8_t pmtudisc;         /* PMTUDISC_* */
	uint8_t mcast_ttl;
	bool mcast_loop, hdrincl, freebind;
	bool recvttl, recvtos, pktinfo, recverr;
	bool ttl_2292; /* recvttl, in messages of the type that RFC 2292 had */
};

/*
 * Legend: [I] constant after creation, [a] atomic, [o] under the protocol's
 *         ownership or lock, [p] option: plain word set by a call, read anywhere
 */
struct sock {
	const struct sock_ops *ops; /* [I] */
	int family, type, protocol; /* [I] */
	_Atomic int err;            /* [a] pending error, positive */
	_Atomic unsigned shut;      /* [a] SOCK_*_SHUT */
	struct wait_queue rd, wr;   /* who waits for data (or connections), for room */
	struct sock_mem mem;        /* [o] */

	_Atomic unsigned sndbuf, rcvbuf; /* [p] bytes */
	unsigned rcvlowat;               /* [p] */
	uint64_t rcvtimeo, sndtimeo;     /* [p] ns; 0: wait for ever */
	bool sndbuf_locked, rcvbuf_locked; /* [p] set by the program: no autotuning */
	bool reuseaddr, reuseport, keepalive, broadcast, v6only, oobinline; /* [p] */
	bool linger_on;                  /* [p] */
	unsigned linger_s;               /* [p] seconds */
	uint8_t tos, ttl;                /* [p] ttl 0: what ip_output() takes for its device */
	bool timestamp;                  /* [p] report when datagrams came */
	struct ip_opts ip;
	/* number in /proc/PID/fd, user who made it; set with the file */
	uint32_t ino, uid;
	struct rcu_head rcu;
};

#define SOCK_RCVBUF_DEFAULT 131072u
#define SOCK_SNDBUF_DEFAULT 16384u
#define SOCK_BUF_MAX        (8u << 20) /* what SO_SNDBUF, SO_RCVBUF can ask for */
#define DGRAM_BUF_DEFAULT   212992u

void sock_common_init(struct sock *s, const struct sock_ops *ops, int family, int type,
		      int protocol, struct owner *owner);
void sock_common_destroy(struct sock *s);

/* -errno of the pending error, which it clears; 0. */
static inline int sock_take_error(struct sock *s)
{
	if (likely(!atomic_load_explicit(&s->err, memory_order_relaxed)))
		return 0;
	return -atomic_exchange_explicit(&s->err, 0, memory_order_relaxed);
}
static inline unsigned sock_shut(const struct sock *s)
{
	return atomic_load_explicit(&s->shut, memory_order_acquire);
}
static inline uint64_t sock_deadline(uint64_t timeo)
{
	return timeo ? clock_ns() + timeo : UINT64_MAX;
}
/* What a sleep that ended early returns: -EAGAIN after SO_*TIMEO, else a restart. */
static inline int sock_intr(int wait_ret, uint64_t timeo)
{
	if (wait_ret == -ETIMEDOUT)
		return -EAGAIN;
	return timeo ? -EINTR : -ERESTARTSYS;
}

/* Sockets of one kind; ERR_PTR(-errno). */
struct sock *sock_create(int family, int type, int protocol);
/* Makes sockets of a family that is not built in; at start-up. */
void sock_register_family(int family, struct sock *(*create)(int type, int protocol));
struct sock *tcp_create(int family);
struct sock *udp_create(int family);
struct sock *raw_create(int family, int type, int protocol);
struct sock *unix_create(int type);
int unix_pair(struct sock *a, struct sock *b);

/* SOL_SOCKET options; the others go to ops. */
int sock_setsockopt(struct sock *s, int level, int name, const void *val, unsigned len);
int sock_getsockopt(struct sock *s, int level, int name, void *val, unsigned *len);
/* IP and IPv6 level options common to TCP, UDP and raw; -ENOPROTOOPT. */
int ip_setsockopt(struct sock *s, int level, int name, const void *val, unsigned len);
int ip_getsockopt(struct sock *s, int level, int name, void *val, unsigned *len);
/*
 * The address for a bind(): local, any, multicast, broadcast, or with IP_FREEBIND whatever.
 * 0, -EINVAL, -EAFNOSUPPORT, -EADDRNOTAVAIL.
 */
int ip_bind_address(const struct sock *s, const union sockaddr_any *a, unsigned len,
		    struct ip_addr *out, uint16_t *port);
/* What bind() to @addr says besides: an IPv6 address of its own is deaf to IPv4. */
static inline void ip_bound_to(struct sock *s, const struct ip_addr *addr)
{
	if (s->family == AF_INET6 && !addr_is_any(addr) && !addr_is_v4(addr))
		s->v6only = true;
}
/* SO_BINDTODEVICE: 0, -ENODEV */
int ip_bind_device(struct sock *s, const void *name, unsigned len);
void ip_opts_destroy(struct sock *s); /* leaves its multicast groups */
int sockopt_int(const void *val, unsigned len, int *out);
int sockopt_put_int(void *val, unsigned *len, int v);

/* File side (net/sock_file.c). */
struct file *sock_to_file(struct sock *s, unsigned flags); /* consumes @s, on failure too; NULL */
struct sock *file_to_sock(struct file *f);                 /* NULL: not a socket */

#endif /* NET_SOCK_H */
