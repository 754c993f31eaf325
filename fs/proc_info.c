/* SPDX-License-Identifier: MIT */
/*
 * procfs: figures of the whole machine.  Source: proc(5).
 *
 * The CPUs' and interrupts' own files come from the machine
 * (arch_show_cpuinfo, arch_show_interrupts) where it has them.
 */
#include "fs/proc.h"
#include "mm/page_cache.h"
#include "kernel/param.h"
#if !defined(TALLY_HOSTED)
#include "kernel/init.h"
#endif

#define USER_HZ 100
#define NS_PER_TICK (NSEC_PER_SEC / USER_HZ)

static int cpuinfo_show(struct seq *s, void *arg)
{
	if (arch_show_cpuinfo)
		return arch_show_cpuinfo(s, arg);
	for_each_cpu(cpu)
		seq_printf(s, "processor\t: %u\nvendor_id\t: unknown\nmodel name\t: Tally %s CPU\n\n",
			   cpu, arch_machine_name());
	return 0;
}

static int interrupts_show(struct seq *s, void *arg)
{
	struct cpu_times t;

	if (arch_show_interrupts)
		return arch_show_interrupts(s, arg);
	seq_printf(s, "     ");
	for_each_cpu(cpu)
		seq_printf(s, " %10s%-3u", "CPU", cpu);
	seq_printf(s, "\nKCK: ");
	for_each_cpu(cpu) {
		sched_cpu_times(cpu, &t);
		seq_printf(s, " %13lu", (unsigned long)t.kicks);
	}
	seq_printf(s, "   Rescheduling interrupts\n");
	return 0;
}

static void mem_line(struct seq *s, const char *name, uint64_t pages)
{
	seq_printf(s, "%s:%*s%8lu kB\n", name, (int)max_t(long, 15 - (long)strlen(name), 1), "",
		   (unsigned long)(pages * (PAGE_SIZE / 1024)));
}

/*
 * The lines from MemFree to Reserved, without Buffers, add up to MemTotal: each
 * page is of one kind.
 */
static int meminfo_show(struct seq *s, void *arg)
{
	struct page_stats p;
	uint64_t store;

	page_stats(&p);
	store = min(page_cache_pages(), p.kind[PAGE_FILE]);
	mem_line(s, "MemTotal", p.total);
	mem_line(s, "MemFree", p.free);
	mem_line(s, "MemAvailable", page_available());
	mem_line(s, "Buffers", 0);
	mem_line(s, "Cached", p.kind[PAGE_FILE]);
	mem_line(s, "AnonPages", p.kind[PAGE_ANON]);
	mem_line(s, "Slab", p.kind[PAGE_SLAB]);
	mem_line(s, "KernelStack", p.kind[PAGE_KSTACK]);
	mem_line(s, "PageTables", p.kind[PAGE_PGTABLE]);
	mem_line(s, "Percpu", p.kind[PAGE_PERCPU]);
	mem_line(s, "NetBuffers", p.kind[PAGE_NET]);
	mem_line(s, "KernelOther", p.kind[PAGE_KERNEL]);
	mem_line(s, "Reserved", p.kind[PAGE_RESERVED]);
	mem_line(s, "SwapCached", 0);
	mem_line(s, "SwapTotal", 0);
	mem_line(s, "SwapFree", 0);
	mem_line(s, "Dirty", writeback_nr_dirty());
	mem_line(s, "Writeback", writeback_nr_writeback());
	mem_line(s, "Shmem", p.kind[PAGE_FILE] - store);
	mem_line(s, "SReclaimable", 0);
	mem_line(s, "SUnreclaim", p.kind[PAGE_SLAB]);
	return 0;
}

static int vmstat_show(struct seq *s, void *arg)
{
	struct page_stats p;
	uint64_t store;

	page_stats(&p);
	store = min(page_cache_pages(), p.kind[PAGE_FILE]);
	seq_printf(s, "nr_free_pages %lu\nnr_anon_pages %lu\nnr_file_pages %lu\nnr_shmem %lu\n",
		   (unsigned long)p.free, (unsigned long)p.kind[PAGE_ANON],
		   (unsigned long)p.kind[PAGE_FILE], (unsigned long)(p.kind[PAGE_FILE] - store));
	seq_printf(s, "nr_dirty %lu\nnr_writeback %lu\nnr_slab_unreclaimable %lu\n",
		   (unsigned long)writeback_nr_dirty(), (unsigned long)writeback_nr_writeback(),
		   (unsigned long)p.kind[PAGE_SLAB]);
	seq_printf(s, "nr_page_table_pages %lu\nnr_kernel_stack %lu\n",
		   (unsigned long)p.kind[PAGE_PGTABLE],
		   (unsigned long)(p.kind[PAGE_KSTACK] * (PAGE_SIZE / 1024)));
	return 0;
}

