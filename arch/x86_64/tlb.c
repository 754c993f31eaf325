/* SPDX-License-Identifier: MIT */
/*
 * Which address space each CPU has loaded, and keeping its TLB true.
 *
 * What:      a space has a generation that every flush raises, and a bitmap of
 *            the CPUs that have its tables loaded.  A CPU remembers the
 *            generation it has caught up with.  It is lazy while it runs kernel
 *            threads or idles: the tables stay loaded, but user addresses are
 *            not touched, so a flush does not interrupt it; it catches up when
 *            it comes back.
 * Order:     a flush changes entries, raises the generation, then reads bitmap
 *            and lazy flags; a CPU sets its bit and clears its flag, then reads
 *            the generation and loads CR3.  All of these are sequentially
 *            consistent, so either the flush sees the CPU or the CPU the flush.
 * Tables:    they are freed only after tlb_drop() has made every CPU forget them.
 *            The CPU where a process ends does not load others for that: with the
 *            root's user half cleared and the CPU's cached upper levels flushed,
 *            only the root page is left, and goes when something else is loaded.
 */
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/paging.h"
#include "mm/vm_int.h"
#include "kernel/smp.h"

struct cpu_tlb {
	struct vm_space *loaded; /* this CPU, interrupts off; NULL: the kernel's tables */
	uint64_t gen;            /* of loaded, that the TLB is true to */
	_Atomic bool lazy;       /* written by this CPU, read by flushes */
	struct page *dead_root;  /* loaded root of a space that has ended (loaded is NULL) */
	struct page *to_free;    /* one that is not loaded any more; freed by the next tlb_drop() */
};
static DEFINE_PER_CPU(struct cpu_tlb, cpu_tlb);

/* Slots of the kernel half in use: a handful of 256, all made before the first space. */
static uint16_t kernel_slots[256];
static unsigned nr_kernel_slots;

void tlb_space_init(struct vm_space *s)
{
	if (unlikely(!nr_kernel_slots)) {
		unsigned n = 0;

		for (unsigned i = 256; i < PTES_PER_TABLE; i++)
			if (kernel_pml4[i])
				kernel_slots[n++] = (uint16_t)i;
		nr_kernel_slots = n;
	}
	for (unsigned i = 0; i < nr_kernel_slots; i++)
		pte_set(&s->pml4[kernel_slots[i]], kernel_pml4[kernel_slots[i]]);
}

static void mark(struct vm_space *s, unsigned cpu, bool on)
{
	uint64_t bit = 1ULL << (cpu % 64);

	if (on)
		atomic_fetch_or_explicit(&s->cpus[cpu / 64], bit, memory_order_seq_cst);
	else
		atomic_fetch_and_explicit(&s->cpus[cpu / 64], ~bit, memory_order_release);
}

/**
 * vm_activate - make @next's user half the one in force
 *
 * NULL keeps what is loaded, lazily.  Writes CR3 only if other tables are loaded
 * or a flush was missed: under emulation it empties the whole software TLB.
 * Context: any thread context; arch_switch() calls it with interrupts off.
 */
void vm_activate(struct vm_space *next)
{
	irqstate_t irq = irq_save();
	struct cpu_tlb *c = &this_cpu(cpu_tlb);
	struct vm_space *old = c->loaded;
	uint64_t gen;

	if (!next) {
		if (old)
			atomic_store_explicit(&c->lazy, true, memory_order_release);
	} else if (next == old) {
		if (atomic_load_explicit(&c->lazy, memory_order_relaxed))
			atomic_store_explicit(&c->lazy, false, memory_order_seq_cst);
		gen = atomic_load_explicit(&next->tlb_gen, memory_order_seq_cst);
		if (gen != c->gen) {
			write_cr3(next->pml4_phys);
			c->gen = gen;
		}
	} else {
		unsigned cpu = cpu_id();

		mark(next, cpu, true);
		atomic_store_explicit(&c->lazy, false, memory_order_seq_cst);
		c->gen = atomic_load_explicit(&next->tlb_gen, memory_order_seq_cst);
		c->loaded = next;
		write_cr3(next->pml4_phys);
		if (old)
			mark(old, cpu, false);
		/* No page is freed here: that may need a lock. */
		if (c->dead_root) {
			c->to_free = c->dead_root;
			c->dead_root = NULL;
		}
	}
	irq_restore(irq);
}

