/* SPDX-License-Identifier: MIT */
/*
 * RAM disks: /dev/ram0 … with a stated latency and bandwidth.
 *
 * What:      ramdisk=SIZE[,SIZE…] makes disks at start; writing a SIZE to
 *            /proc/sys/tally/ramdisk/new makes another one (reading it lists them).
 *            Memory is taken page by page when first written, counts as kernel memory
 *            and is charged to nobody; what was never written reads as zeroes.
 * Time:      a request is done ramdisk.latency_us after the disk has moved its bytes,
 *            one request after the other at ramdisk.mbps (10^6 bytes a second; 0:
 *            without limit).  With neither, requests are served where they are
 *            submitted; else a thread per disk serves them in order when they are due.
 * Locks:     a disk's lock over its queue.  Requests for one page are served in the
 *            order submitted, or are not ordered by their users either.
 */
#include "fs/block.h"
#include "drivers/ramdisk.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/string.h"
#include "kernel/wait.h"
#include "mm/slab.h"
#include "mm/vmalloc.h"

#define RAMDISK_MAJOR 1
#define MAX_DISKS     16

static unsigned latency_us, mbps, fail_reads, fail_writes;
PARAM_UINT("ramdisk.latency_us", latency_us, 0, 10000000, PARAM_RW,
	   "microseconds from the end of a RAM disk's transfer to its completion");
PARAM_UINT("ramdisk.mbps", mbps, 0, 1000000, PARAM_RW,
	   "megabytes a second that a RAM disk moves; 0: as fast as memory");

PARAM_UINT("ramdisk.fail_reads", fail_reads, 0, 1000000000, PARAM_RW,
	   "of a RAM disk's requests to read every Nth fails, on purpose; 0: none");
PARAM_UINT("ramdisk.fail_writes", fail_writes, 0, 1000000000, PARAM_RW,
	   "of a RAM disk's requests to write every Nth fails, on purpose; 0: none");

struct ramdisk {
	struct block_device dev;
	_Atomic unsigned asked[2];     /* [a] requests to read and to write, for those to fail */
	_Atomic(struct page *) *pages; /* [a] one per page of the disk; NULL: zeroes */
	_Atomic uint64_t used;         /* [a] pages of memory taken */
	struct spinlock lock;
	struct list_head queue;        /* under lock; in order of submission */
	uint64_t free_at;              /* under lock; when the last transfer ends */
	struct wait_queue wait;        /* the thread */
};

static struct ramdisk *disks[MAX_DISKS];
static _Atomic unsigned nr_disks; /* grows, under create_lock */
static struct mutex create_lock = MUTEX_INIT(create_lock, "ramdisk");
static char at_start[128];
PARAM_STRING("ramdisk", at_start, PARAM_RO,
	     "sizes of the RAM disks made at start: bytes, K, M or G, with commas");

/* The memory of page @n for writing, or NULL. */
static struct page *page_of(struct ramdisk *d, uint64_t n)
{
	struct page *p = atomic_load_explicit(&d->pages[n], memory_order_acquire), *new;

	if (p)
		return p;
	/* Write-back makes memory free: it may use the reserve. */
	new = page_alloc(0, PAGE_KERNEL, GFP_ATOMIC | GFP_NOWARN);
	if (!new)
		return NULL;
	if (!atomic_compare_exchange_strong_explicit(&d->pages[n], &p, new, memory_order_acq_rel,
						     memory_order_acquire)) {
		page_put(new);
		return p;
	}
	atomic_fetch_add_explicit(&d->used, 1, memory_order_relaxed);
	return new;
}

/*
 * Is @r one of those that are to fail?  A broken disk may have moved some bytes or
 * none: here none.
 */
static bool fails(struct ramdisk *d, const struct block_request *r)
{
	unsigned every = r->write ? fail_writes : fail_reads;

	return unlikely(every) &&
	       atomic_fetch_add_explicit(&d->asked[r->write], 1, memory_order_relaxed) % every ==
		       every - 1;
}

static void serve(struct ramdisk *d, struct block_request *r)
{
	uint64_t n = r->sector / SECTORS_PER_PAGE;
	int err = 0;

	if (fails(d, r)) {
		r->done(r, -EIO);
		return;
	}
	for (unsigned i = 0; i < r->nr_pages; i++, n++) {
		void *mem = page_virt(r->pages[i]);
		struct page *p = r->write
					 ? page_of(d, n)
					 : atomic_load_explicit(&d->pages[n], memory_order_acquire);

		if (r->write && !p)
			err = -ENOMEM;
		else if (r->write)
			copy_page(page_virt(p), mem);
		else if (p)
			copy_page(mem, page_virt(p));
		else
			clear_page(mem);
	}
	r->done(r, err);
}

