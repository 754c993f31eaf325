/* SPDX-License-Identifier: MIT */
/*
 * virtio network devices (virtio 1.2, section 5.1): finding them, agreeing on
 * features, and handing them to the stack.
 *
 * One pair of queues per CPU as far as device and vectors go (virtio_net_queue.c);
 * receiving and sending are virtio_net_rx.c and virtio_net_tx.c, commands and
 * events virtio_net_ctrl.c.
 */
#include "drivers/virtio_net.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "mm/slab.h"

static unsigned max_pairs = 1024;
PARAM_UINT("net.queues", max_pairs, 1, 1024, PARAM_RO,
	   "queue pairs of a virtio network device, at most");
static bool no_event, no_offload;
PARAM_BOOL("net.noevent", no_event, PARAM_RO, "virtio network: do without event indices");
PARAM_BOOL("net.nooffload", no_offload, PARAM_RO,
	   "virtio network: checksums and segments in software");

static bool lro = true;
static struct vnet *devices[8]; /* those whose offloads can be changed; written at start-up */

static int lro_set(const struct param *p, const char *value)
{
	if ((value[0] != '0' && value[0] != '1') || value[1])
		return -EINVAL;
	__atomic_store_n(&lro, value[0] == '1', __ATOMIC_RELAXED);
	for (unsigned i = 0; i < ARRAY_SIZE(devices) && devices[i]; i++)
		vnet_set_lro(devices[i], value[0] == '1');
	return 0;
}
static int lro_get(const struct param *p, char *buf, size_t n)
{
	return scnprintf(buf, n, "%d", __atomic_load_n(&lro, __ATOMIC_RELAXED));
}
PARAM_CUSTOM("net.lro", lro_set, lro_get, PARAM_RW,
	     "virtio network: the device may merge received TCP segments");

/* An Ethernet's, or what the device says, as far as an IP packet can be that large. */
static void set_mtu(struct vnet *v)
{
	unsigned mtu = v->vd.features & VNET_F_MTU ? virtio_config16(&v->vd, CONFIG_MTU) : 0;

	v->dev.mtu =
		mtu >= 1280
			? min(mtu, 65535u - ETHER_HEADER - (unsigned)sizeof(struct virtio_net_hdr))
			: 1500;
}

/* Everything up to DRIVER_OK. */
static int vnet_setup(struct vnet *v)
{
	uint64_t want = VIRTIO_F_VERSION_1 | VIRTIO_F_INDIRECT_DESC | VNET_F_MAC | VNET_F_MTU |
			VNET_F_STATUS | VNET_F_MRG_RXBUF | VNET_F_CTRL_VQ | VNET_F_CTRL_RX |
			VNET_F_MQ | VNET_F_GUEST_ANNOUNCE | VNET_F_CTRL_GUEST_OFFLOADS |
			VNET_F_CTRL_MAC_ADDR;
	uint64_t offered = virtio_offered(&v->vd);
	unsigned device_pairs = 1;
	int err;

	if (!no_event)
		want |= VIRTIO_F_EVENT_IDX;
	if (!no_offload && (offered & VNET_F_CSUM))
		want |= VNET_F_CSUM | VNET_F_HOST_TSO4 | VNET_F_HOST_TSO6;
	if (!no_offload && (offered & VNET_F_GUEST_CSUM)) {
		want |= VNET_F_GUEST_CSUM;
		/* What can be changed later may be taken now. */
		if (lro || (offered & (VNET_F_CTRL_VQ | VNET_F_CTRL_GUEST_OFFLOADS)) ==
				   (VNET_F_CTRL_VQ | VNET_F_CTRL_GUEST_OFFLOADS))
			want |= VNET_F_GUEST_TSO4 | VNET_F_GUEST_TSO6;
	}
	if (!(offered & VNET_F_CTRL_VQ))
		want &= ~(VNET_F_MQ | VNET_F_CTRL_RX | VNET_F_GUEST_ANNOUNCE |
			  VNET_F_CTRL_GUEST_OFFLOADS | VNET_F_CTRL_MAC_ADDR);
	err = virtio_accept(&v->vd, want);
	if (err)
		return err;
	v->merge = (v->vd.features & VNET_F_MRG_RXBUF) != 0;
	set_mtu(v);
	if (v->merge)
		v->rx_pages = 1;
	else if (v->vd.features & (VNET_F_GUEST_TSO4 | VNET_F_GUEST_TSO6))
		v->rx_pages = VNET_RX_PAGES;
	else
		v->rx_pages = (v->dev.mtu + ETHER_HEADER + sizeof(struct virtio_net_hdr) +
			       PAGE_SIZE - 1) /
			      PAGE_SIZE;
	if (v->vd.features & VNET_F_MQ)
		device_pairs = max(virtio_config16(&v->vd, CONFIG_PAIRS), (uint16_t)1);
	v->nr_pairs = min(min(device_pairs, max_pairs), nr_cpus);
	if (v->vd.nr_vectors < 2) {
		pr_warn("virtio: %s: %u MSI-X vectors, at least 2 expected", v->vd.name,
			v->vd.nr_vectors);
		return -ENODEV;
	}
	v->nr_pairs = min(v->nr_pairs, v->vd.nr_vectors - 1);
	if (virtio_vector(&v->vd, 0, 0, vnet_config_interrupt, v, v->dev.name) == 0)
		virtio_config_vector(&v->vd, 0);
	v->queues = kzalloc(v->nr_pairs * sizeof(*v->queues), GFP_KERNEL);
	if (!v->queues)
		return -ENOMEM;
	for (unsigned i = 0; i < v->nr_pairs; i++) {
		err = vnet_queue_init(v, i);
		if (err && i == 0)
			return err;
		if (err) {
			v->nr_pairs = i;
			break;
		}
	}
	if (v->vd.features & VNET_F_CTRL_VQ) {
		err = virtq_init(&v->vd, &v->ctrl, 2 * device_pairs, VIRTIO_NO_VECTOR, 16, false);
		if (err)
			return err;
	}
	virtio_add_status(&v->vd, VIRTIO_STATUS_DRIVER_OK);
	return 0;
}

