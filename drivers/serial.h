/* SPDX-License-Identifier: MIT */
/*
 * 16550 serial ports, interrupt-driven in both directions.
 */
#ifndef DRIVERS_SERIAL_H
#define DRIVERS_SERIAL_H

#include "kernel/types.h"

struct serial_port;

/**
 * serial_open - find, test and set up a port
 * @index: 0 for ttyS0 ...; @baud: 0 leaves the speed as firmware set it
 * Return: the port (the same one for a second call), NULL if nothing answers.
 * Context: boot CPU or thread.  Output polls until serial_start_irq().
 */
struct serial_port *serial_open(unsigned index, unsigned baud);

/* From here on interrupts carry the bytes; @rx (may be NULL) gets what comes in. Thread context. */
int serial_start_irq(struct serial_port *p, void (*rx)(const char *s, size_t n));

/* Whole buffer, in order, not mixed with other calls.  Thread context, may sleep. */
void serial_write(struct serial_port *p, const char *s, size_t n);

/*
 * A log line: any context, never waits once interrupts carry the port; drops when its
 * ring is full.
 */
void serial_log(struct serial_port *p, const char *s, size_t n);

void serial_flush(struct serial_port *p); /* sends all that is queued, polling, bounded */

#endif /* DRIVERS_SERIAL_H */
