/* SPDX-License-Identifier: MIT */
/*
 * The areas of an address space: a sorted array of pointers.
 *
 * A search is a bisection over one dense array, an insertion moves pointers of
 * eight bytes; with the thousands of areas that programs reach this is faster
 * than a tree, and neighbours (for merging and gaps) are next to each other.
 */
#include "mm/vm_int.h"
#include "mm/slab.h"
#include "kernel/log.h"
#include "kernel/string.h"

struct kmem_cache *vm_area_cache;

unsigned area_index(const struct vm_space *s, uintptr_t addr)
{
	unsigned lo = 0, hi = s->nr;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (s->areas[mid]->end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

struct vm_area *area_find(const struct vm_space *s, uintptr_t addr)
{
	unsigned i = area_index(s, addr);

	return i < s->nr && s->areas[i]->start <= addr ? s->areas[i] : NULL;
}

struct vm_area *area_new(uintptr_t start, uintptr_t end, unsigned flags, struct file *file,
			 uint64_t off)
{
	struct vm_area *a = kmem_cache_alloc(vm_area_cache, GFP_KERNEL);

	if (!a)
		return NULL;
	*a = (struct vm_area){ .start = start, .end = end, .flags = flags, .file = file, .off = off };
	if (file) {
		vm_file_get(file);
		a->mapping = vm_file_mapping(file);
	}
	return a;
}

int area_reserve(struct vm_space *s, unsigned more)
{
	struct vm_area **n;
	unsigned cap;

	if (s->nr + more <= s->cap)
		return 0;
	if (s->nr + more > VM_MAX_AREAS)
		return -ENOMEM;
	cap = max(s->nr + more, s->cap ? s->cap * 2 : 16);
	n = kmalloc(cap * sizeof(*n), GFP_ACCOUNT);
	if (!n)
		return -ENOMEM;
	if (s->nr)
		memcpy(n, s->areas, s->nr * sizeof(*n));
	kfree(s->areas);
	s->areas = n;
	s->cap = cap;
	return 0;
}

void area_insert(struct vm_space *s, struct vm_area *a)
{
	unsigned i = area_index(s, a->start);

	ASSERT(s->nr < s->cap);
	ASSERT(i == s->nr || s->areas[i]->start >= a->end);
	memmove(&s->areas[i + 1], &s->areas[i], (s->nr - i) * sizeof(s->areas[0]));
	s->areas[i] = a;
	s->nr++;
	s->seq++;
	rmap_add(s, a);
	vm_count(&s->nr_mapped, (int64_t)((a->end - a->start) >> PAGE_SHIFT));
	if (a->flags & VM_LOCKED)
		vm_count(&s->nr_locked, (int64_t)((a->end - a->start) >> PAGE_SHIFT));
}

void area_remove(struct vm_space *s, unsigned i, unsigned n)
{
	for (unsigned k = i; k < i + n; k++) {
		int64_t pages = (int64_t)((s->areas[k]->end - s->areas[k]->start) >> PAGE_SHIFT);

		vm_count(&s->nr_mapped, -pages);
		if (s->areas[k]->flags & VM_LOCKED)
			vm_count(&s->nr_locked, -pages);
	}
	memmove(&s->areas[i], &s->areas[i + n], (s->nr - i - n) * sizeof(s->areas[0]));
	s->nr -= n;
	s->seq++;
}

int area_split(struct vm_space *s, unsigned i, uintptr_t at)
{
	struct vm_area *a = s->areas[i], *b;

	ASSERT(at > a->start && at < a->end && s->nr < s->cap);
	b = area_new(at, a->end, a->flags, a->file, a->off + (at - a->start));
	if (!b)
		return -ENOMEM;
	a->end = at;
	memmove(&s->areas[i + 2], &s->areas[i + 1], (s->nr - i - 1) * sizeof(s->areas[0]));
	s->areas[i + 1] = b;
	s->nr++;
	s->seq++;
	rmap_add(s, b);
	return 0;
}

static bool mergeable(const struct vm_area *a, const struct vm_area *b)
{
	return a->end == b->start && a->flags == b->flags && a->file == b->file &&
	       !(a->flags & VM_GROWSDOWN) &&
	       (!a->file || a->off + (a->end - a->start) == b->off);
}

/* Merges neighbours that touch [start, end].  Swallowed areas go to @dead. */
void area_merge_range(struct vm_space *s, uintptr_t start, uintptr_t end, struct vm_area **dead)
{
	unsigned i = area_index(s, start ? start - 1 : 0);

	while (i + 1 < s->nr && s->areas[i]->start <= end) {
		struct vm_area *a = s->areas[i], *b = s->areas[i + 1];

		if (!mergeable(a, b)) {
			i++;
			continue;
		}
		a->end = b->end;
		memmove(&s->areas[i + 1], &s->areas[i + 2], (s->nr - i - 2) * sizeof(s->areas[0]));
		s->nr--;
		s->seq++;
		b->next = *dead;
		*dead = b;
	}
}

uintptr_t area_gap(const struct vm_space *s, size_t len)
{
	uintptr_t top = USER_MMAP_TOP;
	unsigned i = area_index(s, top - 1);

	/* areas[i] may reach over the top; all below end at or below it. */
	if (i < s->nr && s->areas[i]->start < top)
		top = s->areas[i]->start;
	for (;;) {
		uintptr_t low = i ? s->areas[i - 1]->end : USER_MIN;

		if (top > low && top - low >= len)
			return top - len;
		if (!i)
			return 0;
		i--;
		top = s->areas[i]->start;
		if (s->areas[i]->flags & VM_GROWSDOWN)
			top = top > STACK_GAP ? top - STACK_GAP : 0;
	}
}

void areas_free(struct vm_area *dead)
{
	while (dead) {
		struct vm_area *a = dead;

		dead = a->next;
		rmap_remove(a);
		if (a->file)
			vm_file_put(a->file);
		kmem_cache_free(vm_area_cache, a);
	}
}
