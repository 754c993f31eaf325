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

const struct nl_proto nl_route = { .request = route_request, .dump = route_dump };
