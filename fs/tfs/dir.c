/* SPDX-License-Identifier: MIT */
/*
 * tfs: what can be done in directories.
 *
 * Names and what becomes of the inodes that they name; the blocks that hold them are in
 * fs/tfs/dir_block.c.
 *
 * A directory has one name.  Were a damaged image to give it two, one inode would be
 * locked as parent and child at once; so a look-up refuses a directory that says another
 * parent, the root, and one that its parent names twice.
 */
#include "fs/tfs/tfs.h"

static void count_links(struct inode *i, int n)
{
	atomic_fetch_add_explicit(&i->nlink, (uint32_t)n, memory_order_relaxed);
	tfs_dirty(tfs_i(i));
}

/* ---- operations ---- */

static int tfs_lookup(struct inode *dir, struct dentry *d)
{
	const struct dname *name = dentry_name(d);
	struct inode *i;
	uint32_t ino;
	int err = tfs_dir_find(dir, name, &ino);

	if (err)
		return err;
	i = tfs_iget(dir->super, ino);
	if (IS_ERR(i))
		return (int)PTR_ERR(i);
	err = !atomic_load_explicit(&i->nlink, memory_order_relaxed) ? -EIO : 0;
	if (!err && S_ISDIR(i->mode)) {
		int names = tfs_dir_count(dir, ino);

		err = names < 0 ? names :
		      names > 1 || ino == TFS_ROOT || tfs_i(i)->parent != dir->ino ? -EIO : 0;
	}
	if (err) {
		pr_warn("tfs: directory %llu: entry \"%s\" is damaged", (unsigned long long)dir->ino,
			name->s);
		inode_put(i);
		return err;
	}
	dentry_attach(d, i);
	return 0;
}

/* Gives @i, new, a name; without one it goes again. */
static int name_new(struct inode *dir, struct dentry *d, struct inode *i)
{
	int err = tfs_dir_add(dir, dentry_name(d), i);

	if (err) {
		atomic_store_explicit(&i->nlink, 0, memory_order_relaxed);
		tfs_unlinked(tfs_i(i));
		inode_put(i);
		return err;
	}
	dentry_attach(d, i);
	return 0;
}

static int tfs_create(struct inode *dir, struct dentry *d, unsigned mode, uint64_t rdev)
{
	struct inode *i = tfs_new_inode(dir->super, dir, mode, rdev);

	return IS_ERR(i) ? (int)PTR_ERR(i) : name_new(dir, d, i);
}

/* O_TMPFILE: as if created and unlinked at once. */
static struct inode *tfs_tmpfile(struct inode *dir, unsigned mode)
{
	struct inode *i = tfs_new_inode(dir->super, dir, mode, 0);

	if (!IS_ERR(i)) {
		atomic_store_explicit(&i->nlink, 0, memory_order_relaxed);
		tfs_unlinked(tfs_i(i));
	}
	return i;
}

static int tfs_mkdir(struct inode *dir, struct dentry *d, unsigned mode)
{
	int err = tfs_create(dir, d, mode, 0);

	if (!err)
		count_links(dir, 1);
	return err;
}

static int tfs_symlink(struct inode *dir, struct dentry *d, const char *target)
{
	struct iov v = { (void *)target, strlen(target) };
	struct iov_iter it;
	struct inode *i;
	loff_t pos = 0;
	ssize_t n;

	i = tfs_new_inode(dir->super, dir, S_IFLNK | 0777, 0);
	if (IS_ERR(i))
		return (int)PTR_ERR(i);
	iov_iter_init(&it, &v, 1, false);
	n = cached_write(&tfs_i(i)->map, &it, &pos);
	tfs_drop_reserve(tfs_i(i));
	if (n != (ssize_t)v.len) {
		atomic_store_explicit(&i->nlink, 0, memory_order_relaxed);
		tfs_unlinked(tfs_i(i));
		inode_put(i);
		return n < 0 ? (int)n : -EIO;
	}
	return name_new(dir, d, i);
}

static int tfs_link(struct inode *dir, struct dentry *d, struct inode *target)
{
	int err = tfs_dir_add(dir, dentry_name(d), target);

	if (err)
		return err;
	target->ctime = realtime_ns();
	tfs_linked(tfs_i(target)); /* if this is its first name */
	count_links(target, 1);
	inode_get(target);
	dentry_attach(d, target);
	return 0;
}

static void lost_name(struct inode *i)
{
	i->ctime = realtime_ns();
	count_links(i, -1);
	if (!atomic_load_explicit(&i->nlink, memory_order_relaxed))
		tfs_unlinked(tfs_i(i));
}

