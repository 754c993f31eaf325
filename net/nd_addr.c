/* SPDX-License-Identifier: MIT */
/*
 * This machine's IPv6 addresses: duplicate detection and life times (RFC 4862),
 * and temporary addresses beside the stable ones (RFC 8981).
 *
 * What:      an address is tentative until a second without an objection has passed;
 *            when its preferred time is over it is deprecated, not chosen for new
 *            talks; when its valid time is over it goes.  A temporary address is
 *            followed by another a little before it is deprecated.
 * Bounds:    AUTO_MAX addresses of routers' prefixes a device.
 * Locks:     nd_lock over setting the timer.  What the timer changes in an address
 *            (dad_until, flags) only it changes; life times are the address table's.
 */
#include "net/nd.h"
#include "net/mcast.h"
#include "kernel/errno.h"
#include "kernel/lock.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/timer.h"

#define DAD_NS      (1 * NSEC_PER_SEC)
#define AUTO_MAX    12u
#define TRIES       3u   /* other identifiers after a duplicate (RFC 7217, RFC 8981) */
#define TWO_HOURS   7200u
#define COMPLAIN_NS (10 * NSEC_PER_SEC) /* between two complaints about a duplicate */
#define REGEN_S     5u   /* so long before its end a temporary address gets a successor */

static unsigned use_temporary;
PARAM_UINT("net.tempaddr", use_temporary, 0, 2, PARAM_RW,
	   "temporary IPv6 addresses: 0 none, 1 made, 2 made and preferred");
static unsigned temp_preferred = 86400, temp_valid = 172800;
PARAM_UINT("net.tempaddr_preferred", temp_preferred, 10, 31536000, PARAM_RW,
	   "seconds that a temporary address is used for new talks, at most");
PARAM_UINT("net.tempaddr_valid", temp_valid, 10, 31536000, PARAM_RW,
	   "seconds that a temporary address exists, at most");

static struct spinlock nd_lock = SPINLOCK_INIT("nd_addr");
static struct timer timer;

static unsigned param(const unsigned *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static unsigned flags_of(const struct ifaddr *a)
{
	return atomic_load_explicit(&a->flags, memory_order_relaxed);
}

static struct netdev *dev_of(const struct ifaddr *a)
{
	return atomic_load_explicit(&a->dev, memory_order_acquire);
}

static void sooner(uint64_t *next, uint64_t t)
{
	if (!*next || t < *next)
		*next = t;
}

static void tick_at(uint64_t when)
{
	spin_lock(&nd_lock);
	if (!timer_pending(&timer) ||
	    (atomic_load_explicit(&timer.deadline, memory_order_relaxed) & ~1ULL) > when)
		timer_set(&timer, when);
	spin_unlock(&nd_lock);
}

static uint64_t until(uint32_t seconds)
{
	return seconds == ND_FOREVER ? 0 : clock_ns() + seconds * NSEC_PER_SEC;
}

static void end_address(struct netdev *dev, struct ifaddr *a)
{
	struct ip_addr gone = a->addr, group = nd_solicited_node(&gone);

	if (ifaddr_del(dev, &gone) && !nd_wants(dev, &group))
		mld_left(dev, &group);
}

/* The prefix of an address that a router's prefix brought. */
static struct ip_addr prefix_of(const struct ifaddr *a)
{
	struct ip_addr p = a->addr;

	memset(&p.b[8], 0, 8);
	return p;
}

/* A temporary address beside @stable; its times are the shorter ones (RFC 8981 section 3.3). */
static void add_temporary(struct netdev *dev, const struct ifaddr *stable)
{
	uint64_t now = clock_ns(), valid = now + param(&temp_valid) * NSEC_PER_SEC, preferred;
	uint32_t want = param(&temp_preferred);
	struct ip_addr prefix = prefix_of(stable), a = nd_random_address(dev, &prefix);

	want -= net_random() % (want * 2 / 5 + 1); /* not all at the same moment */
	preferred = now + want * NSEC_PER_SEC;
	if (stable->valid_until)
		valid = min(valid, stable->valid_until);
	if (stable->preferred_until)
		preferred = min(preferred, stable->preferred_until);
	preferred = min(preferred, valid);
	if (preferred <= now + REGEN_S * NSEC_PER_SEC)
		return;
	nd_add_address(dev, &a, 64, IFA_AUTO | IFA_TEMPORARY | IFA_OFFLINK, valid, preferred);
}

/* Is there a temporary address of @stable's prefix that will do for longer than REGEN_S? */
static bool has_temporary(struct netdev *dev, const struct ifaddr *stable)
{
	const struct ifaddr *t = ifaddr_table();
	uint64_t soon = clock_ns() + REGEN_S * NSEC_PER_SEC;

	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		if (dev_of(&t[i]) == dev && (flags_of(&t[i]) & IFA_TEMPORARY) &&
		    prefix_match(&t[i].addr, &stable->addr, 64) && t[i].preferred_until > soon)
			return true;
	}
	return false;
}

