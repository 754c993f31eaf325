/* SPDX-License-Identifier: MIT */
/*
 * Open files: how they begin and end.
 *
 * The cache is SLAB_RCU: look-ups in descriptor tables may count a file that
 * has just been given back, and take the count back (fs/files.c).  So refs is
 * written last when a file is made, and is zero from its end on.
 */
#include "fs/internal.h"

static struct kmem_cache *file_cache;

struct file *file_new(const struct file_ops *ops, struct dentry *d, unsigned flags, void *priv)
{
	struct file *f = kmem_cache_alloc(file_cache, GFP_KERNEL);

	if (!f)
		return NULL;
	f->ops = ops;
	f->dentry = d;
	f->inode = d ? d->inode : NULL;
	f->priv = priv;
	atomic_store_explicit(&f->flags, flags & ~(O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_CLOEXEC),
			      memory_order_relaxed);
	f->mode = (flags & O_ACCMODE) == O_RDONLY   ? FMODE_READ
		  : (flags & O_ACCMODE) == O_WRONLY ? FMODE_WRITE
		  : (flags & O_ACCMODE) == O_RDWR   ? FMODE_READ | FMODE_WRITE
						    : 0;
	f->anon_mode = 0600;
	atomic_store_explicit(&f->anon_ino, 0, memory_order_relaxed);
	mutex_init(&f->pos_lock, "file.pos");
	f->pos = 0;
	list_init(&f->ep_links);
	/* Last: a stale reader of a recycled slot may count from here on. */
	atomic_store_explicit(&f->refs, 1, memory_order_release);
	return f;
}

struct file *file_alloc(const struct file_ops *ops, unsigned flags, void *priv)
{
	struct file *f = file_new(ops, NULL, flags, priv);

	if (f)
		f->mode |= FMODE_STREAM;
	return f;
}

void fput(struct file *f)
{
	if (atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (!list_empty(&f->ep_links))
		eventpoll_release(f);
	if (!(f->mode & FMODE_PATH)) {
		if (f->inode)
			file_locks_release(f);
		if (f->ops && f->ops->release)
			f->ops->release(f);
		if (f->inode && (f->mode & FMODE_WRITE) && S_ISREG(f->inode->mode))
			atomic_fetch_sub_explicit(&f->inode->writers, 1, memory_order_release);
	}
	dentry_put(f->dentry);
	kmem_cache_free(file_cache, f);
}

void file_init(void)
{
	file_cache = kmem_cache_create("file", sizeof(struct file), 0, SLAB_ACCOUNT | SLAB_RCU);
	if (!file_cache)
		panic("file: no memory for the cache");
}
