/* SPDX-License-Identifier: MIT */
#ifndef APPS_LIB_TRUTH_H
#define APPS_LIB_TRUTH_H

#include <stdint.h>

/**
 * truth_run - pairs of processes send pseudo-random bytes over ::1 and check them
 * @pairs: how many; @bytes: that each sends
 *
 * Prints a line and the record "truth".  Return: 0 if every byte arrived and
 * was right, else -1.
 */
int truth_run(unsigned pairs, uint64_t bytes);

#endif
