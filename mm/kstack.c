/* SPDX-License-Identifier: MIT */
/*
 * Kernel stacks: mapped with guard space, kept mapped while cached.
 *
 * What:      a free stack stays mapped in its slot: first in a small list of the
 *            CPU, then in a global one.  When that grows too long, a work item
 *            unmaps a batch, flushes the TLBs once and lets the slots be used
 *            again.  Making a thread thus maps nothing in the usual case.
 * Locks:     kstack_lock (spinlock) over the global lists; vmalloc_lock (mutex)
 *            around changes of the page tables.  kstack_free() takes only the
 *            spinlock: it is called right after a switch.
 */
#include "mm/vmalloc_int.h"
#include "mm/memcg.h"
#include "mm/page_int.h"
#include "arch/x86_64/paging.h"
#include "arch/x86_64/pgtable.h"
#include "kernel/log.h"
#include "kernel/work.h"

#define CPU_STACKS    4   /* per CPU: a fork that ends before the next needs one or two */
#define GLOBAL_STACKS 128 /* 2 MiB of idle stacks; a recipe's clients come and go */
#define TRIM_BATCH    32  /* stacks per TLB flush */

struct free_stack { /* at the lowest address of a free, mapped stack */
	struct free_stack *next;
};
struct cpu_stacks {
	struct free_stack *list;
	unsigned n;
};
static DEFINE_PER_CPU(struct cpu_stacks, cpu_stacks);

static struct spinlock kstack_lock = SPINLOCK_INIT("kstack");
static struct free_stack *global_list; /* mapped, under lock */
static unsigned nr_global;             /* under lock */
static uintptr_t next_slot = KSTACK_AREA; /* never used above; under vmalloc_lock */
static uintptr_t *free_slots;          /* unmapped slots, a page of addresses; under vmalloc_lock */
static unsigned nr_free_slots;
#define MAX_FREE_SLOTS (PAGE_SIZE / sizeof(uintptr_t)) /* further ones are not used again */
static struct work trim_work;

static struct page *first_page(void *stack)
{
	return kernel_va_to_page((uintptr_t)stack);
}

static void unmap_stack(void *stack, struct list_head *pages)
{
	for (unsigned i = 0; i < KSTACK_PAGES; i++) {
		struct page *p = kernel_unmap((uintptr_t)stack + i * PAGE_SIZE);

		if (p)
			list_add(&p->lru, pages);
	}
}

static void put_pages(struct list_head *pages)
{
	while (!list_empty(pages)) {
		struct page *p = list_first_entry(pages, struct page, lru);

		list_del(&p->lru);
		page_put(p);
	}
}

static void *map_new(void)
{
	uintptr_t slot, stack;
	LIST_HEAD(pages);

	mutex_lock(&vmalloc_lock);
	if (nr_free_slots)
		slot = free_slots[--nr_free_slots];
	else if (next_slot + KSTACK_SLOT <= VMALLOC_END)
		slot = next_slot, next_slot += KSTACK_SLOT;
	else
		goto fail;
	stack = slot + KSTACK_SLOT - KSTACK_SIZE;
	for (unsigned i = 0; i < KSTACK_PAGES; i++) {
		struct page *p = page_alloc(0, PAGE_KSTACK, 0);

		if (p && !kernel_map(stack + i * PAGE_SIZE, page_to_pfn(p) << PAGE_SHIFT,
				     PAGE_SIZE, KPROT_RW))
			continue;
		if (p)
			page_put(p);
		/* Nobody has touched the addresses: nothing to flush. */
		unmap_stack((void *)stack, &pages);
		if (free_slots && nr_free_slots < MAX_FREE_SLOTS)
			free_slots[nr_free_slots++] = slot;
		goto fail;
	}
	mutex_unlock(&vmalloc_lock);
	return (void *)stack;
fail:
	mutex_unlock(&vmalloc_lock);
	put_pages(&pages);
	return NULL;
}