static void submit(struct block_device *b, struct block_request *r)
{
	struct ramdisk *d = b->priv;
	uint64_t now, bytes = (uint64_t)r->nr_pages << PAGE_SHIFT;

	if (!latency_us && !mbps) {
		serve(d, r);
		return;
	}
	now = clock_ns();
	spin_lock(&d->lock);
	d->free_at = max(d->free_at, now) + (mbps ? bytes * 1000 / mbps : 0);
	r->due = d->free_at + latency_us * NSEC_PER_USEC;
	list_add_tail(&r->link, &d->queue);
	spin_unlock(&d->lock);
	wake_up(&d->wait);
}

/* The request at the head, if it is due; else *@due says when (UINT64_MAX: none). */
static struct block_request *next_due(struct ramdisk *d, uint64_t *due)
{
	struct block_request *r = NULL;

	*due = UINT64_MAX;
	spin_lock(&d->lock);
	if (!list_empty(&d->queue)) {
		r = list_first_entry(&d->queue, struct block_request, link);
		*due = r->due;
		if (r->due <= clock_ns())
			list_del(&r->link);
		else
			r = NULL;
	}
	spin_unlock(&d->lock);
	return r;
}

static void disk_thread(void *arg)
{
	struct ramdisk *d = arg;

	for (;;) {
		struct block_request *r;
		uint64_t due;

		(void)wait_event_timeout(&d->wait, (r = next_due(d, &due)) || due != UINT64_MAX,
					 UINT64_MAX);
		if (r)
			serve(d, r);
		else
			thread_sleep_until(due, false);
	}
}

static int create(uint64_t bytes)
{
	unsigned nr = atomic_load_explicit(&nr_disks, memory_order_relaxed);
	struct ramdisk *d;
	struct thread *t;
	int err = -ENOMEM;

	if (bytes < PAGE_SIZE)
		return -EINVAL;
	if (nr == MAX_DISKS)
		return -ENOSPC;
	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return -ENOMEM;
	d->dev.pages = bytes >> PAGE_SHIFT;
	if (d->dev.pages > SIZE_MAX / sizeof(*d->pages) / 2)
		goto free;
	d->pages = vmalloc(d->dev.pages * sizeof(*d->pages), GFP_NOWARN);
	if (!d->pages)
		goto free;
	snprintf(d->dev.name, sizeof(d->dev.name), "ram%u", nr);
	d->dev.rdev = MKDEV(RAMDISK_MAJOR, nr);
	d->dev.submit = submit;
	d->dev.priv = d;
	spin_init(&d->lock, "ramdisk.queue");
	list_init(&d->queue);
	wq_init(&d->wait, "ramdisk.wait");
	t = thread_create(d->dev.name, disk_thread, d, -1);
	if (IS_ERR(t))
		goto free;
	err = block_register(&d->dev);
	if (err) {
		thread_put(t); /* never ran */
		goto free;
	}
	thread_start(t);
	thread_put(t);
	disks[nr] = d;
	atomic_store_explicit(&nr_disks, nr + 1, memory_order_release);
	pr_info("ramdisk: /dev/%s, %llu MiB, latency %u us, %u MB/s%s", d->dev.name,
		(unsigned long long)(d->dev.pages >> (20 - PAGE_SHIFT)), latency_us, mbps,
		mbps ? "" : " (no limit)");
	return 0;
free:
	if (d->pages)
		vfree((void *)d->pages);
	kfree(d);
	return err;
}

/* "SIZE[,SIZE…]". */
static int create_list(const char *text)
{
	int err = 0;

	mutex_lock(&create_lock);
	while (*text && !err) {
		char word[32];
		size_t n = 0;
		uint64_t bytes;

		while (text[n] && text[n] != ',')
			n++;
		err = -EINVAL;
		if (n < sizeof(word)) {
			memcpy(word, text, n);
			word[n] = '\0';
			err = parse_size(word, &bytes);
		}
		if (!err)
			err = create(bytes);
		text += n + (text[n] == ',');
	}
	mutex_unlock(&create_lock);
	return err;
}

static int set_param(const struct param *p, const char *value)
{
	int err;

	/* only "ramdisk" can be asked for before there is memory */
	if (!current || !current->process)
		return -EINVAL;
	err = *value ? create_list(value) : -EINVAL;
	if (err == -EINVAL)
		pr_warn("ramdisk: \"%s\": expected a size in bytes, K, M or G, or several with "
			"commas",
			value);
	return err;
}

static int get_param(const struct param *p, char *buf, size_t n)
{
	size_t len = 0;
	unsigned have;

	if (n)
		buf[0] = '\0';
	have = atomic_load_explicit(&nr_disks, memory_order_acquire);
	for (unsigned i = 0; i < have && len + 32 < n; i++)
		len += (size_t)snprintf(buf + len, n - len, "%s%llu", i ? "," : "",
					(unsigned long long)(disks[i]->dev.pages << PAGE_SHIFT));
	return (int)len;
}
PARAM_CUSTOM("ramdisk.new", set_param, get_param, PARAM_RW,
	     "a size written here makes another RAM disk; reads as the sizes of those there are");

void ramdisk_init(void)
{
	int err = create_list(at_start);

	if (err)
		pr_warn("ramdisk=%s: expected sizes in bytes, K, M or G that fit into memory "
			"(error %d)",
			at_start, -err);
}
