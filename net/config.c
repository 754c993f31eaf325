/* SPDX-License-Identifier: MIT */
/*
 * Addresses at boot: the parameter ip=, in the words of Linux, or DHCP and
 * router advertisements if nothing is said.
 *
 *	ip=CLIENT:SERVER:GATEWAY:NETMASK:HOSTNAME:DEVICE:AUTOCONF:DNS:DNS
 *	ip=dhcp | on | any | off | none
 */
#include "net/ether.h"
#include "kernel/errno.h"
#include "kernel/lock.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/process.h"
#include "kernel/thread.h"

static char ip_param[128];
PARAM_STRING("ip", ip_param, PARAM_RO,
	     "addresses: client:server:gateway:netmask:host:device:autoconf, dhcp, or off");
static unsigned wait_ms = 1500;
PARAM_UINT("net.wait", wait_ms, 0, 60000, PARAM_RW,
	   "milliseconds that start-up waits for an IPv4 address, if there is a device");

static struct spinlock dns_lock = SPINLOCK_INIT("dns"); /* protects dns */
static struct {
	struct ip_addr server[3];
	unsigned n;
	char domain[64];
} dns;

void net_set_dns(const struct ip_addr *servers, unsigned n, const char *domain)
{
	spin_lock(&dns_lock);
	dns.n = min(n, 3u);
	for (unsigned i = 0; i < dns.n; i++)
		dns.server[i] = servers[i];
	str_copy(dns.domain, domain, sizeof(dns.domain));
	spin_unlock(&dns_lock);
}

unsigned net_get_dns(struct ip_addr servers[3], char *domain, size_t size)
{
	unsigned n;

	spin_lock(&dns_lock);
	n = dns.n;
	for (unsigned i = 0; i < n; i++)
		servers[i] = dns.server[i];
	str_copy(domain, dns.domain, size);
	spin_unlock(&dns_lock);
	return n;
}

static bool parse_v4(const char *s, struct ip_addr *out)
{
	uint8_t b[4];

	for (unsigned i = 0; i < 4; i++) {
		unsigned v = 0, digits = 0;

		while (*s >= '0' && *s <= '9' && digits++ < 3)
			v = v * 10 + (unsigned)(*s++ - '0');
		if (!digits || v > 255 || *s != (i < 3 ? '.' : 0))
			return false;
		b[i] = (uint8_t)v;
		s++;
	}
	*out = addr_from_v4(b);
	return true;
}

static void static_address(struct netdev *dev, const struct ip_addr *a, const struct ip_addr *mask,
			   const struct ip_addr *gw)
{
	uint32_t m = get_be32(&mask->b[12]);
	/* Without a mask that of the address's class, as in Linux. */
	unsigned class = a->b[12] < 128 ? 8 : a->b[12] < 192 ? 16 : 24;
	unsigned prefix = m ? 128 - (unsigned)__builtin_ctz(m) : 96 + class;
	struct route_entry r = { .dst = addr_from_v4("\0\0\0\0"), .prefix = 96,
				 .dev = dev, .gw = *gw, .proto = ROUTE_BOOT };

	if (ifaddr_add(dev, a, prefix)) {
		pr_warn("net: ip=: the address is not accepted");
		return;
	}
	arp_announce(dev, a);
	if (!addr_is_any(gw) && route_add(&r))
		pr_warn("net: ip=: the gateway is not on the network of the address");
}

/* What DHCP would have said beside the address: this machine's name, name servers. */
static void static_names(const char *host, const char *const dns[2])
{
	struct ip_addr server[2];
	unsigned n = 0;

#if !defined(TALLY_HOSTED) /* there the name is the host's */
	if (host[0])
		hostname_set(host);
#endif
	for (unsigned i = 0; i < 2; i++) {
		if (dns[i][0] && !parse_v4(dns[i], &server[n]))
			pr_warn("net: ip=: %s is no address of a name server", dns[i]);
		else if (dns[i][0])
			n++;
	}
	if (n)
		net_set_dns(server, n, "");
}

static bool have_v4(void)
{
	const struct ifaddr *t = ifaddr_table();

	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		struct netdev *d = atomic_load_explicit(&t[i].dev, memory_order_acquire);

		if (d && !d->loopback && addr_is_v4(&t[i].addr))
			return true;
	}
	return false;
}

void net_config_init(void)
{
	char text[sizeof(ip_param)], *field[9], *s = text;
	struct ip_addr a, mask = addr_from_v4("\0\0\0\0"), gw = mask;
	struct netdev *dev = netdev_first(), *only = NULL;
	uint64_t deadline;
	bool dhcp = false, fixed = false;

	while (dev && !NETDEV_ETHER(dev))
		dev = dev->next;
	if (!dev)
		return;
	for (struct netdev *d = dev; d; d = d->next)
		nd_start(d);
	str_copy(text, ip_param, sizeof(text));
	for (unsigned i = 0; i < 9; i++) {
		field[i] = s;
		s = strchr(s, ':');
		if (s)
			*s++ = 0;
		else
			s = text + strlen(ip_param);
	}
	if (!strcmp(text, "off") || !strcmp(text, "none"))
		return;
	if (field[5][0]) {
		only = netdev_by_name(field[5]);
		if (!only)
			pr_warn("net: ip=: no device %s", field[5]);
		else
			dev = only;
	}
	if (!field[0][0] || !strcmp(text, "dhcp") || !strcmp(text, "on") || !strcmp(text, "any")) {
		dhcp = true;
	} else if (!parse_v4(field[0], &a) || (field[3][0] && !parse_v4(field[3], &mask)) ||
		   (field[2][0] && !parse_v4(field[2], &gw))) {
		pr_warn("net: ip=%s: client:server:gateway:netmask:host:device:autoconf, dhcp, or "
			"off expected",
			ip_param);
		dhcp = true;
	} else {
		fixed = true;
	}
	static_names(field[4], (const char *const[]){ field[7], field[8] });
	if (fixed)
		static_address(dev, &a, &mask, &gw);
	for (struct netdev *d = dev; dhcp && d; d = only ? NULL : d->next) {
		if (dhcp_start(d))
			pr_warn("net: %s: no memory for DHCP", d->name);
	}
	/* Programs that start now expect a network, as far as one answers quickly. */
	deadline = clock_ns() + wait_ms * NSEC_PER_MSEC;
	while (dhcp && atomic_load_explicit(&dev->carrier, memory_order_relaxed) && !have_v4() &&
	       clock_ns() < deadline)
		thread_sleep_until(clock_ns() + 5 * NSEC_PER_MSEC, false);
}
