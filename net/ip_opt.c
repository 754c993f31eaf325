/* SPDX-License-Identifier: MIT */
/*
 * Options of the IP and IPv6 levels, for sockets of every protocol (net/sock.h,
 * struct ip_opts).  What is accepted without an effect is in docs/differences.md.
 */
#include "net/icmp_err.h"
#include "net/ip.h"
#include "net/mcast.h"
#include "net/sock.h"
#include "kernel/errno.h"
#include "kernel/lock.h"
#include "mm/slab.h"

struct abi_mreq { /* struct ip_mreqn; programs also pass the first 8 bytes, or 12 */
	uint8_t group[4], local[4];
	int32_t ifindex;
};
struct abi_mreq6 {
	uint8_t group[16];
	int32_t ifindex;
};

/* A byte does for an int, and nothing for 0. */
static int short_int(const void *val, unsigned len)
{
	int v = 0;

	if (len >= sizeof(int))
		memcpy(&v, val, sizeof(int));
	else if (len)
		v = *(const uint8_t *)val;
	return v;
}

static int set_small(uint8_t *where, const void *val, unsigned len, int least, uint8_t dflt)
{
	int v = short_int(val, len);

	if (!len)
		return -EINVAL;
	if (v != -1 && (v < least || v > 255))
		return -EINVAL;
	*where = v == -1 ? dflt : (uint8_t)v;
	return 0;
}

static int set_flag(bool *where, const void *val, unsigned len)
{
	*where = short_int(val, len) != 0;
	return 0;
}

/* The device for a group: by index, by an address of it, or the one that a route names. */
static struct netdev *group_dev(int ifindex, const struct ip_addr *local,
				const struct ip_addr *group)
{
	const struct ifaddr *t = ifaddr_table();
	struct route rt;

	if (ifindex)
		return netdev_by_index((unsigned)ifindex);
	for (unsigned i = 0; local && !addr_is_any(local) && i < NR_IFADDRS; i++) {
		struct netdev *d = atomic_load_explicit(&t[i].dev, memory_order_acquire);

		if (d && addr_equal(&t[i].addr, local))
			return d;
	}
	return route_lookup(group, &rt) ? NULL : rt.dev;
}

/*
 * A socket's memberships, so that closing it leaves them.  Threads that share a socket may join
 * and leave at once; it happens so seldom that one mutex serves all sockets.
 */
/* ip.members of all sockets */
static struct mutex members_lock = MUTEX_INIT(members_lock, "ip_members");
struct ip_member {
	struct ip_member *next;
	struct netdev *dev;
	struct ip_addr group;
};
#define MEMBERS_MAX 20u /* as Linux's default for IPv4 */

/* members_lock held. */
static int join(struct sock *s, struct netdev *dev, const struct ip_addr *group)
{
	struct ip_member *m;
	unsigned n = 0;
	int ret;

	if (!dev)
		return -ENODEV;
	for (m = s->ip.members; m; m = m->next, n++) {
		if (m->dev == dev && addr_equal(&m->group, group))
			return -EADDRINUSE;
	}
	if (n >= MEMBERS_MAX)
		return -ENOBUFS;
	m = kzalloc(sizeof(*m), GFP_KERNEL | GFP_ACCOUNT);
	if (!m)
		return -ENOBUFS;
	ret = mcast_join(dev, group);
	if (ret) {
		kfree(m);
		return ret;
	}
	m->dev = dev;
	m->group = *group;
	m->next = s->ip.members;
	s->ip.members = m;
	return 0;
}

/* members_lock held. */
static int leave(struct sock *s, struct netdev *dev, const struct ip_addr *group)
{
	struct ip_member **at = &s->ip.members, *m;

	for (; (m = *at); at = &m->next) {
		if ((dev && m->dev != dev) || !addr_equal(&m->group, group))
			continue;
		*at = m->next;
		mcast_leave(m->dev, &m->group);
		kfree(m);
		return 0;
	}
	return -EADDRNOTAVAIL;
}

void ip_opts_destroy(struct sock *s)
{
	if (!s->ip.members) /* nobody else has the socket any more */
		return;
	mutex_lock(&members_lock);
	while (s->ip.members)
		leave(s, s->ip.members->dev, &s->ip.members->group);
	mutex_unlock(&members_lock);
}

