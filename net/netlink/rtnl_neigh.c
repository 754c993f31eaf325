/* SPDX-License-Identifier: MIT */
/* rtnetlink: neighbours (RTM_GETNEIGH, RTM_NEWNEIGH, RTM_DELNEIGH). */
#include "net/netlink/netlink.h"
#include "net/ether.h"

#define RTM_NEWNEIGH 28
#define RTM_DELNEIGH 29
#define NDA_DST       1
#define NDA_LLADDR    2
#define NUD_INCOMPLETE 0x01
#define NUD_REACHABLE  0x02
#define NUD_STALE      0x04
#define NUD_DELAY      0x08
#define NUD_PROBE      0x10
#define NUD_FAILED     0x20
#define NUD_PERMANENT  0x80

struct ndmsg {
	uint8_t family, pad1;
	uint16_t pad2;
	int32_t ifindex;
	uint16_t state;
	uint8_t flags, type;
};

struct neigh_list {
	struct nl_dump *d;
	struct nl_buf *b;
	uint64_t n;
	bool full;
};

bool rtnl_put_neigh(struct nl_buf *b, uint16_t type, const struct neigh_info *i)
{
	static const uint16_t nud[] = {
		[NEIGH_INCOMPLETE] = NUD_INCOMPLETE, [NEIGH_REACHABLE] = NUD_REACHABLE,
		[NEIGH_STALE] = NUD_STALE,	     [NEIGH_DELAY] = NUD_DELAY,
		[NEIGH_PROBE] = NUD_PROBE,	     [NEIGH_FAILED] = NUD_FAILED,
		[NEIGH_PERMANENT] = NUD_PERMANENT,
	};
	struct ndmsg *m = nl_begin(b, type, sizeof(*m));

	m->family = addr_is_v4(&i->addr) ? AF_INET : AF_INET6;
	m->ifindex = (int)i->dev->index;
	m->state = nud[i->state];
	m->type = 1;
	nl_put_addr(b, NDA_DST, &i->addr);
	if (i->valid)
		nl_put(b, NDA_LLADDR, i->mac, 6);
	return nl_end(b);
}

static void entry(const struct neigh_info *i, void *arg)
{
	struct neigh_list *l = arg;
	bool v4 = addr_is_v4(&i->addr);

	if (l->full || (l->d->family && (l->d->family == AF_INET) != v4) || l->n++ < l->d->at)
		return;
	if (rtnl_put_neigh(l->b, RTM_NEWNEIGH, i))
		l->d->at++;
	else
		l->full = true;
}

bool rtnl_neigh_dump(struct nl_dump *d, struct nl_buf *b)
{
	struct neigh_list l = { .d = d, .b = b };

	neigh_for_each(entry, &l);
	return !l.full;
}

int rtnl_neigh_request(struct nl_request *r, struct nl_buf *reply)
{
	const struct ndmsg *m = (const void *)r->body;
	struct ip_addr a = ADDR_ANY6;
	const struct nlattr *mac;
	struct netdev *dev;
	int ret = nl_parse(r, sizeof(*m));

	(void)reply;
	if (ret)
		return ret;
	if (m->family != AF_INET && m->family != AF_INET6)
		return -EAFNOSUPPORT;
	dev = netdev_by_index((unsigned)m->ifindex);
	if (!dev)
		return -ENODEV;
	ret = nl_addr(r, NDA_DST, m->family, &a);
	if (ret)
		return ret;
	if (!NETDEV_ETHER(dev) || addr_is_any(&a) || addr_is_multicast(&a))
		return -EINVAL;
	if (r->h->type == RTM_DELNEIGH)
		return neigh_remove(dev, &a) ? 0 : -ENOENT;
	mac = r->attr[NDA_LLADDR];
	if (r->h->type != RTM_NEWNEIGH || !mac)
		return -EOPNOTSUPP;
	if (nl_len(mac) != 6)
		return -EINVAL;
	return neigh_set(dev, &a, nl_data(mac), m->state & NUD_PERMANENT,
			 r->h->flags & NLM_F_REPLACE);
}
