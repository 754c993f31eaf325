/* SPDX-License-Identifier: MIT */
/*
 * Parsers of firmware data: memory maps, MADT, FADT, root pointer, \_S5_; and
 * the number and format functions of kernel/string.h.
 *
 * SOURCES: arch/x86_64/acpi_parse.c arch/x86_64/memmap.c
 * FLAVOURS: plain asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "arch/x86_64/acpi_parse.h"
#include "arch/x86_64/memmap.h"
#include "kernel/errno.h"
#include "kernel/string.h"

static struct memmap map;

static void check_canonical(void)
{
	for (unsigned i = 0; i < map.n; i++) {
		assert_true(map.r[i].start < map.r[i].end);
		assert_int_equal(map.r[i].start % PAGE_SIZE, 0);
		assert_int_equal(map.r[i].end % PAGE_SIZE, 0);
		if (i) {
			assert_true(map.r[i - 1].end <= map.r[i].start);
			assert_false(map.r[i - 1].end == map.r[i].start &&
				     map.r[i - 1].type == map.r[i].type);
		}
	}
}

static void test_map_overlap(void **state)
{
	memset(&map, 0, sizeof(map));
	memmap_add(&map, 0x100000, 0x700000, 1);
	memmap_add(&map, 0x3ff800, 0x1000, 2); /* unaligned, in the middle */
	memmap_add(&map, 0, 0x9fc00, 1);
	memmap_add(&map, 0x500000, 0x300000, 1); /* again */
	memmap_finish(&map);
	check_canonical();
	assert_int_equal(map.n, 4);
	assert_int_equal(map.r[0].end, 0x9f000);
	assert_int_equal(map.r[1].end, 0x3ff000);
	assert_int_equal(map.r[2].type, MEM_RESERVED);
	assert_int_equal(map.r[2].end, 0x401000);
	assert_int_equal(map.r[3].end, 0x800000);
}

static void test_map_odd(void **state)
{
	memset(&map, 0, sizeof(map));
	memmap_add(&map, UINT64_MAX - 100, 1000, 1); /* wraps */
	memmap_add(&map, 0x1234, 0x10, 1);           /* less than a page */
	memmap_add(&map, 0x5000, 0, 1);
	memmap_add(&map, 0xfd00000000, 0x300000000, 2);
	memmap_add(&map, 0x10000000000, 0x80000000, 1); /* above 1 TiB */
	memmap_finish(&map);
	check_canonical();
	assert_int_equal(map.n, 2);
	assert_int_equal(map.r[1].start, 0x10000000000);
}

static void test_map_many(void **state)
{
	memset(&map, 0, sizeof(map));
	for (unsigned i = 0; i < 600; i++)
		memmap_add(&map, (uint64_t)(600 - i) * 0x4000, 0x1000 + (i % 3) * 0x777, 1 + i % 5);
	assert_int_equal(map.n, MEMMAP_MAX);
	assert_true(map.dropped >= 80);
	memmap_finish(&map);
	check_canonical();
}

/* Random entries: every page of the result has the strongest type that covers it. */
static void test_map_random(void **state)
{
	srand(1);
	for (int round = 0; round < 200; round++) {
		static uint8_t want[256];
		int n = rand() % 12;

		memset(want, 0, sizeof(want));
		memset(&map, 0, sizeof(map));
		for (int i = 0; i < n; i++) {
			unsigned start = rand() % 256, len = rand() % (256 - start) + 1, type = 1 + rand() % 5;
			static const uint8_t rank[] = { 0, MEM_RAM, MEM_RESERVED, MEM_ACPI, MEM_NVS, MEM_BAD };

			memmap_add(&map, start * PAGE_SIZE, len * PAGE_SIZE, type);
			for (unsigned p = start; p < start + len; p++)
				if (rank[type] > want[p])
					want[p] = rank[type];
		}
		memmap_finish(&map);
		check_canonical();
		for (unsigned p = 0; p < 256; p++) {
			uint8_t got = 0;

			for (unsigned i = 0; i < map.n; i++)
				if (map.r[i].start <= p * PAGE_SIZE && p * PAGE_SIZE < map.r[i].end)
					got = map.r[i].type;
			assert_int_equal(got, want[p]);
		}
	}
}

