/* SPDX-License-Identifier: MIT */
/*
 * Time: the TSC, what it is calibrated against, and the local timer.
 *
 * Frequencies come from CPUID where it tells (leaf 0x15, 0x16; the hypervisor
 * leaf 0x40000010); else they are measured against HPET, PM timer or PIT, in
 * this order.  Whatever the choice, a second source is looked at and a
 * disagreement is logged.  Every wait has a bound in TSC cycles, so a timer
 * that stands still costs a fraction of a second, not the boot.
 */
#include "arch/arch.h"
#include "arch/x86_64/acpi.h"
#include "arch/x86_64/apic.h"
#include "arch/x86_64/clock.h"
#include "arch/x86_64/cpu.h"
#include "drivers/timesource.h"
#include "kernel/init.h"
#include "kernel/log.h"

static uint64_t tsc_start; /* at entry: time 0 */
static uint64_t tsc_hz, timer_hz;
static uint64_t tsc_mult; /* ns = ticks * tsc_mult >> 32; 0 until calibrated */
static uint64_t realtime_offset;
static bool use_deadline;

void clock_start(void)
{
	tsc_start = rdtsc();
}

uint64_t arch_cycles(void)
{
	return rdtsc();
}

uint64_t arch_cycles_to_ns(uint64_t cycles)
{
	return tsc_mult ? mul_shift(cycles, tsc_mult, 32) : 0;
}

uint64_t clock_ns(void)
{
	return arch_cycles_to_ns(rdtsc() - tsc_start);
}

uint64_t clock_tsc_hz(void)
{
	return tsc_hz;
}

uint64_t clock_realtime_offset_ns(void)
{
	return realtime_offset;
}

struct measurement {
	uint64_t tsc_hz, timer_hz;
};

#define WINDOW_NS   4000000ULL /* long enough for 0.05 % under emulation, short in a boot of 1.5 s */
#define TRIES       3
#define STUCK_CYCLES 300000000ULL /* many windows at any frequency: the source stands still */
#define READ_SPREAD 50000ULL /* cycles; a reading that took longer was disturbed (SMI, another host task) */

/* One reading of all three clocks, close together; false if every try was disturbed. */
static bool read_all(const struct timesource *src, uint64_t *tsc, uint64_t *ref, uint32_t *timer)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t t0 = rdtsc(), r = src->read();
		uint32_t a = apic_timer_count();
		uint64_t t1 = rdtsc();

		if (t1 - t0 < best) {
			best = t1 - t0;
			*tsc = t0 + (t1 - t0) / 2;
			*ref = r;
			*timer = a;
		}
	}
	return best < READ_SPREAD;
}

/* Both the TSC and the local timer against @src.  false: the source stands still or is noisy. */
static bool measure(const struct timesource *src, uint64_t window_ns, struct measurement *m)
{
	uint64_t want = window_ns * src->hz / NSEC_PER_SEC;

	for (int try = 0; try < TRIES; try++) {
		uint64_t tsc0, tsc1, ref0, ref1 = 0, now, last = 0;
		uint32_t apic0, apic1;

		apic_timer_mask(true);
		apic_timer_set_count(UINT32_MAX);
		if (!read_all(src, &tsc0, &ref0, &apic0))
			continue;
		do {
			now = (src->read() - ref0) & src->mask;
			if (now < last) /* wrapped within the window: a source that is too short */
				break;
			last = now;
		} while (now < want && rdtsc() - tsc0 < STUCK_CYCLES);
		if (now < want || !read_all(src, &tsc1, &ref1, &apic1))
			continue;
		apic_timer_set_count(0);
		now = (ref1 - ref0) & src->mask;
		if (!now || tsc1 <= tsc0)
			continue;
		m->tsc_hz = (uint64_t)((unsigned __int128)(tsc1 - tsc0) * src->hz / now);
		m->timer_hz = (uint64_t)((unsigned __int128)(apic0 - apic1) * src->hz / now);
		return m->tsc_hz > 1000000;
	}
	return false;
}

