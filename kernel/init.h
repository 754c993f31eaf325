/* SPDX-License-Identifier: MIT */
/*
 * Start-up: the functions that kernel/main.c's table calls, where no header of
 * their own part declares them.
 */
#ifndef KERNEL_INIT_H
#define KERNEL_INIT_H

#include "kernel/types.h"

void __noreturn kernel_main(void); /* from the machine's entry, boot CPU, interrupts off */

/* The machine's steps, in this order. */
void arch_init_console(void);    /* log sinks, polled */
void arch_init_cmdline(void);    /* adds what the machine brings to boot_cmdline */
void arch_init_memmap(void);     /* bootmem */
void arch_init_paging(void);     /* final kernel tables */
void arch_init_tables(void);     /* ACPI */
void arch_init_cpu(void);        /* this CPU's tables, registers; per-CPU area */
void arch_init_copy(void);       /* measures the copy routines; pages are there */
void arch_init_interrupts(void); /* controllers */
void arch_init_clock(void);      /* clock_ns() true from here */
/* other CPUs up to the point where they wait for arch_release_cpus() */
void arch_init_smp(void);
void arch_release_cpus(void);    /* nr_cpus is final; the others enter the scheduler */
void arch_init_devices(void);    /* interrupt-driven console, PCI list; thread context */

void arch_init_paging_late(void); /* table pages come from the page allocator from here */
uint64_t arch_cycles(void);       /* a counter for measuring steps before the clock runs */
uint64_t arch_cycles_to_ns(uint64_t cycles);

void params_init(void); /* parses boot_cmdline, logs all values */

extern char boot_exec_text[65536]; /* opt/tally/exec, NUL-terminated; empty if there is none */

void arch_init_pmu(void);        /* the CPUs' counters become a PMU */

#endif /* KERNEL_INIT_H */
