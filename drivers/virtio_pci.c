/* SPDX-License-Identifier: MIT */
/*
 * virtio over PCI, modern interface: capabilities, status, features, MSI-X.
 *
 * Sources: virtio 1.2, sections 3.1 and 4.1; PCI Local Bus 3.0, section 6.8.2.
 */
#include "drivers/virtio.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/irq.h"
#include "arch/x86_64/paging.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "kernel/thread.h"

/* Vendor capabilities: cfg_type. */
enum { CAP_COMMON = 1, CAP_NOTIFY, CAP_ISR, CAP_DEVICE };

/* Common configuration, byte offsets. */
#define C_DEVICE_FEATURE_SELECT 0
#define C_DEVICE_FEATURE        4
#define C_DRIVER_FEATURE_SELECT 8
#define C_DRIVER_FEATURE        12
#define C_MSIX_CONFIG           16
#define C_NUM_QUEUES            18
#define C_STATUS                20
#define C_GENERATION            21
#define C_LENGTH                56

#define RESET_WAIT (2 * NSEC_PER_SEC)

static uint8_t read8(const struct pci_function *f, unsigned reg)
{
	return (uint8_t)(pci_read32(f, reg & ~3u) >> (reg & 3) * 8);
}

/* Maps bytes of one of the function's memory regions; NULL. */
static volatile char *map_bar(const struct pci_function *f, unsigned bar, uint32_t off,
			      uint32_t len)
{
	uint32_t low;
	uint64_t base;

	if (bar > 5 || !len)
		return NULL;
	low = pci_read32(f, 0x10 + 4 * bar);
	if (low & 1)
		return NULL; /* ports: not for the modern interface */
	base = low & ~15u;
	if ((low & 6) == 4 && bar < 5)
		base |= (uint64_t)pci_read32(f, 0x14 + 4 * bar) << 32;
	if (!base)
		return NULL;
	return mmio_map(base + off, len, false);
}

static void msix_probe(struct virtio_device *d, unsigned cap)
{
	const struct pci_function *f = d->pci;
	uint32_t head = pci_read32(f, cap), table = pci_read32(f, cap + 4);
	unsigned n = (head >> 16 & 0x7ff) + 1;

	d->msix = map_bar(f, table & 7, table & ~7u, n * 16);
	if (!d->msix)
		return;
	d->nr_vectors = n;
	for (unsigned i = 0; i < n; i++)
		mmio_write32(d->msix + i * 16 + 12, 1); /* masked */
	pci_write32(f, cap, (head & 0xffff) | ((head >> 16 & 0x3fff) | 0x8000) << 16);
}

static void vendor_cap(struct virtio_device *d, unsigned cap)
{
	const struct pci_function *f = d->pci;
	uint8_t type = read8(f, cap + 3), bar = read8(f, cap + 4);
	uint32_t off = pci_read32(f, cap + 8), len = pci_read32(f, cap + 12);

	/* The first of a type is the one the device prefers (section 4.1.4). */
	switch (type) {
	case CAP_COMMON:
		if (!d->common && len >= C_LENGTH)
			d->common = map_bar(f, bar, off, len);
		break;
	case CAP_NOTIFY:
		if (!d->notify) {
			d->notify = map_bar(f, bar, off, len);
			d->notify_len = len;
			d->notify_multiplier = pci_read32(f, cap + 16);
		}
		break;
	case CAP_ISR:
		if (!d->isr)
			d->isr = map_bar(f, bar, off, len);
		break;
	case CAP_DEVICE:
		if (!d->config) {
			d->config = map_bar(f, bar, off, len);
			d->config_len = len;
		}
		break;
	}
}

int virtio_pci_probe(struct virtio_device *d, const struct pci_function *f)
{
	unsigned cap;

	memset(d, 0, sizeof(*d));
	d->pci = f;
	snprintf(d->name, sizeof(d->name), "%02x:%02x.%u", f->bus, f->dev, f->fn);
	if (!(pci_read32(f, 4) >> 16 & 0x10))
		return -ENODEV; /* no capabilities */
	/* Memory and bus master on, interrupt line off; the status half is write-one-to-clear. */
	pci_write32(f, 4, (pci_read32(f, 4) & 0xffff) | 0x406);
	cap = read8(f, 0x34) & 0xfc;
	for (unsigned n = 0; cap >= 0x40 && n < 48; n++) {
		uint8_t id = read8(f, cap);

		if (id == 0x09)
			vendor_cap(d, cap);
		else if (id == 0x11)
			msix_probe(d, cap);
		cap = read8(f, cap + 1) & 0xfc;
	}
	if (!d->common || !d->notify)
		return -ENODEV;
	virtio_reset(d);
	if (virtio_status(d)) {
		pr_warn("virtio: %s: does not reset", d->name);
		return -EIO;
	}
	virtio_add_status(d, VIRTIO_STATUS_ACKNOWLEDGE);
	virtio_add_status(d, VIRTIO_STATUS_DRIVER);
	return 0;
}

