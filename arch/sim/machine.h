/* SPDX-License-Identifier: MIT */
/*
 * Inline part of the machine contract (arch/arch.h) on the simulator: simulated
 * CPUs are coroutines on one host thread.  Interrupts do not exist here unless a
 * test injects them (arch/sim/explorer.h); memory is one arena whose lines the cost model knows.
 */
#ifndef ARCH_SIM_MACHINE_H
#define ARCH_SIM_MACHINE_H

#include "kernel/types.h"

struct thread;
struct page;

#define KSTACK_SIZE      (64 * 1024)
#define PAGE_STRUCT_SIZE 64

/* The part of a simulated CPU that kernel code sees. */
struct sim_cpu_view {
	unsigned id;
	uintptr_t percpu_offset;
	struct thread *curr;
	bool irqs_off;
};
extern struct sim_cpu_view *sim_view; /* of the CPU that runs */

static inline unsigned cpu_id(void)
{
	return sim_view->id;
}
static inline uintptr_t percpu_offset(void)
{
	return sim_view->percpu_offset;
}
static inline struct thread *current_thread(void)
{
	return sim_view->curr;
}

typedef bool irqstate_t;
static inline void irq_disable(void)
{
	sim_view->irqs_off = true;
}
static inline void irq_enable(void)
{
	sim_view->irqs_off = false;
}
static inline bool irqs_enabled(void)
{
	return !sim_view->irqs_off;
}
static inline irqstate_t irq_save(void)
{
	bool on = irqs_enabled();

	irq_disable();
	return on;
}
static inline void irq_restore(irqstate_t s)
{
	sim_view->irqs_off = !s;
}
/* No static key is ever on, and asking costs nothing. */
#define arch_static_branch(key) ((void)(key), false)

void cpu_relax(void); /* lets simulated time pass */

/* No pages are simulated; present so that headers compile. */
static inline void *pfn_to_virt(uint64_t pfn)
{
	return (void *)(pfn << PAGE_SHIFT);
}
static inline uint64_t virt_to_pfn(const void *p)
{
	return (uintptr_t)p >> PAGE_SHIFT;
}
static inline struct page *pfn_to_page(uint64_t pfn)
{
	return (struct page *)(pfn * PAGE_STRUCT_SIZE);
}
static inline uint64_t page_to_pfn(const struct page *pg)
{
	return (uintptr_t)pg / PAGE_STRUCT_SIZE;
}

#endif /* ARCH_SIM_MACHINE_H */
