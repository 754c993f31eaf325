/* SPDX-License-Identifier: MIT */
/*
 * Parsers of ACPI tables: pure functions over bytes, no hardware access.
 *
 * They are given a table and its real length and never read past it; firmware
 * is not trusted (lengths of 0, entries that run over the end, duplicates).
 * Also compiled for host tests and the fuzzer.
 * Source: ACPI 6.4, sections 5.2 and 7.4 (\_Sx).
 */
#ifndef ARCH_X86_64_ACPI_PARSE_H
#define ARCH_X86_64_ACPI_PARSE_H

#include "kernel/types.h"

struct acpi_header {
	char signature[4];
	uint32_t length; /* of the whole table */
	uint8_t revision, checksum;
	char oem_id[6], oem_table[8];
	uint32_t oem_revision, creator, creator_revision;
} __packed;
_Static_assert(sizeof(struct acpi_header) == 36, "fixed by ACPI");

bool acpi_checksum_ok(const void *p, size_t n);

/**
 * acpi_rsdp_parse - check a root pointer
 * @p: at least 20 bytes; @n: how many are there (36 for version 2)
 * @xsdt: set to the XSDT's address, or 0; @rsdt: likewise
 * Return: false if signature or checksum are wrong.
 */
bool acpi_rsdp_parse(const void *p, size_t n, uint64_t *xsdt, uint64_t *rsdt);

struct madt_cpu {
	uint32_t apic_id;
	uint32_t acpi_uid;
};
struct madt_ioapic {
	uint32_t id, addr, gsi_base;
};
struct madt_override { /* legacy line -> global interrupt */
	uint8_t line;
	uint32_t gsi;
	bool active_low, level; /* after "conforms to bus" is resolved for ISA */
};

#define MADT_MAX_IOAPICS   16
#define MADT_MAX_OVERRIDES 16

struct madt_info {
	uint64_t lapic_addr; /* type 5 overrides the header's */
	bool legacy_pics;
	struct madt_cpu *cpus; /* caller's array */
	unsigned max_cpus, nr_cpus;
	unsigned ignored, disabled, duplicates; /* entries left out: no room, flags, seen before */
	unsigned malformed;                     /* 1 if the list broke off at a bad length */
	struct madt_ioapic ioapics[MADT_MAX_IOAPICS];
	unsigned nr_ioapics;
	struct madt_override overrides[MADT_MAX_OVERRIDES];
	unsigned nr_overrides;
};

/**
 * madt_parse - CPUs, IOAPICs and interrupt overrides
 * @table: whole MADT with header; @n: bytes, at least the header
 * @out: cpus and max_cpus set by the caller, the rest zeroed here
 */
void madt_parse(const void *table, size_t n, struct madt_info *out);

struct fadt_info {
	uint64_t dsdt;
	uint32_t pm1a_cnt, pm1b_cnt; /* ports */
	uint32_t smi_cmd;
	uint8_t acpi_enable;
	uint32_t pm_timer;   /* port, 0: none */
	bool pm_timer_32bit;
	bool reset_port_ok;
	uint64_t reset_addr;
	uint8_t reset_space; /* 0 memory, 1 port */
	uint8_t reset_value;
};
bool fadt_parse(const void *table, size_t n, struct fadt_info *out);

/**
 * acpi_find_s5 - sleep type values of soft off
 *
 * Looks for the name \_S5_ and reads the package after it (encodings: ACPI 6.4
 * section 20.2); no AML is run.  Return: false if there is none.
 */
bool acpi_find_s5(const void *dsdt, size_t n, uint8_t *typ_a, uint8_t *typ_b);

/* HPET: physical base, or 0 (missing, or a base that cannot be).  ACPI id "HPET". */
uint64_t hpet_parse(const void *table, size_t n);

struct mcfg_entry {
	uint64_t base;
	uint16_t segment;
	uint8_t bus_start, bus_end;
};
/* Return: entries stored, at most @max. */
unsigned mcfg_parse(const void *table, size_t n, struct mcfg_entry *out, unsigned max);

#endif /* ARCH_X86_64_ACPI_PARSE_H */
