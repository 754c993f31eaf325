/* SPDX-License-Identifier: MIT */
/*
 * PCI scan: see pci.h.  Memory-mapped configuration space where the MCFG table
 * names it, else ports 0xcf8 and 0xcfc.  Only buses behind a bridge that was
 * found are looked at.  Source: PCI Local Bus 3.0, chapter 6; PCIe 3.0, 7.2.2.
 */
#include "drivers/pci.h"
#include "arch/x86_64/acpi.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/paging.h"
#include "kernel/lock.h"
#include "kernel/log.h"

#define MAX_FUNCTIONS 256

static struct pci_function found[MAX_FUNCTIONS];
static unsigned nr_found;
static struct spinlock port_lock = SPINLOCK_INIT("pci"); /* address and data port belong together */
static volatile char *ecam; /* of acpi.mcfg[0] */

static volatile char *ecam_of(const struct pci_function *f)
{
	const struct mcfg_entry *m = &acpi.mcfg[0];

	if (!ecam || f->bus < m->bus_start || f->bus > m->bus_end || f->segment != m->segment)
		return NULL;
	return ecam + ((uint64_t)(f->bus - m->bus_start) << 20 | f->dev << 15 | f->fn << 12);
}

static uint32_t port_address(const struct pci_function *f, unsigned reg)
{
	return 1u << 31 | (uint32_t)f->bus << 16 | (uint32_t)f->dev << 11 | (uint32_t)f->fn << 8 |
	       (reg & 0xfc);
}

uint32_t pci_read32(const struct pci_function *f, unsigned reg)
{
	volatile char *e = ecam_of(f);
	uint32_t v;

	if (e)
		return mmio_read32(e + reg);
	spin_lock(&port_lock);
	outl(0xcf8, port_address(f, reg));
	v = inl(0xcfc);
	spin_unlock(&port_lock);
	return v;
}

void pci_write32(const struct pci_function *f, unsigned reg, uint32_t v)
{
	volatile char *e = ecam_of(f);

	if (e) {
		mmio_write32(e + reg, v);
		return;
	}
	spin_lock(&port_lock);
	outl(0xcf8, port_address(f, reg));
	outl(0xcfc, v);
	spin_unlock(&port_lock);
}

const struct pci_function *pci_get(unsigned i)
{
	return i < nr_found ? &found[i] : NULL;
}

/* Adds one function if it is there.  Return: its header type, or -1. */
static int look(struct pci_function *f)
{
	uint32_t id = pci_read32(f, 0), class, head;

	if ((id & 0xffff) == 0xffff || !(id & 0xffff))
		return -1;
	class = pci_read32(f, 8);
	head = pci_read32(f, 12);
	f->vendor = (uint16_t)id;
	f->device = (uint16_t)(id >> 16);
	f->class_code = (uint8_t)(class >> 24);
	f->subclass = (uint8_t)(class >> 16);
	f->prog_if = (uint8_t)(class >> 8);
	f->header = (uint8_t)(head >> 16);
	f->irq_line = (uint8_t)pci_read32(f, 60);
	if (nr_found < MAX_FUNCTIONS)
		found[nr_found++] = *f;
	else
		pr_warn("pci: more than %u functions, the rest is ignored", MAX_FUNCTIONS);
	pr_debug("pci: %02x:%02x.%u %04x:%04x class %02x%02x", f->bus, f->dev, f->fn, f->vendor,
		 f->device, f->class_code, f->subclass);
	return f->header;
}

static void scan_bus(uint8_t bus)
{
	for (unsigned dev = 0; dev < 32; dev++) {
		unsigned functions = 1;

		for (unsigned fn = 0; fn < functions; fn++) {
			struct pci_function f = { .bus = bus,
						  .dev = (uint8_t)dev,
						  .fn = (uint8_t)fn };
			int header = look(&f);

			if (fn == 0 && header >= 0 && (header & 0x80))
				functions = 8;
		}
	}
}

void pci_init(void)
{
	uint64_t seen[4] = { 1, 0, 0, 0 }; /* buses scanned */

	if (acpi.nr_mcfg && acpi.mcfg[0].segment == 0)
		ecam = mmio_map(acpi.mcfg[0].base,
				(size_t)(acpi.mcfg[0].bus_end - acpi.mcfg[0].bus_start + 1) << 20,
				false);
	scan_bus(0);
	/* The list grows while bridges are followed. */
	for (unsigned i = 0; i < nr_found; i++) {
		uint8_t bus;

		if ((found[i].header & 0x7f) != 1)
			continue;
		bus = (uint8_t)(pci_read32(&found[i], 0x18) >> 8); /* secondary */
		if (bus && !(seen[bus / 64] >> (bus % 64) & 1)) {
			seen[bus / 64] |= 1UL << (bus % 64);
			scan_bus(bus);
		}
	}
	pr_info("pci: %u functions, configuration by %s", nr_found, ecam ? "memory" : "ports");
}
