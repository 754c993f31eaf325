/* SPDX-License-Identifier: MIT */
/* The file system on the host machine: fs_host.h. */
#include <stdlib.h>

#include "arch/host/host.h"
#include "fs/internal.h"
#include "fs/ramfs.h"
#include "fs/sys.h"
#include "mm/page_index.h"
#include "tests/host/fs_host.h"

/* ---- parts that are not linked ---- */

struct spinlock process_lock = SPINLOCK_INIT("process");

__weak int signal_thread(struct thread *t, int sig)
{
	return 0;
}
__weak int signal_process(struct process *p, int sig)
{
	return 0;
}
__weak int signal_mask_swap_user(const uint64_t *mask, size_t size)
{
	return 0;
}
__weak void signal_mask_unswap(void)
{
}
__weak void vm_file_truncated(struct inode *i, uint64_t from)
{
}
__weak void mem_devices_init(void)
{
}
__weak int deadline_from_timespec(const struct timespec64 __user *ts, uint64_t *deadline)
{
	struct timespec64 t;

	if (ts && copy_from_user(&t, ts, sizeof(t)))
		return -EFAULT;
	if (ts && (t.sec < 0 || t.nsec < 0 || t.nsec >= (int64_t)NSEC_PER_SEC))
		return -EINVAL;
	*deadline = !ts || t.sec > 1 << 20 ? UINT64_MAX
					   : clock_ns() + (uint64_t)t.sec * NSEC_PER_SEC + (uint64_t)t.nsec;
	return 0;
}

const struct file_ops blkdev_file_ops __weak; /* no block devices */

/* ---- start ---- */

void fs_host_up(void)
{
	page_alloc_init_percpu();
	page_index_init();
	dcache_init();
	inode_init();
	namei_init();
	file_init();
	files_init();
	file_locks_init();
	pipe_init();
	anon_init();
	ramfs_init();
	mount_root();
}

struct process *fs_host_process(void)
{
	struct process *p = calloc(1, sizeof(*p));

	HOST_CHECK(p);
	p->pid = 100;
	p->nr_threads = 1;
	for (unsigned k = 0; k < NR_RLIMITS; k++)
		p->rlimits[k][0] = p->rlimits[k][1] = RLIM_INFINITY;
	p->rlimits[RLIMIT_NOFILE][0] = 4096;
	p->files = files_create();
	p->fs = fs_context_create();
	HOST_CHECK(p->files && p->fs);
	return p;
}
