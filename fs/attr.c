/* SPDX-License-Identifier: MIT */
/*
 * Attributes of inodes: mode, owner, times, size.  fs/sys_stat.c reads them.
 */
#include "fs/internal.h"
#include "fs/sys.h"
#include "mm/page_index.h"

int inode_stat(struct inode *i, struct kstat *st)
{
	memset(st, 0, sizeof(*st));
	st->dev = i->super->dev;
	st->ino = i->ino;
	st->nlink = atomic_load_explicit(&i->nlink, memory_order_relaxed);
	st->mode = atomic_load_explicit(&i->mode, memory_order_relaxed);
	st->uid = i->uid;
	st->gid = i->gid;
	st->rdev = i->rdev;
	st->size = atomic_load_explicit(&i->size, memory_order_relaxed);
	st->blksize = PAGE_SIZE;
	if (i->pages)
		st->blocks = (int64_t)page_index_count(i->pages) * (PAGE_SIZE / 512);
	st->atime = i->atime / NSEC_PER_SEC;
	st->atime_ns = i->atime % NSEC_PER_SEC;
	st->mtime = i->mtime / NSEC_PER_SEC;
	st->mtime_ns = i->mtime % NSEC_PER_SEC;
	st->ctime = i->ctime / NSEC_PER_SEC;
	st->ctime_ns = i->ctime % NSEC_PER_SEC;
	return i->ops && i->ops->getattr ? i->ops->getattr(i, st) : 0;
}

static uint64_t anon_ino(struct file *f)
{
	static _Atomic uint64_t last = 1000;
	uint64_t old = atomic_load_explicit(&f->anon_ino, memory_order_relaxed);

	if (!old) {
		uint64_t n = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed);

		if (atomic_compare_exchange_strong_explicit(&f->anon_ino, &old, n,
							    memory_order_relaxed,
							    memory_order_relaxed))
			return n;
	}
	return old;
}

int vfs_stat_file(struct file *f, struct kstat *st)
{
	if (f->inode)
		return inode_stat(f->inode, st);
	memset(st, 0, sizeof(*st));
	st->ino = anon_ino(f);
	st->nlink = 1;
	st->mode = f->anon_mode;
	st->blksize = PAGE_SIZE;
	return 0;
}

int do_truncate(struct inode *i, loff_t size)
{
	int err;

	if (size < 0)
		return -EINVAL;
	if (S_ISDIR(i->mode))
		return -EISDIR;
	if (!S_ISREG(i->mode))
		return -EINVAL;
	if (super_readonly(i->super))
		return -EROFS;
	if (!i->ops || !i->ops->truncate)
		return size == 0 ? 0 : -EINVAL;
	mutex_lock(&i->lock);
	err = i->ops->truncate(i, size);
	if (!err)
		inode_touch(i);
	mutex_unlock(&i->lock);
	return err;
}

static bool owner_of(const struct inode *i)
{
	struct process *p = current->process;

	return !p || p->euid == 0 || p->euid == i->uid;
}

static int attr_begin(struct inode *i)
{
	return super_readonly(i->super) ? -EROFS : 0;
}

static int attr_end(struct inode *i)
{
	int err = i->ops && i->ops->setattr ? i->ops->setattr(i) : 0;

	i->ctime = realtime_ns();
	mutex_unlock(&i->lock);
	return err;
}

static int set_mode(struct inode *i, unsigned mode)
{
	int err = attr_begin(i);

	if (err)
		return err;
	if (!owner_of(i))
		return -EPERM;
	mutex_lock(&i->lock);
	atomic_store_explicit(&i->mode, (i->mode & S_IFMT) | (mode & 07777), memory_order_relaxed);
	return attr_end(i);
}

