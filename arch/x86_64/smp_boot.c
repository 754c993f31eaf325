/* SPDX-License-Identifier: MIT */
/*
 * Starting the other CPUs.
 *
 * Order:   smp_prepare() gives every listed CPU an index, a per-CPU area and a
 *          slot; arch_init_smp() sends INIT to all, waits once, sends a start-up
 *          IPI to all, and halts until all have reported or the deadline has
 *          passed; arch_release_cpus() fixes nr_cpus and lets them into the
 *          scheduler.  CPUs initialise themselves, all at the same time, and
 *          wait halted, so that 72 of them on two real cores do not steal the
 *          time of those that still work.
 * Late:    a slot moves from CALLED to ARRIVED (by the CPU) or ABANDONED (by us)
 *          by compare and exchange, so a CPU is either counted or parks.  The
 *          start-up page and its tables stay for those that may yet come.
 * Indices: dense.  If one CPU is missing, those after it move down by one
 *          before they are released; they do not use their index until then.
 */
#include "arch/x86_64/smp_boot.h"
#include "arch/arch.h"
#include "arch/x86_64/acpi.h"
#include "arch/x86_64/apic.h"
#include "arch/x86_64/bootinfo.h"
#include "arch/x86_64/clock.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/fpu.h"
#include "arch/x86_64/irq.h"
#include "arch/x86_64/paging.h"
#include "arch/x86_64/traps.h"
#include "arch/x86_64/user.h"
#include "kernel/init.h"
#include "kernel/log.h"
#include "kernel/perf/sample.h"
#include "kernel/panic.h"
#include "kernel/param.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "mm/bootmem.h"
#include "mm/vmalloc.h"

unsigned nr_cpus = 1;

static unsigned fail_cpu;
PARAM_UINT("fail.cpu", fail_cpu, 0, MAX_CPUS, PARAM_RO,
	   "CPU (place in the list, from 1) that is kept away, 0: none");
static unsigned max_cpus = MAX_CPUS;
PARAM_UINT("maxcpus", max_cpus, 1, MAX_CPUS, PARAM_RO, "start at most this many CPUs");

#define DEADLINE_NS    (3 * NSEC_PER_SEC)   /* for all together; a loaded emulator is slow */
#define SECOND_SIPI_NS (100 * NSEC_PER_MSEC) /* real CPUs answer the first within milliseconds */

static struct ap_slot *slots; /* one per other CPU, in firmware order */
static unsigned nr_slots;
static _Atomic unsigned nr_ready, nr_online;
static _Atomic bool released;
static unsigned nr_called;
static uint64_t ap_pml4_phys;
static uint32_t *apic_ids; /* [cpu] */

DEFINE_PER_CPU(bool, cpu_online);

/* boot/trampoline.asm */
extern const char ap_code[], ap_code_end[], ap_data[];
struct ap_data {
	uint64_t slots, entry;
	uint32_t cr3, cr4, efer, nr_slots;
};
void __noreturn ap_entry(struct ap_slot *slot);

uint32_t cpu_apic_id(unsigned cpu)
{
	return apic_ids[cpu];
}

/* This CPU's id before its APIC is set up: the same two sources as the trampoline. */
static uint32_t cpuid_apic_id(void)
{
	if (cpu_features.max_leaf >= 0xb && cpuid(0xb, 0).b)
		return cpuid(0xb, 0).d;
	return cpuid(1, 0).b >> 24;
}

static void *must_area(void)
{
	void *area = percpu_area_alloc();

	if (!area)
		panic("smp: no memory for a per-CPU area");
	cpu_stacks_alloc(area);
	return area;
}

void smp_prepare(void)
{
	uint32_t self = cpuid_apic_id();
	const struct madt_info *m = &acpi.madt;
	unsigned found = 1;
	bool listed = false;
	void *area;

	for (unsigned i = 0; i < m->nr_cpus; i++) {
		if (m->cpus[i].apic_id == self)
			listed = true;
		else
			found++;
	}
	if (m->nr_cpus && !listed)
		pr_warn("smp: the boot CPU (APIC id %u) is not in the MADT", self);
	if (found > max_cpus) {
		pr_warn("smp: %u CPUs found, maxcpus=%u, ignoring the rest", found, max_cpus);
		found = max_cpus;
	}
	nr_slots = found - 1;
	slots = bootmem_alloc(max(nr_slots, 1u) * sizeof(*slots), CACHE_LINE);
	apic_ids = bootmem_alloc(found * sizeof(*apic_ids), CACHE_LINE);
	percpu_offsets = bootmem_alloc(found * sizeof(*percpu_offsets), CACHE_LINE);
	ap_pml4_phys = bootmem_alloc_phys(PAGE_SIZE, PAGE_SIZE, 1UL << 32);
	if (!slots || !apic_ids || !percpu_offsets || !ap_pml4_phys)
		panic("smp: no memory for a table of %u CPUs", found);

	/* All areas are copied from the template before anything is written to CPU 0's. */
	area = must_area();
	for (unsigned i = 0, k = 0; i < m->nr_cpus && k < nr_slots; i++) {
		if (m->cpus[i].apic_id == self)
			continue;
		slots[k].apic_id = m->cpus[i].apic_id;
		slots[k].cpu = k + 1;
		slots[k].area = must_area();
		percpu_offsets[k + 1] = (uintptr_t)slots[k].area - (uintptr_t)&cpu_local;
		apic_ids[k + 1] = slots[k].apic_id;
		k++;
	}
	percpu_offsets[0] = (uintptr_t)area - (uintptr_t)&cpu_local;
	apic_ids[0] = self;
	((struct cpu_local *)area)->thread = current;
	percpu_area_load(area, 0, self);
	nr_cpus = found; /* those expected: parts that prepare per-CPU data see them all */
}

