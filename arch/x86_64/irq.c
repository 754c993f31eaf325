/* SPDX-License-Identifier: MIT */
/*
 * Interrupts: legacy controller off, IOAPICs, vectors of devices, dispatch.
 */
#include "arch/x86_64/irq.h"
#include "arch/arch.h"
#include "arch/x86_64/acpi.h"
#include "arch/x86_64/apic.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/paging.h"
#include "arch/x86_64/regs.h"
#include "arch/x86_64/smp_boot.h"
#include "kernel/errno.h"
#include "kernel/init.h"
#include "kernel/log.h"
#include "kernel/smp.h"
#include "kernel/thread.h"
#include "kernel/timer.h"

/* One device vector; written before the interrupt is unmasked, then constant. */
static struct {
	irq_fn fn;
	void *arg;
	const char *name;
} handlers[VECTOR_DEVICE_END - VECTOR_DEVICE];
static _Atomic unsigned next_vector = VECTOR_DEVICE;

/* Per CPU: [0] to [n-1] device vectors, then timer, kick, spurious. */
#define NR_COUNTS (VECTOR_DEVICE_END - VECTOR_DEVICE + 3)
enum { COUNT_TIMER = NR_COUNTS - 3, COUNT_KICK, COUNT_SPURIOUS };
DEFINE_PER_CPU(uint32_t, irq_counts[NR_COUNTS]);

static struct {
	volatile char *regs;
	uint32_t gsi_base, nr;
} ioapics[MADT_MAX_IOAPICS];
static unsigned nr_ioapics;

static uint32_t ioapic_read(unsigned i, uint8_t reg)
{
	mmio_write32(ioapics[i].regs, reg);
	return mmio_read32(ioapics[i].regs + 16);
}

static void ioapic_write(unsigned i, uint8_t reg, uint32_t v)
{
	mmio_write32(ioapics[i].regs, reg);
	mmio_write32(ioapics[i].regs + 16, v);
}

/* Both 8259s: moved off the exception vectors and masked; Intel 8259A data sheet. */
static void legacy_pic_off(void)
{
	outb(0x20, 0x11);
	outb(0xa0, 0x11);
	outb(0x21, VECTOR_LEGACY);
	outb(0xa1, VECTOR_LEGACY + 8);
	outb(0x21, 4);
	outb(0xa1, 2);
	outb(0x21, 1);
	outb(0xa1, 1);
	outb(0x21, 0xff);
	outb(0xa1, 0xff);
}

void arch_init_interrupts(void)
{
	legacy_pic_off();
	apic_init_boot();
	apic_init_cpu();
	for (unsigned i = 0; i < acpi.madt.nr_ioapics; i++) {
		const struct madt_ioapic *m = &acpi.madt.ioapics[i];
		unsigned k = nr_ioapics;

		ioapics[k].regs = mmio_map(m->addr, 0x20, false);
		if (!ioapics[k].regs)
			continue;
		ioapics[k].gsi_base = m->gsi_base;
		ioapics[k].nr = ((ioapic_read(k, 1) >> 16) & 0xff) + 1;
		for (unsigned line = 0; line < ioapics[k].nr; line++)
			ioapic_write(k, (uint8_t)(0x10 + 2 * line), 1u << 16);
		pr_info("ioapic: %u at %08x, interrupts %u-%u", m->id, m->addr, m->gsi_base,
			m->gsi_base + ioapics[k].nr - 1);
		nr_ioapics++;
	}
}

static int vector_alloc(irq_fn fn, void *arg, const char *name)
{
	unsigned v = atomic_fetch_add_explicit(&next_vector, 1, memory_order_relaxed);

	if (v >= VECTOR_DEVICE_END) {
		atomic_store_explicit(&next_vector, VECTOR_DEVICE_END, memory_order_relaxed);
		return -ENOSPC;
	}
	handlers[v - VECTOR_DEVICE].fn = fn;
	handlers[v - VECTOR_DEVICE].arg = arg;
	handlers[v - VECTOR_DEVICE].name = name;
	return (int)v;
}

