/* SPDX-License-Identifier: MIT */
/*
 * ramfs: instances and folders of the file system that lives in the page cache
 * and nowhere else.  fs/ramfs_file.c has the files' data.
 *
 * Serves as rootfs, ramfs, tmpfs and devtmpfs.  Every entry is a pinned dentry.
 * "size=" limits an instance.
 *
 * Locks: inode->lock over what a directory holds.
 */
#include "fs/ramfs.h"
#include "mm/page_index.h"

#define RAMFS_MAGIC 0x858458f6
#define TMPFS_MAGIC 0x01021994

static const struct inode_ops ramfs_link_iops, ramfs_node_iops;

struct inode *ramfs_new_inode(struct super *s, unsigned mode, uint64_t rdev)
{
	struct inode *i = inode_alloc(s, mode);

	if (!i)
		return NULL;
	switch (mode & S_IFMT) {
	case S_IFDIR:
		inode_init_ops(i, &ramfs_dir_ops, &ramfs_dir_file_ops);
		atomic_store_explicit(&i->nlink, 2, memory_order_relaxed);
		break;
	case S_IFREG:
		inode_init_ops(i, &ramfs_file_iops, &ramfs_file_ops);
		i->pages = page_index_create();
		if (!i->pages) {
			i->ops = NULL;
			inode_put(i);
			return NULL;
		}
		break;
	case S_IFLNK:
		inode_init_ops(i, &ramfs_link_iops, NULL);
		break;
	case S_IFIFO:
		inode_init_ops(i, &ramfs_node_iops, &fifo_file_ops);
		break;
	case S_IFCHR:
		inode_init_ops(i, &ramfs_node_iops, &chrdev_file_ops);
		break;
	case S_IFBLK:
		inode_init_ops(i, &ramfs_node_iops, &blkdev_file_ops);
		break;
	default:
		inode_init_ops(i, &ramfs_node_iops, &nodev_file_ops);
		break;
	}
	i->rdev = rdev;
	if (ramfs_info(s))
		atomic_fetch_add_explicit(&ramfs_info(s)->inodes, 1, memory_order_relaxed);
	return i;
}

void ramfs_evict(struct inode *i)
{
	if (i->pages) {
		ramfs_count_pages(i->super, -(int64_t)page_index_count(i->pages));
		page_index_destroy(i->pages);
	}
	if (S_ISLNK(i->mode))
		kfree(i->priv);
	if (S_ISFIFO(i->mode))
		pipe_release_inode(i);
	if (ramfs_info(i->super))
		atomic_fetch_sub_explicit(&ramfs_info(i->super)->inodes, 1, memory_order_relaxed);
}

/* Directories. */

static int ramfs_create(struct inode *dir, struct dentry *d, unsigned mode, uint64_t rdev)
{
	struct inode *i = ramfs_new_inode(dir->super, mode, rdev);

	if (!i)
		return -ENOMEM;
	if (dir->mode & 02000) {
		i->gid = dir->gid;
		if (S_ISDIR(mode))
			atomic_fetch_or_explicit(&i->mode, 02000, memory_order_relaxed);
	}
	dentry_attach(d, i);
	inode_touch(dir);
	return 0;
}

static int ramfs_mkdir(struct inode *dir, struct dentry *d, unsigned mode)
{
	int err = ramfs_create(dir, d, mode, 0);

	if (!err)
		atomic_fetch_add_explicit(&dir->nlink, 1, memory_order_relaxed);
	return err;
}

static int ramfs_symlink(struct inode *dir, struct dentry *d, const char *target)
{
	int err = ramfs_create(dir, d, S_IFLNK | 0777, 0);

	if (err)
		return err;
	d->inode->priv = kstrdup(target, GFP_KERNEL | GFP_ACCOUNT);
	if (!d->inode->priv)
		return -ENOMEM; /* the dentry takes the inode with it */
	atomic_store_explicit(&d->inode->size, (loff_t)strlen(target), memory_order_relaxed);
	return 0;
}

