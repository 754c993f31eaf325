/* SPDX-License-Identifier: MIT */
/*
 * AF_UNIX sockets: stream, datagram and sequenced packets between processes of
 * this machine; socketpair(), and names in the abstract or path name space.
 *
 *	unix.c       life, options, polling, the table of calls
 *	unix_name.c  names: a table of the abstract ones, nodes of the file system
 *	unix_conn.c  listening, connecting, accepting, shutting down
 *	unix_msg.c   messages: queued at the receiver, copied once in, once out
 *	unix_gc.c    files on their way, and cycles of sockets that only each other hold
 *
 * Locks: unix_lock over names, links to peers and accept queues; each socket's
 *        lock (spinlock) over its receive queue.  Order: unix_gc_lock, unix_lock,
 *        a socket's lock.  What a queue holds is charged to its receiver.
 * Life:  refs: one for the file, one for each socket whose peer it is, one
 *        while it waits in an accept queue.
 */
#ifndef NET_UNIX_H
#define NET_UNIX_H

#include "net/sock.h"
#include "net/pbuf.h"
#include "kernel/list.h"
#include "kernel/lock.h"

struct dentry;
struct file;

struct unix_msg {
	struct unix_msg *next;
	struct pdata *data;
	uint32_t off, len, charged;
	struct scm_files *files; /* unix_gc_lock once queued */
	struct sa_un from;
	unsigned from_len;
};

struct unix_sock {
	struct sock sk;
	_Atomic int refs;
	struct spinlock lock;      /* first, last, rmem, sk.mem */
	struct unix_msg *first, *last;
	_Atomic uint32_t rmem;     /* truesize queued; read by waiting senders */
	_Atomic unsigned queued;   /* messages; read by waiting readers */
	bool reading;              /* a reader copies the first message (lock) */
	/* unix_lock */
	struct unix_sock *peer;    /* referenced */
	struct list_head name_link, accept, accept_link, all_link;
	unsigned backlog;
	_Atomic unsigned nr_accept;
	_Atomic bool listening;
	_Atomic bool connected;    /* stays when the peer goes */
	_Atomic bool dead;         /* its file has been closed */
	struct sa_un name;
	unsigned name_len;         /* 0: none */
	struct dentry *node;       /* of a path name; referenced */
	/* unix_gc_lock */
	struct list_head gc_link;  /* among those whose file is on its way */
	struct file *gc_file;      /* valid while inflight > 0 */
	int inflight;              /* messages that carry the file, counted as often as they do */
	int gc_count;
	bool gc_candidate, gc_live;
	struct unix_sock *gc_next;  /* live, its queue to be looked at */
};

extern struct spinlock unix_lock, unix_gc_lock;

static inline struct unix_sock *unix_of(struct sock *s)
{
	return (struct unix_sock *)s;
}
void unix_get(struct unix_sock *u);
void unix_put(struct unix_sock *u); /* NULL is fine */
struct unix_sock *unix_peer_get(struct unix_sock *u); /* referenced, or NULL */
/* May a datagram go from @u to @to?  Not if that hears only somebody else.  unix_lock held. */
static inline bool unix_may_send(const struct unix_sock *u, const struct unix_sock *to)
{
	return !to->peer || to->peer == u;
}
/* A queue that was full is not any more: wakes who waits to send to @u. */
void unix_made_room(struct unix_sock *u);
void unix_wake_all(struct unix_sock *u);
void unix_close(struct sock *s);
/* Frees what was sent to @u and nobody has begun to read.  Context: no locks held; may sleep. */
void unix_drop_queue(struct unix_sock *u);
/* Calls @fn for every socket, under unix_lock. */
void unix_for_each(void (*fn)(struct unix_sock *u, void *arg), void *arg);

/* net/unix_name.c */
int unix_bind(struct sock *s, const union sockaddr_any *a, unsigned len);
/**
 * unix_find - the socket that has a name
 * @type: whose abstract names are looked at; a path may lead to a socket of another type
 * Return: referenced, or ERR_PTR(-EINVAL, -ENOENT, -ECONNREFUSED, -EACCES …).  May sleep.
 */
struct unix_sock *unix_find(const union sockaddr_any *a, unsigned len, int type);
void unix_name_release(struct unix_sock *u); /* may sleep */

/* net/unix_conn.c */
int unix_listen(struct sock *s, int backlog);
int unix_connect(struct sock *s, const union sockaddr_any *a, unsigned len, bool nonblock);
int unix_accept(struct sock *s, struct sock **out, bool nonblock);
int unix_shutdown(struct sock *s, int how);

/* net/unix_msg.c */
bool unix_has_room(struct unix_sock *to);
ssize_t unix_sendmsg(struct sock *s, struct sock_msg *m);
ssize_t unix_recvmsg(struct sock *s, struct sock_msg *m);
void unix_msg_free(struct unix_msg *m); /* not queued any more */

/* net/unix_gc.c */
void unix_files_queued(const struct scm_files *f);   /* unix_gc_lock held */
void unix_files_taken(const struct scm_files *f);    /* the same */
/* A socket was closed: perhaps only a cycle holds what is left. */
void unix_gc_init(void);
void unix_gc_hint(void);
void scm_free_later(struct scm_files *s);

#endif /* NET_UNIX_H */
