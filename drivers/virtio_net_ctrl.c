/* SPDX-License-Identifier: MIT */
/*
 * virtio network devices, what is not packets: commands to the control queue
 * (virtio 1.2, section 5.1.6.5) and changes of the device's configuration.
 *
 * Commands are given one at a time, under ctrl_lock; one that is not answered within
 * a second is the last.
 */
#include "drivers/virtio_net.h"
#include "kernel/errno.h"
#include "kernel/log.h"

/* ctrl_lock held. */
static int command(struct vnet *v, uint8_t class, uint8_t cmd, const void *data, unsigned n)
{
	uint64_t deadline = clock_ns() + NSEC_PER_SEC;
	uint8_t *m = v->command, *ack = m + COMMAND_DATA;
	struct virtq_part parts[3] = { { m, 2 }, { n ? m + 2 : ack, n ? n : 1 }, { ack, 1 } };
	uint32_t len;

	if (v->ctrl_dead || n > COMMAND_DATA - 2)
		return -EIO;
	m[0] = class;
	m[1] = cmd;
	if (n)
		memcpy(m + 2, data, n);
	*ack = 0xff;
	if (virtq_add(&v->ctrl, parts, n ? 2 : 1, 1, m))
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
	return __atomic_load_n(ack, __ATOMIC_ACQUIRE) == 0 ? 0 : -EIO;
}

int vnet_command(struct vnet *v, uint8_t class, uint8_t cmd, const void *data, unsigned n)
{
	int err;

	mutex_lock(&v->ctrl_lock);
	err = command(v, class, cmd, data, n);
	mutex_unlock(&v->ctrl_lock);
	return err;
}

int vnet_set_mac(struct netdev *dev, const uint8_t *mac)
{
	struct vnet *v = dev->priv;
	int err;

	mutex_lock(&v->ctrl_lock);
	err = command(v, CTRL_MAC, CTRL_MAC_ADDR_SET, mac, 6);
	if (!err)
		memcpy(dev->mac, mac, 6);
	mutex_unlock(&v->ctrl_lock);
	return err == -ETIMEDOUT ? -EIO : err;
}

void vnet_set_lro(struct vnet *v, bool on)
{
	/* The bits of offloads are those of the features. */
	uint64_t lro = VNET_F_GUEST_TSO4 | VNET_F_GUEST_TSO6;
	uint64_t now = v->vd.features & (VNET_F_GUEST_CSUM | (on ? lro : 0));

	if ((v->vd.features & VNET_F_CTRL_GUEST_OFFLOADS) && (v->vd.features & lro) &&
	    vnet_command(v, CTRL_OFFLOADS, CTRL_OFFLOADS_SET, &now, sizeof(now)))
		pr_warn("net: %s: the device does not change its offloads", v->name);
}

/* Tells the network where we are, as the device asks after a migration. */
static void announce(struct vnet *v)
{
	ether_announce(&v->dev);
	vnet_command(v, CTRL_ANNOUNCE, CTRL_ANNOUNCE_ACK, NULL, 0);
}

void vnet_config_work(struct work *w)
{
	struct vnet *v = container_of(w, struct vnet, config_work);
	uint16_t status = v->vd.features & VNET_F_STATUS ? virtio_config16(&v->vd, CONFIG_STATUS)
							 : STATUS_LINK_UP;
	bool up = status & STATUS_LINK_UP;

	if (atomic_load_explicit(&v->vd.broken, memory_order_relaxed))
		return;
	if (virtio_status(&v->vd) & VIRTIO_STATUS_NEEDS_RESET) {
		virtio_broken(&v->vd, "it asks for a reset");
		vnet_shut_down(v);
		return;
	}
	if (up != atomic_exchange_explicit(&v->dev.carrier, up, memory_order_acq_rel)) {
		pr_info("net: %s: link %s", v->dev.name, up ? "up" : "down");
		netdev_carrier_changed(&v->dev);
	}
	if (up && (status & STATUS_ANNOUNCE) && (v->vd.features & VNET_F_GUEST_ANNOUNCE))
		announce(v);
}

void vnet_config_interrupt(void *arg)
{
	work_schedule(&((struct vnet *)arg)->config_work);
}