static int set_owner(struct inode *i, uint32_t uid, uint32_t gid)
{
	struct process *p = current->process;
	int err = attr_begin(i);

	if (err)
		return err;
	if (!capable()) {
		if (!owner_of(i) || (uid != (uint32_t)-1 && uid != i->uid) ||
		    (gid != (uint32_t)-1 && gid != i->gid && gid != p->egid))
			return -EPERM;
	}
	mutex_lock(&i->lock);
	if (uid != (uint32_t)-1)
		i->uid = uid;
	if (gid != (uint32_t)-1)
		i->gid = gid;
	if (!S_ISDIR(i->mode) && (i->mode & 0111))
		atomic_fetch_and_explicit(&i->mode, (uint32_t)~06000, memory_order_relaxed);
	return attr_end(i);
}

#define UTIME_NOW  ((1L << 30) - 1)
#define UTIME_OMIT ((1L << 30) - 2)

/* @ts: atime, mtime; NULL: now. */
static int set_times(struct inode *i, const struct timespec64 *ts)
{
	uint64_t now = realtime_ns();
	int err = attr_begin(i);

	if (err)
		return err;
	if (ts && ts[0].nsec == UTIME_OMIT && ts[1].nsec == UTIME_OMIT)
		return 0;
	if (!owner_of(i)) {
		bool to_now = !ts || (ts[0].nsec == UTIME_NOW && ts[1].nsec == UTIME_NOW);

		if (!to_now)
			return -EPERM;
		err = inode_permission(i, MAY_WRITE);
		if (err)
			return err;
	}
	mutex_lock(&i->lock);
	if (!ts || ts[0].nsec == UTIME_NOW)
		i->atime = now;
	else if (ts[0].nsec != UTIME_OMIT)
		i->atime = (uint64_t)ts[0].sec * NSEC_PER_SEC + (uint64_t)ts[0].nsec;
	if (!ts || ts[1].nsec == UTIME_NOW)
		i->mtime = now;
	else if (ts[1].nsec != UTIME_OMIT)
		i->mtime = (uint64_t)ts[1].sec * NSEC_PER_SEC + (uint64_t)ts[1].nsec;
	return attr_end(i);
}

int user_lookup(int dirfd, const char __user *path, unsigned flags, struct dentry **out)
{
	char *name = getname(path);
	int err;

	if (IS_ERR(name))
		return (int)PTR_ERR(name);
	err = path_lookup(dirfd, name, flags, out);
	putname(name);
	return err;
}

unsigned at_flags(int flags)
{
	return ((flags & AT_SYMLINK_NOFOLLOW) ? 0 : WALK_FOLLOW) |
	       ((flags & AT_EMPTY_PATH) ? WALK_EMPTY : 0);
}

/* chmod and chown families. */
long sys_fchmodat(int dirfd, const char __user *path, unsigned mode)
{
	struct dentry *d;
	int err = user_lookup(dirfd, path, WALK_FOLLOW, &d);

	if (err)
		return err;
	err = set_mode(d->inode, mode);
	dentry_put(d);
	return err;
}

long sys_chmod(const char __user *path, unsigned mode)
{
	return sys_fchmodat(AT_FDCWD, path, mode);
}

long sys_fchmod(int fd, unsigned mode)
{
	struct fdref r = fdget(fd);
	int err = 0;

	if (!r.file)
		return -EBADF;
	if (r.file->inode)
		err = set_mode(r.file->inode, mode);
	fdput(r);
	return err;
}

long sys_fchownat(int dirfd, const char __user *path, uint32_t uid, uint32_t gid, int flags)
{
	struct dentry *d;
	int err;

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	err = user_lookup(dirfd, path, at_flags(flags), &d);
	if (err)
		return err;
	err = set_owner(d->inode, uid, gid);
	dentry_put(d);
	return err;
}

long sys_chown(const char __user *path, uint32_t uid, uint32_t gid)
{
	return sys_fchownat(AT_FDCWD, path, uid, gid, 0);
}

long sys_lchown(const char __user *path, uint32_t uid, uint32_t gid)
{
	return sys_fchownat(AT_FDCWD, path, uid, gid, AT_SYMLINK_NOFOLLOW);
}

