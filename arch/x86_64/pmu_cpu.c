/* SPDX-License-Identifier: MIT */
/* The PMU of this machine's CPUs, if they have an architectural one (pmu.h). */
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/pmu.h"
#include "kernel/init.h"
#include "kernel/log.h"
#include "kernel/smp.h"

static uint64_t read_msr(uint32_t msr)
{
	return rdmsr(msr);
}

static void write_msr(uint32_t msr, uint64_t value)
{
	wrmsr(msr, value);
}

static const struct pmu_regs msrs = { read_msr, write_msr };
static struct arch_pmu machine_pmu = { .regs = &msrs };

static void init_cpu(void *arg)
{
	(void)arg;
	arch_pmu_init_cpu(&machine_pmu);
}

void arch_init_pmu(void)
{
	struct pmu_leaf leaf = { 0 };
	struct cpuid c;

	if (cpu_features.max_leaf >= 0xa) {
		c = cpuid(0xa, 0);
		leaf = (struct pmu_leaf){ c.a, c.b, c.c, c.d };
	}
	if (!arch_pmu_detect(&machine_pmu, &leaf)) {
		pr_info("pmu: none (CPUID leaf 0xA: %08x)", leaf.a);
		return;
	}
	smp_call_all(init_cpu, NULL);
	if (pmu_register(&machine_pmu.pmu))
		return;
	pr_info("pmu: version %u, %u general and %u fixed counters of %u bits",
		machine_pmu.version, machine_pmu.nr_general, machine_pmu.nr_fixed,
		machine_pmu.width);
}
