/* SPDX-License-Identifier: MIT */
/*
 * Terminals: line discipline (canonical editing, echo, signals, job control)
 * between a console driver and programs.
 */
#ifndef KERNEL_TTY_H
#define KERNEL_TTY_H

#include "kernel/types.h"

struct tty;
struct process;
void tty_init(void);
/* From the console driver, interrupt context: pushes to a lock-free ring and schedules work. */
void tty_receive_irq(const char *s, size_t n);
void tty_hangup_session(struct process *leader); /* session leader exits */
const char *tty_name(struct tty *t);
uint64_t tty_rdev(struct tty *t);
pid_t tty_foreground(struct tty *t);

#endif /* KERNEL_TTY_H */
