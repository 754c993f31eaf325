/* SPDX-License-Identifier: MIT */
/*
 * Marks: places in time that a program sets and a QEMU plugin sees
 * (tools/plugin/insns.c).  /proc/tally/mark takes "begin N" (N is 0..7) and
 * "end"; each calls a function of its own, whose execution is the mark.
 */
#ifndef KERNEL_MARK_H
#define KERNEL_MARK_H

#include "kernel/types.h"

/**
 * mark_command - act on what was written to /proc/tally/mark
 * @text: not NUL-terminated; one trailing newline is ignored
 * @len: bytes
 *
 * Context: thread.  Return: 0, or -EINVAL if the text is neither form.
 */
int mark_command(const char *text, size_t len);
void mark_init(void); /* init step, after files: /proc/tally/mark */

#endif /* KERNEL_MARK_H */
