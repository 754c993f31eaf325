/* SPDX-License-Identifier: MIT */
/*
 * fw_cfg by ports: select an item, read bytes.
 * Source: QEMU docs/specs/fw_cfg.rst.
 */
#include "drivers/fw_cfg.h"
#include "arch/x86_64/cpu.h"
#include "kernel/string.h"

#define PORT_SELECT 0x510
#define PORT_DATA   0x511
#define ITEM_SIGNATURE 0x0000
#define ITEM_DIRECTORY 0x0019

struct fw_cfg_file { /* big-endian */
	uint8_t size[4], select[2], reserved[2];
	char name[56];
};

static void read_bytes(void *buf, size_t n)
{
	insb(PORT_DATA, buf, n);
}

static void select_item(uint16_t item)
{
	outw(PORT_SELECT, item);
}

bool fw_cfg_init(void)
{
	char sig[4];

	if (!cpu_features.hypervisor)
		return false;
	select_item(ITEM_SIGNATURE);
	read_bytes(sig, 4);
	return !memcmp(sig, "QEMU", 4);
}

size_t fw_cfg_read(const char *name, void *buf, size_t n)
{
	struct fw_cfg_file f;
	uint8_t count[4];
	uint32_t files, size;

	select_item(ITEM_DIRECTORY);
	read_bytes(count, 4);
	files = (uint32_t)count[0] << 24 | (uint32_t)count[1] << 16 | (uint32_t)count[2] << 8 |
		count[3];
	for (uint32_t i = 0; i < files && i < 1024; i++) {
		read_bytes(&f, sizeof(f));
		if (strncmp(f.name, name, sizeof(f.name)))
			continue;
		size = (uint32_t)f.size[0] << 24 | (uint32_t)f.size[1] << 16 |
		       (uint32_t)f.size[2] << 8 | f.size[3];
		n = min(n, (size_t)size);
		select_item((uint16_t)(f.select[0] << 8 | f.select[1]));
		read_bytes(buf, n);
		return n;
	}
	return 0;
}
