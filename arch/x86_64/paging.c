/* SPDX-License-Identifier: MIT */
/*
 * The kernel's page tables: see paging.h.
 *
 * Built once, region by region, with the largest pages that fit, so that their
 * size follows the RAM there is and not the highest address.  Image sections
 * get their own protection: text is never writable, nothing else executable.
 */
#include "arch/x86_64/paging.h"
#include "arch/x86_64/bootinfo.h"
#include "arch/x86_64/cpu.h"
#include "kernel/errno.h"
#include "kernel/init.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "mm/bootmem.h"
#include "mm/page.h"

uint64_t *kernel_pml4;
uint64_t kernel_pml4_phys;
uint64_t pte_nx;

static bool pages_from_allocator; /* bootmem is closed */
static uintptr_t mmio_next = MMIO_BASE;

extern char text_start[], text_end[], rodata_start[], rodata_end[], data_start[], image_end[];

#define SIZE_2M (1UL << 21)
#define SIZE_1G (1UL << 30)

/* A zeroed table page.  Until the final tables are loaded it must lie where the early ones map. */
static uint64_t *table_alloc(uint64_t *phys)
{
	if (pages_from_allocator) {
		struct page *p = page_alloc(0, PAGE_PGTABLE, GFP_ZERO);

		if (!p)
			return NULL;
		*phys = page_to_pfn(p) << PAGE_SHIFT;
	} else {
		*phys = bootmem_alloc_phys(PAGE_SIZE, PAGE_SIZE, 4UL << 30);
		if (!*phys)
			return NULL;
		memset(phys_to_virt(*phys), 0, PAGE_SIZE);
	}
	return phys_to_virt(*phys);
}

void arch_init_paging_late(void)
{
	pages_from_allocator = true;
}

/* The table one level below entry @e; made if missing.  NULL: no memory, or a large page. */
static uint64_t *descend(uint64_t *e)
{
	uint64_t phys, *t;

	if (*e & PTE_P)
		return *e & PTE_PS ? NULL : phys_to_virt(*e & PTE_ADDR);
	t = table_alloc(&phys);
	if (t)
		*e = phys | PTE_P | PTE_W | PTE_A;
	return t;
}

int kernel_map(uintptr_t va, uint64_t pa, size_t len, uint64_t prot)
{
	uintptr_t end = va + len;

	prot = (prot & ~PTE_NX) | (prot & pte_nx);
	while (va != end) {
		uint64_t *pdpt = descend(&kernel_pml4[PML4_INDEX(va)]), *pd, *pt, *e;
		size_t left = end - va;

		if (!pdpt)
			return -ENOMEM;
		e = &pdpt[PDPT_INDEX(va)];
		if (cpu_features.gib_pages && !((va | pa) & (SIZE_1G - 1)) && left >= SIZE_1G &&
		    !(*e & PTE_P)) {
			*e = pa | prot | PTE_PS;
			va += SIZE_1G;
			pa += SIZE_1G;
			continue;
		}
		pd = descend(e);
		if (!pd)
			return *e & PTE_P ? -EEXIST : -ENOMEM;
		e = &pd[PD_INDEX(va)];
		if (!((va | pa) & (SIZE_2M - 1)) && left >= SIZE_2M && !(*e & PTE_P)) {
			*e = pa | prot | PTE_PS;
			va += SIZE_2M;
			pa += SIZE_2M;
			continue;
		}
		pt = descend(e);
		if (!pt)
			return *e & PTE_P ? -EEXIST : -ENOMEM;
		e = &pt[PT_INDEX(va)];
		if (*e & PTE_P)
			return -EEXIST;
		*e = pa | prot;
		va += PAGE_SIZE;
		pa += PAGE_SIZE;
	}
	return 0;
}

/* Entry that maps @va at any level; NULL if nothing does.  @size: bytes it covers. */
static uint64_t *lookup(uintptr_t va, size_t *size)
{
	uint64_t *e = &kernel_pml4[PML4_INDEX(va)];

	if (!(*e & PTE_P))
		return NULL;
	e = (uint64_t *)phys_to_virt(*e & PTE_ADDR) + PDPT_INDEX(va);
	*size = SIZE_1G;
	if (!(*e & PTE_P) || (*e & PTE_PS))
		return *e & PTE_P ? e : NULL;
	e = (uint64_t *)phys_to_virt(*e & PTE_ADDR) + PD_INDEX(va);
	*size = SIZE_2M;
	if (!(*e & PTE_P) || (*e & PTE_PS))
		return *e & PTE_P ? e : NULL;
	e = (uint64_t *)phys_to_virt(*e & PTE_ADDR) + PT_INDEX(va);
	*size = PAGE_SIZE;
	return *e & PTE_P ? e : NULL;
}

uint64_t *kernel_pte(uintptr_t va)
{
	size_t size;
	uint64_t *e = lookup(va, &size);

	return e && size == PAGE_SIZE ? e : NULL;
}

