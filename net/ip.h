/* SPDX-License-Identifier: MIT */
/*
 * IPv4 and IPv6: headers in and out.
 *
 * Output: ip_output() puts the network header before the transport header and
 * gives the packet to the device, in pieces if its path takes no larger ones.
 * Input: ip_input() checks the header, puts fragments together, finds the
 * transport header and calls the protocol.
 */
#ifndef NET_IP_H
#define NET_IP_H

#include "net/pbuf.h"
#include "net/netdev.h"

#define IP_TTL_DEFAULT 64

struct netdev;

/**
 * ip_output - send a packet whose head begins with the transport header
 * @p: consumed; p->src, p->dst and p->th set; p->dev set or NULL (then routed)
 * @proto: IPPROTO_*
 *
 * @ttl: hop limit; 0: the device's
 *
 * What its path does not take is cut into fragments, unless PB_DF forbids it.
 * Packets with gso_size are the device's to cut, and the sender's to keep within
 * ip_path_mtu().
 *
 * Context: thread; never sleeps.  Return: 0 or -ENETUNREACH, -EMSGSIZE, -ENOBUFS.
 */
int ip_output(struct pbuf *p, uint8_t proto, uint8_t ttl, uint8_t tos);
void ip_input(struct pbuf *p);      /* consumes */
void ipv4_input(struct pbuf *p);
void ipv6_input(struct pbuf *p);
/* Largest packet, network header included, that leaves @dev for @dst in one piece now. */
unsigned ip_path_mtu(const struct netdev *dev, const struct ip_addr *dst);
/**
 * ip_path_changed - some path may take less than before, whoever found out
 *
 * Context: any; after the change.  What keeps a size of its own (a TCP connection)
 * compares ip_path_generation() with what it was when it asked ip_path_mtu().
 */
void ip_path_changed(void);

extern _Atomic uint32_t ip_paths; /* changes so far; seldom written */

/* Ask for it before ip_path_mtu(): then a change in between is noticed next time. */
static inline uint32_t ip_path_generation(void)
{
	return atomic_load_explicit(&ip_paths, memory_order_acquire);
}

void ipv4_push_header(struct pbuf *p, uint8_t proto, uint8_t ttl, uint8_t tos);
/* Turns the header that ipv4_push_header() made into a fragment's. */
void ipv4_set_fragment(struct pbuf *p, uint16_t id, unsigned off, bool more);
void ipv6_push_header(struct pbuf *p, uint8_t proto, uint8_t ttl, uint8_t tos);
/* Hands a packet with p->th, src, dst set to its protocol; consumes. */
void ip_deliver(struct pbuf *p);
static inline unsigned ip_header_len(const struct ip_addr *a)
{
	return addr_is_v4(a) ? 20 : 40;
}

/* Protocols' entries; each consumes. */
void tcp_input(struct pbuf *p);
void udp_input(struct pbuf *p);
void icmp_input(struct pbuf *p);   /* v4 and v6 */
/* Raw sockets of its protocol get a copy each.  Return: there was one. */
bool raw_input(const struct pbuf *p);

/* Counters of the whole stack: /proc/tally/net. */
#define NET_STATS(X)                                                                               \
	X(lo_packets) X(lo_bytes) X(lo_dropped) X(lo_reordered) X(lo_duplicated) X(ip_bad)         \
	X(frag_in) X(frag_whole) X(frag_bad) X(frag_timeouts) X(frag_evicted) X(frag_no_memory)    \
	X(frag_out) X(pmtu_lowered) X(icmp_errors_in) X(icmp_errors_bad) X(icmp_errors_out)        \
	X(nd_adverts_saved) X(ip_noproto) X(gro_packets) X(gro_segments) X(gso_packets)            \
	X(gso_segments) X(tcp_in) X(tcp_out) X(tcp_bad) X(tcp_csum) X(tcp_retransmits)             \
	X(tcp_fast_retransmits) X(tcp_timeouts) X(tcp_spurious) X(tcp_probes) X(tcp_resets_out)    \
	X(tcp_resets_saved) X(tcp_resets_in) X(tcp_challenge_acks) X(tcp_paws) X(tcp_ofo)          \
	X(tcp_backlog) X(tcp_rcv_dropped) X(tcp_listen_overflows) X(tcp_syn_dropped)               \
	X(tcp_active_opens) X(tcp_passive_opens) X(tcp_timewait) X(tcp_timewait_reused)            \
	X(tcp_no_memory) X(tcp_acks_out) X(tcp_dsack) X(tcp_tail_probes) X(tcp_ecn_marks)          \
	X(tcp_cookies_sent) X(tcp_cookies_good) X(tcp_cookies_bad) X(tcp_pmtu_lowered)             \
	X(tcp_icmp_stray) X(tcp_orphans_reset) X(tcp_wake_reader) X(tcp_wake_writer)               \
	X(tcp_own_waits) X(udp_in) X(udp_out) X(udp_dropped) X(udp_noport) X(icmp_in)              \
	X(icmp_out)
#define NET_STAT_ENUM(n) NS_##n,
enum net_stat { NET_STATS(NET_STAT_ENUM) NR_NET_STATS };
struct net_stats {
	_Atomic uint64_t v[NR_NET_STATS];
};
DECLARE_PER_CPU(struct net_stats, net_stats);
/* Per-CPU and written by one thread at a time, so no locked instruction is needed. */
static inline void net_count_add(enum net_stat s, uint64_t n)
{
	_Atomic uint64_t *v = &this_cpu(net_stats).v[s];

	atomic_store_explicit(v, atomic_load_explicit(v, memory_order_relaxed) + n,
			      memory_order_relaxed);
}
#define net_count(name) net_count_add(NS_##name, 1)
uint64_t net_stat_sum(enum net_stat s);
extern const char *const net_stat_names[];

/* Keyed hash (SipHash-1-3) with a key drawn at boot: hostile peers can't aim at a bucket. */
uint64_t net_hash(const uint64_t *words, unsigned n);
uint64_t net_hash_keyed(const uint64_t key[2], const uint64_t *words, unsigned n);
uint32_t net_random(void); /* for ports and the like */
void net_secret_init(void);

#endif /* NET_IP_H */
