/* SPDX-License-Identifier: MIT */
/*
 * tfs: inodes between the table on the device and memory.
 *
 * The cache of inodes holds a reference to each that has a name, so that a file's pages
 * stay when nobody has it open.  It lets go of inodes without pages and users when
 * there are many, and of all when the file system is unmounted.
 */
#include "fs/tfs/tfs.h"

static struct list_head *bucket(struct tfs *fs, uint64_t ino)
{
	return &fs->icache[ino % ICACHE_BUCKETS];
}

/* icache_lock held. */
static struct inode *cached(struct tfs *fs, uint64_t ino)
{
	struct tfs_inode *ti;

	list_for_each_entry(ti, bucket(fs, ino), hash) {
		if (ti->inode->ino == ino) {
			inode_get(ti->inode);
			return ti->inode;
		}
	}
	return NULL;
}

/* ---- mapping operations of files, directories and links ---- */

static void tfs_read_pages(struct mapping *m, struct page **pages, unsigned n)
{
	struct tfs_inode *ti = container_of(m, struct tfs_inode, map);

	while (n) {
		uint64_t start, len;
		unsigned k = 1;

		if (tfs_map(ti, pages[0]->index, &start, &len)) {
			k = (unsigned)min_t(uint64_t, n, len);
			block_read_run(ti->fs->dev, start, pages, k);
		} else {
			clear_page(page_virt(pages[0]));
			page_read_done(pages[0], 0);
		}
		pages += k;
		n -= k;
	}
}

static void tfs_write_pages(struct mapping *m, struct page **pages, unsigned n)
{
	struct tfs_inode *ti = container_of(m, struct tfs_inode, map);

	while (n) {
		uint64_t start, len;
		unsigned k = 1;

		if (tfs_map(ti, pages[0]->index, &start, &len)) {
			k = (unsigned)min_t(uint64_t, n, len);
			block_write_run(ti->fs->dev, start, pages, k);
		} else {
			page_write_done(pages[0], 0); /* cut off meanwhile */
		}
		pages += k;
		n -= k;
	}
}

static int tfs_prepare_write(struct mapping *m, uint64_t index, bool within)
{
	struct tfs_inode *ti = container_of(m, struct tfs_inode, map);
	int err = tfs_map_new(ti, index, within);

	tfs_dirty(ti);
	return err;
}

static bool tfs_tryget(struct mapping *m)
{
	struct inode *i = container_of(m, struct tfs_inode, map)->inode;
	int n = atomic_load_explicit(&i->refs, memory_order_relaxed);

	while (n > 0)
		if (atomic_compare_exchange_weak_explicit(&i->refs, &n, n + 1, memory_order_acquire,
							  memory_order_relaxed))
			return true;
	return false;
}

static void tfs_put(struct mapping *m)
{
	inode_put(container_of(m, struct tfs_inode, map)->inode);
}

/* What a directory names must be on the device before it. */
static bool tfs_write_ordered(struct mapping *m)
{
	struct tfs_inode *ti = container_of(m, struct tfs_inode, map);

	if (!S_ISDIR(ti->inode->mode))
		return false;
	tfs_want_sync(ti->fs);
	return true;
}

const struct mapping_ops tfs_mapping_ops = {
	.read_pages = tfs_read_pages,
	.write_pages = tfs_write_pages,
	.prepare_write = tfs_prepare_write,
	.write_ordered = tfs_write_ordered,
	.tryget = tfs_tryget,
	.put = tfs_put,
};

/* ---- making them ---- */

static void set_ops(struct inode *i)
{
	switch (i->mode & S_IFMT) {
	case S_IFDIR:
		inode_init_ops(i, &tfs_dir_iops, &tfs_dir_fops);
		break;
	case S_IFREG:
		inode_init_ops(i, &tfs_file_iops, &tfs_file_fops);
		break;
	case S_IFLNK:
		inode_init_ops(i, &tfs_link_iops, NULL);
		break;
	case S_IFIFO:
		inode_init_ops(i, &tfs_node_iops, &fifo_file_ops);
		break;
	case S_IFCHR:
		inode_init_ops(i, &tfs_node_iops, &chrdev_file_ops);
		break;
	case S_IFBLK:
		inode_init_ops(i, &tfs_node_iops, &blkdev_file_ops);
		break;
	default:
		inode_init_ops(i, &tfs_node_iops, &nodev_file_ops);
	}
}

