/* SPDX-License-Identifier: MIT */
/*
 * /proc/net/{dev,route,ipv6_route,arp,igmp,igmp6,pnp}: devices, routes, neighbours,
 * multicast groups, name servers; formats of Linux.
 */
#include "net/ether.h"
#include "net/if_config.h"
#include "net/mcast.h"
#include "fs/vfs.h"

static int show_pnp(struct seq *s, void *arg)
{
	struct ip_addr servers[3];
	char text[64];
	unsigned n = net_get_dns(servers, text, sizeof(text));

	(void)arg;
	if (text[0])
		seq_printf(s, "domain %s\n", text);
	for (unsigned i = 0; i < n; i++)
		seq_printf(s, "nameserver %s\n", addr_format(&servers[i], text, sizeof(text)));
	return 0;
}

static int show_dev(struct seq *s, void *arg)
{
	(void)arg;
	seq_printf(s,
		   "Inter-|   Receive                                                |  Transmit\n"
		   " face |bytes    packets errs drop fifo frame compressed multicast|bytes    "
		   "packets errs drop fifo colls carrier compressed\n");
	for (struct netdev *d = netdev_first(); d; d = d->next) {
		struct netdev_counts c;

		netdev_counts(d, &c);
		seq_printf(s, "%6s: %llu %llu 0 %llu 0 0 0 0 %llu %llu 0 %llu 0 0 0 0\n", d->name,
			   (unsigned long long)c.rx_bytes, (unsigned long long)c.rx_packets,
			   (unsigned long long)c.rx_dropped, (unsigned long long)c.tx_bytes,
			   (unsigned long long)c.tx_packets, (unsigned long long)c.tx_dropped);
	}
	return 0;
}

static void route_line(struct seq *s, const struct netdev *d, const struct ip_addr *dst,
		       unsigned prefix, const struct ip_addr *gw, unsigned metric)
{
	uint32_t mask = prefix > 96 ? be32(~0u << (128 - prefix)) : 0, hop = gw ? gw->d[3] : 0;

	seq_printf(s, "%s\t%08X\t%08X\t%04X\t0\t0\t%u\t%08X\t0\t0\t0\n", d->name, dst->d[3] & mask,
		   hop, 1u | (hop ? 2u : 0) | (prefix == 128 ? 4u : 0), metric, mask);
}

static void v4_route(const struct route_entry *r, void *arg)
{
	if (addr_is_v4(&r->dst))
		route_line(arg, r->dev, &r->dst, r->prefix, &r->gw, r->metric);
}

static int show_route(struct seq *s, void *arg)
{
	const struct ifaddr *t = ifaddr_table();

	(void)arg;
	seq_printf(s, "Iface\tDestination\tGateway "
		      "\tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n");
	route_for_each(v4_route, s);
	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		struct netdev *d = atomic_load_explicit(&t[i].dev, memory_order_acquire);

		if (d && !d->loopback && addr_is_v4(&t[i].addr))
			route_line(s, d, &t[i].addr, t[i].prefix, NULL, 0);
	}
	return 0;
}

static void hex(struct seq *s, const struct ip_addr *a)
{
	for (unsigned i = 0; i < 16; i++)
		seq_printf(s, "%02x", a->b[i]);
}

static void v6_line(struct seq *s, const struct netdev *d, const struct ip_addr *dst,
		    unsigned prefix, const struct ip_addr *gw, unsigned metric)
{
	struct ip_addr net = *dst;

	for (unsigned bit = prefix; bit < 128; bit++)
		net.b[bit / 8] &= (uint8_t)~(0x80 >> bit % 8);
	hex(s, &net);
	seq_printf(s, " %02x 00000000000000000000000000000000 00 ", prefix);
	hex(s, gw);
	seq_printf(s, " %08x 00000001 00000000 %08x %8s\n", metric, 1u | (addr_is_any(gw) ? 0 : 2u),
		   d->name);
}

static void v6_route(const struct route_entry *r, void *arg)
{
	if (!addr_is_v4(&r->dst))
		v6_line(arg, r->dev, &r->dst, r->prefix, &r->gw, r->metric);
}

