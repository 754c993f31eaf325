/* SPDX-License-Identifier: MIT */
/*
 * A PMU with few counters that any machine has: `few` counts what other PMUs
 * count, with perf.few counters per CPU.  The config of its events is the type
 * of the PMU that is counted.
 *
 * On a machine without performance counters (an emulated one) it shows what
 * taking turns does to counts, beside the exact ones.
 */
#include "kernel/perf/slots.h"

#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/perf/perf.h"

static unsigned few;
PARAM_UINT("perf.few", few, 0, PMU_SLOTS_MAX, 0,
	   "counters per CPU of the PMU \"few\", which counts what others count; 0: no such PMU");

/* What each counter counts, and where it began. */
struct few_cpu {
	const struct pmu *of[PMU_SLOTS_MAX];
	uint64_t start[PMU_SLOTS_MAX];
};
DEFINE_PER_CPU(static struct few_cpu, few_cpu);

/* The PMU of a type, or NULL.  Under RCU, or interrupts off. */
static const struct pmu *pmu_of(uint64_t type)
{
	struct pmu *p = rcu_dereference(pmu_list);

	while (p && p->type != type)
		p = rcu_dereference(p->next);
	return p;
}

static int few_check(const struct pmu *p, uint64_t config)
{
	struct pmu *of = config <= UINT32_MAX ? pmu_get((uint32_t)config) : NULL;
	int err = of && !of->slots ? 0 : -EINVAL;

	(void)p;
	if (of)
		pmu_put(of);
	return err;
}

static void few_start(const struct pmu *p, uint64_t config, unsigned slot)
{
	struct few_cpu *f = &this_cpu(few_cpu);

	(void)p;
	f->of[slot] = pmu_of(config);
	f->start[slot] = f->of[slot] ? pmu_read(f->of[slot], cpu_id()) : 0;
}

static uint64_t few_count(const struct pmu *p, unsigned slot)
{
	struct few_cpu *f = &this_cpu(few_cpu);

	(void)p;
	return f->of[slot] ? pmu_read(f->of[slot], cpu_id()) - f->start[slot] : 0;
}

static void few_stop(const struct pmu *p, unsigned slot)
{
	(void)p;
	this_cpu(few_cpu).of[slot] = NULL;
}

static struct pmu few_pmu = {
	.name = "few",
	.what = "few/EVENT/ counts EVENT with one of perf.few counters",
	.count_mask = UINT64_MAX,
	.check = few_check,
	.start = few_start,
	.count = few_count,
	.stop = few_stop,
};

void few_init(void)
{
	few_pmu.slots = few;
	if (few)
		(void)pmu_register(&few_pmu);
}