/* @dev NULL: no such device, or when leaving, any. */
static int membership(struct sock *s, bool add, struct netdev *dev, const struct ip_addr *group)
{
	int ret;

	mutex_lock(&members_lock);
	ret = add ? join(s, dev, group) : leave(s, dev, group);
	mutex_unlock(&members_lock);
	return ret;
}

static int membership4(struct sock *s, bool add, const void *val, unsigned len)
{
	struct abi_mreq r = { 0 };
	struct ip_addr group, local;

	if (len < 8)
		return -EINVAL;
	memcpy(&r, val, min_t(unsigned, len, sizeof(r)));
	group = addr_from_v4(r.group);
	local = addr_from_v4(r.local);
	if (!addr_is_multicast(&group))
		return -EINVAL;
	if (s->type == SOCK_STREAM)
		return -EPROTO;
	return membership(s, add, add || r.ifindex || !addr_is_any(&local) ?
				  group_dev(r.ifindex, &local, &group) : NULL, &group);
}

static int membership6(struct sock *s, bool add, const void *val, unsigned len)
{
	struct abi_mreq6 r;
	struct ip_addr group;

	if (len < sizeof(r))
		return -EINVAL;
	memcpy(&r, val, sizeof(r));
	group = addr_from_v6(r.group);
	if (group.b[0] != 0xff)
		return -EINVAL;
	if (s->type == SOCK_STREAM)
		return -EPROTO;
	return membership(s, add, add ? group_dev(r.ifindex, NULL, &group) :
				  r.ifindex ? netdev_by_index((unsigned)r.ifindex) : NULL, &group);
}

static int multicast_if(struct sock *s, const void *val, unsigned len)
{
	struct ip_addr none = addr_from_v4("\0\0\0\0");
	struct abi_mreq r = { 0 };
	struct netdev *dev;

	if (len < 4)
		return -EINVAL;
	if (len < 8) /* struct in_addr */
		memcpy(r.local, val, 4);
	else
		memcpy(&r, val, min_t(unsigned, len, sizeof(r)));
	if (!r.ifindex && !get_be32(r.local)) {
		s->ip.mcast_dev = NULL;
		return 0;
	}
	none = addr_from_v4(r.local);
	dev = group_dev(r.ifindex, &none, &none);
	if (!dev)
		return r.ifindex ? -ENODEV : -EADDRNOTAVAIL;
	s->ip.mcast_dev = dev;
	return 0;
}

static int set_v4(struct sock *s, int name, const void *val, unsigned len)
{
	struct ip_opts *o = &s->ip;

	switch (name) {
	case IP_TOS: /* TCP's two bits for congestion are its own */
		s->tos = (uint8_t)(s->type != SOCK_STREAM ? short_int(val, len) :
				   (short_int(val, len) & ~3) | (s->tos & 3));
		return 0;
	case IP_TTL:
		return set_small(&s->ttl, val, len, 1, 0);
	case IP_HDRINCL:
		return s->type == SOCK_RAW ? set_flag(&o->hdrincl, val, len) : -ENOPROTOOPT;
	case IP_RECVTTL:
		return set_flag(&o->recvttl, val, len);
	case IP_RECVTOS:
		return set_flag(&o->recvtos, val, len);
	case IP_RECVOPTS: /* packets are read without them: nothing follows */
	case IP_RETOPTS:
		return 0;
	case IP_PKTINFO:
		return set_flag(&o->pktinfo, val, len);
	case IP_RECVERR:
		return set_flag(&o->recverr, val, len);
	case IP_FREEBIND:
		return set_flag(&o->freebind, val, len);
	case IP_MTU_DISCOVER: {
		int v = short_int(val, len);

		if (v < PMTUDISC_DONT || v > PMTUDISC_OMIT)
			return -EINVAL;
		o->pmtudisc = (uint8_t)v;
		return 0;
	}
	case IP_MULTICAST_TTL:
		return s->type == SOCK_STREAM ? -EINVAL : set_small(&o->mcast_ttl, val, len, 0, 1);
	case IP_MULTICAST_LOOP:
		return len ? set_flag(&o->mcast_loop, val, len) : -EINVAL;
	case IP_MULTICAST_IF:
		return s->type == SOCK_STREAM ? -EINVAL : multicast_if(s, val, len);
	case IP_ADD_MEMBERSHIP:
	case IP_DROP_MEMBERSHIP:
		return membership4(s, name == IP_ADD_MEMBERSHIP, val, len);
	case IP_OPTIONS:
		return len ? -EOPNOTSUPP : 0;
	case IP_BIND_ADDRESS_NO_PORT:
		return 0;
	}
	return -ENOPROTOOPT;
}

