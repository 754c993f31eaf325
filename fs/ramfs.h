/* SPDX-License-Identifier: MIT */
/*
 * What fs/ramfs.c (folders, instances) and fs/ramfs_file.c (data) share.
 */
#ifndef FS_RAMFS_H
#define FS_RAMFS_H

#include "fs/internal.h"

struct ramfs_super {
	uint64_t max_pages;           /* UINT64_MAX: no limit */
	_Atomic uint64_t pages;       /* upper bound of pages in use */
	_Atomic uint64_t inodes;
};

/* NULL for instances without limit and count (memfd). */
static inline struct ramfs_super *ramfs_info(const struct super *s)
{
	return s->priv;
}

static inline void ramfs_count_pages(struct super *s, int64_t n)
{
	if (ramfs_info(s))
		atomic_fetch_add_explicit(&ramfs_info(s)->pages, (uint64_t)n, memory_order_relaxed);
}

void ramfs_evict(struct inode *i);
/* fs/vm_truncate.c: @i was cut off at page @from; nobody keeps pages from there on mapped.  Sleeps. */
void vm_file_truncated(struct inode *i, uint64_t from);
extern const struct inode_ops ramfs_file_iops;

#endif /* FS_RAMFS_H */
