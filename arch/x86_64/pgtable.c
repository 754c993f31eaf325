/* SPDX-License-Identifier: MIT */
/* Single kernel mappings and their removal: see pgtable.h. */
#include "arch/x86_64/pgtable.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/paging.h"
#include "kernel/smp.h"

#define FLUSH_ALL_ABOVE 64 /* pages; a full flush is cheaper from here */

struct page *kernel_va_to_page(uintptr_t va)
{
	uint64_t *e = kernel_pte(va);

	return e && (*e & PTE_P) ? pfn_to_page((*e & PTE_ADDR) >> PAGE_SHIFT) : NULL;
}

struct page *kernel_unmap(uintptr_t va)
{
	uint64_t *e = kernel_pte(va), old;

	if (!e || !(*e & PTE_P))
		return NULL;
	old = *e;
	*e = 0;
	return pfn_to_page((old & PTE_ADDR) >> PAGE_SHIFT);
}

struct kernel_range {
	uintptr_t va;
	size_t pages;
};

static void flush_here(void *arg)
{
	const struct kernel_range *r = arg;

	if (r->pages > FLUSH_ALL_ABOVE) {
		uint64_t cr4 = read_cr4();

		/* Global entries go only when PGE is turned off. */
		write_cr4(cr4 & ~CR4_PGE);
		write_cr4(cr4);
		return;
	}
	for (size_t i = 0; i < r->pages; i++)
		invlpg(r->va + i * PAGE_SIZE);
}

void kernel_flush_range(uintptr_t va, size_t pages)
{
	struct kernel_range r = { va, pages };

	smp_call_all(flush_here, &r);
}
