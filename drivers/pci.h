/* SPDX-License-Identifier: MIT */
/*
 * PCI: configuration space and the list of functions found at boot.
 */
#ifndef DRIVERS_PCI_H
#define DRIVERS_PCI_H

#include "kernel/types.h"

struct pci_function {
	uint16_t segment;
	uint8_t bus, dev, fn, header;
	uint16_t vendor, device;
	uint8_t class_code, subclass, prog_if, irq_line;
};

uint32_t pci_read32(const struct pci_function *f, unsigned reg); /* reg: bytes, multiple of 4 */
void pci_write32(const struct pci_function *f, unsigned reg, uint32_t v);

/* The i-th function found, or NULL. */
const struct pci_function *pci_get(unsigned i);
void pci_init(void); /* init step, thread context */

#endif /* DRIVERS_PCI_H */
