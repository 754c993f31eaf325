/* SPDX-License-Identifier: MIT */
/*
 * tfs: mounting, unmounting, and what df asks.
 *
 * What an image says is believed only after it was checked: a bad superblock refuses the
 * mount, a bad inode or directory block fails the call that met it.
 */
#include "fs/tfs/tfs.h"
#include "mm/vmalloc.h"

/* 0, or -EINVAL with a line in the log that says what is wrong. */
static int check_super(const struct tfs_super *sb, const struct block_device *dev)
{
	struct tfs_super copy = *sb;
	const char *wrong = NULL;

	copy.crc = 0;
	if (sb->magic != TFS_MAGIC)
		wrong = "no tfs here";
	else if (sb->crc != tfs_crc(&copy, sizeof(copy)))
		wrong = "superblock damaged";
	else if (sb->version != TFS_VERSION || sb->block_size != TFS_BLOCK)
		wrong = "version or block size unknown";
	else if (sb->blocks < TFS_MIN_BLOCKS || sb->blocks > dev->pages ||
		 sb->blocks > TFS_MAX_BLOCKS)
		wrong = "size does not fit the device";
	else if (sb->bitmap_start != 1 ||
		 sb->bitmap_blocks != DIV_ROUND_UP(sb->blocks, TFS_BLOCK * 8) ||
		 sb->inode_start != sb->bitmap_start + sb->bitmap_blocks || !sb->inode_blocks ||
		 sb->inode_blocks > sb->blocks || sb->data_start != sb->inode_start + sb->inode_blocks ||
		 sb->data_start >= sb->blocks)
		wrong = "regions overlap or leave the device";
	if (wrong)
		pr_warn("tfs: %s: %s", dev->name, wrong);
	return wrong ? -EINVAL : 0;
}

static int load_super(struct tfs *fs)
{
	struct page *p = page_cache_read(fs->meta, NULL, 0, 1);

	if (IS_ERR(p))
		return (int)PTR_ERR(p);
	memcpy(&fs->sb, page_virt(p), sizeof(fs->sb));
	page_put(p);
	return check_super(&fs->sb, fs->dev);
}

/* Which inode numbers are taken: whatever is not all zero. */
static int load_inos(struct tfs *fs)
{
	static const struct tfs_dinode none;

	fs->nr_inos = fs->sb.inode_blocks * TFS_INODES_PER_BLOCK;
	fs->inos = vmalloc(DIV_ROUND_UP(fs->nr_inos, 64) * sizeof(*fs->inos), GFP_NOWARN);
	if (!fs->inos)
		return -ENOMEM;
	fs->inos[0] = 1; /* number 0 */
	fs->free_inos = fs->nr_inos - 1;
	for (uint64_t b = 0; b < fs->sb.inode_blocks; b++) {
		struct page *p = page_cache_read(fs->meta, NULL, fs->sb.inode_start + b, RUN_PAGES);
		const struct tfs_dinode *d;

		if (IS_ERR(p))
			return (int)PTR_ERR(p);
		d = page_virt(p);
		for (unsigned k = 0; k < TFS_INODES_PER_BLOCK; k++, d++) {
			uint64_t ino = b * TFS_INODES_PER_BLOCK + k;

			if (!ino || !memcmp(d, &none, sizeof(none)))
				continue;
			fs->inos[ino / 64] |= 1ULL << (ino % 64);
			fs->free_inos--;
		}
		page_put(p);
		cond_resched();
	}
	return 0;
}

static int tfs_statfs(struct super *s, uint64_t out[6])
{
	struct tfs *fs = tfs_of(s);

	mutex_lock(&fs->alloc_lock);
	out[0] = fs->sb.blocks - fs->sb.data_start;
	out[1] = fs->free_blocks;
	out[2] = fs->nr_inos - 1;
	out[3] = fs->free_inos;
	out[4] = TFS_BLOCK;
	out[5] = TFS_MAGIC & 0xffffffff;
	mutex_unlock(&fs->alloc_lock);
	return 0;
}

static int super_sync(struct super *s)
{
	return tfs_sync(tfs_of(s));
}

static void super_drop_caches(struct super *s, bool pages, bool inodes)
{
	tfs_icache_shrink(tfs_of(s), pages, false);
	if (pages)
		(void)mapping_shrink(tfs_of(s)->meta);
}