static uint8_t table[4096];
static size_t table_len;
static struct madt_cpu cpus[16];

static void madt_begin(void)
{
	memset(table, 0, sizeof(table));
	memcpy(table, "APIC", 4);
	memcpy(table + 36, "\x00\x00\xe0\xfe\x01\x00\x00\x00", 8);
	table_len = 44;
}
static void entry(const void *e, size_t n)
{
	memcpy(table + table_len, e, n);
	table_len += n;
}
static void lapic(uint8_t id, uint8_t flags)
{
	entry((uint8_t[]){ 0, 8, 1, id, flags, 0, 0, 0 }, 8);
}
static void x2apic(uint32_t id, uint8_t flags)
{
	entry((uint8_t[]){ 9, 16, 0, 0, (uint8_t)id, (uint8_t)(id >> 8), (uint8_t)(id >> 16),
			   (uint8_t)(id >> 24), flags, 0, 0, 0, 7, 0, 0, 0 },
	      16);
}

static void test_madt(void **state)
{
	struct madt_info m = { .cpus = cpus, .max_cpus = ARRAY_SIZE(cpus) };

	madt_begin();
	lapic(16, 1);
	lapic(18, 0);    /* disabled */
	lapic(19, 2);    /* only online capable */
	lapic(0xff, 1);  /* no id */
	lapic(16, 1);    /* twice */
	x2apic(16, 1);   /* thrice */
	x2apic(300, 1);
	x2apic(0xffffffff, 1);
	entry((uint8_t[]){ 77, 6, 1, 2, 3, 4 }, 6); /* unknown */
	entry((uint8_t[]){ 1, 12, 2, 0, 0, 0, 0xc0, 0xfe, 24, 0, 0, 0 }, 12);
	entry((uint8_t[]){ 2, 10, 0, 0, 2, 0, 0, 0, 0, 0 }, 10);
	entry((uint8_t[]){ 2, 10, 0, 9, 9, 0, 0, 0, 0x0f, 0 }, 10);
	entry((uint8_t[]){ 5, 12, 0, 0, 0, 0, 0xd0, 0xfe, 1, 0, 0, 0 }, 12);
	madt_parse(table, table_len, &m);
	assert_int_equal(m.nr_cpus, 2);
	assert_int_equal(cpus[0].apic_id, 16);
	assert_int_equal(cpus[1].apic_id, 300);
	assert_int_equal(m.duplicates, 2);
	assert_int_equal(m.disabled, 4);
	assert_int_equal(m.nr_ioapics, 1);
	assert_int_equal(m.ioapics[0].gsi_base, 24);
	assert_int_equal(m.nr_overrides, 2);
	assert_int_equal(m.overrides[0].gsi, 2);
	assert_false(m.overrides[0].level);
	assert_true(m.overrides[1].level && m.overrides[1].active_low);
	assert_true(m.lapic_addr == 0x1fed00000);
	assert_false(m.malformed);
}

static void test_madt_broken(void **state)
{
	struct madt_info m = { .cpus = cpus, .max_cpus = 2 };

	madt_begin();
	lapic(1, 1);
	entry((uint8_t[]){ 0, 0 }, 2); /* would be endless */
	lapic(2, 1);
	madt_parse(table, table_len, &m);
	assert_int_equal(m.nr_cpus, 1);
	assert_true(m.malformed);

	madt_begin();
	lapic(1, 1);
	entry((uint8_t[]){ 0, 200 }, 2); /* past the end */
	madt_parse(table, table_len, &m);
	assert_true(m.malformed);

	madt_begin();
	for (uint8_t i = 0; i < 5; i++)
		lapic(i, 1);
	madt_parse(table, table_len, &m);
	assert_int_equal(m.nr_cpus, 2);
	assert_int_equal(m.ignored, 3);

	for (size_t n = 36; n < 60; n++)
		madt_parse(table, n, &m);
}

