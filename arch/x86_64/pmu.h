/* SPDX-License-Identifier: MIT */
/*
 * The architectural performance monitoring unit (Intel SDM volume 3, chapter
 * 20.2; CPUID leaf 0xA): a few counters per CPU that count what their select
 * registers say, and fixed ones that count one thing each.
 *
 * What is here does not touch the machine but through struct pmu_regs, so that
 * tests give it recorded CPUID leaves and registers that are memory.
 * arch/x86_64/pmu_cpu.c is the real machine.
 */
#ifndef ARCH_X86_64_PMU_H
#define ARCH_X86_64_PMU_H

#include "kernel/perf/pmu.h"

struct pmu_regs {
	uint64_t (*read)(uint32_t msr);
	void (*write)(uint32_t msr, uint64_t value);
};

#define PMU_FIXED_MOST   4
#define PMU_GENERAL_MOST 8

struct arch_pmu {
	struct pmu pmu;            /* slots: the fixed counters, then the general ones */
	const struct pmu_regs *regs;
	unsigned version;          /* 0: no PMU */
	unsigned width, fixed_width; /* bits of a counter */
	unsigned nr_general, nr_fixed; /* counters that may be used */
	uint8_t general[PMU_GENERAL_MOST], fixed[PMU_FIXED_MOST]; /* their numbers */
	unsigned missing;          /* bit n: architectural event n is not there */
	struct pmu_event events[12]; /* those that are; ends with a name of NULL */
};

/* CPUID leaf 0xA, as the instruction gives it. */
struct pmu_leaf {
	uint32_t a, b, c, d;
};

/**
 * arch_pmu_detect - what the leaf says, as a PMU that can be registered
 * @p: all zero but for regs, through which it finds out which counters the firmware keeps
 *
 * Return: false if there is no PMU (version 0, or no counter is free).
 */
bool arch_pmu_detect(struct arch_pmu *p, const struct pmu_leaf *leaf);
/* Stops all usable counters of this CPU and lets them be started one by one. */
void arch_pmu_init_cpu(const struct arch_pmu *p);

#endif /* ARCH_X86_64_PMU_H */