bool kernel_mapped(uintptr_t va)
{
	size_t size;

	return kernel_pml4 && lookup(va, &size);
}

static void must_map(const char *what, uintptr_t va, uint64_t pa, size_t len, uint64_t prot)
{
	int err = kernel_map(va, pa, len, prot);

	if (err)
		panic("paging: cannot map %s at %lx, %zu bytes: error %d", what, va, len, err);
}

/*
 * The page array for one RAM region, not zeroed (mm/page_alloc.c does that).  Neighbouring regions may share a page of
 * it, so the edges are looked at page by page.
 */
static void map_page_array(uint64_t start, uint64_t end)
{
	/* Whole blocks of the page allocator: merging looks at all entries of a block. */
	uint64_t block = PAGE_SIZE << MAX_ORDER;
	uintptr_t va = (uintptr_t)pfn_to_page(ALIGN_DOWN(start, block) >> PAGE_SHIFT);
	uintptr_t stop = (uintptr_t)pfn_to_page(ALIGN_UP(end, block) >> PAGE_SHIFT);

	while (va < stop) {
		size_t size = PAGE_SIZE;
		uint64_t pa;

		if (kernel_mapped(va)) {
			va += PAGE_SIZE;
			continue;
		}
		if (!(va & (SIZE_2M - 1)) && stop - va >= SIZE_2M)
			size = SIZE_2M;
		pa = bootmem_alloc_phys(size, size, UINT64_MAX);
		if (!pa && size == SIZE_2M) {
			size = PAGE_SIZE;
			pa = bootmem_alloc_phys(size, size, UINT64_MAX);
		}
		if (!pa)
			panic("paging: no memory for the page array of %lx-%lx", start, end);
		must_map("page array", va, pa, size, KPROT_RW);
		va += size; /* page_alloc_init() zeroes it, block by block when first needed */
	}
}

static void map_image(const char *start, const char *end, uint64_t prot)
{
	must_map("image", (uintptr_t)start, virt_to_phys(start), (size_t)(end - start), prot);
}

/**
 * arch_init_paging - leave the early tables
 *
 * After it: direct map and page array of all RAM, firmware tables that lie in
 * RAM, the image with its protection, page 0 and the whole lower half unmapped.
 */
void arch_init_paging(void)
{
	const struct mem_region *r;
	size_t n = bootmem_regions(&r);
	uint64_t phys, *early;
	uint64_t *t;

	pte_nx = cpu_features.nx ? PTE_NX : 0;
	early = phys_to_virt(read_cr3() & PTE_ADDR);
	kernel_pml4 = table_alloc(&phys);
	if (!kernel_pml4)
		panic("paging: no memory below 4 GiB for page tables");
	kernel_pml4_phys = phys;
	(void)early;

	for (size_t i = 0; i < n; i++)
		must_map("RAM", DIRECT_MAP_BASE + r[i].start, r[i].start, r[i].end - r[i].start, KPROT_RW);
	/* The first MiB (page 0 too, but only here) and what firmware keeps in RAM. */
	must_map("low memory", DIRECT_MAP_BASE, 0, 0xa0000, KPROT_RW);
	must_map("BIOS", DIRECT_MAP_BASE + 0xc0000, 0xc0000, 0x40000, KPROT_RO);
	for (unsigned i = 0; i < boot_map.n; i++) {
		const struct memrange *m = &boot_map.r[i];

		if ((m->type == MEM_ACPI || m->type == MEM_NVS) && m->start >= (1UL << 20))
			must_map("firmware tables", DIRECT_MAP_BASE + m->start, m->start,
				 m->end - m->start, KPROT_RW);
	}
	map_image(text_start, text_end, KPROT_RX);
	map_image(rodata_start, rodata_end, KPROT_RO);
	map_image(data_start, image_end, KPROT_RW);

	/* Slots that get entries later must exist before the first address space copies them. */
	t = descend(&kernel_pml4[PML4_INDEX(VMALLOC_BASE)]);
	t = t ? descend(&kernel_pml4[PML4_INDEX(MMIO_BASE)]) : NULL;
	if (!t)
		panic("paging: no memory for page tables");
	write_cr3(kernel_pml4_phys);

	for (size_t i = 0; i < n; i++)
		map_page_array(r[i].start, r[i].end);
}

void *mmio_map(uint64_t pa, size_t len, bool cached)
{
	uint64_t base = ALIGN_DOWN(pa, PAGE_SIZE);
	size_t size = ALIGN_UP(pa + len, PAGE_SIZE) - base;
	uintptr_t va = mmio_next;

	if (pa + len < pa || !len)
		return NULL;
	if (size >= SIZE_2M) /* same place within 2 MiB, so that large pages fit */
		va = ALIGN_UP(va, SIZE_2M) + (base & (SIZE_2M - 1));
	mmio_next = va + size + PAGE_SIZE; /* an unmapped page between any two */
	if (kernel_map(va, base, size, cached ? KPROT_RO : KPROT_IO))
		return NULL;
	return (void *)(va + (pa - base));
}
