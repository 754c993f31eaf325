/* SPDX-License-Identifier: MIT */
/*
 * rtnetlink: routes (RTM_GETROUTE, RTM_NEWROUTE, RTM_DELROUTE).  There is one table;
 * the networks of addresses are shown as routes of the kernel, addresses themselves
 * in the table "local".
 */
#include "net/netlink/netlink.h"
#include "net/if_config.h"
#include "net/ip.h"

#define RTM_NEWROUTE 24
#define RTM_DELROUTE 25
#define RTM_GETROUTE 26
#define RTA_DST      1
#define RTA_OIF      4
#define RTA_GATEWAY  5
#define RTA_PRIORITY 6
#define RTA_PREFSRC  7
#define RTA_METRICS  8
#define RTA_CACHEINFO 12 /* its third word: ends in so many 1/100 s */
#define RTA_TABLE    15
#define RTAX_MTU     2
#define TABLE_MAIN   254
#define TABLE_LOCAL  255
#define PROTO_KERNEL 2
#define RTM_F_CLONED 0x200 /* an answer to a question, no entry */
#define TYPE_UNICAST 1
#define TYPE_LOCAL   2
#define SCOPE_UNIVERSE 0
#define SCOPE_LINK   253
#define SCOPE_HOST   254

struct rtmsg {
	uint8_t family, dst_len, src_len, tos, table, protocol, scope, type;
	uint32_t flags;
};

struct shown {
	struct ip_addr dst, gw, src; /* gw, src: any if there is none */
	unsigned prefix, metric, mtu;
	struct netdev *dev;
	uint8_t table, proto, scope, type;
	uint32_t flags;
	uint64_t valid_until; /* clock_ns; 0: for ever */
};

static bool put_route(struct nl_buf *b, uint16_t type, const struct shown *s)
{
	bool v4 = addr_is_v4(&s->dst);
	unsigned len = v4 ? s->prefix - 96 : s->prefix, nest;
	struct rtmsg *m = nl_begin(b, type, sizeof(*m));
	struct ip_addr net = s->dst;

	for (unsigned bit = s->prefix; bit < 128; bit++)
		net.b[bit / 8] &= (uint8_t)~(0x80 >> bit % 8);
	m->family = v4 ? AF_INET : AF_INET6;
	m->dst_len = (uint8_t)len;
	m->table = s->table;
	m->protocol = s->proto;
	m->scope = s->scope;
	m->type = s->type;
	m->flags = s->flags;
	nl_put_u32(b, RTA_TABLE, s->table);
	if (len)
		nl_put_addr(b, RTA_DST, &net);
	if (s->metric || !v4)
		nl_put_u32(b, RTA_PRIORITY, s->metric);
	if (!addr_is_any(&s->gw))
		nl_put_addr(b, RTA_GATEWAY, &s->gw);
	if (!addr_is_any(&s->src))
		nl_put_addr(b, RTA_PREFSRC, &s->src);
	nl_put_u32(b, RTA_OIF, s->dev->index);
	if (s->valid_until) {
		uint64_t now = clock_ns();
		uint32_t cache[8] = { [2] = s->valid_until > now ?
			(uint32_t)((s->valid_until - now) / (NSEC_PER_SEC / 100)) : 1 };

		nl_put(b, RTA_CACHEINFO, cache, sizeof(cache));
	}
	if (s->mtu) {
		nest = nl_nest(b, RTA_METRICS);
		nl_put_u32(b, RTAX_MTU, s->mtu);
		nl_nest_end(b, nest);
	}
	return nl_end(b);
}

struct route_list {
	struct nl_dump *d;
	struct nl_buf *b;
	uint64_t n;
	bool full;
};

bool rtnl_put_route(struct nl_buf *b, uint16_t type, const struct route_entry *r)
{
	struct shown s = { .dst = r->dst,
			   .gw = r->gw,
			   .src = ADDR_ANY6,
			   .prefix = r->prefix,
			   .metric = r->metric,
			   .dev = r->dev,
			   .table = TABLE_MAIN,
			   .type = TYPE_UNICAST,
			   .proto = r->proto,
			   .valid_until = r->valid_until,
			   .scope = addr_is_v4(&r->dst) && addr_is_any(&r->gw) ? SCOPE_LINK
									       : SCOPE_UNIVERSE };

	return put_route(b, type, &s);
}

static void entry(const struct route_entry *r, void *arg)
{
	struct route_list *l = arg;

	if (l->full || (l->d->family && (l->d->family == AF_INET) != addr_is_v4(&r->dst)) ||
	    l->n++ < l->d->at)
		return;
	if (rtnl_put_route(l->b, RTM_NEWROUTE, r))
		l->d->at++;
	else
		l->full = true;
}