static int set_v6(struct sock *s, int name, const void *val, unsigned len)
{
	struct ip_opts *o = &s->ip;
	union sockaddr_any own;
	int v, ret;

	if (s->type == SOCK_STREAM && (name == IPV6_MULTICAST_HOPS || name == IPV6_MULTICAST_IF))
		return -ENOPROTOOPT;
	if (len < sizeof(int))
		return -EINVAL;
	switch (name) {
	case IPV6_V6ONLY: /* it says which ports are taken: not behind bind()'s back */
		if (s->ops->getname(s, &own, SOCK_END_OWN) > 0 && own.in6.port)
			return -EINVAL;
		return set_flag(&s->v6only, val, len);
	case IPV6_TCLASS:
		return set_small(&s->tos, val, len, 0, 0);
	case IPV6_UNICAST_HOPS:
		return set_small(&s->ttl, val, len, 0, 0);
	case IPV6_RECVHOPLIMIT:
	case IPV6_2292HOPLIMIT: {
		int err = set_flag(&o->recvttl, val, len);

		if (!err)
			o->ttl_2292 = o->recvttl && name == IPV6_2292HOPLIMIT;
		return err;
	}
	case IPV6_RECVTCLASS:
		return set_flag(&o->recvtos, val, len);
	case IPV6_RECVPKTINFO:
		return set_flag(&o->pktinfo, val, len);
	case IPV6_RECVERR:
		return set_flag(&o->recverr, val, len);
	case IPV6_MTU_DISCOVER:
		return set_v4(s, IP_MTU_DISCOVER, val, len);
	case IPV6_MULTICAST_HOPS:
		return set_small(&o->mcast_ttl, val, len, 0, 1);
	case IPV6_MULTICAST_LOOP:
		v = short_int(val, len);
		return v < 0 || v > 1 ? -EINVAL : set_flag(&o->mcast_loop, val, len);
	case IPV6_MULTICAST_IF:
		ret = sockopt_int(val, len, &v);
		if (ret)
			return ret;
		o->mcast_dev = v ? netdev_by_index((unsigned)v) : NULL;
		return v && !o->mcast_dev ? -ENODEV : 0;
	case IPV6_JOIN_GROUP:
	case IPV6_LEAVE_GROUP:
		return membership6(s, name == IPV6_JOIN_GROUP, val, len);
	case IPV6_CHECKSUM:
		return 0;
	}
	return -ENOPROTOOPT;
}

int ip_setsockopt(struct sock *s, int level, int name, const void *val, unsigned len)
{
	if (level == SOL_IP)
		return set_v4(s, name, val, len);
	if (level == SOL_IPV6 && s->family == AF_INET6)
		return set_v6(s, name, val, len);
	return -ENOPROTOOPT;
}

/* MTU of the way to a connected socket's peer. */
static int path_mtu(struct sock *s, void *val, unsigned *len)
{
	union sockaddr_any a;
	struct ip_addr peer;
	struct route rt;
	uint16_t port;
	int n = s->ops->getname(s, &a, SOCK_END_PEER);

	if (n < 0)
		return n;
	if (addr_import(s->family, &a, (unsigned)n, &peer, &port) || route_lookup(&peer, &rt))
		return -ENOTCONN;
	return sockopt_put_int(val, len, (int)min(ip_path_mtu(rt.dev, &peer), rt.dev->mtu));
}

/* Programs that have room for a byte get one, if it holds the value. */
static int put_short(void *val, unsigned *len, int v)
{
	if (*len && *len < sizeof(int) && v >= 0 && v <= 255)
		*len = 1;
	return sockopt_put_int(val, len, v);
}

