/* SPDX-License-Identifier: MIT */
/*
 * A netlink socket, between its requests (netlink.c) and its news (nl_news.c).
 *
 * Locks: lock, a mutex, over everything but news, which come where nobody sleeps and have
 *        news_lock, a spinlock that comes inside.
 */
#ifndef NET_NETLINK_NL_SOCK_H
#define NET_NETLINK_NL_SOCK_H

#include "net/netlink/netlink.h"
#include "net/sock.h"
#include "kernel/list.h"
#include "kernel/lock.h"

struct nl_reply {
	struct nl_reply *next;
	unsigned len;
	uint32_t group; /* of news; else 0 */
	uint8_t data[];
};

struct nl_sock {
	struct sock sk;
	struct mutex lock;             /* everything below */
	const struct nl_proto *proto;  /* [I] */
	struct nl_reply *first, **end;
	unsigned queued;               /* bytes in replies */
	_Atomic bool ready;            /* replies, or a list, wait to be read */
	bool dumping;
	struct nl_dump dump;
	uint32_t dump_seq, pid;
	_Atomic uint32_t groups;       /* bit n: news of group n + 1 */
	struct list_head link;         /* listeners; nl_listeners_lock */
	struct spinlock news_lock;     /* news, news_end, sk.mem; inside lock */
	struct nl_reply *news, **news_end;
};

static inline struct nl_sock *nl_of(struct sock *s)
{
	return (struct nl_sock *)s;
}

/* lock held: replies, a list or news wait to be read, or do not. */
void nl_update_ready(struct nl_sock *n);
/* lock held.  News go behind the replies; they are the reader's from here on. */
void nl_fetch_news(struct nl_sock *n);
/* A reply that has been taken off the queue. */
void nl_free_reply(struct nl_sock *n, struct nl_reply *r);
/* The groups (bit n: group n + 1) whose news the socket gets from now on. */
void nl_set_groups(struct nl_sock *n, uint32_t groups);

#endif /* NET_NETLINK_NL_SOCK_H */
