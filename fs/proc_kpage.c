/* SPDX-License-Identifier: MIT */
/*
 * /proc/kpagecgroup: for each page of the machine, by page number, eight bytes: the
 * inode number of the directory of the group that the page is charged to, or 0.
 * Pages of small kernel objects belong to many groups and show 0.
 *
 * Locks: none; a page's owner is looked at under RCU, as it is at that moment.
 * Source: Linux's Documentation/admin-guide/mm/pagemap.rst.
 */
#include "fs/cgroup.h"
#include "fs/proc.h"

#define ENTRY   sizeof(uint64_t)
#define AT_ONCE 128 /* entries */

static uint64_t group_of(uint64_t pfn)
{
	struct owner *o;
	uint64_t ino = 0;

	rcu_read_lock();
	/* Written by whoever charges or frees the page at this moment. */
	o = __atomic_load_n(&pfn_to_page(pfn)->owner, __ATOMIC_ACQUIRE);
	if (o)
		ino = cg_file_ino(owner_memcg(o), NULL);
	rcu_read_unlock();
	return ino;
}

static ssize_t kpagecgroup_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	uint64_t some[AT_ONCE], pfn, end;
	ssize_t done = 0;

	if (*pos < 0 || *pos % ENTRY || to->count % ENTRY)
		return -EINVAL;
	pfn = (uint64_t)*pos / ENTRY;
	end = page_pfn_end();
	while (pfn < end && to->count) {
		uint64_t stop, n = min(to->count / ENTRY, min(end - pfn, (uint64_t)AT_ONCE));
		size_t copied;

		if (page_is_known(pfn, &stop)) {
			n = min(n, stop - pfn);
			for (uint64_t i = 0; i < n; i++)
				some[i] = group_of(pfn + i);
		} else {
			n = min(n, stop - pfn);
			memset(some, 0, n * ENTRY);
		}
		copied = copy_to_iter(some, n * ENTRY, to);
		done += (ssize_t)copied;
		*pos += (loff_t)copied;
		if (copied < n * ENTRY)
			return done ? done : -EFAULT;
		if (signal_pending(current))
			break;
		cond_resched();
		pfn += n;
	}
	return done;
}

static const struct file_ops kpagecgroup_fops = { .read = kpagecgroup_read, .lseek = text_lseek };

void proc_kpage_init(void)
{
	if (proc_register_ops("kpagecgroup", 0400, &kpagecgroup_fops))
		pr_err("proc: no memory for /proc/kpagecgroup");
}
