/* SPDX-License-Identifier: MIT */
/*
 * tfs: regular files, symbolic links and special files, once they are in memory.
 */
#include "fs/ramfs.h" /* vm_file_truncated() */
#include "fs/tfs/tfs.h"
#include "mm/lru.h"

/* An open file: where its reader is, and which write errors it has been told. */
struct opened {
	struct ra_state ra;
	uint32_t errors;
};

static struct mapping *map_of(const struct inode *i)
{
	return &tfs_i(i)->map;
}

static int tfs_open(struct inode *i, struct file *f)
{
	struct opened *o = kzalloc(sizeof(*o), GFP_ACCOUNT);

	if (!o)
		return -ENOMEM;
	o->errors = atomic_load_explicit(&map_of(i)->wb_errors, memory_order_relaxed);
	f->priv = o;
	return 0;
}

static void tfs_release(struct file *f)
{
	if (f->mode & FMODE_WRITE)
		tfs_drop_reserve(tfs_i(f->inode));
	kfree(f->priv);
}

static ssize_t tfs_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	struct opened *o = f->priv;

	return cached_read(map_of(f->inode), &o->ra, to, pos);
}

/* Bytes of a cached page behind the end, which a mapping may have written, before the end moves. */
static void clear_beyond(struct inode *i)
{
	loff_t size = i->size;
	size_t used = (size_t)size & (PAGE_SIZE - 1);
	struct page *p = used ? page_cache_find(map_of(i), (uint64_t)size >> PAGE_SHIFT) : NULL;

	if (p) {
		memset((char *)page_virt(p) + used, 0, PAGE_SIZE - used);
		page_put(p);
	}
}

static ssize_t write_once(struct file *f, struct iov_iter *from, loff_t *pos)
{
	struct inode *i = f->inode;
	ssize_t n;

	mutex_lock(&i->lock);
	if (atomic_load_explicit(&f->flags, memory_order_relaxed) & O_APPEND)
		*pos = i->size;
	if (*pos > i->size)
		clear_beyond(i);
	n = cached_write(map_of(i), from, pos);
	if (n > 0) {
		inode_touch(i);
		tfs_dirty(tfs_i(i));
	}
	mutex_unlock(&i->lock);
	return n;
}

#define WRITE_AT_ONCE (1UL << 20) /* bytes between two looks at the bounds for dirty pages */

static ssize_t tfs_write(struct file *f, struct iov_iter *from, loff_t *pos)
{
	struct tfs *fs = tfs_of(f->inode->super);
	size_t left = from->count;
	ssize_t done = 0, n = 0;
	bool retried = false;

	while (left) {
		from->count = min(left, WRITE_AT_ONCE);
		n = write_once(f, from, pos);
		if (n == -ENOSPC && !retried && tfs_can_free(fs)) {
			retried = true; /* what was deleted becomes free by a sync */
			n = tfs_sync(fs);
			if (!n)
				continue;
		}
		if (n <= 0)
			break;
		left -= (size_t)n;
		done += n;
		balance_dirty();
		if (from->count || kill_pending(current))
			break; /* short */
	}
	from->count = left;
	return done ? done : n;
}

static struct page *tfs_get_page(struct file *f, uint64_t index)
{
	struct inode *i = f->inode;
	struct opened *o = f->priv;
	struct page *p = page_cache_read(map_of(i), &o->ra, index, 1);

	if (IS_ERR(p))
		return PTR_ERR(p) == -ENODATA ? ERR_PTR(-EIO) : p;
	/* A truncate makes the file shorter first: whoever reads the old size here, it zaps later. */
	if ((loff_t)(index << PAGE_SHIFT) >= atomic_load_explicit(&i->size, memory_order_seq_cst)) {
		page_put(p);
		return ERR_PTR(-EIO);
	}
	lru_touch(p);
	return p;
}

static int tfs_fsync(struct file *f)
{
	struct opened *o = f->priv;
	int err = tfs_sync(tfs_of(f->inode->super));
	uint32_t errors = atomic_load_explicit(&map_of(f->inode)->wb_errors, memory_order_relaxed);

	if (errors != o->errors) {
		o->errors = errors;
		err = err ? err : -EIO;
	}
	return err;
}

/* First block >= @n that is mapped (@data) or not, or UINT64_MAX. */
static uint64_t next_block(struct inode *i, uint64_t n, bool data)
{
	uint64_t end = ((uint64_t)i->size + PAGE_SIZE - 1) >> PAGE_SHIFT, start, len;

	while (n < end) {
		bool mapped = tfs_map(tfs_i(i), n, &start, &len);

		if (mapped == data)
			return n;
		n += mapped ? len : 1;
	}
	return UINT64_MAX;
}

