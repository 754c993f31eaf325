/* SPDX-License-Identifier: MIT */
/*
 * virtio network devices, what is not packets: commands to the control queue
 * (virtio 1.2, section 5.1.6.5) and changes of the device's configuration.
 *
 * Commands are given by the start-up thread only, one at a time.
 */
#include "drivers/virtio_net.h"
#include "kernel/errno.h"
#include "kernel/log.h"

void vnet_config_work(struct work *w)
{
	struct vnet *v = container_of(w, struct vnet, config_work);
	bool up = !(v->vd.features & VNET_F_STATUS) || (virtio_config16(&v->vd, 6) & 1);

	if (atomic_load_explicit(&v->vd.broken, memory_order_relaxed))
		return;
	if (virtio_status(&v->vd) & VIRTIO_STATUS_NEEDS_RESET) {
		virtio_broken(&v->vd, "it asks for a reset");
		return;
	}
	if (up == atomic_exchange_explicit(&v->dev.carrier, up, memory_order_acq_rel))
		return;
	pr_info("net: %s: link %s", v->dev.name, up ? "up" : "down");
	netdev_carrier_changed(&v->dev);
}

void vnet_config_interrupt(void *arg)
{
	work_schedule(&((struct vnet *)arg)->config_work);
}

/* One command to the control queue; waits, bounded.  Return: 0, -EIO, -ETIMEDOUT. */
int vnet_command(struct vnet *v, uint8_t class, uint8_t cmd, const void *data, unsigned n)
{
	uint64_t deadline = clock_ns() + NSEC_PER_SEC;
	uint8_t *m = v->command;
	struct virtq_part parts[3] = { { m, 2 }, { m + 2, n }, { m + 32, 1 } };
	uint32_t len;

	if (v->ctrl_dead)
		return -EIO;
	m[0] = class;
	m[1] = cmd;
	memcpy(m + 2, data, n);
	m[32] = 0xff;
	if (virtq_add(&v->ctrl, parts, 2, 1, m))
		return -EIO;
	virtq_kick(&v->ctrl);
	while (!virtq_get(&v->ctrl, &len)) {
		if (clock_ns() > deadline ||
		    atomic_load_explicit(&v->vd.broken, memory_order_relaxed)) {
			/* It may still read the command, so there is no other one. */
			v->ctrl_dead = true;
			pr_warn("net: %s: the control queue does not answer and is not used",
				v->name);
			return -ETIMEDOUT;
		}
		thread_sleep_until(clock_ns() + 50 * NSEC_PER_USEC, false);
	}
	return __atomic_load_n(&m[32], __ATOMIC_ACQUIRE) == 0 ? 0 : -EIO;
}
