/* SPDX-License-Identifier: MIT */
/*
 * Physical memory maps: see memmap.h.
 *
 * The canonical form is made by cutting the line of addresses at every start
 * and end, and giving each piece the strongest type that covers it.  That is
 * quadratic in the number of entries, which is small and seen once.
 */
#include "arch/x86_64/memmap.h"

static enum memmap_type from_e820(uint32_t t)
{
	switch (t) {
	case 1:
		return MEM_RAM;
	case 3:
		return MEM_ACPI;
	case 4:
		return MEM_NVS;
	case 5:
		return MEM_BAD;
	default:
		return MEM_RESERVED;
	}
}

void memmap_add(struct memmap *m, uint64_t start, uint64_t len, uint32_t e820_type)
{
	enum memmap_type type = from_e820(e820_type);
	uint64_t end = start + len;

	if (start > UINT64_MAX - PAGE_SIZE) /* rounding up would wrap */
		return;
	if (end < start)
		end = UINT64_MAX & ~(uint64_t)(PAGE_SIZE - 1);
	if (type == MEM_RAM) {
		start = ALIGN_UP(start, PAGE_SIZE);
		end = ALIGN_DOWN(end, PAGE_SIZE);
	} else {
		start = ALIGN_DOWN(start, PAGE_SIZE);
		if (end <= UINT64_MAX - PAGE_SIZE)
			end = ALIGN_UP(end, PAGE_SIZE);
	}
	if (start >= end || len == 0)
		return;
	if (m->n == MEMMAP_MAX) {
		m->dropped++;
		return;
	}
	m->r[m->n++] = (struct memrange){ start, end, type };
}

/* Shell sort: in place, no recursion, good enough for a thousand numbers. */
static void sort_u64(uint64_t *a, unsigned n)
{
	for (unsigned gap = n / 2; gap; gap /= 2) {
		for (unsigned i = gap; i < n; i++) {
			uint64_t v = a[i];
			unsigned j = i;

			for (; j >= gap && a[j - gap] > v; j -= gap)
				a[j] = a[j - gap];
			a[j] = v;
		}
	}
}

void memmap_finish(struct memmap *m)
{
	/* Static: the boot stack is small.  Called before other CPUs run. */
	static uint64_t cut[2 * MEMMAP_MAX];
	static struct memrange out[MEMMAP_MAX];
	unsigned n_cut = 0, n = 0;

	for (unsigned i = 0; i < m->n; i++) {
		cut[n_cut++] = m->r[i].start;
		cut[n_cut++] = m->r[i].end;
	}
	sort_u64(cut, n_cut);

	for (unsigned i = 0; i + 1 < n_cut; i++) {
		uint64_t start = cut[i], end = cut[i + 1];
		enum memmap_type type = MEM_NONE;

		if (start == end)
			continue;
		for (unsigned k = 0; k < m->n; k++)
			if (m->r[k].start <= start && end <= m->r[k].end && m->r[k].type > type)
				type = m->r[k].type;
		if (type == MEM_NONE)
			continue;
		if (n && out[n - 1].end == start && out[n - 1].type == type)
			out[n - 1].end = end;
		else if (n < MEMMAP_MAX)
			out[n++] = (struct memrange){ start, end, type };
		else
			m->dropped++;
	}
	for (unsigned i = 0; i < n; i++)
		m->r[i] = out[i];
	m->n = n;
}

const char *memmap_type_name(enum memmap_type t)
{
	switch (t) {
	case MEM_RAM:
		return "RAM";
	case MEM_ACPI:
		return "ACPI tables";
	case MEM_NVS:
		return "ACPI NVS";
	case MEM_BAD:
		return "bad";
	default:
		return "reserved";
	}
}