static loff_t tfs_lseek(struct file *f, loff_t off, int whence)
{
	struct inode *i = f->inode;
	loff_t size = i->size;
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
	case SEEK_HOLE:
		if (off < 0 || off >= size)
			return -ENXIO;
		n = next_block(i, (uint64_t)off >> PAGE_SHIFT, whence == SEEK_DATA);
		if (n == UINT64_MAX && whence == SEEK_DATA)
			return -ENXIO;
		off = n == UINT64_MAX ? size : max(off, (loff_t)(n << PAGE_SHIFT));
		break;
	default:
		return -EINVAL;
	}
	if (off < 0)
		return -EINVAL;
	f->pos = off;
	return off;
}

static int tfs_mmap(struct file *f, unsigned vm_flags)
{
	return 0;
}

/*
 * Shorter: the size, the pages, the blocks; then the pages again, since read-ahead that
 * saw the old size may have put some there which it then read from blocks that are no
 * longer the file's.  A page put in after that finds a hole.  The mappings last: a fault
 * maps cached neighbours without asking for the size, and now there are none.
 */
static int shorten(struct inode *i, loff_t size)
{
	uint64_t keep = ((uint64_t)size + PAGE_SIZE - 1) >> PAGE_SHIFT, start, len;
	size_t used = (size_t)size & (PAGE_SIZE - 1);

	if (used && tfs_map(tfs_i(i), (uint64_t)size >> PAGE_SHIFT, &start, &len)) {
		/* What the file may grow over again reads as zero. */
		int err = cached_zero(map_of(i), size, ALIGN_UP(size, (loff_t)PAGE_SIZE));

		if (err)
			return err;
	}
	atomic_store_explicit(&i->size, size, memory_order_seq_cst);
	mapping_truncate(map_of(i), keep);
	tfs_cut(tfs_i(i), keep);
	mapping_truncate(map_of(i), keep);
	if (atomic_load_explicit(&i->mapped, memory_order_seq_cst))
		vm_file_truncated(i, keep);
	return 0;
}

static int tfs_truncate(struct inode *i, loff_t size)
{
	int err = 0;

	if ((uint64_t)size > TFS_MAX_BLOCKS * TFS_BLOCK)
		return -EFBIG;
	clear_beyond(i);
	tfs_dirty(tfs_i(i)); /* before blocks are freed: a sync that is told of them finds it listed */
	if (size < i->size)
		err = shorten(i, size);
	else
		atomic_store_explicit(&i->size, size, memory_order_release);
	return err;
}

static int tfs_getattr(struct inode *i, struct kstat *st)
{
	st->blocks = (int64_t)tfs_blocks(tfs_i(i)) * (TFS_BLOCK / 512);
	return 0;
}

static int tfs_setattr(struct inode *i)
{
	tfs_dirty(tfs_i(i));
	return 0;
}

/* The target, from the link's one block. */
static const char *tfs_readlink(struct inode *i, char *buf, size_t n)
{
	size_t len = (size_t)i->size;
	struct page *p;

	if (len >= n || len >= PAGE_SIZE)
		return ERR_PTR(-EIO);
	p = page_cache_read(map_of(i), NULL, 0, 1);
	if (IS_ERR(p))
		return ERR_PTR(-EIO);
	memcpy(buf, page_virt(p), len);
	buf[len] = '\0';
	page_put(p);
	return strlen(buf) == len ? buf : ERR_PTR(-EIO);
}

const struct file_ops tfs_file_fops = {
	.open = tfs_open,
	.release = tfs_release,
	.read = tfs_read,
	.write = tfs_write,
	.lseek = tfs_lseek,
	.get_page = tfs_get_page,
	.mmap = tfs_mmap,
	.fsync = tfs_fsync,
};
const struct inode_ops tfs_file_iops = {
	.truncate = tfs_truncate,
	.getattr = tfs_getattr,
	.setattr = tfs_setattr,
	.evict = tfs_evict,
};
const struct inode_ops tfs_link_iops = {
	.readlink = tfs_readlink,
	.getattr = tfs_getattr,
	.setattr = tfs_setattr,
	.evict = tfs_evict,
};
const struct inode_ops tfs_node_iops = {
	.setattr = tfs_setattr,
	.evict = tfs_evict,
};
