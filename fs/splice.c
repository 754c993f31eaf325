/* SPDX-License-Identifier: MIT */
/*
 * splice, tee, vmsplice: bytes between a pipe and something else, by reference
 * where pages can be had: those of files go into a pipe and from there to a
 * socket without a copy.  User memory (vmsplice) and what has no pages is copied.
 *
 * Two pipes at once: the second lock is only tried, and with both given up and
 * taken again if somebody has it, so no order between pipes is needed.
 * Source: splice(2), tee(2), vmsplice(2).
 */
#include "fs/internal.h"
#include "fs/pipe.h"
#include "fs/sys.h"

#define SPLICE_F_MOVE	  1u /* a hint */
#define SPLICE_F_NONBLOCK 2u /* of the pipes */
#define SPLICE_F_MORE	  4u
#define SPLICE_F_GIFT	  8u /* a hint */
#define SPLICE_F_ALL	  15u
#define UIO_MAX		  1024

static bool no_wait(const struct file *f, unsigned flags)
{
	return (flags & SPLICE_F_NONBLOCK) ||
	       (atomic_load_explicit(&f->flags, memory_order_relaxed) & O_NONBLOCK);
}

static bool has_pages(const struct file *f)
{
	return f->inode && S_ISREG(f->inode->mode) && f->ops->get_page;
}

/* What lies at *@pos of a file with pages.  Bytes, 0 at the end, or -errno; the page is referenced. */
static ssize_t page_at(struct file *in, loff_t pos, size_t want, struct page_part *part)
{
	loff_t size = atomic_load_explicit(&in->inode->size, memory_order_acquire);
	struct page *page;

	if (pos >= size)
		return 0;
	part->off = (uint32_t)((size_t)pos & (PAGE_SIZE - 1));
	part->len = (uint32_t)min(PAGE_SIZE - part->off, want);
	part->len = (uint32_t)min_t(loff_t, (loff_t)part->len, size - pos);
	page = in->ops->get_page(in, (uint64_t)pos >> PAGE_SHIFT);
	if (IS_ERR(page))
		return PTR_ERR(page) == -EIO ? 0 : PTR_ERR(page);
	part->page = page;
	return (ssize_t)part->len;
}

/* The same for anything that can be read: into a page of its own. */
static ssize_t page_read(struct file *in, loff_t *pos, size_t want, struct page_part *part)
{
	struct iov v = { .len = min(want, PAGE_SIZE) };
	struct iov_iter it;
	ssize_t n;

	part->page = page_alloc(0, PAGE_KERNEL, GFP_KERNEL | GFP_ACCOUNT);
	if (!part->page)
		return -ENOMEM;
	v.base = page_virt(part->page);
	iov_iter_init(&it, &v, 1, false);
	n = file_read_iter(in, &it, pos);
	part->off = 0;
	part->len = n > 0 ? (uint32_t)n : 0;
	if (n <= 0)
		page_put(part->page);
	return n;
}

/*
 * Until the pipe is full, the source has no more, or @count is reached.  The
 * source is read with the pipe unlocked: it may sleep for long.  Only when
 * room for a page is seen, so that what was read finds a place: bytes of a
 * stream cannot be given back.  Another writer may take that place; then this
 * one waits, which a caller that does not want to wait is told beforehand.
 */
static ssize_t into_pipe(struct file *in, loff_t *pos, struct file *out, size_t count, unsigned flags)
{
	struct pipe *p = pipe_of_file(out);
	ssize_t done = 0, n = 0;

	while (count) {
		struct page_part part;
		int room = pipe_wait_room(p, done || no_wait(out, flags));

		if (room <= 0) {
			n = room;
			break;
		}
		pipe_unlock(p);
		n = has_pages(in) ? page_at(in, *pos, count, &part) : page_read(in, pos, count, &part);
		if (n <= 0)
			break;
		room = pipe_wait_room(p, false);
		if (room > 0) {
			pipe_put(p, &part); /* has room and a reader: just seen, lock held */
			pipe_unlock(p);
		}
		page_put(part.page);
		if (room <= 0) {
			n = room;
			break;
		}
		if (has_pages(in))
			*pos += n;
		done += n;
		count -= (size_t)n;
		if (!has_pages(in) && (size_t)n < PAGE_SIZE)
			break; /* a stream has given what it had */
	}
	return done ? done : n;
}

