/* SPDX-License-Identifier: MIT */
/*
 * Interface requests (SIOC*): what ifconfig, route and libraries ask and set.
 */
#include "net/ether.h"
#include "net/if_config.h"
#include "kernel/errno.h"
#include "kernel/process.h"

struct abi_ifreq {
	char name[16];
	union {
		struct sa_in addr;
		int value;
		uint64_t data; /* pointer */
		int16_t flags;
		uint8_t hw[24];
	};
};
struct abi_in6_ifreq {
	uint8_t addr[16];
	uint32_t prefix;
	int index;
};
struct abi_rtentry {
	uint64_t pad1;
	struct sa_in dst, gateway, mask;
	uint16_t flags;
	int16_t pad2;
	uint64_t pad3;
	uint8_t tos, class;
	int16_t pad4[3];
	int16_t metric; /* one more than the metric */
	uint64_t dev;   /* pointer to a name */
	uint64_t mtu, window;
	uint16_t irtt;
};
struct abi_in6_rtmsg {
	uint8_t dst[16], src[16], gateway[16];
	uint32_t type;
	uint16_t dst_len, src_len;
	uint32_t metric;
	uint64_t info;
	uint32_t flags;
	int index;
};
#define SIOCADDRT      0x890b
#define SIOCDELRT      0x890c
#define SIOCGIFNAME    0x8910
#define SIOCGIFCONF    0x8912
#define SIOCGIFFLAGS   0x8913
#define SIOCSIFFLAGS   0x8914
#define SIOCGIFADDR    0x8915
#define SIOCSIFADDR    0x8916
#define SIOCGIFDSTADDR 0x8917
#define SIOCGIFBRDADDR 0x8919
#define SIOCSIFBRDADDR 0x891a
#define SIOCGIFNETMASK 0x891b
#define SIOCSIFNETMASK 0x891c
#define SIOCGIFMETRIC  0x891d
#define SIOCGIFMTU     0x8921
#define SIOCSIFMTU     0x8922
#define SIOCSIFHWADDR  0x8924
#define SIOCGIFHWADDR  0x8927
#define SIOCGIFINDEX   0x8933
#define SIOCDIFADDR    0x8936
#define SIOCSARP       0x8955
#define SIOCGARP       0x8954
#define SIOCDARP       0x8953
#define SIOCGIFTXQLEN  0x8942
#define SIOCETHTOOL    0x8946
#define SIOCGIFMAP     0x8970
#define ETHTOOL_GLINK  0x0a
#define RTF_GATEWAY    0x2
#define RTF_HOST       0x4

/* The device's first IPv4 address. */
static const struct ifaddr *first_v4(struct netdev *dev)
{
	const struct ifaddr *t = ifaddr_table();

	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		if (atomic_load_explicit(&t[i].dev, memory_order_acquire) == dev &&
		    addr_is_v4(&t[i].addr))
			return &t[i];
	}
	return NULL;
}

static void put_v4(struct abi_ifreq *r, const struct ip_addr *a)
{
	memset(&r->addr, 0, sizeof(r->addr));
	r->addr.family = AF_INET;
	memcpy(r->addr.addr, &a->b[12], 4);
}

static long ifconf(void __user *arg)
{
	struct { int32_t len, pad; uint64_t buf; } c;
	int32_t done = 0;

	if (copy_from_user(&c, arg, sizeof(c)))
		return -EFAULT;
	for (struct netdev *d = netdev_first(); d; d = d->next) {
		const struct ifaddr *a = first_v4(d);
		struct abi_ifreq one;

		if (!a)
			continue;
		memset(&one, 0, sizeof(one));
		str_copy(one.name, d->name, sizeof(one.name));
		put_v4(&one, &a->addr);
		if (c.buf) {
			if (done + (int)sizeof(one) > c.len)
				break;
			if (copy_to_user((void *)(uintptr_t)(c.buf + (unsigned)done), &one,
					 sizeof(one)))
				return -EFAULT;
		}
		done += (int)sizeof(one);
	}
	c.len = done;
	return copy_to_user(arg, &c, sizeof(c));
}

