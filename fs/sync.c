/* SPDX-License-Identifier: MIT */
/*
 * What is only in memory goes to the store (sync, fsync), what is also in the store
 * leaves memory (drop_caches).  Source: fsync(2), sync(2), proc(5).
 */
#include "fs/block.h"
#include "fs/internal.h"
#include "fs/proc.h"
#include "fs/sys.h"

/* Memory files have nothing to wait for. */
static long sync_fd(int fd)
{
	struct fdref r = fdget(fd);
	long ret = -EINVAL;

	if (!r.file)
		return -EBADF;
	if (r.file->ops && r.file->ops->fsync)
		ret = r.file->ops->fsync(r.file);
	else if (r.file->inode && (S_ISREG(r.file->inode->mode) || S_ISDIR(r.file->inode->mode)))
		ret = 0;
	fdput(r);
	return ret;
}

long sys_fsync(int fd)
{
	return sync_fd(fd);
}

long sys_fdatasync(int fd)
{
	return sync_fd(fd);
}

long sys_sync(void)
{
	(void)writeback_sync(NULL, NULL);
	(void)supers_sync(NULL);
	return 0;
}

long sys_syncfs(int fd)
{
	struct fdref r = fdget(fd);
	long ret = 0;

	if (!r.file)
		return -EBADF;
	if (r.file->inode)
		ret = supers_sync(r.file->inode->super);
	fdput(r);
	return ret;
}

/* Stronger than asked for: the whole file is written, and waited for unless only started. */
long sys_sync_file_range(int fd, int64_t off, int64_t n, unsigned flags)
{
	struct fdref r;
	long ret = 0;

	if (off < 0 || n < 0 || (flags & ~7u))
		return -EINVAL;
	r = fdget(fd);
	if (!r.file)
		return -EBADF;
	if (r.file->inode && r.file->inode->mapping)
		ret = mapping_write_wait(r.file->inode->mapping, (uint64_t)off >> PAGE_SHIFT,
					 n ? ((uint64_t)off + (uint64_t)n - 1) >> PAGE_SHIFT :
					     UINT64_MAX);
	fdput(r);
	return ret;
}

static void drop_device(const struct block_device *b, void *arg)
{
	if (!b->claimed) /* a file system drops its device's pages itself */
		(void)mapping_shrink((struct mapping *)&b->mapping);
}

/* 1: clean pages; 2: inodes that nobody uses; 3: both. */
static ssize_t drop_caches_write(const char *text, size_t n, void *arg)
{
	const char *end;
	uint64_t v;

	if (parse_u64(text, &end, &v) || (*end && *end != '\n') || v < 1 || v > 4)
		return -EINVAL;
	supers_drop_caches(v & 1, v & 2);
	if (v & 1)
		block_for_each(drop_device, NULL);
	if (v & 2)
		slab_drain();
	return (ssize_t)n;
}

static int drop_caches_show(struct seq *s, void *arg)
{
	seq_printf(s, "0\n");
	return 0;
}

static void partition_line(const struct block_device *b, void *arg)
{
	seq_printf(arg, "%4u %7u %10llu %s\n", (unsigned)(b->rdev >> 8), (unsigned)(b->rdev & 255),
		   (unsigned long long)(b->pages * (PAGE_SIZE / 1024)), b->name);
}

/* Devices; there are no partitions on them. */
static int partitions_show(struct seq *s, void *arg)
{
	seq_printf(s, "major minor  #blocks  name\n\n");
	block_for_each(partition_line, s);
	return 0;
}

void sync_init(void)
{
	(void)proc_register("partitions", 0444, partitions_show, NULL, NULL);
	(void)proc_register("sys/vm/drop_caches", 0644, drop_caches_show, drop_caches_write, NULL);
}
