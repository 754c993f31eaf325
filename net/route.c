/* SPDX-License-Identifier: MIT */
/*
 * Addresses of this machine and where packets go.
 *
 * Few entries, so the tables are small arrays that are searched in order;
 * writers hold addr_lock, readers none: dev is stored last and never changes
 * from one device to another.
 */
#include "net/netdev.h"
#include "kernel/lock.h"
#include "kernel/errno.h"

static struct spinlock addr_lock = SPINLOCK_INIT("ifaddr");
static struct ifaddr addrs[NR_IFADDRS];
static _Atomic(struct netdev *) default_dev;

static inline struct netdev *ifaddr_dev(const struct ifaddr *a)
{
	return atomic_load_explicit(&a->dev, memory_order_acquire);
}

int ifaddr_add(struct netdev *dev, const struct ip_addr *a, unsigned prefix)
{
	int ret = -ENOBUFS;

	spin_lock(&addr_lock);
	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		if (ifaddr_dev(&addrs[i]))
			continue;
		addrs[i].addr = *a;
		addrs[i].prefix = prefix;
		atomic_store_explicit(&addrs[i].dev, dev, memory_order_release);
		ret = 0;
		break;
	}
	spin_unlock(&addr_lock);
	return ret;
}

const struct ifaddr *ifaddr_table(void)
{
	return addrs;
}

void route_set_default(struct netdev *dev)
{
	atomic_store_explicit(&default_dev, dev, memory_order_release);
}

static bool prefix_match(const struct ip_addr *a, const struct ip_addr *net, unsigned prefix)
{
	unsigned bytes = prefix / 8, bits = prefix % 8;

	if (memcmp(a->b, net->b, bytes))
		return false;
	return !bits || ((a->b[bytes] ^ net->b[bytes]) >> (8 - bits)) == 0;
}

bool ifaddr_is_local(const struct ip_addr *a)
{
	if (addr_is_loopback(a))
		return true;
	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		if (ifaddr_dev(&addrs[i]) && addr_equal(&addrs[i].addr, a))
			return true;
	}
	return false;
}

/* An address of @dev of the same family as @like. */
static bool source_of(struct netdev *dev, const struct ip_addr *like, struct ip_addr *out)
{
	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		if (ifaddr_dev(&addrs[i]) == dev && addr_is_v4(&addrs[i].addr) == addr_is_v4(like)) {
			*out = addrs[i].addr;
			return true;
		}
	}
	return false;
}

int route_lookup(const struct ip_addr *dst, struct route *out)
{
	struct netdev *dev = NULL;

	if (ifaddr_is_local(dst)) {
		out->dev = &loopback_dev;
		out->src = *dst; /* talking to itself: both ends are the same address */
		return 0;
	}
	for (unsigned i = 0; i < NR_IFADDRS && !dev; i++) {
		struct netdev *d = ifaddr_dev(&addrs[i]);

		if (d && !d->loopback && prefix_match(dst, &addrs[i].addr, addrs[i].prefix))
			dev = d;
	}
	if (!dev)
		dev = atomic_load_explicit(&default_dev, memory_order_acquire);
	if (!dev || !dev->up)
		return -ENETUNREACH;
	out->dev = dev;
	return source_of(dev, dst, &out->src) ? 0 : -EADDRNOTAVAIL;
}
