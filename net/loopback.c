/* SPDX-License-Identifier: MIT */
/*
 * The loopback device: a sent packet is received at once, by the sender's
 * thread.  On request (net.lo.drop, net.lo.reorder, net.lo.dup, per mille) it
 * damages the traffic, so that recovery can be tested.
 *
 * A reordered packet waits in this CPU's hold list until the next packet of
 * this CPU has passed it, or for HOLD_NS if none comes.
 */
#include "net/netdev.h"
#include "net/packet.h"
#include "net/ip.h"
#include "kernel/param.h"
#include "kernel/lock.h"
#include "kernel/timer.h"

#define HOLD_NS (2 * NSEC_PER_MSEC)

static unsigned lo_drop, lo_reorder, lo_dup;
PARAM_UINT("net.lo.drop", lo_drop, 0, 1000, PARAM_RW, "per mille of loopback packets to lose");
PARAM_UINT("net.lo.reorder", lo_reorder, 0, 1000, PARAM_RW,
	   "per mille of loopback packets to delay past the next");
PARAM_UINT("net.lo.dup", lo_dup, 0, 1000, PARAM_RW,
	   "per mille of loopback packets to deliver twice");

/* lock protects held; the rest belongs to this CPU's current thread. */
struct lo_cpu {
	struct spinlock lock;
	struct pqueue held;
	_Atomic bool holding;
	struct timer timer;
	bool timer_ready;
	uint64_t rng;
};
static DEFINE_PER_CPU(struct lo_cpu, lo_cpu);

static unsigned per_mille(struct lo_cpu *lo)
{
	if (!lo->rng)
		lo->rng = ((uint64_t)net_random() << 32 | net_random()) | 1;
	lo->rng ^= lo->rng << 13;
	lo->rng ^= lo->rng >> 7;
	lo->rng ^= lo->rng << 17;
	return (unsigned)((lo->rng >> 32) * 1000 >> 32);
}

static void lo_release(struct lo_cpu *lo)
{
	struct pqueue q;
	struct pbuf *p;

	spin_lock(&lo->lock);
	q = lo->held;
	lo->held = (struct pqueue){ 0 };
	atomic_store_explicit(&lo->holding, false, memory_order_relaxed);
	spin_unlock(&lo->lock);
	while ((p = pqueue_pop(&q)))
		netif_rx(p);
}

static void lo_timer(struct timer *t)
{
	lo_release(container_of(t, struct lo_cpu, timer));
}

static void lo_damage(struct pbuf *p)
{
	struct lo_cpu *lo = &this_cpu(lo_cpu);
	unsigned drop = __atomic_load_n(&lo_drop, __ATOMIC_RELAXED);
	unsigned reorder = __atomic_load_n(&lo_reorder, __ATOMIC_RELAXED);
	unsigned dup = __atomic_load_n(&lo_dup, __ATOMIC_RELAXED);

	if (!lo->timer_ready) {
		timer_init(&lo->timer, lo_timer);
		lo->timer_ready = true;
	}
	if (drop && per_mille(lo) < drop) {
		net_count(lo_dropped);
		pbuf_free(p);
		return;
	}
	if (dup && per_mille(lo) < dup) {
		struct pbuf *twin = pbuf_clone(p);

		if (twin) {
			net_count(lo_duplicated);
			netif_rx(twin);
			/* What arrived may have moved nothing: this thread does not sleep here. */
		}
	}
	if (reorder && per_mille(lo) < reorder) {
		net_count(lo_reordered);
		spin_lock(&lo->lock);
		pqueue_push(&lo->held, p);
		atomic_store_explicit(&lo->holding, true, memory_order_relaxed);
		spin_unlock(&lo->lock);
		timer_set(&lo->timer, clock_ns() + HOLD_NS);
		return;
	}
	netif_rx(p);
	if (atomic_load_explicit(&lo->holding, memory_order_relaxed))
		lo_release(lo);
}

static void lo_xmit(struct netdev *dev, struct pbuf *p)
{
	p->flags |= PB_CSUM_OK;
	if (unlikely(p->flags & PB_PAID)) /* sent by way of another device, to an address of ours */
		pbuf_settle(p);
	net_count(lo_packets);
	net_count_add(NS_lo_bytes, p->end - p->start + p->len);
	packet_tap(dev, p, p->start, false);
	if (unlikely(__atomic_load_n(&lo_drop, __ATOMIC_RELAXED) |
		     __atomic_load_n(&lo_reorder, __ATOMIC_RELAXED) |
		     __atomic_load_n(&lo_dup, __ATOMIC_RELAXED))) {
		lo_damage(p);
		return;
	}
	netif_rx(p);
}

struct netdev loopback_dev = {
	.name = "lo",
	.mtu = 65536,
	.loopback = true,
	.xmit = lo_xmit,
};
