/* SPDX-License-Identifier: MIT */
/*
 * IPv6 neighbour discovery (RFC 4861), duplicate address detection and
 * stateless addresses (RFC 4862).
 *
 * One timer serves all devices; it runs while a duplicate detection or a router
 * solicitation is under way, and when a life time ends.
 */
#include "net/ether.h"
#include "kernel/errno.h"
#include "kernel/lock.h"
#include "kernel/log.h"
#include "kernel/timer.h"

#define ND_RS 133
#define ND_RA 134
#define ND_NS 135
#define ND_NA 136
#define OPT_SOURCE 1
#define OPT_TARGET 2
#define OPT_PREFIX 3
#define OPT_MTU    5
#define ND_MAX     512u /* bytes of a message that are looked at */
#define RS_COUNT   3
#define RS_GAP     (4 * NSEC_PER_SEC)
#define DAD_NS     (1 * NSEC_PER_SEC)
#define AUTO_MAX   8    /* addresses that routers can give a device */
#define ROUTER_METRIC 1024
#define FOREVER    0xffffffffu

static const struct ip_addr all_nodes = { .b = { 0xff, 2, [15] = 1 } };
static const struct ip_addr all_routers = { .b = { 0xff, 2, [15] = 2 } };
static const struct ip_addr link_prefix = { .b = { 0xfe, 0x80 } };

/* Who still has to ask for routers; touched by the timer and nd_start(). */
#define ND_DEVS 8
static struct {
	_Atomic(struct netdev *) dev;
	_Atomic int rs_left;
	_Atomic uint64_t rs_at;
} asking[ND_DEVS];
static struct spinlock nd_lock = SPINLOCK_INIT("nd"); /* setting the timer */
static struct timer nd_timer;
static _Atomic bool timer_ready;

static struct ip_addr solicited_node(const struct ip_addr *a)
{
	struct ip_addr m = { .b = { 0xff, 2, [11] = 1, 0xff } };

	memcpy(&m.b[13], &a->b[13], 3);
	return m;
}

/* Modified EUI-64 (RFC 4291 appendix A) behind a prefix of 64 bits. */
static struct ip_addr with_eui64(const struct ip_addr *prefix, const uint8_t *mac)
{
	struct ip_addr a = *prefix;

	a.b[8] = mac[0] ^ 2;
	a.b[9] = mac[1];
	a.b[10] = mac[2];
	a.b[11] = 0xff;
	a.b[12] = 0xfe;
	memcpy(&a.b[13], mac + 3, 3);
	return a;
}

bool nd_wants(struct netdev *dev, const struct ip_addr *dst)
{
	const struct ifaddr *t = ifaddr_table();

	if (addr_equal(dst, &all_nodes))
		return true;
	if (dst->b[0] != 0xff || dst->b[1] != 2 || dst->b[11] != 1 || dst->b[12] != 0xff)
		return false;
	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		if (atomic_load_explicit(&t[i].dev, memory_order_acquire) == dev &&
		    !addr_is_v4(&t[i].addr) && !memcmp(&t[i].addr.b[13], &dst->b[13], 3))
			return true;
	}
	return false;
}

void nd_for_each_group(struct netdev *dev, void (*fn)(const struct ip_addr *group, unsigned users, void *arg),
		       void *arg)
{
	const struct ifaddr *t = ifaddr_table();

	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		struct ip_addr group = solicited_node(&t[i].addr);

		if (atomic_load_explicit(&t[i].dev, memory_order_acquire) == dev && !addr_is_v4(&t[i].addr))
			fn(&group, 1, arg);
	}
}

bool nd_link_local(struct netdev *dev, struct ip_addr *out)
{
	return route_source(dev, &link_prefix, out) && prefix_match(out, &link_prefix, 10);
}

/* Sends a message; @src NULL: unspecified.  @mac NULL: resolved as usual or by multicast. */
static void nd_send(struct netdev *dev, const struct ip_addr *src, const struct ip_addr *dst,
		    const uint8_t *msg, unsigned n, const uint8_t *mac)
{
	struct pbuf *p = pbuf_alloc(56);
	uint16_t sum;

	if (!p)
		return;
	p->dev = dev;
	p->src = src ? *src : ADDR_ANY6;
	p->dst = *dst;
	p->th = p->start;
	p->proto = IPPROTO_ICMPV6;
	memcpy(pbuf_put(p, n), msg, n);
	put_be16(p->head + p->th + 2, 0);
	sum = pbuf_csum(p, IPPROTO_ICMPV6);
	memcpy(p->head + p->th + 2, &sum, 2);
	net_count(icmp_out);
	ipv6_push_header(p, IPPROTO_ICMPV6, 255, 0);
	if (mac)
		ether_send(dev, p, mac, ETHER_IPV6);
	else
		dev->xmit(dev, p);
}

