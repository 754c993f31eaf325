/* SPDX-License-Identifier: MIT */
/*
 * Parsers of ACPI tables: see acpi_parse.h.
 */
#include "arch/x86_64/acpi_parse.h"
#include "kernel/string.h"

/* Unaligned little-endian fields. */
static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}
static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) | (uint32_t)get16(p + 2) << 16;
}
static uint64_t get64(const uint8_t *p)
{
	return (uint64_t)get32(p) | (uint64_t)get32(p + 4) << 32;
}

bool acpi_checksum_ok(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint8_t sum = 0;

	while (n--)
		sum = (uint8_t)(sum + *b++);
	return sum == 0;
}

bool acpi_rsdp_parse(const void *p, size_t n, uint64_t *xsdt, uint64_t *rsdt)
{
	const uint8_t *b = p;

	*xsdt = 0;
	*rsdt = 0;
	if (n < 20 || memcmp(b, "RSD PTR ", 8) || !acpi_checksum_ok(b, 20))
		return false;
	*rsdt = get32(b + 16);
	/* Version 2: its own length and checksum; a bad one leaves us the RSDT. */
	if (b[15] >= 2 && n >= 36) {
		uint32_t len = get32(b + 20);

		if (len >= 36 && len <= n && acpi_checksum_ok(b, len))
			*xsdt = get64(b + 24);
	}
	return *xsdt || *rsdt;
}

#define MADT_ENABLED 1u

static void add_cpu(struct madt_info *m, uint32_t apic_id, uint32_t uid, uint32_t flags)
{
	if (!(flags & MADT_ENABLED)) {
		m->disabled++;
		return;
	}
	for (unsigned i = 0; i < m->nr_cpus; i++) {
		if (m->cpus[i].apic_id == apic_id) {
			m->duplicates++;
			return;
		}
	}
	if (m->nr_cpus == m->max_cpus) {
		m->ignored++;
		return;
	}
	m->cpus[m->nr_cpus++] = (struct madt_cpu){ apic_id, uid };
}

static void madt_entry(struct madt_info *m, const uint8_t *e, uint8_t len)
{
	switch (e[0]) {
	case 0: /* local APIC; id 0xff means none */
		if (len >= 8 && e[3] != 0xff)
			add_cpu(m, e[3], e[2], get32(e + 4));
		else if (len >= 8)
			m->disabled++;
		break;
	case 9: /* local x2APIC */
		if (len >= 16 && get32(e + 4) != 0xffffffff)
			add_cpu(m, get32(e + 4), get32(e + 12), get32(e + 8));
		else if (len >= 16)
			m->disabled++;
		break;
	case 1:
		if (len >= 12 && m->nr_ioapics < MADT_MAX_IOAPICS)
			m->ioapics[m->nr_ioapics++] =
				(struct madt_ioapic){ e[2], get32(e + 4), get32(e + 8) };
		break;
	case 2:
		if (len >= 10 && m->nr_overrides < MADT_MAX_OVERRIDES) {
			uint16_t flags = get16(e + 8);

			/* 0 conforms to the bus: ISA is active high, edge. */
			m->overrides[m->nr_overrides++] = (struct madt_override){
				.line = e[3],
				.gsi = get32(e + 4),
				.active_low = (flags & 3) == 3,
				.level = (flags >> 2 & 3) == 3,
			};
		}
		break;
	case 5:
		if (len >= 12)
			m->lapic_addr = get64(e + 4);
		break;
	}
}

void madt_parse(const void *table, size_t n, struct madt_info *m)
{
	const uint8_t *b = table;
	size_t at = 44;

	m->nr_cpus = m->nr_ioapics = m->nr_overrides = 0;
	m->ignored = m->disabled = m->duplicates = m->malformed = 0;
	m->lapic_addr = n >= 40 ? get32(b + 36) : 0;
	m->legacy_pics = n >= 44 && (get32(b + 40) & 1);
	while (at + 2 <= n) {
		uint8_t len = b[at + 1];

		if (len < 2 || len > n - at) {
			m->malformed = 1;
			return;
		}
		madt_entry(m, b + at, len);
		at += len;
	}
}

