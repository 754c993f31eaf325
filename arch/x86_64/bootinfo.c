/* SPDX-License-Identifier: MIT */
/*
 * Boot loader information: multiboot1 (`qemu -kernel`) and multiboot2 (GRUB).
 *
 * Everything wanted is copied into static buffers first, since the structures
 * lie in memory that the map calls free.  Sources: Multiboot Specification
 * 0.6.96 section 3.3; Multiboot2 Specification 2.0 section 3.6.  Runs on the
 * early tables, which show the first 4 GiB in the direct map.
 */
#include "arch/x86_64/bootinfo.h"
#include "arch/arch.h"
#include "kernel/init.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/string.h"
#include "mm/bootmem.h"

#define MB1_BOOT_MAGIC 0x2badb002
#define MB2_BOOT_MAGIC 0x36d76289

struct boot_module boot_modules[BOOT_MAX_MODULES];
unsigned boot_nr_modules;
const char *boot_loader = "unknown boot loader";
uint64_t boot_rsdp[5];
size_t boot_rsdp_len;
struct memmap boot_map;

extern char image_end[];

#define EARLY_LIMIT (4UL << 30) /* what the early tables map */

static void copy_string(char *dst, size_t n, uint64_t phys)
{
	const char *s = phys_to_virt(phys);

	dst[0] = 0;
	if (phys && phys < EARLY_LIMIT - n)
		str_copy(dst, s, n);
}

static void add_module(uint64_t start, uint64_t end, uint64_t name)
{
	struct boot_module *m;

	if (start >= end || boot_nr_modules == BOOT_MAX_MODULES)
		return;
	m = &boot_modules[boot_nr_modules++];
	m->start = start;
	m->end = end;
	copy_string(m->name, sizeof(m->name), name);
}

/* Multiboot1: a structure of 32-bit fields, each group announced by a flag bit. */
struct mb1_info {
	uint32_t flags, mem_lower, mem_upper, boot_device, cmdline, mods_count, mods_addr;
	uint32_t syms[4];
	uint32_t mmap_length, mmap_addr;
};
struct mb1_mmap {
	uint32_t size; /* of what follows */
	uint64_t addr, len;
	uint32_t type;
} __packed;
struct mb1_module {
	uint32_t start, end, string, reserved;
};

static void parse_mb1(uint64_t phys)
{
	const struct mb1_info *mi = phys_to_virt(phys);

	boot_loader = "multiboot1";
	if (mi->flags & (1u << 2)) {
		size_t skip = 0;

		copy_string(boot_cmdline, sizeof(boot_cmdline), mi->cmdline);
		/* The first word is the name of the image. */
		while (boot_cmdline[skip] && boot_cmdline[skip] != ' ')
			skip++;
		while (boot_cmdline[skip] == ' ')
			skip++;
		memmove(boot_cmdline, boot_cmdline + skip, sizeof(boot_cmdline) - skip);
	}
	if (mi->flags & (1u << 3)) {
		const struct mb1_module *m = phys_to_virt(mi->mods_addr);

		for (uint32_t i = 0; i < mi->mods_count && i < BOOT_MAX_MODULES; i++)
			add_module(m[i].start, m[i].end, m[i].string);
	}
	if (mi->flags & (1u << 6)) {
		uint64_t at = mi->mmap_addr, end = at + mi->mmap_length;

		while (at + sizeof(struct mb1_mmap) <= end && end < EARLY_LIMIT) {
			const struct mb1_mmap *e = phys_to_virt(at);

			if (e->size < sizeof(*e) - sizeof(e->size))
				break;
			memmap_add(&boot_map, e->addr, e->len, e->type);
			at += e->size + sizeof(e->size);
		}
	} else if (mi->flags & 1) {
		memmap_add(&boot_map, 0, (uint64_t)mi->mem_lower << 10, 1);
		memmap_add(&boot_map, 1 << 20, (uint64_t)mi->mem_upper << 10, 1);
	}
}

/* Multiboot2: a total size, then tags of 8-byte alignment. */
struct mb2_tag {
	uint32_t type, size;
};
enum { MB2_END = 0, MB2_CMDLINE = 1, MB2_MODULE = 3, MB2_MMAP = 6, MB2_ACPI_OLD = 14, MB2_ACPI_NEW = 15 };

struct mb2_mmap_entry {
	uint64_t addr, len;
	uint32_t type, reserved;
};

