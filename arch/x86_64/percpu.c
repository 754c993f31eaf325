/* SPDX-License-Identifier: MIT */
/*
 * Per-CPU areas: copies of the "percpu" section, one per CPU that was found.
 *
 * The boot CPU runs on the template itself until its own copy is made, which
 * happens before any other CPU's, so that the template's values at that time
 * are what every copy starts with.
 */
#include "arch/arch.h"
#include "arch/x86_64/cpu.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "mm/bootmem.h"

__attribute__((section("percpu_first"), used)) struct cpu_local cpu_local;
char gs_changes;
uintptr_t *percpu_offsets;
static uintptr_t boot_offset[1];

extern char __start_percpu[], __stop_percpu[];

void percpu_init_boot(void)
{
	percpu_offsets = boot_offset;
	wrmsr(MSR_GS_BASE, (uintptr_t)__start_percpu);
	wrmsr(MSR_KERNEL_GS_BASE, 0);
}

void *percpu_area_alloc(void)
{
	size_t n = (size_t)(__stop_percpu - __start_percpu);
	/* A page bound apart: two CPUs' areas share neither line nor page. */
	void *area = bootmem_alloc(ALIGN_UP(n, PAGE_SIZE), PAGE_SIZE);

	if (area)
		memcpy(area, __start_percpu, n);
	return area;
}

void percpu_area_load(void *area, unsigned cpu, uint32_t apic_id)
{
	struct cpu_local *l = area;

	l->offset = (uintptr_t)area - (uintptr_t)__start_percpu;
	l->id = cpu;
	l->apic_id = apic_id;
	wrmsr(MSR_GS_BASE, (uintptr_t)area);
}
