/* SPDX-License-Identifier: MIT */
/*
 * Changes of directories: making, removing, linking and renaming entries.
 *
 * Locks: the parent's inode->lock, then the victim's.  A rename takes
 *        rename_lock first, then both directories, an ancestor before what is
 *        below it, else in order of address; then the victim.
 * Source: POSIX.1-2017 mkdir, rmdir, unlink, link, rename.
 */
#include "fs/internal.h"

#define RENAME_F_NOREPLACE 1u
#define RENAME_F_EXCHANGE  2u

static struct mutex rename_lock = MUTEX_INIT(rename_lock, "rename");

int may_create(struct dentry *dir)
{
	if (dentry_deleted(dir))
		return -ENOENT;
	if (super_readonly(dir->super))
		return -EROFS;
	return inode_permission(dir->inode, MAY_WRITE | MAY_EXEC);
}

int may_delete(struct dentry *dir, struct dentry *victim)
{
	struct process *p = current->process;
	int err;

	if (super_readonly(dir->super))
		return -EROFS;
	err = inode_permission(dir->inode, MAY_WRITE | MAY_EXEC);
	if (err)
		return err;
	/* Sticky directory: only the owner of the entry or of the directory. */
	if ((dir->inode->mode & 01000) && !capable() && p->euid != victim->inode->uid &&
	    p->euid != dir->inode->uid)
		return -EPERM;
	return 0;
}

/*
 * Begins the creation of an entry: walks to the parent, locks it, makes an
 * unhashed dentry.  On success finish with create_end().
 */
static struct dentry *create_begin(struct walk *w, int dirfd, const char *path, bool dir_ok)
{
	int err = walk_parent(w, dirfd, path);
	struct dentry *d;

	if (err)
		goto fail;
	if (w->kind != LAST_NORMAL) {
		err = -EEXIST;
		goto fail;
	}
	mutex_lock(&w->d->inode->lock);
	d = lookup_locked(w->d, w->last, w->last_len);
	if (d) {
		err = IS_ERR(d) ? (int)PTR_ERR(d) : -EEXIST;
		if (!IS_ERR(d))
			dentry_put(d);
		goto unlock;
	}
	if (w->trailing && !dir_ok) {
		err = -ENOENT;
		goto unlock;
	}
	err = may_create(w->d);
	if (err)
		goto unlock;
	d = dentry_alloc(w->d, w->last, w->last_len);
	if (d)
		return d;
	err = -ENOMEM;
unlock:
	mutex_unlock(&w->d->inode->lock);
fail:
	walk_end(w);
	return ERR_PTR(err);
}

static int create_end(struct walk *w, struct dentry *d, int err)
{
	if (!err)
		dentry_add(d, !w->d->inode->ops->lookup);
	mutex_unlock(&w->d->inode->lock);
	dentry_put(d);
	walk_end(w);
	return err;
}

int do_mkdirat(int dirfd, const char *path, unsigned mode)
{
	struct walk w;
	struct dentry *d = create_begin(&w, dirfd, path, true);
	struct inode *dir;

	if (IS_ERR(d))
		return (int)PTR_ERR(d);
	dir = w.d->inode;
	mode = S_IFDIR | (mode & 01777 & ~fs_umask());
	return create_end(&w, d, dir->ops->mkdir ? dir->ops->mkdir(dir, d, mode) : -EPERM);
}

int do_mknodat(int dirfd, const char *path, unsigned mode, uint64_t rdev)
{
	struct walk w;
	struct dentry *d;
	struct inode *dir;
	bool privileged = false;

	switch (mode & S_IFMT) {
	case 0:
		mode |= S_IFREG;
		break;
	case S_IFREG:
	case S_IFIFO:
	case S_IFSOCK:
		break;
	case S_IFCHR:
	case S_IFBLK:
		privileged = true;
		break;
	case S_IFDIR:
		return -EPERM;
	default:
		return -EINVAL;
	}
	d = create_begin(&w, dirfd, path, false);
	if (IS_ERR(d))
		return (int)PTR_ERR(d);
	if (privileged && !capable())
		return create_end(&w, d, -EPERM);
	dir = w.d->inode;
	mode = (mode & S_IFMT) | (mode & 07777 & ~fs_umask());
	return create_end(&w, d, dir->ops->create ? dir->ops->create(dir, d, mode, rdev) : -EPERM);
}

int do_symlinkat(const char *target, int dirfd, const char *path)
{
	struct walk w;
	struct dentry *d;
	struct inode *dir;

	if (!*target)
		return -ENOENT;
	d = create_begin(&w, dirfd, path, false);
	if (IS_ERR(d))
		return (int)PTR_ERR(d);
	dir = w.d->inode;
	return create_end(&w, d, dir->ops->symlink ? dir->ops->symlink(dir, d, target) : -EPERM);
}

