/* SPDX-License-Identifier: MIT */
/* Start-up of perf, its parameters and files: /proc/tally/pmus, /proc/tally/perf_switch. */
#include "kernel/perf/perf.h"

#include "fs/vfs.h"
#include "kernel/errno.h"
#include "kernel/init.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/perf/event.h"
#include "kernel/perf/sample.h"
#include "kernel/string.h"
#include "kernel/symbols.h"
#include "mm/slab.h"

#define MOST_IDLE 4096

static unsigned idle_pmus; /* as the parameter wants it */
static bool ready;

/* perf.pmus=N: at boot it is only remembered. */
static int pmus_set(const struct param *p, const char *text)
{
	unsigned n = 0, digits = 0;
	int err;

	(void)p;
	for (; text[digits] >= '0' && text[digits] <= '9' && n <= MOST_IDLE; digits++)
		n = n * 10 + (unsigned)(text[digits] - '0');
	if (!digits || text[digits] || n > MOST_IDLE)
		return -EINVAL;
	err = ready ? pmu_set_idle(n) : 0;
	if (!err)
		idle_pmus = n;
	return err;
}

static int pmus_get(const struct param *p, char *buf, size_t n)
{
	(void)p;
	return scnprintf(buf, n, "%u", idle_pmus);
}
PARAM_CUSTOM("perf.pmus", pmus_set, pmus_get, PARAM_RW,
	     "idle PMUs beside the real ones, 0 to 4096");

static int show_pmus(struct seq *s, void *arg)
{
	(void)arg;
	lockstat_pmus();
	mutex_lock(&pmu_mutex);
	for (struct pmu *p = rcu_dereference(pmu_list); p; p = rcu_dereference(p->next)) {
		for (const struct pmu_event *e = p->events; e && e->name; e++)
			seq_printf(s, "%u:%#llx count %s %s\n", p->type,
				   (unsigned long long)e->config, e->name, e->what);
		seq_printf(s, "%u %s %s %s\n", p->type, p->is_time ? "ns" : "count", p->name,
			   p->what);
	}
	mutex_unlock(&pmu_mutex);
	return 0;
}

/* Every counter's sum over the CPUs: what `stat CMD` compares. */
static int show_counters(struct seq *s, void *arg)
{
	(void)arg;
	mutex_lock(&pmu_mutex);
	for (struct pmu *p = rcu_dereference(pmu_list); p; p = rcu_dereference(p->next)) {
		uint64_t sum = 0;

		if (p->is_time || p->slots)
			continue;
		for_each_cpu(cpu)
			sum += pmu_read(p, cpu);
		seq_printf(s, "%s %llu\n", p->name, (unsigned long long)sum);
	}
	mutex_unlock(&pmu_mutex);
	return 0;
}

static int show_switch(struct seq *s, void *arg)
{
	struct perf_switch_stats st;

	(void)arg;
	perf_switch_stats(&st);
	seq_printf(s, "pmus %u\nswitches %llu\ncontexts %llu\n", pmu_count(),
		   (unsigned long long)st.switches, (unsigned long long)st.contexts);
	seq_printf(s, "mean_ns %llu\np10_ns %llu\np50_ns %llu\np90_ns %llu\n",
		   (unsigned long long)st.mean, (unsigned long long)st.p10,
		   (unsigned long long)st.p50, (unsigned long long)st.p90);
	return 0;
}

static ssize_t write_switch(const char *text, size_t n, void *arg)
{
	(void)arg;
	if (strncmp(text, "reset", 5))
		return -EINVAL;
	perf_switch_reset();
	return (ssize_t)n;
}

/* As on Linux; all functions count as global. */
static int show_kallsyms(struct seq *s, void *arg)
{
	const char *name;
	uintptr_t addr;

	(void)arg;
	for (size_t i = 0; (name = symbol_nth(i, &addr)); i++)
		seq_printf(s, "%016lx T %s\n", addr, name);
	return 0;
}

static void show_slab(const struct slab_range *r, void *arg)
{
	seq_printf(arg, "%s %u %u %lx %zu\n", r->cache, r->size, r->stride, r->start, r->bytes);
}

/* A line per slab: cache, size of an object, distance, address, bytes. */
static int show_slabs(struct seq *s, void *arg)
{
	(void)arg;
	slab_map_for_each(show_slab, s);
	return 0;
}

void perf_init(void)
{
	perf_counters_init();
	if (pmu_set_idle(idle_pmus))
		pr_warn("perf: no memory for %u idle PMUs", idle_pmus);
	ready = true;
	slots_init();
	perf_sample_init();
	memcg_moved_hook = perf_regroup;
	arch_init_pmu();
	few_init();
	lockstat_init();
	trace_init();
	proc_register("kallsyms", 0400, show_kallsyms, NULL, NULL);
	proc_register("tally/slabs", 0400, show_slabs, NULL, NULL);
	proc_register("tally/pmus", 0444, show_pmus, NULL, NULL);
	proc_register("tally/counters", 0444, show_counters, NULL, NULL);
	proc_register("tally/perf_switch", 0644, show_switch, write_switch, NULL);
	pr_info("perf: %u PMUs", pmu_count());
}
