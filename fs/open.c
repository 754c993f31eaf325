/* SPDX-License-Identifier: MIT */
/*
 * Opening: from a path and flags to a struct file, creating it if asked.
 * Source: open(2).
 */
#include "fs/internal.h"

int file_deny_write(struct file *f)
{
	struct inode *i = f->inode;
	int w;

	if (!i)
		return 0;
	w = atomic_load_explicit(&i->writers, memory_order_relaxed);
	do {
		if (w > 0)
			return -ETXTBSY;
	} while (!atomic_compare_exchange_weak_explicit(&i->writers, &w, w - 1,
							memory_order_acquire,
							memory_order_relaxed));
	return 0;
}

void file_allow_write(struct file *f)
{
	if (f->inode)
		atomic_fetch_add_explicit(&f->inode->writers, 1, memory_order_release);
}

static int writer_get(struct inode *i)
{
	int w = atomic_load_explicit(&i->writers, memory_order_relaxed);

	do {
		if (w < 0)
			return -ETXTBSY;
	} while (!atomic_compare_exchange_weak_explicit(&i->writers, &w, w + 1,
							memory_order_acquire,
							memory_order_relaxed));
	return 0;
}

/**
 * file_open_dentry - open what @d names
 * @flags: O_*; permissions have been checked
 *
 * Context: may sleep (devices, FIFOs).  Return: a file with one reference (it
 * takes its own of @d), or ERR_PTR.
 */
struct file *file_open_dentry(struct dentry *d, unsigned flags)
{
	struct inode *i = d->inode;
	struct file *f;
	int err = 0;

	if (flags & O_PATH)
		flags = (flags & (O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_PATH)) | O_ACCMODE;
	if ((flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH) && S_ISREG(i->mode)) {
		err = writer_get(i);
		if (err)
			return ERR_PTR(err);
	}
	dentry_get(d);
	f = file_new(i->fops, d, flags, NULL);
	if (!f) {
		dentry_put(d);
		err = -ENOMEM;
		goto no_file;
	}
	if (flags & O_PATH) {
		f->mode = FMODE_PATH;
		atomic_fetch_and_explicit(&f->flags, ~O_ACCMODE, memory_order_relaxed);
		return f;
	}
	if (f->ops && f->ops->open) {
		err = f->ops->open(i, f);
		if (err) {
			/* Not open: nothing to release. */
			f->ops = NULL;
			fput(f);
			return ERR_PTR(err);
		}
	}
	return f;
no_file:
	if ((flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH) && S_ISREG(i->mode))
		atomic_fetch_sub_explicit(&i->writers, 1, memory_order_release);
	return ERR_PTR(err);
}

static unsigned access_wanted(unsigned flags)
{
	unsigned want = 0;

	if ((flags & O_ACCMODE) != O_WRONLY)
		want |= MAY_READ;
	if ((flags & O_ACCMODE) != O_RDONLY)
		want |= MAY_WRITE;
	if (flags & O_TRUNC)
		want |= MAY_WRITE;
	return want;
}

/* Checks and opens an existing entry. */
static struct file *open_existing(struct dentry *d, unsigned flags, bool created)
{
	struct inode *i = d->inode;
	struct file *f;
	int err = 0;

	if (flags & O_PATH) {
		if ((flags & O_DIRECTORY) && !S_ISDIR(i->mode))
			return ERR_PTR(-ENOTDIR);
		return file_open_dentry(d, flags);
	}
	if ((flags & O_DIRECTORY) && !S_ISDIR(i->mode))
		return ERR_PTR(-ENOTDIR);
	if (S_ISLNK(i->mode))
		return ERR_PTR(-ELOOP);
	if (S_ISDIR(i->mode) && ((access_wanted(flags) & MAY_WRITE) || (flags & O_CREAT)))
		return ERR_PTR(-EISDIR);
	if (S_ISSOCK(i->mode))
		return ERR_PTR(-ENXIO);
	if (!created) {
		err = inode_permission(i, access_wanted(flags));
		if (err)
			return ERR_PTR(err);
	}
	if ((access_wanted(flags) & MAY_WRITE) && (S_ISREG(i->mode) || S_ISDIR(i->mode)) &&
	    super_readonly(i->super))
		return ERR_PTR(-EROFS);
	f = file_open_dentry(d, flags);
	if (!IS_ERR(f) && (flags & O_TRUNC) && !created && S_ISREG(i->mode)) {
		err = do_truncate(i, 0);
		if (err) {
			fput(f);
			return ERR_PTR(err);
		}
	}
	return f;
}

/* New regular file as the last component of @w.  Dentry with a reference, or ERR_PTR. */
static struct dentry *create_last(struct walk *w, unsigned mode, unsigned flags, bool *created)
{
	struct dentry *dir = w->d, *d;
	int err;

