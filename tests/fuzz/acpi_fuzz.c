/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as an ACPI table: the first byte chooses the parser.
 *
 * SOURCES: arch/x86_64/acpi_parse.c
 */
#include "arch/x86_64/acpi_parse.h"
#include "tests/fuzz/fuzz.h"

#define MAX_CPUS_HERE 20

void fuzz_setup(void)
{
}

static void madt(const void *table, size_t n)
{
	struct madt_cpu cpus[MAX_CPUS_HERE];
	struct madt_info out = { .cpus = cpus, .max_cpus = MAX_CPUS_HERE };

	madt_parse(table, n, &out);
	MUST(out.nr_cpus <= MAX_CPUS_HERE && out.nr_ioapics <= MADT_MAX_IOAPICS);
	MUST(out.nr_overrides <= MADT_MAX_OVERRIDES);
	for (unsigned i = 0; i < out.nr_cpus; i++) {
		for (unsigned k = 0; k < i; k++)
			MUST(cpus[i].apic_id != cpus[k].apic_id);
	}
}

void fuzz_one(const uint8_t *data, size_t size)
{
	struct mcfg_entry mcfg[4];
	struct fadt_info fadt;
	uint64_t xsdt, rsdt;
	uint8_t a, b, *table;
	size_t n = size - 1;

	if (!size)
		return;
	table = malloc(n ? n : 1); /* of its own, so that reading past it is seen */
	MUST(table);
	memcpy(table, data + 1, n);
	switch (data[0] % 6) {
	case 0:
		if (n >= 20)
			acpi_rsdp_parse(table, n, &xsdt, &rsdt);
		break;
	case 1:
		if (n >= sizeof(struct acpi_header))
			madt(table, n);
		break;
	case 2:
		fadt_parse(table, n, &fadt);
		break;
	case 3:
		acpi_find_s5(table, n, &a, &b);
		break;
	case 4:
		hpet_parse(table, n);
		break;
	case 5:
		MUST(mcfg_parse(table, n, mcfg, ARRAY_SIZE(mcfg)) <= ARRAY_SIZE(mcfg));
		break;
	}
	free(table);
}
