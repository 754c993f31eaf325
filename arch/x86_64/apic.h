/* SPDX-License-Identifier: MIT */
/*
 * Local APIC: interrupts between CPUs, the CPU's own timer.
 *
 * xAPIC (memory-mapped) or x2APIC (MSRs): the boot CPU decides once, from
 * CPUID and IA32_APIC_BASE, never from the types of the MADT's entries, and
 * never goes back from x2APIC (firmware may have locked it).
 */
#ifndef ARCH_X86_64_APIC_H
#define ARCH_X86_64_APIC_H

#include "kernel/types.h"

#define ICR_FIXED   (0u << 8)
#define ICR_NMI     (4u << 8)
#define ICR_INIT    (5u << 8)
#define ICR_STARTUP (6u << 8)
#define ICR_ASSERT  (1u << 14)
#define ICR_LEVEL   (1u << 15)

void apic_init_boot(void); /* chooses the mode, maps registers; before apic_init_cpu() */
void apic_init_cpu(void);  /* enables this CPU's, timer masked */
uint32_t apic_id(void);    /* of this CPU, from the APIC itself */
bool apic_is_x2apic(void);
void apic_eoi(void);

/**
 * apic_send - interrupt command to one CPU
 * @dest: APIC id
 * @command: ICR_* | vector
 *
 * Waits, bounded, for delivery of the command before in xAPIC mode.  Orders
 * earlier stores before it.  Context: any.
 */
void apic_send(uint32_t dest, uint32_t command);

/* The timer.  Counts at apic_timer_hz (after clock calibration). */
void apic_timer_set_count(uint32_t count); /* one-shot; 0 stops */
uint32_t apic_timer_count(void);           /* what is left */
void apic_timer_mask(bool masked);         /* calibration runs it masked */
void apic_timer_use_deadline(void);        /* this CPU: TSC-deadline mode */

#endif /* ARCH_X86_64_APIC_H */
