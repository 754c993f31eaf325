/* SPDX-License-Identifier: MIT */
/*
 * Address spaces: creation, mmap, mprotect, brk.
 *
 * Changes are made to the areas first (all memory that they need is got before
 * anything is altered), then to the page tables.
 */
#include "mm/vm_int.h"
#include "mm/slab.h"
#include "kernel/log.h"
#include "kernel/process.h"

#define RLIMIT_DATA_  2
#define RLIMIT_AS_    9

struct vm_space *vm_create(void)
{
	struct vm_space *s = kzalloc(sizeof(*s), GFP_ACCOUNT);

	if (!s)
		return NULL;
	mutex_init(&s->lock, "vm_space");
	atomic_init(&s->users, 1);
	atomic_init(&s->tlb_gen, 1);
	list_init(&s->tables);
	s->tables_limit = 64;
	if (pt_init(s)) {
		kfree(s);
		return NULL;
	}
	return s;
}

/* May @s, if it is the current process's, grow by @pages?  RLIMIT_AS, bytes. */
static bool within_limit(struct vm_space *s, uint64_t pages)
{
	struct process *p = current ? current_process() : NULL;
	uint64_t limit;

	if (!p || atomic_load_explicit(&p->space, memory_order_relaxed) != s)
		return true;
	limit = p->rlimits[RLIMIT_AS_][0];
	return atomic_load_explicit(&s->nr_mapped, memory_order_relaxed) + pages <=
	       limit >> PAGE_SHIFT;
}

/* Where to map @len bytes: the address, or a negative errno.  Under lock; unmaps for VM_FIXED. */
static long choose_address(struct vm_space *s, uintptr_t addr, size_t len, unsigned flags,
			   struct vm_area **dead)
{
	unsigned i;

	if (flags & (VM_FIXED | VM_FIXED_NOREPLACE)) {
		if (addr & ~PAGE_MASK)
			return -EINVAL;
		if (addr < USER_MIN)
			return -EPERM;
		if (addr > USER_TOP || len > USER_TOP - addr)
			return -ENOMEM;
		i = area_index(s, addr);
		if (i < s->nr && s->areas[i]->start < addr + len) {
			int err;

			if (flags & VM_FIXED_NOREPLACE)
				return -EEXIST;
			err = vm_unmap_locked(s, addr, addr + len, dead);
			if (err)
				return err;
		}
		return (long)addr;
	}
	addr = ALIGN_UP(addr, PAGE_SIZE);
	if (addr >= USER_MIN && addr < USER_TOP && len <= USER_TOP - addr) {
		i = area_index(s, addr);
		if (i == s->nr || s->areas[i]->start >= addr + len)
			return (long)addr;
	}
	addr = area_gap(s, len);
	return addr ? (long)addr : -ENOMEM;
}

long vm_map(struct vm_space *s, uintptr_t addr, size_t len, unsigned flags, struct file *file,
	    uint64_t off)
{
	struct vm_area *a, *dead = NULL;
	struct file *shm = NULL;
	long at;
	int err;

	if (!len)
		return -EINVAL;
	if (len > USER_TOP)
		return -ENOMEM;
	len = ALIGN_UP(len, PAGE_SIZE);
	if (!file && (flags & VM_SHARED)) {
		/* Shared with children that fork later: the pages need a place of their own. */
		file = shm = vm_shm_create(len >> PAGE_SHIFT);
		if (!file)
			return -ENOMEM;
		off = 0;
	}
	if (file) {
		if ((off & ~PAGE_MASK) || off + len < off)
			return off & ~PAGE_MASK ? -EINVAL : -EOVERFLOW;
		err = shm ? 0 : vm_file_check(file, &flags);
		if (err)
			return err;
		if (shm)
			flags |= VM_MAYWRITE;
	} else {
		flags |= VM_MAYWRITE;
		off = 0;
	}
	a = area_new(0, len, flags & VM_KEEP, file, off);
	if (shm)
		vm_file_put(shm);
	if (!a)
		return -ENOMEM;
	mutex_lock(&s->lock);
	at = -ENOMEM;
	if (!within_limit(s, len >> PAGE_SHIFT) || area_reserve(s, 3))
		goto out;
	at = choose_address(s, addr, len, flags, &dead);
	if (at < 0)
		goto out;
	a->start = (uintptr_t)at;
	a->end = a->start + len;
	area_insert(s, a);
	area_merge_range(s, a->start, a->end, &dead);
	a = NULL;
out:
	mutex_unlock(&s->lock);
	if (a) {
		a->next = dead;
		dead = a;
	}
	areas_free(dead);
	if (at >= 0 && (flags & (VM_POPULATE | VM_LOCKED)))
		(void)vm_populate(s, (uintptr_t)at, (uintptr_t)at + len); /* as mmap(2): best effort */
	return at;
}