static void test_rsdp(void **state)
{
	uint8_t p[36] = "RSD PTR ";
	uint64_t xsdt, rsdt;
	uint8_t sum = 0;

	p[16] = 0x78;
	for (int i = 0; i < 20; i++)
		sum += p[i];
	p[8] = (uint8_t)-sum;
	assert_true(acpi_rsdp_parse(p, 20, &xsdt, &rsdt));
	assert_int_equal(rsdt, 0x78);
	assert_int_equal(xsdt, 0);
	p[15] = 2; /* now both checksums are wrong */
	assert_false(acpi_rsdp_parse(p, 36, &xsdt, &rsdt));
	p[8] -= 2;
	p[20] = 36;
	p[24] = 0x99;
	sum = 0;
	for (int i = 0; i < 36; i++)
		sum += p[i];
	p[32] = (uint8_t)-sum;
	assert_true(acpi_rsdp_parse(p, 36, &xsdt, &rsdt));
	assert_int_equal(xsdt, 0x99);
	p[33]++; /* extended sum wrong: the old part still serves */
	assert_true(acpi_rsdp_parse(p, 36, &xsdt, &rsdt));
	assert_int_equal(xsdt, 0);
	assert_false(acpi_rsdp_parse(p, 19, &xsdt, &rsdt));
}

static void test_s5(void **state)
{
	static const uint8_t name[] = { 0x08, '_', 'S', '5', '_', 0x12, 0x06, 0x04, 0x0a, 0x05, 0x01, 0x00, 0x00 };
	uint8_t a = 0, b = 0;

	memset(table, 0, sizeof(table));
	memcpy(table + 100, name, sizeof(name));
	assert_true(acpi_find_s5(table, 200, &a, &b));
	assert_int_equal(a, 5);
	assert_int_equal(b, 1);
	for (size_t n = 0; n < 112; n++) {
		uint8_t *exact = malloc(n ? n : 1);

		memcpy(exact, table, n);
		acpi_find_s5(exact, n, &a, &b);
		free(exact);
	}
	memcpy(table + 100, "\x00", 1);
	assert_false(acpi_find_s5(table, 200, &a, &b));
}

/* Any bytes: no parser reads past the end (the sanitizer watches) or loops for ever. */
static void test_garbage(void **state)
{
	srand(2);
	for (int round = 0; round < 3000; round++) {
		size_t n = 44 + (size_t)rand() % 300;
		uint8_t *t = malloc(n);
		struct madt_info m = { .cpus = cpus, .max_cpus = ARRAY_SIZE(cpus) };
		struct fadt_info f;
		struct mcfg_entry e[4];
		uint8_t a, b;

		for (size_t i = 0; i < n; i++)
			t[i] = (uint8_t)(rand() >> 3) % (round % 2 ? 256 : 17);
		madt_parse(t, n, &m);
		fadt_parse(t, n, &f);
		hpet_parse(t, n);
		mcfg_parse(t, n, e, 4);
		acpi_find_s5(t, n, &a, &b);
		free(t);
	}
}

static void test_numbers(void **state)
{
	const char *end;
	uint64_t v;

	assert_int_equal(parse_u64("0x1fz", &end, &v), 0);
	assert_int_equal(v, 0x1f);
	assert_string_equal(end, "z");
	assert_int_equal(parse_u64("", &end, &v), -EINVAL);
	assert_int_equal(parse_u64("-1", &end, &v), -EINVAL);
	assert_int_equal(parse_u64("18446744073709551615", &end, &v), 0);
	assert_int_equal(parse_u64("18446744073709551616", &end, &v), -ERANGE);
	assert_int_equal(parse_size("64K", &v), 0);
	assert_int_equal(v, 65536);
	assert_int_equal(parse_size("64KB", &v), -EINVAL);
	assert_int_equal(parse_size("16E", &v), -ERANGE);
	assert_int_equal(parse_size("017", &v), 0);
	assert_int_equal(v, 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map_overlap), cmocka_unit_test(test_map_odd),
		cmocka_unit_test(test_map_many),    cmocka_unit_test(test_map_random),
		cmocka_unit_test(test_madt),	    cmocka_unit_test(test_madt_broken),
		cmocka_unit_test(test_rsdp),	    cmocka_unit_test(test_s5),
		cmocka_unit_test(test_garbage),	    cmocka_unit_test(test_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
