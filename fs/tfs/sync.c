/* SPDX-License-Identifier: MIT */
/*
 * tfs: writing it all to the device, in an order that a crash cannot turn against us.
 *
 *	0  superblock: in use           (first time only)
 *	1  data of dirty files; their inodes go into the inode table's pages
 *	2  bitmap and lists of extents
 *	3  inode table
 *	4  directories
 *	5  what was freed before 0 may be used again
 *
 * Each step is on the device before the next begins.  A crash after 2 leaves blocks in
 * use that no inode has, after 3 inodes that no directory names (or an entry whose inode
 * is gone): fsck.tfs gives them back.  A block never belongs to two files, since nothing
 * is used again before the inode that had it is stored without it.
 */
#include "fs/tfs/tfs.h"

#define SYNC_EVERY_NS (5 * NSEC_PER_SEC)

struct page *tfs_meta_page(struct tfs *fs, uint64_t block, bool fresh)
{
	struct page *p;
	int err;

	for (;;) {
		p = page_cache_find(fs->meta, block);
		if (p)
			return p;
		if (!fresh)
			return page_cache_read(fs->meta, NULL, block, 1);
		p = page_alloc(0, PAGE_FILE, GFP_ZERO);
		if (!p)
			return ERR_PTR(-ENOMEM);
		err = page_cache_add(fs->meta, block, p);
		if (!err)
			return p;
		page_put(p);
		if (err != -EEXIST)
			return ERR_PTR(err);
		fresh = false; /* somebody is reading it */
	}
}

int tfs_write_super(struct tfs *fs, uint32_t state)
{
	struct page *p = tfs_meta_page(fs, 0, false);
	uint32_t was = fs->sb.state;
	struct tfs_super *sb;
	int err;

	if (IS_ERR(p))
		return (int)PTR_ERR(p);
	fs->sb.state = state;
	fs->sb.crc = 0;
	fs->sb.crc = tfs_crc(&fs->sb, sizeof(fs->sb));
	sb = page_virt(p);
	*sb = fs->sb;
	page_mark_dirty(p);
	page_put(p);
	err = mapping_write_locked(fs->meta, 0, 0);
	if (err)
		fs->sb.state = was; /* to be tried again */
	return err;
}

/* The next inode of the dirty list, referenced.  One that is being evicted takes itself off. */
static struct tfs_inode *next_dirty(struct tfs *fs, struct list_head *work)
{
	struct tfs_inode *ti = NULL, *c;

	spin_lock(&fs->icache_lock);
	list_for_each_entry(c, work, dirty) {
		if (tfs_mapping_ops.tryget(&c->map)) {
			ti = c;
			list_del(&ti->dirty);
			break;
		}
	}
	spin_unlock(&fs->icache_lock);
	return ti;
}

/* Directories whose blocks are written last.  Grows; NULL entries never. */
struct dirs {
	struct tfs_inode **v;
	unsigned nr, cap;
};

static int dirs_add(struct dirs *d, struct tfs_inode *ti)
{
	if (d->nr == d->cap) {
		unsigned cap = d->cap ? 2 * d->cap : 16;
		struct tfs_inode **v = kmalloc(cap * sizeof(*v), GFP_KERNEL);

		if (!v)
			return -ENOMEM;
		if (d->nr)
			memcpy(v, d->v, d->nr * sizeof(*v));
		kfree(d->v);
		d->v = v;
		d->cap = cap;
	}
	d->v[d->nr++] = ti;
	return 0;
}

/* Step 1 for one inode.  Its lock keeps writers out, so what is stored has its data on the device. */
static int store_one(struct tfs_inode *ti)
{
	struct inode *i = ti->inode;
	int err = 0;

	mutex_lock(&i->lock);
	if (!S_ISDIR(i->mode))
		err = mapping_write_wait(&ti->map, 0, UINT64_MAX);
	if (!err)
		err = tfs_store(ti);
	mutex_unlock(&i->lock);
	if (err)
		tfs_dirty(ti);
	return err;
}

static int store_inodes(struct tfs *fs, struct dirs *dirs)
{
	struct tfs_inode *ti;
	LIST_HEAD(work);
	int err = 0;

	spin_lock(&fs->icache_lock);
	list_splice_tail_init(&fs->dirty, &work);
	spin_unlock(&fs->icache_lock);
	while ((ti = next_dirty(fs, &work))) {
		int e = store_one(ti);

		if (!e && S_ISDIR(ti->inode->mode)) {
			e = dirs_add(dirs, ti);
			if (!e)
				continue; /* with its reference */
			tfs_dirty(ti);
		}
		err = err ? err : e;
		inode_put(ti->inode);
		cond_resched();
	}
	/* Those being evicted while we looked; they take themselves off whatever list it is. */
	spin_lock(&fs->icache_lock);
	list_splice_tail_init(&work, &fs->dirty);
	spin_unlock(&fs->icache_lock);
	return err;
}

