/* SPDX-License-Identifier: MIT */
/*
 * DHCP for IPv4 (RFC 2131): one kernel thread per device that asks.
 *
 * Messages are built and read here, below the sockets, since the device has no
 * address yet.  Every wait is bounded: 1, 2, 4 … 16 seconds between questions,
 * then once a minute.
 */
#include "net/ether.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/lock.h"
#include "kernel/wait.h"
#include "mm/slab.h"

#define DHCP_LEN   300u /* smallest message that every server takes */
#define DHCP_MAX   1024u
#define LEASE_LEAST 10u   /* seconds: what a server lends for less is asked for no sooner */
#define MAGIC      0x63825363u
#define OPT_MASK   1
#define OPT_ROUTER 3
#define OPT_DNS    6
#define OPT_DOMAIN 15
#define OPT_MTU    26
#define OPT_REQUESTED 50
#define OPT_LEASE  51
#define OPT_TYPE   53
#define OPT_SERVER 54
#define OPT_PARAMS 55
#define OPT_T1     58
#define OPT_T2     59
#define OPT_CLIENT 61
enum { DISCOVER = 1, OFFER, REQUEST, DECLINE, ACK, NAK };

struct lease {
	uint8_t type;
	struct ip_addr addr, server, router, dns[3];
	unsigned nr_dns, prefix, mtu;
	uint32_t lease, t1, t2; /* seconds */
	char domain[64];
};

struct dhcp {
	struct netdev *dev;
	struct spinlock lock;      /* protects answer */
	_Atomic uint32_t xid;      /* of the question that waits; 0: none */
	_Atomic bool answered;
	struct lease answer;
	struct thread *thread;
	_Atomic bool link_up;      /* the link has come back since the thread last looked */
	struct lease bound;
	struct dhcp *next;
};
static _Atomic(struct dhcp *) clients;

/* Reads a message of @n bytes.  False: not for us, malformed. */
static bool parse(const uint8_t *m, unsigned n, const struct netdev *dev, struct lease *l)
{
	unsigned at = 240;

	memset(l, 0, sizeof(*l));
	if (n < 241 || m[0] != 2 || m[1] != 1 || m[2] != 6 || memcmp(m + 28, dev->mac, 6) ||
	    get_be32(m + 236) != MAGIC)
		return false;
	l->addr = addr_from_v4(m + 16);
	while (at < n && m[at] != 255) {
		uint8_t type = m[at], len;
		const uint8_t *v;

		if (!type) {
			at++;
			continue;
		}
		if (at + 2 > n || at + 2 + m[at + 1] > n)
			return false;
		len = m[at + 1];
		v = m + at + 2;
		at += 2 + len;
		if (type == OPT_TYPE && len == 1)
			l->type = v[0];
		else if (type == OPT_MASK && len == 4)
			l->prefix =
				96 + (get_be32(v) ? 32 - (unsigned)__builtin_ctz(get_be32(v)) : 0);
		else if (type == OPT_ROUTER && len >= 4)
			l->router = addr_from_v4(v);
		else if (type == OPT_SERVER && len == 4)
			l->server = addr_from_v4(v);
		else if (type == OPT_LEASE && len == 4)
			l->lease = get_be32(v);
		else if (type == OPT_T1 && len == 4)
			l->t1 = get_be32(v);
		else if (type == OPT_T2 && len == 4)
			l->t2 = get_be32(v);
		else if (type == OPT_MTU && len == 2)
			l->mtu = get_be16(v);
		else if (type == OPT_DOMAIN && len < sizeof(l->domain))
			memcpy(l->domain, v, len);
		for (unsigned i = 0; type == OPT_DNS && i + 4 <= len && l->nr_dns < 3; i += 4)
			l->dns[l->nr_dns++] = addr_from_v4(v + i);
	}
	/* It goes into a text file. */
	for (char *c = l->domain; *c; c++) {
		if (!((*c | 32) >= 'a' && (*c | 32) <= 'z') && !(*c >= '0' && *c <= '9') &&
		    *c != '.' && *c != '-')
			*c = 0;
	}
	return l->type != 0;
}

