/* SPDX-License-Identifier: MIT */
/*
 * Control messages: what travels beside a message's bytes, between programs'
 * buffers and struct sock_anc.
 */
#ifndef NET_CMSG_H
#define NET_CMSG_H

#include "net/abi.h"
#include "net/addr.h"

struct sock;
struct sock_msg;

/* Legend: on receive the socket asked for it; on send the program gave it. */
#define ANC_TTL     (1u << 0) /* ttl: IP_TTL, IPV6_HOPLIMIT */
#define ANC_TOS     (1u << 1) /* tos: IP_TOS, IPV6_TCLASS */
#define ANC_PKTINFO (1u << 2) /* ifindex, local: IP_PKTINFO, IPV6_PKTINFO */
#define ANC_ERROR   (1u << 3) /* err, from: IP_RECVERR, IPV6_RECVERR */
#define ANC_STAMP   (1u << 4) /* stamp: SO_TIMESTAMP */
#define ANC_INQ     (1u << 5) /* inq: TCP_INQ */

/* struct sock_extended_err of the ABI. */
struct abi_ext_err {
	uint32_t err;
	uint8_t origin, type, code, pad;
	uint32_t info, data;
};
#define ERR_ORIGIN_LOCAL 1
#define ERR_ORIGIN_ICMP  2
#define ERR_ORIGIN_ICMP6 3

struct sock_anc {
	unsigned have;         /* ANC_* */
	int ttl, tos;
	unsigned ifindex;
	struct ip_addr local;  /* receive: destination of the packet; send: source to use, or any */
	struct abi_ext_err err;
	struct ip_addr from;   /* who reported the error */
	uint64_t stamp;        /* wall-clock ns */
	int inq;               /* bytes that can still be read */
};

/*
 * Reads control messages of a send: 0, -EFAULT, -EINVAL, -EBADF, -ENOMEM, -ENOBUFS
 * (too much). May sleep.
 */
int cmsg_in(struct sock *s, struct sock_msg *m, const struct abi_msghdr *h);
/*
 * Writes what was received along, and its length to @h; what does not fit is left out
 * (files are closed) and MSG_CTRUNC says so.  0 or -EFAULT.
 */
int cmsg_out(struct sock *s, struct sock_msg *m, struct abi_msghdr *h);

#endif /* NET_CMSG_H */