/* What CPUID says; 0 where it is silent. */
static void ask_cpuid(struct measurement *m, const char **how)
{
	struct cpuid r;

	m->tsc_hz = m->timer_hz = 0;
	if (cpu_features.max_leaf >= 0x15) {
		r = cpuid(0x15, 0);
		if (r.a && r.b && r.c) {
			m->tsc_hz = (uint64_t)r.c * r.b / r.a;
			m->timer_hz = r.c;
			*how = "CPUID 0x15";
		}
	}
	if (!m->tsc_hz && cpu_features.hypervisor && cpu_features.max_hyp_leaf >= 0x40000010 &&
	    cpu_features.kvm) {
		r = cpuid(0x40000010, 0);
		if (r.a) {
			m->tsc_hz = (uint64_t)r.a * 1000;
			m->timer_hz = (uint64_t)r.b * 1000;
			*how = "hypervisor leaf";
		}
	}
	if (!m->tsc_hz && cpu_features.max_leaf >= 0x16) {
		r = cpuid(0x16, 0);
		if (r.a & 0xffff) {
			m->tsc_hz = (uint64_t)(r.a & 0xffff) * 1000000;
			*how = "CPUID 0x16";
		}
	}
}

static bool far_apart(uint64_t a, uint64_t b)
{
	uint64_t diff = a > b ? a - b : b - a;

	return diff > a / 100;
}

void arch_init_clock(void)
{
	const struct timesource *src[4];
	unsigned n = timesources_find(src, ARRAY_SIZE(src));
	struct measurement said, first = { 0, 0 }, second = { 0, 0 };
	const char *how = NULL, *against = NULL;

	ask_cpuid(&said, &how);
	for (unsigned i = 0; i < n && !second.tsc_hz; i++) {
		struct measurement m;

		/* The second only has to catch a gross error. */
		if (!measure(src[i], first.tsc_hz ? WINDOW_NS / 4 : WINDOW_NS, &m)) {
			pr_warn("clock: %s stands still or is disturbed", src[i]->name);
			continue;
		}
		if (!first.tsc_hz) {
			first = m;
			against = src[i]->name;
			if (said.tsc_hz)
				break;
		} else {
			second = m;
			if (far_apart(first.tsc_hz, m.tsc_hz))
				pr_warn("clock: %s says TSC %lu kHz, %s says %lu kHz", against,
					first.tsc_hz / 1000, src[i]->name, m.tsc_hz / 1000);
		}
	}
	if (said.tsc_hz && first.tsc_hz && far_apart(said.tsc_hz, first.tsc_hz)) {
		pr_warn("clock: %s says TSC %lu kHz, %s measures %lu kHz; the measurement counts", how,
			said.tsc_hz / 1000, against, first.tsc_hz / 1000);
		said.tsc_hz = 0;
	}
	tsc_hz = said.tsc_hz ? said.tsc_hz : first.tsc_hz;
	timer_hz = said.timer_hz ? said.timer_hz : first.timer_hz;
	if (!tsc_hz) {
		tsc_hz = 2000000000;
		how = "nothing at all (a guess: times are wrong)";
		pr_warn("clock: no time source works; TSC is taken for 2 GHz");
	}
	if (!timer_hz)
		timer_hz = 1000000000;
	tsc_mult = (uint64_t)(((unsigned __int128)NSEC_PER_SEC << 32) / tsc_hz);
	use_deadline = cpu_features.tsc_deadline && !cpu_features.tcg;
	realtime_offset = rtc_read_ns();
	realtime_offset -= realtime_offset ? clock_ns() : 0;
	pr_info("clock: TSC %lu.%03lu MHz by %s%s, %s; timer %lu.%03lu MHz%s", tsc_hz / 1000000,
		tsc_hz / 1000 % 1000, said.tsc_hz ? how : against ? against : how,
		second.tsc_hz || said.tsc_hz ? " (confirmed)" : "",
		cpu_features.invariant_tsc ? "invariant" : "not marked invariant", timer_hz / 1000000,
		timer_hz / 1000 % 1000, use_deadline ? ", deadline mode" : "");
	clock_init_cpu();
}

void clock_init_cpu(void)
{
	if (use_deadline)
		apic_timer_use_deadline();
	else
		apic_timer_mask(false);
}

void arch_timer_set(uint64_t deadline)
{
	uint64_t now, ticks;

	if (use_deadline) {
		/* Rounded up: an interrupt before the deadline would be for nothing. */
		wrmsr(MSR_TSC_DEADLINE,
		      deadline ? tsc_start + (uint64_t)((((unsigned __int128)deadline << 32) + tsc_mult - 1) /
						       tsc_mult) :
				 0);
		return;
	}
	if (!deadline) {
		apic_timer_set_count(0);
		return;
	}
	now = clock_ns();
	if (deadline <= now) {
		apic_timer_set_count(1);
		return;
	}
	/* Far deadlines come in steps of at most a minute: the interrupt looks, and asks again. */
	ticks = min(deadline - now, 60 * NSEC_PER_SEC) * (timer_hz / 1000) / 1000000 + 1;
	apic_timer_set_count((uint32_t)min(ticks, (uint64_t)UINT32_MAX));
}
