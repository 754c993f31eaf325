/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing through the page cache, for file systems with a store.
 */
#ifndef FS_CACHED_FILE_H
#define FS_CACHED_FILE_H

#include "fs/vfs.h"
#include "mm/page_cache.h"

/*
 * cached_read - file_ops.read of a file whose pages are in @m
 * Context: thread, sleeps; takes no lock of the file.
 * Return: bytes (0 at the end of the file), or -EIO, -ENOMEM, -EFAULT, -EINTR.
 */
ssize_t cached_read(struct mapping *m, struct ra_state *ra, struct iov_iter *to, loff_t *pos);

/*
 * cached_write - writes into the cache; the file grows as far as bytes arrive
 * Context: thread, sleeps; the file's lock held (it covers the size).  User memory is
 * copied without a page lock.  The caller calls balance_dirty() once it has no lock.
 * Return: bytes, or -ENOSPC and the like from prepare_write(), -EIO, -ENOMEM, -EFAULT.
 */
ssize_t cached_write(struct mapping *m, struct iov_iter *from, loff_t *pos);

/* Bytes [from, to) of one page become zero, if the file has that page in cache or store: 0 or -errno. */
int cached_zero(struct mapping *m, loff_t from, loff_t to);

#endif /* FS_CACHED_FILE_H */
