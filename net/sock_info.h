/* SPDX-License-Identifier: MIT */
/*
 * What sockets show of themselves, without being owned or locked: figures may be a
 * moment old, and are never followed as pointers.  For /proc/net and sock_diag.
 */
#ifndef NET_SOCK_INFO_H
#define NET_SOCK_INFO_H

#include "net/sock.h"

/* struct of SO_MEMINFO, in its order; bytes, the last two counts of bytes and of packets. */
enum { SKMEM_RMEM, SKMEM_RCVBUF, SKMEM_WMEM, SKMEM_SNDBUF, SKMEM_FWD, SKMEM_WQUEUED, SKMEM_OPT,
       SKMEM_BACKLOG, SKMEM_DROPS, NR_SKMEM };
void sock_meminfo(const struct sock *s, uint32_t m[NR_SKMEM]);
/* Path of the group that pays, as "/a/b".  Under RCU. */
void sock_group(const struct sock *s, char *buf, size_t n);

struct dgram_sock;
/* Where a list that is made in parts goes on: a bucket of a table, and an entry of it. */
struct sock_place {
	unsigned bucket, entry;
};
/*
 * Call @fn for each until it returns false; under RCU, so it does not sleep.  @at:
 * from there, and where it ended.
 */
bool udp_walk(struct sock_place *at, bool (*fn)(struct dgram_sock *d, void *arg), void *arg);
bool udp_for_each(bool (*fn)(struct dgram_sock *d, void *arg), void *arg);
bool raw_for_each(bool (*fn)(struct dgram_sock *d, void *arg), void *arg);

#endif /* NET_SOCK_INFO_H */