static int ramfs_link(struct inode *dir, struct dentry *d, struct inode *target)
{
	atomic_fetch_add_explicit(&target->nlink, 1, memory_order_relaxed);
	target->ctime = realtime_ns();
	inode_get(target);
	dentry_attach(d, target);
	inode_touch(dir);
	return 0;
}

static int ramfs_unlink(struct inode *dir, struct dentry *d)
{
	atomic_fetch_sub_explicit(&d->inode->nlink, 1, memory_order_relaxed);
	d->inode->ctime = realtime_ns();
	inode_touch(dir);
	return 0;
}

static int ramfs_rmdir(struct inode *dir, struct dentry *d)
{
	if (!list_empty(&d->children))
		return -ENOTEMPTY;
	atomic_store_explicit(&d->inode->nlink, 0, memory_order_relaxed);
	atomic_fetch_sub_explicit(&dir->nlink, 1, memory_order_relaxed);
	inode_touch(dir);
	return 0;
}

static int ramfs_rename(struct inode *odir, struct dentry *od, struct inode *ndir,
			struct dentry *nd, const struct dname *name)
{
	int err = 0;

	if (nd)
		err = S_ISDIR(nd->inode->mode) ? ramfs_rmdir(ndir, nd) : ramfs_unlink(ndir, nd);
	if (err)
		return err;
	if (S_ISDIR(od->inode->mode) && odir != ndir) {
		atomic_fetch_sub_explicit(&odir->nlink, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&ndir->nlink, 1, memory_order_relaxed);
	}
	inode_touch(odir);
	inode_touch(ndir);
	od->inode->ctime = realtime_ns();
	return 0;
}

static struct inode *ramfs_tmpfile(struct inode *dir, unsigned mode)
{
	struct inode *i = ramfs_new_inode(dir->super, mode, 0);

	return i ? i : ERR_PTR(-ENOMEM);
}

static const char *ramfs_readlink(struct inode *i, char *buf, size_t n)
{
	return i->priv;
}

bool dir_emit_dots(struct file *f, filldir_t fill, void *ctx, loff_t *pos)
{
	if (*pos == 0) {
		if (fill(ctx, ".", 1, f->inode->ino, DT_DIR, 1))
			return false;
		*pos = 1;
	}
	if (*pos == 1) {
		struct dentry *up = dentry_parent_get(f->dentry);
		int full = fill(ctx, "..", 2, up->inode->ino, DT_DIR, 2);

		dentry_put(up);
		if (full)
			return false;
		*pos = 2;
	}
	return true;
}

/* The directory's lock is held by the caller, so its list of entries stands still. */
static int ramfs_readdir(struct file *f, filldir_t fill, void *ctx, loff_t *pos)
{
	struct dentry *d;

	if (!dir_emit_dots(f, fill, ctx, pos))
		return 0;
	list_for_each_entry(d, &f->dentry->children, sibling) {
		const struct dname *n = dentry_name(d);

		if ((loff_t)d->cookie < *pos)
			continue;
		if (fill(ctx, n->s, n->len, d->inode->ino, mode_dtype(d->inode->mode),
			 (loff_t)d->cookie + 1))
			return 0;
		*pos = (loff_t)d->cookie + 1;
	}
	return 0;
}

static loff_t dir_lseek(struct file *f, loff_t off, int whence)
{
	if (whence == SEEK_CUR)
		off += f->pos;
	else if (whence != SEEK_SET)
		return -EINVAL;
	if (off < 0)
		return -EINVAL;
	f->pos = off;
	return off;
}

const struct inode_ops ramfs_dir_ops = {
	.create = ramfs_create,
	.mkdir = ramfs_mkdir,
	.symlink = ramfs_symlink,
	.link = ramfs_link,
	.unlink = ramfs_unlink,
	.rmdir = ramfs_rmdir,
	.rename = ramfs_rename,
	.tmpfile = ramfs_tmpfile,
	.evict = ramfs_evict,
};
const struct file_ops ramfs_dir_file_ops = {
	.readdir = ramfs_readdir,
	.lseek = dir_lseek,
};

