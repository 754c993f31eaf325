/* SPDX-License-Identifier: MIT */
/* Debug console: see debugcon.h.  Source: QEMU hw/char/debugcon.c's behaviour, Bochs port e9. */
#include "drivers/debugcon.h"
#include "arch/x86_64/cpu.h"
#include "kernel/log.h"

#define PORT 0xe9

bool debugcon_present(void)
{
	return cpu_features.hypervisor && inb(PORT) == 0xe9;
}

static void debugcon_write(const char *s, size_t n)
{
	outsb(PORT, s, n);
}
static struct log_sink sink = { .write = debugcon_write };

void debugcon_init(void)
{
	if (debugcon_present())
		log_register_sink(&sink);
}
