/* SPDX-License-Identifier: MIT */
/*
 * Addresses of this machine and where packets go.
 *
 * Few entries, so the tables are small arrays that are searched in order.
 * Addresses: writers hold addr_lock, readers none; dev is stored last.  Routes:
 * one array, replaced as a whole, read under RCU.
 */
#include "net/netdev.h"
#include "kernel/lock.h"
#include "kernel/rcu.h"
#include "kernel/errno.h"
#include "mm/slab.h"

static struct spinlock addr_lock = SPINLOCK_INIT("ifaddr");
static struct ifaddr addrs[NR_IFADDRS];
static _Atomic unsigned nr_addrs; /* slots that were ever used */
static _Atomic(struct netdev *) default_dev;

struct route_table {
	struct rcu_head rcu;
	unsigned nr;
	struct route_entry e[];
};
static struct spinlock route_lock = SPINLOCK_INIT("route"); /* writers */
static _Atomic(struct route_table *) routes;

static inline struct netdev *ifaddr_dev(const struct ifaddr *a)
{
	return atomic_load_explicit(&a->dev, memory_order_acquire);
}
static inline unsigned used_slots(void)
{
	return atomic_load_explicit(&nr_addrs, memory_order_acquire);
}
static inline bool usable(const struct ifaddr *a)
{
	return !(atomic_load_explicit(&a->flags, memory_order_acquire) & IFA_TENTATIVE);
}

int ifaddr_add_full(struct netdev *dev, const struct ip_addr *a, unsigned prefix, unsigned flags,
		    uint64_t valid_until)
{
	struct ifaddr *free = NULL;
	int ret = -ENOBUFS;

	spin_lock(&addr_lock);
	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		struct netdev *d = ifaddr_dev(&addrs[i]);

		if (!d && !free)
			free = &addrs[i];
		if (d == dev && addr_equal(&addrs[i].addr, a)) {
			addrs[i].valid_until = valid_until;
			addrs[i].prefix = prefix;
			ret = -EEXIST;
		}
	}
	if (free && ret != -EEXIST) {
		free->addr = *a;
		free->prefix = prefix;
		free->valid_until = valid_until;
		free->dad_until = 0;
		atomic_store_explicit(&free->flags, flags, memory_order_relaxed);
		atomic_store_explicit(&free->dev, dev, memory_order_release);
		if (free - addrs >= used_slots())
			atomic_store_explicit(&nr_addrs, (unsigned)(free - addrs) + 1, memory_order_release);
		ret = 0;
	}
	spin_unlock(&addr_lock);
	return ret;
}

int ifaddr_add(struct netdev *dev, const struct ip_addr *a, unsigned prefix)
{
	return ifaddr_add_full(dev, a, prefix, 0, 0);
}

struct ifaddr *ifaddr_find(struct netdev *dev, const struct ip_addr *a)
{
	for (unsigned i = 0; i < used_slots(); i++) {
		if (ifaddr_dev(&addrs[i]) == dev && addr_equal(&addrs[i].addr, a))
			return &addrs[i];
	}
	return NULL;
}

bool ifaddr_del(struct netdev *dev, const struct ip_addr *a)
{
	struct ifaddr *f;

	spin_lock(&addr_lock);
	f = ifaddr_find(dev, a);
	if (f)
		atomic_store_explicit(&f->dev, NULL, memory_order_release);
	spin_unlock(&addr_lock);
	return f != NULL;
}

const struct ifaddr *ifaddr_table(void)
{
	return addrs;
}

void route_set_default(struct netdev *dev)
{
	atomic_store_explicit(&default_dev, dev, memory_order_release);
}

bool prefix_match(const struct ip_addr *a, const struct ip_addr *net, unsigned prefix)
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
	for (unsigned i = 0; i < used_slots(); i++) {
		if (ifaddr_dev(&addrs[i]) && addr_equal(&addrs[i].addr, a) && usable(&addrs[i]))
			return true;
	}
	return false;
}

