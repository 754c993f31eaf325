/* SPDX-License-Identifier: MIT */
/*
 * ELF checking: this very program is accepted, damaged copies never escape
 * their bounds (the same rules as tests/fuzz/elf_fuzz.c).
 *
 * SOURCES: kernel/elf.c tests/fuzz/elf_fuzz.c
 * FLAVOURS: asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/elf.h"

void fuzz_one(const uint8_t *data, size_t size); /* tests/fuzz/elf_fuzz.c */

static uint8_t file[1 << 16];

static void put(size_t at, uint64_t v, size_t n)
{
	memcpy(file + at, &v, n);
}

/* A small executable with two segments; returns its size. */
static size_t make(void)
{
	memset(file, 0, sizeof(file));
	memcpy(file, "\177ELF\2\1\1", 7);
	put(16, 2, 2), put(18, 62, 2), put(20, 1, 4);
	put(24, 0x401000, 8), put(32, 64, 8);
	put(52, 64, 2), put(54, 56, 2), put(56, 2, 2);
	put(64, 1, 4), put(68, 5, 4), put(72, 0, 8), put(80, 0x400000, 8), put(96, 0x2000, 8),
		put(104, 0x2000, 8);
	put(120, 1, 4), put(124, 6, 4), put(128, 0x2010, 8), put(136, 0x403010, 8), put(152, 0x100, 8),
		put(160, 0x5000, 8);
	return 0x3000;
}

static const char *parse(size_t size, struct elf_image *e)
{
	const char *why = elf_parse_header(file, e);

	return why ? why : elf_parse_phdrs(file + e->phoff, size, e);
}

static void test_good(void **state)
{
	struct elf_image e;
	size_t n = make();

	assert_null(parse(n, &e));
	assert_false(e.is_pie);
	assert_int_equal(e.nr_segments, 2);
	assert_int_equal(e.start, 0x400000);
	assert_int_equal(e.end, 0x409000);
	assert_int_equal(e.phdr_vaddr, 0x400040);
	assert_int_equal(e.segment[1].flags, ELF_R | ELF_W);
}

static void test_bad(void **state)
{
	static const struct {
		size_t at;
		uint64_t v;
		size_t n;
	} damage[] = {
		{ 0, 'X', 1 }, { 4, 1, 1 }, { 5, 2, 1 }, { 16, 1, 2 }, { 18, 3, 2 }, { 54, 55, 2 },
		{ 56, 0, 2 }, { 56, 65, 2 }, { 32, 0, 8 }, { 32, UINT64_MAX, 8 },
		{ 80, 0, 8 }, { 80, 0x400001, 8 }, { 80, 0x7ffff0000000, 8 }, { 80, UINT64_MAX - 4095, 8 },
		{ 96, 0x2001, 8 }, { 104, UINT64_MAX, 8 }, { 128, UINT64_MAX - 0xfef, 8 },
		{ 136, 0x400010, 8 }, { 152, 0x5001, 8 }, { 152, 0x1000, 8 }, { 24, 0x1000, 8 },
		{ 24, 0x409000, 8 },
	};

	for (size_t i = 0; i < sizeof(damage) / sizeof(*damage); i++) {
		struct elf_image e;
		size_t n = make();

		put(damage[i].at, damage[i].v, damage[i].n);
		if (!parse(n, &e))
			fail_msg("damage %zu was accepted", i);
	}
}

static void test_random(void **state)
{
	unsigned seed = 1;

	for (int round = 0; round < 200000; round++) {
		size_t n = make();
		int hits = 1 + round % 4;

		while (hits--) {
			seed = seed * 1103515245 + 12345;
			file[(seed >> 8) % 176] = (uint8_t)(seed >> 24);
		}
		fuzz_one(file, n - round % 3 * 0x1000);
	}
}

/* This program's own file, if it is static or not. */
static void test_self(void **state)
{
	struct elf_image e;
	FILE *f = fopen("/proc/self/exe", "rb");
	size_t n;

	assert_non_null(f);
	n = fread(file, 1, sizeof(file), f);
	fseek(f, 0, SEEK_END);
	assert_true(n > 4096);
	assert_null(parse((size_t)ftell(f), &e));
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
