/* SPDX-License-Identifier: MIT */
/*
 * CPUs that firmware lists, and how far each has come.
 */
#ifndef ARCH_X86_64_SMP_BOOT_H
#define ARCH_X86_64_SMP_BOOT_H

#include "arch/arch.h"

enum ap_state {
	AP_LISTED,    /* not called yet */
	AP_CALLED,    /* INIT sent */
	AP_ARRIVED,   /* runs ap_entry(); initialises itself */
	AP_READY,     /* waits for arch_release_cpus() */
	AP_ABANDONED, /* did not come in time; parks if it comes */
};

/* One per enabled CPU of the MADT but the boot CPU; found by APIC id in the trampoline. */
struct ap_slot {
	uint32_t apic_id;     /* constant */
	_Atomic int state;    /* enum ap_state; the moves into ARRIVED and ABANDONED race by CAS */
	uintptr_t stack_top;  /* constant once called */
	void *stack;
	void *area;           /* per-CPU area; may change until released */
	unsigned cpu;         /* index; may change until released */
	unsigned listed;      /* place in the firmware's list, boot CPU not counted first */
	uint64_t tsc;         /* when it arrived */
};

uint32_t cpu_apic_id(unsigned cpu);
DECLARE_PER_CPU(bool, cpu_online); /* in the scheduler: timer and kicks mean something */

/* Per-CPU areas: one for each CPU listed, while bootmem is open; nr_cpus is the number expected. */
void smp_prepare(void);

#endif /* ARCH_X86_64_SMP_BOOT_H */
