/* SPDX-License-Identifier: MIT */
/* Names for kernel text addresses: the table that the build links into the image. */
#ifndef KERNEL_SYMBOLS_H
#define KERNEL_SYMBOLS_H

#include "kernel/types.h"

/**
 * symbol_find - the function that @addr lies in
 * @offset: distance from its start, bytes
 * Return: its name, or NULL.  Context: any.
 */
const char *symbol_find(uintptr_t addr, size_t *offset);
/* The i-th function in order of address, or NULL beyond the last. */
const char *symbol_nth(size_t i, uintptr_t *addr);
bool is_kernel_text(uintptr_t addr);

#endif /* KERNEL_SYMBOLS_H */
