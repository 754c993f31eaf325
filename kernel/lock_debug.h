/* SPDX-License-Identifier: MIT */
/* Lock order checks of debug builds; nothing otherwise.  See kernel/lock_debug.c. */
#ifndef KERNEL_LOCK_DEBUG_H
#define KERNEL_LOCK_DEBUG_H

#include "kernel/lock.h"
#include "kernel/thread.h"

#ifdef CONFIG_DEBUG
/* Checks the order before waiting.  Return: the class, for lock_debug_acquired(). */
unsigned lock_debug_acquire(const void *lock, const char *name, _Atomic uint32_t *cache,
			    bool nested);
void lock_debug_acquired(const void *lock, unsigned class);
void lock_debug_release(const void *lock, const char *name);
size_t lock_debug_thread_size(void); /* bytes of thread->held */
void lock_debug_dump(void);          /* the orders seen so far, into the log */

/* For mutexes and rwsems: before waiting, when held without waiting, when released. */
#define lock_debug_wait(l)  ((void)lock_debug_acquire(l, (l)->name, &(l)->class, true))
#define lock_debug_got(l)   lock_debug_acquired(l, lock_debug_class((l)->name, &(l)->class))
#define lock_debug_drop(l)  lock_debug_release(l, (l)->name)
#define lock_debug_name(l, n) ((l)->name = (n), atomic_init(&(l)->class, 0))
unsigned lock_debug_class(const char *name, _Atomic uint32_t *cache);
#else
#define lock_debug_dump()     ((void)0)
#define lock_debug_wait(l)    ((void)0)
#define lock_debug_got(l)     ((void)0)
#define lock_debug_drop(l)    ((void)0)
#define lock_debug_name(l, n) ((l)->name = (n))
#endif

#endif /* KERNEL_LOCK_DEBUG_H */