static int tfs_unlink(struct inode *dir, struct dentry *d)
{
	int err = tfs_dir_remove(dir, dentry_name(d));

	if (!err)
		lost_name(d->inode);
	return err;
}

static int check_empty(struct inode *dir)
{
	int n = tfs_dir_count(dir, 0);

	return n > 0 ? -ENOTEMPTY : n;
}

/* A directory that has lost its name: it and its parent count one link less for each other. */
static void lost_dir(struct inode *dir, struct inode *i)
{
	atomic_store_explicit(&i->nlink, 0, memory_order_relaxed);
	tfs_dirty(tfs_i(i));
	tfs_unlinked(tfs_i(i));
	count_links(dir, -1);
}

static int tfs_rmdir(struct inode *dir, struct dentry *d)
{
	int err = check_empty(d->inode);

	if (!err)
		err = tfs_dir_remove(dir, dentry_name(d));
	if (!err)
		lost_dir(dir, d->inode);
	return err;
}

/* The new name first: a crash between the two leaves two names rather than none. */
static int tfs_rename(struct inode *odir, struct dentry *od, struct inode *ndir,
		      struct dentry *nd, const struct dname *name)
{
	struct inode *i = od->inode;
	int err = 0;

	if (nd && S_ISDIR(nd->inode->mode))
		err = check_empty(nd->inode);
	if (!err)
		err = nd ? tfs_dir_replace(ndir, name, i) : tfs_dir_add(ndir, name, i);
	if (err)
		return err;
	err = tfs_dir_remove(odir, dentry_name(od));
	if (err) { /* two names are one too many for a directory */
		if (nd)
			(void)tfs_dir_replace(ndir, name, nd->inode);
		else
			(void)tfs_dir_remove(ndir, name);
		return err;
	}
	if (nd && S_ISDIR(nd->inode->mode))
		lost_dir(ndir, nd->inode);
	else if (nd)
		lost_name(nd->inode);
	if (S_ISDIR(i->mode) && odir != ndir) {
		tfs_i(i)->parent = ndir->ino;
		count_links(odir, -1);
		count_links(ndir, 1);
	}
	i->ctime = realtime_ns();
	tfs_dirty(tfs_i(i));
	return 0;
}

/* Positions: 0 and 1 for the dots, then 2 + the byte of the directory. */
static int tfs_readdir(struct file *f, filldir_t fill, void *ctx, loff_t *pos)
{
	struct inode *dir = f->inode;

	if (!dir_emit_dots(f, fill, ctx, pos))
		return 0;
	while (*pos - 2 < dir->size) {
		uint64_t b = (uint64_t)(*pos - 2) / TFS_BLOCK;
		unsigned from = (unsigned)((uint64_t)(*pos - 2) % TFS_BLOCK);
		struct page *p = tfs_dir_block(dir, b);
		int full = 0;

		if (IS_ERR(p))
			return (int)PTR_ERR(p);
		for (unsigned off = 0; off < TFS_BLOCK && !full; off += tfs_entry(p, off)->rec_len) {
			struct tfs_dirent *e = tfs_entry(p, off);
			loff_t next = 2 + (loff_t)(b * TFS_BLOCK) + off + e->rec_len;

			if (off < from) /* where we were, or what became part of another entry since */
				continue;
			if (e->ino)
				full = fill(ctx, e->name, e->name_len, e->ino, e->type, next);
			if (!full)
				*pos = next;
		}
		page_put(p);
		if (full)
			return 0;
		if (*pos - 2 < (loff_t)((b + 1) * TFS_BLOCK)) /* the block's last entry ended before @from */
			*pos = 2 + (loff_t)((b + 1) * TFS_BLOCK);
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

static int dir_fsync(struct file *f)
{
	return tfs_sync(tfs_of(f->inode->super));
}

static int dir_getattr(struct inode *i, struct kstat *st)
{
	st->blocks = (int64_t)tfs_blocks(tfs_i(i)) * (TFS_BLOCK / 512);
	return 0;
}

static int dir_setattr(struct inode *i)
{
	tfs_dirty(tfs_i(i));
	return 0;
}

const struct inode_ops tfs_dir_iops = {
	.lookup = tfs_lookup,
	.create = tfs_create,
	.mkdir = tfs_mkdir,
	.symlink = tfs_symlink,
	.link = tfs_link,
	.unlink = tfs_unlink,
	.rmdir = tfs_rmdir,
	.rename = tfs_rename,
	.tmpfile = tfs_tmpfile,
	.getattr = dir_getattr,
	.setattr = dir_setattr,
	.evict = tfs_evict,
};
const struct file_ops tfs_dir_fops = {
	.readdir = tfs_readdir,
	.lseek = dir_lseek,
	.fsync = dir_fsync,
};
