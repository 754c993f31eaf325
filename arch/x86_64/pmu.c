/* SPDX-License-Identifier: MIT */
/* Implements pmu.h: what the counters are, and how they are programmed. */
#include "arch/x86_64/pmu.h"

#include "kernel/errno.h"
#include "kernel/perf/slots.h"

#define MSR_PMC0        0xc1  /* IA32_PMCn */
#define MSR_EVTSEL0     0x186 /* IA32_PERFEVTSELn */
#define MSR_FIXED_CTR0  0x309
#define MSR_FIXED_CTRL  0x38d
#define MSR_GLOBAL_CTRL 0x38f

#define EVTSEL_USER   (1u << 16)
#define EVTSEL_KERNEL (1u << 17)
#define EVTSEL_ENABLE (1u << 22)
#define EVTSEL_EVENT  0xffffu /* event and unit mask: what a config may say */

#define FIXED_BITS(n)    (15ULL << (4 * (n)))
#define FIXED_BOTH(n)    (3ULL << (4 * (n))) /* user and kernel mode */
#define GLOBAL_FIXED(n)  (1ULL << (32 + (n)))

/*
 * The architectural events: number in EBX of the leaf is the place in this list.
 * The last two have no bit there: unhalted reference cycles has a fixed counter
 * of its own, under a config that is no real event (Linux's name for it).
 */
#define CONFIG_REF_CYCLES 0x0300
static const struct pmu_event known[] = {
	{ "cycles", "core clock cycles while not halted", 0x003c },
	{ "instructions", "instructions retired", 0x00c0 },
	{ "bus-cycles", "reference cycles while not halted, at bus frequency", 0x013c },
	{ "cache-references", "last-level cache references", 0x4f2e },
	{ "cache-misses", "last-level cache misses", 0x412e },
	{ "branches", "branch instructions retired", 0x00c4 },
	{ "branch-misses", "mispredicted branches retired", 0x00c5 },
};
#define NR_KNOWN (sizeof(known) / sizeof(known[0]))
static const struct pmu_event ref_cycles = {
	"ref-cycles", "cycles at TSC frequency while not halted", CONFIG_REF_CYCLES
};
/* What fixed counter n counts. */
static const uint64_t fixed_config[] = { 0x00c0, 0x003c, CONFIG_REF_CYCLES };

static const struct arch_pmu *arch_of(const struct pmu *p)
{
	return container_of(p, const struct arch_pmu, pmu);
}

static bool has_fixed(const struct arch_pmu *p, uint64_t config)
{
	for (unsigned i = 0; i < p->nr_fixed; i++)
		if (p->fixed[i] < ARRAY_SIZE(fixed_config) && fixed_config[p->fixed[i]] == config)
			return true;
	return false;
}

static int check(const struct pmu *pmu, uint64_t config)
{
	const struct arch_pmu *p = arch_of(pmu);

	if (config & ~(uint64_t)EVTSEL_EVENT)
		return -EINVAL;
	if (config == CONFIG_REF_CYCLES || !p->nr_general)
		return has_fixed(p, config) ? 0 : -ENOENT;
	for (unsigned i = 0; i < NR_KNOWN; i++)
		if (known[i].config == config && (p->missing >> i & 1) && !has_fixed(p, config))
			return -ENOENT;
	return 0;
}

static bool fits(const struct pmu *pmu, uint64_t config, unsigned slot)
{
	const struct arch_pmu *p = arch_of(pmu);

	if (slot < p->nr_fixed)
		return p->fixed[slot] < ARRAY_SIZE(fixed_config) &&
		       fixed_config[p->fixed[slot]] == config;
	return config != CONFIG_REF_CYCLES;
}

static void fixed_ctrl(const struct arch_pmu *p, unsigned n, uint64_t bits)
{
	uint64_t v = p->regs->read(MSR_FIXED_CTRL);

	p->regs->write(MSR_FIXED_CTRL, (v & ~FIXED_BITS(n)) | bits);
}

