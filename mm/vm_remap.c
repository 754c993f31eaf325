/* SPDX-License-Identifier: MIT */
/*
 * mremap(2): shrink, grow in place, or move an area with its page-table entries.
 */
#include "mm/vm_int.h"

#define MREMAP_MAYMOVE   1u
#define MREMAP_FIXED     2u
#define MREMAP_DONTUNMAP 4u

/* Moves the entries of [from, from + len) to @to.  Tables at @to exist for all of them, or -ENOMEM. */
static int move_entries(struct vm_space *s, struct vm_gather *g, uintptr_t from, uintptr_t to,
			size_t len)
{
	uintptr_t next;

	for (size_t d = 0; d < len; d += PAGE_SIZE) {
		pte_t *e = pt_find(s, from + d, &next);

		if (!e) {
			d = next - from - PAGE_SIZE;
			continue;
		}
		if (pte_get(e) && !pt_make(s, to + d))
			return -ENOMEM;
	}
	for (size_t d = 0; d < len; d += PAGE_SIZE) {
		pte_t *e = pt_find(s, from + d, &next);

		if (!e) {
			d = next - from - PAGE_SIZE;
			continue;
		}
		if (!pte_get(e))
			continue;
		pte_set(pt_find(s, to + d, &next),
			atomic_exchange_explicit(e, 0, memory_order_acq_rel));
		gather_touch(g, from + d);
	}
	return 0;
}

static long move(struct vm_space *s, struct vm_area *a, uintptr_t old, size_t old_len,
		 size_t new_len, unsigned flags, uintptr_t to, struct vm_area **dead)
{
	struct vm_area *n;
	struct vm_gather g;
	int err = area_reserve(s, 5);

	if (err)
		return err;
	/* @a stays where it is until its part is unmapped below. */
	n = area_new(0, new_len, a->flags & ~VM_GROWSDOWN, a->file,
		     a->file ? a->off + (old - a->start) : 0);
	if (!n)
		return -ENOMEM;
	if (flags & MREMAP_FIXED) {
		err = vm_unmap_locked(s, to, to + new_len, dead);
	} else {
		to = area_gap(s, new_len);
		if (!to)
			err = -ENOMEM;
	}
	gather_init(&g, s);
	if (!err)
		err = move_entries(s, &g, old, to, min(old_len, new_len));
	if (err) {
		gather_finish(&g);
		n->next = *dead;
		*dead = n;
		return err;
	}
	n->start = to;
	n->end = to + new_len;
	area_insert(s, n);
	gather_finish(&g);
	if (!(flags & MREMAP_DONTUNMAP))
		/* Its entries have gone; a failing split only leaves empty address space behind. */
		(void)vm_unmap_locked(s, old, old + old_len, dead);
	area_merge_range(s, to, to + new_len, dead);
	return (long)to;
}

long vm_remap(struct vm_space *s, uintptr_t old, size_t old_len, size_t new_len, unsigned flags,
	      uintptr_t to)
{
	struct vm_area *a, *dead = NULL;
	bool populate = false;
	long r;
	unsigned i;

	old_len = ALIGN_UP(old_len, PAGE_SIZE);
	new_len = ALIGN_UP(new_len, PAGE_SIZE);
	if ((old & ~PAGE_MASK) || !new_len || old > USER_TOP || old_len > USER_TOP - old ||
	    (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP)) ||
	    ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) && !(flags & MREMAP_MAYMOVE)) ||
	    ((flags & MREMAP_DONTUNMAP) && old_len != new_len))
		return -EINVAL;
	if (new_len > USER_TOP)
		return -ENOMEM;
	if (flags & MREMAP_FIXED) {
		if ((to & ~PAGE_MASK) || to < USER_MIN || to > USER_TOP || new_len > USER_TOP - to ||
		    (to < old + old_len && old < to + new_len))
			return -EINVAL;
	}
	mutex_lock(&s->lock);
	i = area_index(s, old);
	a = i < s->nr && s->areas[i]->start <= old ? s->areas[i] : NULL;
	r = -EFAULT;
	if (!a || old_len > a->end - old)
		goto out;
	r = -EINVAL;
	if (!old_len && !(a->flags & VM_SHARED))
		goto out;
	populate = a->flags & VM_LOCKED;
	if (!(flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))) {
		r = (long)old;
		if (new_len <= old_len) {
			if (new_len < old_len) {
				int err = vm_unmap_locked(s, old + new_len, old + old_len, &dead);

				r = err ? err : r;
			}
			goto out;
		}
		/* Room behind it? */
		if (old + old_len == a->end && new_len <= USER_TOP - old &&
		    (i + 1 == s->nr || s->areas[i + 1]->start >= old + new_len)) {
			int64_t more = (int64_t)((new_len - old_len) >> PAGE_SHIFT);

			a->end = old + new_len;
			vm_count(&s->nr_mapped, more);
			if (a->flags & VM_LOCKED)
				vm_count(&s->nr_locked, more);
			s->seq++;
			area_merge_range(s, old, a->end, &dead);
			goto out;
		}
		r = -ENOMEM;
		if (!(flags & MREMAP_MAYMOVE))
			goto out;
	}
	r = move(s, a, old, old_len, new_len, flags, to, &dead);
out:
	mutex_unlock(&s->lock);
	areas_free(dead);
	if (r > 0 && populate)
		(void)vm_populate(s, (uintptr_t)r, (uintptr_t)r + new_len);
	return r;
}