static unsigned nr_auto(struct netdev *dev)
{
	const struct ifaddr *t = ifaddr_table();
	unsigned n = 0;

	for (unsigned i = 0; i < NR_IFADDRS; i++)
		n += dev_of(&t[i]) == dev && !addr_is_v4(&t[i].addr) &&
		     (flags_of(&t[i]) & IFA_AUTO);
	return n;
}

static void want_temporary(struct netdev *dev, const struct ifaddr *stable)
{
	if (param(&use_temporary) && (flags_of(stable) & IFA_AUTO) &&
	    !(flags_of(stable) & (IFA_TEMPORARY | IFA_TENTATIVE)) && !has_temporary(dev, stable) &&
	    nr_auto(dev) < AUTO_MAX)
		add_temporary(dev, stable);
}

/* One address's turn; the next moment to look goes into *next. */
static void look(struct netdev *dev, struct ifaddr *a, uint64_t now, uint64_t *next)
{
	unsigned old = flags_of(a);

	if (a->valid_until && now >= a->valid_until) {
		end_address(dev, a);
		return;
	}
	if (a->valid_until)
		sooner(next, a->valid_until);
	if (a->preferred_until && now >= a->preferred_until) {
		if (!(atomic_fetch_or_explicit(&a->flags, IFA_DEPRECATED, memory_order_relaxed) &
		      IFA_DEPRECATED))
			ifaddr_changed(dev, a);
	} else {
		atomic_fetch_and_explicit(&a->flags, ~IFA_DEPRECATED, memory_order_relaxed);
		if (a->preferred_until)
			sooner(next, old & IFA_TEMPORARY
					     ? max(a->preferred_until - REGEN_S * NSEC_PER_SEC,
						   now + NSEC_PER_SEC)
					     : a->preferred_until);
	}
	if (old & IFA_TENTATIVE) {
		if (!a->dad_until) {
			nd_solicit(dev, NULL, &a->addr, NULL);
			a->dad_until = now + DAD_NS;
		}
		if (now < a->dad_until) {
			sooner(next, a->dad_until);
			return;
		}
		atomic_fetch_and_explicit(&a->flags, ~IFA_TENTATIVE, memory_order_release);
		nd_advertise(dev, &a->addr, &nd_all_nodes, false);
		ifaddr_changed(dev, a);
	}
	want_temporary(dev, a);
}

static void tick(struct timer *t)
{
	struct ifaddr *table = (struct ifaddr *)ifaddr_table();
	uint64_t now = clock_ns(), next = 0;

	(void)t;
	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		struct netdev *dev = dev_of(&table[i]);

		if (dev && !addr_is_v4(&table[i].addr))
			look(dev, &table[i], now, &next);
	}
	if (next)
		tick_at(next);
}

void nd_add_address(struct netdev *dev, const struct ip_addr *a, unsigned prefix, unsigned flags,
		    uint64_t valid_until, uint64_t preferred_until)
{
	struct ip_addr group = nd_solicited_node(a);

	if (!NETDEV_ETHER(dev) ||
	    ifaddr_add_full(dev, a, prefix, flags | IFA_TENTATIVE, valid_until, preferred_until))
		return;
	/* Before the question, whose answer comes by this group (RFC 4862 section 5.4.2). */
	mld_joined(dev, &group);
	tick_at(clock_ns() + NSEC_PER_MSEC * (net_random() % 100));
}

/*
 * How long an address that exists stays valid, after a router has said @valid_s (RFC
 * 4862 5.5.3 e).
 */
static uint64_t new_valid(const struct ifaddr *a, uint32_t valid_s)
{
	uint64_t now = clock_ns(), left = !a->valid_until ? UINT64_MAX :
					  a->valid_until > now ? a->valid_until - now : 0;

	if (valid_s > TWO_HOURS || valid_s * NSEC_PER_SEC > left)
		return until(valid_s);
	if (left <= TWO_HOURS * NSEC_PER_SEC)
		return a->valid_until;
	return now + TWO_HOURS * NSEC_PER_SEC;
}