bool ifaddr_is_broadcast(const struct netdev *dev, const struct ip_addr *a)
{
	if (!addr_is_v4(a))
		return false;
	if (a->d[3] == 0xffffffffu)
		return true;
	for (unsigned i = 0; i < used_slots(); i++) {
		const struct ifaddr *f = &addrs[i];
		uint32_t host;

		if (ifaddr_dev(f) != dev || !addr_is_v4(&f->addr) || f->prefix < 96 || f->prefix > 126 ||
		    !prefix_match(a, &f->addr, f->prefix))
			continue;
		host = f->prefix == 96 ? ~0u : (1u << (128 - f->prefix)) - 1;
		if ((get_be32(&a->b[12]) & host) == host)
			return true;
	}
	return false;
}

bool ifaddr_on_link(const struct netdev *dev, const struct ip_addr *a)
{
	for (unsigned i = 0; i < used_slots(); i++) {
		if (ifaddr_dev(&addrs[i]) == dev && addr_is_v4(a) == addr_is_v4(&addrs[i].addr) &&
		    prefix_match(a, &addrs[i].addr, addrs[i].prefix))
			return true;
	}
	return false;
}

static bool link_local(const struct ip_addr *a)
{
	return !addr_is_v4(a) && (get_be16(a->b) & 0xffc0) == 0xfe80;
}

/* Same family; the same scope if there is one (RFC 6724, rule 2), same network first. */
bool route_source(struct netdev *dev, const struct ip_addr *dst, struct ip_addr *out)
{
	bool narrow = link_local(dst) || (!addr_is_v4(dst) && dst->b[0] == 0xff && (dst->b[1] & 15) == 2);
	const struct ifaddr *best = NULL;
	int best_score = -1;

	for (unsigned i = 0; i < used_slots(); i++) {
		const struct ifaddr *f = &addrs[i];
		int score;

		if (ifaddr_dev(f) != dev || addr_is_v4(&f->addr) != addr_is_v4(dst) || !usable(f))
			continue;
		score = (link_local(&f->addr) == narrow ? 2 : 0) +
			(prefix_match(dst, &f->addr, f->prefix) ? 1 : 0);
		if (score > best_score) {
			best = f;
			best_score = score;
		}
	}
	if (best)
		*out = best->addr;
	return best != NULL;
}

static bool same_route(const struct route_entry *a, const struct route_entry *b)
{
	return a->prefix == b->prefix && a->metric == b->metric && addr_equal(&a->dst, &b->dst) &&
	       addr_equal(&a->gw, &b->gw) && a->dev == b->dev;
}

/*
 * Publishes a copy without the entries for which @drop says so, and with @add
 * (NULL: none).  Return: entries dropped, or -ENOMEM, -ENOBUFS.
 */
