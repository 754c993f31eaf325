/* SPDX-License-Identifier: MIT */
/*
 * Segments, task state and interrupt table.
 *
 * Each CPU has its own GDT (its TSS descriptor is marked busy by the CPU) and
 * TSS; the IDT is one for all.  Double fault, NMI, machine check and debug
 * exceptions run on stacks of their own, since they may come while the stack
 * pointer is not to be trusted.
 */
#include "arch/arch.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/regs.h"
#include "arch/x86_64/traps.h"
#include "kernel/log.h"
#include "mm/bootmem.h"

struct tss {
	uint32_t reserved0;
	uint64_t rsp[3];
	uint64_t reserved1;
	uint64_t ist[7];
	uint64_t reserved2;
	uint16_t reserved3, iomap;
} __packed;
_Static_assert(sizeof(struct tss) == 104, "layout fixed by the CPU");

struct gdt {
	uint64_t slot[8];
	struct tss tss;
} __cacheline_aligned;
DEFINE_PER_CPU(struct gdt, cpu_gdt);

struct idt_gate {
	uint16_t offset0, selector;
	uint8_t ist, type;
	uint16_t offset1;
	uint32_t offset2, reserved;
};
static struct idt_gate idt[256] __attribute__((aligned(4096)));

struct table_ptr {
	uint16_t limit;
	uint64_t base;
} __packed;

enum { IST_DOUBLE_FAULT = 1, IST_NMI, IST_MACHINE_CHECK, IST_DEBUG, NR_IST = IST_DEBUG };
#define IST_STACK_SIZE 8192

extern char vector_stubs[]; /* 256 stubs of 16 bytes, entry.asm */

void idt_init(void)
{
	for (unsigned v = 0; v < 256; v++) {
		uintptr_t to = (uintptr_t)vector_stubs + v * 16;
		struct idt_gate *g = &idt[v];

		g->offset0 = (uint16_t)to;
		g->offset1 = (uint16_t)(to >> 16);
		g->offset2 = (uint32_t)(to >> 32);
		g->selector = SEL_KERNEL_CODE;
		g->type = 0x8e; /* present, interrupt gate, kernel only */
		g->ist = 0;
	}
	idt[3].type = 0xee; /* int3 from user mode */
}

/* From here on exceptions use the emergency stacks; the TSS of this CPU must be loaded. */
static void idt_use_ist(void)
{
	idt[8].ist = IST_DOUBLE_FAULT;
	idt[2].ist = IST_NMI;
	idt[18].ist = IST_MACHINE_CHECK;
	idt[1].ist = IST_DEBUG;
}

void idt_load(void)
{
	struct table_ptr p = { sizeof(idt) - 1, (uintptr_t)idt };

	__asm__ volatile("lidt %0" : : "m"(p));
}

/* cpu_stacks_alloc - emergency stacks for CPU @cpu, in its area; while bootmem is open */
void cpu_stacks_alloc(void *area)
{
	struct gdt *g = (struct gdt *)((uintptr_t)&cpu_gdt - (uintptr_t)&cpu_local + (uintptr_t)area);
	char *stacks = bootmem_alloc(NR_IST * IST_STACK_SIZE, PAGE_SIZE);

	if (!stacks)
		panic("no memory for a CPU's emergency stacks");
	for (unsigned i = 0; i < NR_IST; i++)
		g->tss.ist[i] = (uintptr_t)stacks + (i + 1) * IST_STACK_SIZE;
}

void gdt_init_cpu(void)
{
	struct gdt *g = &this_cpu(cpu_gdt);
	uintptr_t t = (uintptr_t)&g->tss;
	struct table_ptr p = { sizeof(g->slot) - 1, (uintptr_t)g->slot };
	uint64_t gs = rdmsr(MSR_GS_BASE);

	g->slot[0] = 0;
	g->slot[1] = 0x00af9b000000ffffUL;                 /* kernel code */
	g->slot[2] = 0x00cf93000000ffffUL;                 /* kernel data */
	g->slot[3] = 0x00cff3000000ffffUL;                 /* user data */
	g->slot[4] = 0x00affb000000ffffUL;                 /* user code */
	g->slot[5] = (sizeof(struct tss) - 1) | ((t & 0xffffff) << 16) | (0x89UL << 40) |
		     ((t >> 24 & 0xff) << 56);
	g->slot[6] = t >> 32;
	g->slot[7] = 0x0040f10000000000UL | (cpu_id() & 0xffff) | ((uint64_t)(cpu_id() >> 16 & 0xf) << 48);
	g->tss.iomap = sizeof(struct tss);

	__asm__ volatile("lgdt %0" : : "m"(p));
	__asm__ volatile("pushq %0\n\t"
			 "leaq 1f(%%rip), %%rax\n\t"
			 "pushq %%rax\n\t"
			 "lretq\n"
			 "1:\n\t"
			 "movl %1, %%eax\n\t"
			 "movl %%eax, %%ds\n\t"
			 "movl %%eax, %%es\n\t"
			 "movl %%eax, %%ss\n\t"
			 "xorl %%eax, %%eax\n\t"
			 "movl %%eax, %%fs\n\t"
			 "movl %%eax, %%gs\n\t"
			 "ltr %w2"
			 :
			 : "i"(SEL_KERNEL_CODE), "i"(SEL_KERNEL_DATA), "r"(SEL_TSS)
			 : "rax", "memory");
	wrmsr(MSR_GS_BASE, gs); /* loading GS cleared it */
	if (cpu_id() == 0)
		idt_use_ist();
	idt_load();
}

void tss_set_kernel_sp(uintptr_t sp)
{
	this_cpu(cpu_gdt).tss.rsp[0] = sp;
}

/* Is @sp on one of this CPU's emergency stacks?  For the back-trace. */
bool on_emergency_stack(uintptr_t sp)
{
	uintptr_t top = this_cpu(cpu_gdt).tss.ist[NR_IST - 1];

	return top && sp < top && sp >= top - NR_IST * IST_STACK_SIZE;
}
