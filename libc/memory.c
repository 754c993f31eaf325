/* SPDX-License-Identifier: MIT */
/* Memory of the process: the break for malloc, mappings. */
#include <errno.h>
#include <stdint.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "libc/syscall.h"

/* Parallel callers hold newlib's malloc lock (lock.c). */
void *sbrk(ptrdiff_t incr)
{
	static uintptr_t cur;
	uintptr_t old, want;

	if (!cur)
		cur = (uintptr_t)sys_call1(NR_brk, 0);
	old = cur;
	want = cur + (uintptr_t)incr;
	if (incr && (uintptr_t)sys_call1(NR_brk, want) != want) {
		errno = ENOMEM;
		return (void *)-1;
	}
	cur = want;
	return (void *)old;
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	return (void *)sysret(sys_call6(NR_mmap, (long)addr, (long)len, prot, flags, fd, off));
}

int munmap(void *addr, size_t len)
{
	return (int)sysret(sys_call2(NR_munmap, addr, len));
}

int msync(void *addr, size_t len, int flags)
{
	return (int)sysret(sys_call3(NR_msync, addr, len, flags));
}

int mprotect(void *addr, size_t len, int prot)
{
	return (int)sysret(sys_call3(NR_mprotect, addr, len, prot));
}

int getentropy(void *buf, size_t len)
{
	return sysret(sys_call3(NR_getrandom, buf, len, 0)) == (long)len ? 0 : -1;
}

int posix_memalign(void **out, size_t align, size_t size)
{
	void *p = memalign(align, size);

	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}