/* Without operations yet, so that inode_put() leaves the device alone.  NULL: no memory. */
static struct inode *bare_inode(struct super *s, uint64_t ino, unsigned mode)
{
	struct inode *i = inode_alloc(s, mode);
	struct tfs_inode *ti = i ? kzalloc(sizeof(*ti), GFP_ACCOUNT) : NULL;

	if (!ti || mapping_init(&ti->map, &tfs_mapping_ops, &i->size, ti)) {
		kfree(ti);
		if (i)
			inode_put(i);
		return NULL;
	}
	i->ino = ino;
	i->priv = ti;
	ti->inode = i;
	ti->fs = tfs_of(s);
	list_init(&ti->hash);
	list_init(&ti->dirty);
	mutex_init(&ti->map_lock, "tfs.map");
	atomic_fetch_add_explicit(&ti->fs->live, 1, memory_order_relaxed);
	return i;
}

static void free_bare(struct inode *i)
{
	struct tfs_inode *ti = tfs_i(i);
	struct tfs *fs = ti->fs;

	mapping_destroy(&ti->map);
	kfree(ti->ext);
	kfree(ti->lists);
	tfs_names_free(ti->names);
	kfree_rcu_obj(&ti->rcu, ti);
	atomic_fetch_sub_explicit(&fs->live, 1, memory_order_release); /* fs may go now */
}

/* Files and directories show their pages to the rest of the kernel. */
static void publish(struct inode *i)
{
	struct tfs_inode *ti = tfs_i(i);

	if (S_ISREG(i->mode)) {
		i->pages = ti->map.index;
		i->mapping = &ti->map;
	}
	atomic_store_explicit(&ti->map.metadata, S_ISDIR(i->mode), memory_order_relaxed);
	set_ops(i);
}

static int fill(struct inode *i, const struct tfs_dinode *d)
{
	struct tfs_inode *ti = tfs_i(i);

	if (d->size > TFS_MAX_BLOCKS * TFS_BLOCK ||
	    (S_ISDIR(d->mode) && (d->size % TFS_BLOCK || d->parent >= ti->fs->nr_inos)) ||
	    (S_ISLNK(d->mode) && (!d->size || d->size >= TFS_BLOCK)))
		return -EIO;
	atomic_store_explicit(&i->uid, d->uid, memory_order_relaxed);
	atomic_store_explicit(&i->gid, d->gid, memory_order_relaxed);
	atomic_store_explicit(&i->nlink, d->nlink, memory_order_relaxed);
	atomic_store_explicit(&i->size, (loff_t)d->size, memory_order_relaxed);
	atomic_store_explicit(&i->atime, d->atime, memory_order_relaxed);
	atomic_store_explicit(&i->mtime, d->mtime, memory_order_relaxed);
	atomic_store_explicit(&i->ctime, d->ctime, memory_order_relaxed);
	i->rdev = d->rdev;
	ti->parent = d->parent;
	return tfs_load_extents(ti, d);
}

/* The slot of @ino as the device has it: 0, -EIO (free, damaged), -ENOMEM. */
static int read_slot(struct tfs *fs, uint64_t ino, struct tfs_dinode *d)
{
	struct page *p;
	uint32_t crc;

	if (!ino || ino >= fs->nr_inos)
		return -EIO;
	p = tfs_meta_page(fs, fs->sb.inode_start + ino / TFS_INODES_PER_BLOCK, false);
	if (IS_ERR(p))
		return (int)PTR_ERR(p);
	memcpy(d, (char *)page_virt(p) + ino % TFS_INODES_PER_BLOCK * sizeof(*d), sizeof(*d));
	page_put(p);
	crc = d->crc;
	d->crc = 0;
	if (!d->mode || d->ino != ino || crc != tfs_crc(d, sizeof(*d)))
		return -EIO;
	return 0;
}

static void remember(struct tfs *fs, struct tfs_inode *ti)
{
	list_add(&ti->hash, bucket(fs, ti->inode->ino));
	ti->hashed = true;
	fs->nr_cached++;
	inode_get(ti->inode);
}

