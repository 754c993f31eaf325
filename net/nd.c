/* SPDX-License-Identifier: MIT */
/*
 * IPv6 neighbour discovery (RFC 4861): messages in and out, and who answers for
 * which address.
 */
#include "net/nd.h"
#include "net/ip.h"

#define ND_MAX 512u /* bytes of a message that are looked at */

struct ip_addr nd_solicited_node(const struct ip_addr *a)
{
	struct ip_addr m = { .b = { 0xff, 2, [11] = 1, 0xff } };

	memcpy(&m.b[13], &a->b[13], 3);
	return m;
}

bool nd_wants(struct netdev *dev, const struct ip_addr *dst)
{
	const struct ifaddr *t = ifaddr_table();

	if (addr_equal(dst, &nd_all_nodes))
		return true;
	if (dst->b[0] != 0xff || dst->b[1] != 2 || dst->b[11] != 1 || dst->b[12] != 0xff)
		return false;
	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		if (atomic_load_explicit(&t[i].dev, memory_order_acquire) == dev &&
		    !addr_is_v4(&t[i].addr) && !memcmp(&t[i].addr.b[13], &dst->b[13], 3))
			return true;
	}
	return false;
}

void nd_for_each_group(struct netdev *dev,
		       void (*fn)(const struct ip_addr *group, unsigned users, void *arg),
		       void *arg)
{
	const struct ifaddr *t = ifaddr_table();

	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		struct ip_addr group = nd_solicited_node(&t[i].addr);

		if (atomic_load_explicit(&t[i].dev, memory_order_acquire) == dev &&
		    !addr_is_v4(&t[i].addr))
			fn(&group, 1, arg);
	}
}

bool nd_link_local(struct netdev *dev, struct ip_addr *out)
{
	return route_source(dev, &nd_link_prefix, out) && prefix_match(out, &nd_link_prefix, 10);
}

void nd_send(struct netdev *dev, const struct ip_addr *src, const struct ip_addr *dst,
	     const uint8_t *msg, unsigned n, const uint8_t *mac)
{
	struct pbuf *p = pbuf_alloc(56);
	uint16_t sum;

	if (!p)
		return;
	p->dev = dev;
	p->src = src ? *src : ADDR_ANY6;
	p->dst = *dst;
	p->th = p->start;
	p->proto = IPPROTO_ICMPV6;
	memcpy(pbuf_put(p, n), msg, n);
	put_be16(p->head + p->th + 2, 0);
	sum = pbuf_csum(p, IPPROTO_ICMPV6);
	memcpy(p->head + p->th + 2, &sum, 2);
	net_count(icmp_out);
	ipv6_push_header(p, IPPROTO_ICMPV6, 255, 0);
	if (mac)
		ether_send(dev, p, mac, ETHER_IPV6);
	else
		dev->xmit(dev, p);
}

void nd_solicit(struct netdev *dev, const struct ip_addr *src, const struct ip_addr *target,
		const uint8_t *mac)
{
	struct ip_addr group = nd_solicited_node(target);
	uint8_t m[32] = { ND_NS };

	memcpy(m + 8, target->b, 16);
	m[24] = OPT_SOURCE;
	m[25] = 1;
	memcpy(m + 26, dev->mac, 6);
	nd_send(dev, src, mac ? target : &group, m, src ? 32 : 24, mac);
}

void nd_advertise(struct netdev *dev, const struct ip_addr *target, const struct ip_addr *dst,
		  bool solicited)
{
	uint8_t m[32] = { ND_NA, [4] = (solicited ? 0x40 : 0) | 0x20 };

	memcpy(m + 8, target->b, 16);
	m[24] = OPT_TARGET;
	m[25] = 1;
	memcpy(m + 26, dev->mac, 6);
	nd_send(dev, target, dst, m, 32, NULL);
}

void nd_announce(struct netdev *dev)
{
	const struct ifaddr *t = ifaddr_table();

	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		if (atomic_load_explicit(&t[i].dev, memory_order_acquire) == dev &&
		    !addr_is_v4(&t[i].addr) &&
		    !(atomic_load_explicit(&t[i].flags, memory_order_relaxed) & IFA_TENTATIVE))
			nd_advertise(dev, &t[i].addr, &nd_all_nodes, false);
	}
}