static void start(const struct pmu *pmu, uint64_t config, unsigned slot)
{
	const struct arch_pmu *p = arch_of(pmu);
	unsigned n;

	if (slot < p->nr_fixed) {
		n = p->fixed[slot];
		p->regs->write(MSR_FIXED_CTR0 + n, 0);
		fixed_ctrl(p, n, FIXED_BOTH(n));
		return;
	}
	n = p->general[slot - p->nr_fixed];
	p->regs->write(MSR_PMC0 + n, 0);
	p->regs->write(MSR_EVTSEL0 + n, config | EVTSEL_USER | EVTSEL_KERNEL | EVTSEL_ENABLE);
}

static uint64_t count(const struct pmu *pmu, unsigned slot)
{
	const struct arch_pmu *p = arch_of(pmu);

	if (slot < p->nr_fixed)
		return p->regs->read(MSR_FIXED_CTR0 + p->fixed[slot]);
	return p->regs->read(MSR_PMC0 + p->general[slot - p->nr_fixed]);
}

static void stop(const struct pmu *pmu, unsigned slot)
{
	const struct arch_pmu *p = arch_of(pmu);

	if (slot < p->nr_fixed)
		fixed_ctrl(p, p->fixed[slot], 0);
	else
		p->regs->write(MSR_EVTSEL0 + p->general[slot - p->nr_fixed], 0);
}

/* Counters that run already are the firmware's, or another's who was here first: not ours. */
static void find_counters(struct arch_pmu *p, const struct pmu_leaf *leaf)
{
	unsigned general = leaf->a >> 8 & 255, fixed = p->version > 1 ? leaf->d & 31 : 0;
	uint64_t ctrl = fixed || (p->version >= 5 && leaf->c) ? p->regs->read(MSR_FIXED_CTRL) : 0;

	for (unsigned n = 0; n < general && p->nr_general < PMU_GENERAL_MOST; n++)
		if (!(p->regs->read(MSR_EVTSEL0 + n) & EVTSEL_ENABLE))
			p->general[p->nr_general++] = (uint8_t)n;
	/* Version 5 names them by bits as well, with holes. */
	for (unsigned n = 0; n < ARRAY_SIZE(fixed_config); n++)
		if ((n < fixed || (p->version >= 5 && leaf->c >> n & 1)) && !(ctrl & FIXED_BITS(n)))
			p->fixed[p->nr_fixed++] = (uint8_t)n;
}

bool arch_pmu_detect(struct arch_pmu *p, const struct pmu_leaf *leaf)
{
	unsigned nr_bits = leaf->a >> 24 & 255, n = 0;

	p->version = leaf->a & 255;
	if (!p->version)
		return false;
	p->width = leaf->a >> 16 & 255;
	p->fixed_width = p->version > 1 ? leaf->d >> 5 & 255 : 0;
	/* A set bit, or one beyond the list's length: not there. */
	p->missing = leaf->b | (nr_bits < 32 ? ~0u << nr_bits : 0);
	find_counters(p, leaf);
	if (!p->nr_general && !p->nr_fixed)
		return false;
	p->pmu.name = "cpu";
	p->pmu.what = "the processor's counters: type 4 (raw) takes any event and unit mask";
	p->pmu.slots = p->nr_fixed + p->nr_general;
	if (!p->width || (p->nr_fixed && p->fixed_width < p->width))
		p->width = p->fixed_width;
	p->pmu.count_mask = p->width >= 64 ? UINT64_MAX : (1ULL << p->width) - 1;
	p->pmu.check = check;
	p->pmu.fits = fits;
	p->pmu.start = start;
	p->pmu.count = count;
	p->pmu.stop = stop;
	for (unsigned i = 0; i < NR_KNOWN; i++)
		if (!check(&p->pmu, known[i].config))
			p->events[n++] = known[i];
	if (!check(&p->pmu, CONFIG_REF_CYCLES))
		p->events[n++] = ref_cycles;
	p->pmu.events = p->events;
	return true;
}

void arch_pmu_init_cpu(const struct arch_pmu *p)
{
	uint64_t global = 0;

	for (unsigned slot = 0; slot < p->pmu.slots; slot++) {
		stop(&p->pmu, slot);
		global |= slot < p->nr_fixed ? GLOBAL_FIXED(p->fixed[slot])
					     : 1ULL << p->general[slot - p->nr_fixed];
	}
	/* From version 2 on a counter runs if both this and its own register say so. */
	if (p->version > 1)
		p->regs->write(MSR_GLOBAL_CTRL, p->regs->read(MSR_GLOBAL_CTRL) | global);
}
