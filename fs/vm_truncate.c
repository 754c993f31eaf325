/* SPDX-License-Identifier: MIT */
/*
 * Truncating a file that somebody maps: its pages leave all address spaces.
 *
 * There is no list of a file's mappings: keeping one would cost every fork and
 * mmap, and files are rarely cut off while mapped.  All processes are looked at
 * instead, those of one space again and again, which does no harm.
 *
 * A fault that got a page before it was cut off and has not mapped it yet finds
 * that its space's areas changed (space->seq) and asks the file again.
 */
#include "fs/ramfs.h"
#include "kernel/pid.h"
#include "mm/vm_int.h"

#define LOOKS 1024 /* ids per hold of the lock */

/* The space of the first process from @at on, referenced; @at moves past it.  NULL: no more. */
static struct vm_space *next_space(pid_t *at)
{
	struct vm_space *s = NULL;

	while (!s && *at < PID_MAX) {
		spin_lock(&process_lock);
		for (unsigned n = 0; !s && n < LOOKS && *at < PID_MAX; n++, ++*at) {
			struct process *p = pid_process(*at);

			if (p)
				s = atomic_load_explicit(&p->space, memory_order_relaxed);
		}
		if (s)
			vm_get(s);
		spin_unlock(&process_lock);
	}
	return s;
}

void vm_file_truncated(struct inode *i, uint64_t from)
{
	struct vm_space *s;
	pid_t at = 1;

	while ((s = next_space(&at))) {
		vm_zap_file(s, (uintptr_t)i, from);
		vm_put(s);
	}
}
