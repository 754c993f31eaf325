/* SPDX-License-Identifier: MIT */
/* Self-tests of the machine: protection, CPUs, clock, log. */
#ifndef TALLY_HOSTED
#include "arch/arch.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/paging.h"
#include "kernel/log.h"
#include "kernel/selftest.h"
#include "kernel/smp.h"
#include "kernel/string.h"
#include "kernel/symbols.h"
#include "kernel/thread.h"

extern char text_start[], text_end[], rodata_start[], rodata_end[], data_start[], image_end[];

/* The entry that maps @va, whatever its size. */
static uint64_t entry_of(uintptr_t va)
{
	uint64_t *t = kernel_pml4, e = 0;

	for (int shift = 39; shift >= 12; shift -= 9) {
		e = t[(va >> shift) & 511];
		if (!(e & PTE_P) || (shift < 39 && (e & PTE_PS)))
			break;
		t = phys_to_virt(e & PTE_ADDR);
	}
	return e;
}

SELFTEST(machine_write_xor_execute, 2000)
{
	for (char *p = text_start; p < text_end; p += PAGE_SIZE)
		SELFTEST_CHECK((entry_of((uintptr_t)p) & (PTE_P | PTE_W)) == PTE_P);
	for (char *p = rodata_start; p < rodata_end; p += PAGE_SIZE)
		SELFTEST_CHECK((entry_of((uintptr_t)p) & (PTE_P | PTE_W | PTE_NX)) == (PTE_P | pte_nx));
	for (char *p = data_start; p < image_end; p += PAGE_SIZE)
		SELFTEST_CHECK((entry_of((uintptr_t)p) & PTE_NX) == pte_nx);
	SELFTEST_CHECK((entry_of(DIRECT_MAP_BASE + (1 << 20)) & PTE_NX) == pte_nx);
	for (unsigned i = 0; i < 256; i++)
		SELFTEST_CHECK(!(kernel_pml4[i] & PTE_P));
}

static _Atomic unsigned wrong;

static void look_at_registers(void *arg)
{
	const struct cpu_features *f = &cpu_features;
	uint64_t cr4 = read_cr4();
	bool ok = (read_cr0() & CR0_WP) && (!f->smep || (cr4 & CR4_SMEP)) && (!f->smap || (cr4 & CR4_SMAP)) &&
		  (!f->umip || (cr4 & CR4_UMIP)) && (!f->nx || (rdmsr(MSR_EFER) & EFER_NXE));

	if (!ok)
		atomic_fetch_add(&wrong, 1);
}

SELFTEST(machine_protection_on_all_cpus, 2000)
{
	smp_call_all(look_at_registers, NULL);
	SELFTEST_CHECK(atomic_load(&wrong) == 0);
}

SELFTEST(machine_clock_runs, 2000)
{
	uint64_t a = clock_ns(), b;

	for (int i = 0; i < 10000; i++) {
		b = clock_ns();
		SELFTEST_CHECK(b >= a);
		a = b;
	}
	thread_sleep_until(a + 20 * NSEC_PER_MSEC, false);
	b = clock_ns();
	SELFTEST_CHECK(b - a >= 20 * NSEC_PER_MSEC);
	SELFTEST_CHECK(clock_realtime_offset_ns() > 1500000000ULL * NSEC_PER_SEC);
}

SELFTEST(machine_symbols, 500)
{
	size_t off;
	const char *name = symbol_find((uintptr_t)log_printf + 3, &off);

	SELFTEST_CHECK(name && !strcmp(name, "log_printf") && off == 3);
	SELFTEST_CHECK(!symbol_find((uintptr_t)image_end, &off));
}

#define LINES 20

static void talk(unsigned index)
{
	for (unsigned i = 0; i < LINES; i++) {
		pr_debug("logtest %u/%u abcdefghijklmnopqrstuvwxyz", index, i);
		cond_resched();
	}
}

/* Every line of every thread arrives whole, in the order of its thread. */
SELFTEST(machine_log_lines_whole, 10000)
{
	static unsigned char next[64];
	static char buf[4096];
	uint64_t seq = 0;
	unsigned n = min(nr_cpus, 64u), seen = 0;
	size_t len;

	while ((len = log_read(&seq, buf, sizeof(buf))) != 0) /* to the end of what is there now */
		;
	memset(next, 0, sizeof(next));
	selftest_threads(n, talk);
	while ((len = log_read(&seq, buf, sizeof(buf) - 1)) != 0) {
		buf[len] = 0;
		for (char *p = buf, *e; (e = strchr(p, '\n')); p = e + 1) {
			char *at;
			const char *end;
			uint64_t t, i;

			*e = 0;
			at = strstr(p, "logtest ");
			if (!at)
				continue;
			SELFTEST_CHECK(!parse_u64(at + 8, &end, &t) && *end == '/' && t < n);
			SELFTEST_CHECK(!parse_u64(end + 1, &end, &i));
			SELFTEST_CHECK(!strcmp(end, " abcdefghijklmnopqrstuvwxyz"));
			SELFTEST_CHECK(i == next[t]++);
			seen++;
		}
	}
	SELFTEST_CHECK(seen == n * LINES);
}
#endif