	mutex_lock(&dir->inode->lock);
	d = lookup_locked(dir, w->last, w->last_len);
	if (d) {
		if (!IS_ERR(d) && (flags & O_EXCL)) {
			dentry_put(d);
			d = ERR_PTR(-EEXIST);
		} else if (!IS_ERR(d)) {
			d = cross_mounts(d);
		}
		goto out;
	}
	err = may_create(dir);
	if (!err && !dir->inode->ops->create)
		err = -EACCES;
	if (err) {
		d = ERR_PTR(err);
		goto out;
	}
	d = dentry_alloc(dir, w->last, w->last_len);
	if (!d) {
		d = ERR_PTR(-ENOMEM);
		goto out;
	}
	err = dir->inode->ops->create(dir->inode, d, S_IFREG | (mode & ~fs_umask() & 07777), 0);
	if (err) {
		dentry_put(d);
		d = ERR_PTR(err);
		goto out;
	}
	dentry_add(d, !dir->inode->ops->lookup);
	*created = true;
out:
	mutex_unlock(&dir->inode->lock);
	return d;
}

static struct file *open_create(int dirfd, const char *path, unsigned flags, unsigned mode)
{
	bool created = false;
	struct file *f = NULL;
	struct walk w;
	int err = walk_parent(&w, dirfd, path);

	while (!err) {
		struct dentry *d;

		if (w.kind != LAST_NORMAL || w.trailing) {
			err = w.kind != LAST_NORMAL && (flags & O_EXCL) ? -EEXIST : -EISDIR;
			break;
		}
		d = walk_last(&w);
		if (!d)
			d = create_last(&w, mode, flags, &created);
		if (IS_ERR(d)) {
			err = (int)PTR_ERR(d);
			break;
		}
		if (!created && (flags & O_EXCL)) {
			err = -EEXIST;
		} else if (S_ISLNK(d->inode->mode) && !(flags & O_NOFOLLOW)) {
			err = walk_through(&w, d);
			if (!err && d->inode->ops->follow) {
				f = open_existing(w.d, flags, false);
				dentry_put(d);
				break;
			}
			dentry_put(d);
			continue;
		} else {
			f = open_existing(d, flags, created);
		}
		dentry_put(d);
		break;
	}
	walk_end(&w);
	return err ? ERR_PTR(err) : f;
}

static struct file *open_tmpfile(int dirfd, const char *path, unsigned flags, unsigned mode)
{
	struct dentry *dir, *d;
	struct inode *i;
	struct file *f;
	int err;

	if (!(access_wanted(flags) & MAY_WRITE))
		return ERR_PTR(-EINVAL);
	err = path_lookup(dirfd, path, WALK_FOLLOW | WALK_DIRECTORY, &dir);
	if (err)
		return ERR_PTR(err);
	err = may_create(dir);
	if (!err && !dir->inode->ops->tmpfile)
		err = -EOPNOTSUPP;
	if (err) {
		dentry_put(dir);
		return ERR_PTR(err);
	}
	i = dir->inode->ops->tmpfile(dir->inode, S_IFREG | (mode & ~fs_umask() & 07777));
	if (IS_ERR(i)) {
		dentry_put(dir);
		return ERR_PTR(PTR_ERR(i));
	}
	atomic_store_explicit(&i->nlink, 0, memory_order_relaxed);
	i->nameless = !(flags & O_EXCL);
	d = dentry_alloc(dir, "#tmpfile", 8);
	dentry_put(dir);
	if (!d) {
		inode_put(i);
		return ERR_PTR(-ENOMEM);
	}
	dentry_attach(d, i);
	atomic_fetch_or_explicit(&d->flags, DENTRY_DELETED, memory_order_relaxed);
	f = file_open_dentry(d, flags & ~O_DIRECTORY);
	dentry_put(d);
	return f;
}

struct file *do_open(int dirfd, const char *path, unsigned flags, unsigned mode)
{
	struct dentry *d;
	struct file *f;
	int err;

	if ((flags & O_TMPFILE) == O_TMPFILE)
		return open_tmpfile(dirfd, path, flags, mode);
	if (flags & O_PATH)
		flags &= O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_PATH;
	if (flags & O_CREAT) {
		if (flags & O_DIRECTORY)
			return ERR_PTR(-EINVAL);
		return open_create(dirfd, path, flags, mode);
	}
	err = path_lookup(dirfd, path, (flags & O_NOFOLLOW) ? 0 : WALK_FOLLOW, &d);
	if (err)
		return ERR_PTR(err);
	f = open_existing(d, flags, false);
	dentry_put(d);
	return f;
}

struct file *vfs_open(const char *path, unsigned flags, unsigned mode)
{
	return do_open(AT_FDCWD, path, flags, mode);
}
