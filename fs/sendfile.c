/* SPDX-License-Identifier: MIT */
/*
 * sendfile and copy_file_range: from a file's pages to another file.
 *
 * A target with a send_page operation (sockets) gets references to the source's
 * pages; for others the pages are the buffer that is written from, so there is
 * one copy.  Source: sendfile(2), copy_file_range(2).
 */
#include "fs/internal.h"
#include "fs/sys.h"

/* Room for one call: a page and its place in it. */
struct piece {
	struct page *page;
	size_t off, len;
};

/* The page at @pos, at most to the end of the file.  0 bytes: end of file; or -errno. */
static ssize_t next_piece(struct file *in, loff_t pos, size_t want, struct piece *p)
{
	loff_t size = atomic_load_explicit(&in->inode->size, memory_order_acquire);

	if (pos >= size)
		return 0;
	p->off = (size_t)pos & (PAGE_SIZE - 1);
	p->len = min(PAGE_SIZE - p->off, want);
	p->len = (size_t)min_t(loff_t, (loff_t)p->len, size - pos);
	p->page = in->ops->get_page(in, (uint64_t)pos >> PAGE_SHIFT);
	if (IS_ERR(p->page))
		return PTR_ERR(p->page) == -EIO ? 0 : PTR_ERR(p->page);
	return (ssize_t)p->len;
}

static ssize_t send_piece(struct file *out, const struct piece *p, loff_t *out_pos, bool more)
{
	struct iov v;
	struct iov_iter it;

	if (out->ops->send_page)
		return out->ops->send_page(out, p->page, p->off, p->len, more);
	v.base = (char *)page_virt(p->page) + p->off;
	v.len = p->len;
	iov_iter_init(&it, &v, 1, false);
	return file_write_iter(out, &it, out_pos);
}

/* Moves up to @count bytes; short when the source ends or the target takes no more. */
static ssize_t transfer(struct file *in, loff_t *in_pos, struct file *out, loff_t *out_pos,
			size_t count)
{
	ssize_t done = 0, k = 0;

	while (count) {
		struct piece p;
		ssize_t n = next_piece(in, *in_pos, count, &p);

		if (n <= 0) {
			k = n;
			break;
		}
		/* More follows unless this is the last of the call or of the file. */
		k = send_piece(out, &p, out_pos,
			       (size_t)n < count &&
				       *in_pos + n < atomic_load_explicit(&in->inode->size,
									  memory_order_relaxed));
		page_put(p.page);
		if (k <= 0)
			break;
		done += k;
		*in_pos += k;
		count -= (size_t)k;
		if (k < n)
			break;
		if (signal_pending(current))
			break;
		cond_resched();
	}
	return done ? done : k;
}

#define SEND_PARTS 16 /* runs of one send_pages() call: 64 KiB */

/* As transfer(), for a target that takes several pages at once. */
static ssize_t transfer_parts(struct file *in, loff_t *in_pos, struct file *out, size_t count)
{
	ssize_t done = 0, k = 0;

	while (count) {
		struct page_part v[SEND_PARTS];
		unsigned n = 0;
		size_t sum = 0;

		while (n < SEND_PARTS && sum < count) {
			struct piece p;

			k = next_piece(in, *in_pos + (loff_t)sum, count - sum, &p);
			if (k <= 0)
				break;
			v[n++] = (struct page_part){ p.page, (uint32_t)p.off, (uint32_t)p.len };
			sum += p.len;
		}
		if (!n)
			break;
		/* More follows unless this is the last of the call or of the file. */
		k = out->ops->send_pages(out, v, n, k > 0 && sum < count);
		for (unsigned i = 0; i < n; i++)
			page_put(v[i].page);
		if (k <= 0)
			break;
		done += k;
		*in_pos += k;
		count -= (size_t)k;
		if ((size_t)k < sum || signal_pending(current))
			break;
		cond_resched();
	}
	return done ? done : k;
}

static bool has_pages(const struct file *f)
{
	return f->inode && S_ISREG(f->inode->mode) && f->ops->get_page;
}

/* Sources without pages (procfs, devices): through a buffer. */
static ssize_t transfer_copy(struct file *in, loff_t *in_pos, struct file *out, loff_t *out_pos,
			     size_t count)
{
	char *b = name_buffer();
	ssize_t done = 0, k = 0;

	if (!b)
		return -ENOMEM;
	while (count) {
		struct iov v = { b, min(count, (size_t)PATH_MAX_BYTES) };
		struct iov_iter it;
		ssize_t n;

		iov_iter_init(&it, &v, 1, false);
		n = k = file_read_iter(in, &it, in_pos);
		if (n <= 0)
			break;
		v = (struct iov){ b, (size_t)n };
		iov_iter_init(&it, &v, 1, false);
		k = file_write_iter(out, &it, out_pos);
		if (k <= 0)
			break;
		done += k;
		count -= (size_t)k;
		*in_pos -= n - k;
		if (k < n || signal_pending(current))
			break;
		cond_resched();
	}
	putname(b);
	return done ? done : k;
}