static int sync_locked(struct tfs *fs)
{
	struct tfs_freed_list freed;
	struct dirs dirs = { 0 };
	int err = 0;

	tfs_take_freed(fs, &freed);
	if (fs->sb.state != TFS_IN_USE)
		err = tfs_write_super(fs, TFS_IN_USE);
	if (!err)
		err = store_inodes(fs, &dirs);
	if (!err)
		err = tfs_store_bitmap(fs);
	if (!err)
		err = mapping_write_locked(fs->meta, 1, fs->sb.inode_start - 1);
	if (!err)
		err = mapping_write_locked(fs->meta, fs->sb.data_start, UINT64_MAX);
	if (!err)
		err = mapping_write_locked(fs->meta, fs->sb.inode_start, fs->sb.data_start - 1);
	for (unsigned k = 0; k < dirs.nr; k++) {
		struct tfs_inode *ti = dirs.v[k];

		if (!err) {
			mutex_lock(&ti->inode->lock);
			err = mapping_write_wait(&ti->map, 0, UINT64_MAX);
			mutex_unlock(&ti->inode->lock);
		}
		if (err)
			tfs_dirty(ti);
		inode_put(ti->inode);
	}
	kfree(dirs.v);
	if (!err) {
		tfs_release_freed(fs, &freed);
		return 0;
	}
	for (unsigned k = 0; k < freed.nr; k++) /* not yet */
		tfs_free(fs, freed.v[k].start, freed.v[k].len);
	kfree(freed.v);
	return err;
}

void tfs_forget_dirty(struct tfs *fs)
{
	spin_lock(&fs->icache_lock);
	fs->lost = true;
	while (!list_empty(&fs->dirty))
		list_del(fs->dirty.next); /* leaves each an empty list of its own */
	spin_unlock(&fs->icache_lock);
}

static bool anything_to_do(struct tfs *fs)
{
	bool yes;

	spin_lock(&fs->icache_lock);
	yes = !list_empty(&fs->dirty);
	spin_unlock(&fs->icache_lock);
	return yes || tfs_can_free(fs) ||
	       atomic_load_explicit(&fs->meta->nr_dirty, memory_order_acquire);
}

int tfs_sync(struct tfs *fs)
{
	int err = 0;

	mutex_lock(&fs->meta->wb_lock);
	if (anything_to_do(fs))
		err = sync_locked(fs);
	mutex_unlock(&fs->meta->wb_lock);
	return err;
}

void tfs_want_sync(struct tfs *fs)
{
	atomic_store_explicit(&fs->wanted, true, memory_order_release);
	wake_up(&fs->wait);
}

static bool flag(_Atomic bool *b)
{
	return atomic_load_explicit(b, memory_order_acquire);
}

static void sync_thread(void *arg)
{
	struct tfs *fs = arg;

	while (!flag(&fs->stop)) {
		int err;

		(void)wait_event_timeout(&fs->wait, flag(&fs->wanted) || flag(&fs->stop),
					 clock_ns() + SYNC_EVERY_NS);
		if (flag(&fs->stop))
			break;
		atomic_store_explicit(&fs->wanted, false, memory_order_release);
		err = tfs_sync(fs);
		if (err)
			pr_warn("tfs: %s: writing back: error %d; tried again later",
				fs->dev->name, -err);
	}
	atomic_store_explicit(&fs->stopped, true, memory_order_release);
	/* After this the file system may go: the queue's lock is released last by who waits. */
	wake_up(&fs->wait);
}

int tfs_start_thread(struct tfs *fs)
{
	struct thread *t = thread_create("tfs", sync_thread, fs, -1);

	if (IS_ERR(t))
		return (int)PTR_ERR(t);
	fs->thread = t;
	thread_start(t);
	return 0;
}

void tfs_stop_thread(struct tfs *fs)
{
	if (!fs->thread)
		return;
	atomic_store_explicit(&fs->stop, true, memory_order_release);
	wake_up(&fs->wait);
	wait_event(&fs->wait, flag(&fs->stopped));
	/* It may still be inside wake_up(); it is dead once it has left the function. */
	while (thread_state_of(fs->thread) != THREAD_DEAD)
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	thread_put(fs->thread);
}