/* Entries first (counted in at), then what addresses bring (counted in at2). */
bool rtnl_route_dump(struct nl_dump *d, struct nl_buf *b)
{
	struct route_list l = { .d = d, .b = b };
	const struct ifaddr *t = ifaddr_table();

	if (!d->at2)
		route_for_each(entry, &l);
	if (l.full)
		return false;
	for (; d->at2 < 2 * NR_IFADDRS; d->at2++) {
		const struct ifaddr *a = &t[d->at2 / 2];
		struct netdev *dev = atomic_load_explicit(&a->dev, memory_order_acquire);
		bool v4 = addr_is_v4(&a->addr), local = d->at2 & 1;
		struct shown s = { .dst = a->addr,
				   .gw = ADDR_ANY6,
				   .src = v4 ? a->addr : ADDR_ANY6,
				   .prefix = local ? 128 : a->prefix,
				   .metric = v4	     ? 0
					     : local ? 0
						     : 256,
				   .dev = dev,
				   .table = local ? TABLE_LOCAL : TABLE_MAIN,
				   .proto = PROTO_KERNEL,
				   .scope = !v4	    ? SCOPE_UNIVERSE
					    : local ? SCOPE_HOST
						    : SCOPE_LINK,
				   .type = local ? TYPE_LOCAL : TYPE_UNICAST };

		if (!dev || (d->family && (d->family == AF_INET) != v4) ||
		    (!local &&
		     (atomic_load_explicit(&a->flags, memory_order_relaxed) & IFA_OFFLINK)) ||
		    (!local && dev->loopback && v4))
			continue;
		if (!put_route(b, RTM_NEWROUTE, &s))
			return false;
	}
	return true;
}

/* "ip route get": the way that a packet would take. */
static int lookup(const struct ip_addr *dst, struct nl_buf *b)
{
	struct shown s = { .dst = *dst,
			   .gw = ADDR_ANY6,
			   .prefix = 128,
			   .table = TABLE_MAIN,
			   .type = TYPE_UNICAST };
	struct ip_addr hop;
	struct route rt;
	unsigned mtu;
	int ret = route_lookup(dst, &rt);

	if (ret)
		return ret;
	s.dev = rt.dev;
	s.src = rt.src;
	if (rt.dev->loopback) {
		s.table = TABLE_LOCAL;
		s.type = TYPE_LOCAL;
	} else if (route_next_hop(rt.dev, dst, &hop) && !addr_equal(&hop, dst)) {
		s.gw = hop;
	}
	mtu = ip_path_mtu(rt.dev, dst);
	if (mtu < rt.dev->mtu)
		s.mtu = mtu;
	s.flags = addr_is_v4(dst) ? RTM_F_CLONED : 0; /* as Linux; busybox falls over it for IPv6 */
	return put_route(b, RTM_NEWROUTE, &s) ? 0 : -EMSGSIZE;
}

int rtnl_route_request(struct nl_request *r, struct nl_buf *reply)
{
	const struct rtmsg *m = (const void *)r->body;
	struct route_entry e = { 0 };
	uint32_t index = 0, metric = 0;
	bool v4;
	int ret = nl_parse(r, sizeof(*m));

	if (ret)
		return ret;
	if (m->family != AF_INET && m->family != AF_INET6)
		return -EAFNOSUPPORT;
	v4 = m->family == AF_INET;
	if (m->dst_len > (v4 ? 32 : 128))
		return -EINVAL;
	e.dst = e.gw = v4 ? addr_from_v4("\0\0\0\0") : ADDR_ANY6;
	ret = nl_addr(r, RTA_DST, m->family, &e.dst);
	if (!ret)
		ret = nl_addr(r, RTA_GATEWAY, m->family, &e.gw);
	if (!ret)
		ret = nl_u32(r, RTA_OIF, &index);
	if (!ret)
		ret = nl_u32(r, RTA_PRIORITY, &metric);
	if (ret)
		return ret;
	if (r->h->type == RTM_GETROUTE)
		return lookup(&e.dst, reply);
	e.prefix = m->dst_len + (v4 ? 96u : 0);
	e.metric = metric;
	e.proto = m->protocol ? m->protocol : ROUTE_BOOT;
	if (e.proto == ROUTE_RA || e.proto == ROUTE_REDIRECT)
		e.proto = ROUTE_BOOT; /* those are ours to make, and bounded */
	e.dev = index		     ? netdev_by_index(index)
		: addr_is_any(&e.gw) ? NULL
				     : netdev_for_gateway(&e.gw);
	if (index && !e.dev)
		return -ENODEV;
	if (r->h->type == RTM_DELROUTE)
		return route_del(&e.dst, e.prefix, addr_is_any(&e.gw) ? NULL : &e.gw, e.dev, 0);
	if (!e.dev || e.dev->loopback || (m->type != TYPE_UNICAST && m->type))
		return !e.dev ? -ENETUNREACH : -EOPNOTSUPP;
	return route_add(&e);
}