/* Addresses of @prefix that a router brought earlier get new life times.  False: there is none. */
static bool renew(struct netdev *dev, const struct ip_addr *prefix, uint32_t valid_s,
		  uint32_t preferred_s)
{
	const struct ifaddr *t = ifaddr_table();
	bool found = false;

	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		const struct ifaddr *a = &t[i];
		uint64_t valid, preferred = until(preferred_s);

		if (dev_of(a) != dev || !(flags_of(a) & IFA_AUTO) || addr_is_v4(&a->addr) ||
		    !prefix_match(&a->addr, prefix, 64))
			continue;
		valid = new_valid(a, valid_s);
		if (flags_of(a) & IFA_TEMPORARY) { /* never longer than when it was made */
			valid = valid ? min(valid, a->valid_until) : a->valid_until;
			preferred = preferred ? min(preferred, a->preferred_until) :
						a->preferred_until;
		} else {
			found = true;
		}
		ifaddr_add_full(dev, &a->addr, 64, flags_of(a), valid, preferred);
	}
	return found;
}

void nd_addr_prefix(struct netdev *dev, const struct ip_addr *prefix, uint32_t valid_s,
		    uint32_t preferred_s)
{
	struct ip_addr a;

	if (!renew(dev, prefix, valid_s, preferred_s) && valid_s && nr_auto(dev) < AUTO_MAX) {
		a = nd_stable_address(dev, prefix, 0);
		nd_add_address(dev, &a, 64, IFA_AUTO | IFA_OFFLINK, until(valid_s),
			       until(preferred_s));
	}
	tick_at(clock_ns() + NSEC_PER_MSEC * (net_random() % 100));
}

/* Another identifier for an address that somebody else has; false: that was the last. */
static bool another(struct netdev *dev, const struct ifaddr *a)
{
	struct ip_addr prefix = prefix_of(a), next;
	unsigned tries;

	if (flags_of(a) & IFA_TEMPORARY)
		return true; /* the stable one asks for one again */
	if (!nd_has_secret() || !((flags_of(a) & IFA_AUTO) || addr_is_link_local(&a->addr)))
		return false;
	for (tries = 0; tries < TRIES; tries++) {
		next = nd_stable_address(dev, &prefix, tries);
		if (addr_equal(&next, &a->addr))
			break;
	}
	if (tries >= TRIES - 1)
		return false;
	next = nd_stable_address(dev, &prefix, tries + 1);
	nd_add_address(dev, &next, 64, flags_of(a) & ~IFA_TENTATIVE, a->valid_until,
		       a->preferred_until);
	return true;
}

/* Somebody may contest every address we take: that is told of now and then. */
static bool may_complain(void)
{
	static _Atomic uint64_t last;
	uint64_t now = clock_ns(), was = atomic_load_explicit(&last, memory_order_relaxed);

	return (!was || now - was >= COMPLAIN_NS) &&
	       atomic_compare_exchange_strong_explicit(&last, &was, now, memory_order_relaxed,
						       memory_order_relaxed);
}

void nd_addr_duplicate(struct netdev *dev, struct ifaddr *a)
{
	struct ifaddr was;
	char text[46];

	if (!(flags_of(a) & IFA_TENTATIVE))
		return;
	was = *a;
	if (may_complain())
		pr_warn("net: %s: %s is in use by another station", dev->name,
			addr_format(&a->addr, text, sizeof(text)));
	end_address(dev, a);
	if (!another(dev, &was) && addr_is_link_local(&was.addr)) {
		/* RFC 4862 section 5.4.5: another station may have the same hardware address. */
		pr_warn("net: %s: addresses are not taken from routers", dev->name);
		dev->no_autoconf = true;
	}
}

void nd_addr_init(void)
{
	timer_init(&timer, tick);
}

void nd_addr_start(struct netdev *dev)
{
	struct ip_addr a = nd_stable_address(dev, &nd_link_prefix, 0);

	dev->no_autoconf = false;
	nd_add_address(dev, &a, 64, 0, 0, 0);
	tick_at(clock_ns());
}

bool nd_prefers_temporary(void)
{
	return param(&use_temporary) == 2;
}