/* Bits of a network mask as a prefix of 128, or 0 if it has holes. */
static unsigned mask_prefix(const uint8_t *mask)
{
	uint32_t m = get_be32(mask);

	if (!m)
		return 96;
	return (~m & (~m + 1)) ? 0 : 128 - (unsigned)__builtin_ctz(m);
}

/* "ifconfig eth0 ADDR": replaces the first IPv4 address, with the mask of its old class (RFC 791).
 */
static long set_address(struct netdev *dev, const struct abi_ifreq *r)
{
	const struct ifaddr *old = first_v4(dev);
	struct ip_addr a = addr_from_v4(r->addr.addr);

	if (r->addr.family != AF_INET || addr_is_multicast(&a))
		return -EINVAL;
	if (old && addr_equal(&old->addr, &a))
		return 0;
	if (old) {
		struct ip_addr gone = old->addr;

		ifaddr_del(dev, &gone);
	}
	dev->up = true;
	if (addr_is_any(&a))
		return 0;
	if (ifaddr_add(dev, &a, a.b[12] < 128 ? 104 : a.b[12] < 192 ? 112 : 120))
		return -ENOBUFS;
	if (NETDEV_ETHER(dev))
		arp_announce(dev, &a);
	return 0;
}

static long set_mask(struct netdev *dev, const struct abi_ifreq *r)
{
	const struct ifaddr *a = first_v4(dev);
	unsigned prefix = mask_prefix(r->addr.addr);

	if (!a)
		return -EADDRNOTAVAIL;
	if (!prefix)
		return -EINVAL;
	ifaddr_add(dev, &a->addr, prefix); /* it is there: takes the new prefix */
	return 0;
}

static long v6_address(unsigned cmd, void __user *arg)
{
	struct abi_in6_ifreq r;
	struct netdev *dev;
	struct ip_addr a;

	if (copy_from_user(&r, arg, sizeof(r)))
		return -EFAULT;
	dev = netdev_by_index((unsigned)r.index);
	if (!dev)
		return -ENODEV;
	a = addr_from_v6(r.addr);
	if (r.prefix > 128 || addr_is_multicast(&a) || addr_is_v4(&a) || addr_is_any(&a))
		return -EINVAL;
	return cmd == SIOCDIFADDR ? netdev_del_address(dev, &a)
				  : netdev_add_address(dev, &a, r.prefix);
}

static long v4_route(unsigned cmd, void __user *arg)
{
	struct route_entry e = { .proto = ROUTE_BOOT };
	struct abi_rtentry r;
	char name[16] = "";

	if (copy_from_user(&r, arg, sizeof(r)))
		return -EFAULT;
	if (r.dev && copy_from_user(name, (void *)(uintptr_t)r.dev, sizeof(name) - 1) &&
	    copy_from_user(name, (void *)(uintptr_t)r.dev, 5))
		return -EFAULT;
	e.dst = addr_from_v4(r.dst.addr);
	e.gw = r.flags & RTF_GATEWAY ? addr_from_v4(r.gateway.addr) : addr_from_v4("\0\0\0\0");
	e.prefix = r.flags & RTF_HOST ? 128 : mask_prefix(r.mask.addr);
	e.metric = r.metric > 0 ? (unsigned)r.metric - 1 : 0;
	if (!e.prefix)
		return -EINVAL;
	e.dev = r.dev ? netdev_by_name(name) : cmd == SIOCADDRT ? netdev_for_gateway(&e.gw) : NULL;
	if (r.dev && !e.dev)
		return -ENODEV;
	if (cmd == SIOCDELRT)
		return route_del(&e.dst, e.prefix, r.flags & RTF_GATEWAY ? &e.gw : NULL, e.dev, 0);
	return e.dev && NETDEV_ETHER(e.dev) ? route_add(&e) : -ENETUNREACH;
}

