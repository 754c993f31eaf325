/* SPDX-License-Identifier: MIT */
/* inotify: telling who watches a file (fs/inotify.c). */
#ifndef FS_INOTIFY_H
#define FS_INOTIFY_H

#include "kernel/types.h"

#define IN_MODIFY      0x00000002u
#define IN_DELETE_SELF 0x00000400u
#define IN_IGNORED     0x00008000u /* the watch is gone */

extern _Atomic unsigned inotify_watches; /* all there are */
void inotify_event_slow(const void *key, uint32_t mask);

/**
 * inotify_event - something happened to what watches know as @key
 * @key: an inode, or what inode_ops.watch_key says
 *
 * IN_DELETE_SELF ends the watches.  Context: thread, spinlocks may be held.
 */
static inline void inotify_event(const void *key, uint32_t mask)
{
	if (atomic_load_explicit(&inotify_watches, memory_order_relaxed))
		inotify_event_slow(key, mask);
}

#endif /* FS_INOTIFY_H */
