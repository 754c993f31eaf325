/* SPDX-License-Identifier: MIT */
/*
 * First C on the boot CPU: makes it a CPU on which ordinary kernel code runs
 * (per-CPU data, a current thread, exceptions), then calls kernel_main().
 */
#include "arch/arch.h"
#include "arch/x86_64/bootinfo.h"
#include "arch/x86_64/clock.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/traps.h"
#include "drivers/console.h"
#include "drivers/debugcon.h"
#include "drivers/fw_cfg.h"
#include "drivers/pci.h"
#include "kernel/init.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/string.h"
#include "kernel/thread.h"

void __noreturn kernel_entry(uint32_t magic, uint64_t info);

static struct thread boot_thread = { .name = "boot", .flags = THREAD_F_KTHREAD | THREAD_F_PINNED };

char boot_exec_text[65536];

void kernel_entry(uint32_t magic, uint64_t info)
{
	percpu_init_boot();
	set_current_thread(&boot_thread);
	clock_start();
	cpu_detect();
	cpu_patch_smap();
	cpu_init_regs();
	idt_init();
	idt_load();
	bootinfo_init(magic, info);
	kernel_main();
}

/* Init steps: where log lines go, and what comes late. */
void arch_init_console(void)
{
	debugcon_init();
}

void arch_init_devices(void)
{
	console_start();
	pci_init();
}

/* Init step: adds opt/tally/cmdline of QEMU's fw_cfg to the boot loader's line. */
void arch_init_cmdline(void)
{
	static char text[sizeof(boot_cmdline)];
	size_t have = strlen(boot_cmdline), n;

	cpu_print();
	machine_check_leftovers();
	if (!fw_cfg_init())
		return;
	n = fw_cfg_read("opt/tally/cmdline", text, sizeof(text) - 1);
	text[n] = 0;
	if (n && have && have + 1 < sizeof(boot_cmdline))
		boot_cmdline[have++] = ' ';
	if (have + n >= sizeof(boot_cmdline))
		pr_warn("command line longer than %zu bytes, cut", sizeof(boot_cmdline) - 1);
	str_copy(boot_cmdline + have, text, sizeof(boot_cmdline) - have);
	n = fw_cfg_read("opt/tally/exec", boot_exec_text, sizeof(boot_exec_text) - 1);
	boot_exec_text[n] = 0;
}
