/* SPDX-License-Identifier: MIT */
/* NETLINK_ROUTE: which file answers what. */
#include "net/netlink/netlink.h"

/* Types come in fours: new, delete, get, set. */
enum { KIND_LINK = 0, KIND_ADDR = 1, KIND_ROUTE = 2, KIND_NEIGH = 3, KIND_RULE = 4 };

static unsigned kind_of(const struct nlmsghdr *h)
{
	return (h->type - 16u) / 4;
}

static int route_request(struct nl_request *r, struct nl_buf *reply)
{
	switch (kind_of(r->h)) {
	case KIND_LINK:
		return rtnl_link_request(r, reply);
	case KIND_ADDR:
		return rtnl_addr_request(r, reply);
	case KIND_ROUTE:
		return rtnl_route_request(r, reply);
	case KIND_NEIGH:
		return rtnl_neigh_request(r, reply);
	}
	return -EOPNOTSUPP;
}

static bool nothing(struct nl_dump *d, struct nl_buf *b)
{
	(void)d;
	(void)b;
	return true;
}

static int route_dump(struct nl_request *r, struct nl_dump *d)
{
	switch (kind_of(r->h)) {
	case KIND_LINK:
		d->step = rtnl_link_dump;
		return 0;
	case KIND_ADDR:
		d->step = rtnl_addr_dump;
		return 0;
	case KIND_ROUTE:
		d->step = rtnl_route_dump;
		return 0;
	case KIND_NEIGH:
		d->step = rtnl_neigh_dump;
		return 0;
	case KIND_RULE: /* there is one table */
		d->step = nothing;
		return 0;
	}
	return -EOPNOTSUPP;
}

/* Groups of news, numbered from 1 (RTNLGRP_*). */
enum { GROUP_LINK = 1, GROUP_NEIGH = 3, GROUP_ADDR4 = 5, GROUP_ROUTE4 = 7, GROUP_ADDR6 = 9,
       GROUP_ROUTE6 = 11 };

static void tell(const struct net_event *e)
{
	static const uint16_t first[NR_NET_EVENTS] = {
		[NET_EVENT_LINK] = 16, [NET_EVENT_ADDR] = 20,
		[NET_EVENT_ROUTE] = 24, [NET_EVENT_NEIGH] = 28,
	};
	uint8_t data[640];
	struct nl_buf b = { .data = data, .size = sizeof(data) };
	uint16_t type = first[e->kind] + e->gone; /* new, or delete */
	unsigned group = GROUP_LINK;
	bool fits = false;

	if (!nl_listening())
		return;
	switch (e->kind) {
	case NET_EVENT_LINK:
		fits = rtnl_put_link(&b, type, e->dev);
		break;
	case NET_EVENT_ADDR:
		fits = rtnl_put_addr(&b, type, e->dev, &e->addr);
		group = addr_is_v4(&e->addr.addr) ? GROUP_ADDR4 : GROUP_ADDR6;
		break;
	case NET_EVENT_ROUTE:
		fits = rtnl_put_route(&b, type, &e->route);
		group = addr_is_v4(&e->route.dst) ? GROUP_ROUTE4 : GROUP_ROUTE6;
		break;
	case NET_EVENT_NEIGH:
		fits = rtnl_put_neigh(&b, type, &e->neigh);
		group = GROUP_NEIGH;
		break;
	case NR_NET_EVENTS:
		break;
	}
	if (fits)
		nl_news(&nl_route, group, &b);
}

void rtnl_init(void)
{
	for (unsigned i = 0; i < NR_NET_EVENTS; i++)
		atomic_store_explicit(&net_listener[i], tell, memory_order_release);
}

const struct nl_proto nl_route = { .request = route_request, .dump = route_dump };
