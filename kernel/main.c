/* SPDX-License-Identifier: MIT */
/*
 * Start-up as a table.
 *
 * The first steps run on the boot stack and may not sleep;
 * the others run in the thread "kmain", with all CPUs there.  Each step is
 * logged with its time; the total is what boot tests look at.
 */
#include "arch/arch.h"
#include "drivers/console.h"
#include "drivers/pci.h"
#include "drivers/ramdisk.h"
#include "drivers/virtio.h"
#include "fs/cgroup.h"
#include "fs/internal.h"
#include "fs/vfs.h"
#include "kernel/crash.h"
#include "kernel/init.h"
#include "kernel/log.h"
#include "kernel/mark.h"
#include "kernel/perf/perf.h"
#include "kernel/process.h"
#include "kernel/rcu.h"
#include "kernel/selftest.h"
#include "kernel/thread.h"
#include "kernel/timer.h"
#include "kernel/tty.h"
#include "kernel/work.h"
#include "mm/lru.h"
#include "mm/memcg.h"
#include "mm/page.h"
#include "mm/page_cache.h"
#include "mm/psi.h"
#include "mm/reclaim.h"
#include "mm/slab.h"
#include "mm/vm.h"
#include "mm/vmalloc.h"
#include "net/ether.h"
#include "net/net.h"
#include "version.h"

struct init_step {
	const char *name;
	void (*fn)(void);
};

/*
 * From here to the scheduler only interrupts that nobody listens to can come; locks
 * want them on.
 */
static void interrupts_on(void)
{
	irq_enable();
}

static void start_scheduler(void)
{
	sched_init_cpu(0);
}

static void start_timers(void)
{
	for_each_cpu(cpu)
		timer_init_cpu(cpu);
}

static void start_workers(void)
{
	for_each_cpu(cpu)
		work_init_cpu(cpu);
}

static const struct init_step early_steps[] = {
	{ "log sinks", arch_init_console },
	{ "command line", arch_init_cmdline },
	{ "parameters", params_init },
	{ "console", console_init },
	{ "memory map", arch_init_memmap },
	{ "paging", arch_init_paging },
	{ "firmware tables", arch_init_tables },
	{ "boot CPU", arch_init_cpu },
	{ "interrupts", arch_init_interrupts },
	{ "clock", arch_init_clock },
	{ "interrupts on", interrupts_on },
	{ "page allocator", page_alloc_init },
	{ "paging hand-over", arch_init_paging_late },
	{ "copy routines", arch_init_copy },
	{ "slab", slab_init },
	{ "address spaces", vm_init },
	{ "page cache", page_cache_init },
	{ "vmalloc", vmalloc_init },
	{ "scheduler", start_scheduler },
	{ "CPUs", arch_init_smp },
	{ "release CPUs", arch_release_cpus },
	{ "per-CPU pages", page_alloc_init_percpu },
};

static const struct init_step late_steps[] = {
	{ "RCU", rcu_init },
	{ "timers", start_timers },
	{ "workers", start_workers },
	{ "groups", memcg_init },
	{ "page lists", lru_init },
	{ "pressure", psi_init },
	{ "write-back", writeback_init },
	{ "reclaim", kswapd_init },
	{ "processes", process_init },
	{ "files", vfs_init },
	{ "group files", cgroupfs_init },
	{ "terminal", tty_init },
	{ "network", net_init },
	{ "devices", arch_init_devices },
	{ "RAM disks", ramdisk_init },
	{ "network devices", virtio_net_init },
	{ "addresses", net_config_init },
	{ "perf", perf_init },
	{ "marks", mark_init },
	{ "crash", crash_if_asked },
	{ "self-tests", selftest_main },
	{ "init", process_start_init },
};

#define MAX_STEPS 64
static uint64_t took[MAX_STEPS]; /* cycles; printed once the clock can convert them */

static void run_steps(const struct init_step *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t t = arch_cycles();

		s[i].fn();
		took[i] = arch_cycles() - t;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t us = arch_cycles_to_ns(took[i]) / 1000;

		pr_info("init: %-16s %4lu.%03lu ms", s[i].name, us / 1000, us % 1000);
	}
}

static void kmain(void *arg)
{
	run_steps(late_steps, ARRAY_SIZE(late_steps));
	pr_info("init: all done at %llu ms", clock_ns() / NSEC_PER_MSEC);
}

void __noreturn kernel_main(void)
{
	struct thread *t;

	pr_info("Tally " TALLY_COMMIT
#ifdef CONFIG_DEBUG
		" debug"
#endif
	);
	run_steps(early_steps, ARRAY_SIZE(early_steps));
	t = thread_create("kmain", kmain, NULL, 0);
	if (IS_ERR(t))
		panic("no memory for the first thread");
	thread_start(t);
	thread_put(t);
	sched_idle_loop();
}
