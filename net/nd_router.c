/* SPDX-License-Identifier: MIT */
/*
 * IPv6 routers as a host sees them (RFC 4861 section 6.3): asking for them, what they
 * advertise, and redirects (section 8).
 *
 * Routers, their prefixes and redirects are entries of the table of routes with a
 * life time (route_entry.proto says whose they are; net/route.c bounds them).  Which
 * of several routers is used, and that an unreachable one is not, is decided there.
 * A router says something every few seconds (section 6.2.1).  Who has become one is heard
 * up to ten times a second; of all others together, on a link, as much.  A flood of
 * made-up routers costs no more than that, and does not drown the real ones.
 */
#include "net/nd.h"
#include "net/ip.h"
#include "net/rate.h"
#include "kernel/lock.h"
#include "kernel/timer.h"

#define RS_COUNT  3
#define RS_GAP    (4 * NSEC_PER_SEC)
#define RS_FIRST  (1300 * NSEC_PER_MSEC) /* when the link-local address is there */
#define ROUTER_METRIC 1024
#define PREFIX_METRIC 256
#define REACHABLE_MAX_MS 3600000u /* RFC 4861 section 6.2.1 */
#define RETRANS_MIN_MS   100u     /* a router that says less would have us flood the link */
#define RETRANS_MAX_MS   60000u

/* Who still has to ask for routers; touched by the timer, nd_router_start(), advertisements. */
#define ND_DEVS 8
static struct {
	_Atomic(struct netdev *) dev;
	_Atomic int rs_left;
	_Atomic uint64_t rs_at;
} asking[ND_DEVS];
static struct spinlock lock = SPINLOCK_INIT("nd_router"); /* setting the timer */
static struct timer timer;

static void solicit_routers(struct netdev *dev)
{
	uint8_t m[16] = { ND_RS };
	struct ip_addr src;

	if (!nd_link_local(dev, &src))
		return;
	m[8] = OPT_SOURCE;
	m[9] = 1;
	memcpy(m + 10, dev->mac, 6);
	nd_send(dev, &src, &nd_all_routers, m, 16, NULL);
}

static void tick_at(uint64_t when)
{
	spin_lock(&lock);
	if (!timer_pending(&timer) ||
	    (atomic_load_explicit(&timer.deadline, memory_order_relaxed) & ~1ULL) > when)
		timer_set(&timer, when);
	spin_unlock(&lock);
}

static void tick(struct timer *t)
{
	uint64_t now = clock_ns(), next = 0;

	(void)t;
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
		if (!next || at < next)
			next = at;
	}
	if (next)
		tick_at(next);
}

void nd_router_init(void)
{
	timer_init(&timer, tick);
}

void nd_router_start(struct netdev *dev)
{
	unsigned i;

	for (i = 0; i < ND_DEVS; i++) {
		struct netdev *d = atomic_load_explicit(&asking[i].dev, memory_order_relaxed);

		if (!d || d == dev)
			break;
	}
	if (i == ND_DEVS)
		return;
	atomic_store_explicit(&asking[i].rs_left, RS_COUNT, memory_order_relaxed);
	atomic_store_explicit(&asking[i].rs_at, clock_ns() + RS_FIRST, memory_order_relaxed);
	atomic_store_explicit(&asking[i].dev, dev, memory_order_release);
	tick_at(clock_ns() + RS_FIRST);
}

static uint64_t until(uint32_t seconds)
{
	return seconds == ND_FOREVER ? 0 : clock_ns() + seconds * NSEC_PER_SEC;
}

/*
 * Prefix information (RFC 4861 section 4.6.2): what is on the link, and what addresses
 * are made of.
 */
static void prefix_option(struct netdev *dev, const uint8_t *o)
{
	uint32_t valid = get_be32(o + 4), preferred = get_be32(o + 8);
	struct route_entry r = { .dst = addr_from_v6(o + 16), .gw = ADDR_ANY6, .prefix = o[2],
				 .metric = PREFIX_METRIC, .dev = dev, .proto = ROUTE_RA };

	if (o[2] > 128 || prefix_match(&r.dst, &nd_link_prefix, 10) || addr_is_multicast(&r.dst) ||
	    addr_is_v4(&r.dst))
		return;
	for (unsigned bit = o[2]; bit < 128; bit++)
		r.dst.b[bit / 8] &= (uint8_t)~(0x80 >> bit % 8);
	if ((o[3] & 0x80) && valid) { /* on the link */
		r.valid_until = until(valid);
		route_add(&r);
	} else if (o[3] & 0x80) {
		route_del(&r.dst, r.prefix, &r.gw, dev, ROUTE_RA);
	}
	if ((o[3] & 0x40) && o[2] == 64 && preferred <= valid)
		nd_addr_prefix(dev, &r.dst, valid, preferred);
}

