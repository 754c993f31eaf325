/* SPDX-License-Identifier: MIT */
/*
 * The machine's own text files: /proc/cpuinfo and /proc/interrupts.
 *
 * CPUs are taken to be alike: model and features are read on the CPU that asks.
 * Source: Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix D.
 */
#include "arch/x86_64/clock.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/irq.h"
#include "fs/proc.h"

struct feature {
	uint8_t reg, bit; /* reg: index into features_of() */
	const char *name;
};

enum { R_1D, R_1C, R_7B, R_7C, R_81D, R_81C, NR_REGS };

static const struct feature features[] = {
	{ R_1D, 0, "fpu" },	    { R_1D, 3, "pse" },	      { R_1D, 4, "tsc" },
	{ R_1D, 5, "msr" },	    { R_1D, 6, "pae" },	      { R_1D, 7, "mce" },
	{ R_1D, 8, "cx8" },	    { R_1D, 9, "apic" },      { R_1D, 11, "sep" },
	{ R_1D, 12, "mtrr" },	    { R_1D, 13, "pge" },      { R_1D, 14, "mca" },
	{ R_1D, 15, "cmov" },	    { R_1D, 16, "pat" },      { R_1D, 19, "clflush" },
	{ R_1D, 23, "mmx" },	    { R_1D, 24, "fxsr" },     { R_1D, 25, "sse" },
	{ R_1D, 26, "sse2" },	    { R_1D, 28, "ht" },	      { R_81D, 11, "syscall" },
	{ R_81D, 20, "nx" },	    { R_81D, 26, "pdpe1gb" }, { R_81D, 27, "rdtscp" },
	{ R_81D, 29, "lm" },	    { R_1C, 0, "pni" },	      { R_1C, 1, "pclmulqdq" },
	{ R_1C, 3, "monitor" },	    { R_1C, 9, "ssse3" },     { R_1C, 12, "fma" },
	{ R_1C, 13, "cx16" },	    { R_1C, 17, "pcid" },     { R_1C, 19, "sse4_1" },
	{ R_1C, 20, "sse4_2" },	    { R_1C, 21, "x2apic" },   { R_1C, 22, "movbe" },
	{ R_1C, 23, "popcnt" },	    { R_1C, 24, "tsc_deadline_timer" },
	{ R_1C, 25, "aes" },	    { R_1C, 26, "xsave" },    { R_1C, 28, "avx" },
	{ R_1C, 29, "f16c" },	    { R_1C, 30, "rdrand" },   { R_1C, 31, "hypervisor" },
	{ R_81C, 0, "lahf_lm" },    { R_81C, 2, "svm" },      { R_81C, 5, "abm" },
	{ R_81C, 6, "sse4a" },	    { R_7B, 0, "fsgsbase" },  { R_7B, 3, "bmi1" },
	{ R_7B, 5, "avx2" },	    { R_7B, 7, "smep" },      { R_7B, 8, "bmi2" },
	{ R_7B, 9, "erms" },	    { R_7B, 10, "invpcid" },  { R_7B, 16, "avx512f" },
	{ R_7B, 18, "rdseed" },	    { R_7B, 19, "adx" },      { R_7B, 20, "smap" },
	{ R_7B, 23, "clflushopt" }, { R_7B, 24, "clwb" },     { R_7B, 29, "sha_ni" },
	{ R_7C, 2, "umip" },	    { R_7C, 3, "pku" },	      { R_7C, 16, "la57" },
};

static void features_of(uint32_t r[NR_REGS])
{
	struct cpuid c = cpuid(1, 0);

	memset(r, 0, NR_REGS * sizeof(*r));
	r[R_1D] = c.d;
	r[R_1C] = c.c;
	if (cpuid(0, 0).a >= 7) {
		c = cpuid(7, 0);
		r[R_7B] = c.b;
		r[R_7C] = c.c;
	}
	if (cpuid(0x80000000, 0).a >= 0x80000001) {
		c = cpuid(0x80000001, 0);
		r[R_81D] = c.d;
		r[R_81C] = c.c;
	}
}

static void model_name(char name[49])
{
	memset(name, 0, 49);
	if (cpuid(0x80000000, 0).a < 0x80000004)
		return;
	for (unsigned k = 0; k < 3; k++) {
		struct cpuid c = cpuid(0x80000002 + k, 0);

		memcpy(name + 16 * k, &c, 16);
	}
}

int arch_show_cpuinfo(struct seq *s, void *arg)
{
	struct cpuid l0 = cpuid(0, 0), l1 = cpuid(1, 0);
	unsigned family = l1.a >> 8 & 15, model = l1.a >> 4 & 15;
	uint64_t hz = clock_tsc_hz();
	uint32_t r[NR_REGS];
	char vendor[13] = "", name[49];

	memcpy(vendor, &l0.b, 4);
	memcpy(vendor + 4, &l0.d, 4);
	memcpy(vendor + 8, &l0.c, 4);
	if (family == 15)
		family += l1.a >> 20 & 255;
	model |= (l1.a >> 16 & 15) << 4;
	model_name(name);
	features_of(r);
	for_each_cpu(cpu) {
		seq_printf(s, "processor\t: %u\nvendor_id\t: %s\ncpu family\t: %u\nmodel\t\t: %u\n", cpu,
			   vendor, family, model);
		seq_printf(s, "model name\t: %s\nstepping\t: %u\ncpu MHz\t\t: %lu.%03lu\n", name,
			   l1.a & 15, hz / 1000000, hz / 1000 % 1000);
		seq_printf(s, "apicid\t\t: %u\nflags\t\t:", per_cpu(cpu_local, cpu).apic_id);
		for (size_t k = 0; k < ARRAY_SIZE(features); k++) {
			if (r[features[k].reg] >> features[k].bit & 1)
				seq_printf(s, " %s", features[k].name);
		}
		seq_printf(s, "\nbogomips\t: %lu.%02lu\n\n", hz / 500000, hz / 5000 % 100);
	}
	return 0;
}

int arch_show_interrupts(struct seq *s, void *arg)
{
	seq_printf(s, "    ");
	for_each_cpu(cpu)
		seq_printf(s, " %7s%-3u", "CPU", cpu);
	seq_printf(s, "\n");
	for (unsigned v = 0; v < 256; v++) {
		const char *name = irq_vector_name(v);

		if (!name)
			continue;
		seq_printf(s, "%3u:", v);
		for_each_cpu(cpu)
			seq_printf(s, " %10lu", irq_vector_count(v, cpu));
		seq_printf(s, "  %s\n", name);
	}
	return 0;
}
