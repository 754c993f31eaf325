/* SPDX-License-Identifier: MIT */
/* What IPv4 and IPv6 share, and the counters: net/ip.h. */
#include "net/ip.h"
#include "net/ether.h"
#include "net/frag.h"
#include "net/icmp_err.h"
#include "kernel/errno.h"
#include "kernel/trace.h"

DEFINE_PER_CPU(struct net_stats, net_stats);

#define NET_STAT_NAME(n) #n,
const char *const net_stat_names[] = { NET_STATS(NET_STAT_NAME) };

uint64_t net_stat_sum(enum net_stat s)
{
	uint64_t sum = 0;

	for_each_cpu (cpu)
		sum += atomic_load_explicit(&per_cpu(net_stats, cpu).v[s], memory_order_relaxed);
	return sum;
}

_Atomic uint32_t ip_paths;

void ip_path_changed(void)
{
	atomic_fetch_add_explicit(&ip_paths, 1, memory_order_release);
}

unsigned ip_path_mtu(const struct netdev *dev, const struct ip_addr *dst)
{
	unsigned mtu, mtu6;

	if (dev->loopback) /* no link limits it, only the length field */
		return IP_DATAGRAM_MAX + (addr_is_v4(dst) ? 0 : 40);
	mtu = dev->mtu;
	mtu6 = __atomic_load_n(&dev->mtu6, __ATOMIC_RELAXED);
	if (unlikely(mtu6 && mtu6 < mtu) && !addr_is_v4(dst))
		mtu = mtu6;
	return pmtu_get(dst, mtu);
}

/* What a router has said (RFC 4861 section 6.3.4), or the usual. */
static uint8_t hop_limit(const struct netdev *dev, const struct ip_addr *dst)
{
	uint8_t n = addr_is_v4(dst) ? 0 : __atomic_load_n(&dev->hop_limit, __ATOMIC_RELAXED);

	return n ? n : IP_TTL_DEFAULT;
}

int ip_output(struct pbuf *p, uint8_t proto, uint8_t ttl, uint8_t tos)
{
	unsigned mtu;

	if (!p->dev) {
		p->dev = route_device(&p->dst);
		if (!p->dev) {
			pbuf_free(p);
			return -ENETUNREACH;
		}
	}
	mtu = ip_path_mtu(p->dev, &p->dst);
	p->proto = proto;
	if (!ttl)
		ttl = hop_limit(p->dev, &p->dst);
	if (unlikely(p->end - p->start + p->len + ip_header_len(&p->dst) > mtu) && !p->gso_size) {
		if (!(p->flags & PB_DF))
			return frag_output(p, proto, ttl, tos, mtu);
		pbuf_free(p);
		return -EMSGSIZE;
	}
	if (addr_is_v4(&p->dst))
		ipv4_push_header(p, proto, ttl, tos);
	else
		ipv6_push_header(p, proto, ttl, tos);
	trace(net_xmit, (uint64_t)(p->end - p->start) + p->len, p->dev->index);
	p->dev->xmit(p->dev, p);
	return 0;
}

void ip_input(struct pbuf *p)
{
	unsigned version;

	p->nh = p->start;
	if (p->end <= p->start)
		goto bad;
	trace(net_receive, (uint64_t)(p->end - p->start) + p->len, p->dev ? p->dev->index : 0);
	version = p->head[p->start] >> 4;
	if (version == 6) {
		ipv6_input(p);
		return;
	}
	if (version == 4) {
		ipv4_input(p);
		return;
	}
bad:
	net_count(ip_bad);
	pbuf_free(p);
}

void ip_deliver(struct pbuf *p)
{
	switch (p->proto) {
	case IPPROTO_TCP:
		raw_input(p);
		tcp_input(p);
		return;
	case IPPROTO_UDP:
		raw_input(p);
		udp_input(p);
		return;
	case IPPROTO_IGMP:
		if (!addr_is_v4(&p->dst))
			break;
		raw_input(p);
		igmp_input(p);
		pbuf_free(p);
		return;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		if ((p->proto == IPPROTO_ICMP) == addr_is_v4(&p->dst)) {
			icmp_input(p);
			return;
		}
	}
	if (!raw_input(p) && p->proto != IPPROTO_NONE) {
		net_count(ip_noproto);
		if (ifaddr_is_local(&p->dst))
			icmp_send_error(p, ICMP_PROTO_UNREACHABLE, p->next_at);
	}
	pbuf_free(p);
}