bool dhcp_input(struct pbuf *p)
{
	const uint8_t *h = p->head + p->th;
	uint8_t m[DHCP_MAX];
	struct dhcp *d;
	struct lease l;
	unsigned n;

	if (p->proto != IPPROTO_UDP || p->end - p->th < 8 || get_be16(h + 2) != 68 ||
	    get_be16(h) != 67)
		return false;
	for (d = atomic_load_explicit(&clients, memory_order_acquire); d && d->dev != p->dev;
	     d = d->next)
		;
	if (!d)
		return false;
	if (get_be16(h + 6) && !(p->flags & PB_CSUM_OK) && pbuf_csum(p, IPPROTO_UDP))
		goto out;
	n = min(p->end - p->th - 8u, DHCP_MAX);
	memcpy(m, h + 8, n);
	if (p->len && n < DHCP_MAX) {
		unsigned more = min(p->len, DHCP_MAX - n);

		pdata_copy_out(p->data, p->off, m + n, more);
		n += more;
	}
	if (n < 240 || get_be32(m + 4) != atomic_load_explicit(&d->xid, memory_order_acquire) ||
	    !get_be32(m + 4) || !parse(m, n, d->dev, &l))
		goto out;
	spin_lock(&d->lock);
	if (!atomic_load_explicit(&d->answered, memory_order_relaxed)) {
		d->answer = l;
		atomic_store_explicit(&d->answered, true, memory_order_release);
	}
	spin_unlock(&d->lock);
	thread_wake(d->thread);
out:
	pbuf_free(p);
	return true;
}

static uint8_t *put_option(uint8_t *o, uint8_t type, const void *v, uint8_t n)
{
	o[0] = type;
	o[1] = n;
	memcpy(o + 2, v, n);
	return o + 2 + n;
}

/* @type about the address @l (NULL: none yet); @renew: to the server, from our address. */
static void send(struct dhcp *d, uint8_t type, const struct lease *l, bool renew)
{
	static const uint8_t wanted[] = { OPT_MASK, OPT_ROUTER, OPT_DNS, OPT_DOMAIN,
					  OPT_MTU,  OPT_LEASE,	OPT_T1,	 OPT_T2 };
	uint8_t m[DHCP_LEN], id[7] = { 1 }, *o = m + 240, *h;
	struct pbuf *p = pbuf_alloc(56);
	uint16_t sum;

	if (!p)
		return;
	memset(m, 0, sizeof(m));
	m[0] = 1;
	m[1] = 1;
	m[2] = 6;
	put_be32(m + 4, atomic_load_explicit(&d->xid, memory_order_relaxed));
	if (renew)
		memcpy(m + 12, &l->addr.b[12], 4);
	memcpy(m + 28, d->dev->mac, 6);
	memcpy(id + 1, d->dev->mac, 6);
	put_be32(m + 236, MAGIC);
	o = put_option(o, OPT_TYPE, &type, 1);
	o = put_option(o, OPT_CLIENT, id, 7);
	if (l && !renew) {
		o = put_option(o, OPT_REQUESTED, &l->addr.b[12], 4);
		o = put_option(o, OPT_SERVER, &l->server.b[12], 4);
	}
	if (type != DECLINE)
		o = put_option(o, OPT_PARAMS, wanted, sizeof(wanted));
	*o = 255;
	p->data = pdata_from_bytes(m, sizeof(m));
	if (!p->data) {
		pbuf_free(p);
		return;
	}
	p->len = sizeof(m);
	p->dev = d->dev;
	p->src = renew ? l->addr : addr_from_v4("\0\0\0\0");
	p->dst = addr_from_v4("\xff\xff\xff\xff");
	p->th = p->start;
	p->proto = IPPROTO_UDP;
	h = pbuf_put(p, 8);
	put_be16(h, 68);
	put_be16(h + 2, 67);
	put_be16(h + 4, sizeof(m) + 8);
	put_be16(h + 6, 0);
	sum = pbuf_csum(p, IPPROTO_UDP);
	if (!sum)
		sum = 0xffff;
	memcpy(h + 6, &sum, 2);
	ipv4_push_header(p, IPPROTO_UDP, 64, 0);
	ether_send(d->dev, p, ether_broadcast, ETHER_IPV4);
}