void nd_solicit(struct netdev *dev, const struct ip_addr *src, const struct ip_addr *target, const uint8_t *mac)
{
	struct ip_addr group = solicited_node(target);
	uint8_t m[32] = { ND_NS };

	memcpy(m + 8, target->b, 16);
	m[24] = OPT_SOURCE;
	m[25] = 1;
	memcpy(m + 26, dev->mac, 6);
	nd_send(dev, src, mac ? target : &group, m, src ? 32 : 24, mac);
}

static void advertise(struct netdev *dev, const struct ip_addr *target, const struct ip_addr *dst, bool solicited)
{
	uint8_t m[32] = { ND_NA, [4] = (solicited ? 0x40 : 0) | 0x20 };

	memcpy(m + 8, target->b, 16);
	m[24] = OPT_TARGET;
	m[25] = 1;
	memcpy(m + 26, dev->mac, 6);
	nd_send(dev, target, dst, m, 32, NULL);
}

void nd_announce(struct netdev *dev)
{
	const struct ifaddr *t = ifaddr_table();

	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		if (atomic_load_explicit(&t[i].dev, memory_order_acquire) == dev && !addr_is_v4(&t[i].addr) &&
		    !(atomic_load_explicit(&t[i].flags, memory_order_relaxed) & IFA_TENTATIVE))
			advertise(dev, &t[i].addr, &all_nodes, false);
	}
}

static void solicit_routers(struct netdev *dev)
{
	uint8_t m[16] = { ND_RS };
	struct ip_addr src;

	if (!route_source(dev, &link_prefix, &src))
		return;
	m[8] = OPT_SOURCE;
	m[9] = 1;
	memcpy(m + 10, dev->mac, 6);
	nd_send(dev, &src, &all_routers, m, 16, NULL);
}

static void sooner(uint64_t *next, uint64_t t)
{
	if (!*next || t < *next)
		*next = t;
}

static void tick_at(uint64_t when)
{
	spin_lock(&nd_lock);
	if (!timer_pending(&nd_timer) ||
	    (atomic_load_explicit(&nd_timer.deadline, memory_order_relaxed) & ~1ULL) > when)
		timer_set(&nd_timer, when);
	spin_unlock(&nd_lock);
}

static void nd_tick(struct timer *t)
{
	struct ifaddr *table = (struct ifaddr *)ifaddr_table();
	uint64_t now = clock_ns(), next = 0;

	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		struct ifaddr *a = &table[i];
		struct netdev *dev = atomic_load_explicit(&a->dev, memory_order_acquire);

		if (!dev || addr_is_v4(&a->addr))
			continue;
		if (a->valid_until && now >= a->valid_until) {
			struct ip_addr gone = a->addr;

			ifaddr_del(dev, &gone);
			continue;
		}
		if (a->valid_until)
			sooner(&next, a->valid_until);
		if (!(atomic_load_explicit(&a->flags, memory_order_relaxed) & IFA_TENTATIVE))
			continue;
		if (!a->dad_until) {
			nd_solicit(dev, NULL, &a->addr, NULL);
			a->dad_until = now + DAD_NS;
		}
		if (now < a->dad_until) {
			sooner(&next, a->dad_until);
			continue;
		}
		atomic_fetch_and_explicit(&a->flags, ~IFA_TENTATIVE, memory_order_release);
		advertise(dev, &a->addr, &all_nodes, false);
	}
	for (unsigned i = 0; i < ND_DEVS; i++) {
		struct netdev *dev = atomic_load_explicit(&asking[i].dev, memory_order_acquire);
		uint64_t at = atomic_load_explicit(&asking[i].rs_at, memory_order_relaxed);

		if (!dev || atomic_load_explicit(&asking[i].rs_left, memory_order_relaxed) <= 0)
			continue;
		if (now >= at) {
			solicit_routers(dev);
			atomic_fetch_sub_explicit(&asking[i].rs_left, 1, memory_order_relaxed);
			at = now + RS_GAP;
			atomic_store_explicit(&asking[i].rs_at, at, memory_order_relaxed);
		}
		sooner(&next, at);
	}
	if (next)
		tick_at(next);
}