/* A file that has lost its last name gets no other; one that never had any (O_TMPFILE) does. */
static int add_link(struct inode *dir, struct dentry *d, struct inode *i)
{
	int err = -ENOENT;

	mutex_lock(&i->lock);
	if (atomic_load_explicit(&i->nlink, memory_order_relaxed) || i->nameless)
		err = dir->ops->link(dir, d, i);
	if (!err)
		i->nameless = false;
	mutex_unlock(&i->lock);
	return err;
}

int do_linkat(int ofd, const char *opath, int nfd, const char *npath, unsigned flags)
{
	struct dentry *old, *d;
	struct inode *dir;
	struct walk w;
	unsigned wf = 0;
	int err;

	if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (flags & AT_SYMLINK_FOLLOW)
		wf |= WALK_FOLLOW;
	if (flags & AT_EMPTY_PATH)
		wf |= WALK_EMPTY;
	err = path_lookup(ofd, opath, wf, &old);
	if (err)
		return err;
	d = create_begin(&w, nfd, npath, false);
	if (IS_ERR(d)) {
		dentry_put(old);
		return (int)PTR_ERR(d);
	}
	dir = w.d->inode;
	if (old->super != w.d->super)
		err = -EXDEV;
	else if (S_ISDIR(old->inode->mode) || !dir->ops->link)
		err = -EPERM;
	else
		err = add_link(dir, d, old->inode);
	err = create_end(&w, d, err);
	dentry_put(old);
	return err;
}

static int remove_dir(struct dentry *dir, struct dentry *d)
{
	struct inode *i = d->inode;
	int err;

	if (!S_ISDIR(i->mode))
		return -ENOTDIR;
	err = may_delete(dir, d);
	if (err)
		return err;
	if (atomic_load_explicit(&d->mounted, memory_order_relaxed) || d == d->super->root)
		return -EBUSY;
	if (!dir->inode->ops->rmdir)
		return -EPERM;
	mutex_lock(&i->lock);
	err = dir->inode->ops->rmdir(dir->inode, d);
	if (!err)
		dentry_remove(d);
	mutex_unlock(&i->lock);
	return err;
}

static int remove_file(struct dentry *dir, struct dentry *d, bool trailing)
{
	struct inode *i = d->inode;
	int err;

	if (S_ISDIR(i->mode))
		return -EISDIR;
	if (trailing)
		return -ENOTDIR;
	err = may_delete(dir, d);
	if (err)
		return err;
	if (atomic_load_explicit(&d->mounted, memory_order_relaxed))
		return -EBUSY;
	if (!dir->inode->ops->unlink)
		return -EPERM;
	mutex_lock(&i->lock);
	err = dir->inode->ops->unlink(dir->inode, d);
	if (!err)
		dentry_remove(d);
	mutex_unlock(&i->lock);
	return err;
}

int do_unlinkat(int dirfd, const char *path, unsigned flags)
{
	bool rmdir = flags & AT_REMOVEDIR;
	struct dentry *d;
	struct walk w;
	int err;

	if (flags & ~AT_REMOVEDIR)
		return -EINVAL;
	err = walk_parent(&w, dirfd, path);
	if (err)
		goto out;
	if (w.kind != LAST_NORMAL) {
		err = !rmdir		     ? -EISDIR
		      : w.kind == LAST_ROOT ? -EBUSY
		      : w.kind == LAST_DOT  ? -EINVAL
					    : -ENOTEMPTY;
		goto out;
	}
	mutex_lock(&w.d->inode->lock);
	d = lookup_locked(w.d, w.last, w.last_len);
	if (!d)
		err = -ENOENT;
	else if (IS_ERR(d))
		err = (int)PTR_ERR(d);
	else
		err = rmdir ? remove_dir(w.d, d) : remove_file(w.d, d, w.trailing);
	mutex_unlock(&w.d->inode->lock);
	if (d && !IS_ERR(d))
		dentry_put(d); /* outside the lock: may free the file's pages */
out:
	walk_end(&w);
	return err;
}

static void lock_two(struct dentry *a, struct dentry *b)
{
	if (a == b) {
		mutex_lock(&a->inode->lock);
		return;
	}
	if (dentry_is_below(a, b) || (!dentry_is_below(b, a) && a->inode > b->inode)) {
		struct dentry *t = a;

		a = b;
		b = t;
	}
	mutex_lock(&a->inode->lock);
	mutex_lock(&b->inode->lock);
}

static void unlock_two(struct dentry *a, struct dentry *b)
{
	mutex_unlock(&a->inode->lock);
	if (a != b)
		mutex_unlock(&b->inode->lock);
}

