/* SPDX-License-Identifier: MIT */
/*
 * Multicast listener discovery, version 2, as a host (RFC 3810; RFC 9777): tells
 * routers and switches which IPv6 groups this machine listens to, so that
 * solicited-node groups are forwarded to it.
 *
 * A change is reported twice, RETRANSMIT_NS apart; a query is answered with the
 * whole state of the device after a random part of the time it allows.
 */
#include "net/ether.h"
#include "net/mcast.h"
#include "kernel/lock.h"
#include "kernel/timer.h"

#define MLD_QUERY   130
#define MLD2_REPORT 143
#define IS_EXCLUDE  2 /* record types, with no source listed: everything, or nothing */
#define TO_INCLUDE  3
#define TO_EXCLUDE  4
#define RECORD      20u
#define REPORT_MAX  60u /* records in one report: one packet of 1280 bytes */
#define RETRANSMIT_NS (1 * NSEC_PER_SEC)
#define MLD_DEVS    8

static const struct ip_addr all_mld2 = { .b = { 0xff, 2, [15] = 0x16 } };

/* When each device owes a report of its state. */
static struct spinlock mld_lock = SPINLOCK_INIT("mld"); /* protects owing and the timer's setting */
static struct {
	struct netdev *dev;
	uint64_t at; /* clock_ns; 0: nothing owed */
} owing[MLD_DEVS];
static struct timer mld_timer;
static bool timer_ready;

struct report {
	uint8_t m[8 + REPORT_MAX * RECORD];
	unsigned n;
};

static void put_record(struct report *r, uint8_t type, const struct ip_addr *group)
{
	uint8_t *at = r->m + 8 + r->n * RECORD;

	for (unsigned i = 0; i < r->n; i++) {
		if (!memcmp(r->m + 8 + i * RECORD + 4, group->b, 16))
			return;
	}
	if (r->n == REPORT_MAX)
		return;
	at[0] = type;
	at[1] = 0;
	put_be16(at + 2, 0);
	memcpy(at + 4, group->b, 16);
	r->n++;
}

/* Hop limit 1, router alert (RFC 2711); from the link-local address, or :: before there is one. */
static void send_report(struct netdev *dev, struct report *r)
{
	static const uint8_t alert[8] = { IPPROTO_ICMPV6, 0, 5, 2, 0, 0, 1, 0 };
	unsigned n = 8 + r->n * RECORD;
	struct pbuf *p;
	uint16_t sum;

	if (!r->n)
		return;
	p = pbuf_alloc(PBUF_RESERVE);
	if (!p)
		return;
	r->m[0] = MLD2_REPORT;
	memset(r->m + 1, 0, 5);
	put_be16(r->m + 6, (uint16_t)r->n);
	p->data = pdata_from_bytes(r->m + 8, n - 8);
	if (!p->data) {
		pbuf_free(p);
		return;
	}
	p->len = n - 8;
	p->dev = dev;
	p->dst = all_mld2;
	if (!nd_link_local(dev, &p->src))
		p->src = ADDR_ANY6;
	p->th = p->start;
	p->proto = IPPROTO_ICMPV6;
	memcpy(pbuf_put(p, 8), r->m, 8);
	sum = pbuf_csum(p, IPPROTO_ICMPV6);
	memcpy(p->head + p->th + 2, &sum, 2);
	net_count(icmp_out);
	memcpy(pbuf_push(p, 8), alert, 8);
	ipv6_push_header(p, 0, 1, 0);
	dev->xmit(dev, p);
}

static void add_joined(const struct ip_addr *group, unsigned users, void *arg)
{
	(void)users;
	if (!addr_is_v4(group))
		put_record(arg, IS_EXCLUDE, group);
}

static void report_state(struct netdev *dev)
{
	struct report r = { .n = 0 };

	nd_for_each_group(dev, add_joined, &r);
	mcast_for_each(dev, add_joined, &r);
	send_report(dev, &r);
}

static void tick(struct timer *t)
{
	struct netdev *due[MLD_DEVS];
	uint64_t now = clock_ns(), next = 0;
	unsigned n = 0;

	spin_lock(&mld_lock);
	for (unsigned i = 0; i < MLD_DEVS; i++) {
		if (!owing[i].at)
			continue;
		if (owing[i].at <= now) {
			due[n++] = owing[i].dev;
			owing[i].at = 0;
		} else if (!next || owing[i].at < next) {
			next = owing[i].at;
		}
	}
	if (next)
		timer_set(t, next);
	spin_unlock(&mld_lock);
	for (unsigned i = 0; i < n; i++)
		report_state(due[i]);
}

/* @dev reports its state at @at, or earlier if it owes a report already. */
static void owe(struct netdev *dev, uint64_t at)
{
	unsigned i;

	spin_lock(&mld_lock);
	if (!timer_ready) {
		timer_init(&mld_timer, tick);
		timer_ready = true;
	}
	for (i = 0; i < MLD_DEVS && owing[i].dev && owing[i].dev != dev; i++)
		;
	if (i < MLD_DEVS) {
		owing[i].dev = dev;
		if (!owing[i].at || at < owing[i].at) {
			owing[i].at = at;
			timer_set(&mld_timer, at);
		}
	}
	spin_unlock(&mld_lock);
}

void mld_joined(struct netdev *dev, const struct ip_addr *group)
{
	struct report r = { .n = 0 };

	put_record(&r, TO_EXCLUDE, group);
	send_report(dev, &r);
	owe(dev, clock_ns() + RETRANSMIT_NS);
}

void mld_left(struct netdev *dev, const struct ip_addr *group)
{
	struct report r = { .n = 0 };

	put_record(&r, TO_INCLUDE, group);
	send_report(dev, &r);
}

void mld_input(struct pbuf *p, const uint8_t *m, unsigned n)
{
	static const struct ip_addr link = { .b = { 0xfe, 0x80 } };
	uint64_t ms;

	if (m[0] != MLD_QUERY || n < 24 || p->ttl != 1 || !prefix_match(&p->src, &link, 10))
		return;
	ms = get_be16(m + 4);
	if (n >= 28 && ms >= 32768) /* floating point (RFC 3810 section 5.1.3) */
		ms = ((ms & 0xfff) | 0x1000) << (((ms >> 12) & 7) + 3);
	owe(p->dev, clock_ns() + NSEC_PER_MSEC * (1 + net_random() % (uint32_t)max(ms, 1ULL)));
}