struct inode *tfs_iget(struct super *s, uint64_t ino)
{
	struct tfs *fs = tfs_of(s);
	struct tfs_dinode d;
	struct inode *i, *other;
	int err;

	spin_lock(&fs->icache_lock);
	i = cached(fs, ino);
	spin_unlock(&fs->icache_lock);
	if (i)
		return i;
	err = read_slot(fs, ino, &d);
	if (err) {
		if (err == -EIO)
			pr_warn("tfs: %s: inode %llu is free or damaged", fs->dev->name,
				(unsigned long long)ino);
		return ERR_PTR(err);
	}
	i = bare_inode(s, ino, d.mode);
	if (!i)
		return ERR_PTR(-ENOMEM);
	err = fill(i, &d);
	other = NULL;
	if (!err) {
		publish(i);
		spin_lock(&fs->icache_lock);
		other = cached(fs, ino);
		if (!other)
			remember(fs, tfs_i(i));
		spin_unlock(&fs->icache_lock);
	}
	if (err || other) {
		i->ops = NULL;
		i->mapping = NULL;
		free_bare(i);
		inode_put(i);
		return err ? ERR_PTR(err) : other;
	}
	if (fs->nr_cached > ICACHE_MAX)
		tfs_icache_shrink(fs, false, false);
	return i;
}

struct inode *tfs_new_inode(struct super *s, struct inode *dir, unsigned mode, uint64_t rdev)
{
	struct tfs *fs = tfs_of(s);
	uint64_t ino = tfs_alloc_ino(fs);
	struct inode *i;

	if (!ino)
		return ERR_PTR(-ENOSPC);
	i = bare_inode(s, ino, mode);
	if (!i) {
		tfs_free_ino(fs, ino);
		return ERR_PTR(-ENOMEM);
	}
	i->rdev = rdev;
	if (dir->mode & 02000) {
		i->gid = dir->gid;
		if (S_ISDIR(mode))
			atomic_fetch_or_explicit(&i->mode, 02000, memory_order_relaxed);
	}
	if (S_ISDIR(mode)) {
		atomic_store_explicit(&i->nlink, 2, memory_order_relaxed);
		tfs_i(i)->parent = dir->ino;
	}
	publish(i);
	spin_lock(&fs->icache_lock);
	remember(fs, tfs_i(i));
	spin_unlock(&fs->icache_lock);
	tfs_dirty(tfs_i(i));
	return i;
}

void tfs_dirty(struct tfs_inode *ti)
{
	struct tfs *fs = ti->fs;

	spin_lock(&fs->icache_lock);
	if (list_empty(&ti->dirty))
		list_add_tail(&ti->dirty, &fs->dirty);
	spin_unlock(&fs->icache_lock);
}

int tfs_store(struct tfs_inode *ti)
{
	struct tfs *fs = ti->fs;
	struct inode *i = ti->inode;
	struct tfs_dinode d = {
		.mode = i->mode, .uid = i->uid, .gid = i->gid, .nlink = i->nlink, .ino = i->ino,
		.size = (uint64_t)i->size, .atime = i->atime, .mtime = i->mtime, .ctime = i->ctime,
		.parent = ti->parent, .rdev = i->rdev,
	};
	struct page *p;
	int err = tfs_store_extents(ti, &d);

	if (err)
		return err;
	d.crc = tfs_crc(&d, sizeof(d));
	p = tfs_meta_page(fs, fs->sb.inode_start + i->ino / TFS_INODES_PER_BLOCK, false);
	if (IS_ERR(p))
		return (int)PTR_ERR(p);
	memcpy((char *)page_virt(p) + i->ino % TFS_INODES_PER_BLOCK * sizeof(d), &d, sizeof(d));
	page_mark_dirty(p);
	page_put(p);
	return 0;
}

/* ---- letting go ---- */

/* icache_lock held.  Return: the cache's reference, for the caller to drop; NULL: it had none. */
static struct inode *forget(struct tfs *fs, struct tfs_inode *ti)
{
	if (!ti->hashed)
		return NULL;
	list_del(&ti->hash);
	ti->hashed = false;
	fs->nr_cached--;
	return ti->inode;
}