static void cpu_line(struct seq *s, const char *name, const struct cpu_times *t)
{
	seq_printf(s, "%s %lu 0 %lu %lu 0 %lu 0 0 0 0\n", name,
		   (unsigned long)(t->user_ns / NS_PER_TICK),
		   (unsigned long)(t->system_ns / NS_PER_TICK),
		   (unsigned long)(t->idle_ns / NS_PER_TICK),
		   (unsigned long)(t->irq_ns / NS_PER_TICK));
}

static int stat_show(struct seq *s, void *arg)
{
	struct cpu_times sum = { 0 }, t;
	char name[16];

	for_each_cpu(cpu) {
		sched_cpu_times(cpu, &t);
		sum.user_ns += t.user_ns;
		sum.system_ns += t.system_ns;
		sum.idle_ns += t.idle_ns;
		sum.irq_ns += t.irq_ns;
		sum.switches += t.switches;
		sum.kicks += t.kicks;
	}
	cpu_line(s, "cpu ", &sum);
	for_each_cpu(cpu) {
		sched_cpu_times(cpu, &t);
		snprintf(name, sizeof(name), "cpu%u", cpu);
		cpu_line(s, name, &t);
	}
	seq_printf(s, "intr %lu\nctxt %lu\nbtime %lu\nprocesses %u\nprocs_running %u\nprocs_blocked 0\n",
		   (unsigned long)sum.kicks, (unsigned long)sum.switches,
		   (unsigned long)(clock_realtime_offset_ns() / NSEC_PER_SEC), process_count(),
		   max(sched_nr_running(), 1u));
	return 0;
}

static int uptime_show(struct seq *s, void *arg)
{
	uint64_t idle = 0, now = clock_ns();
	struct cpu_times t;

	for_each_cpu(cpu) {
		sched_cpu_times(cpu, &t);
		idle += t.idle_ns;
	}
	seq_printf(s, "%lu.%02lu %lu.%02lu\n", (unsigned long)(now / NSEC_PER_SEC),
		   (unsigned long)(now / (NSEC_PER_SEC / 100) % 100),
		   (unsigned long)(idle / NSEC_PER_SEC),
		   (unsigned long)(idle / (NSEC_PER_SEC / 100) % 100));
	return 0;
}

/*
 * Load averages.  Nothing ticks, so they are brought up to date when read, as
 * if the number of runnable threads had been what it is now since then.
 */
#define LOAD_ONE  2048u /* fixed point 1.0 */
#define LOAD_STEP (5 * NSEC_PER_SEC)

static struct mutex load_lock = MUTEX_INIT(load_lock, "loadavg");
static uint64_t load_at;    /* clock_ns() of the last step */
static unsigned load_avg[3];

/* @decay ^ @n in fixed point. */
static unsigned load_power(unsigned decay, uint64_t n)
{
	unsigned r = LOAD_ONE;

	for (; n; n >>= 1) {
		if (n & 1)
			r = r * decay / LOAD_ONE;
		decay = decay * decay / LOAD_ONE;
	}
	return r;
}

void load_averages(unsigned out[3])
{
	/* exp(-5 s / 1, 5, 15 min) */
	static const unsigned decay[3] = { 1884, 2014, 2037 };
	uint64_t now = clock_ns(), steps;
	/* The thread that asks is running, too: it does not count. */
	unsigned n = sched_nr_running();

	n = n ? n - 1 : 0;
	mutex_lock(&load_lock);
	steps = (now - load_at) / LOAD_STEP;
	for (int k = 0; k < 3 && steps; k++) {
		unsigned f = load_power(decay[k], steps);

		load_avg[k] = (load_avg[k] * f + n * LOAD_ONE * (LOAD_ONE - f)) / LOAD_ONE;
	}
	load_at += steps * LOAD_STEP;
	for (int k = 0; k < 3; k++)
		out[k] = load_avg[k];
	mutex_unlock(&load_lock);
}

