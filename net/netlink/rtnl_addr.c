/* SPDX-License-Identifier: MIT */
/* rtnetlink: addresses (RTM_GETADDR, RTM_NEWADDR, RTM_DELADDR). */
#include "net/netlink/netlink.h"
#include "net/ether.h"
#include "net/if_config.h"

#define RTM_NEWADDR 20
#define RTM_DELADDR 21
#define IFA_ADDRESS   1
#define IFA_LOCAL     2
#define IFA_LABEL     3
#define IFA_BROADCAST 4
#define IFA_CACHEINFO 6
#define IFA_FLAGS     8
#define F_TEMPORARY   0x01
#define F_DEPRECATED  0x20
#define F_TENTATIVE   0x40
#define F_PERMANENT   0x80
#define SCOPE_UNIVERSE 0
#define SCOPE_LINK     253
#define SCOPE_HOST     254
#define FOREVER        0xffffffffu

struct ifaddrmsg {
	uint8_t family, prefixlen, flags, scope;
	uint32_t index;
};

static uint32_t seconds_until(uint64_t t)
{
	uint64_t now = clock_ns();

	return !t ? FOREVER : t > now ? (uint32_t)((t - now) / NSEC_PER_SEC) : 0;
}

bool rtnl_put_addr(struct nl_buf *b, uint16_t type, struct netdev *dev, const struct ifaddr *a)
{
	bool v4 = addr_is_v4(&a->addr);
	unsigned flags = atomic_load_explicit(&a->flags, memory_order_relaxed);
	struct ifaddrmsg *m = nl_begin(b, type, sizeof(*m));
	uint32_t cache[4] = { seconds_until(a->preferred_until), seconds_until(a->valid_until) };
	uint32_t shown = (flags & IFA_TENTATIVE ? F_TENTATIVE : 0) |
			 (flags & IFA_TEMPORARY ? F_TEMPORARY : 0) |
			 (flags & IFA_DEPRECATED ? F_DEPRECATED : 0) |
			 (a->valid_until ? 0 : F_PERMANENT);

	m->family = v4 ? AF_INET : AF_INET6;
	m->prefixlen = (uint8_t)(v4 ? a->prefix - 96 : a->prefix);
	m->flags = (uint8_t)shown;
	m->scope = addr_is_loopback(&a->addr) ? SCOPE_HOST :
		   !v4 && addr_is_link_local(&a->addr) ? SCOPE_LINK : SCOPE_UNIVERSE;
	m->index = dev->index;
	nl_put_addr(b, IFA_ADDRESS, &a->addr);
	if (v4) {
		nl_put_addr(b, IFA_LOCAL, &a->addr);
		if (!dev->loopback && a->prefix < 127) {
			struct ip_addr all = a->addr;

			all.d[3] |= be32(~0u >> (a->prefix - 96));
			nl_put_addr(b, IFA_BROADCAST, &all);
		}
		nl_put_str(b, IFA_LABEL, dev->name);
	}
	nl_put_u32(b, IFA_FLAGS, shown);
	nl_put(b, IFA_CACHEINFO, cache, sizeof(cache));
	return nl_end(b);
}

bool rtnl_addr_dump(struct nl_dump *d, struct nl_buf *b)
{
	const struct ifaddr *t = ifaddr_table();

	for (; d->at < NR_IFADDRS; d->at++) {
		const struct ifaddr *a = &t[d->at];
		struct netdev *dev = atomic_load_explicit(&a->dev, memory_order_acquire);
		uint32_t index = ((const struct ifaddrmsg *)d->args)->index;

		if (!dev || (d->family && (d->family == AF_INET) != addr_is_v4(&a->addr)) ||
		    (index && index != dev->index))
			continue;
		if (!rtnl_put_addr(b, RTM_NEWADDR, dev, a))
			return false;
	}
	return true;
}

int rtnl_addr_request(struct nl_request *r, struct nl_buf *reply)
{
	const struct ifaddrmsg *m = (const void *)r->body;
	struct ip_addr a = ADDR_ANY6;
	struct netdev *dev;
	unsigned prefix;
	int ret = nl_parse(r, sizeof(*m));

	(void)reply;
	if (ret)
		return ret;
	if (m->family != AF_INET && m->family != AF_INET6)
		return -EAFNOSUPPORT;
	dev = netdev_by_index(m->index);
	if (!dev)
		return -ENODEV;
	ret = nl_addr(r, IFA_ADDRESS, m->family, &a);
	if (!ret)
		ret = nl_addr(r, IFA_LOCAL, m->family, &a);
	if (ret)
		return ret;
	if (m->prefixlen > (m->family == AF_INET ? 32 : 128) || addr_is_any(&a) ||
	    addr_is_multicast(&a))
		return -EINVAL;
	prefix = m->prefixlen + (m->family == AF_INET ? 96u : 0);
	if (r->h->type == RTM_DELADDR)
		return netdev_del_address(dev, &a);
	if (r->h->type != RTM_NEWADDR)
		return -EOPNOTSUPP;
	ret = netdev_add_address(dev, &a, prefix);
	return ret == -EEXIST && (r->h->flags & NLM_F_REPLACE) ? 0 : ret;
}
