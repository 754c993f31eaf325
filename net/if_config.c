/* SPDX-License-Identifier: MIT */
/* Changing and describing devices: net/if_config.h. */
#include "net/if_config.h"
#include "net/event.h"
#include "kernel/errno.h"

#define MTU_MIN 576u  /* what every IPv4 host takes (RFC 791) */
#define MTU_MAX 1500u /* unless the device says more */

unsigned netdev_flags(const struct netdev *dev)
{
	unsigned f = dev->up ? IFF_UP : 0;

	if (dev->loopback)
		return f | IFF_LOOPBACK | IFF_RUNNING | IFF_LOWER_UP;
	f |= IFF_BROADCAST | IFF_MULTICAST;
	if (atomic_load_explicit(&dev->carrier, memory_order_relaxed))
		f |= IFF_RUNNING | IFF_LOWER_UP;
	return f;
}

int netdev_set_up(struct netdev *dev, bool up)
{
	if (dev->loopback)
		return up ? 0 : -EOPNOTSUPP;
	if (up == dev->up)
		return 0;
	dev->up = up;
	net_event_link(dev);
	if (up) {
		nd_start(dev);
	} else {
		neigh_flush(dev);
		route_flush(dev);
	}
	return 0;
}

int netdev_set_mtu(struct netdev *dev, unsigned mtu)
{
	if (dev->loopback || mtu < MTU_MIN || mtu > max(dev->mtu_max, MTU_MAX))
		return -EINVAL;
	dev->mtu = mtu;
	ip_path_changed();
	net_event_link(dev);
	return 0;
}

int netdev_set_mac(struct netdev *dev, const uint8_t *mac)
{
	static const uint8_t none[6];
	int ret;

	if (!dev->set_mac)
		return -EOPNOTSUPP;
	if ((mac[0] & 1) || !memcmp(mac, none, 6))
		return -EADDRNOTAVAIL;
	ret = dev->set_mac(dev, mac);
	if (ret)
		return ret;
	net_event_link(dev);
	ether_announce(dev); /* neighbours still send to the old one */
	return 0;
}

int netdev_add_address(struct netdev *dev, const struct ip_addr *a, unsigned prefix)
{
	int ret;

	if (!addr_is_v4(a) && NETDEV_ETHER(dev)) {
		if (ifaddr_find(dev, a))
			return -EEXIST;
		nd_add_address(dev, a, prefix, 0, 0, 0);
		return ifaddr_find(dev, a) ? 0 : -ENOBUFS;
	}
	ret = ifaddr_add(dev, a, prefix);
	if (!ret && NETDEV_ETHER(dev))
		arp_announce(dev, a);
	return ret;
}

int netdev_del_address(struct netdev *dev, const struct ip_addr *a)
{
	return ifaddr_del(dev, a) ? 0 : -EADDRNOTAVAIL;
}

struct netdev *netdev_for_gateway(const struct ip_addr *gw)
{
	for (struct netdev *d = netdev_first(); d; d = d->next) {
		if (NETDEV_ETHER(d) && ifaddr_on_link(d, gw))
			return d;
	}
	return NULL;
}

static uint64_t get(_Atomic uint64_t *v)
{
	return atomic_load_explicit(v, memory_order_relaxed);
}

void netdev_counts(struct netdev *dev, struct netdev_counts *c)
{
	if (dev->loopback) { /* counted per CPU; what leaves arrives */
		c->rx_bytes = c->tx_bytes = net_stat_sum(NS_lo_bytes);
		c->rx_packets = c->tx_packets = net_stat_sum(NS_lo_packets);
		c->rx_dropped = net_stat_sum(NS_lo_dropped);
		c->tx_dropped = 0;
		return;
	}
	c->rx_bytes = get(&dev->rx_bytes);
	c->rx_packets = get(&dev->rx_packets);
	c->rx_dropped = get(&dev->rx_dropped);
	c->tx_bytes = get(&dev->tx_bytes);
	c->tx_packets = get(&dev->tx_packets);
	c->tx_dropped = get(&dev->tx_dropped);
}
