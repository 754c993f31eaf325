/* SPDX-License-Identifier: MIT */
/*
 * ramfs: the data of files.
 *
 * It is the inode's page index; each page is charged as file memory to the group
 * of the process that first wrote it.
 *
 * Locks: inode->lock over size.  get_page() (page faults) takes none: it may be
 *        called under a space's lock, while write() copies from user memory
 *        under the inode's lock.
 */
#include "fs/ramfs.h"
#include "mm/page_index.h"

static ssize_t ramfs_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	struct inode *i = f->inode;
	ssize_t done = 0;

	while (to->count) {
		loff_t size = atomic_load_explicit(&i->size, memory_order_acquire);
		size_t off = (size_t)*pos & (PAGE_SIZE - 1), n, k;
		struct page *p;

		if (*pos >= size)
			break;
		n = min(PAGE_SIZE - off, to->count);
		n = (size_t)min_t(loff_t, (loff_t)n, size - *pos);
		p = page_index_lookup(i->pages, (uint64_t)*pos >> PAGE_SHIFT);
		if (p) {
			k = copy_to_iter((char *)page_virt(p) + off, n, to);
			page_put(p);
		} else {
			k = zero_iter(n, to);
		}
		*pos += (loff_t)k;
		done += (ssize_t)k;
		if (k < n)
			return done ? done : -EFAULT;
		cond_resched();
	}
	return done;
}

/* Page number @n to write to: counted against the instance's size. */
static struct page *page_for_write(struct inode *i, uint64_t n, struct owner *o)
{
	struct ramfs_super *rs = ramfs_info(i->super);
	struct page *p = page_index_lookup(i->pages, n);

	if (p)
		return p;
	if (rs && atomic_load_explicit(&rs->pages, memory_order_relaxed) >= rs->max_pages)
		return ERR_PTR(-ENOSPC);
	p = page_index_get(i->pages, n, o);
	if (!IS_ERR(p))
		ramfs_count_pages(i->super, 1);
	return p;
}

static ssize_t ramfs_write(struct file *f, struct iov_iter *from, loff_t *pos)
{
	struct inode *i = f->inode;
	struct owner *o;
	ssize_t done = 0, err = 0;

	if (!from->count)
		return 0;
	o = current_owner();
	owner_get(o);
	mutex_lock(&i->lock);
	if (atomic_load_explicit(&f->flags, memory_order_relaxed) & O_APPEND)
		*pos = atomic_load_explicit(&i->size, memory_order_relaxed);
	while (from->count) {
		uint64_t index = (uint64_t)*pos >> PAGE_SHIFT;
		size_t off = (size_t)*pos & (PAGE_SIZE - 1);
		size_t n = min(PAGE_SIZE - off, from->count), k;
		struct page *p = page_for_write(i, index, o);

		if (IS_ERR(p)) {
			err = PTR_ERR(p);
			break;
		}
		k = copy_from_iter((char *)page_virt(p) + off, n, from);
		page_put(p);
		*pos += (loff_t)k;
		done += (ssize_t)k;
		if (k && *pos > atomic_load_explicit(&i->size, memory_order_relaxed))
			atomic_store_explicit(&i->size, *pos, memory_order_release);
		if (k < n) {
			err = -EFAULT;
			break;
		}
		if (kill_pending(current)) {
			err = -EINTR;
			break;
		}
		cond_resched();
	}
	if (done)
		inode_touch(i);
	mutex_unlock(&i->lock);
	owner_put(o);
	return done ? done : err;
}

static int ramfs_truncate(struct inode *i, loff_t size)
{
	loff_t old = atomic_load_explicit(&i->size, memory_order_relaxed);
	uint64_t keep = ((uint64_t)size + PAGE_SIZE - 1) >> PAGE_SHIFT, before;

	atomic_store_explicit(&i->size, size, memory_order_seq_cst);
	if (size >= old)
		return 0;
	before = page_index_count(i->pages);
	page_index_truncate(i->pages, keep);
	ramfs_count_pages(i->super, (int64_t)page_index_count(i->pages) - (int64_t)before);
	if (atomic_load_explicit(&i->mapped, memory_order_seq_cst))
		vm_file_truncated(i, keep);
	if (size & (PAGE_SIZE - 1)) { /* what the file may grow over again reads as zero */
		struct page *p = page_index_lookup(i->pages, (uint64_t)size >> PAGE_SHIFT);

		if (p) {
			size_t off = (size_t)size & (PAGE_SIZE - 1);

			memset((char *)page_virt(p) + off, 0, PAGE_SIZE - off);
			page_put(p);
		}
	}
	return 0;
}

static struct page *ramfs_get_page(struct file *f, uint64_t index)
{
	struct inode *i = f->inode;
	struct owner *o;
	struct page *p;

	if ((loff_t)(index << PAGE_SHIFT) >= atomic_load_explicit(&i->size, memory_order_acquire))
		return ERR_PTR(-EIO);
	p = page_index_lookup(i->pages, index);
	if (p)
		return p;
	o = current_owner();
	owner_get(o); /* for the sleeping in between */
	p = page_for_write(i, index, o);
	owner_put(o);
	/* A truncate that did not see our page: take it back. */
	if (!IS_ERR(p) && (loff_t)(index << PAGE_SHIFT) >=
				  atomic_load_explicit(&i->size, memory_order_seq_cst)) {
		page_put(p);
		page_index_remove(i->pages, index);
		ramfs_count_pages(i->super, -1);
		return ERR_PTR(-EIO);
	}
	return p;
}

static loff_t ramfs_lseek(struct file *f, loff_t off, int whence)
{
	struct inode *i = f->inode;
	loff_t size = atomic_load_explicit(&i->size, memory_order_acquire);
	uint64_t n;

	switch (whence) {
	case SEEK_SET:
		break;
	case SEEK_CUR:
		if (__builtin_add_overflow(off, f->pos, &off))
			return -EOVERFLOW;
		break;
	case SEEK_END:
		if (__builtin_add_overflow(off, size, &off))
			return -EOVERFLOW;
		break;
	case SEEK_DATA:
		if (off < 0 || off >= size)
			return -ENXIO;
		n = page_index_next(i->pages, (uint64_t)off >> PAGE_SHIFT);
		if (n == UINT64_MAX || (loff_t)(n << PAGE_SHIFT) >= size)
			return -ENXIO;
		off = max_t(loff_t, off, (loff_t)(n << PAGE_SHIFT));
		break;
	case SEEK_HOLE:
		if (off < 0 || off >= size)
			return -ENXIO;
		for (n = (uint64_t)off >> PAGE_SHIFT;
		     (loff_t)(n << PAGE_SHIFT) < size && page_index_next(i->pages, n) == n; n++)
			;
		off = min_t(loff_t, size, max_t(loff_t, off, (loff_t)(n << PAGE_SHIFT)));
		break;
	default:
		return -EINVAL;
	}
	if (off < 0)
		return -EINVAL;
	f->pos = off;
	return off;
}

static int ramfs_mmap(struct file *f, unsigned vm_flags)
{
	return 0;
}

static int ramfs_fsync(struct file *f)
{
	return 0;
}

const struct file_ops ramfs_file_ops = {
	.read = ramfs_read,
	.write = ramfs_write,
	.lseek = ramfs_lseek,
	.get_page = ramfs_get_page,
	.mmap = ramfs_mmap,
	.fsync = ramfs_fsync,
};
const struct inode_ops ramfs_file_iops = {
	.truncate = ramfs_truncate,
	.evict = ramfs_evict,
};