/* Rewrites the entries of an area part for its new protection. */
static void protect_entries(struct vm_gather *g, const struct vm_area *a, uintptr_t start,
			    uintptr_t end)
{
	uintptr_t va = start, next;
	uint64_t prot = pte_prot(a->flags);

	while (va < end) {
		pte_t *e = pt_find(g->space, va, &next);
		uintptr_t stop = min(next, end);

		if (!e) {
			va = stop;
			continue;
		}
		for (; va < stop; va += PAGE_SIZE, e++) {
			uint64_t v = pte_get(e), n;

			if (!v)
				continue;
			n = (v & (PTE_ADDR | PTE_ANON | PTE_D)) | prot;
			/* Private pages become writable by a fault, which looks who shares them. */
			if ((a->flags & VM_WRITE) &&
			    ((v & PTE_W) || ((a->flags & VM_SHARED) && !a->mapping)))
				n |= PTE_W | PTE_D;
			if (n == v)
				continue;
			atomic_exchange_explicit(e, n, memory_order_acq_rel);
			gather_touch(g, va);
		}
	}
}

int vm_protect(struct vm_space *s, uintptr_t addr, size_t len, unsigned flags)
{
	struct vm_area *dead = NULL;
	struct vm_gather g;
	uintptr_t end;
	int err = 0;

	if (addr & ~PAGE_MASK)
		return -EINVAL;
	len = ALIGN_UP(len, PAGE_SIZE);
	if (!len)
		return 0;
	if (addr > USER_TOP || len > USER_TOP - addr)
		return -ENOMEM;
	end = addr + len;
	mutex_lock(&s->lock);
	gather_init(&g, s);
	for (uintptr_t va = addr; va < end;) {
		unsigned i = area_index(s, va);
		struct vm_area *a = i < s->nr ? s->areas[i] : NULL;

		if (!a || a->start > va) {
			err = -ENOMEM;
			break;
		}
		if ((flags & VM_WRITE) && !(a->flags & VM_MAYWRITE)) {
			err = -EACCES;
			break;
		}
		if ((a->flags & VM_PROT) == (flags & VM_PROT)) {
			va = a->end;
			continue;
		}
		err = area_reserve(s, 2);
		if (!err && a->start < va) {
			err = area_split(s, i, va);
			a = err ? a : s->areas[++i];
		}
		if (!err && a->end > end)
			err = area_split(s, i, end);
		if (err)
			break;
		a->flags = (a->flags & ~VM_PROT) | (flags & VM_PROT);
		s->seq++;
		protect_entries(&g, a, a->start, a->end);
		va = a->end;
	}
	area_merge_range(s, addr, end, &dead);
	gather_finish(&g);
	mutex_unlock(&s->lock);
	areas_free(dead);
	return err;
}

void vm_set_brk_start(struct vm_space *s, uintptr_t start)
{
	mutex_lock(&s->lock);
	s->brk_start = ALIGN_UP(start, PAGE_SIZE);
	s->brk = s->brk_start;
	mutex_unlock(&s->lock);
}

long vm_brk(struct vm_space *s, uintptr_t brk)
{
	struct process *p = current_process();
	uint64_t limit = p ? p->rlimits[RLIMIT_DATA_][0] : UINT64_MAX;
	struct vm_area *a = NULL, *dead = NULL;
	uintptr_t old, new;
	long r;

	mutex_lock(&s->lock);
	old = ALIGN_UP(s->brk, PAGE_SIZE);
	new = ALIGN_UP(brk, PAGE_SIZE);
	if (brk < s->brk_start || brk > USER_MMAP_TOP || brk - s->brk_start > limit)
		goto out;
	if (new > old) {
		unsigned i = area_index(s, old);

		if (!within_limit(s, (new - old) >> PAGE_SHIFT) || area_reserve(s, 1) ||
		    (i < s->nr && s->areas[i]->start < new + PAGE_SIZE))
			goto out;
		a = area_new(old, new, VM_READ | VM_WRITE | VM_MAYWRITE, NULL, 0);
		if (!a)
			goto out;
		area_insert(s, a);
		area_merge_range(s, old, new, &dead);
	} else if (new < old && vm_unmap_locked(s, new, old, &dead)) {
		goto out;
	}
	s->brk = brk;
out:
	r = (long)s->brk;
	mutex_unlock(&s->lock);
	areas_free(dead);
	return r;
}

void vm_init(void)
{
	vm_area_cache = kmem_cache_create("vm_area", sizeof(struct vm_area), 0, SLAB_ACCOUNT);
	if (!vm_area_cache)
		panic("vm: no memory at start-up");
}