long sys_fchown(int fd, uint32_t uid, uint32_t gid)
{
	struct fdref r = fdget(fd);
	int err = 0;

	if (!r.file)
		return -EBADF;
	if (r.file->inode)
		err = set_owner(r.file->inode, uid, gid);
	fdput(r);
	return err;
}

/* Times. */
static long utimes_at(int dirfd, const char __user *path, const struct timespec64 *ts, int flags)
{
	struct dentry *d;
	int err;

	if (ts) {
		for (int k = 0; k < 2; k++) {
			if (ts[k].nsec != UTIME_NOW && ts[k].nsec != UTIME_OMIT &&
			    (ts[k].nsec < 0 || ts[k].nsec >= (int64_t)NSEC_PER_SEC))
				return -EINVAL;
		}
	}
	if (!path) {
		struct fdref r;

		if (dirfd == AT_FDCWD)
			return -EFAULT;
		r = fdget(dirfd);
		if (!r.file)
			return -EBADF;
		err = r.file->inode ? set_times(r.file->inode, ts) : 0;
		fdput(r);
		return err;
	}
	err = user_lookup(dirfd, path, at_flags(flags), &d);
	if (err)
		return err;
	err = set_times(d->inode, ts);
	dentry_put(d);
	return err;
}

long sys_utimensat(int dirfd, const char __user *path, const struct timespec64 __user *uts,
		   int flags)
{
	struct timespec64 ts[2];

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (uts && copy_from_user(ts, uts, sizeof(ts)))
		return -EFAULT;
	return utimes_at(dirfd, path, uts ? ts : NULL, flags);
}

long sys_futimesat(int dirfd, const char __user *path, const struct timeval64 __user *utv)
{
	struct timeval64 tv[2];
	struct timespec64 ts[2];

	if (!utv)
		return utimes_at(dirfd, path, NULL, 0);
	if (copy_from_user(tv, utv, sizeof(tv)))
		return -EFAULT;
	for (int k = 0; k < 2; k++) {
		if (tv[k].usec < 0 || tv[k].usec >= 1000000)
			return -EINVAL;
		ts[k] = (struct timespec64){ tv[k].sec, tv[k].usec * 1000 };
	}
	return utimes_at(dirfd, path, ts, 0);
}

long sys_utimes(const char __user *path, const struct timeval64 __user *utv)
{
	return sys_futimesat(AT_FDCWD, path, utv);
}

long sys_utime(const char __user *path, const int64_t __user *ut)
{
	int64_t t[2];
	struct timespec64 ts[2];

	if (!ut)
		return utimes_at(AT_FDCWD, path, NULL, 0);
	if (copy_from_user(t, ut, sizeof(t)))
		return -EFAULT;
	ts[0] = (struct timespec64){ t[0], 0 };
	ts[1] = (struct timespec64){ t[1], 0 };
	return utimes_at(AT_FDCWD, path, ts, 0);
}

/* Size. */
long sys_truncate(const char __user *path, int64_t size)
{
	struct dentry *d;
	int err;

	if (size < 0)
		return -EINVAL;
	err = user_lookup(AT_FDCWD, path, WALK_FOLLOW, &d);
	if (err)
		return err;
	if (S_ISDIR(d->inode->mode))
		err = -EISDIR;
	else
		err = inode_permission(d->inode, MAY_WRITE);
	if (!err && atomic_load_explicit(&d->inode->writers, memory_order_relaxed) < 0)
		err = -ETXTBSY;
	if (!err)
		err = do_truncate(d->inode, size);
	dentry_put(d);
	return err;
}

long sys_ftruncate(int fd, int64_t size)
{
	struct fdref r;
	int err;

	if (size < 0)
		return -EINVAL;
	r = fdget(fd);
	if (!r.file)
		return -EBADF;
	if (!(r.file->mode & FMODE_WRITE) || !r.file->inode || !S_ISREG(r.file->inode->mode))
		err = -EINVAL;
	else
		err = do_truncate(r.file->inode, size);
	fdput(r);
	return err;
}