/* Has the link come back?  @seen: and it is being looked after. */
static bool link_came(struct dhcp *d, bool seen)
{
	return seen ? atomic_exchange_explicit(&d->link_up, false, memory_order_acq_rel)
		    : atomic_load_explicit(&d->link_up, memory_order_acquire);
}

void dhcp_link_up(struct netdev *dev)
{
	for (struct dhcp *d = atomic_load_explicit(&clients, memory_order_acquire); d;
	     d = d->next) {
		if (d->dev != dev)
			continue;
		atomic_store_explicit(&d->link_up, true, memory_order_release);
		thread_wake(d->thread);
	}
}

/* Sends and waits until @deadline for an answer of the types in @mask. */
static bool ask(struct dhcp *d, uint8_t type, const struct lease *l, bool renew, uint64_t wait,
		unsigned mask, struct lease *out)
{
	uint64_t deadline = clock_ns() + wait;
	bool got = false;

	atomic_store_explicit(&d->answered, false, memory_order_relaxed);
	atomic_store_explicit(&d->xid, net_random() | 1, memory_order_release);
	send(d, type, l, renew);
	while (!got && clock_ns() < deadline && !link_came(d, false)) {
		thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
		if (!atomic_load_explicit(&d->answered, memory_order_acquire) &&
		    !link_came(d, false))
			schedule_until(deadline);
		thread_finish_sleep();
		if (!atomic_load_explicit(&d->answered, memory_order_acquire))
			continue;
		spin_lock(&d->lock);
		*out = d->answer;
		atomic_store_explicit(&d->answered, false, memory_order_relaxed);
		spin_unlock(&d->lock);
		got = (mask >> out->type & 1) != 0;
	}
	atomic_store_explicit(&d->xid, 0, memory_order_release);
	return got;
}

static void default_route(struct dhcp *d, bool add)
{
	struct route_entry r = { .dst = addr_from_v4("\0\0\0\0"), .prefix = 96, .dev = d->dev,
				 .gw = d->bound.router, .proto = ROUTE_BOOT };

	if (addr_is_any(&r.gw))
		return;
	if (add)
		route_add(&r);
	else
		route_del(&r.dst, 96, &r.gw, d->dev, 0);
}

static void configure(struct dhcp *d)
{
	const struct lease *l = &d->bound;
	const uint8_t *b = &l->addr.b[12], *g = &l->router.b[12];

	ifaddr_add_full(d->dev, &l->addr, l->prefix, IFA_AUTO, 0, 0);
	if (l->mtu >= 576 && l->mtu < d->dev->mtu) {
		d->dev->mtu = l->mtu;
		ip_path_changed();
	}
	default_route(d, true);
	net_set_dns(l->dns, l->nr_dns, l->domain);
	arp_announce(d->dev, &l->addr);
	pr_info("net: %s: %u.%u.%u.%u/%u, router %u.%u.%u.%u, lease %u s", d->dev->name, b[0], b[1],
		b[2], b[3], l->prefix - 96, g[0], g[1], g[2], g[3], l->lease);
}

static void unconfigure(struct dhcp *d)
{
	default_route(d, false);
	ifaddr_del(d->dev, &d->bound.addr);
}

/* Until @s seconds after @from, or until the link comes back. */
static void sleep_s(struct dhcp *d, uint64_t from, uint32_t s)
{
	uint64_t until = from + s * NSEC_PER_SEC;

	while (clock_ns() < until && !link_came(d, false)) {
		thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
		if (!link_came(d, false))
			schedule_until(until);
		thread_finish_sleep();
	}
}

