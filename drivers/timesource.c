/* SPDX-License-Identifier: MIT */
/*
 * HPET, ACPI PM timer, PIT: see timesource.h.
 * Sources: HPET specification 1.0a, section 2.3; ACPI 6.4, section 4.8.3.3;
 * Intel 8254 data sheet.
 */
#include "drivers/timesource.h"
#include "arch/x86_64/acpi.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/paging.h"
#include "kernel/log.h"
#include "kernel/param.h"

static bool no_hpet, stuck_pit;
PARAM_BOOL("fail.hpet", no_hpet, PARAM_RO, "behave as if there were no HPET");
PARAM_BOOL("fail.pit", stuck_pit, PARAM_RO, "behave as if the PIT stood still");

#define HPET_CAPS    0x00
#define HPET_CONFIG  0x10
#define HPET_COUNTER 0xf0

static volatile char *hpet;
static struct timesource hpet_source, pm_source, pit_source;

static uint64_t hpet_read(void)
{
	return mmio_read32(hpet + HPET_COUNTER);
}

static bool hpet_start(void)
{
	uint64_t caps, period;

	if (!acpi.hpet || no_hpet)
		return false;
	hpet = mmio_map(acpi.hpet, 1024, false);
	if (!hpet)
		return false;
	caps = mmio_read64(hpet + HPET_CAPS);
	period = caps >> 32; /* femtoseconds */
	if (caps == UINT64_MAX || period < 100000 || period > 100000000) {
		pr_warn("hpet: impossible period %lu fs, ignored", period);
		return false;
	}
	/* it may stand still before */
	mmio_write64(hpet + HPET_CONFIG, mmio_read64(hpet + HPET_CONFIG) | 1);
	hpet_source =
		(struct timesource){ "HPET", 1000000000000000UL / period, UINT32_MAX, hpet_read };
	return true;
}

static uint64_t pm_read(void)
{
	return inl((uint16_t)acpi.fadt.pm_timer) & pm_source.mask;
}

/* The PIT's channel 2 counts down without an interrupt; the gate is port 0x61, bit 0. */
static uint64_t pit_read(void)
{
	uint8_t lo, hi;

	if (stuck_pit)
		return 0;
	outb(0x43, 0x80); /* latch channel 2 */
	lo = inb(0x42);
	hi = inb(0x42);
	return (uint64_t)(0xffff - (lo | hi << 8));
}

static void pit_start(void)
{
	outb(0x61, (uint8_t)((inb(0x61) & ~2) | 1)); /* gate on, speaker off */
	outb(0x43, 0xb4);                            /* channel 2, low then high byte, mode 2 */
	outb(0x42, 0xff);
	outb(0x42, 0xff);
	pit_source = (struct timesource){ "PIT", 1193182, 0xffff, pit_read };
}

unsigned timesources_find(const struct timesource **out, unsigned max)
{
	unsigned n = 0;

	if (n < max && hpet_start())
		out[n++] = &hpet_source;
	if (n < max && acpi.have_fadt && acpi.fadt.pm_timer) {
		pm_source = (struct timesource){ "PM timer", 3579545,
						 acpi.fadt.pm_timer_32bit ? UINT32_MAX : 0xffffff,
						 pm_read };
		out[n++] = &pm_source;
	}
	if (n < max) {
		pit_start();
		out[n++] = &pit_source;
	}
	return n;
}