static void *take_cached(void)
{
	struct cpu_stacks *c;
	struct free_stack *s;

	if (pcp_ready) {
		c = &this_cpu(cpu_stacks);
		s = c->list;
		if (s) {
			c->list = s->next;
			c->n--;
			return s;
		}
	}
	spin_lock(&kstack_lock);
	s = global_list;
	if (s) {
		global_list = s->next;
		nr_global--;
	}
	spin_unlock(&kstack_lock);
	return s;
}

void *kstack_alloc(struct owner *o)
{
	void *stack;

	if (o && memcg_charge(o, KSTACK_PAGES, MEMCG_KSTACK, 0))
		return NULL;
	stack = alloc_should_fail() ? NULL : take_cached();
	if (!stack)
		stack = map_new();
	if (!stack) {
		if (o)
			memcg_uncharge(o, KSTACK_PAGES, MEMCG_KSTACK);
		return NULL;
	}
	/* page->owner would make page_put() uncharge; the charge is ours to return. */
	first_page(stack)->priv = (uintptr_t)o;
	return stack;
}

void kstack_free(void *stack)
{
	struct free_stack *s = stack;
	struct page *p = first_page(stack);
	struct owner *o = (struct owner *)(uintptr_t)p->priv;
	struct cpu_stacks *c;
	bool trim;

	p->priv = 0;
	if (o)
		memcg_uncharge(o, KSTACK_PAGES, MEMCG_KSTACK);
	if (pcp_ready) {
		c = &this_cpu(cpu_stacks);
		if (c->n < CPU_STACKS) {
			s->next = c->list;
			c->list = s;
			c->n++;
			return;
		}
	}
	spin_lock(&kstack_lock);
	s->next = global_list;
	global_list = s;
	trim = ++nr_global > GLOBAL_STACKS;
	spin_unlock(&kstack_lock);
	if (trim)
		work_schedule(&trim_work);
}

/* Unmaps global stacks until @keep are left. */
static void trim(unsigned keep)
{
	for (;;) {
		struct free_stack *batch[TRIM_BATCH];
		uintptr_t lo = UINTPTR_MAX, hi = 0;
		unsigned n = 0;
		LIST_HEAD(pages);

		spin_lock(&kstack_lock);
		while (n < TRIM_BATCH && nr_global > keep) {
			batch[n++] = global_list;
			global_list = global_list->next;
			nr_global--;
		}
		spin_unlock(&kstack_lock);
		if (!n)
			return;
		mutex_lock(&vmalloc_lock);
		for (unsigned i = 0; i < n; i++) {
			uintptr_t va = (uintptr_t)batch[i];

			unmap_stack(batch[i], &pages);
			lo = min(lo, va);
			hi = max(hi, va + KSTACK_SIZE);
		}
		kernel_flush_range(lo, (hi - lo) / PAGE_SIZE);
		for (unsigned i = 0; i < n && nr_free_slots < MAX_FREE_SLOTS; i++)
			free_slots[nr_free_slots++] =
				(uintptr_t)batch[i] - (KSTACK_SLOT - KSTACK_SIZE);
		mutex_unlock(&vmalloc_lock);
		put_pages(&pages);
	}
}

static void trim_fn(struct work *w)
{
	(void)w;
	trim(GLOBAL_STACKS / 2);
}

void kstack_drain(void)
{
	trim(0);
}

bool kstack_is_guard(uintptr_t addr)
{
	return addr >= KSTACK_AREA && addr <= VMALLOC_END &&
	       (addr - KSTACK_AREA) % KSTACK_SLOT < KSTACK_SLOT - KSTACK_SIZE;
}

void kstack_init(void)
{
	struct page *p = page_alloc(0, PAGE_KERNEL, 0);

	work_init(&trim_work, trim_fn);
	if (!p)
		panic("kstack: no page at start-up");
	free_slots = page_virt(p);
}
