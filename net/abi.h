/* SPDX-License-Identifier: MIT */
/*
 * Socket numbers and structures of the Linux x86-64 ABI, as programs pass them.
 *
 * Addresses and ports are in network byte order, everything else in the
 * machine's.
 */
#ifndef NET_ABI_H
#define NET_ABI_H

#include "kernel/types.h"

#define AF_UNSPEC 0
#define AF_UNIX   1
#define AF_INET   2
#define AF_INET6  10
#define AF_NETLINK 16
#define AF_PACKET 17

#define SOCK_STREAM    1
#define SOCK_DGRAM     2
#define SOCK_RAW       3
#define SOCK_SEQPACKET 5
#define SOCK_TYPE_MASK 0xf
#define SOCK_NONBLOCK  04000
#define SOCK_CLOEXEC   02000000

#define IPPROTO_IP     0
#define IPPROTO_ICMP   1
#define IPPROTO_IGMP   2
#define IPPROTO_TCP    6
#define IPPROTO_UDP    17
#define IPPROTO_IPV6   41
#define IPPROTO_FRAGMENT 44
#define IPPROTO_ICMPV6 58
#define IPPROTO_NONE   59
#define IPPROTO_RAW    255

#define SOL_SOCKET 1
#define SOL_IP     0
#define SOL_TCP    6
#define SOL_UDP    17
#define SOL_IPV6   41
#define SOL_RAW    255

#define SO_DEBUG        1
#define SO_REUSEADDR    2
#define SO_TYPE         3
#define SO_ERROR        4
#define SO_DONTROUTE    5
#define SO_BROADCAST    6
#define SO_SNDBUF       7
#define SO_RCVBUF       8
#define SO_KEEPALIVE    9
#define SO_OOBINLINE    10
#define SO_PRIORITY     12
#define SO_LINGER       13
#define SO_REUSEPORT    15
#define SO_PASSCRED     16
#define SO_PEERCRED     17
#define SO_RCVLOWAT     18
#define SO_SNDLOWAT     19
#define SO_RCVTIMEO     20
#define SO_SNDTIMEO     21
#define SO_BINDTODEVICE 25
#define SO_TIMESTAMP    29
#define SO_ACCEPTCONN   30
#define SO_SNDBUFFORCE  32
#define SO_RCVBUFFORCE  33
#define SO_MARK         36
#define SO_PROTOCOL     38
#define SO_DOMAIN       39
#define SO_BUSY_POLL    46
#define SO_INCOMING_CPU 49
#define SO_MEMINFO      55
#define SO_ZEROCOPY     60

#define IP_TOS             1
#define IP_TTL             2
#define IP_HDRINCL         3
#define IP_OPTIONS         4
#define IP_RECVOPTS        6
#define IP_RETOPTS         7
#define IP_PKTINFO         8
#define IP_MTU_DISCOVER    10
#define IP_RECVERR         11
#define IP_RECVTTL         12
#define IP_RECVTOS         13
#define IP_MTU             14
#define IP_FREEBIND        15
#define IP_MULTICAST_IF    32
#define IP_MULTICAST_TTL   33
#define IP_MULTICAST_LOOP  34
#define IP_ADD_MEMBERSHIP  35
#define IP_DROP_MEMBERSHIP 36
#define IP_BIND_ADDRESS_NO_PORT 24

#define IPV6_CHECKSUM      7
#define IPV6_2292HOPLIMIT  8 /* RECVHOPLIMIT and the type of its message, before RFC 3542 */
#define IPV6_UNICAST_HOPS  16
#define IPV6_MULTICAST_IF  17
#define IPV6_MULTICAST_HOPS 18
#define IPV6_MULTICAST_LOOP 19
#define IPV6_JOIN_GROUP    20
#define IPV6_LEAVE_GROUP   21
#define IPV6_MTU_DISCOVER  23
#define IPV6_MTU           24
#define IPV6_RECVERR       25
#define IPV6_V6ONLY        26
#define IPV6_RECVPKTINFO   49
#define IPV6_PKTINFO       50
#define IPV6_RECVHOPLIMIT  51
#define IPV6_HOPLIMIT      52
#define IPV6_RECVTCLASS    66
#define IPV6_TCLASS        67

#define TCP_NODELAY      1
#define TCP_MAXSEG       2
#define TCP_CORK         3
#define TCP_KEEPIDLE     4
#define TCP_KEEPINTVL    5
#define TCP_KEEPCNT      6
#define TCP_SYNCNT       7
#define TCP_LINGER2      8
#define TCP_DEFER_ACCEPT 9
#define TCP_WINDOW_CLAMP 10
#define TCP_INFO         11
#define TCP_QUICKACK     12
#define TCP_CONGESTION   13
#define TCP_USER_TIMEOUT 18
#define TCP_FASTOPEN     23
#define TCP_NOTSENT_LOWAT 25
#define TCP_INQ          36

#define MSG_OOB          0x1
#define MSG_PEEK         0x2
#define MSG_DONTROUTE    0x4
#define MSG_CTRUNC       0x8
#define MSG_TRUNC        0x20
#define MSG_DONTWAIT     0x40
#define MSG_EOR          0x80
#define MSG_WAITALL      0x100
#define MSG_CONFIRM      0x800
#define MSG_ERRQUEUE     0x2000
#define MSG_NOSIGNAL     0x4000
#define MSG_MORE         0x8000
#define MSG_WAITFORONE   0x10000
#define MSG_ZEROCOPY     0x4000000
#define MSG_CMSG_CLOEXEC 0x40000000

#define SCM_RIGHTS 1

#define SHUT_RD   0
#define SHUT_WR   1
#define SHUT_RDWR 2

#define SOMAXCONN 4096

struct sa_in {
	uint16_t family, port;
	uint8_t addr[4];
	uint8_t zero[8];
};
struct sa_in6 {
	uint16_t family, port;
	uint32_t flowinfo;
	uint8_t addr[16];
	uint32_t scope_id;
};
struct sa_un {
	uint16_t family;
	char path[108];
};
union sockaddr_any {
	uint16_t family;
	struct sa_in in;
	struct sa_in6 in6;
	struct sa_un un;
	uint8_t raw[128];
};

struct abi_msghdr {
	void *name;
	uint32_t namelen, pad0;
	void *iov;
	uint64_t iovlen;
	void *control;
	uint64_t controllen;
	uint32_t flags, pad1;
};
struct abi_mmsghdr {
	struct abi_msghdr hdr;
	uint32_t len, pad;
};
struct abi_cmsghdr {
	uint64_t len;
	int32_t level, type;
};
struct abi_linger {
	int32_t onoff, linger;
};

/* struct tcp_info, as far as programs of today read it. */
struct abi_tcp_info {
	uint8_t state, ca_state, retransmits, probes, backoff, options;
	uint8_t wscale; /* low nibble: ours for sending, high: for receiving */
	uint8_t app_limited;
	uint32_t rto, ato, snd_mss, rcv_mss;
	uint32_t unacked, sacked, lost, retrans, fackets;
	uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv;
	uint32_t pmtu, rcv_ssthresh, rtt, rttvar, snd_ssthresh, snd_cwnd, advmss, reordering;
	uint32_t rcv_rtt, rcv_space;
	uint32_t total_retrans;
	uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
	uint32_t segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
	uint64_t delivery_rate, busy_time, rwnd_limited, sndbuf_limited;
	uint32_t delivered, delivered_ce;
	uint64_t bytes_sent, bytes_retrans;
	uint32_t dsack_dups, reord_seen, rcv_ooopack, snd_wnd;
};

#endif /* NET_ABI_H */
