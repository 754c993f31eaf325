/* SPDX-License-Identifier: MIT */
/*
 * Copies between kernel and user memory.  They may fault and sleep, so no
 * spinlock, no RCU reader and not the space's own lock may be held.
 */
#ifndef MM_UACCESS_H
#define MM_UACCESS_H

#include "kernel/types.h"
#include "kernel/errno.h"

/* 0, or -EFAULT (part may have been copied). */
int copy_to_user(void __user *dst, const void *src, size_t n) __must_check;
int copy_from_user(void *dst, const void __user *src, size_t n) __must_check;
/* Bytes copied before the first fault. */
size_t copy_to_user_part(void __user *dst, const void *src, size_t n) __must_check;
size_t copy_from_user_part(void *dst, const void __user *src, size_t n) __must_check;
int clear_user(void __user *dst, size_t n) __must_check;
size_t clear_user_part(void __user *dst, size_t n) __must_check; /* bytes cleared before the first fault */
/* Length without NUL, -EFAULT, or -ENAMETOOLONG if no NUL within @n bytes. */
long strncpy_from_user(char *dst, const char __user *src, size_t n) __must_check;
bool user_range_ok(const void __user *p, size_t n);
/* Atomic 32-bit access for futex: 0 or -EFAULT. */
int user_cmpxchg32(uint32_t __user *p, uint32_t old, uint32_t new, uint32_t *seen) __must_check;
int user_load32(const uint32_t __user *p, uint32_t *out) __must_check;

#define put_user(val, ptr)                                                                         \
	({                                                                                         \
		__typeof__(*(ptr)) _v = (val);                                                     \
		copy_to_user((ptr), &_v, sizeof(_v));                                              \
	})
#define get_user(var, ptr) copy_from_user(&(var), (ptr), sizeof(*(ptr)))

/*
 * A place to copy bytes to or from: user segments or kernel memory.  The
 * copy functions advance it and return the bytes done (short: fault).
 */
struct iov { void *base; size_t len; };
struct iov_iter {
	const struct iov *iov;
	unsigned nr;
	size_t skip;  /* into iov[0] */
	size_t count; /* bytes left in all */
	bool user;
};
void iov_iter_init(struct iov_iter *it, const struct iov *v, unsigned nr, bool user);
size_t copy_to_iter(const void *src, size_t n, struct iov_iter *it);
size_t copy_from_iter(void *dst, size_t n, struct iov_iter *it);
size_t zero_iter(size_t n, struct iov_iter *it);
/* Copies a user iovec array (at most 1024 entries, total capped at SSIZE_MAX): -EFAULT, -EINVAL. @stackv has room for 8. */
int import_iovec(const void __user *uv, unsigned long nr, struct iov *stackv, struct iov **out, struct iov_iter *it);

#endif /* MM_UACCESS_H */