static int show_route6(struct seq *s, void *arg)
{
	const struct ifaddr *t = ifaddr_table();
	const struct ip_addr none = ADDR_ANY6;

	(void)arg;
	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		struct netdev *d = atomic_load_explicit(&t[i].dev, memory_order_acquire);

		if (d && !addr_is_v4(&t[i].addr))
			v6_line(s, d, &t[i].addr, t[i].prefix, &none, 256);
	}
	route_for_each(v6_route, s);
	return 0;
}

static void arp_line(const struct neigh_info *n, void *arg)
{
	const uint8_t *b = &n->addr.b[12], *m = n->mac;
	char ip[20];

	if (!addr_is_v4(&n->addr))
		return;
	snprintf(ip, sizeof(ip), "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
	seq_printf(arg,
		   "%-16s 0x1         0x%x         %02x:%02x:%02x:%02x:%02x:%02x     *        %s\n",
		   ip, (n->valid ? 2u : 0) | (n->state == NEIGH_PERMANENT ? 4u : 0), m[0], m[1],
		   m[2], m[3], m[4], m[5], n->dev->name);
}

static int show_arp(struct seq *s, void *arg)
{
	(void)arg;
	seq_printf(
		s,
		"IP address       HW type     Flags       HW address            Mask     Device\n");
	neigh_for_each(arp_line, s);
	return 0;
}

/* A file about groups while it is written; count is used by igmp only. */
struct group_list {
	struct seq *s;
	const struct netdev *dev;
	unsigned count;
};

static const struct ip_addr all_hosts4 = { .b = { [10] = 0xff, 0xff, 224, 0, 0, 1 } };
static const struct ip_addr all_hosts6 = { .b = { 0xff, 2, [15] = 1 } };

static void count4(const struct ip_addr *group, unsigned users, void *arg)
{
	struct group_list *l = arg;

	(void)users;
	l->count += addr_is_v4(group);
}

static void line4(const struct ip_addr *group, unsigned users, void *arg)
{
	struct group_list *l = arg;

	if (addr_is_v4(group))
		seq_printf(l->s, "\t\t\t\t%08X %5u 0:00000000\t\t0\n", group->d[3], users);
}

static void line6(const struct ip_addr *group, unsigned users, void *arg)
{
	struct group_list *l = arg;

	if (addr_is_v4(group))
		return;
	seq_printf(l->s, "%-4u %-15s ", l->dev->index, l->dev->name);
	for (unsigned i = 0; i < sizeof(group->b); i++)
		seq_printf(l->s, "%02x", group->b[i]);
	seq_printf(l->s, " %5u 00000004 0\n", users);
}

/*
 * What `netstat -g` and `ip maddr` read; the timers of reports are not shown.  Groups
 * that come or go meanwhile may be in the count or the lines alone.
 */
static int show_igmp(struct seq *s, void *arg)
{
	(void)arg;
	seq_printf(s, "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n");
	for (struct netdev *d = netdev_first(); d; d = d->next) {
		struct group_list l = { .s = s, .dev = d };
		bool all = mcast_wants(d, &all_hosts4);

		mcast_for_each(d, count4, &l);
		seq_printf(s, "%u\t%-10s: %5u      V3\n", d->index, d->name, l.count + all);
		if (all)
			line4(&all_hosts4, 1, &l);
		mcast_for_each(d, line4, &l);
	}
	return 0;
}

static int show_igmp6(struct seq *s, void *arg)
{
	(void)arg;
	for (struct netdev *d = netdev_first(); d; d = d->next) {
		struct group_list l = { .s = s, .dev = d };

		if (mcast_wants(d, &all_hosts6) || nd_wants(d, &all_hosts6))
			line6(&all_hosts6, 1, &l);
		nd_for_each_group(d, line6, &l);
		mcast_for_each(d, line6, &l);
	}
	return 0;
}

int if_proc_init(void)
{
	return proc_register("net/dev", 0444, show_dev, NULL, NULL) |
	       proc_register("net/route", 0444, show_route, NULL, NULL) |
	       proc_register("net/ipv6_route", 0444, show_route6, NULL, NULL) |
	       proc_register("net/arp", 0444, show_arp, NULL, NULL) |
	       proc_register("net/igmp", 0444, show_igmp, NULL, NULL) |
	       proc_register("net/igmp6", 0444, show_igmp6, NULL, NULL) |
	       proc_register("net/pnp", 0444, show_pnp, NULL, NULL);
}