/* One part to a file or socket.  Bytes or -errno. */
static ssize_t write_part(struct file *out, const struct page_part *part, loff_t *pos, bool more)
{
	struct iov v = { .base = (char *)page_virt(part->page) + part->off, .len = part->len };
	struct iov_iter it;

	if (out->ops->send_page)
		return out->ops->send_page(out, part->page, part->off, part->len, more);
	iov_iter_init(&it, &v, 1, false);
	return file_write_iter(out, &it, pos);
}

/* The pipe stays locked meanwhile, so that its bytes leave in their order. */
static ssize_t from_pipe(struct file *in, struct file *out, loff_t *pos, size_t count, unsigned flags)
{
	struct pipe *p = pipe_of_file(in);
	struct page_part part, next;
	ssize_t done = 0, n = 0;

	while (count) {
		int data = pipe_wait_data(p, done || no_wait(in, flags));

		if (data <= 0) {
			n = data;
			break;
		}
		while (count && pipe_peek(p, 0, &part)) {
			part.len = (uint32_t)min((size_t)part.len, count);
			n = write_part(out, &part, pos,
				       (flags & SPLICE_F_MORE) || (part.len < count && pipe_peek(p, 1, &next)));
			if (n <= 0)
				break;
			pipe_consume(p, (size_t)n);
			done += n;
			count -= (size_t)n;
			if ((uint32_t)n < part.len)
				break;
		}
		pipe_unlock(p);
		if (n <= 0 || (uint32_t)n < part.len || signal_pending(current))
			break;
	}
	return done ? done : n;
}

/*
 * Both pipes locked, the second with room, the first with data unless a reader
 * was quicker.  Return: 1; 0 if no writer is left; -errno.
 */
static int lock_both(struct file *in, struct file *out, unsigned flags)
{
	struct pipe *from = pipe_of_file(in), *to = pipe_of_file(out);

	for (;;) {
		int r = pipe_wait_data(from, no_wait(in, flags));

		if (r <= 0)
			return r;
		pipe_unlock(from);
		r = pipe_wait_room(to, no_wait(out, flags));
		if (r <= 0)
			return r;
		if (pipe_trylock(from))
			return 1; /* the data may have gone meanwhile: the caller moves nothing */
		pipe_unlock(to);
		if (signal_pending(current))
			return -ERESTARTSYS;
		yield_cpu();
	}
}

/* @keep: tee. */
static ssize_t between_pipes(struct file *in, struct file *out, size_t count, unsigned flags, bool keep)
{
	struct pipe *from = pipe_of_file(in), *to = pipe_of_file(out);
	struct page_part part;
	ssize_t done = 0;
	int r;

	if (from == to)
		return -EINVAL;
	while (!done) {
		unsigned nth = 0;

		r = lock_both(in, out, flags);
		if (r <= 0)
			return r;
		while (count && pipe_peek(from, keep ? nth++ : 0, &part)) {
			part.len = (uint32_t)min((size_t)part.len, count);
			if (!pipe_put(to, &part))
				break;
			if (!keep)
				pipe_consume(from, part.len);
			done += part.len;
			count -= part.len;
		}
		pipe_unlock(to);
		pipe_unlock(from);
	}
	return done;
}

static long check(const struct file *in, const struct file *out, unsigned flags)
{
	if (flags & ~SPLICE_F_ALL)
		return -EINVAL;
	if (!in || !out || !(in->mode & FMODE_READ) || !(out->mode & FMODE_WRITE))
		return -EBADF;
	return 0;
}

