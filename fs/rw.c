/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing open files: from descriptor and user memory to the
 * file's operations.
 */
#include "fs/internal.h"
#include "fs/inotify.h"
#include "fs/sys.h"


static bool file_seekable(const struct file *f)
{
	return !(f->mode & FMODE_STREAM) && f->ops && f->ops->lseek;
}

ssize_t file_read_iter(struct file *f, struct iov_iter *to, loff_t *pos)
{
	if (!(f->mode & FMODE_READ))
		return -EBADF;
	if (f->inode && S_ISDIR(f->inode->mode))
		return -EISDIR;
	if (!f->ops->read)
		return -EINVAL;
	return f->ops->read(f, to, pos);
}

ssize_t file_write_iter(struct file *f, struct iov_iter *from, loff_t *pos)
{
	struct process *p = current->process;
	ssize_t n;

	if (!(f->mode & FMODE_WRITE))
		return -EBADF;
	if (!f->ops->write)
		return -EINVAL;
	if (p && f->inode && S_ISREG(f->inode->mode)) {
		uint64_t lim = p->rlimits[RLIMIT_FSIZE][0];

		if (lim < INT64_MAX) {
			if ((uint64_t)*pos >= lim && from->count) {
				signal_process(p, SIGXFSZ);
				return -EFBIG;
			}
			from->count = (size_t)min_t(uint64_t, from->count, lim - (uint64_t)*pos);
		}
		if (*pos > INT64_MAX - (loff_t)from->count)
			return -EFBIG;
	}
	n = f->ops->write(f, from, pos);
	if (n > 0 && f->inode)
		inotify_event(f->inode, IN_MODIFY);
	return n;
}

static ssize_t rw_kernel(struct file *f, void *buf, size_t n, loff_t *pos, bool write)
{
	struct iov v = { buf, n };
	struct iov_iter it;
	loff_t p = pos ? *pos : f->pos;
	ssize_t r;

	iov_iter_init(&it, &v, 1, false);
	r = write ? file_write_iter(f, &it, &p) : file_read_iter(f, &it, &p);
	if (pos)
		*pos = p;
	else
		f->pos = p;
	return r;
}

/* @pos NULL: the file's own position (the caller is its only user). */
ssize_t vfs_read(struct file *f, void *buf, size_t n, loff_t *pos)
{
	return rw_kernel(f, buf, n, pos, false);
}

ssize_t vfs_write(struct file *f, const void *buf, size_t n, loff_t *pos)
{
	return rw_kernel(f, (void *)buf, n, pos, true);
}

/* One transfer at the file's position. */
static ssize_t rw_iter(struct file *f, struct iov_iter *it, bool write)
{
	loff_t none = 0;
	ssize_t r;

	if (f->mode & FMODE_STREAM)
		return write ? file_write_iter(f, it, &none) : file_read_iter(f, it, &none);
	mutex_lock(&f->pos_lock);
	r = write ? file_write_iter(f, it, &f->pos) : file_read_iter(f, it, &f->pos);
	mutex_unlock(&f->pos_lock);
	return r;
}

static long rw_user(int fd, void __user *buf, size_t n, bool write)
{
	struct fdref r = fdget(fd);
	struct iov v = { buf, min(n, MAX_RW_COUNT) };
	struct iov_iter it;
	long ret;

	if (!r.file)
		return -EBADF;
	if (!(r.file->mode & (write ? FMODE_WRITE : FMODE_READ))) {
		ret = -EBADF;
	} else if (!user_range_ok(buf, v.len)) {
		ret = -EFAULT;
	} else {
		iov_iter_init(&it, &v, 1, true);
		ret = rw_iter(r.file, &it, write);
	}
	fdput(r);
	return ret;
}

long sys_read(int fd, void __user *buf, size_t n)
{
	return rw_user(fd, buf, n, false);
}

long sys_write(int fd, const void __user *buf, size_t n)
{
	return rw_user(fd, (void __user *)buf, n, true);
}

/* At a given position: @off -1 means the file's own (preadv2). */
static long rw_at(int fd, struct iov_iter *it, int64_t off, bool write)
{
	struct fdref r = fdget(fd);
	loff_t pos = off;
	long ret;

	if (!r.file)
		return -EBADF;
	if (!(r.file->mode & (write ? FMODE_WRITE : FMODE_READ)))
		ret = -EBADF;
	else if (r.file->mode & FMODE_STREAM)
		ret = -ESPIPE;
	else
		ret = write ? file_write_iter(r.file, it, &pos) : file_read_iter(r.file, it, &pos);
	fdput(r);
	return ret;
}

static long prw(int fd, void __user *buf, size_t n, int64_t off, bool write)
{
	struct iov v = { buf, min(n, MAX_RW_COUNT) };
	struct iov_iter it;

	if (off < 0)
		return -EINVAL;
	if (!user_range_ok(buf, v.len))
		return -EFAULT;
	iov_iter_init(&it, &v, 1, true);
	return rw_at(fd, &it, off, write);
}