/* Registers and tables of this CPU; its area is in GS. */
static void init_this_cpu(void)
{
	gdt_init_cpu();
	cpu_init_regs();
	syscall_init_cpu();
	fpu_init_cpu();
}

void arch_init_cpu(void)
{
	smp_prepare();
	init_this_cpu();
}

static void __noreturn park(void)
{
	for (;;) {
		irq_disable();
		halt();
	}
}

/* First C on another CPU, on its own stack, on the tables that show the start-up page. */
void ap_entry(struct ap_slot *slot)
{
	int called = AP_CALLED;

	slot->tsc = rdtsc();
	if (!atomic_compare_exchange_strong_explicit(&slot->state, &called, AP_ARRIVED,
						     memory_order_acq_rel, memory_order_acquire))
		park();
	write_cr3(kernel_pml4_phys);
	percpu_area_load(slot->area, slot->cpu, slot->apic_id);
	init_this_cpu();
	apic_init_cpu();
	clock_init_cpu();
	atomic_store_explicit(&slot->state, AP_READY, memory_order_release);
	if (atomic_fetch_add_explicit(&nr_ready, 1, memory_order_acq_rel) + 1 == nr_called)
		apic_send(apic_ids[0], ICR_FIXED | ICR_ASSERT | VECTOR_KICK);

	for (;;) {
		irq_disable();
		if (atomic_load_explicit(&released, memory_order_acquire))
			break;
		arch_idle();
	}
	if (cpu_id() != slot->cpu) {
		percpu_area_load(slot->area, slot->cpu, slot->apic_id);
		gdt_init_cpu();
	}
	this_cpu(cpu_online) = true;
	sched_init_cpu(slot->cpu);
	atomic_fetch_add_explicit(&nr_online, 1, memory_order_release);
	sched_idle_loop();
}

static void delay_ns(uint64_t ns)
{
	uint64_t end = clock_ns() + ns;

	while (clock_ns() < end)
		cpu_relax();
}

/* Copies the start-up code below 1 MiB; false if there is no room for it. */
static bool place_code(uint64_t page)
{
	char *dst = phys_to_virt(page);
	struct ap_data *d = (struct ap_data *)(dst + (ap_data - ap_code));
	uint64_t *ap_pml4 = phys_to_virt(ap_pml4_phys), *kernel = kernel_pml4;
	int err;

	memcpy(dst, ap_code, (size_t)(ap_code_end - ap_code));
	*d = (struct ap_data){
		.slots = (uintptr_t)slots,
		.entry = (uintptr_t)ap_entry,
		.cr3 = (uint32_t)ap_pml4_phys,
		.cr4 = (1u << 5) | (uint32_t)CR4_PGE,
		.efer = (1u << 8) | (cpu_features.nx ? EFER_NXE : 0),
		.nr_slots = nr_slots,
	};
	memset(ap_pml4, 0, PAGE_SIZE / 2);
	memcpy(ap_pml4 + 256, kernel_pml4 + 256, PAGE_SIZE / 2);
	kernel_pml4 = ap_pml4; /* kernel_map() works on this one for a moment */
	err = kernel_map(page, page, PAGE_SIZE, KPROT_RX & ~PTE_G);
	kernel_pml4 = kernel;
	return !err;
}

static unsigned count_ready(void)
{
	return atomic_load_explicit(&nr_ready, memory_order_acquire);
}

/* Halts until all called CPUs are ready or @deadline has passed. */
static void wait_ready(uint64_t deadline)
{
	irqstate_t s = irq_save();

	while (count_ready() < nr_called && clock_ns() < deadline) {
		irq_disable();
		arch_timer_set(min(deadline, clock_ns() + 20 * NSEC_PER_MSEC));
		if (count_ready() < nr_called)
			arch_idle();
		irq_disable();
	}
	arch_timer_set(0);
	irq_restore(s);
}

