/* SPDX-License-Identifier: MIT */
/*
 * ICMP and ICMPv6 errors (RFC 792, RFC 1122, RFC 4443): those we send, and those
 * that come back about a packet of ours.
 *
 * A received error proves nothing: anybody can send one.  net/icmp_err.c reads
 * the quoted packet and asks its protocol, which looks for a socket that can have
 * sent it, TCP for data in flight besides (RFC 5927); only then does it count, and
 * only then may a path's MTU be lowered with pmtu_update().
 */
#ifndef NET_ICMP_ERR_H
#define NET_ICMP_ERR_H

#include "net/pbuf.h"

#define ICMP4_ECHO_REPLY   0
#define ICMP4_UNREACH      3
#define ICMP4_QUENCH       4
#define ICMP4_REDIRECT     5
#define ICMP4_ECHO         8
#define ICMP4_TIME         11
#define ICMP4_PARAM        12
#define ICMP6_UNREACH      1
#define ICMP6_TOO_BIG      2
#define ICMP6_TIME         3
#define ICMP6_PARAM        4
#define ICMP6_ECHO         128
#define ICMP6_ECHO_REPLY   129

/* Errors that we send. */
enum icmp_error_kind {
	ICMP_PORT_UNREACHABLE,
	ICMP_PROTO_UNREACHABLE,  /* IPv6: parameter problem, unrecognized next header */
	ICMP_REASSEMBLY_TIMEOUT,
	ICMP_BAD_HEADER,         /* parameter problem, erroneous field */
	ICMP_BAD_OPTION,         /* IPv6: unrecognized option */
	ICMP_SHORT_CHAIN,        /* IPv6: the first fragment lacks headers (RFC 7112) */
};
/**
 * icmp_send_error - tell the sender of a packet what became of it
 * @in: not consumed; src, dst, dev and nh set
 * @at: parameter problems: offset of what is wrong from the network header
 *
 * Says nothing about broadcasts, errors and fragments but the first (RFC 1122
 * section 3.2.2, RFC 4443 section 2.4 e), and to one peer at most 100 a second
 * (20 at once).  Context: thread; never sleeps.
 */
void icmp_send_error(const struct pbuf *in, enum icmp_error_kind kind, uint32_t at);

/* An error about one of our packets, as read from an ICMP message or made up here. */
struct icmp_error {
	struct ip_addr src, dst;   /* of the quoted packet: src is ours */
	struct ip_addr from;       /* who says so */
	uint16_t sport, dport;     /* of the quoted packet; echo: sport is the identifier */
	uint32_t seq;              /* TCP: its sequence number */
	uint8_t proto;             /* its protocol */
	uint8_t type, code;        /* of the message; both 0 if it was made up here */
	bool hard;                 /* trying again is no use (RFC 1122 section 4.2.3.9) */
	int err;                   /* positive errno; EMSGSIZE: packet too big */
	unsigned mtu;              /* EMSGSIZE: of the path, already checked against its bounds */
	const struct pbuf *quote;  /* from th on: what follows the quoted headers; or NULL */
};

/* Handed a received error message; its first eight bytes are in the head. Does not consume. */
void icmp_err_input(const struct pbuf *in);
/* The same for a packet of ours that got nowhere on this machine (no neighbour). */
void icmp_err_local(const struct pbuf *p, int err);

/* The protocols' answers: find who sent it and tell them.  Thread context, never sleep. */
void tcp_icmp_error(const struct icmp_error *e);
void udp_icmp_error(const struct icmp_error *e);
void raw_icmp_error(const struct icmp_error *e);

/* Path MTU (net/pmtu.c). */
/**
 * pmtu_get - largest packet for the way to @dst, network header included
 * @dev_mtu: of the device that it takes
 */
unsigned pmtu_get(const struct ip_addr *dst, unsigned dev_mtu);
/* May routers cut IPv4 packets to @dst (a path with an MTU below 552 bytes)? */
bool pmtu_no_df(const struct ip_addr *dst);
/* A checked error lowers the MTU of the way to @dst, for ten minutes (RFC 8201, section 4). */
void pmtu_update(const struct ip_addr *dst, unsigned mtu);
int pmtu_init(void);

#endif /* NET_ICMP_ERR_H */
