/* SPDX-License-Identifier: MIT */
/*
 * Addresses of this machine and where packets go.
 *
 * Few entries, so the tables are small arrays that are searched in order.
 * Addresses: writers hold addr_lock, readers none; dev is stored last.  Routes:
 * one array, replaced as a whole, read under RCU.  Those that routers taught us
 * have a life time, are at most NR_LEARNT of a kind, and one whose gateway does not answer
 * counts less than any other.
 */
#include "net/netdev.h"
#include "net/event.h"
#include "net/rate.h"
#include "kernel/lock.h"
#include "kernel/rcu.h"
#include "kernel/errno.h"
#include "kernel/param.h"
#include "mm/slab.h"

#define REDIRECT_NS (600 * NSEC_PER_SEC)

/* Each changes the table: more than these on one link, and they are a flood. */
static struct rate redirects = { .gap = 100 * NSEC_PER_MSEC, .burst = 20 };

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

static void tell_address(struct netdev *dev, const struct ifaddr *a, bool gone)
{
	struct net_event e = { .kind = NET_EVENT_ADDR, .gone = gone, .dev = dev };

	if (!net_event_wanted(NET_EVENT_ADDR))
		return;
	e.addr = *a;
	net_event(&e);
}

void ifaddr_changed(struct netdev *dev, const struct ifaddr *a)
{
	tell_address(dev, a, false);
}

int ifaddr_add_full(struct netdev *dev, const struct ip_addr *a, unsigned prefix, unsigned flags,
		    uint64_t valid_until, uint64_t preferred_until)
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
			addrs[i].preferred_until = preferred_until;
			addrs[i].prefix = prefix;
			ret = -EEXIST;
		}
	}
	if (free && ret != -EEXIST) {
		free->addr = *a;
		free->prefix = prefix;
		free->valid_until = valid_until;
		free->preferred_until = preferred_until;
		free->dad_until = 0;
		atomic_store_explicit(&free->flags, flags, memory_order_relaxed);
		atomic_store_explicit(&free->dev, dev, memory_order_release);
		if (free - addrs >= used_slots())
			atomic_store_explicit(&nr_addrs, (unsigned)(free - addrs) + 1,
					      memory_order_release);
		ret = 0;
	}
	spin_unlock(&addr_lock);
	if (!ret)
		tell_address(dev, free, false);
	return ret;
}

int ifaddr_add(struct netdev *dev, const struct ip_addr *a, unsigned prefix)
{
	return ifaddr_add_full(dev, a, prefix, 0, 0, 0);
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
	struct ifaddr *f, was;

	spin_lock(&addr_lock);
	f = ifaddr_find(dev, a);
	if (f) {
		was = *f;
		atomic_store_explicit(&f->dev, NULL, memory_order_release);
	}
	spin_unlock(&addr_lock);
	if (f)
		tell_address(dev, &was, true);
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

		if (ifaddr_dev(f) != dev || !addr_is_v4(&f->addr) || f->prefix < 96 ||
		    f->prefix > 126 || !prefix_match(a, &f->addr, f->prefix))
			continue;
		host = f->prefix == 96 ? ~0u : (1u << (128 - f->prefix)) - 1;
		if ((get_be32(&a->b[12]) & host) == host)
			return true;
	}
	return false;
}

static inline bool says_on_link(const struct ifaddr *a)
{
	return !(atomic_load_explicit(&a->flags, memory_order_relaxed) & IFA_OFFLINK);
}

bool ifaddr_on_link(const struct netdev *dev, const struct ip_addr *a)
{
	for (unsigned i = 0; i < used_slots(); i++) {
		if (ifaddr_dev(&addrs[i]) == dev && addr_is_v4(a) == addr_is_v4(&addrs[i].addr) &&
		    says_on_link(&addrs[i]) && prefix_match(a, &addrs[i].addr, addrs[i].prefix))
			return true;
	}
	return false;
}

static bool link_local(const struct ip_addr *a)
{
	return !addr_is_v4(a) && (get_be16(a->b) & 0xffc0) == 0xfe80;
}

/*
 * Same family; then the rules of RFC 6724 section 5 that a host with one link needs, in
 * their order: the same scope, not deprecated, temporary if that is wished, and the
 * longest common prefix.  IPv4: the network that it is in, or the first.
 */