void nd_add_address(struct netdev *dev, const struct ip_addr *a, unsigned prefix, unsigned flags,
		    uint64_t valid_until)
{
	struct ip_addr group = solicited_node(a);

	if (ifaddr_add_full(dev, a, prefix, flags | IFA_TENTATIVE, valid_until))
		return;
	mld_joined(dev, &group); /* before the question, whose answer comes by this group (RFC 4862 5.4.2) */
	tick_at(clock_ns() + NSEC_PER_MSEC * (net_random() % 100));
}

void nd_start(struct netdev *dev)
{
	struct ip_addr a = with_eui64(&link_prefix, dev->mac);
	unsigned i;

	if (!atomic_load_explicit(&timer_ready, memory_order_acquire)) {
		timer_init(&nd_timer, nd_tick);
		atomic_store_explicit(&timer_ready, true, memory_order_release);
	}
	for (i = 0; i < ND_DEVS; i++) {
		struct netdev *d = atomic_load_explicit(&asking[i].dev, memory_order_relaxed);

		if (!d || d == dev)
			break;
	}
	if (i < ND_DEVS) {
		atomic_store_explicit(&asking[i].rs_left, RS_COUNT, memory_order_relaxed);
		atomic_store_explicit(&asking[i].rs_at, clock_ns() + DAD_NS + 300 * NSEC_PER_MSEC,
				      memory_order_relaxed);
		atomic_store_explicit(&asking[i].dev, dev, memory_order_release);
	}
	nd_add_address(dev, &a, 64, 0, 0);
	tick_at(clock_ns());
}

/* Option @type of a message, its length in *len (bytes); NULL.  Malformed: false in *ok. */
static const uint8_t *option(const uint8_t *m, unsigned n, unsigned at, uint8_t type, unsigned *len, bool *ok)
{
	const uint8_t *found = NULL;

	while (at + 2 <= n) {
		unsigned l = m[at + 1] * 8u;

		if (!l || at + l > n) {
			*ok = false;
			return NULL;
		}
		if (m[at] == type && !found) {
			found = m + at;
			*len = l;
		}
		at += l;
	}
	return found;
}

static const uint8_t *link_option(const uint8_t *m, unsigned n, unsigned at, uint8_t type, bool *ok)
{
	unsigned len = 0;
	const uint8_t *o = option(m, n, at, type, &len, ok);

	return o && len == 8 ? o + 2 : NULL;
}

static void duplicate(struct netdev *dev, struct ifaddr *a)
{
	char text[46];

	if (!(atomic_load_explicit(&a->flags, memory_order_relaxed) & IFA_TENTATIVE))
		return;
	pr_warn("net: %s: %s is in use by another station", dev->name,
		addr_format(&a->addr, text, sizeof(text)));
	ifaddr_del(dev, &a->addr);
}

static void solicitation(struct pbuf *p, const uint8_t *m, unsigned n)
{
	struct netdev *dev = p->dev;
	struct ip_addr target;
	const uint8_t *mac;
	struct ifaddr *a;
	bool ok = true;

	if (n < 24)
		return;
	target = addr_from_v6(m + 8);
	mac = link_option(m, n, 24, OPT_SOURCE, &ok);
	if (!ok || addr_is_multicast(&target))
		return;
	a = ifaddr_find(dev, &target);
	if (!a)
		return;
	if (addr_is_any(&p->src)) {
		struct ip_addr group = solicited_node(&target);

		if (mac || !addr_equal(&p->dst, &group))
			return;
		if (atomic_load_explicit(&a->flags, memory_order_relaxed) & IFA_TENTATIVE)
			duplicate(dev, a);
		else
			advertise(dev, &target, &all_nodes, false);
		return;
	}
	if (atomic_load_explicit(&a->flags, memory_order_relaxed) & IFA_TENTATIVE)
		return;
	if (mac)
		neigh_heard(dev, &p->src, mac, NEIGH_OVERRIDE | NEIGH_CREATE);
	advertise(dev, &target, &p->src, true);
}

