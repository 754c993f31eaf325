/* SPDX-License-Identifier: MIT */
/*
 * virtio devices over PCI (virtio 1.2, section 4.1) and their split rings
 * (section 2.7).
 *
 * A device is trusted with the memory it is shown, but not with what it says:
 * ids, lengths and the used index are checked, and a device that lies is marked
 * broken and told to stop.
 */
#ifndef DRIVERS_VIRTIO_H
#define DRIVERS_VIRTIO_H

#include "arch/arch.h"
#include "drivers/pci.h"

#define VIRTIO_F_INDIRECT_DESC (1ULL << 28)
#define VIRTIO_F_EVENT_IDX     (1ULL << 29)
#define VIRTIO_F_VERSION_1     (1ULL << 32)

#define VIRTIO_STATUS_ACKNOWLEDGE 1
#define VIRTIO_STATUS_DRIVER      2
#define VIRTIO_STATUS_DRIVER_OK   4
#define VIRTIO_STATUS_FEATURES_OK 8
#define VIRTIO_STATUS_NEEDS_RESET 64
#define VIRTIO_STATUS_FAILED      128
#define VIRTIO_NO_VECTOR          0xffff

struct virtio_device {
	const struct pci_function *pci;
	volatile char *common, *notify, *isr, *config; /* register blocks */
	uint32_t notify_multiplier, notify_len, config_len;
	volatile char *msix;   /* vector table */
	unsigned nr_vectors;   /* entries of it; 0: no MSI-X */
	uint64_t features;     /* agreed on */
	_Atomic bool broken;   /* lied; nothing is asked of it any more */
	char name[16];         /* for messages */
};

/* Reads capabilities, maps registers, resets.  -ENODEV: not a modern device; -EIO, -ENOMEM. */
int virtio_pci_probe(struct virtio_device *d, const struct pci_function *f);
void virtio_reset(struct virtio_device *d); /* waits, bounded, until the device has stopped */
uint8_t virtio_status(struct virtio_device *d);
void virtio_add_status(struct virtio_device *d, uint8_t bits);
uint64_t virtio_offered(struct virtio_device *d);
/* Accepts @want of what is offered and asks whether the device agrees: 0 or -EIO. */
int virtio_accept(struct virtio_device *d, uint64_t want);
unsigned virtio_nr_queues(struct virtio_device *d);
/* Directs table entry @entry to @fn(@arg) on @cpu: 0, -ENOSPC, -EINVAL. */
int virtio_vector(struct virtio_device *d, unsigned entry, unsigned cpu, void (*fn)(void *),
		  void *arg, const char *name);
int virtio_config_vector(struct virtio_device *d, unsigned entry);
uint8_t virtio_config8(struct virtio_device *d, unsigned off);
uint16_t virtio_config16(struct virtio_device *d, unsigned off);
/* Says what was wrong, once, and stops the device. */
void virtio_broken(struct virtio_device *d, const char *why);

struct vring_desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags, next;
};
struct vring_avail {
	_Atomic uint16_t flags, idx;
	uint16_t ring[]; /* behind it: used_event */
};
struct vring_used {
	_Atomic uint16_t flags, idx;
	struct { uint32_t id, len; } ring[]; /* behind it: avail_event */
};

#define VIRTQ_PARTS 24 /* pieces of one buffer, at most */
/* Pieces that lie in the ring itself while half of it is free: a table costs the device a look. */
#define VIRTQ_DIRECT 3

struct virtq_part {
	void *addr; /* in the direct map */
	uint32_t len;
};

/* One buffer in the ring, by the index of its first descriptor. */
struct virtq_slot {
	void *token;     /* the driver's; NULL: not with the device */
	uint32_t room;   /* bytes the device may write */
	uint16_t count;  /* descriptors used */
	uint16_t next;   /* free list, and chain while in use */
};

/*
 * A queue.  Not locked: the driver lets one thread at a time use it.  What the
 * device can write is only read through used; every other field is ours.
 */
struct virtq {
	struct virtio_device *dev;
	uint16_t index, size;
	bool event_idx, indirect;
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	_Atomic uint16_t *used_event, *avail_event;
	volatile char *notify;
	struct virtq_slot *slots;
	struct vring_desc *tables;   /* indirect: VIRTQ_PARTS for each slot */
	uint16_t free, nr_free;
	uint16_t inflight;           /* buffers with the device */
	uint16_t avail_idx;          /* next to fill */
	uint16_t kicked;             /* avail_idx at the last decision about a kick */
	uint16_t last_used;
};

/**
 * virtq_init - make queue @index and hand it to the device
 * @entry: MSI-X table entry, or VIRTIO_NO_VECTOR
 * @max_size: entries wanted at most
 * Return: 0, -ENOENT (no such queue), -ENOMEM, -EIO (the device refuses the vector).
 */
int virtq_init(struct virtio_device *d, struct virtq *q, unsigned index, unsigned entry,
	       unsigned max_size, bool indirect);
void virtq_free(struct virtq *q); /* after a reset; tokens are the driver's business */
/* For cleaning up after a reset: the next token still in the ring, or NULL. */
void *virtq_take(struct virtq *q);

/**
 * virtq_add - put a buffer into the ring; the device sees it at virtq_publish() or virtq_kick()
 * @out: parts that the device reads, which come first
 * @in: parts that the device writes
 * Return: 0 or -ENOSPC.
 */
int virtq_add(struct virtq *q, const struct virtq_part *parts, unsigned out, unsigned in,
	      void *token);
void virtq_kick(struct virtq *q);
/*
 * A device that looks at the ring anyway sees what was added; one that does not hears
 * of it by virtq_kick().
 */
void virtq_publish(struct virtq *q);
/* Buffers added since the device was last told. */
static inline unsigned virtq_untold(const struct virtq *q)
{
	return (uint16_t)(q->avail_idx - q->kicked);
}
/* The next buffer the device is done with; NULL: none, or it lied. */
void *virtq_get(struct virtq *q, uint32_t *len);
bool virtq_more(const struct virtq *q);
/* How many buffers the device says it is done with. */
static inline unsigned virtq_pending(const struct virtq *q)
{
	return (uint16_t)(atomic_load_explicit(&q->used->idx, memory_order_relaxed) - q->last_used);
}
/**
 * virtq_arm - ask for an interrupt once @after further buffers are done (0: the next one)
 * Return: false if they are done already: look again.
 */
bool virtq_arm(struct virtq *q, unsigned after);
/* No interrupt until virtq_arm(); one may be on its way. */
void virtq_quiet(struct virtq *q);
/* Room for @parts more without looking for finished buffers? */
static inline bool virtq_room(const struct virtq *q, unsigned parts)
{
	return q->nr_free >= (q->indirect && parts > 1 ? 1 : parts);
}

void virtio_net_init(void); /* init step: looks for devices; nothing happens without one */

#endif /* DRIVERS_VIRTIO_H */