static void vnet_describe(struct vnet *v)
{
	struct netdev *d = &v->dev;
	uint64_t f = v->vd.features;

	if (f & VNET_F_MAC) {
		for (unsigned i = 0; i < 6; i++)
			d->mac[i] = virtio_config8(&v->vd, i);
	} else {
		uint32_t r = net_random();

		memcpy(d->mac + 2, &r, 4);
		d->mac[0] = 2; /* locally administered */
	}
	if (f & VNET_F_CSUM)
		d->features |= NETDEV_CSUM;
	if (f & VNET_F_HOST_TSO4)
		d->features |= NETDEV_TSO4;
	if (f & VNET_F_HOST_TSO6)
		d->features |= NETDEV_TSO6;
	d->start = vnet_tx_start;
	d->start_many = vnet_tx_start_many;
	d->mtu_max = d->mtu;
	if (f & VNET_F_CTRL_MAC_ADDR)
		d->set_mac = vnet_set_mac;
	d->priv = v;
	atomic_store_explicit(&d->carrier,
			      !(f & VNET_F_STATUS) ||
				      (virtio_config16(&v->vd, CONFIG_STATUS) & STATUS_LINK_UP),
			      memory_order_relaxed);
}

static void vnet_free(struct vnet *v)
{
	virtio_add_status(&v->vd, VIRTIO_STATUS_FAILED);
	virtio_reset(&v->vd);
	/* Interrupt handlers name v and its queues for good, so these stay. */
	for (unsigned i = 0; v->queues && i < v->nr_pairs; i++) {
		virtq_free(&v->queues[i].rx);
		virtq_free(&v->queues[i].tx);
		kfree(v->queues[i].chains);
	}
}

static void vnet_probe(const struct pci_function *f, unsigned number)
{
	struct vnet *v = kzalloc(sizeof(*v), GFP_KERNEL);
	int err;

	if (!v)
		return;
	snprintf(v->name, sizeof(v->name), "eth%u", number);
	v->dev.name = v->name;
	mutex_init(&v->ctrl_lock, "vnet_ctrl");
	work_init(&v->config_work, vnet_config_work);
	err = virtio_pci_probe(&v->vd, f);
	if (!err)
		err = vnet_setup(v);
	if (err) {
		pr_warn("net: %s (virtio %s): not usable, error %d", v->name, v->vd.name, -err);
		if (v->vd.common)
			vnet_free(v);
		return;
	}
	vnet_describe(v);
	/* Only pair 0 is live before this command has been acknowledged. */
	if (v->nr_pairs > 1) {
		uint16_t n = (uint16_t)v->nr_pairs;

		if (vnet_command(v, CTRL_MQ, CTRL_MQ_PAIRS_SET, &n, 2))
			v->nr_pairs = 1;
	}
	if (v->vd.features & VNET_F_CTRL_RX) {
		/* all multicast: solicited-node groups */
		vnet_command(v, CTRL_RX, CTRL_RX_ALLMULTI, "\1", 1);
		vnet_command(v, CTRL_RX, CTRL_RX_PROMISC, "\0", 1); /* not promiscuous */
	}
	if (v->vd.features & VNET_F_CTRL_GUEST_OFFLOADS) {
		if (!lro)
			vnet_set_lro(v, false);
		if (number < ARRAY_SIZE(devices))
			devices[number] = v;
	}
	for (unsigned i = 0; i < v->nr_pairs; i++) {
		if (vnet_queue_start(&v->queues[i]) == 0)
			continue;
		/* Packets that come to this queue are lost; nobody sends on it. */
		pr_warn("net: %s: no memory for the thread of queue %u", v->name, i);
		if (!i)
			return;
		v->nr_pairs = i;
		break;
	}
	pr_info("net: %s: virtio %s, %02x:%02x:%02x:%02x:%02x:%02x, mtu %u, %u queue "
		"pair%s,%s%s%s%s%s",
		v->name, v->vd.name, v->dev.mac[0], v->dev.mac[1], v->dev.mac[2], v->dev.mac[3],
		v->dev.mac[4], v->dev.mac[5], v->dev.mtu, v->nr_pairs, v->nr_pairs > 1 ? "s" : "",
		v->dev.features & NETDEV_CSUM ? " csum" : "",
		v->dev.features & NETDEV_TSO4 ? " tso" : "",
		v->vd.features & VNET_F_GUEST_TSO4 ? " lro" : "", v->merge ? " merge" : "",
		atomic_load_explicit(&v->dev.carrier, memory_order_relaxed) ? "" : " no link");
	ether_register(&v->dev);
}

void virtio_net_init(void)
{
	const struct pci_function *f;
	unsigned number = 0;

	for (unsigned i = 0; (f = pci_get(i)); i++) {
		if (f->vendor == 0x1af4 && (f->device == 0x1041 || f->device == 0x1000))
			vnet_probe(f, number++);
	}
}