static void advertisement(struct pbuf *p, const uint8_t *m, unsigned n)
{
	struct ip_addr target;
	const uint8_t *mac;
	struct ifaddr *a;
	bool ok = true;

	if (n < 24)
		return;
	target = addr_from_v6(m + 8);
	mac = link_option(m, n, 24, OPT_TARGET, &ok);
	if (!ok || addr_is_multicast(&target) || (addr_is_multicast(&p->dst) && (m[4] & 0x40)))
		return;
	a = ifaddr_find(p->dev, &target);
	if (a) {
		duplicate(p->dev, a);
		return;
	}
	if (mac)
		neigh_heard(p->dev, &target, mac, (m[4] & 0x40 ? NEIGH_SOLICITED : 0) |
							  (m[4] & 0x20 ? NEIGH_OVERRIDE : 0));
}

static unsigned nr_auto(struct netdev *dev)
{
	const struct ifaddr *t = ifaddr_table();
	unsigned n = 0;

	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		if (atomic_load_explicit(&t[i].dev, memory_order_acquire) == dev && !addr_is_v4(&t[i].addr) &&
		    (atomic_load_explicit(&t[i].flags, memory_order_relaxed) & IFA_AUTO))
			n++;
	}
	return n;
}

static void prefix_option(struct netdev *dev, const uint8_t *o)
{
	uint32_t valid = get_be32(o + 4);
	struct ip_addr prefix = addr_from_v6(o + 16), a;
	uint64_t until = valid == FOREVER ? 0 : clock_ns() + valid * NSEC_PER_SEC;

	if (o[2] != 64 || !(o[3] & 0x40) || !valid || get_be32(o + 8) > valid ||
	    prefix_match(&prefix, &link_prefix, 10) || addr_is_multicast(&prefix) || addr_is_v4(&prefix))
		return;
	memset(&prefix.b[8], 0, 8);
	a = with_eui64(&prefix, dev->mac);
	if (ifaddr_find(dev, &a))
		ifaddr_add_full(dev, &a, 64, IFA_AUTO, until);
	else if (nr_auto(dev) < AUTO_MAX)
		nd_add_address(dev, &a, 64, IFA_AUTO, until);
}

static void router_advertisement(struct pbuf *p, const uint8_t *m, unsigned n)
{
	struct netdev *dev = p->dev;
	struct route_entry r = { .dst = ADDR_ANY6, .prefix = 0, .metric = ROUTER_METRIC, .dev = dev };
	uint16_t life;
	const uint8_t *o;
	bool ok = true;
	unsigned len;

	if (n < 16 || !prefix_match(&p->src, &link_prefix, 10))
		return;
	option(m, n, 16, 0, &len, &ok);
	if (!ok)
		return;
	for (unsigned i = 0; i < ND_DEVS; i++) {
		if (atomic_load_explicit(&asking[i].dev, memory_order_acquire) == dev)
			atomic_store_explicit(&asking[i].rs_left, 0, memory_order_relaxed);
	}
	o = link_option(m, n, 16, OPT_SOURCE, &ok);
	if (o)
		neigh_heard(dev, &p->src, o, NEIGH_OVERRIDE | NEIGH_CREATE);
	life = get_be16(m + 6);
	r.gw = p->src;
	if (life) {
		r.valid_until = clock_ns() + life * NSEC_PER_SEC;
		route_add(&r);
	} else {
		route_del(&r.dst, 0, &r.gw, dev);
	}
	for (unsigned at = 16; at + 8 <= n; at += m[at + 1] * 8u) {
		if (m[at] == OPT_PREFIX && m[at + 1] == 4)
			prefix_option(dev, m + at);
		if (m[at] == OPT_MTU && m[at + 1] == 1 && get_be32(m + at + 4) >= 1280 &&
		    get_be32(m + at + 4) < dev->mtu)
			dev->mtu = get_be32(m + at + 4);
	}
}

void nd_input(struct pbuf *p)
{
	uint8_t m[ND_MAX];
	unsigned head = p->end - p->th, n;

	if (!NETDEV_ETHER(p->dev) || p->head[p->th + 1] != 0)
		return;
	n = min(head, ND_MAX);
	memcpy(m, p->head + p->th, n);
	if (p->len && n < ND_MAX) {
		unsigned more = min(p->len, ND_MAX - n);

		pdata_copy_out(p->data, p->off, m + n, more);
		n += more;
	}
	if (p->ttl != 255) { /* only what is not forwarded can be neighbour discovery */
		mld_input(p, m, n);
		return;
	}
	switch (m[0]) {
	case ND_RA:
		router_advertisement(p, m, n);
		break;
	case ND_NS:
		solicitation(p, m, n);
		break;
	case ND_NA:
		advertisement(p, m, n);
		break;
	}
}