static int loadavg_show(struct seq *s, void *arg)
{
	unsigned l[3];
	struct process *p = current->process;

	load_averages(l);
	for (int k = 0; k < 3; k++)
		seq_printf(s, "%u.%02u ", l[k] / LOAD_ONE, l[k] % LOAD_ONE * 100 / LOAD_ONE);
	seq_printf(s, "%u/%u %d\n", max(sched_nr_running(), 1u), process_count(), p ? p->pid : 0);
	return 0;
}

static int filesystems_show(struct seq *s, void *arg)
{
	for (struct fs_type *t = fs_type_first(); t; t = t->next)
		seq_printf(s, "%s\t%s\n", t->needs_device ? "" : "nodev", t->name);
	return 0;
}

static int cmdline_show(struct seq *s, void *arg)
{
	seq_printf(s, "%s\n", boot_cmdline);
	return 0;
}

static void slab_line(const struct slab_info *i, void *arg)
{
	uint64_t per = i->size ? max((uint64_t)(PAGE_SIZE / i->size), (uint64_t)1) : 1;

	seq_printf(arg, "%-20s %8lu %8lu %8zu %6lu %4lu : tunables 0 0 0 : slabdata %6lu %6lu 0\n",
		   i->name, (unsigned long)i->active, (unsigned long)i->objects, i->size,
		   (unsigned long)per, (unsigned long)1, (unsigned long)i->pages,
		   (unsigned long)i->pages);
}

static int slabinfo_show(struct seq *s, void *arg)
{
	seq_printf(s, "slabinfo - version: 2.1\n# name                <active_objs> <num_objs> "
		      "<objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> "
		      "<sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n");
	slab_for_each(slab_line, s);
	return 0;
}

static int kmsg_show(struct seq *s, void *arg)
{
	uint64_t seq = 0;
	size_t n;

	while ((n = log_read(&seq, s->buf + s->len, s->size - s->len)))
		s->len += n;
	/* Stopped for want of room or at the end? */
	s->overflow = s->size - s->len < 300;
	return 0;
}

static int devices_show(struct seq *s, void *arg)
{
	seq_printf(s, "Character devices:\n  1 mem\n  4 ttyS\n  5 /dev/tty\n  5 /dev/console\n"
		      " 10 misc\n\nBlock devices:\n  1 ramdisk\n");
	return 0;
}

static int empty_show(struct seq *s, void *arg)
{
	return 0;
}

static int swaps_show(struct seq *s, void *arg)
{
	seq_printf(s, "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
	return 0;
}

#if !defined(TALLY_HOSTED)
static int exec_show(struct seq *s, void *arg)
{
	seq_write(s, boot_exec_text, strlen(boot_exec_text));
	return 0;
}
#endif

void proc_info_init(void)
{
	proc_register("cpuinfo", 0444, cpuinfo_show, NULL, NULL);
	proc_register("interrupts", 0444, interrupts_show, NULL, NULL);
	proc_register("meminfo", 0444, meminfo_show, NULL, NULL);
	proc_register("vmstat", 0444, vmstat_show, NULL, NULL);
	proc_register("stat", 0444, stat_show, NULL, NULL);
	proc_register("uptime", 0444, uptime_show, NULL, NULL);
	proc_register("loadavg", 0444, loadavg_show, NULL, NULL);
	proc_register("filesystems", 0444, filesystems_show, NULL, NULL);
	proc_register("cmdline", 0444, cmdline_show, NULL, NULL);
	proc_register("slabinfo", 0400, slabinfo_show, NULL, NULL);
	proc_register("kmsg", 0400, kmsg_show, NULL, NULL);
	proc_register("devices", 0444, devices_show, NULL, NULL);
	proc_register("modules", 0444, empty_show, NULL, NULL);
	proc_register("swaps", 0444, swaps_show, NULL, NULL);
	proc_symlink("mounts", "self/mounts");
#if !defined(TALLY_HOSTED)
	proc_register("tally/exec", 0444, exec_show, NULL, NULL);
#endif
}
