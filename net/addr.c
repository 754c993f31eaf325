/* SPDX-License-Identifier: MIT */
/* Socket addresses in and out: net/addr.h. */
#include "net/addr.h"
#include "kernel/errno.h"

int addr_import(int family, const union sockaddr_any *sa, unsigned len, struct ip_addr *out,
		uint16_t *port)
{
	/* RFC 2133 programs leave the scope out. */
	if (len < (family == AF_INET ? sizeof(struct sa_in) : 24))
		return -EINVAL;
	if (sa->family != family)
		return -EAFNOSUPPORT;
	*out = family == AF_INET ? addr_from_v4(sa->in.addr) : addr_from_v6(sa->in6.addr);
	*port = be16(family == AF_INET ? sa->in.port : sa->in6.port);
	return 0;
}

unsigned addr_export(int family, const struct ip_addr *a, uint16_t port, union sockaddr_any *sa)
{
	memset(sa, 0, sizeof(struct sa_in6));
	if (family == AF_INET) {
		sa->in.family = AF_INET;
		sa->in.port = be16(port);
		memcpy(sa->in.addr, &a->b[12], 4);
		return sizeof(struct sa_in);
	}
	sa->in6.family = AF_INET6;
	sa->in6.port = be16(port);
	memcpy(sa->in6.addr, a->b, 16);
	return sizeof(struct sa_in6);
}

unsigned addr_export_scoped(int family, const struct ip_addr *a, uint16_t port, unsigned scope,
			    union sockaddr_any *sa)
{
	unsigned n = addr_export(family, a, port, sa);

	if (family == AF_INET6 && addr_is_link_local(a))
		sa->in6.scope_id = scope;
	return n;
}

char *addr_format(const struct ip_addr *a, char *buf, size_t n)
{
	int best = -1, best_len = 1;
	size_t len = 0;

	if (addr_is_v4(a)) {
		scnprintf(buf, n, "%u.%u.%u.%u", a->b[12], a->b[13], a->b[14], a->b[15]);
		return buf;
	}
	/* The longest run of zero groups becomes "::" (RFC 5952). */
	for (int i = 0; i < 8; i++) {
		int j = i;

		while (j < 8 && !a->b[2 * j] && !a->b[2 * j + 1])
			j++;
		if (j - i > best_len) {
			best = i;
			best_len = j - i;
		}
		if (j > i)
			i = j;
	}
	buf[0] = 0;
	for (int i = 0; i < 8; i++) {
		if (best >= 0 && i == best) {
			len += scnprintf(buf + len, n - len, "::");
			i += best_len - 1;
			continue;
		}
		len += scnprintf(buf + len, n - len, "%s%x",
				 i && !(best >= 0 && i == best + best_len) ? ":" : "",
				 (unsigned)get_be16(&a->b[2 * i]));
	}
	return buf;
}
