/* SPDX-License-Identifier: MIT */
/*
 * User page tables: finding, making and freeing them.
 *
 * Four levels, 4 KiB leaves.  Tables are reached through the direct map.  Each
 * table page is charged (MEMCG_PGTABLE) to the group of the process that needed
 * it.
 */
#include "mm/vm_int.h"
#include "kernel/string.h"

static struct page *table_page(void)
{
	struct page *p = page_alloc(0, PAGE_PGTABLE, GFP_ZERO);
	struct owner *o;

	if (!p)
		return NULL;
	o = current_owner();
	if (o && memcg_charge_page(p, o, MEMCG_PGTABLE, 0)) {
		page_put(p);
		return NULL;
	}
	return p;
}

static inline pte_t *table_of(uint64_t entry)
{
	return pfn_to_virt((entry & PTE_ADDR) >> PAGE_SHIFT);
}

/**
 * pt_find - the entry of @va, if its table exists
 * @next: set to the end of what the table covers, or of what a missing one would
 */
pte_t *pt_find(struct vm_space *s, uintptr_t va, uintptr_t *next)
{
	uint64_t e = pte_get(&s->pml4[PML4_INDEX(va)]);

	if (!e) {
		*next = ALIGN_DOWN(va, 1UL << 39) + (1UL << 39);
		return NULL;
	}
	e = pte_get(&table_of(e)[PDPT_INDEX(va)]);
	if (!e) {
		*next = ALIGN_DOWN(va, 1UL << 30) + (1UL << 30);
		return NULL;
	}
	e = pte_get(&table_of(e)[PD_INDEX(va)]);
	*next = ALIGN_DOWN(va, 1UL << 21) + (1UL << 21);
	return e ? &table_of(e)[PT_INDEX(va)] : NULL;
}

static pte_t *descend(struct vm_space *s, pte_t *e)
{
	uint64_t v = pte_get(e);
	struct page *p;

	if (likely(v))
		return table_of(v);
	p = table_page();
	if (!p)
		return NULL;
	vm_count(&s->nr_tables, 1);
	list_add(&p->lru, &s->tables);
	pte_set(e, page_pte(p) | PTE_P | PTE_W | PTE_U | PTE_A);
	return page_virt(p);
}

pte_t *pt_make(struct vm_space *s, uintptr_t va)
{
	unsigned slot = PML4_INDEX(va);
	pte_t *t;

	s->root_used[slot / 64] |= 1ULL << (slot % 64);
	t = descend(s, &s->pml4[slot]);
	t = t ? descend(s, &t[PDPT_INDEX(va)]) : NULL;
	t = t ? descend(s, &t[PD_INDEX(va)]) : NULL;
	return t ? &t[PT_INDEX(va)] : NULL;
}

int pt_init(struct vm_space *s)
{
	struct page *p = table_page();

	if (!p)
		return -ENOMEM;
	s->pml4 = page_virt(p);
	s->pml4_phys = page_to_pfn(p) << PAGE_SHIFT;
	vm_count(&s->nr_tables, 1);
	tlb_space_init(s);
	return 0;
}

uint64_t pte_prot(unsigned f)
{
	uint64_t v = PTE_A | PTE_U;

	v |= f & VM_PROT ? PTE_P : PTE_NONE;
	if (!(f & VM_EXEC))
		v |= pte_nx;
	return v;
}

/* Frees the tables below @t (of @level) that lie in [floor, ceil); see vm_free_tables(). */
static void free_level(struct vm_gather *g, pte_t *t, unsigned level, uintptr_t base,
		       uintptr_t start, uintptr_t end, uintptr_t floor, uintptr_t ceil)
{
	unsigned shift = PAGE_SHIFT + 9 * (level - 1);
	uintptr_t span = 1UL << shift;
	uintptr_t lo = base > start ? base : base + ALIGN_DOWN(start - base, span);

	for (; lo < end && lo < base + (span << 9) && lo < USER_END; lo += span) {
		pte_t *e = &t[(lo >> shift) & 511];
		uint64_t v = pte_get(e);
		struct page *p;

		if (!v)
			continue;
		if (level > 2)
			free_level(g, table_of(v), level - 1, lo, start, end, floor, ceil);
		if (lo < floor || lo + span > ceil)
			continue;
		pte_set(e, 0);
		vm_count(&g->space->nr_tables, -1);
		p = virt_to_page((void *)table_of(v));
		list_del(&p->lru);
		gather_page(g, lo, p, true);
	}
}

/**
 * vm_free_tables - free tables that [start, end) has left empty
 * @floor, @ceil: nothing is mapped between them
 */
void vm_free_tables(struct vm_gather *g, uintptr_t start, uintptr_t end, uintptr_t floor,
		    uintptr_t ceil)
{
	free_level(g, g->space->pml4, 4, 0, start, end, floor, ceil);
}
