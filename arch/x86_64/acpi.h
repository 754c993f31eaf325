/* SPDX-License-Identifier: MIT */
/*
 * ACPI tables of this machine: found, checked, and the facts kept.
 * Constant after init step "ACPI tables".
 */
#ifndef ARCH_X86_64_ACPI_H
#define ARCH_X86_64_ACPI_H

#include "arch/x86_64/acpi_parse.h"

struct acpi_facts {
	bool found;
	struct madt_info madt; /* cpus: in firmware order */
	struct fadt_info fadt;
	bool have_fadt, have_s5;
	uint8_t s5_typ_a, s5_typ_b;
	uint64_t hpet; /* physical base; 0: none */
	struct mcfg_entry mcfg[8];
	unsigned nr_mcfg;
};
extern struct acpi_facts acpi;

/**
 * acpi_table - find a table by signature
 * @nth: 0 for the first
 * Return: mapped, checksum verified, header->length bytes valid; or NULL.
 * Context: boot CPU, during start-up.
 */
const struct acpi_header *acpi_table(const char *signature, unsigned nth);

#endif /* ARCH_X86_64_ACPI_H */
