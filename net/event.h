/* SPDX-License-Identifier: MIT */
/*
 * News: a device, an address, a route or a neighbour has changed.  Whoever changes one
 * says so here, after the fact and without a lock held; rtnetlink passes it on to
 * programs.  While nobody listens, it costs one look.
 */
#ifndef NET_EVENT_H
#define NET_EVENT_H

#include "net/ether.h"

enum net_event_kind {
	NET_EVENT_LINK,
	NET_EVENT_ADDR,
	NET_EVENT_ROUTE,
	NET_EVENT_NEIGH,
	NR_NET_EVENTS
};
struct net_event {
	enum net_event_kind kind;
	bool gone; /* removed; else new or changed */
	struct netdev *dev;
	union {
		struct ifaddr addr;
		struct route_entry route;
		struct neigh_info neigh;
	};
};
extern _Atomic(void (*)(const struct net_event *e)) net_listener[NR_NET_EVENTS];

static inline bool net_event_wanted(enum net_event_kind kind)
{
	return atomic_load_explicit(&net_listener[kind], memory_order_acquire) != NULL;
}
/* Context: thread; the listener never sleeps.  */
static inline void net_event(const struct net_event *e)
{
	void (*fn)(const struct net_event *e) =
		atomic_load_explicit(&net_listener[e->kind], memory_order_acquire);

	if (unlikely(fn != NULL))
		fn(e);
}
static inline void net_event_link(struct netdev *dev)
{
	struct net_event e = { .kind = NET_EVENT_LINK, .dev = dev };

	net_event(&e);
}

#endif /* NET_EVENT_H */