static int change_routes(bool (*drop)(const struct route_entry *r, const void *arg), const void *arg,
			 const struct route_entry *add)
{
	struct route_table *old, *new;
	int dropped = 0;

	new = kmalloc(sizeof(*new) + NR_ROUTES * sizeof(new->e[0]), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->nr = 0;
	spin_lock(&route_lock);
	old = atomic_load_explicit(&routes, memory_order_relaxed);
	for (unsigned i = 0; old && i < old->nr; i++) {
		if (drop(&old->e[i], arg))
			dropped++;
		else
			new->e[new->nr++] = old->e[i];
	}
	if (add && new->nr == NR_ROUTES) {
		spin_unlock(&route_lock);
		kfree(new);
		return -ENOBUFS;
	}
	if (add)
		new->e[new->nr++] = *add;
	rcu_assign_pointer(routes, new);
	spin_unlock(&route_lock);
	if (old)
		kfree_rcu_obj(&old->rcu, old);
	return dropped;
}

static bool drop_same(const struct route_entry *r, const void *arg)
{
	return same_route(r, arg);
}

int route_add(const struct route_entry *r)
{
	int n;

	if (!addr_is_any(&r->gw) && !ifaddr_on_link(r->dev, &r->gw) && !link_local(&r->gw))
		return -ENETUNREACH;
	n = change_routes(drop_same, r, r);
	return n < 0 ? n : 0;
}

struct route_match {
	const struct ip_addr *dst, *gw;
	unsigned prefix;
	struct netdev *dev;
};

static bool drop_match(const struct route_entry *r, const void *arg)
{
	const struct route_match *m = arg;

	return r->prefix == m->prefix && addr_equal(&r->dst, m->dst) &&
	       (!m->gw || addr_equal(&r->gw, m->gw)) && (!m->dev || r->dev == m->dev);
}

int route_del(const struct ip_addr *dst, unsigned prefix, const struct ip_addr *gw, struct netdev *dev)
{
	struct route_match m = { .dst = dst, .gw = gw, .prefix = prefix, .dev = dev };
	int n = change_routes(drop_match, &m, NULL);

	return n < 0 ? n : n ? 0 : -ESRCH;
}

static bool drop_dev(const struct route_entry *r, const void *arg)
{
	return r->dev == arg;
}

void route_flush(struct netdev *dev)
{
	change_routes(drop_dev, dev, NULL);
}

void route_for_each(void (*fn)(const struct route_entry *r, void *arg), void *arg)
{
	struct route_table *t;

	rcu_read_lock();
	t = rcu_dereference(routes);
	for (unsigned i = 0; t && i < t->nr; i++)
		fn(&t->e[i], arg);
	rcu_read_unlock();
}

/* Under RCU: longest prefix, then smallest metric; @dev NULL: any that is up. */
static const struct route_entry *best_route(const struct ip_addr *dst, struct netdev *dev)
{
	struct route_table *t = rcu_dereference(routes);
	const struct route_entry *best = NULL;

	for (unsigned i = 0; t && i < t->nr; i++) {
		const struct route_entry *r = &t->e[i];

		if ((dev ? r->dev != dev : !r->dev->up) || addr_is_v4(&r->dst) != addr_is_v4(dst) ||
		    (r->valid_until && r->valid_until < clock_ns()) ||
		    !prefix_match(dst, &r->dst, r->prefix))
			continue;
		if (!best || r->prefix > best->prefix ||
		    (r->prefix == best->prefix && r->metric < best->metric))
			best = r;
	}
	return best;
}

bool route_next_hop(struct netdev *dev, const struct ip_addr *dst, struct ip_addr *hop)
{
	const struct route_entry *r;

	*hop = *dst;
	if (link_local(dst) || ifaddr_on_link(dev, dst))
		return true;
	rcu_read_lock();
	r = best_route(dst, dev);
	if (r && !addr_is_any(&r->gw))
		*hop = r->gw;
	rcu_read_unlock();
	return r || dev == atomic_load_explicit(&default_dev, memory_order_acquire);
}

static struct netdev *first_ether(void)
{
	struct netdev *d = netdev_first();

	while (d && !(NETDEV_ETHER(d) && d->up))
		d = d->next;
	return d;
}

int route_lookup_on(const struct ip_addr *dst, struct netdev *dev, struct route *out)
{
	struct ip_addr hop;

	if (!dev || dev->loopback || ifaddr_is_local(dst))
		return route_lookup(dst, out);
	if (!dev->up || (!addr_is_multicast(dst) && !route_next_hop(dev, dst, &hop)))
		return -ENETUNREACH;
	out->dev = dev;
	return route_source(dev, dst, &out->src) ? 0 : -EADDRNOTAVAIL;
}

int route_lookup(const struct ip_addr *dst, struct route *out)
{
	const struct route_entry *r;
	struct netdev *dev = NULL;
	unsigned best = 0;

	if (ifaddr_is_local(dst)) {
		out->dev = &loopback_dev;
		out->src = *dst; /* talking to itself: both ends are the same address */
		return 0;
	}
	for (unsigned i = 0; i < used_slots(); i++) {
		struct netdev *d = ifaddr_dev(&addrs[i]);

		if (d && !d->loopback && d->up && addrs[i].prefix >= best &&
		    addr_is_v4(dst) == addr_is_v4(&addrs[i].addr) &&
		    prefix_match(dst, &addrs[i].addr, addrs[i].prefix)) {
			dev = d;
			best = addrs[i].prefix;
		}
	}
	if (!dev) {
		rcu_read_lock();
		r = best_route(dst, NULL);
		if (r)
			dev = r->dev;
		rcu_read_unlock();
	}
	if (!dev && addr_is_multicast(dst))
		dev = first_ether();
	if (!dev)
		dev = atomic_load_explicit(&default_dev, memory_order_acquire);
	if (!dev || !dev->up)
		return -ENETUNREACH;
	out->dev = dev;
	return route_source(dev, dst, &out->src) ? 0 : -EADDRNOTAVAIL;
}
