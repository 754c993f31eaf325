/* SPDX-License-Identifier: MIT */
/*
 * Group membership reports for IPv4, as a host (RFC 3376, and RFC 2236 and 1112 for
 * routers that know no better): tells routers and switches which groups programs
 * listen to.  When, net/group_report.c decides.
 */
#include "net/group_report.h"
#include "net/ip.h"
#include "net/mcast.h"

#define IGMP_QUERY   0x11
#define IGMP1_REPORT 0x12
#define IGMP2_REPORT 0x16
#define IGMP2_LEAVE  0x17
#define IGMP3_REPORT 0x22
#define IS_EXCLUDE   2 /* record types, with no source listed: everything, or nothing */
#define TO_INCLUDE   3
#define TO_EXCLUDE   4
#define RECORD       8u
#define REPORT_MAX   64u /* records in one report */

static const uint8_t all_igmp3[4] = { 224, 0, 0, 22 }, all_routers[4] = { 224, 0, 0, 2 };

struct report {
	struct ip_addr only;
	unsigned n;
	uint8_t m[8 + REPORT_MAX * RECORD];
};

/* Time to live 1, with the router alert option (RFC 2113); completes the checksum of @m. */
static void send(struct netdev *dev, uint8_t *m, unsigned n, const uint8_t *to)
{
	static const uint8_t alert[4] = { 0x94, 4, 0, 0 };
	struct pbuf *p = pbuf_alloc(PBUF_RESERVE + 4);
	uint16_t sum = csum_fold(csum_add(0, m, n, false));
	uint8_t *h;

	if (!p)
		return;
	memcpy(m + 2, &sum, 2);
	p->dev = dev;
	p->dst = addr_from_v4(to);
	if (!route_source(dev, &p->dst, &p->src))
		p->src = addr_from_v4("\0\0\0\0");
	p->th = p->start;
	p->proto = IPPROTO_IGMP;
	memcpy(pbuf_put(p, 8), m, 8);
	if (n > 8) {
		p->data = pdata_from_bytes(m + 8, n - 8);
		p->len = n - 8;
		if (!p->data) {
			pbuf_free(p);
			return;
		}
	}
	memcpy(pbuf_push(p, 4), alert, 4);
	ipv4_push_header(p, IPPROTO_IGMP, 1, 0xc0);
	h = p->head + p->nh;
	h[0] = 0x46;
	put_be16(h + 10, 0);
	sum = csum_fold(csum_add(0, h, 24, false));
	memcpy(h + 10, &sum, 2);
	dev->xmit(dev, p);
}

/* Versions 1 and 2: a message for each group. */
static void send_old(struct netdev *dev, uint8_t type, const uint8_t *group)
{
	uint8_t m[8] = { type };

	memcpy(m + 4, group, 4);
	send(dev, m, 8, type == IGMP2_LEAVE ? all_routers : group);
}

static void put_record(struct report *r, uint8_t type, const struct ip_addr *group)
{
	uint8_t *at = r->m + 8 + r->n * RECORD;

	if (r->n == REPORT_MAX)
		return;
	memset(at, 0, RECORD);
	at[0] = type;
	memcpy(at + 4, &group->b[12], 4);
	r->n++;
}

static void send_report(struct netdev *dev, struct report *r)
{
	if (!r->n)
		return;
	memset(r->m, 0, 8);
	r->m[0] = IGMP3_REPORT;
	put_be16(r->m + 6, (uint16_t)r->n);
	send(dev, r->m, 8 + r->n * RECORD, all_igmp3);
}

/* The group of all hosts is never reported. */
static bool reported(const struct ip_addr *group)
{
	return addr_is_v4(group) && group->d[3] != be32(0xe0000001);
}

static void change(struct netdev *dev, const struct ip_addr *group, bool joined, unsigned version)
{
	struct report r = { .n = 0 };

	if (version == 3) {
		put_record(&r, joined ? TO_EXCLUDE : TO_INCLUDE, group);
		send_report(dev, &r);
	} else if (joined) {
		send_old(dev, version == 2 ? IGMP2_REPORT : IGMP1_REPORT, &group->b[12]);
	} else if (version == 2) {
		send_old(dev, IGMP2_LEAVE, &group->b[12]);
	}
}

static void collect(const struct ip_addr *group, unsigned users, void *arg)
{
	struct report *r = arg;

	(void)users;
	if (reported(group) && (addr_is_any(&r->only) || addr_equal(&r->only, group)))
		put_record(r, IS_EXCLUDE, group);
}

static void state(struct netdev *dev, const struct ip_addr *only, unsigned version)
{
	struct report r = { .only = *only };

	mcast_for_each(dev, collect, &r);
	if (version == 3) {
		send_report(dev, &r);
		return;
	}
	for (unsigned i = 0; i < r.n; i++)
		send_old(dev, version == 2 ? IGMP2_REPORT : IGMP1_REPORT,
			 r.m + 8 + i * RECORD + 4);
}

static struct group_reporter igmp = { .newest = 3, .change = change, .state = state };

void igmp_joined(struct netdev *dev, const struct ip_addr *group)
{
	if (reported(group))
		group_changed(&igmp, dev, group, true);
}

void igmp_left(struct netdev *dev, const struct ip_addr *group)
{
	if (reported(group))
		group_changed(&igmp, dev, group, false);
}

/* Tenths of a second; above 127 in floating point (RFC 3376 section 4.1.1). */
static uint64_t response_ns(uint8_t code, unsigned version)
{
	unsigned v = code;

	if (version == 1)
		v = 100;
	else if (version == 3 && code >= 128)
		v = ((code & 15u) | 16u) << (((code >> 4) & 7) + 3);
	return v * (NSEC_PER_SEC / 10);
}

void igmp_input(struct pbuf *p)
{
	unsigned n = pbuf_transport_len(p), version;
	struct ip_addr group;
	const uint8_t *m;

	if (!NETDEV_ETHER(p->dev) || n < 8 || p->ttl != 1 || !pbuf_pull(p, min(n, 12u)) ||
	    pbuf_csum_plain(p))
		return;
	m = p->head + p->th;
	if (m[0] != IGMP_QUERY)
		return;
	version = n >= 12 ? 3 : m[1] ? 2 : 1;
	group = addr_from_v4(m + 4);
	group_queried(&igmp, p->dev, &group, version, response_ns(m[1], version));
}

void igmp_init(void)
{
	group_reporter_init(&igmp, "igmp");
}