void tfs_unlinked(struct tfs_inode *ti)
{
	struct inode *i;

	spin_lock(&ti->fs->icache_lock);
	i = forget(ti->fs, ti);
	spin_unlock(&ti->fs->icache_lock);
	if (i)
		inode_put(i);
}

void tfs_linked(struct tfs_inode *ti)
{
	spin_lock(&ti->fs->icache_lock);
	if (!ti->hashed)
		remember(ti->fs, ti);
	spin_unlock(&ti->fs->icache_lock);
}

/* The slot becomes free: 0, or an error; then the inode stays, without a name, for fsck.tfs. */
static int clear_slot(struct tfs *fs, uint64_t ino)
{
	struct page *p = tfs_meta_page(fs, fs->sb.inode_start + ino / TFS_INODES_PER_BLOCK, false);

	if (IS_ERR(p)) {
		pr_warn("tfs: %s: inode %llu not freed (error %ld)", fs->dev->name,
			(unsigned long long)ino, -PTR_ERR(p));
		return (int)PTR_ERR(p);
	}
	memset((char *)page_virt(p) + ino % TFS_INODES_PER_BLOCK * sizeof(struct tfs_dinode), 0,
	       sizeof(struct tfs_dinode));
	page_mark_dirty(p);
	page_put(p);
	return 0;
}

void tfs_evict(struct inode *i)
{
	struct tfs_inode *ti = tfs_i(i);
	struct tfs *fs = ti->fs;

	spin_lock(&fs->icache_lock);
	if (!list_empty(&ti->dirty))
		list_del(&ti->dirty);
	spin_unlock(&fs->icache_lock);
	tfs_drop_reserve(ti);
	if (S_ISFIFO(i->mode))
		pipe_release_inode(i);
	mapping_truncate(&ti->map, 0);
	/* The slot before the blocks: a sync that is told of them must write a table without it. */
	if (!atomic_load_explicit(&i->nlink, memory_order_relaxed) && !clear_slot(fs, i->ino)) {
		tfs_cut(ti, 0);
		tfs_free_ino(fs, i->ino);
	}
	free_bare(i);
}

/*
 * Drops inodes that only the cache holds and that are stored; with @pages first their
 * clean pages, with @all those that keep pages, too.  Sleeps.
 */
void tfs_icache_shrink(struct tfs *fs, bool pages, bool all)
{
	for (unsigned b = 0; b < ICACHE_BUCKETS; b++) {
		unsigned skip = 0;

		for (;;) {
			struct tfs_inode *ti = NULL, *c;
			struct inode *drop = NULL;
			unsigned at = 0;

			spin_lock(&fs->icache_lock);
			list_for_each_entry(c, &fs->icache[b], hash) {
				if (at++ < skip)
					continue;
				ti = c;
				inode_get(ti->inode);
				break;
			}
			spin_unlock(&fs->icache_lock);
			if (!ti)
				break;
			if (pages)
				(void)mapping_shrink(&ti->map);
			spin_lock(&fs->icache_lock);
			if (ti->hashed && list_empty(&ti->dirty) &&
			    (fs->lost || !atomic_load_explicit(&ti->map.nr_dirty,
							       memory_order_acquire)) &&
			    (all || !page_index_count(ti->map.index)) &&
			    atomic_load_explicit(&ti->inode->refs, memory_order_relaxed) == 2)
				drop = forget(fs, ti);
			spin_unlock(&fs->icache_lock);
			skip += !drop;
			if (drop)
				inode_put(drop);
			inode_put(ti->inode);
			cond_resched();
		}
	}
}

#define DRAIN_NS (20 * NSEC_PER_SEC)

bool tfs_icache_drain(struct tfs *fs)
{
	uint64_t end = clock_ns() + DRAIN_NS;

	for (;;) {
		unsigned live;

		tfs_icache_shrink(fs, true, true);
		live = atomic_load_explicit(&fs->live, memory_order_acquire);
		if (!live)
			return true;
		if (clock_ns() > end) {
			pr_err("tfs: %s: %u inodes are still in use: the file system stays in memory",
			       fs->dev->name, live);
			return false;
		}
		/* The write-back thread holds one for the length of its turn. */
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	}
}
