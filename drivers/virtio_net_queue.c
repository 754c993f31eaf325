/* SPDX-License-Identifier: MIT */
/*
 * virtio network devices: pairs of queues, each with one MSI-X vector and one
 * kernel thread on its CPU.
 *
 * The interrupt handler only wakes the thread, which takes packets in until there
 * are none and then asks for the next interrupt: store used_event, full fence, look
 * again.
 */
#include "drivers/virtio_net.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "mm/slab.h"

#define RING_LEAST 32u /* entries: the largest packet takes up to 21, either way */
#define NEAR_PACKETS 2  /* buffers; what they cause is done before long */
#define RX_BUDGET  64 /* packets between two chances for other threads */

static unsigned ring_size = 256;
PARAM_UINT("net.ring", ring_size, RING_LEAST, 1024, PARAM_RO,
	   "virtio network: entries of a ring, at most; a power of two");

static void interrupt_handler(void *arg)
{
	struct vnet_queue *q = arg;
	struct thread *t = atomic_load_explicit(&q->thread, memory_order_acquire);

	if (t)
		thread_wake(t);
}

static bool poll_look(struct idle_poller *p)
{
	return virtq_more(&container_of(p, struct vnet_queue, poller)->rx);
}

static void poll_quiet(struct idle_poller *p)
{
	virtq_quiet(&container_of(p, struct vnet_queue, poller)->rx);
}

static void poll_arm(struct idle_poller *p)
{
	struct vnet_queue *q = container_of(p, struct vnet_queue, poller);

	if (!virtq_arm(&q->rx, 0))
		interrupt_handler(q);
}

static void vnet_thread(void *arg)
{
	struct vnet_queue *q = arg;
	struct vnet *v = q->v;

	while (!atomic_load_explicit(&v->vd.broken, memory_order_relaxed)) {
		int n = 0;

		/* Who is woken by a packet or two may as well run here: this thread sleeps soon. */
		current->wakes_near = virtq_pending(&q->rx) <= NEAR_PACKETS;
		q->batching = true;
		while (n < RX_BUDGET && vnet_rx_one(q))
			n++;
		gro_flush(&q->gro);
		q->batching = false;
		vnet_rx_refill(q);
		vnet_tx_service(q);
		if (n == RX_BUDGET) {
			cond_resched();
			continue;
		}
		atomic_store_explicit(&q->poller.asked, false, memory_order_relaxed);
		thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
		if (virtq_arm(&q->rx, 0)) {
			/*
			 * An empty receive ring brings no interrupt: memory may be back a little
			 * later.
			 */
			q->poller.ready = true;
			schedule_until(q->rx.inflight ? UINT64_MAX
						      : clock_ns() + 10 * NSEC_PER_MSEC);
			q->poller.ready = false;
		}
		thread_finish_sleep();
	}
	atomic_store_explicit(&v->dev.carrier, false, memory_order_relaxed);
	vnet_tx_abandon(q);
	for (;;)
		thread_sleep_until(UINT64_MAX, false);
}

int vnet_queue_init(struct vnet *v, unsigned i)
{
	struct vnet_queue *q = &v->queues[i];
	unsigned cpu = i * max(nr_cpus / v->nr_pairs, 1u) % nr_cpus, entry = i + 1;
	int err;

	q->v = v;
	q->cpu = cpu;
	spin_init(&q->tx_lock, "vnet_tx");
	timer_init(&q->collect, vnet_tx_collect);
	snprintf(q->name, sizeof(q->name), "%s-%u", v->dev.name, i);
	err = virtio_vector(&v->vd, entry, cpu, interrupt_handler, q, q->name);
	if (err)
		return err;
	err = virtq_init(&v->vd, &q->rx, 2 * i, entry, ring_size, v->rx_pages > 1);
	if (!err)
		err = vnet_rx_init(q);
	if (err)
		return err;
	err = virtq_init(&v->vd, &q->tx, 2 * i + 1, entry, ring_size, true);
	if (err)
		return err;
	q->slots = kmalloc(q->tx.size * sizeof(*q->slots), GFP_KERNEL);
	if (!q->slots)
		return -ENOMEM;
	for (unsigned k = 0; k < q->tx.size; k++) {
		q->slots[k].data = NULL;
		q->slots[k].paid = NULL;
		q->slots[k].next = q->free;
		q->free = &q->slots[k];
	}
	return 0;
}

int vnet_queue_start(struct vnet_queue *q)
{
	struct thread *t = thread_create(q->name, vnet_thread, q, (int)q->cpu);

	if (IS_ERR(t))
		return -ENOMEM;
	atomic_store_explicit(&q->thread, t, memory_order_release);
	q->poller.look = poll_look;
	q->poller.quiet = poll_quiet;
	q->poller.arm = poll_arm;
	idle_poll_add(&q->poller, q->cpu);
	vnet_rx_refill(q);
	thread_start(t);
	return 0;
}

void vnet_shut_down(struct vnet *v)
{
	atomic_store_explicit(&v->dev.carrier, false, memory_order_release);
	netdev_carrier_changed(&v->dev);
	for (unsigned i = 0; i < v->nr_pairs; i++)
		interrupt_handler(&v->queues[i]);
}
