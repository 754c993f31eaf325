/* SPDX-License-Identifier: MIT */
/*
 * Block device nodes as files: bytes through the device's mapping, sizes by ioctl.
 */
#include "fs/block.h"
#include "fs/cached_file.h"
#include "fs/internal.h"

#define BLKROSET     0x125d
#define BLKROGET     0x125e
#define BLKGETSIZE   0x1260
#define BLKFLSBUF    0x1261
#define BLKSSZGET    0x1268
#define BLKBSZGET    0x80081270
#define BLKGETSIZE64 0x80081272

struct opened {
	struct block_device *dev;
	struct ra_state ra;
};

static struct opened *opened(struct file *f)
{
	return f->priv;
}

static int blkdev_open(struct inode *i, struct file *f)
{
	struct block_device *b = block_by_inode(i);
	struct opened *o;
	int err = 0;

	if (!b)
		return -ENXIO;
	o = kzalloc(sizeof(*o), GFP_ACCOUNT);
	if (!o)
		return -ENOMEM;
	o->dev = b;
	if (f->mode & FMODE_WRITE) {
		mutex_lock(&b->lock);
		if (b->claimed)
			err = -EBUSY; /* a file system's metadata may change by itself alone */
		else
			b->writers++;
		mutex_unlock(&b->lock);
	}
	if (err) {
		kfree(o);
		return err;
	}
	f->priv = o;
	return 0;
}

static void blkdev_release(struct file *f)
{
	struct block_device *b = opened(f)->dev;

	if (f->mode & FMODE_WRITE) {
		(void)mapping_write_wait(&b->mapping, 0, UINT64_MAX);
		mutex_lock(&b->lock);
		b->writers--;
		mutex_unlock(&b->lock);
	}
	kfree(f->priv);
}

static ssize_t blkdev_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	return cached_read(&opened(f)->dev->mapping, &opened(f)->ra, to, pos);
}

static ssize_t blkdev_write(struct file *f, struct iov_iter *from, loff_t *pos)
{
	struct block_device *b = opened(f)->dev;
	int64_t size = b->size;
	ssize_t n;

	if (*pos >= size)
		return from->count ? -ENOSPC : 0;
	from->count = (size_t)min_t(int64_t, (int64_t)from->count, size - *pos);
	n = cached_write(&b->mapping, from, pos);
	balance_dirty();
	return n;
}

static loff_t blkdev_lseek(struct file *f, loff_t off, int whence)
{
	if (whence == SEEK_CUR)
		off += f->pos;
	else if (whence == SEEK_END)
		off += opened(f)->dev->size;
	else if (whence != SEEK_SET)
		return -EINVAL;
	if (off < 0)
		return -EINVAL;
	f->pos = off;
	return off;
}

/* Who may not write has nothing to wait for; the device may be a file system's, which has an order. */
static int blkdev_fsync(struct file *f)
{
	if (!(f->mode & FMODE_WRITE))
		return 0;
	return mapping_write_wait(&opened(f)->dev->mapping, 0, UINT64_MAX);
}

static long blkdev_ioctl(struct file *f, unsigned cmd, unsigned long arg)
{
	struct block_device *b = opened(f)->dev;
	uint64_t size = b->pages << PAGE_SHIFT;

	switch (cmd) {
	case BLKGETSIZE64:
		return put_user(size, (uint64_t __user *)arg);
	case BLKGETSIZE:
		return put_user((unsigned long)(size >> SECTOR_SHIFT), (unsigned long __user *)arg);
	case BLKSSZGET:
	case BLKBSZGET:
		return put_user((int)(cmd == BLKSSZGET ? 1 << SECTOR_SHIFT : PAGE_SIZE),
				(int __user *)arg);
	case BLKROGET:
		return put_user(0, (int __user *)arg);
	case BLKFLSBUF:
		if (!capable())
			return -EACCES;
		if (blkdev_fsync(f))
			return -EIO;
		(void)mapping_shrink(&b->mapping);
		return 0;
	}
	return -ENOTTY;
}

const struct file_ops blkdev_file_ops = {
	.open = blkdev_open,
	.read = blkdev_read,
	.write = blkdev_write,
	.lseek = blkdev_lseek,
	.release = blkdev_release,
	.fsync = blkdev_fsync,
	.ioctl = blkdev_ioctl,
};
