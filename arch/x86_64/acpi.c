/* SPDX-License-Identifier: MIT */
/*
 * Finding the ACPI tables: see acpi.h.
 *
 * The root pointer comes from the boot loader, else from a scan of the BIOS
 * areas (there is none to scan under UEFI, and the loader brings it there).
 */
#include "arch/x86_64/acpi.h"
#include "arch/arch.h"
#include "arch/x86_64/bootinfo.h"
#include "arch/x86_64/paging.h"
#include "kernel/init.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "mm/bootmem.h"

struct acpi_facts acpi;

#define TABLE_MAX_BYTES (16u << 20) /* longer than any real one: a broken length */
#define MAX_TABLES      64

static struct {
	uint64_t phys;
	const struct acpi_header *h;
} tables[MAX_TABLES];
static unsigned nr_tables;

/* Bytes of firmware memory: through the direct map where it shows them, else mapped. */
static const void *map_bytes(uint64_t phys, size_t n)
{
	uintptr_t va = DIRECT_MAP_BASE + phys;

	if (!phys || phys + n < phys || phys + n >= DIRECT_MAP_END - DIRECT_MAP_BASE)
		return NULL;
	if (kernel_mapped(va) && kernel_mapped(va + n - 1))
		return (const void *)va;
	return mmio_map(phys, n, true);
}

static const struct acpi_header *map_table(uint64_t phys)
{
	const struct acpi_header *h = map_bytes(phys, sizeof(*h));
	uint32_t len;

	if (!h)
		return NULL;
	len = h->length;
	if (len < sizeof(*h) || len > TABLE_MAX_BYTES) {
		pr_warn("acpi: table %.4s at %lx has length %u, ignored", h->signature, phys, len);
		return NULL;
	}
	h = map_bytes(phys, len);
	if (h && !acpi_checksum_ok(h, len)) {
		pr_warn("acpi: table %.4s at %lx has a wrong checksum, ignored", h->signature, phys);
		return NULL;
	}
	return h;
}

/* Scans [start, end) on 16-byte bounds; the areas are in the direct map. */
static bool scan(uint64_t start, uint64_t end, uint64_t *xsdt, uint64_t *rsdt)
{
	for (uint64_t at = start; at + 36 <= end; at += 16)
		if (acpi_rsdp_parse(phys_to_virt(at), 36, xsdt, rsdt))
			return true;
	return false;
}

static bool find_root(uint64_t *xsdt, uint64_t *rsdt, const char **where)
{
	uint64_t ebda = (uint64_t)*(const uint16_t *)phys_to_virt(0x40e) << 4;

	*where = "the boot loader";
	if (boot_rsdp_len && acpi_rsdp_parse(boot_rsdp, boot_rsdp_len, xsdt, rsdt))
		return true;
	*where = "the BIOS area";
	if (ebda >= 0x400 && ebda < 0xa0000 - 1024 && scan(ebda, ebda + 1024, xsdt, rsdt))
		return true;
	return scan(0xe0000, 0x100000, xsdt, rsdt);
}

/* Entries of the root table: 8 bytes each in the XSDT, 4 in the RSDT. */
static void read_root(const struct acpi_header *root, size_t entry)
{
	const uint8_t *p = (const uint8_t *)(root + 1);
	size_t n = (root->length - sizeof(*root)) / entry;

	for (size_t i = 0; i < n; i++, p += entry) {
		uint64_t phys = 0;

		memcpy(&phys, p, entry);
		if (nr_tables == MAX_TABLES) {
			pr_warn("acpi: more than %u tables, the rest is ignored", MAX_TABLES);
			return;
		}
		tables[nr_tables].phys = phys;
		tables[nr_tables].h = map_table(phys);
		if (tables[nr_tables].h)
			nr_tables++;
	}
}

const struct acpi_header *acpi_table(const char *signature, unsigned nth)
{
	for (unsigned i = 0; i < nr_tables; i++)
		if (!memcmp(tables[i].h->signature, signature, 4) && nth-- == 0)
			return tables[i].h;
	return NULL;
}

static void read_madt(void)
{
	const struct acpi_header *t = acpi_table("APIC", 0);
	struct madt_info *m = &acpi.madt;
	size_t max = t ? t->length / 8 : 0; /* no entry of a CPU is shorter */

	if (!t) {
		pr_warn("acpi: no MADT: one CPU, no IOAPIC");
		return;
	}
	m->max_cpus = (unsigned)min(max, (size_t)MAX_CPUS);
	m->cpus = bootmem_alloc(max_t(size_t, m->max_cpus, 1) * sizeof(m->cpus[0]), 8);
	if (!m->cpus)
		panic("acpi: no memory for a list of %u CPUs", m->max_cpus);
	madt_parse(t, t->length, m);
	pr_info("madt: %u CPUs (%u disabled, %u listed twice), %u IOAPICs, %u overrides", m->nr_cpus,
		m->disabled, m->duplicates, m->nr_ioapics, m->nr_overrides);
	if (m->malformed)
		pr_warn("madt: broken off at an entry of impossible length");
	if (m->ignored)
		pr_warn("madt: too many CPUs: %u > %u, ignoring the rest", m->nr_cpus + m->ignored,
			m->max_cpus);
}

static void read_fadt(void)
{
	const struct acpi_header *t = acpi_table("FACP", 0), *dsdt;

	if (!t || !fadt_parse(t, t->length, &acpi.fadt))
		return;
	acpi.have_fadt = true;
	dsdt = map_table(acpi.fadt.dsdt);
	acpi.have_s5 = dsdt && acpi_find_s5(dsdt, dsdt->length, &acpi.s5_typ_a, &acpi.s5_typ_b);
	for (unsigned i = 0; !acpi.have_s5 && acpi_table("SSDT", i); i++) {
		const struct acpi_header *s = acpi_table("SSDT", i);

		acpi.have_s5 = acpi_find_s5(s, s->length, &acpi.s5_typ_a, &acpi.s5_typ_b);
	}
	if (!acpi.have_s5)
		pr_warn("acpi: no \\_S5_: power-off may not work");
}

void arch_init_tables(void)
{
	const struct acpi_header *root = NULL, *t;
	uint64_t xsdt, rsdt;
	const char *where;
	char names[200];
	size_t n = 0;

	if (!find_root(&xsdt, &rsdt, &where)) {
		pr_warn("acpi: no root pointer, neither from the boot loader nor in the BIOS area");
		return;
	}
	if (xsdt)
		root = map_table(xsdt);
	if (root && !memcmp(root->signature, "XSDT", 4)) {
		read_root(root, 8);
	} else {
		root = rsdt ? map_table(rsdt) : NULL;
		if (root && !memcmp(root->signature, "RSDT", 4))
			read_root(root, 4);
		else
			pr_warn("acpi: neither XSDT nor RSDT is valid");
	}
	names[0] = 0;
	for (unsigned i = 0; i < nr_tables; i++)
		n += (size_t)scnprintf(names + n, sizeof(names) - n, " %.4s", tables[i].h->signature);
	pr_info("acpi: root pointer from %s, tables%s", where, names);
	acpi.found = nr_tables > 0;
	read_madt();
	read_fadt();
	t = acpi_table("HPET", 0);
	if (t)
		acpi.hpet = hpet_parse(t, t->length);
	t = acpi_table("MCFG", 0);
	if (t)
		acpi.nr_mcfg = mcfg_parse(t, t->length, acpi.mcfg, ARRAY_SIZE(acpi.mcfg));
}
