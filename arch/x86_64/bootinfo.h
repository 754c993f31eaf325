/* SPDX-License-Identifier: MIT */
/*
 * What the boot loader told us, copied out of its memory before anything is
 * allocated, and the physical memory map made from it.
 *
 * Constant after init step "memory map".
 */
#ifndef ARCH_X86_64_BOOTINFO_H
#define ARCH_X86_64_BOOTINFO_H

#include "kernel/types.h"
#include "arch/x86_64/memmap.h"

#define BOOT_MAX_MODULES 8

struct boot_module {
	uint64_t start, end; /* physical; reserved until someone gives the pages back */
	char name[64];
};

extern struct boot_module boot_modules[BOOT_MAX_MODULES];
extern unsigned boot_nr_modules;
extern const char *boot_loader; /* "multiboot1" or "multiboot2" */
extern uint64_t boot_rsdp[5];   /* copy of the RSDP from multiboot2; first word 0 if none */
extern size_t boot_rsdp_len;    /* bytes, 20 or 36 */

/* The bytes of the i-th module; false when there is none. */
bool boot_module(unsigned i, const void **start, size_t *len);

/* The map: sorted, merged, page-aligned.  boot_map.r[].type says what each is. */
extern struct memmap boot_map;


/* boot_low_page - a free page below 1 MiB for the start-up code of CPUs; 0 if there is none */
uint64_t boot_low_page(void);

void bootinfo_init(uint32_t magic, uint64_t info_phys);

/* Embedded initramfs, from boot/initramfs.asm; start == end if there is none. */
extern const char initramfs_start[], initramfs_end[];

#endif /* ARCH_X86_64_BOOTINFO_H */
