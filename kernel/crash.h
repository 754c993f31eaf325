/* SPDX-License-Identifier: MIT */
/* Crashes on purpose, for tests of the panic path. */
#ifndef KERNEL_CRASH_H
#define KERNEL_CRASH_H

/**
 * crash_now - bring the machine down in a given way
 * @what: null, stack, text, exec, divide, panic; "@CPU" may follow
 * Context: thread.  Return: -EINVAL for an unknown kind or CPU, else only if the crash failed (0).
 */
int crash_now(const char *what);
void crash_if_asked(void); /* init step: fail.crash=, /proc/sysrq-trigger */

#endif /* KERNEL_CRASH_H */