/* A field that older, shorter tables lack reads as 0. */
static uint32_t field32(const uint8_t *b, size_t n, size_t at)
{
	return at + 4 <= n ? get32(b + at) : 0;
}

bool fadt_parse(const void *table, size_t n, struct fadt_info *f)
{
	const uint8_t *b = table;
	uint32_t flags;

	memset(f, 0, sizeof(*f));
	if (n < 116)
		return false;
	f->dsdt = get32(b + 40);
	if (n >= 148 && get64(b + 140))
		f->dsdt = get64(b + 140);
	f->smi_cmd = get32(b + 48);
	f->acpi_enable = b[52];
	f->pm1a_cnt = get32(b + 64);
	f->pm1b_cnt = get32(b + 68);
	flags = get32(b + 112);
	if (b[91] >= 4)
		f->pm_timer = get32(b + 76);
	f->pm_timer_32bit = flags & (1u << 8);
	if ((flags & (1u << 10)) && n >= 129) { /* generic address at 116: space, width, offset, size, address */
		f->reset_space = b[116];
		f->reset_addr = get64(b + 120);
		f->reset_value = b[128];
		f->reset_port_ok = f->reset_addr && f->reset_space <= 1;
	}
	/* X_PM1a_CNT_BLK and X_PM_TMR_BLK, where the short fields are empty and the space is ports. */
	if (!f->pm1a_cnt && n >= 184 && b[172] == 1)
		f->pm1a_cnt = field32(b, n, 176);
	if (!f->pm_timer && n >= 220 && b[208] == 1)
		f->pm_timer = field32(b, n, 212);
	return true;
}

/* One small integer of a package; moves *@at past it. */
static bool aml_int(const uint8_t *b, size_t n, size_t *at, uint8_t *out)
{
	if (*at >= n)
		return false;
	switch (b[*at]) {
	case 0x00: /* ZeroOp */
	case 0x01: /* OneOp */
		*out = b[(*at)++];
		return true;
	case 0x0a: /* BytePrefix */
	case 0x0b: /* WordPrefix */
	case 0x0c: /* DWordPrefix */
		if (*at + 1 >= n)
			return false;
		*out = b[*at + 1];
		*at += b[*at] == 0x0a ? 2 : b[*at] == 0x0b ? 3 : 5;
		return true;
	}
	return false;
}

bool acpi_find_s5(const void *dsdt, size_t n, uint8_t *typ_a, uint8_t *typ_b)
{
	const uint8_t *b = dsdt;

	for (size_t i = 36; i + 8 <= n; i++) {
		size_t at = i + 4;

		if (memcmp(b + i, "_S5_", 4))
			continue;
		/* NameOp before it, with or without a root prefix. */
		if (b[i - 1] != 0x08 && !(b[i - 1] == '\\' && b[i - 2] == 0x08))
			continue;
		if (b[at++] != 0x12) /* PackageOp */
			continue;
		at += 1 + (b[at] >> 6); /* PkgLength: its top two bits count further bytes */
		at++;                   /* NumElements */
		if (aml_int(b, n, &at, typ_a) && aml_int(b, n, &at, typ_b))
			return true;
	}
	return false;
}

uint64_t hpet_parse(const void *table, size_t n)
{
	const uint8_t *b = table;
	uint64_t base;

	if (n < 56 || b[40] != 0) /* address space: memory */
		return 0;
	base = get64(b + 44);
	if (base >> 52) /* some firmware shifts it up by 32 */
		base >>= 32;
	return base;
}

unsigned mcfg_parse(const void *table, size_t n, struct mcfg_entry *out, unsigned max)
{
	const uint8_t *b = table;
	unsigned k = 0;

	for (size_t at = 44; at + 16 <= n && k < max; at += 16) {
		out[k] = (struct mcfg_entry){ get64(b + at), get16(b + at + 8), b[at + 10], b[at + 11] };
		if (out[k].base && out[k].bus_start <= out[k].bus_end)
			k++;
	}
	return k;
}
