/* SPDX-License-Identifier: MIT */
/* Devices and the entry of received packets: net/netdev.h. */
#include "net/netdev.h"
#include "net/event.h"
#include "net/ip.h"
#include "kernel/lock.h"

#define RX_DEPTH 3 /* nested netif_rx() calls that run directly; a kernel stack is 16 KiB */

_Atomic(void (*)(const struct net_event *e)) net_listener[NR_NET_EVENTS];

static struct spinlock netdev_lock = SPINLOCK_INIT("netdev"); /* protects the list's writers */
static _Atomic(struct netdev *) netdev_list;

/* Touched by this CPU's current thread only, which does not sleep while depth > 0. */
struct rx_cpu {
	unsigned depth;
	struct pqueue later;
};
static DEFINE_PER_CPU(struct rx_cpu, net_rx_cpu);

void netdev_register(struct netdev *dev)
{
	struct netdev *last;

	spin_lock(&netdev_lock);
	last = atomic_load_explicit(&netdev_list, memory_order_relaxed);
	dev->next = NULL;
	dev->index = 1;
	dev->up = true;
	if (!last) {
		atomic_store_explicit(&netdev_list, dev, memory_order_release);
	} else {
		for (dev->index = 2; last->next; last = last->next)
			dev->index++;
		__atomic_store_n(&last->next, dev, __ATOMIC_RELEASE);
	}
	spin_unlock(&netdev_lock);
}

struct netdev *netdev_first(void)
{
	return atomic_load_explicit(&netdev_list, memory_order_acquire);
}

struct netdev *netdev_by_index(unsigned index)
{
	struct netdev *d = netdev_first();

	while (d && d->index != index)
		d = d->next;
	return d;
}

struct netdev *netdev_by_name(const char *name)
{
	struct netdev *d = netdev_first();

	while (d && strcmp(d->name, name))
		d = d->next;
	return d;
}

void netif_rx(struct pbuf *p)
{
	struct rx_cpu *rx = &this_cpu(net_rx_cpu);

	if (unlikely(rx->depth >= RX_DEPTH)) {
		pqueue_push(&rx->later, p);
		return;
	}
	rx->depth++;
	ip_input(p);
	if (rx->depth == 1) {
		while (unlikely(rx->later.first != NULL))
			ip_input(pqueue_pop(&rx->later));
	}
	rx->depth--;
}
