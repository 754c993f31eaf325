/* SPDX-License-Identifier: MIT */
/*
 * iov_iter: a place to copy to or from, in user or kernel segments.
 *
 * A copy stops at the first fault; the iterator then stands right behind the
 * last byte that was copied.
 */
#include "mm/uaccess.h"
#include "mm/slab.h"
#include "kernel/string.h"

#define IOV_ON_STACK 8
#define IOV_MAX_SEGS 1024 /* UIO_MAXIOV */
#define IOV_MAX_LEN  ((size_t)INT64_MAX & PAGE_MASK)

void iov_iter_init(struct iov_iter *it, const struct iov *v, unsigned nr, bool user)
{
	it->iov = v;
	it->nr = nr;
	it->skip = 0;
	it->user = user;
	it->count = 0;
	for (unsigned i = 0; i < nr; i++)
		it->count += v[i].len;
}

enum direction { TO, FROM, ZERO };

static size_t step(enum direction dir, void *base, void *kernel, size_t n, bool user)
{
	if (!user) {
		if (dir == TO)
			memmove(base, kernel, n); /* a file sent to itself */
		else if (dir == FROM)
			memmove(kernel, base, n);
		else
			memset(base, 0, n);
		return n;
	}
	if (dir == TO)
		return copy_to_user_part(base, kernel, n);
	if (dir == FROM)
		return copy_from_user_part(kernel, base, n);
	return clear_user_part(base, n);
}

static inline size_t walk(enum direction dir, char *kernel, size_t n, struct iov_iter *it)
{
	size_t done = 0;

	n = min(n, it->count);
	while (done < n) {
		size_t left = it->iov->len - it->skip, now = min(left, n - done), got;

		/* A program's address, which may be anything. */
		got = now ? step(dir, (char *)((uintptr_t)it->iov->base + it->skip),
				 dir == ZERO ? NULL : kernel + done, now, it->user) :
			    0;
		done += got;
		it->skip += got;
		it->count -= got;
		if (got < now)
			break;
		if (it->skip == it->iov->len && it->nr > 1) {
			it->iov++;
			it->nr--;
			it->skip = 0;
		}
	}
	return done;
}

size_t copy_to_iter(const void *src, size_t n, struct iov_iter *it)
{
	return walk(TO, (char *)src, n, it);
}

size_t copy_from_iter(void *dst, size_t n, struct iov_iter *it)
{
	return walk(FROM, dst, n, it);
}

size_t zero_iter(size_t n, struct iov_iter *it)
{
	return walk(ZERO, NULL, n, it);
}

int import_iovec(const void __user *uv, unsigned long nr, struct iov *stackv, struct iov **out,
		 struct iov_iter *it)
{
	struct iov *v = stackv;
	size_t total = 0;

	*out = NULL;
	if (nr > IOV_MAX_SEGS)
		return -EINVAL;
	if (nr > IOV_ON_STACK) {
		v = kmalloc(nr * sizeof(*v), GFP_KERNEL);
		if (!v)
			return -ENOMEM;
	}
	if (copy_from_user(v, uv, nr * sizeof(*v)))
		goto fault;
	for (unsigned long i = 0; i < nr; i++) {
		if ((ssize_t)v[i].len < 0) {
			if (v != stackv)
				kfree(v);
			return -EINVAL;
		}
		if (!user_range_ok(v[i].base, v[i].len))
			goto fault;
		v[i].len = min(v[i].len, IOV_MAX_LEN - total);
		total += v[i].len;
	}
	iov_iter_init(it, v, (unsigned)nr, true);
	*out = v;
	return 0;
fault:
	if (v != stackv)
		kfree(v);
	return -EFAULT;
}