static const struct inode_ops ramfs_link_iops = {
	.readlink = ramfs_readlink,
	.evict = ramfs_evict,
};
static const struct inode_ops ramfs_node_iops = { .evict = ramfs_evict };

/* Instances. */

static int ramfs_statfs(struct super *s, uint64_t out[6])
{
	struct ramfs_super *rs = ramfs_info(s);
	struct page_stats ps;
	uint64_t used = atomic_load_explicit(&rs->pages, memory_order_relaxed);

	page_stats(&ps);
	out[0] = min(rs->max_pages, ps.total);
	out[1] = min(ps.free, out[0] > used ? out[0] - used : 0);
	out[2] = ps.total;
	out[3] = ps.total - min(ps.total,
				atomic_load_explicit(&rs->inodes, memory_order_relaxed));
	out[5] = strcmp(s->type->name, "ramfs") ? TMPFS_MAGIC : RAMFS_MAGIC;
	return 0;
}

static bool ramfs_kill(struct super *s)
{
	kfree(s->priv);
	return true;
}

/* "size=N[KMG%]", "mode=OCTAL"; what else Linux knows is accepted and without effect. */
static int parse_options(struct ramfs_super *rs, const char *data, unsigned *mode)
{
	char word[64];

	while (data && *data) {
		size_t n = 0;
		uint64_t v;

		while (data[n] && data[n] != ',')
			n++;
		if (n < sizeof(word)) {
			const char *end;

			memcpy(word, data, n);
			word[n] = '\0';
			if (!strncmp(word, "size=", 5)) {
				if (!parse_u64(word + 5, &end, &v) && !strcmp(end, "%")) {
					struct page_stats ps;

					page_stats(&ps);
					v = ps.total * min_t(uint64_t, v, 100) / 100 * PAGE_SIZE;
				} else if (parse_size(word + 5, &v)) {
					return -EINVAL;
				}
				if (v)
					rs->max_pages = DIV_ROUND_UP(v, PAGE_SIZE);
			} else if (!strncmp(word, "mode=", 5)) {
				char *p = word + 5;

				*mode = 0;
				for (; *p >= '0' && *p <= '7'; p++)
					*mode = *mode * 8 + (unsigned)(*p - '0');
				if (*p)
					return -EINVAL;
				*mode &= 07777;
			}
		}
		data += n + (data[n] == ',');
	}
	return 0;
}

int ramfs_mount(struct fs_type *t, const char *source, const char *data, struct super **out)
{
	struct ramfs_super *rs = kzalloc(sizeof(*rs), GFP_KERNEL);
	struct super *s = super_alloc(t, source, data);
	unsigned mode = strcmp(t->name, "tmpfs") ? 0755 : 01777;
	struct page_stats ps;
	struct inode *root;
	int err = -ENOMEM;

	if (!rs || !s) {
		kfree(rs);
		if (s)
			super_put(s);
		return err;
	}
	rs->max_pages = UINT64_MAX;
	s->priv = rs;
	s->statfs = ramfs_statfs;
	s->kill = ramfs_kill;
	page_stats(&ps);
	if (!strcmp(t->name, "tmpfs"))
		rs->max_pages = ps.total / 2; /* as on Linux */
	else if (!strcmp(t->name, "rootfs"))
		rs->max_pages = ps.total / 8 * 7; /* so that the OOM killer is not the answer to dd */
	err = parse_options(rs, data, &mode);
	if (err)
		goto fail;
	err = -ENOMEM;
	root = ramfs_new_inode(s, S_IFDIR | mode, 0);
	if (!root)
		goto fail;
	err = super_set_root(s, root);
	if (err)
		goto fail;
	*out = s;
	return 0;
fail:
	super_put(s);
	return err;
}

static struct fs_type rootfs_type = { .name = "rootfs", .mount = ramfs_mount };
static struct fs_type ramfs_type = { .name = "ramfs", .mount = ramfs_mount };
static struct fs_type tmpfs_type = { .name = "tmpfs", .mount = ramfs_mount };

void ramfs_init(void)
{
	fs_register(&rootfs_type);
	fs_register(&ramfs_type);
	fs_register(&tmpfs_type);
}
