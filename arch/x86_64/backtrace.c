/* SPDX-License-Identifier: MIT */
/*
 * Back-traces along the frame pointers (everything is built with them).
 *
 * A frame is believed only if it is mapped kernel memory, aligned, and above
 * the one before it, so a smashed stack ends the trace instead of faulting.
 */
#include "arch/arch.h"
#include "arch/x86_64/paging.h"
#include "arch/x86_64/traps.h"
#include "kernel/log.h"
#include "kernel/symbols.h"

static bool plausible_frame(uintptr_t fp)
{
	return fp >= DIRECT_MAP_BASE && !(fp & 7) && fp < UINTPTR_MAX - 16 && kernel_mapped(fp) &&
	       kernel_mapped(fp + 15);
}

static void print_one(uintptr_t addr)
{
	size_t off = 0;
	const char *name = symbol_find(addr, &off);

	if (name)
		pr_err("  %016lx %s+0x%zx", addr, name, off);
	else
		pr_err("  %016lx", addr);
}

void backtrace_from(uintptr_t rip, uintptr_t rbp, unsigned depth)
{
	pr_err("back-trace:");
	if (rip)
		print_one(rip);
	while (depth-- && plausible_frame(rbp)) {
		uintptr_t ret = ((uintptr_t *)rbp)[1], next = ((uintptr_t *)rbp)[0];

		if (!is_kernel_text(ret))
			break;
		print_one(ret);
		if (next <= rbp && !on_emergency_stack(rbp))
			break;
		rbp = next;
	}
}

__noinline void arch_backtrace(unsigned depth)
{
	uintptr_t *fp = __builtin_frame_address(0);

	backtrace_from(0, (uintptr_t)fp, depth);
}
