/* SPDX-License-Identifier: MIT */
/*
 * What the virtio network driver keeps per device and per queue pair; numbers of
 * virtio 1.2, section 5.1.
 */
#ifndef DRIVERS_VIRTIO_NET_H
#define DRIVERS_VIRTIO_NET_H

#include "drivers/virtio.h"
#include "kernel/idle_poll.h"
#include "kernel/lock.h"
#include "kernel/timer.h"
#include "kernel/wait.h"
#include "kernel/work.h"
#include "net/ether.h"
#include "net/gro.h"

#define VNET_F_CSUM       (1ULL << 0)
#define VNET_F_GUEST_CSUM (1ULL << 1)
#define VNET_F_CTRL_GUEST_OFFLOADS (1ULL << 2)
#define VNET_F_MTU        (1ULL << 3)
#define VNET_F_MAC        (1ULL << 5)
#define VNET_F_GUEST_TSO4 (1ULL << 7)
#define VNET_F_GUEST_TSO6 (1ULL << 8)
#define VNET_F_HOST_TSO4  (1ULL << 11)
#define VNET_F_HOST_TSO6  (1ULL << 12)
#define VNET_F_MRG_RXBUF  (1ULL << 15)
#define VNET_F_STATUS     (1ULL << 16)
#define VNET_F_CTRL_VQ    (1ULL << 17)
#define VNET_F_CTRL_RX    (1ULL << 18)
#define VNET_F_GUEST_ANNOUNCE (1ULL << 21)
#define VNET_F_CTRL_MAC_ADDR (1ULL << 23)
#define VNET_F_MQ         (1ULL << 22)

/* Configuration: offsets, and bits of the status. */
#define CONFIG_STATUS 6
#define CONFIG_PAIRS  8
#define CONFIG_MTU    10
#define STATUS_LINK_UP  1
#define STATUS_ANNOUNCE 2

/* Commands: class and command. */
#define CTRL_RX 0
#define CTRL_RX_PROMISC  0
#define CTRL_RX_ALLMULTI 1
#define CTRL_MAC 1
#define CTRL_MAC_ADDR_SET 1
#define CTRL_ANNOUNCE 3
#define CTRL_ANNOUNCE_ACK 0
#define CTRL_MQ 4
#define CTRL_MQ_PAIRS_SET 0
#define CTRL_OFFLOADS 5
#define CTRL_OFFLOADS_SET 0
#define COMMAND_DATA 32 /* bytes of class, command and data; the acknowledgement lies behind */

#define HDR_NEEDS_CSUM 1
#define HDR_DATA_VALID 2
#define GSO_TCPV4 1
#define GSO_TCPV6 4

struct virtio_net_hdr {
	uint8_t flags, gso_type;
	uint16_t hdr_len, gso_size, csum_start, csum_offset, num_buffers;
};
_Static_assert(sizeof(struct virtio_net_hdr) == 12, "header of modern devices");

/* A packet on its way out: headers copied, payload referenced. */
struct vnet_slot {
	uint8_t head[sizeof(struct virtio_net_hdr) + PBUF_HEAD];
	struct pdata *data;
	struct pbuf *paid; /* without its payload: a sender is charged until the device is done */
	struct vnet_slot *next;
};

/* Without merged buffers each must take the largest packet: a chain of pages. */
#define VNET_RX_PAGES   17u /* 65 562 bytes: what a device that merges segments may hand over */
#define VNET_RX_CHAINS  64u /* such chains in a ring, at most: 4.25 MiB */
struct vnet_chain {
	struct page *pages[VNET_RX_PAGES]; /* NULL: used up, to be replaced */
	struct vnet_chain *next;
};

struct vnet;
struct vnet_queue {
	struct vnet *v;
	unsigned cpu;
	_Atomic(struct thread *) thread;
	char name[16];
	struct idle_poller poller; /* this CPU looks at rx while it idles */
	/* The thread's. */
	struct virtq rx;
	struct vnet_chain *chains, *free_chains; /* where a buffer is several pages */
	/* pages that came back and go into the next chain */
	struct page *spare[VNET_RX_PAGES];
	unsigned nr_spare;
	struct page *small;   /* small payloads are copied here */
	unsigned small_off;
	struct gro gro;       /* empty between bursts */
	/* takes packets in: what it answers the device is told of at the end */
	bool batching;
	/* Senders'. */
	struct spinlock tx_lock __attribute__((aligned(CACHE_LINE)));
	struct virtq tx;
	struct vnet_slot *slots, *free;
	struct pqueue backlog;
	struct pqueue sent;   /* paid packets that the device is done with; freed without tx_lock */
	unsigned nr_paid;     /* packets in slots that somebody is charged for */
	struct timer collect; /* while the device has something: looks whether it is done */
	bool congested;       /* counted in netdev.congested */
	bool collect_soon;    /* the timer is set for what is charged */
};

struct vnet {
	struct virtio_device vd;
	struct netdev dev;
	char name[8];
	bool merge;                /* the device may use several buffers for a packet */
	unsigned rx_pages;         /* in a receive buffer */
	unsigned nr_pairs;
	struct vnet_queue *queues;
	struct mutex ctrl_lock;    /* protects the next three */
	struct virtq ctrl;
	bool ctrl_dead;            /* a command was not answered in time */
	uint8_t command[COMMAND_DATA + 1];
	struct work config_work;
};

/* Receiving (virtio_net_rx.c); the queue's thread. */
bool vnet_rx_one(struct vnet_queue *q); /* false: the ring is empty, or the device lied */
int vnet_rx_init(struct vnet_queue *q); /* 0, -ENOMEM */
void vnet_rx_refill(struct vnet_queue *q);

/* Sending (virtio_net_tx.c). */
void vnet_tx_start(struct netdev *dev, struct pbuf *p); /* netdev.start */
void vnet_tx_start_many(struct netdev *dev, struct pqueue *list);
/* collects what has been sent, sends and tells of what waits */
void vnet_tx_service(struct vnet_queue *q);
void vnet_tx_collect(struct timer *t);      /* the same, when nobody sends */
/* the device has been reset: what it held and what waits goes */
void vnet_tx_abandon(struct vnet_queue *q);

/* Pairs (virtio_net_queue.c).  -ENOMEM, -ENOSPC (vectors), -ENOENT, -EIO. */
int vnet_queue_init(struct vnet *v, unsigned i);
int vnet_queue_start(struct vnet_queue *q);
void vnet_shut_down(struct vnet *v); /* the device is broken: no link, threads end */

/* Commands and events (virtio_net_ctrl.c). */
/* One command to the control queue; waits, bounded.  Return: 0, -EIO, -ETIMEDOUT. */
int vnet_command(struct vnet *v, uint8_t class, uint8_t cmd, const void *data, unsigned n);
int vnet_set_mac(struct netdev *dev, const uint8_t *mac); /* netdev.set_mac */
/* Lets the device merge received segments, or not; nothing happens if that is not negotiable. */
void vnet_set_lro(struct vnet *v, bool on);
void vnet_config_interrupt(void *v);
void vnet_config_work(struct work *w);

#endif /* DRIVERS_VIRTIO_NET_H */
