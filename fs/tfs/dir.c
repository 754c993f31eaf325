/* SPDX-License-Identifier: MIT */
/*
 * tfs: directories.
 *
 * A directory's blocks are read through its mapping and searched from the front; its
 * inode->lock is held by whoever reads or changes it (the VFS sees to that).  A name and
 * its inode number change in one place in one block, so no crash shows half an entry.
 *
 * A directory has one name.  Were a damaged image to give it two, one inode would be
 * locked as parent and child at once; so a look-up refuses a directory that says another
 * parent, the root, and one that its parent names twice.
 */
#include "fs/tfs/tfs.h"

/* Where an entry is: its page, referenced, and place. */
struct place {
	struct page *page;
	unsigned off, prev; /* prev: the entry before it in the block, or off itself */
};

static struct tfs_dirent *entry_at(struct page *p, unsigned off)
{
	return (struct tfs_dirent *)((char *)page_virt(p) + off);
}

int tfs_check_block(const char *block)
{
	unsigned off = 0;

	while (off < TFS_BLOCK) {
		const struct tfs_dirent *e = (const void *)(block + off);

		if (e->rec_len < TFS_DIRENT_LEN(e->name_len) || e->rec_len % 8 ||
		    e->rec_len > TFS_BLOCK - off || (e->ino && !e->name_len))
			return -EIO;
		for (unsigned k = 0; e->ino && k < e->name_len; k++)
			if (e->name[k] == '/' || !e->name[k])
				return -EIO;
		off += e->rec_len;
	}
	return 0;
}

/* Block @n of a directory, whose entries can be walked; ERR_PTR. */
static struct page *dir_block(struct inode *dir, uint64_t n)
{
	struct page *p = page_cache_read(&tfs_i(dir)->map, NULL, n, 1);

	if (IS_ERR(p))
		return PTR_ERR(p) == -ENODATA ? ERR_PTR(-EIO) : p;
	if (tfs_check_block(page_virt(p))) {
		pr_warn("tfs: directory %llu: block %llu is damaged",
			(unsigned long long)dir->ino, (unsigned long long)n);
		page_put(p);
		return ERR_PTR(-EIO);
	}
	return p;
}

static uint64_t dir_blocks(const struct inode *dir)
{
	return (uint64_t)dir->size / TFS_BLOCK;
}

/* Finds @name: 0 with @at filled (its page referenced), -ENOENT, or an error. */
static int find(struct inode *dir, const char *name, size_t len, struct place *at)
{
	for (uint64_t b = 0; b < dir_blocks(dir); b++) {
		struct page *p = dir_block(dir, b);
		unsigned prev = 0;

		if (IS_ERR(p))
			return (int)PTR_ERR(p);
		for (unsigned off = 0; off < TFS_BLOCK; prev = off, off += entry_at(p, off)->rec_len) {
			struct tfs_dirent *e = entry_at(p, off);

			if (e->ino && e->name_len == len && !memcmp(e->name, name, len)) {
				*at = (struct place){ p, off, off ? prev : off };
				return 0;
			}
		}
		page_put(p);
		cond_resched();
	}
	return -ENOENT;
}

/* How many entries of @dir name inode @ino, or an error. */
static int count_names(struct inode *dir, uint32_t ino)
{
	int n = 0;

	for (uint64_t b = 0; b < dir_blocks(dir); b++) {
		struct page *p = dir_block(dir, b);

		if (IS_ERR(p))
			return (int)PTR_ERR(p);
		for (unsigned off = 0; off < TFS_BLOCK; off += entry_at(p, off)->rec_len)
			n += entry_at(p, off)->ino == ino;
		page_put(p);
	}
	return n;
}

static void set_entry(struct tfs_dirent *e, const char *name, size_t len, const struct inode *i)
{
	e->ino = (uint32_t)i->ino;
	e->name_len = (uint8_t)len;
	e->type = (uint8_t)mode_dtype(i->mode);
	memcpy(e->name, name, len);
}

/* Puts an entry into the first gap of block @p that is large enough: false if there is none. */
static bool put_entry(struct page *p, const char *name, size_t len, const struct inode *i)
{
	unsigned need = TFS_DIRENT_LEN(len);

	for (unsigned off = 0; off < TFS_BLOCK; off += entry_at(p, off)->rec_len) {
		struct tfs_dirent *e = entry_at(p, off);
		unsigned used = e->ino ? TFS_DIRENT_LEN(e->name_len) : 0;

		if (e->rec_len - used < need)
			continue;
		if (used) {
			struct tfs_dirent *n = entry_at(p, off + used);

			n->rec_len = (uint16_t)(e->rec_len - used);
			set_entry(n, name, len, i);
			e->rec_len = (uint16_t)used;
		} else {
			set_entry(e, name, len, i);
		}
		return true;
	}
	return false;
}

