/* SPDX-License-Identifier: MIT */
/*
 * What the kernel asks of the driver of the system console and of the record
 * channel (drivers/console.c, drivers/records.c implement it).
 */
#ifndef KERNEL_CONSOLE_H
#define KERNEL_CONSOLE_H

#include "kernel/types.h"

/**
 * console_write - put bytes out on the console, unchanged (no CR added)
 * Context: thread; may sleep while the transmitter is busy.  Never fails: without a console they
 * are dropped.
 */
void console_write(const char *s, size_t n);

/* Received bytes go to tty_receive_irq() (kernel/tty.h), in interrupt context. */

/**
 * records_write - one record: a JSON object on one line
 *
 * Adds the common fields preset, cpus, machine, commit where they are missing,
 * and the newline.  Text that is no JSON object passes as it is.
 * Context: thread, may sleep.  Return: 0, -EINVAL (longer than a record may be, or holds a
 * newline).
 */
int records_write(const char *s, size_t n);
#define RECORD_MAX 4000 /* bytes */

#endif /* KERNEL_CONSOLE_H */