uint8_t virtio_status(struct virtio_device *d)
{
	return mmio_read8(d->common + C_STATUS);
}

void virtio_add_status(struct virtio_device *d, uint8_t bits)
{
	mmio_write8(d->common + C_STATUS, virtio_status(d) | bits);
}

void virtio_reset(struct virtio_device *d)
{
	uint64_t deadline = clock_ns() + RESET_WAIT;

	mmio_write8(d->common + C_STATUS, 0);
	while (virtio_status(d) && clock_ns() < deadline)
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
}

uint64_t virtio_offered(struct virtio_device *d)
{
	uint64_t v;

	mmio_write32(d->common + C_DEVICE_FEATURE_SELECT, 1);
	v = (uint64_t)mmio_read32(d->common + C_DEVICE_FEATURE) << 32;
	mmio_write32(d->common + C_DEVICE_FEATURE_SELECT, 0);
	return v | mmio_read32(d->common + C_DEVICE_FEATURE);
}

int virtio_accept(struct virtio_device *d, uint64_t want)
{
	uint64_t f = virtio_offered(d) & want;

	if (!(f & VIRTIO_F_VERSION_1)) {
		pr_warn("virtio: %s: only the legacy interface (VERSION_1 expected)", d->name);
		return -EIO;
	}
	mmio_write32(d->common + C_DRIVER_FEATURE_SELECT, 0);
	mmio_write32(d->common + C_DRIVER_FEATURE, (uint32_t)f);
	mmio_write32(d->common + C_DRIVER_FEATURE_SELECT, 1);
	mmio_write32(d->common + C_DRIVER_FEATURE, (uint32_t)(f >> 32));
	virtio_add_status(d, VIRTIO_STATUS_FEATURES_OK);
	if (!(virtio_status(d) & VIRTIO_STATUS_FEATURES_OK)) {
		pr_warn("virtio: %s: does not agree to features %#llx", d->name,
			(unsigned long long)f);
		return -EIO;
	}
	d->features = f;
	return 0;
}

unsigned virtio_nr_queues(struct virtio_device *d)
{
	return mmio_read16(d->common + C_NUM_QUEUES);
}

int virtio_vector(struct virtio_device *d, unsigned entry, unsigned cpu, void (*fn)(void *),
		  void *arg, const char *name)
{
	volatile char *e = d->msix + entry * 16;
	uint64_t addr;
	uint32_t data;
	int err;

	if (entry >= d->nr_vectors)
		return -ENOSPC;
	err = irq_request_msi(cpu, fn, arg, name, &addr, &data);
	if (err)
		return err;
	mmio_write32(e, (uint32_t)addr);
	mmio_write32(e + 4, (uint32_t)(addr >> 32));
	mmio_write32(e + 8, data);
	mmio_write32(e + 12, 0);
	return 0;
}

int virtio_config_vector(struct virtio_device *d, unsigned entry)
{
	mmio_write16(d->common + C_MSIX_CONFIG, (uint16_t)entry);
	return mmio_read16(d->common + C_MSIX_CONFIG) == entry ? 0 : -EIO;
}

uint8_t virtio_config8(struct virtio_device *d, unsigned off)
{
	return d->config && off < d->config_len ? mmio_read8(d->config + off) : 0;
}

uint16_t virtio_config16(struct virtio_device *d, unsigned off)
{
	return d->config && off + 1 < d->config_len ? mmio_read16(d->config + off) : 0;
}

void virtio_broken(struct virtio_device *d, const char *why)
{
	if (atomic_exchange_explicit(&d->broken, true, memory_order_acq_rel))
		return;
	pr_err("virtio: %s: %s; the device is shut down", d->name, why);
	/* It stops by itself; nothing waits for it here. */
	mmio_write8(d->common + C_STATUS, 0);
}
