/* SPDX-License-Identifier: MIT */
/*
 * Inline part of the machine contract (arch/arch.h) on x86_64.
 *
 * GS base points to this CPU's copy of the "percpu" section, which begins with
 * struct cpu_local (the linker script puts it first).  The small loads below
 * are ordinary memory reads to the compiler (they name a variable that it must
 * assume changed by any call), so they are neither hoisted over schedule() nor
 * repeated between calls.
 */
#ifndef ARCH_X86_64_MACHINE_H
#define ARCH_X86_64_MACHINE_H

#include "kernel/types.h"

struct thread;
struct page;

/* First object of each CPU's per-CPU area; offsets go to NASM. */
struct cpu_local {
	uintptr_t offset;       /* this area - template */
	struct thread *thread;  /* changes in arch_switch() only */
	uintptr_t kernel_sp;    /* top of current's kernel stack, for system calls */
	uintptr_t user_sp;      /* scratch of the system call entry */
	unsigned id;            /* dense index */
	uint32_t apic_id;
	uint64_t scratch[3];
} __cacheline_aligned;

extern struct cpu_local cpu_local; /* the template; never use directly */
extern char gs_changes;            /* never written; orders the loads below against calls */

#define GS_READ(field)                                                                             \
	({                                                                                         \
		__typeof__(((struct cpu_local *)0)->field) _v;                                     \
		__asm__("mov %%gs:%c1, %0"                                                         \
			: "=r"(_v)                                                                 \
			: "i"(offsetof(struct cpu_local, field)), "m"(gs_changes));                \
		_v;                                                                                \
	})

static __always_inline unsigned cpu_id(void)
{
	return GS_READ(id);
}
static __always_inline uintptr_t percpu_offset(void)
{
	return GS_READ(offset);
}
static __always_inline struct thread *current_thread(void)
{
	return GS_READ(thread);
}
/* Only for start-up code that gives a CPU its first thread (the idle thread). */
static inline void set_current_thread(struct thread *t)
{
	__asm__ volatile("mov %0, %%gs:%c1"
			 :
			 : "r"(t), "i"(offsetof(struct cpu_local, thread))
			 : "memory");
}

typedef unsigned long irqstate_t;

static __always_inline irqstate_t irq_save(void)
{
	irqstate_t f;

	__asm__ volatile("pushfq; popq %0; cli" : "=r"(f) : : "memory");
	return f;
}
static __always_inline void irq_enable(void)
{
	__asm__ volatile("sti" : : : "memory");
}
static __always_inline void irq_disable(void)
{
	__asm__ volatile("cli" : : : "memory");
}
static __always_inline void irq_restore(irqstate_t f)
{
	if (f & 0x200)
		irq_enable();
	else
		irq_disable();
}
static __always_inline bool irqs_enabled(void)
{
	irqstate_t f;

	__asm__ volatile("pushfq; popq %0" : "=r"(f) : : "memory");
	return f & 0x200;
}

extern bool cpu_relax_pause; /* constant after early boot; false under TCG, where PAUSE is slow */

static __always_inline void cpu_relax(void)
{
	if (unlikely(cpu_relax_pause))
		__asm__ volatile("pause" : : : "memory");
	else
		__asm__ volatile("" : : : "memory");
}

/*
 * A place that asks a static key (kernel/static_key.h): a nop, or a jump while the
 * key is on (arch/x86_64/static_key.c).
 */
#define STATIC_NOP 0x0f, 0x1f, 0x44, 0x00, 0x00
struct static_key;
static __always_inline bool arch_static_branch(const struct static_key *key)
{
	__asm__ goto("771: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
		     ".pushsection static_sites,\"a\",@progbits\n"
		     ".quad 771b\n.quad %l[on]\n.quad %c0\n.popsection\n"
		     :
		     : "i"(key)
		     :
		     : on);
	return false;
on:
	return true;
}
/* Thread context, may sleep, calls serialised by the caller. */
void arch_static_key_flip(const struct static_key *key, bool on);

/* Address space, upper half (docs/architecture.md). */
#define DIRECT_MAP_BASE 0xffff888000000000UL /* all RAM */
#define DIRECT_MAP_END  0xffffc88000000000UL
#define VMALLOC_BASE    0xffffc90000000000UL /* one PML4 slot, page table allocated at boot */
#define VMALLOC_END     0xffffc97fffffffffUL
#define VMEMMAP_BASE    0xffffea0000000000UL /* struct page of every RAM page */
#define MMIO_BASE       0xfffffe0000000000UL /* device registers, one PML4 slot */
#define KERNEL_BASE     0xffffffff80000000UL /* the image; physical 0 */

static __always_inline void *phys_to_virt(uint64_t pa)
{
	return (void *)(DIRECT_MAP_BASE + pa);
}
/* For direct-map and kernel-image addresses. */
static __always_inline uint64_t virt_to_phys(const void *p)
{
	uintptr_t v = (uintptr_t)p;

	return v >= KERNEL_BASE ? v - KERNEL_BASE : v - DIRECT_MAP_BASE;
}
static __always_inline void *pfn_to_virt(uint64_t pfn)
{
	return phys_to_virt(pfn << PAGE_SHIFT);
}
static __always_inline uint64_t virt_to_pfn(const void *p)
{
	return virt_to_phys(p) >> PAGE_SHIFT;
}

#define PAGE_STRUCT_SIZE 64 /* sizeof(struct page), asserted in mm/page.h */
static __always_inline struct page *pfn_to_page(uint64_t pfn)
{
	return (struct page *)(VMEMMAP_BASE + pfn * PAGE_STRUCT_SIZE);
}
static __always_inline uint64_t page_to_pfn(const struct page *pg)
{
	return ((uintptr_t)pg - VMEMMAP_BASE) / PAGE_STRUCT_SIZE;
}

#endif /* ARCH_X86_64_MACHINE_H */