bool route_source(struct netdev *dev, const struct ip_addr *dst, struct ip_addr *out)
{
	bool narrow =
		link_local(dst) || (!addr_is_v4(dst) && dst->b[0] == 0xff && (dst->b[1] & 15) == 2);
	const struct ifaddr *best = NULL;
	int best_score = -1;

	for (unsigned i = 0; i < used_slots(); i++) {
		const struct ifaddr *f = &addrs[i];
		unsigned flags;
		int score;

		if (ifaddr_dev(f) != dev || addr_is_v4(&f->addr) != addr_is_v4(dst) || !usable(f))
			continue;
		flags = atomic_load_explicit(&f->flags, memory_order_relaxed);
		score = (link_local(&f->addr) == narrow ? 1024 : 0) +
			(flags & IFA_DEPRECATED ? 0 : 512) +
			(!(flags & IFA_TEMPORARY) == !nd_prefers_temporary() ? 256 : 0) +
			(addr_is_v4(dst) ? prefix_match(dst, &f->addr, f->prefix) :
					   (int)min(addr_common_bits(dst, &f->addr), f->prefix));
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

static bool is_learnt(const struct route_entry *r)
{
	return r->proto == ROUTE_RA || r->proto == ROUTE_REDIRECT;
}

/* What is not in the table any more, unless @add has taken its place, and what is new. */
static void tell_routes(const struct route_table *old,
			bool (*drop)(const struct route_entry *r, const void *arg), const void *arg,
			const struct route_entry *add)
{
	struct net_event e = { .kind = NET_EVENT_ROUTE, .gone = true };
	bool renewed = false;

	if (!net_event_wanted(NET_EVENT_ROUTE))
		return;
	for (unsigned i = 0; old && i < old->nr; i++) {
		if (!drop(&old->e[i], arg))
			continue;
		if (add && same_route(&old->e[i], add)) {
			renewed = true;
			continue;
		}
		e.dev = old->e[i].dev;
		e.route = old->e[i];
		net_event(&e);
	}
	if (!add || renewed)
		return;
	e.gone = false;
	e.dev = add->dev;
	e.route = *add;
	net_event(&e);
}

static bool expired(const struct route_entry *r, uint64_t now)
{
	uint64_t until = __atomic_load_n(&r->valid_until, __ATOMIC_RELAXED);

	return until && until <= now;
}

/*
 * route_lock held: is @add there already?  By the same maker it lives on as long as @add would,
 * which readers may see at any time; what an administrator has set no router takes over.
 */
static bool renewed(struct route_table *t, const struct route_entry *add, uint64_t now)
{
	for (unsigned i = 0; t && i < t->nr; i++) {
		struct route_entry *r = &t->e[i];

		if (!same_route(r, add) || expired(r, now))
			continue;
		if (r->proto == add->proto)
			__atomic_store_n(&r->valid_until, add->valid_until, __ATOMIC_RELAXED);
		return r->proto == add->proto || (is_learnt(add) && !is_learnt(r));
	}
	return false;
}

static unsigned nr_routes(const struct route_table *t)
{
	return t ? t->nr : 0;
}

/*
 * Publishes a copy without the entries for which @drop says so, and with @add
 * (NULL: none), unless that changes nothing.  Return: entries dropped, or -ENOMEM, -ENOBUFS.
 */
static int change_routes(bool (*drop)(const struct route_entry *r, const void *arg),
			 const void *arg, const struct route_entry *add)
{
	uint64_t now = clock_ns();
	struct route_table *old, *new;
	unsigned keep = 0, alike = 0; /* alike: by the same maker as @add */
	int dropped = 0;

	spin_lock(&route_lock);
	old = atomic_load_explicit(&routes, memory_order_relaxed);
	if (add && renewed(old, add, now)) {
		spin_unlock(&route_lock);
		return 1;
	}
	for (unsigned i = 0; i < nr_routes(old); i++) {
		if (drop(&old->e[i], arg)) {
			dropped++;
		} else if (!expired(&old->e[i], now)) {
			keep++;
			alike += add && old->e[i].proto == add->proto;
		}
	}
	if (!add && !dropped) {
		spin_unlock(&route_lock);
		return 0;
	}
	if (add && (keep == NR_ROUTES || (is_learnt(add) && alike >= NR_LEARNT))) {
		spin_unlock(&route_lock);
		return -ENOBUFS;
	}
	/* An advertisement comes while packets are processed, where nobody sleeps. */
	new = NULL; /* no route, no table */
	if (keep || add) {
		new = kmalloc(sizeof(*new) + (keep + 1) * sizeof(new->e[0]), GFP_ATOMIC);
		if (!new) {
			spin_unlock(&route_lock);
			return -ENOMEM;
		}
		new->nr = 0;
	}
	for (unsigned i = 0; new && i < nr_routes(old); i++) {
		if (!drop(&old->e[i], arg) && !expired(&old->e[i], now))
			new->e[new->nr++] = old->e[i];
	}
	if (add)
		new->e[new->nr++] = *add;
	rcu_assign_pointer(routes, new);
	spin_unlock(&route_lock);
	tell_routes(old, drop, arg, add);
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
	uint8_t proto;
};

static bool drop_match(const struct route_entry *r, const void *arg)
{
	const struct route_match *m = arg;

	return r->prefix == m->prefix && addr_equal(&r->dst, m->dst) &&
	       (!m->gw || addr_equal(&r->gw, m->gw)) && (!m->dev || r->dev == m->dev) &&
	       (!m->proto || r->proto == m->proto);
}

int route_del(const struct ip_addr *dst, unsigned prefix, const struct ip_addr *gw,
	      struct netdev *dev, uint8_t proto)
{
	struct route_match m = {
		.dst = dst, .gw = gw, .prefix = prefix, .dev = dev, .proto = proto
	};
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

/* A gateway that a router taught us and that does not answer (RFC 4861 sections 6.3.6, 7.3.3). */
static bool is_dead(const struct route_entry *r)
{
	return is_learnt(r) && !addr_is_any(&r->gw) && neigh_failed(r->dev, &r->gw);
}

static bool is_better(const struct route_entry *a, const struct route_entry *b)
{
	bool dead = is_dead(a);

	if (dead != is_dead(b))
		return !dead;
	return a->prefix > b->prefix || (a->prefix == b->prefix && a->metric < b->metric);
}

/* Under RCU: longest prefix, then smallest metric; @dev NULL: any that is up. */
static const struct route_entry *best_route(const struct ip_addr *dst, struct netdev *dev)
{
	struct route_table *t = rcu_dereference(routes);
	const struct route_entry *best = NULL;

	for (unsigned i = 0; t && i < t->nr; i++) {
		const struct route_entry *r = &t->e[i];

		if ((dev ? r->dev != dev : !r->dev->up) || addr_is_v4(&r->dst) != addr_is_v4(dst) ||
		    expired(r, clock_ns()) ||
		    !prefix_match(dst, &r->dst, r->prefix))
			continue;
		if (!best || is_better(r, best))
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

/* The way out of this machine to @dst, which is not an address of its own. */
static struct netdev *device_out(const struct ip_addr *dst)
{
	const struct route_entry *r;
	struct netdev *dev = NULL;
	unsigned best = 0;

	for (unsigned i = 0; i < used_slots(); i++) {
		struct netdev *d = ifaddr_dev(&addrs[i]);

		if (d && !d->loopback && d->up && addrs[i].prefix >= best &&
		    says_on_link(&addrs[i]) && addr_is_v4(dst) == addr_is_v4(&addrs[i].addr) &&
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
	return dev && dev->up ? dev : NULL;
}

struct netdev *route_device(const struct ip_addr *dst)
{
	return ifaddr_is_local(dst) ? &loopback_dev : device_out(dst);
}

int route_lookup(const struct ip_addr *dst, struct route *out)
{
	if (ifaddr_is_local(dst)) {
		out->dev = &loopback_dev;
		out->src = *dst; /* talking to itself: both ends are the same address */
		return 0;
	}
	out->dev = device_out(dst);
	if (!out->dev)
		return -ENETUNREACH;
	return route_source(out->dev, dst, &out->src) ? 0 : -EADDRNOTAVAIL;
}

static unsigned accept_redirects = 1;
PARAM_UINT("net.redirects", accept_redirects, 0, 1, PARAM_RW,
	   "1: routers' redirects are followed, for ten minutes");

bool route_redirect(struct netdev *dev, const struct ip_addr *from, const struct ip_addr *dst,
		    const struct ip_addr *gw)
{
	struct route_entry r = { .dst = *dst, .gw = *gw, .prefix = 128, .dev = dev,
				 .proto = ROUTE_REDIRECT };
	bool direct = addr_equal(dst, gw);
	struct ip_addr hop, link = { .d = { dev->index } };

	if (!__atomic_load_n(&accept_redirects, __ATOMIC_RELAXED) || addr_is_multicast(dst) ||
	    ifaddr_is_local(dst) || ifaddr_is_local(gw) || link_local(dst) ||
	    !route_next_hop(dev, dst, &hop) || !addr_equal(&hop, from) ||
	    (!direct && !link_local(gw) && !ifaddr_on_link(dev, gw)))
		return false;
	if (!rate_ok(&redirects, &link))
		return false;
	if (direct)
		r.gw = addr_is_v4(dst) ? addr_from_v4("\0\0\0\0") : ADDR_ANY6;
	r.valid_until = clock_ns() + REDIRECT_NS;
	/* The other way that an earlier redirect showed ends. */
	route_del(dst, 128, NULL, dev, ROUTE_REDIRECT);
	return route_add(&r) == 0;
}

static bool is_router(const struct route_entry *r, const struct ip_addr *a)
{
	return r->proto == ROUTE_RA && !r->prefix && addr_equal(&r->gw, a);
}

bool route_is_router(struct netdev *dev, const struct ip_addr *a)
{
	struct route_table *t;
	bool found = false;

	rcu_read_lock();
	t = rcu_dereference(routes);
	for (unsigned i = 0; t && i < t->nr && !found; i++)
		found = t->e[i].dev == dev && is_router(&t->e[i], a);
	rcu_read_unlock();
	return found;
}
