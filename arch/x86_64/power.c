/* SPDX-License-Identifier: MIT */
/*
 * The end of the machine: ACPI soft off, reset.
 *
 * Source: ACPI 6.4, sections 4.8.3.2 (PM1 control), 4.8.3.6 (reset register).
 */
#include "arch/arch.h"
#include "arch/x86_64/acpi.h"
#include "arch/x86_64/cpu.h"
#include "drivers/console.h"
#include "kernel/log.h"
#include "kernel/panic.h"

#define SCI_EN (1u << 0)
#define SLP_EN (1u << 13)

/* Hands the PM registers to us where firmware still has them. */
static void acpi_mode(void)
{
	const struct fadt_info *f = &acpi.fadt;

	if ((inw((uint16_t)f->pm1a_cnt) & SCI_EN) || !f->smi_cmd || !f->acpi_enable)
		return;
	outb((uint16_t)f->smi_cmd, f->acpi_enable);
	for (unsigned i = 0; i < 1000000 && !(inw((uint16_t)f->pm1a_cnt) & SCI_EN); i++)
		;
}

void arch_power_off(int code)
{
	const struct fadt_info *f = &acpi.fadt;

	irq_disable();
	console_flush();
	if (acpi.have_s5 && f->pm1a_cnt) {
		acpi_mode();
		outw((uint16_t)f->pm1a_cnt, (uint16_t)((acpi.s5_typ_a & 7) << 10 | SLP_EN));
		if (f->pm1b_cnt)
			outw((uint16_t)f->pm1b_cnt, (uint16_t)((acpi.s5_typ_b & 7) << 10 | SLP_EN));
	}
	if (cpu_features.hypervisor) {
		outw(0x604, 0x2000);  /* QEMU q35 and pc */
		outw(0xb004, 0x2000); /* older ones, Bochs */
	}
	/* The chip set (or the emulator's main loop) takes a moment. */
	for (uint64_t end = clock_ns() + 2 * NSEC_PER_SEC, turns = 0; clock_ns() < end && turns < 2000000000;
	     turns++)
		cpu_relax();
	pr_err("power-off did not work; the machine is halted (code %d)", code);
	console_flush();
	arch_halt_forever();
}

void arch_reboot(void)
{
	const struct fadt_info *f = &acpi.fadt;

	irq_disable();
	console_flush();
	if (acpi.have_fadt && f->reset_port_ok && f->reset_space == 1)
		outb((uint16_t)f->reset_addr, f->reset_value);
	outb(0xcf9, 0x06);
	for (unsigned i = 0; i < 100000 && (inb(0x64) & 2); i++)
		;
	outb(0x64, 0xfe); /* keyboard controller's reset line */
	/* No handler left: the next exception is a triple fault. */
	__asm__ volatile("lidt %0; int3" : : "m"(*(const char(*)[10]) "\0\0\0\0\0\0\0\0\0\0"));
	arch_halt_forever();
}
