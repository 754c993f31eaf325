/* SPDX-License-Identifier: MIT */
/*
 * User memory is this process's.  A caller may hand over any pointer, so the
 * host's kernel copies and says how far it came.
 */
#include <sys/types.h>
#include <unistd.h>

#include "kernel/errno.h"
#include "kernel/string.h"
#include "mm/uaccess.h"
#include "tests/host/fs_host.h"

struct iovec {
	void *base;
	size_t len;
};
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nl,
			 const struct iovec *remote, unsigned long nr, unsigned long flags);
ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long nl,
			  const struct iovec *remote, unsigned long nr, unsigned long flags);

/* What of it a program may name: all, until host_user_range() says less. */
static uintptr_t user_start, user_end = UINTPTR_MAX;
void host_user_range(const void *p, size_t n)
{
	user_start = (uintptr_t)p;
	user_end = user_start + n;
}

static size_t within(const void *p, size_t n)
{
	uintptr_t at = (uintptr_t)p;

	return at < user_start || at >= user_end ? 0 : min(n, (size_t)(user_end - at));
}

/* Return: bytes copied, as the kernel's own. */
size_t copy_to_user_part(void *dst, const void *src, size_t n)
{
	struct iovec from = { (void *)src, within(dst, n) }, to = { dst, from.len };
	ssize_t k = from.len ? process_vm_writev(getpid(), &from, 1, &to, 1, 0) : 0;

	return k < 0 ? 0 : (size_t)k;
}
size_t copy_from_user_part(void *dst, const void *src, size_t n)
{
	struct iovec to = { dst, within(src, n) }, from = { (void *)src, to.len };
	ssize_t k = to.len ? process_vm_readv(getpid(), &to, 1, &from, 1, 0) : 0;

	return k < 0 ? 0 : (size_t)k;
}
size_t clear_user_part(void *dst, size_t n);
size_t clear_user_part(void *dst, size_t n)
{
	static const char zeroes[4096];
	size_t done = 0, k = 1;

	while (done < n && k) {
		k = copy_to_user_part((char *)((uintptr_t)dst + done), zeroes, min(n - done, sizeof(zeroes)));
		done += k;
	}
	return done;
}
int copy_to_user(void *dst, const void *src, size_t n)
{
	return copy_to_user_part(dst, src, n) == n ? 0 : -EFAULT;
}
int copy_from_user(void *dst, const void *src, size_t n)
{
	return copy_from_user_part(dst, src, n) == n ? 0 : -EFAULT;
}
bool user_range_ok(const void *p, size_t n)
{
	return (uintptr_t)p + n >= (uintptr_t)p && (uintptr_t)p + n < 1ull << 47;
}
long strncpy_from_user(char *dst, const char *src, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (copy_from_user(dst + i, (const char *)((uintptr_t)src + i), 1))
			return -EFAULT;
		if (!dst[i])
			return (long)i;
	}
	return -ENAMETOOLONG;
}
