/* SPDX-License-Identifier: MIT */
/*
 * Interrupts: vectors, who gets them, and handlers of devices.
 *
 * Vectors: 0x20-0x2f legacy controller (masked; only spurious ones arrive),
 * 0x30-0xdf devices, 0xf0 timer, 0xf1 kick, 0xff spurious.
 *
 * A handler runs with interrupts off, takes no locks, allocates nothing, and
 * wakes threads or schedules work (arch/arch.h).
 */
#ifndef ARCH_X86_64_IRQ_H
#define ARCH_X86_64_IRQ_H

#include "arch/arch.h"

struct regs;

#define VECTOR_LEGACY   0x20
#define VECTOR_DEVICE   0x30
#define VECTOR_DEVICE_END 0xe0 /* exclusive */
#define VECTOR_TIMER    0xf0
#define VECTOR_KICK     0xf1
#define VECTOR_SPURIOUS 0xff

typedef void (*irq_fn)(void *arg);

/**
 * irq_request_isa - handler for a legacy interrupt line (0-15)
 *
 * Routed through the IOAPIC by the MADT's overrides, to the boot CPU.
 * Return: 0, -ENODEV without an IOAPIC for the line, -ENOSPC without a vector.
 * Context: thread.
 */
int irq_request_isa(unsigned line, irq_fn fn, void *arg, const char *name);

/**
 * irq_request_msi - a vector for a message-signalled interrupt
 * @cpu: who gets it; its APIC id must be below 255 (8 bits in the address)
 * Return: 0, -ENOSPC, -EINVAL.
 */
int irq_request_msi(unsigned cpu, irq_fn fn, void *arg, const char *name, uint64_t *msi_addr,
		    uint32_t *msi_data);

DECLARE_PER_CPU(const struct regs *, timer_regs); /* sample.c: what the timer interrupted last */
void interrupt(struct regs *regs, unsigned vector); /* from trap_dispatch() */

/* Figures for /proc/interrupts: name of a vector (NULL: unused) and its count on a CPU. */
const char *irq_vector_name(unsigned vector);
uint64_t irq_vector_count(unsigned vector, unsigned cpu);

#endif /* ARCH_X86_64_IRQ_H */
