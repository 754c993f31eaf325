/* SPDX-License-Identifier: MIT */
/*
 * The machine's part of the profiler: NMIs to other CPUs, and call chains that
 * can be taken anywhere, user stacks included, without a fault: an NMI handler
 * that faults would let the next NMI in.
 */
#include "arch/arch.h"
#include "arch/x86_64/acpi.h"
#include "arch/x86_64/apic.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/paging.h"
#include "arch/x86_64/regs.h"
#include "arch/x86_64/smp_boot.h"
#include "arch/x86_64/traps.h"
#include "arch/x86_64/user.h"
#include "kernel/perf/sample.h"
#include "kernel/symbols.h"
#include "kernel/thread.h"
#include "mm/vm.h"

#define LARGEST_FRAME (64UL << 10) /* bytes between two frames of a program that are believed */

DEFINE_PER_CPU(const struct regs *, timer_regs);

const struct regs *arch_timer_regs(void)
{
	return this_cpu(timer_regs);
}

void arch_sample_ask(unsigned cpu)
{
	apic_send(cpu_apic_id(cpu), ICR_NMI | ICR_ASSERT);
}

/*
 * A word of user memory through the tables, as the CPU would find it.  Tables
 * and pages are not freed before every CPU that uses them has answered a
 * flush, which this one does not while it is here.
 */
static bool user_word(uintptr_t va, uint64_t *out)
{
	uint64_t e = read_cr3();
	int shift = 39;

	if (va >= USER_TOP - 8 || (va & 7))
		return false;
	for (;; shift -= 9) {
		const uint64_t *table = phys_to_virt(e & PTE_ADDR);

		e = __atomic_load_n(&table[va >> shift & 511], __ATOMIC_RELAXED);
		if ((e & (PTE_P | PTE_U)) != (PTE_P | PTE_U))
			return false;
		if (shift == 12 || ((e & PTE_PS) && shift < 39))
			break;
	}
	*out = *(const uint64_t *)phys_to_virt((e & PTE_ADDR & ~((1UL << shift) - 1)) |
					       (va & ((1UL << shift) - 1)));
	return true;
}

static unsigned user_chain(const struct regs *regs, uint64_t *ip, unsigned max)
{
	uintptr_t fp = regs->rbp;
	uint64_t next, ret;
	unsigned n = 0;

	if (max)
		ip[n++] = regs->rip;
	while (n < max && user_word(fp, &next) && user_word(fp + 8, &ret) && ret &&
	       ret < USER_TOP) {
		ip[n++] = ret;
		if (next <= fp || next - fp > LARGEST_FRAME)
			break;
		fp = next;
	}
	return n;
}

static unsigned kernel_chain(const struct regs *regs, uint64_t *ip, unsigned max)
{
	uintptr_t fp = regs->rbp;
	unsigned n = 0;

	if (max)
		ip[n++] = regs->rip;
	while (n < max && fp >= DIRECT_MAP_BASE && !(fp & 7) && fp < UINTPTR_MAX - 16 &&
	       kernel_mapped(fp) && kernel_mapped(fp + 15)) {
		uintptr_t ret = ((uintptr_t *)fp)[1], next = ((uintptr_t *)fp)[0];

		if (!is_kernel_text(ret))
			break;
		ip[n++] = ret;
		if (next <= fp)
			break;
		fp = next;
	}
	return n;
}

unsigned arch_sample_chain(const struct regs *regs, uint64_t *ip, unsigned max, unsigned *nr_kernel)
{
	struct thread *t = current;
	unsigned n;

	if (regs_from_user(regs)) {
		*nr_kernel = 0;
		return user_chain(regs, ip, max);
	}
	n = *nr_kernel = kernel_chain(regs, ip, max);
	if (t && t->space && n < max)
		n += user_chain(user_regs(t), ip + n, max - n);
	return n;
}

unsigned arch_sample_chain_above(const void *frame, uint64_t *ip, unsigned max,
				 unsigned *nr_kernel)
{
	const uint64_t *fp = frame;
	struct regs regs = { .rbp = fp[0], .rip = fp[1], .cs = SEL_KERNEL_CODE };

	return arch_sample_chain(&regs, ip, max, nr_kernel);
}
