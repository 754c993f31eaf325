/* SPDX-License-Identifier: MIT */
/*
 * Split rings: virtio 1.2, section 2.7.
 *
 * Order: a descriptor is complete before the available index says so (release),
 * and a used entry is read after the used index (acquire).  With event indices
 * two places need store before load, so a full fence: available index before
 * avail_event (kick), used_event before used index (arm).
 */
#include "drivers/virtio.h"
#include "arch/x86_64/cpu.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "mm/slab.h"

#define C_QUEUE_SELECT     22
#define C_QUEUE_SIZE       24
#define C_QUEUE_VECTOR     26
#define C_QUEUE_ENABLE     28
#define C_QUEUE_NOTIFY_OFF 30
#define C_QUEUE_DESC       32
#define C_QUEUE_DRIVER     40
#define C_QUEUE_DEVICE     48

#define DESC_NEXT     1
#define DESC_WRITE    2
#define DESC_INDIRECT 4
#define USED_NO_NOTIFY     1
#define AVAIL_NO_INTERRUPT 1
#define NO_SLOT 0xffff

static uint64_t phys(const void *v)
{
	return virt_to_pfn(v) << PAGE_SHIFT | ((uintptr_t)v & (PAGE_SIZE - 1));
}

static void write64(volatile char *reg, uint64_t v)
{
	mmio_write32(reg, (uint32_t)v);
	mmio_write32(reg + 4, (uint32_t)(v >> 32));
}

/* Bytes of a ring of @n entries, and where its parts begin. */
static size_t layout(unsigned n, size_t *avail, size_t *used)
{
	*avail = n * sizeof(struct vring_desc);
	*used = ALIGN_UP(*avail + 4 + 2 * n + 2, (size_t)64);
	return *used + 4 + 8 * n + 2;
}

static unsigned order_of(size_t bytes)
{
	unsigned order = 0;

	while ((PAGE_SIZE << order) < bytes)
		order++;
	return order;
}

int virtq_init(struct virtio_device *d, struct virtq *q, unsigned index, unsigned entry,
	       unsigned max_size, bool indirect)
{
	volatile char *c = d->common;
	size_t avail_at, used_at, bytes;
	struct page *page;
	uint32_t notify;
	unsigned n;
	char *base;

	memset(q, 0, sizeof(*q));
	q->dev = d;
	q->index = (uint16_t)index;
	mmio_write16(c + C_QUEUE_SELECT, (uint16_t)index);
	n = mmio_read16(c + C_QUEUE_SIZE);
	notify = mmio_read16(c + C_QUEUE_NOTIFY_OFF) * d->notify_multiplier;
	if (!n || (n & (n - 1)) || n > 32768 || notify + 2 > d->notify_len)
		return -ENOENT;
	while (n > max_size)
		n /= 2;
	bytes = layout(n, &avail_at, &used_at);
	page = page_alloc(order_of(bytes), PAGE_KERNEL, GFP_KERNEL | GFP_ZERO);
	q->slots = kzalloc(n * sizeof(*q->slots), GFP_KERNEL);
	q->indirect = indirect && (d->features & VIRTIO_F_INDIRECT_DESC);
	if (q->indirect)
		q->tables = kmalloc(n * VIRTQ_PARTS * sizeof(*q->tables), GFP_KERNEL);
	if (!page || !q->slots || (q->indirect && !q->tables)) {
		if (page)
			page_put(page);
		kfree(q->slots);
		kfree(q->tables);
		q->slots = NULL;
		q->tables = NULL;
		return -ENOMEM;
	}
	base = page_virt(page);
	q->size = (uint16_t)n;
	q->desc = (struct vring_desc *)base;
	q->avail = (struct vring_avail *)(base + avail_at);
	q->used = (struct vring_used *)(base + used_at);
	q->used_event = (_Atomic uint16_t *)&q->avail->ring[n];
	q->avail_event = (_Atomic uint16_t *)&q->used->ring[n];
	q->event_idx = (d->features & VIRTIO_F_EVENT_IDX) != 0;
	q->notify = d->notify + notify;
	q->nr_free = (uint16_t)n;
	for (unsigned i = 0; i < n; i++)
		q->slots[i].next = i + 1 < n ? (uint16_t)(i + 1) : NO_SLOT;
	mmio_write16(c + C_QUEUE_SIZE, (uint16_t)n);
	write64(c + C_QUEUE_DESC, phys(q->desc));
	write64(c + C_QUEUE_DRIVER, phys(q->avail));
	write64(c + C_QUEUE_DEVICE, phys(q->used));
	mmio_write16(c + C_QUEUE_VECTOR, (uint16_t)entry);
	if (mmio_read16(c + C_QUEUE_VECTOR) != entry) {
		virtq_free(q);
		return -EIO;
	}
	mmio_write16(c + C_QUEUE_ENABLE, 1);
	return 0;
}

void virtq_free(struct virtq *q)
{
	if (q->desc)
		page_put(virt_to_page(q->desc));
	kfree(q->slots);
	kfree(q->tables);
	memset(q, 0, sizeof(*q));
}

void *virtq_take(struct virtq *q)
{
	for (unsigned i = 0; i < q->size; i++) {
		void *token = q->slots[i].token;

		if (token) {
			q->slots[i].token = NULL;
			return token;
		}
	}
	return NULL;
}

