/* SPDX-License-Identifier: MIT */
/*
 * Block devices: asynchronous requests of whole pages.
 *
 * What:      a driver registers a device with a submit operation; a node /dev/NAME
 *            appears, whose bytes go through the device's own mapping.  A file
 *            system claims a device, sends requests to it, and keeps its metadata
 *            in that mapping, so that /dev/NAME and the file system never hold two
 *            versions of a block.
 * Invariant: a device is claimed by one file system, or open for writing, or
 *            neither; never both.
 * Locks:     a device's lock over claim and writers; none during input and output.
 */
#ifndef FS_BLOCK_H
#define FS_BLOCK_H

#include "fs/vfs.h"
#include "mm/page_cache.h"

#define SECTOR_SHIFT     9
#define SECTORS_PER_PAGE (PAGE_SIZE >> SECTOR_SHIFT)

/*
 * @pages are read into or written from, in this order, from @sector on.  The
 * request and the array belong to the device until done() is called: once, in
 * thread context, perhaps before block_submit() returns.
 */
struct block_request {
	uint64_t sector;       /* a multiple of SECTORS_PER_PAGE */
	struct page **pages;
	unsigned nr_pages;
	bool write;
	void (*done)(struct block_request *r, int err); /* 0, -EIO, -ENOMEM */
	struct list_head link; /* the driver's */
	uint64_t due;          /* the driver's */
};

/* Legend: [I] constant after registration, [l] under lock, [a] atomic */
struct block_device {
	char name[32];         /* [I] in /dev */
	uint64_t rdev;         /* [I] */
	uint64_t pages;        /* [I] size */
	/* Takes a request that lies within the device.  May sleep for memory. */
	void (*submit)(struct block_device *b, struct block_request *r); /* [I] */
	void *priv;            /* [I] the driver's */
	_Atomic int64_t size;  /* [I] bytes; for the mapping */
	struct mapping mapping; /* what /dev/NAME and metadata go through */
	struct mutex lock;
	void *claimed;         /* [l] by whom, or NULL */
	void (*want_sync)(void *who); /* [l] its metadata has been dirty for long, or is in the way */
	unsigned writers;      /* [l] files open for writing */
	_Atomic uint64_t reads, writes, read_pages, written_pages; /* [a] requests and pages */
	struct block_device *next; /* [I] */
};

/* The driver has filled name, rdev, pages, submit, priv.  0, -EEXIST, -ENOMEM. */
int block_register(struct block_device *b);
/* Out of range: done(-EIO) at once. */
void block_submit(struct block_device *b, struct block_request *r);
/* A device that /dev path @path names: or ERR_PTR(-ENOTBLK, -ENXIO, a path's error). */
struct block_device *block_find(const char *path);
struct block_device *block_by_inode(const struct inode *i); /* of a node; NULL */
/* Exclusive use by @who, who writes the device's mapping in an order of his own: 0 or -EBUSY. */
int block_claim(struct block_device *b, void *who, void (*want_sync)(void *who));
void block_release(struct block_device *b);
/* Calls @fn for each device (/proc/partitions). */
void block_for_each(void (*fn)(const struct block_device *b, void *arg), void *arg);

/*
 * Input and output of runs of cached pages: mapping_ops.read_pages and write_pages for a
 * run that lies at @block (4096-byte blocks) on the device without a gap.
 */
void block_read_run(struct block_device *b, uint64_t block, struct page **pages, unsigned n);
void block_write_run(struct block_device *b, uint64_t block, struct page **pages, unsigned n);

extern const struct file_ops blkdev_file_ops; /* of S_IFBLK inodes */

#endif /* FS_BLOCK_H */