struct flush {
	struct vm_space *space;
	const uintptr_t *va;
	unsigned n; /* above FLUSH_LIST: everything */
	uint64_t gen;
};

/* Interrupts off. */
static void flush_here(void *arg)
{
	const struct flush *f = arg;
	struct cpu_tlb *c = &this_cpu(cpu_tlb);

	if (c->loaded != f->space || c->gen >= f->gen)
		return;
	if (c->gen + 1 == f->gen && f->n <= FLUSH_LIST) {
		for (unsigned i = 0; i < f->n; i++)
			invlpg(f->va[i]);
	} else {
		write_cr3(f->space->pml4_phys);
	}
	c->gen = f->gen;
}

/**
 * tlb_flush - the entries of @n addresses have changed: nobody may use the old ones
 * @lazy_too: tables are about to be freed; CPUs that are lazy might still walk them
 * Context: thread, space->lock held; waits for the CPUs that run the space.
 */
void tlb_flush(struct vm_space *s, const uintptr_t *va, unsigned n, bool lazy_too)
{
	struct flush f = { s, va, n, 0 };
	uint64_t mask[MAX_CPUS / 64];
	unsigned words = DIV_ROUND_UP(nr_cpus, 64), self;
	bool others = false;
	irqstate_t irq;

	f.gen = atomic_fetch_add_explicit(&s->tlb_gen, 1, memory_order_seq_cst) + 1;
	irq = irq_save();
	self = cpu_id();
	flush_here(&f);
	irq_restore(irq);
	for (unsigned w = 0; w < words; w++) {
		uint64_t m = atomic_load_explicit(&s->cpus[w], memory_order_seq_cst);

		if (w == self / 64)
			m &= ~(1ULL << (self % 64));
		mask[w] = 0;
		for (; m; m &= m - 1) {
			unsigned cpu = w * 64 + (unsigned)__builtin_ctzll(m);

			if (!lazy_too && atomic_load_explicit(&per_cpu(cpu_tlb, cpu).lazy,
							      memory_order_seq_cst))
				continue;
			mask[w] |= 1ULL << (cpu % 64);
			others = true;
		}
	}
	if (others)
		smp_call_mask(mask, flush_here, &f);
}

/* Interrupts off. */
static void drop_here(void *arg)
{
	struct vm_space *s = arg;
	struct cpu_tlb *c = &this_cpu(cpu_tlb);

	if (c->loaded != s)
		return;
	c->loaded = NULL;
	atomic_store_explicit(&c->lazy, false, memory_order_relaxed);
	write_cr3(kernel_pml4_phys);
	mark(s, cpu_id(), false);
}

bool tlb_drop(struct vm_space *s)
{
	uint64_t mask[MAX_CPUS / 64];
	unsigned words = DIV_ROUND_UP(nr_cpus, 64), self;
	bool others = false, mine;
	struct cpu_tlb *c;
	struct page *old;
	irqstate_t irq = irq_save();

	self = cpu_id();
	c = &this_cpu(cpu_tlb);
	mine = c->loaded == s;
	old = c->to_free;
	c->to_free = NULL;
	if (mine) {
		c->loaded = NULL;
		c->dead_root = virt_to_page((void *)s->pml4);
		atomic_store_explicit(&c->lazy, false, memory_order_relaxed);
		invlpg(0); /* any address: drops what is cached of the upper levels */
		mark(s, self, false);
	}
	irq_restore(irq);
	if (old)
		page_put(old);
	for (unsigned w = 0; w < words; w++) {
		mask[w] = atomic_load_explicit(&s->cpus[w], memory_order_seq_cst);
		if (w == self / 64)
			mask[w] &= ~(1ULL << (self % 64));
		others |= mask[w] != 0;
	}
	if (others)
		smp_call_mask(mask, drop_here, s);
	return !mine;
}