/* The position to use: the caller's, or the file's own.  Pipes and streams have none. */
static long start_pos(struct file *f, const int64_t __user *upos, loff_t *pos)
{
	*pos = 0;
	if (!upos) {
		if (!(f->mode & FMODE_STREAM))
			*pos = __atomic_load_n(&f->pos, __ATOMIC_RELAXED);
		return 0;
	}
	if (f->mode & FMODE_STREAM)
		return -ESPIPE;
	if (get_user(*pos, upos))
		return -EFAULT;
	return *pos < 0 ? -EINVAL : 0;
}

static long end_pos(struct file *f, int64_t __user *upos, loff_t pos)
{
	if (upos)
		return put_user(pos, upos) ? -EFAULT : 0;
	if (!(f->mode & FMODE_STREAM))
		__atomic_store_n(&f->pos, pos, __ATOMIC_RELAXED);
	return 0;
}

static long do_splice(struct file *in, int64_t __user *uin, struct file *out, int64_t __user *uout,
		      size_t count, unsigned flags)
{
	struct file *other = pipe_of_file(in) ? out : in;
	int64_t __user *upos = other == in ? uin : uout;
	loff_t pos;
	long ret;

	if (!pipe_of_file(in) && !pipe_of_file(out))
		return -EINVAL;
	if ((pipe_of_file(in) && uin) || (pipe_of_file(out) && uout))
		return -ESPIPE;
	if (pipe_of_file(in) && pipe_of_file(out))
		return between_pipes(in, out, count, flags, false);
	ret = start_pos(other, upos, &pos);
	if (ret)
		return ret;
	if (other == in) {
		if (!has_pages(in) && !in->ops->read)
			return -EINVAL;
		ret = into_pipe(in, &pos, out, count, flags);
	} else {
		if ((!out->ops->write && !out->ops->send_page) ||
		    (atomic_load_explicit(&out->flags, memory_order_relaxed) & O_APPEND))
			return -EINVAL;
		ret = from_pipe(in, out, &pos, count, flags);
	}
	if (ret > 0 && end_pos(other, upos, pos))
		ret = -EFAULT;
	return ret;
}

long sys_splice(int in_fd, int64_t __user *uin, int out_fd, int64_t __user *uout, size_t count,
		unsigned flags)
{
	struct fdref in, out;
	long ret;

	if (!count)
		return 0;
	in = fdget(in_fd);
	out = fdget(out_fd);
	ret = check(in.file, out.file, flags);
	if (!ret)
		ret = do_splice(in.file, uin, out.file, uout, min(count, MAX_RW_COUNT), flags);
	if (in.file)
		fdput(in);
	if (out.file)
		fdput(out);
	return ret;
}

long sys_tee(int in_fd, int out_fd, size_t count, unsigned flags)
{
	struct fdref in, out;
	long ret;

	if (!count)
		return 0;
	in = fdget(in_fd);
	out = fdget(out_fd);
	ret = check(in.file, out.file, flags);
	if (!ret && (!pipe_of_file(in.file) || !pipe_of_file(out.file)))
		ret = -EINVAL;
	if (!ret)
		ret = between_pipes(in.file, out.file, min(count, MAX_RW_COUNT), flags, true);
	if (in.file)
		fdput(in);
	if (out.file)
		fdput(out);
	return ret;
}

/* Copies: a write into the pipe, or a read from a pipe that is open for reading. */
long sys_vmsplice(int fd, const void __user *v, unsigned long nr, unsigned flags)
{
	struct fdref r;
	bool is_pipe, writes;

	if (flags & ~SPLICE_F_ALL || nr > UIO_MAX)
		return -EINVAL;
	r = fdget(fd);
	if (!r.file)
		return -EBADF;
	is_pipe = pipe_of_file(r.file) != NULL;
	writes = r.file->mode & FMODE_WRITE;
	fdput(r);
	if (!is_pipe)
		return -EBADF;
	return writes ? sys_writev(fd, v, nr) : sys_readv(fd, v, nr);
}
