/* SPDX-License-Identifier: MIT */
/*
 * Memory system calls: argument checking and flag conversion in front of mm/vm.
 */
#include "kernel/process_int.h"
#include "kernel/errno.h"
#include "kernel/syscall.h"
#include "fs/vfs.h"
#include "mm/vm.h"

#define PROT_READ      1
#define PROT_WRITE     2
#define PROT_EXEC      4
#define PROT_GROWSDOWN 0x01000000
#define PROT_GROWSUP   0x02000000

#define MAP_SHARED          0x01
#define MAP_PRIVATE         0x02
#define MAP_SHARED_VALIDATE 0x03
#define MAP_TYPE            0x0f
#define MAP_FIXED           0x10
#define MAP_ANONYMOUS       0x20
#define MAP_GROWSDOWN       0x0100
#define MAP_LOCKED          0x2000
#define MAP_POPULATE        0x8000
#define MAP_FIXED_NOREPLACE 0x100000

static unsigned prot_flags(unsigned long prot)
{
	return (prot & PROT_READ ? VM_READ : 0) | (prot & PROT_WRITE ? VM_WRITE : 0) |
	       (prot & PROT_EXEC ? VM_EXEC : 0);
}

SYSCALL(mmap, uintptr_t addr, size_t len, unsigned long prot, unsigned long flags, int fd,
	uint64_t off)
{
	unsigned vf = prot_flags(prot);
	struct file *f = NULL;
	long r;

	if (!len || (off & (PAGE_SIZE - 1)))
		return -EINVAL;
	if (len > USER_TOP || ALIGN_UP(len, PAGE_SIZE) > USER_TOP)
		return -ENOMEM;
	if (off + ALIGN_UP(len, PAGE_SIZE) < off)
		return -EOVERFLOW;
	switch (flags & MAP_TYPE) {
	case MAP_SHARED:
	case MAP_SHARED_VALIDATE:
		vf |= VM_SHARED;
		break;
	case MAP_PRIVATE:
		vf |= VM_MAYWRITE;
		break;
	default:
		return -EINVAL;
	}
	if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
		if (addr & (PAGE_SIZE - 1))
			return -EINVAL;
		vf |= flags & MAP_FIXED_NOREPLACE ? VM_FIXED_NOREPLACE : VM_FIXED;
	} else {
		addr = ALIGN_DOWN(addr, PAGE_SIZE); /* a hint */
	}
	vf |= (flags & MAP_GROWSDOWN ? VM_GROWSDOWN : 0) | (flags & MAP_LOCKED ? VM_LOCKED : 0) |
	      (flags & (MAP_POPULATE | MAP_LOCKED) ? VM_POPULATE : 0);
	if (flags & MAP_ANONYMOUS) {
		vf |= VM_MAYWRITE;
		off = 0;
	} else {
		f = fget(fd);
		if (!f)
			return -EBADF;
		if (!(f->mode & FMODE_READ) ||
		    ((vf & VM_SHARED) && (vf & VM_WRITE) && !(f->mode & FMODE_WRITE))) {
			fput(f);
			return -EACCES;
		}
		if (f->mode & FMODE_WRITE)
			vf |= VM_MAYWRITE;
	}
	r = vm_map(current->space, addr, len, vf, f, off);
	if (f)
		fput(f);
	return r;
}

SYSCALL(munmap, uintptr_t addr, size_t len)
{
	if ((addr & (PAGE_SIZE - 1)) || !len || len > USER_TOP || addr > USER_TOP - len)
		return -EINVAL;
	return vm_unmap(current->space, addr, len);
}

SYSCALL(mprotect, uintptr_t addr, size_t len, unsigned long prot)
{
	if (prot &
	    ~(unsigned long)(PROT_READ | PROT_WRITE | PROT_EXEC | PROT_GROWSDOWN | PROT_GROWSUP))
		return -EINVAL;
	if (addr & (PAGE_SIZE - 1))
		return -EINVAL;
	if (!len)
		return 0;
	if (len > USER_TOP || addr > USER_TOP - len)
		return -ENOMEM;
	return vm_protect(current->space, addr, len, prot_flags(prot));
}

SYSCALL(mremap, uintptr_t old, size_t old_len, size_t new_len, unsigned long flags, uintptr_t new)
{
	return vm_remap(current->space, old, old_len, new_len, (unsigned)flags, new);
}

SYSCALL(brk, uintptr_t brk)
{
	return vm_brk(current->space, brk);
}

/* Checks a range for calls where an empty one is fine.  1: nothing to do; 0: go on; else -errno. */
static int check_range(uintptr_t addr, size_t len, int beyond)
{
	if (addr & (PAGE_SIZE - 1))
		return -EINVAL;
	if (ALIGN_UP(len, PAGE_SIZE) < len)
		return -EINVAL;
	if (len > USER_TOP || addr > USER_TOP - len)
		return beyond;
	return len ? 0 : 1;
}

SYSCALL(madvise, uintptr_t addr, size_t len, int advice)
{
	int r = check_range(addr, len, -ENOMEM);

	return r ? min(r, 0) : vm_advise(current->space, addr, len, advice);
}

SYSCALL(msync, uintptr_t addr, size_t len, int flags)
{
	int r = check_range(addr, len, -ENOMEM);

	if (flags & ~7 || (flags & 5) == 5) /* MS_ASYNC with MS_SYNC */
		return -EINVAL;
	return r ? min(r, 0) : vm_sync(current->space, addr, len, flags);
}

SYSCALL(mincore, uintptr_t addr, size_t len, uintptr_t vec)
{
	int r = check_range(addr, len, -ENOMEM);
	unsigned char part[256];

	if (r)
		return min(r, 0);
	len = ALIGN_UP(len, PAGE_SIZE);
	while (len && !r) {
		size_t n = min(len, sizeof(part) * PAGE_SIZE);

		r = vm_mincore(current->space, addr, n, part);
		if (!r)
			r = copy_to_user((void *)vec, part, n / PAGE_SIZE);
		addr += n;
		len -= n;
		vec += n / PAGE_SIZE;
		if (signal_pending(current) && len)
			return -EINTR;
		cond_resched();
	}
	return r;
}

static long lock_range(uintptr_t addr, size_t len, bool lock)
{
	size_t head = addr & (PAGE_SIZE - 1);
	int r;

	addr -= head;
	if (len + head < len)
		return -EINVAL;
	r = check_range(addr, len ? len + head : 0, -ENOMEM);
	return r ? min(r, 0)
		 : vm_lock_range(current->space, addr, ALIGN_UP(len + head, PAGE_SIZE), lock);
}

SYSCALL(mlock, uintptr_t addr, size_t len)
{
	return lock_range(addr, len, true);
}

SYSCALL(mlock2, uintptr_t addr, size_t len, int flags)
{
	return flags & ~1 ? -EINVAL : lock_range(addr, len, true);
}

SYSCALL(munlock, uintptr_t addr, size_t len)
{
	return lock_range(addr, len, false);
}

/* Nothing is ever written out to a device, so all memory is as good as locked. */
SYSCALL(mlockall, int flags)
{
	return !flags || (flags & ~7) || flags == 4 ? -EINVAL : 0;
}

SYSCALL(munlockall, void)
{
	return 0;
}
