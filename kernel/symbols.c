/* SPDX-License-Identifier: MIT */
/*
 * Symbol look-up: see symbols.h.  The table is made by tools/ksyms.py: sorted
 * 32-bit offsets from text_start, and for each one the offset of its name.
 */
#include "kernel/symbols.h"

extern const char ksyms_count[]; /* an absolute symbol: its address is the number */
extern const uint32_t ksyms_addr[], ksyms_name_off[];
extern const char ksyms_names[];
extern const char text_start[], text_end[];

bool is_kernel_text(uintptr_t addr)
{
	return addr >= (uintptr_t)text_start && addr < (uintptr_t)text_end;
}

const char *symbol_find(uintptr_t addr, size_t *offset)
{
	size_t lo = 0, hi = (size_t)(uintptr_t)ksyms_count;
	uint32_t at;

	if (!is_kernel_text(addr) || !hi)
		return NULL;
	at = (uint32_t)(addr - (uintptr_t)text_start);
	if (at < ksyms_addr[0])
		return NULL;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (ksyms_addr[mid] <= at)
			lo = mid;
		else
			hi = mid;
	}
	*offset = at - ksyms_addr[lo];
	return ksyms_names + ksyms_name_off[lo];
}

const char *symbol_nth(size_t i, uintptr_t *addr)
{
	if (i >= (size_t)(uintptr_t)ksyms_count)
		return NULL;
	*addr = (uintptr_t)text_start + ksyms_addr[i];
	return ksyms_names + ksyms_name_off[i];
}
