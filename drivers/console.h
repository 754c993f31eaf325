/* SPDX-License-Identifier: MIT */
/*
 * The system console and the record channel.
 *
 * console=ttyS0|ttyS1|...[,baud] names the console; the last one wins.  With
 * records=ttyS1 records leave by that port, else they go to the log.
 */
#ifndef DRIVERS_CONSOLE_H
#define DRIVERS_CONSOLE_H

#include "kernel/console.h" /* console_write(), records_write() */

/* One line to the record port; false if there is none.  Thread context, may sleep. */
bool records_send(const char *s, size_t n);

void console_init(void);  /* init step: ports found, polled */
void console_start(void); /* init step, thread context: interrupts take over */

/* Sends what is queued, polling, bounded; interrupts may be off.  For power-off and panic. */
void console_flush(void);

#endif /* DRIVERS_CONSOLE_H */