long sys_pread64(int fd, void __user *buf, size_t n, int64_t off)
{
	return prw(fd, buf, n, off, false);
}

long sys_pwrite64(int fd, const void __user *buf, size_t n, int64_t off)
{
	return prw(fd, (void __user *)buf, n, off, true);
}

static long rwv(int fd, const void __user *uv, unsigned long nr, int64_t off, bool at, bool write)
{
	struct iov stackv[8], *v = stackv;
	struct iov_iter it;
	struct fdref r;
	long ret;

	if (at && off < 0)
		return -EINVAL;
	r = fdget(fd);
	if (!r.file)
		return -EBADF;
	ret = -EBADF;
	if (!(r.file->mode & (write ? FMODE_WRITE : FMODE_READ)))
		goto out;
	ret = import_iovec(uv, nr, stackv, &v, &it);
	if (ret < 0)
		goto out;
	it.count = min(it.count, MAX_RW_COUNT);
	ret = at ? rw_at(fd, &it, off, write) : rw_iter(r.file, &it, write);
	if (v != stackv)
		kfree(v);
out:
	fdput(r);
	return ret;
}

long sys_readv(int fd, const void __user *v, unsigned long nr)
{
	return rwv(fd, v, nr, 0, false, false);
}

long sys_writev(int fd, const void __user *v, unsigned long nr)
{
	return rwv(fd, v, nr, 0, false, true);
}

long sys_preadv(int fd, const void __user *v, unsigned long nr, unsigned long lo, unsigned long hi)
{
	return rwv(fd, v, nr, (int64_t)lo, true, false);
}

long sys_pwritev(int fd, const void __user *v, unsigned long nr, unsigned long lo, unsigned long hi)
{
	return rwv(fd, v, nr, (int64_t)lo, true, true);
}

long sys_preadv2(int fd, const void __user *v, unsigned long nr, unsigned long lo,
		 unsigned long hi, int flags)
{
	if (flags)
		return -EOPNOTSUPP;
	return rwv(fd, v, nr, (int64_t)lo, (int64_t)lo != -1, false);
}

long sys_pwritev2(int fd, const void __user *v, unsigned long nr, unsigned long lo,
		  unsigned long hi, int flags)
{
	if (flags)
		return -EOPNOTSUPP;
	return rwv(fd, v, nr, (int64_t)lo, (int64_t)lo != -1, true);
}

long sys_lseek(int fd, int64_t off, int whence)
{
	struct fdref r = fdget(fd);
	long ret;

	if (!r.file)
		return -EBADF;
	if (whence < SEEK_SET || whence > SEEK_HOLE) {
		ret = -EINVAL;
	} else if (!file_seekable(r.file)) {
		ret = -ESPIPE;
	} else {
		mutex_lock(&r.file->pos_lock);
		ret = r.file->ops->lseek(r.file, off, whence);
		mutex_unlock(&r.file->pos_lock);
	}
	fdput(r);
	return ret;
}

/* Reading goes ahead by itself; this only says whether it could be asked for. */
long sys_readahead(int fd, int64_t off, size_t n)
{
	struct fdref r = fdget(fd);
	long ret = 0;

	if (!r.file)
		return -EBADF;
	if (!r.file->inode || !S_ISREG(r.file->inode->mode) || !(r.file->mode & FMODE_READ))
		ret = -EINVAL;
	fdput(r);
	return ret;
}

long sys_fadvise64(int fd, int64_t off, int64_t n, int advice)
{
	struct fdref r = fdget(fd);
	long ret = 0;

	if (!r.file)
		return -EBADF;
	if (r.file->mode & FMODE_STREAM)
		ret = -ESPIPE;
	else if (advice < 0 || advice > 5 || n < 0)
		ret = -EINVAL;
	fdput(r);
	return ret;
}

#define FALLOC_FL_KEEP_SIZE  1
#define FALLOC_FL_PUNCH_HOLE 2

/* Space is taken when written; this only sets the size, or zeroes a range. */
long sys_fallocate(int fd, int mode, int64_t off, int64_t n)
{
	struct fdref r = fdget(fd);
	struct inode *i;
	long ret = 0;

	if (!r.file)
		return -EBADF;
	i = r.file->inode;
	if (off < 0 || n <= 0)
		ret = -EINVAL;
	else if (!(r.file->mode & FMODE_WRITE))
		ret = -EBADF;
	else if (r.file->mode & FMODE_STREAM)
		ret = -ESPIPE;
	else if (!i || !S_ISREG(i->mode) || !i->ops || !i->ops->truncate)
		ret = -ENODEV;
	else if (off > INT64_MAX - n)
		ret = -EFBIG;
	else if (mode & ~FALLOC_FL_KEEP_SIZE)
		ret = -EOPNOTSUPP;
	else if (!(mode & FALLOC_FL_KEEP_SIZE) && off + n > i->size)
		ret = do_truncate(i, off + n);
	fdput(r);
	return ret;
}
