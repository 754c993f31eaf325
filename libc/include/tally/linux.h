/* SPDX-License-Identifier: MIT */
/* What a program that talks to Linux peers needs of Linux's own numbers. */
#ifndef TALLY_LINUX_H
#define TALLY_LINUX_H

/**
 * linux_errno - newlib's errno value as Linux x86-64 numbers it
 *
 * For wire protocols that carry errno values (netperf).  Unknown: EIO (5).
 */
int linux_errno(int err);

/**
 * linux_raise_files - allow this process at least @n open files
 * Return: 0, or -1 with errno (EPERM above the hard limit without root).
 */
int linux_raise_files(unsigned long n);

#endif
