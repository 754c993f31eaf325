/* SPDX-License-Identifier: MIT */
/*
 * Boot memory: implements mm/bootmem.h.
 *
 * Two sorted arrays of disjoint ranges, RAM and reserved.  An allocation is
 * the first gap, from the bottom, that is RAM and not reserved, and becomes a
 * reserved range itself; neighbours merge, so the arrays stay short.  Memory
 * below 1 MiB is left for start-up code unless the caller asks for it.
 */
#include "mm/bootmem.h"
#include "arch/arch.h"
#include "kernel/log.h"
#include "kernel/string.h"

#define MAX_RANGES 256      /* a firmware map has tens; reservations merge */
#define LOW_END    0x100000 /* bytes; see above */

struct ranges {
	size_t n;
	struct mem_region r[MAX_RANGES];
};

static struct ranges ram, reserved;
static bool closed;

/* Adds [start, end) to @rs, merging what overlaps or touches. */
static void ranges_add(struct ranges *rs, uint64_t start, uint64_t end, const char *what)
{
	size_t i = 0, j;

	if (start >= end)
		return;
	while (i < rs->n && rs->r[i].end < start)
		i++;
	for (j = i; j < rs->n && rs->r[j].start <= end; j++) {
		start = min(start, rs->r[j].start);
		end = max(end, rs->r[j].end);
	}
	/* r[i..j) are swallowed by the new range. */
	if (j == i && rs->n == MAX_RANGES) {
		pr_warn("bootmem: more than %d %s ranges, %#llx-%#llx is ignored", MAX_RANGES, what,
			(unsigned long long)start, (unsigned long long)end);
		return;
	}
	memmove(&rs->r[i + 1], &rs->r[j], (rs->n - j) * sizeof(rs->r[0]));
	rs->n = rs->n - (j - i) + 1;
	rs->r[i].start = start;
	rs->r[i].end = end;
}

void bootmem_add(uint64_t start, uint64_t end)
{
	ranges_add(&ram, ALIGN_UP(start, PAGE_SIZE), ALIGN_DOWN(end, PAGE_SIZE), "RAM");
}

void bootmem_reserve(uint64_t start, uint64_t end)
{
	ranges_add(&reserved, ALIGN_DOWN(start, PAGE_SIZE), ALIGN_UP(end, PAGE_SIZE), "reserved");
}

size_t bootmem_regions(const struct mem_region **out)
{
	*out = ram.r;
	return ram.n;
}

/* First address >= @from in RAM region @m where @size bytes are free, or 0. */
static uint64_t fit(const struct mem_region *m, uint64_t from, uint64_t size, uint64_t align,
		    uint64_t below)
{
	uint64_t at = ALIGN_UP(max(m->start, from), align);

	for (size_t i = 0; i < reserved.n; i++) {
		const struct mem_region *r = &reserved.r[i];

		if (r->end <= at)
			continue;
		if (r->start >= at + size)
			break;
		at = ALIGN_UP(r->end, align);
	}
	if (at + size < at || at + size > m->end || at + size > below)
		return 0;
	return at;
}

uint64_t bootmem_alloc_phys(size_t size, size_t align, uint64_t below)
{
	uint64_t from = below > LOW_END || below == 0 ? LOW_END : PAGE_SIZE;

	if (closed) {
		pr_err("bootmem: asked for %zu bytes after the page allocator took over", size);
		return 0;
	}
	if (below == 0)
		below = UINT64_MAX;
	size = ALIGN_UP(size, PAGE_SIZE);
	align = max_t(size_t, align, PAGE_SIZE);
	for (size_t i = 0; i < ram.n; i++) {
		uint64_t at = fit(&ram.r[i], from, size, align, below);

		if (at) {
			bootmem_reserve(at, at + size);
			return at;
		}
	}
	return 0;
}

/* Small requests share a page: the rest of the last one that was taken. */
static uint64_t tail, tail_end;

void *bootmem_alloc(size_t size, size_t align)
{
	uint64_t pa;
	void *p;

	align = max_t(size_t, align, 8);
	pa = ALIGN_UP(tail, align);
	if (tail && pa + size <= tail_end) {
		tail = pa + size;
	} else {
		pa = bootmem_alloc_phys(size, align, 0);
		if (!pa)
			return NULL;
		if (size < PAGE_SIZE) {
			tail = pa + size;
			tail_end = pa + PAGE_SIZE;
		}
	}
	p = (char *)pfn_to_virt(pa >> PAGE_SHIFT) + (pa & (PAGE_SIZE - 1));
	memset(p, 0, size);
	return p;
}

void bootmem_release(void (*fn)(uint64_t start, uint64_t end))
{
	size_t j = 0;

	closed = true;
	for (size_t i = 0; i < ram.n; i++) {
		uint64_t at = ram.r[i].start, end = ram.r[i].end;

		while (j < reserved.n && reserved.r[j].end <= at)
			j++;
		for (size_t k = j; at < end; k++) {
			uint64_t stop = end;

			if (k < reserved.n && reserved.r[k].start < end)
				stop = max(at, reserved.r[k].start);
			if (at < stop)
				fn(at, stop);
			if (stop == end)
				break;
			at = max(at, reserved.r[k].end);
		}
	}
}
