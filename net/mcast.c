/* SPDX-License-Identifier: MIT */
/* Multicast groups: net/mcast.h.  A small table under one lock; only multicast packets look. */
#include "net/mcast.h"
#include "net/ether.h"
#include "kernel/errno.h"
#include "kernel/lock.h"

#define GROUPS_MAX 128u

static struct spinlock mcast_lock = SPINLOCK_INIT("mcast"); /* protects groups */
static struct {
	struct netdev *dev;
	struct ip_addr group;
	unsigned users; /* 0: free slot */
} groups[GROUPS_MAX];
static _Atomic unsigned nr_groups; /* slots in use; looked at without the lock */

static int find(const struct netdev *dev, const struct ip_addr *a)
{
	for (unsigned i = 0; i < GROUPS_MAX; i++) {
		if (groups[i].users && groups[i].dev == dev && addr_equal(&groups[i].group, a))
			return (int)i;
	}
	return -1;
}

bool mcast_wants(struct netdev *dev, const struct ip_addr *a)
{
	bool found;

	if (addr_is_v4(a) ? a->d[3] == be32(0xe0000001) : NETDEV_ETHER(dev) && nd_wants(dev, a))
		return true;
	if (!atomic_load_explicit(&nr_groups, memory_order_relaxed))
		return false;
	spin_lock(&mcast_lock);
	found = find(dev, a) >= 0;
	spin_unlock(&mcast_lock);
	return found;
}

int mcast_join(struct netdev *dev, const struct ip_addr *group)
{
	int i, ret = -ENOBUFS;
	bool first = false;

	if (!addr_is_multicast(group) || group->d[3] == 0xffffffffu)
		return -EINVAL;
	spin_lock(&mcast_lock);
	i = find(dev, group);
	if (i >= 0) {
		groups[i].users++;
		ret = 0;
	}
	for (unsigned k = 0; ret && k < GROUPS_MAX; k++) {
		if (groups[k].users)
			continue;
		groups[k].dev = dev;
		groups[k].group = *group;
		groups[k].users = 1;
		atomic_fetch_add_explicit(&nr_groups, 1, memory_order_relaxed);
		first = true;
		ret = 0;
	}
	spin_unlock(&mcast_lock);
	if (first && NETDEV_ETHER(dev) && addr_is_v4(group))
		igmp_joined(dev, group);
	else if (first && NETDEV_ETHER(dev))
		mld_joined(dev, group);
	return ret;
}

int mcast_leave(struct netdev *dev, const struct ip_addr *group)
{
	bool last = false;
	int i;

	spin_lock(&mcast_lock);
	i = find(dev, group);
	if (i >= 0 && --groups[i].users == 0) {
		atomic_fetch_sub_explicit(&nr_groups, 1, memory_order_relaxed);
		last = true;
	}
	spin_unlock(&mcast_lock);
	if (last && NETDEV_ETHER(dev) && addr_is_v4(group))
		igmp_left(dev, group);
	else if (last && NETDEV_ETHER(dev))
		mld_left(dev, group);
	return i >= 0 ? 0 : -EADDRNOTAVAIL;
}

void mcast_for_each(struct netdev *dev,
		    void (*fn)(const struct ip_addr *group, unsigned users, void *arg), void *arg)
{
	spin_lock(&mcast_lock);
	for (unsigned i = 0; i < GROUPS_MAX; i++) {
		if (groups[i].users && groups[i].dev == dev)
			fn(&groups[i].group, groups[i].users, arg);
	}
	spin_unlock(&mcast_lock);
}