static long v6_route(unsigned cmd, void __user *arg)
{
	struct abi_in6_rtmsg r;
	struct route_entry e = { .proto = ROUTE_BOOT };

	if (copy_from_user(&r, arg, sizeof(r)))
		return -EFAULT;
	e.dst = addr_from_v6(r.dst);
	e.gw = addr_from_v6(r.gateway);
	e.prefix = r.dst_len;
	e.metric = r.metric;
	e.dev = r.index		     ? netdev_by_index((unsigned)r.index)
		: addr_is_any(&e.gw) ? NULL
				     : netdev_for_gateway(&e.gw);
	if (r.dst_len > 128 || addr_is_v4(&e.dst) || addr_is_v4(&e.gw))
		return -EINVAL;
	if (cmd == SIOCDELRT)
		return route_del(&e.dst, e.prefix, addr_is_any(&e.gw) ? NULL : &e.gw, e.dev, 0);
	return e.dev && NETDEV_ETHER(e.dev) ? route_add(&e) : -ENETUNREACH;
}

static long get_v4(struct netdev *dev, unsigned cmd, struct abi_ifreq *r)
{
	const struct ifaddr *a = first_v4(dev);
	uint32_t mask;

	if (!a)
		return -EADDRNOTAVAIL;
	put_v4(r, &a->addr);
	mask = a->prefix > 96 ? ~0u << (128 - a->prefix) : 0;
	if (cmd == SIOCGIFNETMASK)
		put_be32(r->addr.addr, mask);
	else if (cmd == SIOCGIFBRDADDR)
		put_be32(r->addr.addr, dev->loopback ? 0 : get_be32(r->addr.addr) | ~mask);
	return 0;
}

struct abi_arpreq {
	struct sa_in pa;
	uint8_t ha[16]; /* family, then the address */
	int32_t flags;
	struct sa_in mask;
	char dev[16];
};
#define ATF_COM  0x02
#define ATF_PERM 0x04

struct arp_search {
	struct ip_addr addr;
	struct netdev *dev;
	struct neigh_info found;
	bool ok;
};

static void arp_match(const struct neigh_info *i, void *arg)
{
	struct arp_search *s = arg;

	if (addr_equal(&i->addr, &s->addr) && (!s->dev || i->dev == s->dev)) {
		s->found = *i;
		s->ok = true;
	}
}

/* SIOCGARP, SIOCSARP, SIOCDARP: one neighbour of IPv4. */
static long arp_request_ioctl(unsigned cmd, void __user *arg)
{
	struct arp_search s = { .ok = false };
	struct abi_arpreq r;

	if (copy_from_user(&r, arg, sizeof(r)))
		return -EFAULT;
	r.dev[15] = 0;
	s.addr = addr_from_v4(r.pa.addr);
	s.dev = r.dev[0] ? netdev_by_name(r.dev) : netdev_for_gateway(&s.addr);
	if (r.dev[0] && !s.dev)
		return -ENODEV;
	if (cmd == SIOCSARP)
		return s.dev && NETDEV_ETHER(s.dev)
			       ? neigh_set(s.dev, &s.addr, r.ha + 2, r.flags & ATF_PERM, true)
			       : -ENXIO;
	neigh_for_each(arp_match, &s);
	if (!s.ok)
		return -ENXIO;
	if (cmd == SIOCDARP)
		return neigh_remove(s.found.dev, &s.addr) ? 0 : -ENXIO;
	memset(r.ha, 0, sizeof(r.ha));
	r.ha[0] = 1; /* ARPHRD_ETHER */
	memcpy(r.ha + 2, s.found.mac, 6);
	r.flags = (s.found.valid ? ATF_COM : 0) | (s.found.state == NEIGH_PERMANENT ? ATF_PERM : 0);
	str_copy(r.dev, s.found.dev->name, sizeof(r.dev));
	return copy_to_user(arg, &r, sizeof(r));
}

/* What ethtool and libpcap ask: whether the link is there; the rest is said not to be supported. */
static long ethtool(const struct netdev *dev, uint64_t data)
{
	struct { uint32_t cmd, value; } e;
	void __user *arg = (void *)(uintptr_t)data;

	if (copy_from_user(&e.cmd, arg, sizeof(e.cmd)))
		return -EFAULT;
	if (e.cmd != ETHTOOL_GLINK)
		return -EOPNOTSUPP;
	e.value = (netdev_flags(dev) & IFF_RUNNING) != 0;
	return copy_to_user(arg, &e, sizeof(e));
}

