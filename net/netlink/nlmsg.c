/* SPDX-License-Identifier: MIT */
/* Netlink messages, built and read: net/netlink/netlink.h. */
#include "net/netlink/netlink.h"

#define ALIGN4(n) (((n) + 3u) & ~3u)

/* Room for @n more bytes of the open message; NULL and full if there is none. */
static uint8_t *grow(struct nl_buf *b, unsigned n)
{
	uint8_t *at = b->data + b->len;

	if (b->full || b->size - b->len < ALIGN4(n)) {
		b->full = true;
		return NULL;
	}
	memset(at, 0, ALIGN4(n));
	b->len += ALIGN4(n);
	return at;
}

void *nl_begin(struct nl_buf *b, uint16_t type, unsigned hdrlen)
{
	static uint8_t nowhere[128]; /* what is written to a message that does not fit */
	struct nlmsghdr *h;

	b->msg = b->len;
	b->full = false;
	h = (struct nlmsghdr *)grow(b, (unsigned)sizeof(*h) + hdrlen);
	if (!h)
		return nowhere;
	h->type = type;
	h->flags = b->flags;
	h->seq = b->seq;
	h->pid = b->pid;
	return h + 1;
}

void nl_put(struct nl_buf *b, uint16_t type, const void *data, unsigned len)
{
	struct nlattr *a = (struct nlattr *)grow(b, (unsigned)sizeof(*a) + len);

	if (!a)
		return;
	a->len = (uint16_t)(sizeof(*a) + len);
	a->type = type;
	if (len)
		memcpy(a + 1, data, len);
}

void nl_put_u32(struct nl_buf *b, uint16_t type, uint32_t v)
{
	nl_put(b, type, &v, sizeof(v));
}

void nl_put_str(struct nl_buf *b, uint16_t type, const char *s)
{
	nl_put(b, type, s, (unsigned)strlen(s) + 1);
}

void nl_put_addr(struct nl_buf *b, uint16_t type, const struct ip_addr *a)
{
	if (addr_is_v4(a))
		nl_put(b, type, &a->b[12], 4);
	else
		nl_put(b, type, a->b, 16);
}

unsigned nl_nest(struct nl_buf *b, uint16_t type)
{
	unsigned at = b->len;

	nl_put(b, type | 0x8000, NULL, 0);
	return at;
}

void nl_nest_end(struct nl_buf *b, unsigned at)
{
	if (!b->full)
		((struct nlattr *)(b->data + at))->len = (uint16_t)(b->len - at);
}

bool nl_end(struct nl_buf *b)
{
	if (b->full) {
		b->len = b->msg;
		return false;
	}
	((struct nlmsghdr *)(b->data + b->msg))->len = b->len - b->msg;
	return true;
}

int nl_parse(struct nl_request *r, unsigned hdrlen)
{
	unsigned at = ALIGN4(hdrlen);

	if (r->body_len < hdrlen)
		return -EINVAL;
	while (at + sizeof(struct nlattr) <= r->body_len) {
		const struct nlattr *a = (const struct nlattr *)(r->body + at);

		if (a->len < sizeof(*a) || a->len > r->body_len - at)
			return -EINVAL;
		if (NLA_TYPE(a) < NL_ATTRS)
			r->attr[NLA_TYPE(a)] = a;
		at += ALIGN4(a->len);
	}
	return 0;
}

int nl_u32(const struct nl_request *r, unsigned type, uint32_t *v)
{
	const struct nlattr *a = r->attr[type];

	if (!a)
		return 0;
	if (nl_len(a) < sizeof(*v))
		return -EINVAL;
	memcpy(v, nl_data(a), sizeof(*v));
	return 0;
}

int nl_addr(const struct nl_request *r, unsigned type, int family, struct ip_addr *out)
{
	const struct nlattr *a = r->attr[type];

	if (!a)
		return 0;
	if (nl_len(a) != (family == AF_INET ? 4 : 16))
		return -EINVAL;
	*out = family == AF_INET ? addr_from_v4(nl_data(a)) : addr_from_v6(nl_data(a));
	return (family == AF_INET) == addr_is_v4(out) ? 0 : -EINVAL; /* no IPv4 written as IPv6 */
}
