/* SPDX-License-Identifier: MIT */
/*
 * Local APIC: see apic.h.  Source: Intel SDM volume 3, chapter 11.
 */
#include "arch/x86_64/apic.h"
#include "arch/arch.h"
#include "arch/x86_64/acpi.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/irq.h"
#include "arch/x86_64/paging.h"
#include "kernel/log.h"

/* Register numbers: byte offset / 16, which is also the MSR's distance from 0x800. */
enum {
	REG_ID = 0x02, REG_VERSION = 0x03, REG_TPR = 0x08, REG_EOI = 0x0b, REG_LDR = 0x0d, REG_DFR = 0x0e,
	REG_SPURIOUS = 0x0f, REG_ESR = 0x28, REG_ICR_LOW = 0x30, REG_ICR_HIGH = 0x31, REG_LVT_TIMER = 0x32,
	REG_LVT_ERROR = 0x37, REG_TIMER_INIT = 0x38, REG_TIMER_NOW = 0x39, REG_TIMER_DIVIDE = 0x3e,
};

#define BASE_ENABLE (1UL << 11)
#define BASE_X2APIC (1UL << 10)

#define LVT_MASKED       (1u << 16)
#define LVT_TSC_DEADLINE (2u << 17)
#define ICR_PENDING      (1u << 12)

static volatile char *regs;
static bool x2apic;

static uint32_t reg_read(unsigned r)
{
	return x2apic ? (uint32_t)rdmsr(0x800 + r) : mmio_read32(regs + r * 16);
}

static void reg_write(unsigned r, uint32_t v)
{
	if (x2apic)
		wrmsr(0x800 + r, v);
	else
		mmio_write32(regs + r * 16, v);
}

void apic_init_boot(void)
{
	uint64_t base = rdmsr(MSR_APIC_BASE);
	uint64_t phys = acpi.madt.lapic_addr ? acpi.madt.lapic_addr : base & PTE_ADDR;
	bool on_already = base & BASE_X2APIC;

	x2apic = on_already || cpu_features.x2apic;
	if (!x2apic) {
		regs = mmio_map(phys, PAGE_SIZE, false);
		if (!regs)
			panic("apic: no memory to map the registers at %lx", phys);
	}
	pr_info("apic: %s%s", x2apic ? "x2APIC" : "xAPIC", on_already ? ", enabled by firmware" : "");
}

bool apic_is_x2apic(void)
{
	return x2apic;
}

void apic_init_cpu(void)
{
	uint64_t base = rdmsr(MSR_APIC_BASE);

	/* From off to x2APIC the way goes through xAPIC. */
	if (!(base & BASE_ENABLE)) {
		base |= BASE_ENABLE;
		wrmsr(MSR_APIC_BASE, base);
	}
	if (x2apic && !(base & BASE_X2APIC))
		wrmsr(MSR_APIC_BASE, base | BASE_X2APIC);
	reg_write(REG_TPR, 0);
	if (!x2apic) {
		reg_write(REG_DFR, 0xffffffff);
		reg_write(REG_LDR, 0);
	}
	reg_write(REG_LVT_TIMER, LVT_MASKED | VECTOR_TIMER);
	reg_write(REG_LVT_ERROR, LVT_MASKED);
	/* LINT0 and LINT1 stay as firmware set them (NMI on the boot CPU). */
	reg_write(REG_TIMER_DIVIDE, 0xb); /* by 1 */
	reg_write(REG_SPURIOUS, 0x100 | VECTOR_SPURIOUS);
	reg_write(REG_EOI, 0);
}

uint32_t apic_id(void)
{
	return x2apic ? reg_read(REG_ID) : reg_read(REG_ID) >> 24;
}

void apic_eoi(void)
{
	reg_write(REG_EOI, 0);
}

#define SEND_POLLS 100000 /* of a register that clears within microseconds */

void apic_send(uint32_t dest, uint32_t command)
{
	irqstate_t s;

	if (x2apic) {
		/* The MSR write does not wait for earlier stores; the receiver must see them. */
		memory_fence();
		wrmsr(0x800 + REG_ICR_LOW, ((uint64_t)dest << 32) | command);
		return;
	}
	s = irq_save(); /* the two halves belong together */
	for (unsigned i = 0; i < SEND_POLLS && (reg_read(REG_ICR_LOW) & ICR_PENDING); i++)
		cpu_relax();
	reg_write(REG_ICR_HIGH, dest << 24);
	reg_write(REG_ICR_LOW, command);
	irq_restore(s);
}

void apic_timer_set_count(uint32_t count)
{
	reg_write(REG_TIMER_INIT, count);
}

uint32_t apic_timer_count(void)
{
	return reg_read(REG_TIMER_NOW);
}

void apic_timer_mask(bool masked)
{
	reg_write(REG_LVT_TIMER, VECTOR_TIMER | (masked ? LVT_MASKED : 0));
}

void apic_timer_use_deadline(void)
{
	reg_write(REG_LVT_TIMER, VECTOR_TIMER | LVT_TSC_DEADLINE);
	memory_fence(); /* the mode change before the first deadline; SDM 11.5.4.1 */
}