static void free_fs(struct tfs *fs)
{
	vfree(fs->bitmap);
	vfree(fs->inos);
	kfree(fs->bitmap_dirty);
	kfree(fs->freed.v);
	kfree(fs);
}

/* The last user has gone: everything to the device, and the device to others. */
static bool tfs_kill(struct super *s)
{
	struct tfs *fs = tfs_of(s);
	bool empty = false;
	int err;

	tfs_stop_thread(fs);
	err = tfs_sync(fs);
	if (!err) {
		empty = tfs_icache_drain(fs); /* unlinked inodes free their blocks on the way */
		err = tfs_sync(fs);
	}
	if (!err) /* what was freed is in the bitmap only now */
		err = tfs_sync(fs);
	if (!err && empty && fs->sb.state == TFS_IN_USE) {
		mutex_lock(&fs->meta->wb_lock);
		err = tfs_store_bitmap(fs);
		err = err ? err : mapping_write_locked(fs->meta, 1, UINT64_MAX);
		err = err ? err : tfs_write_super(fs, TFS_CLEAN);
		mutex_unlock(&fs->meta->wb_lock);
	}
	if (err) {
		pr_err("tfs: %s: not everything could be written (error %d): run fsck.tfs",
		       fs->dev->name, -err);
		tfs_forget_dirty(fs);
		empty = tfs_icache_drain(fs);
		/* Nor may the metadata that is left follow in whatever order. */
		mapping_truncate(fs->meta, 0);
	}
	if (!empty) /* nor is the device anybody else's */
		return false;
	(void)mapping_shrink(fs->meta);
	block_release(fs->dev);
	free_fs(fs);
	return true;
}

static void want_sync(void *who)
{
	tfs_want_sync(who);
}

static int tfs_mount(struct fs_type *t, const char *source, const char *data, struct super **out)
{
	struct block_device *dev = source ? block_find(source) : ERR_PTR(-EINVAL);
	struct super *s;
	struct inode *root;
	struct tfs *fs;
	int err;

	if (IS_ERR(dev))
		return (int)PTR_ERR(dev);
	fs = kzalloc(sizeof(*fs), GFP_KERNEL);
	s = super_alloc(t, source, data);
	err = fs && s ? block_claim(dev, fs, want_sync) : -ENOMEM;
	if (err) {
		kfree(fs);
		if (s)
			super_put(s);
		return err;
	}
	fs->dev = dev;
	fs->meta = &dev->mapping;
	fs->super = s;
	mutex_init(&fs->alloc_lock, "tfs.alloc");
	spin_init(&fs->icache_lock, "tfs.icache");
	wq_init(&fs->wait, "tfs.sync");
	list_init(&fs->dirty);
	for (unsigned b = 0; b < ICACHE_BUCKETS; b++)
		list_init(&fs->icache[b]);
	s->priv = fs;
	err = load_super(fs);
	if (!err)
		err = tfs_load_bitmap(fs);
	if (!err)
		err = load_inos(fs);
	if (err)
		goto release;
	if (fs->sb.state != TFS_CLEAN)
		pr_warn("tfs: %s was not unmounted: blocks may be missing until fsck.tfs finds them",
			dev->name);
	root = tfs_iget(s, TFS_ROOT);
	err = IS_ERR(root) ? (int)PTR_ERR(root) : 0;
	if (err)
		goto release;
	if (!S_ISDIR(root->mode) || tfs_i(root)->parent != TFS_ROOT) {
		inode_put(root);
		err = -EINVAL;
		goto release;
	}
	err = tfs_start_thread(fs);
	if (err) {
		inode_put(root);
		goto release;
	}
	s->statfs = tfs_statfs;
	s->sync = super_sync;
	s->drop_caches = super_drop_caches;
	s->kill = tfs_kill;
	err = super_set_root(s, root);
	if (err) {
		super_put(s); /* by way of tfs_kill() */
		return err;
	}
	*out = s;
	return 0;
release:
	if (!tfs_icache_drain(fs))
		return err; /* with the device claimed for good */
	block_release(dev);
	s->priv = NULL;
	super_put(s);
	free_fs(fs);
	return err;
}

static struct fs_type tfs_type = { .name = "tfs", .mount = tfs_mount, .needs_device = true };

void tfs_init(void)
{
	fs_register(&tfs_type);
}
