/* SPDX-License-Identifier: MIT */
/*
 * Inline part of the machine contract (arch/arch.h) in a Linux process.
 *
 * A CPU is a pthread, a kernel thread is a coroutine that may move between
 * them.  The CPU's data is found through a thread-local pointer; it is read by
 * assembly on purpose, since a compiler may keep the address of a thread-local
 * variable over a switch after which the coroutine runs on another pthread.
 *
 * Interrupts are a word of pending bits per CPU.  They are delivered where the
 * code enables interrupts, halts or polls (irq_poll()), never between two other
 * instructions.
 */
#ifndef ARCH_HOST_MACHINE_H
#define ARCH_HOST_MACHINE_H

#include "kernel/types.h"

struct thread;
struct page;

#define KSTACK_SIZE (512 * 1024) /* bytes: sanitizers and the C library need more than a kernel */

struct host_cpu {
	uintptr_t percpu_offset;
	struct thread *curr;
	unsigned id;
	bool irqs_on;
	bool halted_once;
	uint64_t deadline;        /* clock_ns() of the timer interrupt, 0: off */
	_Atomic uint32_t pending; /* futex; interrupts that wait for delivery */
	char pad[CACHE_LINE];
};

extern __thread struct host_cpu *host_cpu_tls;

static inline struct host_cpu *host_self(void)
{
#if defined(__PIC__) && !defined(__PIE__)
	extern struct host_cpu *host_self_call(void);
	return host_self_call();
#else
	struct host_cpu *c;

	__asm__ volatile("movq %%fs:host_cpu_tls@tpoff, %0" : "=r"(c));
	return c;
#endif
}
void host_deliver(struct host_cpu *c); /* runs what is pending; interrupts on */
bool host_timer_due(struct host_cpu *c);

static inline unsigned cpu_id(void)
{
	return host_self()->id;
}
static inline uintptr_t percpu_offset(void)
{
	return host_self()->percpu_offset;
}
static inline struct thread *current_thread(void)
{
	return host_self()->curr;
}
static inline void set_current_thread(struct thread *t)
{
	host_self()->curr = t;
}

typedef bool irqstate_t;

static inline void host_poll(void)
{
	struct host_cpu *c = host_self();

	if (c->irqs_on && (atomic_load_explicit(&c->pending, memory_order_relaxed) ||
			   (c->deadline && host_timer_due(c))))
		host_deliver(c);
}
#define irq_poll() host_poll()

static inline irqstate_t irq_save(void)
{
	struct host_cpu *c = host_self();
	bool old = c->irqs_on;

	c->irqs_on = false;
	return old;
}
static inline void irq_enable(void)
{
	host_self()->irqs_on = true;
	host_poll();
}
static inline void irq_disable(void)
{
	host_self()->irqs_on = false;
}
static inline void irq_restore(irqstate_t on)
{
	if (on)
		irq_enable();
	else
		irq_disable();
}
static inline bool irqs_enabled(void)
{
	return host_self()->irqs_on;
}
/* A static key is a flag here; kernel/static_key.h has static_key_is_on(). */
#define arch_static_branch(key)       static_key_is_on(key)
#define arch_static_key_flip(key, on) ((void)0)

static inline void cpu_relax(void)
{
	__builtin_ia32_pause();
	host_poll();
}

/* "Physical" memory: one mapping, seen at host_arena; page frame 0 is never used. */
#define HOST_FIRST_PFN   0x100UL
#define PAGE_STRUCT_SIZE 64
extern char *host_arena;      /* virtual address of physical 0 (so HOST_FIRST_PFN is the first mapped) */
extern char *host_page_array; /* struct page of page frame 0 */
extern size_t host_arena_pages;

static inline void *phys_to_virt(uint64_t pa)
{
	return host_arena + pa;
}
static inline uint64_t virt_to_phys(const void *p)
{
	return (uint64_t)((const char *)p - host_arena);
}
static inline void *pfn_to_virt(uint64_t pfn)
{
	return phys_to_virt(pfn << PAGE_SHIFT);
}
static inline uint64_t virt_to_pfn(const void *p)
{
	return virt_to_phys(p) >> PAGE_SHIFT;
}
static inline struct page *pfn_to_page(uint64_t pfn)
{
	return (struct page *)(void *)(host_page_array + pfn * PAGE_STRUCT_SIZE);
}
static inline uint64_t page_to_pfn(const struct page *pg)
{
	return (uint64_t)((const char *)pg - host_page_array) / PAGE_STRUCT_SIZE;
}

#endif /* ARCH_HOST_MACHINE_H */
