/* SPDX-License-Identifier: MIT */
/* ARP (RFC 826) with conflict detection (RFC 5227). */
#include "net/ether.h"
#include "kernel/log.h"

#define ARP_LEN 28
#define DEFEND_NS (10 * NSEC_PER_SEC) /* RFC 5227: DEFEND_INTERVAL */

static _Atomic uint64_t conflict_with; /* IPv4 address in the low half, in use by somebody else */
static _Atomic uint64_t last_defence;

static void arp_send(struct netdev *dev, uint16_t op, const uint8_t *sip, const uint8_t *tmac,
		     const uint8_t *tip, const uint8_t *to)
{
	struct pbuf *p = pbuf_alloc(32);
	uint8_t *h;

	if (!p)
		return;
	h = pbuf_put(p, ARP_LEN);
	put_be16(h, 1);
	put_be16(h + 2, ETHER_IPV4);
	h[4] = 6;
	h[5] = 4;
	put_be16(h + 6, op);
	memcpy(h + 8, dev->mac, 6);
	memcpy(h + 14, sip, 4);
	memcpy(h + 18, tmac, 6);
	memcpy(h + 24, tip, 4);
	ether_send(dev, p, to, ETHER_ARP);
}

void arp_request(struct netdev *dev, const struct ip_addr *src, const struct ip_addr *target,
		 const uint8_t *mac)
{
	static const uint8_t zero[6];

	arp_send(dev, 1, src ? &src->b[12] : zero, zero, &target->b[12],
		 mac ? mac : ether_broadcast);
}

void arp_announce(struct netdev *dev, const struct ip_addr *a)
{
	static const uint8_t zero[6];

	arp_send(dev, 1, &a->b[12], zero, &a->b[12], ether_broadcast);
}

bool arp_conflict(const struct ip_addr *a, bool reset)
{
	uint64_t w = 1ULL << 32 | a->d[3];

	if (reset) {
		atomic_store_explicit(&conflict_with, a->d[3], memory_order_relaxed);
		return false;
	}
	return atomic_load_explicit(&conflict_with, memory_order_relaxed) == w;
}

/* Somebody else uses one of our addresses: say that it is ours, now and then. */
static void defend(struct netdev *dev, const struct ip_addr *a, const uint8_t *mac)
{
	uint64_t now = clock_ns(), last = atomic_load_explicit(&last_defence, memory_order_relaxed);

	if (last && now - last < DEFEND_NS)
		return;
	if (!atomic_compare_exchange_strong_explicit(&last_defence, &last, now,
						     memory_order_relaxed, memory_order_relaxed))
		return;
	pr_warn("net: %s: %u.%u.%u.%u is also used by %02x:%02x:%02x:%02x:%02x:%02x", dev->name,
		a->b[12], a->b[13], a->b[14], a->b[15], mac[0], mac[1], mac[2], mac[3], mac[4],
		mac[5]);
	arp_announce(dev, a);
}

void arp_input(struct pbuf *p)
{
	const uint8_t *h = p->head + p->start, *mac;
	struct netdev *dev = p->dev;
	struct ip_addr src, target;
	bool for_us;
	uint16_t op;

	if (p->end - p->start < ARP_LEN || get_be16(h) != 1 || get_be16(h + 2) != ETHER_IPV4 ||
	    h[4] != 6 || h[5] != 4)
		goto out;
	op = get_be16(h + 6);
	mac = h + 8;
	src = addr_from_v4(h + 14);
	target = addr_from_v4(h + 24);
	if ((op != 1 && op != 2) || !memcmp(mac, dev->mac, 6))
		goto out;
	if (src.d[3] &&
	    src.d[3] == (uint32_t)atomic_load_explicit(&conflict_with, memory_order_relaxed))
		atomic_store_explicit(&conflict_with, 1ULL << 32 | src.d[3], memory_order_relaxed);
	if (ifaddr_find(dev, &src)) {
		defend(dev, &src, mac);
		goto out;
	}
	for_us = ifaddr_find(dev, &target) != NULL;
	if (src.d[3] && ifaddr_on_link(dev, &src))
		neigh_heard(dev, &src, mac,
			    NEIGH_OVERRIDE | (op == 2 && for_us ? NEIGH_SOLICITED : 0) |
				    (for_us && op == 1 ? NEIGH_CREATE : 0));
	if (op == 1 && for_us)
		arp_send(dev, 2, &target.b[12], mac, &src.b[12], mac);
out:
	pbuf_free(p);
}