static void mb2_mmap(const struct mb2_tag *t)
{
	const uint32_t *head = (const uint32_t *)(t + 1); /* entry size, version */
	const char *at = (const char *)(head + 2), *end = (const char *)t + t->size;

	if (t->size < sizeof(*t) + 8 || head[0] < sizeof(struct mb2_mmap_entry))
		return;
	for (; at + head[0] <= end; at += head[0]) {
		const struct mb2_mmap_entry *e = (const void *)at;

		memmap_add(&boot_map, e->addr, e->len, e->type);
	}
}

static void parse_mb2(uint64_t phys)
{
	const char *info = phys_to_virt(phys);
	uint32_t total = *(const uint32_t *)info, at = 8;

	boot_loader = "multiboot2";
	while (at + sizeof(struct mb2_tag) <= total) {
		const struct mb2_tag *t = (const void *)(info + at);
		const char *body = (const char *)(t + 1);
		size_t len = t->size - sizeof(*t);

		if (t->type == MB2_END || t->size < sizeof(*t) || t->size > total - at)
			break;
		switch (t->type) {
		case MB2_CMDLINE:
			str_copy(boot_cmdline, body, min(sizeof(boot_cmdline), len));
			break;
		case MB2_MODULE:
			if (len >= 8)
				add_module(((const uint32_t *)body)[0], ((const uint32_t *)body)[1],
					   len > 8 ? virt_to_phys(body + 8) : 0);
			break;
		case MB2_MMAP:
			mb2_mmap(t);
			break;
		case MB2_ACPI_OLD:
			if (boot_rsdp_len == 36)
				break;
			/* fall through */
		case MB2_ACPI_NEW:
			boot_rsdp_len = min(len, (size_t)(t->type == MB2_ACPI_NEW ? 36 : 20));
			memcpy(boot_rsdp, body, boot_rsdp_len);
			break;
		}
		at += ALIGN_UP(t->size, 8u);
	}
}

/**
 * bootinfo_init - copy what the loader left behind
 * @magic: EAX at entry
 * @info_phys: EBX at entry, below 4 GiB
 *
 * Context: boot CPU on the early tables, before any allocation and any log sink.
 */
void bootinfo_init(uint32_t magic, uint64_t info_phys)
{
	if (magic == MB1_BOOT_MAGIC)
		parse_mb1(info_phys);
	else if (magic == MB2_BOOT_MAGIC)
		parse_mb2(info_phys);
}

#define LOW_END (1UL << 20) /* below: firmware's playground, kept from the allocator */

/* Init step: makes the map canonical and tells bootmem what is free. */
void arch_init_memmap(void)
{
	uint64_t ram = 0;

	memmap_finish(&boot_map);
	for (unsigned i = 0; i < boot_map.n; i++) {
		struct memrange *r = &boot_map.r[i];

		pr_info("map: %012lx-%012lx %s", r->start, r->end - 1, memmap_type_name(r->type));
		if (r->type != MEM_RAM)
			continue;
		ram += r->end - r->start;
		if (r->end > LOW_END)
			bootmem_add(max(r->start, LOW_END), r->end);
	}
	if (boot_map.dropped)
		pr_warn("map: more than %u entries, %u ignored", MEMMAP_MAX, boot_map.dropped);
	if (!ram)
		panic("%s gave no memory map", boot_loader);
	pr_info("map: %lu MiB of RAM, by %s", ram >> 20, boot_loader);

	bootmem_reserve(LOW_END, ALIGN_UP(virt_to_phys(image_end), PAGE_SIZE));
	for (unsigned i = 0; i < boot_nr_modules; i++) {
		struct boot_module *m = &boot_modules[i];

		pr_info("module: %lx-%lx %s", m->start, m->end - 1, m->name);
		bootmem_reserve(ALIGN_DOWN(m->start, PAGE_SIZE), ALIGN_UP(m->end, PAGE_SIZE));
	}
}

uint64_t boot_low_page(void)
{
	/* From the top down; page 0 and the first 64 KiB are left to firmware that scribbles there. */
	for (unsigned i = boot_map.n; i-- > 0;) {
		const struct memrange *r = &boot_map.r[i];
		uint64_t end = min(r->end, 0xa0000UL);

		if (r->type == MEM_RAM && r->start < end && end - PAGE_SIZE >= max(r->start, 0x10000UL))
			return end - PAGE_SIZE;
	}
	return 0;
}

bool boot_module(unsigned i, const void **start, size_t *len)
{
	if (i >= boot_nr_modules)
		return false;
	*start = phys_to_virt(boot_modules[i].start);
	*len = (size_t)(boot_modules[i].end - boot_modules[i].start);
	return true;
}