static int get_v4(struct sock *s, int name, void *val, unsigned *len)
{
	const struct ip_opts *o = &s->ip;

	switch (name) {
	case IP_TOS:
		return put_short(val, len, s->tos);
	case IP_TTL:
		return put_short(val, len, s->ttl ? s->ttl : IP_TTL_DEFAULT);
	case IP_HDRINCL:
		return put_short(val, len, o->hdrincl);
	case IP_RECVTTL:
		return put_short(val, len, o->recvttl);
	case IP_RECVTOS:
		return put_short(val, len, o->recvtos);
	case IP_RECVOPTS:
	case IP_RETOPTS:
		return put_short(val, len, 0);
	case IP_PKTINFO:
		return put_short(val, len, o->pktinfo);
	case IP_RECVERR:
		return put_short(val, len, o->recverr);
	case IP_FREEBIND:
		return put_short(val, len, o->freebind);
	case IP_MTU_DISCOVER:
		return put_short(val, len, o->pmtudisc);
	case IP_MULTICAST_TTL:
		return put_short(val, len, o->mcast_ttl);
	case IP_MULTICAST_LOOP:
		return put_short(val, len, o->mcast_loop);
	case IP_MTU:
		return path_mtu(s, val, len);
	case IP_OPTIONS:
		*len = 0;
		return 0;
	}
	return -ENOPROTOOPT;
}

static int get_v6(struct sock *s, int name, void *val, unsigned *len)
{
	const struct ip_opts *o = &s->ip;

	switch (name) {
	case IPV6_V6ONLY:
		return sockopt_put_int(val, len, s->v6only);
	case IPV6_TCLASS:
		return sockopt_put_int(val, len, s->tos);
	case IPV6_UNICAST_HOPS:
		return sockopt_put_int(val, len, s->ttl ? s->ttl : IP_TTL_DEFAULT);
	case IPV6_RECVHOPLIMIT:
		return sockopt_put_int(val, len, o->recvttl && !o->ttl_2292);
	case IPV6_2292HOPLIMIT:
		return sockopt_put_int(val, len, o->ttl_2292);
	case IPV6_RECVTCLASS:
		return sockopt_put_int(val, len, o->recvtos);
	case IPV6_RECVPKTINFO:
		return sockopt_put_int(val, len, o->pktinfo);
	case IPV6_RECVERR:
		return sockopt_put_int(val, len, o->recverr);
	case IPV6_MTU_DISCOVER:
		return sockopt_put_int(val, len, o->pmtudisc);
	case IPV6_MULTICAST_HOPS:
		return sockopt_put_int(val, len, o->mcast_ttl);
	case IPV6_MULTICAST_LOOP:
		return sockopt_put_int(val, len, o->mcast_loop);
	case IPV6_MULTICAST_IF:
		return sockopt_put_int(val, len, o->mcast_dev ? (int)o->mcast_dev->index : 0);
	case IPV6_MTU:
		return path_mtu(s, val, len);
	}
	return -ENOPROTOOPT;
}

int ip_getsockopt(struct sock *s, int level, int name, void *val, unsigned *len)
{
	if (level == SOL_IP)
		return get_v4(s, name, val, len);
	if (level == SOL_IPV6 && s->family == AF_INET6)
		return get_v6(s, name, val, len);
	return s->family == AF_INET ? -EOPNOTSUPP : -ENOPROTOOPT;
}

int ip_bind_address(const struct sock *s, const union sockaddr_any *a, unsigned len,
		    struct ip_addr *out, uint16_t *port)
{
	union sockaddr_any named = *a;
	int ret;

	/* Programs of old leave the family out with INADDR_ANY. */
	if (s->family == AF_INET && len >= sizeof(struct sa_in) && a->family == AF_UNSPEC &&
	    !get_be32(a->in.addr))
		named.family = AF_INET;
	ret = addr_import(s->family, &named, len, out, port);
	if (ret)
		return ret;
	if (s->family == AF_INET6 &&
	    ((out->b[0] == 0xff && s->type == SOCK_STREAM) || (addr_is_v4(out) && s->v6only)))
		return -EINVAL;
	if (addr_is_any(out) || addr_is_multicast(out) || s->ip.freebind || ifaddr_is_local(out) ||
	    (addr_is_v4(out) && out->d[3] == 0xffffffffu))
		return 0;
	return -EADDRNOTAVAIL;
}

int ip_bind_device(struct sock *s, const void *val, unsigned len)
{
	char name[16] = "";
	struct netdev *dev;

	memcpy(name, val, min_t(unsigned, len, sizeof(name) - 1));
	if (!name[0]) {
		s->ip.bound = NULL;
		return 0;
	}
	dev = netdev_by_name(name);
	if (!dev)
		return -ENODEV;
	s->ip.bound = dev;
	return 0;
}