static void call_all(void)
{
	uint64_t page = boot_low_page();

	if (!page || !place_code(page)) {
		pr_warn("smp: no page below 1 MiB for the start-up code: one CPU");
		nr_slots = 0;
		return;
	}
	for (unsigned i = 0; i < nr_slots; i++) {
		struct ap_slot *s = &slots[i];

		if (s->cpu == fail_cpu)
			continue; /* must look like one that does not answer */
		s->stack = kstack_alloc(NULL);
		if (!s->stack) {
			pr_warn("smp: no memory for the stack of CPU %u", s->cpu);
			continue;
		}
		s->stack_top = (uintptr_t)s->stack + KSTACK_SIZE;
	}
	for (unsigned i = 0; i < nr_slots; i++)
		atomic_store_explicit(&slots[i].state, AP_CALLED, memory_order_relaxed);
	nr_called = nr_slots;

	for (unsigned i = 0; i < nr_slots; i++)
		if (slots[i].stack_top)
			apic_send(slots[i].apic_id, ICR_INIT | ICR_ASSERT | ICR_LEVEL);
	/* 10 ms is what the MP specification 1.4 (B.4) asks for; emulated CPUs need none. */
	delay_ns(cpu_features.hypervisor ? 100 * NSEC_PER_USEC : 10 * NSEC_PER_MSEC);
	for (unsigned i = 0; i < nr_slots; i++)
		if (slots[i].stack_top)
			apic_send(slots[i].apic_id, ICR_STARTUP | ICR_ASSERT | (uint32_t)(page >> PAGE_SHIFT));
}

void arch_init_smp(void)
{
	uint64_t start, page = boot_low_page();
	int called;

	if (!nr_slots)
		return;
	call_all();
	start = clock_ns();
	wait_ready(start + SECOND_SIPI_NS);
	if (count_ready() < nr_called) {
		for (unsigned i = 0; i < nr_slots; i++)
			if (slots[i].stack_top &&
			    atomic_load_explicit(&slots[i].state, memory_order_acquire) == AP_CALLED)
				apic_send(slots[i].apic_id,
					  ICR_STARTUP | ICR_ASSERT | (uint32_t)(page >> PAGE_SHIFT));
		wait_ready(start + DEADLINE_NS);
	}
	for (unsigned i = 0; i < nr_slots; i++) {
		called = AP_CALLED;
		if (atomic_compare_exchange_strong_explicit(&slots[i].state, &called, AP_ABANDONED,
							    memory_order_acq_rel, memory_order_acquire))
			pr_warn("smp: CPU %u (APIC id %u) did not start, left out", slots[i].cpu,
				slots[i].apic_id);
	}
	/* One that arrived in the last moment is on its way: it takes microseconds of its own time. */
	for (unsigned i = 0; i < nr_slots; i++) {
		uint64_t end = clock_ns() + DEADLINE_NS;

		while (atomic_load_explicit(&slots[i].state, memory_order_acquire) == AP_ARRIVED &&
		       clock_ns() < end)
			delay_ns(NSEC_PER_MSEC);
		if (atomic_load_explicit(&slots[i].state, memory_order_acquire) == AP_ARRIVED)
			panic("smp: CPU %u arrived and then stopped", slots[i].cpu);
	}
}

void arch_release_cpus(void)
{
	unsigned n = 1;

	this_cpu(cpu_online) = true;
	for (unsigned i = 0; i < nr_slots; i++) {
		struct ap_slot *s = &slots[i];

		if (atomic_load_explicit(&s->state, memory_order_relaxed) != AP_READY)
			continue;
		if (s->cpu != n) {
			s->cpu = n;
			s->area = (void *)((uintptr_t)&cpu_local + percpu_offsets[n]);
			apic_ids[n] = s->apic_id;
		}
		n++;
	}
	nr_cpus = n;
	atomic_store_explicit(&released, true, memory_order_seq_cst);
	for (unsigned i = 1; i < n; i++)
		apic_send(apic_ids[i], ICR_FIXED | ICR_ASSERT | VECTOR_KICK);
	pr_info("smp: %u CPUs", n);
}

void arch_kick(unsigned cpu)
{
	apic_send(apic_ids[cpu], ICR_FIXED | ICR_ASSERT | VECTOR_KICK);
}

void arch_idle(void)
{
	/* The instruction after sti is not interrupted, so no wake-up falls between the two. */
	__asm__ volatile("sti; hlt" : : : "memory");
}

/* Panic: all CPUs get an NMI; those that are there count themselves and halt. */
static _Atomic unsigned nr_stopped;
#define STOP_WAIT_NS (500 * NSEC_PER_MSEC)

void arch_stop_others(void)
{
	uint64_t end = clock_ns() + STOP_WAIT_NS;
	unsigned others = 0;

	if (!apic_ids)
		return;
	for_each_cpu(cpu) {
		if (cpu == cpu_id() || !per_cpu(cpu_online, cpu))
			continue;
		others++;
		apic_send(apic_ids[cpu], ICR_NMI | ICR_ASSERT);
	}
	while (atomic_load_explicit(&nr_stopped, memory_order_acquire) < others && clock_ns() < end)
		cpu_relax();
	if (atomic_load_explicit(&nr_stopped, memory_order_acquire) < others)
		pr_warn("panic: %u of %u other CPUs did not stop", others - nr_stopped, others);
}

void nmi_handler(struct regs *regs)
{
	if (!atomic_load_explicit(&log_panicking, memory_order_acquire)) {
		if (!perf_sample_nmi(regs))
			pr_warn("nmi: not asked for, ignored");
		return;
	}
	atomic_fetch_add_explicit(&nr_stopped, 1, memory_order_release);
	park();
}

void __noreturn arch_halt_forever(void)
{
	park();
}