/* With the target's own position, where it has one. */
static ssize_t transfer_to(struct file *in, loff_t *in_pos, struct file *out, size_t count)
{
	loff_t none = 0;
	ssize_t r;

	if (out->ops->send_pages && has_pages(in))
		return transfer_parts(in, in_pos, out, count);
	if (out->mode & FMODE_STREAM)
		return has_pages(in) ? transfer(in, in_pos, out, &none, count)
				     : transfer_copy(in, in_pos, out, &none, count);
	mutex_lock(&out->pos_lock);
	r = has_pages(in) ? transfer(in, in_pos, out, &out->pos, count)
			  : transfer_copy(in, in_pos, out, &out->pos, count);
	mutex_unlock(&out->pos_lock);
	return r;
}

static long check_in(struct file *in)
{
	if (!(in->mode & FMODE_READ))
		return -EBADF;
	if (in->inode && S_ISDIR(in->inode->mode))
		return -EINVAL;
	if (in->mode & FMODE_STREAM)
		return -EINVAL;
	if (!in->ops->read && !has_pages(in))
		return -EINVAL;
	return 0;
}

long sys_sendfile(int out_fd, int in_fd, int64_t __user *uoff, size_t count)
{
	struct fdref in = fdget(in_fd), out = fdget(out_fd);
	loff_t pos;
	long ret = -EBADF;

	count = min(count, MAX_RW_COUNT);
	if (!in.file || !out.file)
		goto out;
	ret = check_in(in.file);
	if (ret)
		goto out;
	ret = -EBADF;
	if (!(out.file->mode & FMODE_WRITE))
		goto out;
	ret = -EINVAL;
	if (!out.file->ops->send_page && !out.file->ops->write)
		goto out;
	if (atomic_load_explicit(&out.file->flags, memory_order_relaxed) & O_APPEND)
		goto out;
	if (uoff) {
		ret = -EFAULT;
		if (get_user(pos, uoff))
			goto out;
		ret = -EINVAL;
		if (pos < 0)
			goto out;
		ret = transfer_to(in.file, &pos, out.file, count);
		if (ret >= 0 && put_user(pos, uoff))
			ret = -EFAULT;
	} else {
		/* Not under pos_lock: the two files may be one, or the other way round elsewhere. */
		pos = __atomic_load_n(&in.file->pos, __ATOMIC_RELAXED);
		ret = transfer_to(in.file, &pos, out.file, count);
		if (ret > 0)
			__atomic_store_n(&in.file->pos, pos, __ATOMIC_RELAXED);
	}
out:
	if (in.file)
		fdput(in);
	if (out.file)
		fdput(out);
	return ret;
}

long sys_copy_file_range(int in_fd, int64_t __user *uin, int out_fd, int64_t __user *uout,
			 size_t count, unsigned flags)
{
	struct fdref in = fdget(in_fd), out = fdget(out_fd);
	loff_t ipos, opos;
	long ret = -EBADF;

	count = min(count, MAX_RW_COUNT);
	if (!in.file || !out.file)
		goto out;
	ret = -EINVAL;
	if (flags)
		goto out;
	ret = -EBADF;
	if (!(in.file->mode & FMODE_READ) || !(out.file->mode & FMODE_WRITE) ||
	    (atomic_load_explicit(&out.file->flags, memory_order_relaxed) & O_APPEND))
		goto out;
	ret = -EISDIR;
	if ((in.file->inode && S_ISDIR(in.file->inode->mode)) ||
	    (out.file->inode && S_ISDIR(out.file->inode->mode)))
		goto out;
	ret = -EINVAL;
	if (!has_pages(in.file) || !has_pages(out.file))
		goto out;
	ret = -EFAULT;
	ipos = in.file->pos;
	opos = out.file->pos;
	if ((uin && get_user(ipos, uin)) || (uout && get_user(opos, uout)))
		goto out;
	ret = -EINVAL;
	if (ipos < 0 || opos < 0)
		goto out;
	if (in.file->inode == out.file->inode && ipos < opos + (loff_t)count &&
	    opos < ipos + (loff_t)count)
		goto out;
	ret = transfer(in.file, &ipos, out.file, &opos, count);
	if (ret > 0) {
		if (uin ? put_user(ipos, uin) : (in.file->pos = ipos, 0))
			ret = -EFAULT;
		if (uout ? put_user(opos, uout) : (out.file->pos = opos, 0))
			ret = -EFAULT;
	}
out:
	if (in.file)
		fdput(in);
	if (out.file)
		fdput(out);
	return ret;
}