/* DISCOVER … ACK; tries for ever, more and more seldom. */
static void acquire(struct dhcp *d)
{
	for (unsigned try = 0;; try++) {
		uint64_t wait = try < 5 ? NSEC_PER_SEC << try : 60 * NSEC_PER_SEC;
		struct lease offer, l;

		if (link_came(d, true)) {
			try = 0;
			wait = NSEC_PER_SEC;
		}
		if (!d->dev->up) {
			sleep_s(d, clock_ns(), 1);
			continue;
		}
		if (!ask(d, DISCOVER, NULL, false, wait, 1u << OFFER, &offer))
			continue;
		if (addr_is_any(&offer.addr) || addr_is_multicast(&offer.addr) ||
		    addr_is_loopback(&offer.addr))
			continue;
		if (!ask(d, REQUEST, &offer, false, 4 * NSEC_PER_SEC, 1u << ACK | 1u << NAK, &l) ||
		    l.type != ACK)
			continue;
		if (l.prefix < 97)
			l.prefix = 120;
		if (!l.lease)
			l.lease = 3600;
		l.lease = max(l.lease, LEASE_LEAST);
		if (!l.t1 || l.t1 >= l.lease)
			l.t1 = l.lease / 2;
		if (l.t2 <= l.t1 || l.t2 >= l.lease)
			l.t2 = (uint32_t)((uint64_t)l.lease * 7 / 8);
		/* Does somebody have it already? (RFC 2131 section 2.2) */
		arp_conflict(&l.addr, true);
		arp_request(d->dev, NULL, &l.addr, NULL);
		thread_sleep_until(clock_ns() + 50 * NSEC_PER_MSEC, false);
		if (arp_conflict(&l.addr, false)) {
			pr_warn("net: %s: the offered address is in use, declined", d->dev->name);
			send(d, DECLINE, &l, false);
			thread_sleep_until(clock_ns() + 10 * NSEC_PER_SEC, false);
			continue;
		}
		d->bound = l;
		return;
	}
}

/* Keeps the lease as long as a server says so; returns when it is lost. */
static void hold(struct dhcp *d)
{
	for (;;) {
		uint64_t from = clock_ns(), end = from + d->bound.lease * NSEC_PER_SEC;
		struct lease l = { 0 };

		if (d->bound.lease == 0xffffffffu)
			sleep_s(d, from, 0x7fffffff);
		for (;;) {
			sleep_s(d, from, d->bound.t1);
			if (!link_came(d, true))
				break;
			/*
			 * Is this still the network that the lease is from?  Without an
			 * answer it stays ours (RFC 2131 section 3.2).
			 */
			if (ask(d, REQUEST, &d->bound, true, 4 * NSEC_PER_SEC,
				1u << ACK | 1u << NAK, &l))
				break;
		}
		while (!l.type && clock_ns() < end) {
			uint64_t wait = max((end - clock_ns()) / 4, NSEC_PER_SEC);

			link_came(d, true); /* it is asked anyway */
			if (ask(d, REQUEST, &d->bound, true, min(wait, 60 * NSEC_PER_SEC),
				1u << ACK | 1u << NAK, &l))
				break;
		}
		if (l.type != ACK || !addr_equal(&l.addr, &d->bound.addr)) {
			pr_warn("net: %s: the lease has ended", d->dev->name);
			unconfigure(d);
			return;
		}
		if (l.lease)
			d->bound.lease = max(l.lease, LEASE_LEAST);
		d->bound.t1 = d->bound.lease / 2;
	}
}

static void dhcp_thread(void *arg)
{
	struct dhcp *d = arg;

	for (;;) {
		uint64_t from;

		acquire(d);
		from = clock_ns();
		configure(d);
		hold(d);
		/*
		 * A server that takes back what it gives has not more of us than one
		 * that gives little.
		 */
		sleep_s(d, from, LEASE_LEAST);
	}
}

int dhcp_start(struct netdev *dev)
{
	struct dhcp *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return -ENOMEM;
	d->dev = dev;
	spin_init(&d->lock, "dhcp");
	d->thread = thread_create("dhcp", dhcp_thread, d, -1);
	if (IS_ERR(d->thread)) {
		kfree(d);
		return -ENOMEM;
	}
	d->next = atomic_load_explicit(&clients, memory_order_relaxed);
	atomic_store_explicit(&clients, d, memory_order_release);
	thread_start(d->thread);
	return 0;
}