static void fill(struct vring_desc *d, const struct virtq_part *p, uint16_t flags, uint16_t next)
{
	d->addr = phys(p->addr);
	d->len = p->len;
	d->flags = flags;
	d->next = next;
}

int virtq_add(struct virtq *q, const struct virtq_part *parts, unsigned out, unsigned in,
	      void *token)
{
	unsigned n = out + in, at;
	uint16_t head = q->free;
	struct virtq_slot *s;

	if (!n || n > VIRTQ_PARTS || !virtq_room(q, n))
		return -ENOSPC;
	s = &q->slots[head];
	s->token = token;
	s->room = 0;
	for (unsigned i = out; i < n; i++)
		s->room += parts[i].len;
	if (q->indirect && (n > VIRTQ_DIRECT || (n > 1 && q->nr_free < q->size / 2))) {
		struct vring_desc *t = q->tables + (size_t)head * VIRTQ_PARTS;
		struct virtq_part whole = { t, n * (uint32_t)sizeof(*t) };

		for (unsigned i = 0; i < n; i++)
			fill(&t[i], &parts[i],
			     (i >= out ? DESC_WRITE : 0) | (i + 1 < n ? DESC_NEXT : 0),
			     (uint16_t)(i + 1));
		fill(&q->desc[head], &whole, DESC_INDIRECT, 0);
		s->count = 1;
		q->free = s->next;
	} else {
		at = head;
		for (unsigned i = 0; i < n; i++) {
			fill(&q->desc[at], &parts[i],
			     (i >= out ? DESC_WRITE : 0) | (i + 1 < n ? DESC_NEXT : 0),
			     q->slots[at].next);
			if (i + 1 == n)
				q->free = q->slots[at].next;
			at = q->slots[at].next;
		}
		s->count = (uint16_t)n;
	}
	q->nr_free -= s->count;
	q->inflight++;
	q->avail->ring[q->avail_idx & (q->size - 1)] = head;
	q->avail_idx++;
	return 0;
}

void virtq_publish(struct virtq *q)
{
	atomic_store_explicit(&q->avail->idx, q->avail_idx, memory_order_release);
}

void virtq_kick(struct virtq *q)
{
	uint16_t now = q->avail_idx, old = q->kicked;
	bool need;

	if (now == old)
		return;
	virtq_publish(q);
	atomic_thread_fence(memory_order_seq_cst);
	if (q->event_idx) {
		uint16_t event = atomic_load_explicit(q->avail_event, memory_order_relaxed);

		need = (uint16_t)(now - event - 1) < (uint16_t)(now - old);
	} else {
		need = !(atomic_load_explicit(&q->used->flags, memory_order_relaxed) &
			 USED_NO_NOTIFY);
	}
	q->kicked = now;
	if (need && !atomic_load_explicit(&q->dev->broken, memory_order_relaxed))
		mmio_write16(q->notify, q->index);
}

bool virtq_more(const struct virtq *q)
{
	return atomic_load_explicit(&q->used->idx, memory_order_acquire) != q->last_used &&
	       !atomic_load_explicit(&q->dev->broken, memory_order_relaxed);
}

void *virtq_get(struct virtq *q, uint32_t *len)
{
	uint16_t idx, at;
	uint32_t id, n;
	struct virtq_slot *s;
	void *token;

	if (!virtq_more(q))
		return NULL;
	idx = atomic_load_explicit(&q->used->idx, memory_order_acquire);
	if ((uint16_t)(idx - q->last_used) > q->inflight) {
		virtio_broken(q->dev, "used index beyond what was offered");
		return NULL;
	}
	id = __atomic_load_n(&q->used->ring[q->last_used & (q->size - 1)].id, __ATOMIC_RELAXED);
	n = __atomic_load_n(&q->used->ring[q->last_used & (q->size - 1)].len, __ATOMIC_RELAXED);
	if (id >= q->size || !q->slots[id].token) {
		virtio_broken(q->dev, "used entry names a buffer that it was not given");
		return NULL;
	}
	s = &q->slots[id];
	if (n > s->room) {
		/*
		 * Bytes "written" to a buffer it only reads mean nothing; behind a
		 * buffer's end they do.
		 */
		if (s->room) {
			virtio_broken(q->dev, "used entry longer than its buffer");
			return NULL;
		}
		n = 0;
	}
	q->last_used++;
	q->inflight--;
	token = s->token;
	s->token = NULL;
	/* The chain's descriptors go back to the free list. */
	at = (uint16_t)id;
	for (unsigned i = 1; i < s->count; i++)
		at = q->slots[at].next;
	q->slots[at].next = q->free;
	q->free = (uint16_t)id;
	q->nr_free += s->count;
	*len = n;
	return token;
}

void virtq_quiet(struct virtq *q)
{
	if (q->event_idx)
		atomic_store_explicit(q->used_event, (uint16_t)(q->last_used - 1),
				      memory_order_relaxed);
	else
		atomic_store_explicit(&q->avail->flags, AVAIL_NO_INTERRUPT, memory_order_relaxed);
}

bool virtq_arm(struct virtq *q, unsigned after)
{
	if (q->event_idx)
		atomic_store_explicit(q->used_event, (uint16_t)(q->last_used + after),
				      memory_order_relaxed);
	else
		atomic_store_explicit(&q->avail->flags, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	return (uint16_t)(atomic_load_explicit(&q->used->idx, memory_order_acquire) -
			  q->last_used) <= after ||
	       atomic_load_explicit(&q->dev->broken, memory_order_relaxed);
}
