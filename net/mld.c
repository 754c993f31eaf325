/* SPDX-License-Identifier: MIT */
/*
 * Multicast listener discovery as a host (RFC 3810, and RFC 2710 for routers that know
 * no better): tells routers and switches which IPv6 groups this machine listens to, so
 * that solicited-node groups are forwarded to it.  When, net/group_report.c decides.
 */
#include "net/group_report.h"
#include "net/ip.h"
#include "net/mcast.h"
#include "net/nd.h"

#define MLD_QUERY   130
#define MLD1_REPORT 131
#define MLD1_DONE   132
#define MLD2_REPORT 143
#define IS_EXCLUDE  2 /* record types, with no source listed: everything, or nothing */
#define TO_INCLUDE  3
#define TO_EXCLUDE  4
#define RECORD      20u
#define REPORT_MAX  60u /* records in one report: one packet of 1280 bytes */

static const struct ip_addr all_mld2 = { .b = { 0xff, 2, [15] = 0x16 } };

struct report {
	struct ip_addr only;
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
static void send(struct netdev *dev, const uint8_t *m, unsigned n, const struct ip_addr *to)
{
	static const uint8_t alert[8] = { IPPROTO_ICMPV6, 0, 5, 2, 0, 0, 1, 0 };
	struct pbuf *p = pbuf_alloc(PBUF_RESERVE);
	uint16_t sum;

	if (!p)
		return;
	p->data = pdata_from_bytes(m + 8, n - 8);
	if (!p->data) {
		pbuf_free(p);
		return;
	}
	p->len = n - 8;
	p->dev = dev;
	p->dst = *to;
	if (!nd_link_local(dev, &p->src))
		p->src = ADDR_ANY6;
	p->th = p->start;
	p->proto = IPPROTO_ICMPV6;
	memcpy(pbuf_put(p, 8), m, 8);
	sum = pbuf_csum(p, IPPROTO_ICMPV6);
	memcpy(p->head + p->th + 2, &sum, 2);
	net_count(icmp_out);
	memcpy(pbuf_push(p, 8), alert, 8);
	ipv6_push_header(p, 0, 1, 0);
	dev->xmit(dev, p);
}

static void send_report(struct netdev *dev, struct report *r)
{
	if (!r->n)
		return;
	memset(r->m, 0, 8);
	r->m[0] = MLD2_REPORT;
	put_be16(r->m + 6, (uint16_t)r->n);
	send(dev, r->m, 8 + r->n * RECORD, &all_mld2);
}

/* Version 1 (RFC 2710): a message for each group. */
static void send_old(struct netdev *dev, uint8_t type, const uint8_t *group)
{
	struct ip_addr to = addr_from_v6(group);
	uint8_t m[24] = { type };

	memcpy(m + 8, group, 16);
	send(dev, m, sizeof(m), type == MLD1_DONE ? &nd_all_routers : &to);
}

/* All nodes, and groups of this machine's own, are never reported (RFC 3810 section 6). */
static bool reported(const struct ip_addr *group)
{
	return !addr_is_v4(group) && !addr_equal(group, &nd_all_nodes) && (group->b[1] & 15) > 1;
}

static void add_joined(const struct ip_addr *group, unsigned users, void *arg)
{
	struct report *r = arg;

	(void)users;
	if (reported(group) && (addr_is_any(&r->only) || addr_equal(&r->only, group)))
		put_record(r, IS_EXCLUDE, group);
}

static void state(struct netdev *dev, const struct ip_addr *only, unsigned version)
{
	struct report r = { .only = *only };

	nd_for_each_group(dev, add_joined, &r);
	mcast_for_each(dev, add_joined, &r);
	if (version == 2) {
		send_report(dev, &r);
		return;
	}
	for (unsigned i = 0; i < r.n; i++)
		send_old(dev, MLD1_REPORT, r.m + 8 + i * RECORD + 4);
}

static void change(struct netdev *dev, const struct ip_addr *group, bool joined, unsigned version)
{
	struct report r = { .n = 0 };

	if (version == 2) {
		put_record(&r, joined ? TO_EXCLUDE : TO_INCLUDE, group);
		send_report(dev, &r);
	} else {
		send_old(dev, joined ? MLD1_REPORT : MLD1_DONE, group->b);
	}
}

static struct group_reporter mld = { .newest = 2, .change = change, .state = state };

void mld_joined(struct netdev *dev, const struct ip_addr *group)
{
	if (reported(group))
		group_changed(&mld, dev, group, true);
}

void mld_left(struct netdev *dev, const struct ip_addr *group)
{
	if (reported(group))
		group_changed(&mld, dev, group, false);
}

void mld_input(struct pbuf *p, const uint8_t *m, unsigned n)
{
	struct ip_addr group;
	uint64_t ms;

	if (m[0] != MLD_QUERY || n < 24 || p->ttl != 1 ||
	    !prefix_match(&p->src, &nd_link_prefix, 10))
		return;
	ms = get_be16(m + 4);
	if (n >= 28 && ms >= 32768) /* floating point (RFC 3810 section 5.1.3) */
		ms = ((ms & 0xfff) | 0x1000) << (((ms >> 12) & 7) + 3);
	group = addr_from_v6(m + 8);
	group_queried(&mld, p->dev, &group, n >= 28 ? 2 : 1, ms * NSEC_PER_MSEC);
}

void mld_init(void)
{
	group_reporter_init(&mld, "mld");
}
