/* SPDX-License-Identifier: MIT */
/*
 * The architectural PMU: what recorded CPUID leaves mean, and what programming
 * does to registers that are memory.
 *
 * SOURCES: arch/x86_64/pmu.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/x86_64/pmu.h"
#include "kernel/errno.h"
#include "kernel/string.h"

static uint64_t msr[0x1000];
static uint64_t read_msr(uint32_t n)
{
	assert_true(n < ARRAY_SIZE(msr));
	return msr[n];
}
static void write_msr(uint32_t n, uint64_t v)
{
	assert_true(n < ARRAY_SIZE(msr));
	msr[n] = v;
}
static const struct pmu_regs regs = { read_msr, write_msr };

static bool detect(struct arch_pmu *p, struct pmu_leaf leaf)
{
	memset(p, 0, sizeof(*p));
	p->regs = &regs;
	return arch_pmu_detect(p, &leaf);
}

/* Leaf 0xA (EAX, EBX, ECX, EDX) of machines, and what they have. */
static const struct {
	const char *machine;
	struct pmu_leaf leaf;
	unsigned version, general, fixed, width;
} machines[] = {
	{ "Core 2", { 0x07280202, 0, 0, 0x503 }, 2, 2, 3, 40 },
	{ "Nehalem, Haswell with two threads", { 0x07300403, 0, 0, 0x603 }, 3, 4, 3, 48 },
	{ "Sandy Bridge with one thread", { 0x07300803, 0, 0, 0x603 }, 3, 8, 3, 48 },
	{ "Skylake", { 0x07300404, 0, 0, 0x603 }, 4, 4, 3, 48 },
	{ "Sapphire Rapids", { 0x08300805, 0, 0xf, 0x8604 }, 5, 8, 3, 48 },
	{ "a guest of KVM", { 0x07300402, 0, 0, 0x8603 }, 2, 4, 3, 48 },
	{ "an AMD machine", { 0, 0, 0, 0 }, 0, 0, 0, 0 },
	{ "a KVM guest on AMD", { 0, 0, 0, 0x8000 }, 0, 0, 0, 0 },
};

static unsigned nr_events(const struct arch_pmu *p)
{
	unsigned n = 0;

	while (p->events[n].name)
		n++;
	return n;
}

static void test_leaves(void **state)
{
	struct arch_pmu p;

	memset(msr, 0, sizeof(msr));
	for (unsigned i = 0; i < ARRAY_SIZE(machines); i++) {
		print_message("%s\n", machines[i].machine);
		assert_int_equal(detect(&p, machines[i].leaf), machines[i].version != 0);
		assert_int_equal(p.version, machines[i].version);
		if (!machines[i].version)
			continue;
		assert_int_equal(p.nr_general, machines[i].general);
		assert_int_equal(p.nr_fixed, machines[i].fixed);
		assert_int_equal(p.pmu.slots, machines[i].general + machines[i].fixed);
		assert_int_equal(p.pmu.count_mask, (1ULL << machines[i].width) - 1);
		assert_int_equal(nr_events(&p), 8);
	}
}

static const struct pmu_event *find(const struct arch_pmu *p, const char *name)
{
	for (const struct pmu_event *e = p->events; e->name; e++)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

/* Events that the leaf says are not there; counters that somebody else keeps; no fixed ones. */
static void test_less(void **state)
{
	struct arch_pmu p;

	memset(msr, 0, sizeof(msr));
	/* Version 1, two counters; cache references and misses are not there (bits 3 and 4). */
	assert_true(detect(&p, (struct pmu_leaf){ 0x07280201, 0x18, 0, 0 }));
	assert_int_equal(p.nr_fixed, 0);
	assert_null(find(&p, "cache-misses"));
	assert_null(find(&p, "cache-references"));
	assert_null(find(&p, "ref-cycles")); /* it has a fixed counter only */
	assert_int_equal(find(&p, "branches")->config, 0xc4);
	assert_int_equal(p.pmu.check(&p.pmu, 0x412e), -ENOENT);
	assert_int_equal(p.pmu.check(&p.pmu, 0x01c2), 0); /* any raw event */
	assert_int_equal(p.pmu.check(&p.pmu, 1u << 20), -EINVAL);
	/* A list of five events: branches and their misses are beyond it. */
	assert_true(detect(&p, (struct pmu_leaf){ 0x05280201, 0, 0, 0 }));
	assert_null(find(&p, "branches"));
	assert_non_null(find(&p, "cache-misses"));
	/* The firmware uses counter 1 and the fixed counter of instructions. */
	msr[0x187] = 1u << 22 | 0xc0;
	msr[0x38d] = 0xb;
	assert_true(detect(&p, (struct pmu_leaf){ 0x07300403, 0, 0, 0x603 }));
	assert_int_equal(p.nr_general, 3);
	assert_int_equal(p.general[1], 2);
	assert_int_equal(p.nr_fixed, 2);
	arch_pmu_init_cpu(&p);
	assert_int_equal(msr[0x187], 1u << 22 | 0xc0);
	assert_int_equal(msr[0x38d], 0xb);
	assert_int_equal(msr[0x38f], 0xdULL | 6ULL << 32);
	/* Nothing is left. */
	msr[0x187] = msr[0x188] = msr[0x186] = 1u << 22;
	assert_false(detect(&p, (struct pmu_leaf){ 0x07300301, 0, 0, 0 }));
}

static void test_programming(void **state)
{
	const uint64_t cycles = 0x3c, instructions = 0xc0, misses = 0x412e;
	struct arch_pmu p;

	memset(msr, 0, sizeof(msr));
	assert_true(detect(&p, (struct pmu_leaf){ 0x07300404, 0, 0, 0x603 }));
	arch_pmu_init_cpu(&p);
	assert_int_equal(msr[0x38f], 0xfULL | 7ULL << 32);

	/* Slots 0 to 2 are the fixed counters: instructions, cycles, reference cycles. */
	assert_true(p.pmu.fits(&p.pmu, instructions, 0));
	assert_true(p.pmu.fits(&p.pmu, cycles, 1));
	assert_true(p.pmu.fits(&p.pmu, find(&p, "ref-cycles")->config, 2));
	assert_false(p.pmu.fits(&p.pmu, cycles, 0));
	assert_false(p.pmu.fits(&p.pmu, misses, 1));
	assert_true(p.pmu.fits(&p.pmu, misses, 3) && p.pmu.fits(&p.pmu, cycles, 6));
	assert_false(p.pmu.fits(&p.pmu, find(&p, "ref-cycles")->config, 3));

	msr[0x30a] = 12345;
	p.pmu.start(&p.pmu, cycles, 1);
	assert_int_equal(msr[0x30a], 0);
	assert_int_equal(msr[0x38d], 0x30);
	p.pmu.start(&p.pmu, instructions, 0);
	assert_int_equal(msr[0x38d], 0x33);
	msr[0x30a] = 777;
	assert_int_equal(p.pmu.count(&p.pmu, 1), 777);
	p.pmu.stop(&p.pmu, 1);
	assert_int_equal(msr[0x38d], 0x03);

	msr[0xc2] = 99;
	p.pmu.start(&p.pmu, misses, 4);
	assert_int_equal(msr[0xc2], 0);
	assert_int_equal(msr[0x187], 0x412e | 1u << 16 | 1u << 17 | 1u << 22);
	msr[0xc2] = 4711;
	assert_int_equal(p.pmu.count(&p.pmu, 4), 4711);
	p.pmu.stop(&p.pmu, 4);
	assert_int_equal(msr[0x187], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leaves),
		cmocka_unit_test(test_less),
		cmocka_unit_test(test_programming),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