/* Requests about one device; fills in @r. */
static long device_request(struct netdev *dev, unsigned cmd, struct abi_ifreq *r)
{
	switch (cmd) {
	case SIOCGIFNAME:
		str_copy(r->name, dev->name, sizeof(r->name));
		return 0;
	case SIOCGIFFLAGS:
		r->flags = (int16_t)netdev_flags(dev);
		return 0;
	case SIOCSIFFLAGS:
		return netdev_set_up(dev, r->flags & IFF_UP);
	case SIOCSIFADDR:
		return dev->loopback ? 0 : set_address(dev, r);
	case SIOCSIFNETMASK:
		return dev->loopback ? 0 : set_mask(dev, r);
	case SIOCSIFBRDADDR:
		return 0; /* follows from the mask */
	case SIOCGIFADDR:
	case SIOCGIFDSTADDR:
	case SIOCGIFNETMASK:
	case SIOCGIFBRDADDR:
		return get_v4(dev, cmd, r);
	case SIOCGIFMETRIC:
		r->value = 0;
		return 0;
	case SIOCGIFMTU:
		r->value = (int)dev->mtu;
		return 0;
	case SIOCSIFMTU:
		return netdev_set_mtu(dev, (unsigned)r->value);
	case SIOCGIFINDEX:
		r->value = (int)dev->index;
		return 0;
	case SIOCGIFTXQLEN:
		r->value = 1000;
		return 0;
	case SIOCSIFHWADDR:
		return r->hw[0] == 1 && !r->hw[1] ? netdev_set_mac(dev, (const uint8_t *)r->hw + 2)
						  : -EINVAL;
	case SIOCGIFHWADDR: /* ARPHRD_LOOPBACK 772, ARPHRD_ETHER 1 */
		memset(r->hw, 0, sizeof(r->hw));
		r->hw[0] = dev->loopback ? 0x04 : 1;
		r->hw[1] = dev->loopback ? 0x03 : 0;
		memcpy(r->hw + 2, dev->mac, 6);
		return 0;
	case SIOCETHTOOL:
		return ethtool(dev, r->data);
	case SIOCGIFMAP:
		memset(r->hw, 0, sizeof(r->hw));
		return 0;
	}
	return -ENOTTY;
}

/* Requests that change the machine's addresses and routes: root's. */
static bool changes(unsigned cmd)
{
	switch (cmd) {
	case SIOCADDRT:
	case SIOCDELRT:
	case SIOCSIFFLAGS:
	case SIOCSIFADDR:
	case SIOCSIFBRDADDR:
	case SIOCSIFNETMASK:
	case SIOCSIFMTU:
	case SIOCSIFHWADDR:
	case SIOCDIFADDR:
	case SIOCSARP:
	case SIOCDARP:
		return true;
	}
	return false;
}

long if_ioctl(int family, unsigned cmd, void __user *arg)
{
	struct netdev *dev;
	struct abi_ifreq r;
	long ret;

	if (cmd == SIOCGIFCONF)
		return ifconf(arg);
	if (changes(cmd) && current_process()->euid)
		return -EPERM;
	if (cmd == SIOCADDRT || cmd == SIOCDELRT)
		return family == AF_INET6 ? v6_route(cmd, arg) : v4_route(cmd, arg);
	if (family == AF_INET6 && (cmd == SIOCSIFADDR || cmd == SIOCDIFADDR))
		return v6_address(cmd, arg);
	if (cmd == SIOCGARP || cmd == SIOCSARP || cmd == SIOCDARP)
		return arp_request_ioctl(cmd, arg);
	if (copy_from_user(&r, arg, sizeof(r)))
		return -EFAULT;
	r.name[15] = 0;
	dev = cmd == SIOCGIFNAME ? netdev_by_index((unsigned)r.value) : netdev_by_name(r.name);
	if (!dev)
		return -ENODEV;
	ret = device_request(dev, cmd, &r);
	return ret ? ret : copy_to_user(arg, &r, sizeof(r));
}