const uint8_t *nd_option(const uint8_t *m, unsigned n, unsigned at, uint8_t type, unsigned *len,
			 bool *ok)
{
	const uint8_t *found = NULL;

	while (at + 2 <= n) {
		unsigned l = m[at + 1] * 8u;

		if (!l || at + l > n) {
			*ok = false;
			return NULL;
		}
		if (m[at] == type && !found) {
			found = m + at;
			*len = l;
		}
		at += l;
	}
	return found;
}

const uint8_t *nd_link_option(const uint8_t *m, unsigned n, unsigned at, uint8_t type, bool *ok)
{
	unsigned len = 0;
	const uint8_t *o = nd_option(m, n, at, type, &len, ok);

	return o && len == 8 ? o + 2 : NULL;
}

static void solicitation(struct pbuf *p, const uint8_t *m, unsigned n)
{
	struct netdev *dev = p->dev;
	struct ip_addr target;
	const uint8_t *mac;
	struct ifaddr *a;
	bool ok = true;

	if (n < 24)
		return;
	target = addr_from_v6(m + 8);
	mac = nd_link_option(m, n, 24, OPT_SOURCE, &ok);
	if (!ok || addr_is_multicast(&target))
		return;
	a = ifaddr_find(dev, &target);
	if (!a)
		return;
	if (addr_is_any(&p->src)) {
		struct ip_addr group = nd_solicited_node(&target);

		if (mac || !addr_equal(&p->dst, &group))
			return;
		if (atomic_load_explicit(&a->flags, memory_order_relaxed) & IFA_TENTATIVE)
			nd_addr_duplicate(dev, a);
		else
			nd_advertise(dev, &target, &nd_all_nodes, false);
		return;
	}
	if (atomic_load_explicit(&a->flags, memory_order_relaxed) & IFA_TENTATIVE)
		return;
	if (mac)
		neigh_heard(dev, &p->src, mac, NEIGH_OVERRIDE | NEIGH_CREATE);
	nd_advertise(dev, &target, &p->src, true);
}

static void advertisement(struct pbuf *p, const uint8_t *m, unsigned n)
{
	struct ip_addr target;
	const uint8_t *mac;
	struct ifaddr *a;
	bool ok = true;

	if (n < 24)
		return;
	target = addr_from_v6(m + 8);
	mac = nd_link_option(m, n, 24, OPT_TARGET, &ok);
	if (!ok || addr_is_multicast(&target) || (addr_is_multicast(&p->dst) && (m[4] & 0x40)))
		return;
	a = ifaddr_find(p->dev, &target);
	if (a) {
		nd_addr_duplicate(p->dev, a);
		return;
	}
	/* Without an address: the one we have is confirmed (section 7.2.5). */
	neigh_heard(p->dev, &target, mac, (m[4] & 0x40 ? NEIGH_SOLICITED : 0) |
						  (m[4] & 0x20 ? NEIGH_OVERRIDE : 0));
	if (!(m[4] & 0x80))
		nd_router_gone(p->dev, &target);
}

void nd_input(struct pbuf *p)
{
	uint8_t m[ND_MAX];
	unsigned head = p->end - p->th, n;

	if (!NETDEV_ETHER(p->dev) || p->head[p->th + 1] != 0)
		return;
	n = min(head, ND_MAX);
	memcpy(m, p->head + p->th, n);
	if (p->len && n < ND_MAX) {
		unsigned more = min(p->len, ND_MAX - n);

		pdata_copy_out(p->data, p->off, m + n, more);
		n += more;
	}
	if (p->ttl != 255) { /* only what is not forwarded can be neighbour discovery */
		mld_input(p, m, n);
		return;
	}
	switch (m[0]) {
	case ND_RA:
		nd_router_advertisement(p, m, n);
		break;
	case ND_NS:
		solicitation(p, m, n);
		break;
	case ND_NA:
		advertisement(p, m, n);
		break;
	case ND_REDIRECT:
		nd_router_redirect(p, m, n);
		break;
	}
}

void nd_start(struct netdev *dev)
{
	nd_addr_start(dev);
	nd_router_start(dev);
}

void nd_init(void)
{
	nd_addr_init();
	nd_router_init();
}