/* Both directories are locked; @nd is NULL or what is replaced. */
static int rename_locked(struct walk *from, struct walk *to, struct dentry *od, struct dentry *nd,
			 unsigned flags)
{
	struct inode *odir = from->d->inode, *ndir = to->d->inode;
	bool is_dir = S_ISDIR(od->inode->mode);
	struct dname *name;
	int err;

	if (nd && (flags & RENAME_F_NOREPLACE))
		return -EEXIST;
	if (!is_dir && (from->trailing || to->trailing))
		return -ENOTDIR;
	if (is_dir && dentry_is_below(to->d, od))
		return -EINVAL;
	if (nd && nd != od && dentry_is_below(from->d, nd))
		return -ENOTEMPTY;
	err = may_delete(from->d, od);
	if (!err)
		err = nd ? may_delete(to->d, nd) : may_create(to->d);
	if (err)
		return err;
	if (nd && nd->inode == od->inode)
		return 0; /* two links of one file: nothing happens */
	if (nd && is_dir && !S_ISDIR(nd->inode->mode))
		return -ENOTDIR;
	if (nd && !is_dir && S_ISDIR(nd->inode->mode))
		return -EISDIR;
	if (atomic_load_explicit(&od->mounted, memory_order_relaxed) ||
	    (nd && atomic_load_explicit(&nd->mounted, memory_order_relaxed)))
		return -EBUSY;
	if (!odir->ops->rename || odir->ops != ndir->ops)
		return -EPERM;
	name = dname_alloc(to->last, to->last_len);
	if (!name)
		return -ENOMEM;
	if (nd)
		mutex_lock(&nd->inode->lock);
	err = odir->ops->rename(odir, od, ndir, nd, name);
	if (err)
		kfree(name);
	else
		dentry_move(od, to->d, name, nd);
	if (nd)
		mutex_unlock(&nd->inode->lock);
	return err;
}

int do_renameat(int ofd, const char *opath, int nfd, const char *npath, unsigned flags)
{
	struct dentry *od = NULL, *nd = NULL;
	struct walk from, to;
	int err;

	if (flags & ~(RENAME_F_NOREPLACE | RENAME_F_EXCHANGE))
		return -EINVAL;
	if (flags & RENAME_F_EXCHANGE)
		return -EINVAL; /* as file systems without it say */
	err = walk_parent(&from, ofd, opath);
	if (err) {
		walk_end(&from);
		return err;
	}
	err = walk_parent(&to, nfd, npath);
	if (err)
		goto out;
	err = -EXDEV;
	if (from.d->super != to.d->super)
		goto out;
	err = -EBUSY;
	if (from.kind != LAST_NORMAL)
		goto out;
	err = (flags & RENAME_F_NOREPLACE) ? -EEXIST : -EBUSY;
	if (to.kind != LAST_NORMAL)
		goto out;
	mutex_lock(&rename_lock);
	lock_two(from.d, to.d);
	od = lookup_locked(from.d, from.last, from.last_len);
	nd = lookup_locked(to.d, to.last, to.last_len);
	if (IS_ERR(od) || !od) {
		err = od ? (int)PTR_ERR(od) : -ENOENT;
		od = NULL;
	} else if (IS_ERR(nd)) {
		err = (int)PTR_ERR(nd);
	} else {
		err = rename_locked(&from, &to, od, nd, flags);
	}
	unlock_two(from.d, to.d);
	mutex_unlock(&rename_lock);
	dentry_put(od);
	if (!IS_ERR(nd))
		dentry_put(nd);
out:
	walk_end(&to);
	walk_end(&from);
	return err;
}

int vfs_mkdir(const char *path, unsigned mode)
{
	return do_mkdirat(AT_FDCWD, path, mode);
}

int vfs_mkdir_parents(const char *path, unsigned mode)
{
	char *b = name_buffer();
	int err = 0;

	if (!b)
		return -ENOMEM;
	str_copy(b, path, PATH_MAX_BYTES);
	for (char *p = b + 1; *p && !err; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		err = do_mkdirat(AT_FDCWD, b, mode);
		if (err == -EEXIST)
			err = 0;
		*p = '/';
	}
	if (!err)
		err = do_mkdirat(AT_FDCWD, b, mode);
	putname(b);
	return err == -EEXIST ? 0 : err;
}

int vfs_symlink(const char *target, const char *path)
{
	return do_symlinkat(target, AT_FDCWD, path);
}

int vfs_mknod(const char *path, unsigned mode, uint64_t rdev)
{
	return do_mknodat(AT_FDCWD, path, mode, rdev);
}
