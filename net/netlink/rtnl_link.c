/* SPDX-License-Identifier: MIT */
/* rtnetlink: devices (RTM_GETLINK, RTM_NEWLINK, RTM_SETLINK). */
#include "net/netlink/netlink.h"
#include "net/ether.h"
#include "net/if_config.h"

#define RTM_NEWLINK 16
#define RTM_GETLINK 18
#define RTM_SETLINK 19
#define IFLA_ADDRESS   1
#define IFLA_BROADCAST 2
#define IFLA_IFNAME    3
#define IFLA_MTU       4
#define IFLA_QDISC     6
#define IFLA_TXQLEN    13
#define IFLA_OPERSTATE 16
#define IFLA_LINKMODE  17
#define IFLA_STATS64   23
#define IFLA_GROUP     27
#define IFLA_CARRIER   33
#define OPER_DOWN      2
#define OPER_UP        6
#define OPER_UNKNOWN   0
#define ARPHRD_ETHER    1
#define ARPHRD_LOOPBACK 772

struct ifinfomsg {
	uint8_t family, pad;
	uint16_t type;
	int32_t index;
	uint32_t flags, change;
};

static void put_stats(struct nl_buf *b, struct netdev *dev)
{
	struct netdev_counts c;
	uint64_t s[24] = { 0 };

	netdev_counts(dev, &c);
	s[0] = c.rx_packets;
	s[1] = c.tx_packets;
	s[2] = c.rx_bytes;
	s[3] = c.tx_bytes;
	s[6] = c.rx_dropped;
	s[7] = c.tx_dropped;
	nl_put(b, IFLA_STATS64, s, sizeof(s));
}

bool rtnl_put_link(struct nl_buf *b, uint16_t type, struct netdev *dev)
{
	struct ifinfomsg *i = nl_begin(b, type, sizeof(*i));
	bool carrier = dev->loopback || atomic_load_explicit(&dev->carrier, memory_order_relaxed);
	uint8_t oper = dev->loopback	    ? OPER_UNKNOWN
		       : dev->up && carrier ? OPER_UP
					    : OPER_DOWN,
		zero = 0;
	uint8_t all[6];

	i->type = dev->loopback ? ARPHRD_LOOPBACK : ARPHRD_ETHER;
	i->index = (int)dev->index;
	i->flags = netdev_flags(dev);
	nl_put_str(b, IFLA_IFNAME, dev->name);
	nl_put_u32(b, IFLA_TXQLEN, 1000);
	nl_put(b, IFLA_OPERSTATE, &oper, 1);
	nl_put(b, IFLA_LINKMODE, &zero, 1);
	nl_put_u32(b, IFLA_MTU, dev->mtu);
	nl_put_u32(b, IFLA_GROUP, 0);
	nl_put(b, IFLA_CARRIER, carrier ? "\1" : "\0", 1);
	nl_put_str(b, IFLA_QDISC, dev->loopback ? "noqueue" : "fifo");
	memset(all, dev->loopback ? 0 : 0xff, sizeof(all));
	nl_put(b, IFLA_ADDRESS, dev->mac, 6);
	nl_put(b, IFLA_BROADCAST, all, 6);
	put_stats(b, dev);
	return nl_end(b);
}

bool rtnl_link_dump(struct nl_dump *d, struct nl_buf *b)
{
	uint64_t n = 0;

	for (struct netdev *dev = netdev_first(); dev; dev = dev->next, n++) {
		if (n < d->at)
			continue;
		if (!rtnl_put_link(b, RTM_NEWLINK, dev))
			return false;
		d->at++;
	}
	return true;
}

static struct netdev *named(const struct nl_request *r, const struct ifinfomsg *i)
{
	const struct nlattr *a = r->attr[IFLA_IFNAME];
	char name[16] = "";

	if (i->index)
		return netdev_by_index((unsigned)i->index);
	if (a)
		memcpy(name, nl_data(a), min_t(unsigned, nl_len(a), sizeof(name) - 1));
	return netdev_by_name(name);
}

int rtnl_link_request(struct nl_request *r, struct nl_buf *reply)
{
	const struct ifinfomsg *i = (const void *)r->body;
	struct netdev *dev;
	uint32_t mtu = 0;
	int ret = nl_parse(r, sizeof(*i));

	if (ret)
		return ret;
	dev = named(r, i);
	if (r->h->type == RTM_GETLINK) {
		if (!dev)
			return -ENODEV;
		return rtnl_put_link(reply, RTM_NEWLINK, dev) ? 0 : -EMSGSIZE;
	}
	if (r->h->type != RTM_NEWLINK && r->h->type != RTM_SETLINK)
		return -EOPNOTSUPP;
	if (!dev) /* devices are not made here */
		return r->h->flags & NLM_F_CREATE ? -EOPNOTSUPP : -ENODEV;
	if (r->attr[IFLA_ADDRESS]) {
		if (nl_len(r->attr[IFLA_ADDRESS]) != 6)
			return -EINVAL;
		ret = netdev_set_mac(dev, nl_data(r->attr[IFLA_ADDRESS]));
		if (ret)
			return ret;
	}
	ret = nl_u32(r, IFLA_MTU, &mtu);
	if (!ret && mtu)
		ret = netdev_set_mtu(dev, mtu);
	if (!ret && ((i->change | (i->change ? 0 : i->flags)) & IFF_UP))
		ret = netdev_set_up(dev, i->flags & IFF_UP);
	return ret;
}
