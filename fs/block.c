/* SPDX-License-Identifier: MIT */
/*
 * Block devices: registration, claims, requests for runs of cached pages.
 */
#include "fs/block.h"
#include "fs/internal.h"

static struct mutex register_lock = MUTEX_INIT(register_lock, "block");
static _Atomic(struct block_device *) devices; /* grows only, under register_lock */

static struct block_device *find_rdev(uint64_t rdev)
{
	struct block_device *b = atomic_load_explicit(&devices, memory_order_acquire);

	while (b && b->rdev != rdev)
		b = b->next;
	return b;
}

struct block_device *block_by_inode(const struct inode *i)
{
	return S_ISBLK(i->mode) ? find_rdev(i->rdev) : NULL;
}

/* ---- the device's own mapping: block n is page n ---- */

static void dev_read_pages(struct mapping *m, struct page **pages, unsigned n)
{
	block_read_run(m->host, pages[0]->index, pages, n);
}

static void dev_write_pages(struct mapping *m, struct page **pages, unsigned n)
{
	block_write_run(m->host, pages[0]->index, pages, n);
}

static int dev_prepare_write(struct mapping *m, uint64_t index, bool within)
{
	return 0;
}

static bool dev_tryget(struct mapping *m)
{
	return true; /* devices stay */
}

static void dev_put(struct mapping *m)
{
}

static bool dev_write_ordered(struct mapping *m)
{
	struct block_device *b = m->host;
	bool claimed;

	mutex_lock(&b->lock);
	claimed = b->claimed;
	if (claimed)
		b->want_sync(b->claimed);
	mutex_unlock(&b->lock);
	return claimed;
}

static const struct mapping_ops dev_mapping_ops = {
	.write_ordered = dev_write_ordered,
	.read_pages = dev_read_pages,
	.write_pages = dev_write_pages,
	.prepare_write = dev_prepare_write,
	.tryget = dev_tryget,
	.put = dev_put,
};

int block_register(struct block_device *b)
{
	int err;

	mutex_init(&b->lock, "block.claim");
	b->claimed = NULL;
	b->writers = 0;
	atomic_init(&b->size, (int64_t)(b->pages << PAGE_SHIFT));
	err = mapping_init(&b->mapping, &dev_mapping_ops, &b->size, b);
	if (err)
		return err;
	/* Who writes a file system's metadata writes its files' data meanwhile. */
	mutex_init(&b->mapping.wb_lock, "writeback.device");
	mutex_lock(&register_lock);
	if (find_rdev(b->rdev))
		err = -EEXIST;
	else
		err = dev_register_block(b->name, 0660, b->rdev);
	if (!err) {
		b->next = atomic_load_explicit(&devices, memory_order_relaxed);
		atomic_store_explicit(&devices, b, memory_order_release);
	}
	mutex_unlock(&register_lock);
	if (err)
		mapping_destroy(&b->mapping);
	return err;
}

void block_submit(struct block_device *b, struct block_request *r)
{
	uint64_t first = r->sector / SECTORS_PER_PAGE;

	if (r->sector % SECTORS_PER_PAGE || first > b->pages || r->nr_pages > b->pages - first) {
		r->done(r, -EIO);
		return;
	}
	atomic_fetch_add_explicit(r->write ? &b->writes : &b->reads, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(r->write ? &b->written_pages : &b->read_pages, r->nr_pages,
				  memory_order_relaxed);
	b->submit(b, r);
}

struct block_device *block_find(const char *path)
{
	struct block_device *b;
	struct dentry *d;
	int err = path_lookup(AT_FDCWD, path, WALK_FOLLOW, &d);

	if (err)
		return ERR_PTR(err);
	if (!S_ISBLK(d->inode->mode)) {
		dentry_put(d);
		return ERR_PTR(-ENOTBLK);
	}
	b = block_by_inode(d->inode);
	dentry_put(d);
	return b ? b : ERR_PTR(-ENXIO);
}

int block_claim(struct block_device *b, void *who, void (*want_sync)(void *who))
{
	int err = 0;

	mutex_lock(&b->lock);
	if (b->claimed || b->writers)
		err = -EBUSY;
	if (!err) {
		b->claimed = who;
		b->want_sync = want_sync;
		/* An order that skips what could not be written is none. */
		atomic_store_explicit(&b->mapping.metadata, true, memory_order_relaxed);
	}
	mutex_unlock(&b->lock);
	return err;
}

void block_release(struct block_device *b)
{
	mutex_lock(&b->lock);
	b->claimed = NULL;
	atomic_store_explicit(&b->mapping.metadata, false, memory_order_relaxed);
	mutex_unlock(&b->lock);
}

void block_for_each(void (*fn)(const struct block_device *b, void *arg), void *arg)
{
	struct block_device *b = atomic_load_explicit(&devices, memory_order_acquire);

	for (; b; b = b->next)
		fn(b, arg);
}

/* ---- runs of cached pages ---- */

struct run {
	struct block_request req;
	struct page *pages[RUN_PAGES];
};

static void run_done(struct block_request *r, int err)
{
	struct run *run = container_of(r, struct run, req);

	for (unsigned i = 0; i < r->nr_pages; i++) {
		if (r->write)
			page_write_done(run->pages[i], err);
		else
			page_read_done(run->pages[i], err);
	}
	kfree(run);
}

static struct run *run_new(uint64_t block, struct page **pages, unsigned n, bool write)
{
	struct run *run = kmalloc(sizeof(*run), GFP_KERNEL);

	if (!run)
		return NULL;
	memcpy(run->pages, pages, n * sizeof(*pages));
	run->req = (struct block_request){
		.sector = block * SECTORS_PER_PAGE,
		.pages = run->pages,
		.nr_pages = n,
		.write = write,
		.done = run_done,
	};
	return run;
}

void block_read_run(struct block_device *b, uint64_t block, struct page **pages, unsigned n)
{
	struct run *run = run_new(block, pages, n, false);

	if (run) {
		block_submit(b, &run->req);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		page_read_done(pages[i], -ENOMEM);
}

void block_write_run(struct block_device *b, uint64_t block, struct page **pages, unsigned n)
{
	struct run *run = run_new(block, pages, n, true);

	if (run) {
		block_submit(b, &run->req);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		page_write_done(pages[i], -ENOMEM);
}