int irq_request_isa(unsigned line, irq_fn fn, void *arg, const char *name)
{
	uint32_t gsi = line, low;
	bool active_low = false, level = false;
	int v;

	for (unsigned i = 0; i < acpi.madt.nr_overrides; i++) {
		const struct madt_override *o = &acpi.madt.overrides[i];

		if (o->line == line) {
			gsi = o->gsi;
			active_low = o->active_low;
			level = o->level;
		}
	}
	for (unsigned i = 0; i < nr_ioapics; i++) {
		uint8_t reg;

		if (gsi < ioapics[i].gsi_base || gsi - ioapics[i].gsi_base >= ioapics[i].nr)
			continue;
		v = vector_alloc(fn, arg, name);
		if (v < 0)
			return v;
		low = (uint32_t)v | (active_low ? 1u << 13 : 0) | (level ? 1u << 15 : 0);
		reg = (uint8_t)(0x10 + 2 * (gsi - ioapics[i].gsi_base));
		/* Physical destination, 8 bits: the boot CPU. */
		ioapic_write(i, (uint8_t)(reg + 1), cpu_apic_id(0) << 24);
		ioapic_write(i, reg, low);
		return 0;
	}
	return -ENODEV;
}

int irq_request_msi(unsigned cpu, irq_fn fn, void *arg, const char *name, uint64_t *addr, uint32_t *data)
{
	int v;

	if (cpu_apic_id(cpu) >= 255)
		return -EINVAL;
	v = vector_alloc(fn, arg, name);
	if (v < 0)
		return v;
	*addr = 0xfee00000UL | (uint64_t)cpu_apic_id(cpu) << 12;
	*data = (uint32_t)v;
	return 0;
}

const char *irq_vector_name(unsigned vector)
{
	if (vector >= VECTOR_DEVICE && vector < VECTOR_DEVICE_END)
		return handlers[vector - VECTOR_DEVICE].name;
	switch (vector) {
	case VECTOR_TIMER:
		return "local timer";
	case VECTOR_KICK:
		return "kick";
	case VECTOR_SPURIOUS:
		return "spurious";
	}
	return NULL;
}

static unsigned count_index(unsigned vector)
{
	switch (vector) {
	case VECTOR_TIMER:
		return COUNT_TIMER;
	case VECTOR_KICK:
		return COUNT_KICK;
	}
	if (vector >= VECTOR_DEVICE && vector < VECTOR_DEVICE_END)
		return vector - VECTOR_DEVICE;
	return COUNT_SPURIOUS;
}

uint64_t irq_vector_count(unsigned vector, unsigned cpu)
{
	return __atomic_load_n(&per_cpu(irq_counts, cpu)[count_index(vector)], __ATOMIC_RELAXED);
}

void interrupt(struct regs *regs, unsigned v)
{
	this_cpu(irq_counts)[count_index(v)]++;
	switch (v) {
	case VECTOR_TIMER:
		apic_eoi();
		if (!this_cpu(cpu_online)) /* waiting to be released: it only had to wake up */
			return;
		this_cpu(timer_regs) = regs;
		timer_interrupt(regs_from_user(regs));
		return;
	case VECTOR_KICK:
		apic_eoi();
		if (!this_cpu(cpu_online))
			return;
		sched_ipi();
		smp_call_interrupt();
		return;
	}
	if (v >= VECTOR_DEVICE && v < VECTOR_DEVICE_END) {
		if (handlers[v - VECTOR_DEVICE].fn)
			handlers[v - VECTOR_DEVICE].fn(handlers[v - VECTOR_DEVICE].arg);
		apic_eoi();
		return;
	}
	/* Spurious ones, of the APIC or the masked legacy controller, get no end-of-interrupt. */
}
