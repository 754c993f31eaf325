/* SPDX-License-Identifier: MIT */
/*
 * The system console and the record channel.
 *
 * console=ttyS0|ttyS1|...[,baud] names the console; the last one wins.  With
 * records=ttyS1 records leave by that port, else they go to the log.
 */
#ifndef DRIVERS_CONSOLE_H
#define DRIVERS_CONSOLE_H

#include "kernel/types.h"

/**
 * console_write - put bytes out on the console, unchanged (no CR added)
 * Context: thread; may sleep while the transmitter is busy.  Never fails: without a console they are dropped.
 */
void console_write(const char *s, size_t n);

/* Received bytes go to tty_receive_irq() (kernel/tty.h), in interrupt context. */

/**
 * records_write - one record: a JSON object on one line
 *
 * Adds the common fields preset, cpus, machine, commit where they are missing,
 * and the newline.  Text that is no JSON object passes as it is.
 * Context: thread, may sleep.  Return: 0, -EINVAL (longer than a record may be, or holds a newline).
 */
int records_write(const char *s, size_t n);
#define RECORD_MAX 4000 /* bytes */

/* One line to the record port; false if there is none.  Thread context, may sleep. */
bool records_send(const char *s, size_t n);

void console_init(void);  /* init step: ports found, polled */
void console_start(void); /* init step, thread context: interrupts take over */

/* Sends what is queued, polling, bounded; interrupts may be off.  For power-off and panic. */
void console_flush(void);

#endif /* DRIVERS_CONSOLE_H */