static void parameters(struct netdev *dev, const uint8_t *m)
{
	uint32_t reachable = get_be32(m + 8), retrans = get_be32(m + 12);

	if (m[4])
		__atomic_store_n(&dev->hop_limit, m[4], __ATOMIC_RELAXED);
	if (reachable && reachable <= REACHABLE_MAX_MS)
		__atomic_store_n(&dev->reachable_ms, reachable, __ATOMIC_RELAXED);
	if (retrans)
		__atomic_store_n(&dev->retrans_ms,
				 min(max(retrans, RETRANS_MIN_MS), RETRANS_MAX_MS),
				 __ATOMIC_RELAXED);
}

static void default_router(struct netdev *dev, const struct ip_addr *router, uint16_t life)
{
	struct route_entry r = { .dst = ADDR_ANY6, .gw = *router, .metric = ROUTER_METRIC,
				 .dev = dev, .proto = ROUTE_RA };

	if (life) {
		r.valid_until = clock_ns() + life * NSEC_PER_SEC;
		route_add(&r);
	} else {
		route_del(&r.dst, 0, &r.gw, dev, ROUTE_RA);
	}
}

static struct rate of_routers = { .gap = 100 * NSEC_PER_MSEC, .burst = 20 };
static struct rate of_others = { .gap = 100 * NSEC_PER_MSEC, .burst = 20 };

/* May @dev listen to @router once more? */
static bool heard_not_too_often(struct netdev *dev, const struct ip_addr *router)
{
	struct ip_addr link = { .d = { dev->index } };

	if (route_is_router(dev, router) ? rate_ok(&of_routers, router)
					 : rate_ok(&of_others, &link))
		return true;
	net_count(nd_adverts_saved);
	return false;
}

void nd_router_advertisement(struct pbuf *p, const uint8_t *m, unsigned n)
{
	struct netdev *dev = p->dev;
	const uint8_t *o;
	bool ok = true;
	unsigned len;

	if (n < 16 || !prefix_match(&p->src, &nd_link_prefix, 10) || dev->no_autoconf)
		return;
	nd_option(m, n, 16, 0, &len, &ok);
	if (!ok || !heard_not_too_often(dev, &p->src))
		return;
	for (unsigned i = 0; i < ND_DEVS; i++) {
		if (atomic_load_explicit(&asking[i].dev, memory_order_acquire) == dev)
			atomic_store_explicit(&asking[i].rs_left, 0, memory_order_relaxed);
	}
	o = nd_link_option(m, n, 16, OPT_SOURCE, &ok);
	if (o)
		neigh_heard(dev, &p->src, o, NEIGH_OVERRIDE | NEIGH_CREATE);
	parameters(dev, m);
	default_router(dev, &p->src, get_be16(m + 6));
	for (unsigned at = 16; at + 8 <= n; at += m[at + 1] * 8u) {
		if (m[at] == OPT_PREFIX && m[at + 1] == 4)
			prefix_option(dev, m + at);
		if (m[at] == OPT_MTU && m[at + 1] == 1 && get_be32(m + at + 4) >= 1280 &&
		    get_be32(m + at + 4) <= dev->mtu && get_be32(m + at + 4) != dev->mtu6) {
			__atomic_store_n(&dev->mtu6, get_be32(m + at + 4), __ATOMIC_RELAXED);
			ip_path_changed();
		}
	}
}

void nd_router_gone(struct netdev *dev, const struct ip_addr *router)
{
	if (route_is_router(dev, router))
		default_router(dev, router, 0);
}

/* RFC 4861 section 8.1; that the sender is the way we use now, route_redirect() checks. */
void nd_router_redirect(struct pbuf *p, const uint8_t *m, unsigned n)
{
	struct ip_addr target, dst;
	const uint8_t *mac;
	bool ok = true;

	if (n < 40 || !prefix_match(&p->src, &nd_link_prefix, 10))
		return;
	target = addr_from_v6(m + 8);
	dst = addr_from_v6(m + 24);
	mac = nd_link_option(m, n, 40, OPT_TARGET, &ok);
	if (!ok || addr_is_multicast(&dst) ||
	    (!addr_equal(&target, &dst) && !prefix_match(&target, &nd_link_prefix, 10)))
		return;
	if (route_redirect(p->dev, &p->src, &dst, &target) && mac)
		neigh_heard(p->dev, &target, mac, NEIGH_OVERRIDE | NEIGH_CREATE);
}