/* Another block at the end of @dir, all free space: referenced page or ERR_PTR. */
static struct page *grow(struct inode *dir)
{
	struct tfs_inode *ti = tfs_i(dir);
	uint64_t n = dir_blocks(dir);
	struct page *p = page_alloc(0, PAGE_FILE, GFP_ZERO);
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);
	entry_at(p, 0)->rec_len = TFS_BLOCK;
	err = tfs_map_new(ti, n, false);
	tfs_drop_reserve(ti); /* nobody closes a directory */
	if (!err)
		err = page_cache_add(&ti->map, n, p);
	if (err) {
		tfs_cut(ti, n);
		page_put(p);
		return ERR_PTR(err);
	}
	page_mark_dirty(p);
	atomic_store_explicit(&dir->size, dir->size + TFS_BLOCK, memory_order_release);
	return p;
}

static int add(struct inode *dir, const struct dname *name, const struct inode *i)
{
	struct page *p;

	for (uint64_t b = 0; b < dir_blocks(dir); b++) {
		bool done;

		p = dir_block(dir, b);
		if (IS_ERR(p))
			return (int)PTR_ERR(p);
		done = put_entry(p, name->s, name->len, i);
		if (done)
			page_mark_dirty(p);
		page_put(p);
		if (done)
			goto added;
	}
	p = grow(dir);
	if (IS_ERR(p))
		return (int)PTR_ERR(p);
	(void)put_entry(p, name->s, name->len, i); /* a whole block takes any name */
	page_mark_dirty(p);
	page_put(p);
added:
	inode_touch(dir);
	tfs_dirty(tfs_i(dir));
	return 0;
}

/* Takes the entry out; drops the page. */
static void take_out(struct inode *dir, struct place *at)
{
	struct tfs_dirent *e = entry_at(at->page, at->off);

	e->ino = 0;
	if (at->prev != at->off)
		entry_at(at->page, at->prev)->rec_len += e->rec_len;
	page_mark_dirty(at->page);
	page_put(at->page);
	inode_touch(dir);
	tfs_dirty(tfs_i(dir));
}

static int remove_name(struct inode *dir, struct dentry *d)
{
	struct place at;
	int err = find(dir, dentry_name(d)->s, dentry_name(d)->len, &at);

	if (!err)
		take_out(dir, &at);
	return err;
}

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
	struct place at;
	uint32_t ino;
	int err = find(dir, name->s, name->len, &at);

	if (err)
		return err;
	ino = entry_at(at.page, at.off)->ino;
	page_put(at.page);
	i = tfs_iget(dir->super, ino);
	if (IS_ERR(i))
		return (int)PTR_ERR(i);
	err = !atomic_load_explicit(&i->nlink, memory_order_relaxed) ? -EIO : 0;
	if (!err && S_ISDIR(i->mode)) {
		int names = count_names(dir, ino);

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
	int err = add(dir, dentry_name(d), i);

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
	int err = add(dir, dentry_name(d), target);

	if (err)
		return err;
	target->ctime = realtime_ns();
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
	int err = remove_name(dir, d);

	if (!err)
		lost_name(d->inode);
	return err;
}

static int check_empty(struct inode *dir)
{
	for (uint64_t b = 0; b < dir_blocks(dir); b++) {
		struct page *p = dir_block(dir, b);
		bool any = false;

		if (IS_ERR(p))
			return (int)PTR_ERR(p);
		for (unsigned off = 0; off < TFS_BLOCK; off += entry_at(p, off)->rec_len)
			any |= entry_at(p, off)->ino != 0;
		page_put(p);
		if (any)
			return -ENOTEMPTY;
	}
	return 0;
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
		err = remove_name(dir, d);
	if (!err)
		lost_dir(dir, d->inode);
	return err;
}

/* One store of a word puts @i in the place of what @nd names. */
static int replace(struct inode *ndir, struct dentry *nd, const struct inode *i)
{
	struct place at;
	int err = find(ndir, dentry_name(nd)->s, dentry_name(nd)->len, &at);

	if (err)
		return err;
	entry_at(at.page, at.off)->ino = (uint32_t)i->ino;
	entry_at(at.page, at.off)->type = (uint8_t)mode_dtype(i->mode);
	page_mark_dirty(at.page);
	page_put(at.page);
	inode_touch(ndir);
	tfs_dirty(tfs_i(ndir));
	return 0;
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
		err = nd ? replace(ndir, nd, i) : add(ndir, name, i);
	if (!err)
		err = remove_name(odir, od);
	if (err)
		return err;
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
		struct page *p = dir_block(dir, b);
		int full = 0;

		if (IS_ERR(p))
			return (int)PTR_ERR(p);
		for (unsigned off = 0; off < TFS_BLOCK && !full; off += entry_at(p, off)->rec_len) {
			struct tfs_dirent *e = entry_at(p, off);
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
