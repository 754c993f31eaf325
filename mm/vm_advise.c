/* SPDX-License-Identifier: MIT */
/*
 * madvise, mlock, msync, mincore: calls that walk a range of areas.
 */
#include "mm/vm_int.h"
#include "kernel/string.h"
#include "kernel/thread.h"

#define MADV_NORMAL     0
#define MADV_RANDOM     1
#define MADV_SEQUENTIAL 2
#define MADV_WILLNEED   3
#define MADV_DONTNEED   4
#define MADV_FREE       8
#define MADV_DONTFORK   10
#define MADV_DOFORK     11
#define MADV_MERGEABLE  12
#define MADV_UNMERGEABLE 13
#define MADV_HUGEPAGE   14
#define MADV_NOHUGEPAGE 15
#define MADV_DONTDUMP   16
#define MADV_DODUMP     17
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23

#define MS_ASYNC 1
#define MS_INVALIDATE 2
#define MS_SYNC 4

static int check_range(uintptr_t addr, size_t *len)
{
	*len = ALIGN_UP(*len, PAGE_SIZE);
	if ((addr & ~PAGE_MASK) || addr > USER_TOP || *len > USER_TOP - addr)
		return -EINVAL;
	return 0;
}

/* Is every page of [start, end) in some area?  Under lock. */
static bool covered(struct vm_space *s, uintptr_t start, uintptr_t end)
{
	for (unsigned i = area_index(s, start); start < end; i++) {
		if (i == s->nr || s->areas[i]->start > start)
			return false;
		start = s->areas[i]->end;
	}
	return true;
}

static int dont_need(struct vm_space *s, uintptr_t start, uintptr_t end)
{
	struct vm_gather g;
	int err;

	mutex_lock(&s->lock);
	gather_init(&g, s);
	err = covered(s, start, end) ? 0 : -ENOMEM;
	for (unsigned i = area_index(s, start); i < s->nr && s->areas[i]->start < end; i++) {
		struct vm_area *a = s->areas[i];

		if (a->flags & VM_LOCKED) {
			err = -EINVAL;
			break;
		}
		vm_zap(&g, max(a->start, start), min(a->end, end));
	}
	gather_finish(&g);
	mutex_unlock(&s->lock);
	return err;
}

int vm_advise(struct vm_space *s, uintptr_t addr, size_t len, int advice)
{
	int err = check_range(addr, &len);

	if (err)
		return err;
	switch (advice) {
	case MADV_DONTNEED:
	case MADV_FREE:
		return len ? dont_need(s, addr, addr + len) : 0;
	case MADV_POPULATE_READ:
	case MADV_POPULATE_WRITE:
		return vm_populate(s, addr, addr + len);
	case MADV_NORMAL:
	case MADV_RANDOM:
	case MADV_SEQUENTIAL:
	case MADV_WILLNEED:
	case MADV_DONTFORK:
	case MADV_DOFORK:
	case MADV_MERGEABLE:
	case MADV_UNMERGEABLE:
	case MADV_HUGEPAGE:
	case MADV_NOHUGEPAGE:
	case MADV_DONTDUMP:
	case MADV_DODUMP:
		mutex_lock(&s->lock);
		err = covered(s, addr, addr + len) ? 0 : -ENOMEM;
		mutex_unlock(&s->lock);
		return err;
	}
	return -EINVAL;
}

int vm_lock_range(struct vm_space *s, uintptr_t addr, size_t len, bool lock)
{
	struct vm_area *dead = NULL;
	uintptr_t end;
	int err;

	len = ALIGN_UP(len + (addr & ~PAGE_MASK), PAGE_SIZE);
	addr &= PAGE_MASK;
	err = check_range(addr, &len);
	if (err || !len)
		return err;
	end = addr + len;
	mutex_lock(&s->lock);
	if (!covered(s, addr, end))
		err = -ENOMEM;
	for (uintptr_t va = addr; va < end && !err;) {
		unsigned i = area_index(s, va);
		struct vm_area *a = s->areas[i];
		int64_t pages;

		if (!(a->flags & VM_LOCKED) == !lock) {
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
		a->flags ^= VM_LOCKED;
		pages = (int64_t)((a->end - a->start) >> PAGE_SHIFT);
		vm_count(&s->nr_locked, lock ? pages : -pages);
		s->seq++;
		va = a->end;
	}
	area_merge_range(s, addr, end, &dead);
	mutex_unlock(&s->lock);
	areas_free(dead);
	return err || !lock ? err : vm_populate(s, addr, end);
}

/* Writes back the file of the first shared area at or after *@at that has a store; *@at moves behind it. */
static int sync_next(struct vm_space *s, uintptr_t *at, uintptr_t end)
{
	struct file *f = NULL;
	int err = 0;

	mutex_lock(&s->lock);
	for (unsigned i = area_index(s, *at); !f && *at < end; i++) {
		struct vm_area *a = i < s->nr ? s->areas[i] : NULL;

		if (!a || a->start >= end) {
			*at = end;
			break;
		}
		*at = a->end;
		if (a->mapping && (a->flags & VM_SHARED)) {
			f = a->file;
			vm_file_get(f);
		}
	}
	mutex_unlock(&s->lock);
	if (f) {
		err = vm_file_sync(f);
		vm_file_put(f);
	}
	return err;
}

/* Mappings share the cache's own pages; MS_SYNC writes the whole file back. */
long vm_sync(struct vm_space *s, uintptr_t addr, size_t len, int flags)
{
	int err = check_range(addr, &len);

	if (err || (flags & ~(MS_ASYNC | MS_INVALIDATE | MS_SYNC)) ||
	    (flags & (MS_ASYNC | MS_SYNC)) == (MS_ASYNC | MS_SYNC))
		return -EINVAL;
	mutex_lock(&s->lock);
	err = covered(s, addr, addr + len) ? 0 : -ENOMEM;
	mutex_unlock(&s->lock);
	for (uintptr_t at = addr; !err && (flags & MS_SYNC) && at < addr + len;)
		err = sync_next(s, &at, addr + len);
	return err;
}

int vm_mincore(struct vm_space *s, uintptr_t addr, size_t len, unsigned char *vec)
{
	int err = check_range(addr, &len);
	uintptr_t end = addr + len, next;

	if (err)
		return err;
	mutex_lock(&s->lock);
	if (!covered(s, addr, end))
		err = -ENOMEM;
	for (uintptr_t va = addr; va < end && !err; va += PAGE_SIZE) {
		pte_t *e = pt_find(s, va, &next);

		*vec++ = e && pte_get(e) ? 1 : 0;
	}
	mutex_unlock(&s->lock);
	return err;
}
