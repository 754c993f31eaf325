/* SPDX-License-Identifier: MIT */
/* Lock order checks of debug builds; nothing otherwise.  See kernel/lock_debug.c. */
#ifndef KERNEL_LOCK_DEBUG_H
#define KERNEL_LOCK_DEBUG_H

#include "kernel/lock.h"
#include "kernel/thread.h"

#ifdef CONFIG_DEBUG
/* Checks the order before waiting.  Return: the class, for lock_debug_acquired(). */
unsigned lock_debug_acquire(const void *lock, const char *name, _Atomic uint32_t *cache, bool nested);
void lock_debug_acquired(const void *lock, unsigned class);
void lock_debug_release(const void *lock, const char *name);
size_t lock_debug_thread_size(void); /* bytes of thread->held */
#endif

#endif /* KERNEL_LOCK_DEBUG_H */
