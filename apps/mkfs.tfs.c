/* SPDX-License-Identifier: MIT */
/*
 * mkfs.tfs: makes an empty tfs on a block device or in an image file.
 *
 *	mkfs.tfs [-i INODES] DEVICE
 *
 * Status: 0, 1 on failure, 2 usage.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apps/lib/options.h"
#include "apps/lib/tfs_image.h"

#define BLOCKS_PER_INODE 16u /* one inode for 64 KiB unless -i says otherwise */

static uint64_t div_up(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

static void plan(struct tfs_super *sb, uint64_t blocks, uint64_t inodes)
{
	int fd = open("/dev/urandom", O_RDONLY);

	memset(sb, 0, sizeof(*sb));
	sb->magic = TFS_MAGIC;
	sb->version = TFS_VERSION;
	sb->block_size = TFS_BLOCK;
	sb->state = TFS_CLEAN;
	sb->blocks = blocks;
	sb->bitmap_start = 1;
	sb->bitmap_blocks = div_up(blocks, TFS_BLOCK * 8);
	sb->inode_start = sb->bitmap_start + sb->bitmap_blocks;
	sb->inode_blocks = div_up(inodes + 1, TFS_INODES_PER_BLOCK); /* number 0 is not used */
	sb->data_start = sb->inode_start + sb->inode_blocks;
	if (fd >= 0) {
		if (read(fd, sb->uuid, sizeof(sb->uuid)) != sizeof(sb->uuid))
			memset(sb->uuid, 0, sizeof(sb->uuid));
		close(fd);
	}
}

/* Bitmap block @b: what lies before the data, and what lies behind the end, is in use. */
static void fill_bitmap(const struct tfs_super *sb, uint64_t b, uint8_t *block)
{
	memset(block, 0, TFS_BLOCK);
	for (uint64_t k = 0; k < TFS_BLOCK * 8; k++) {
		uint64_t n = b * TFS_BLOCK * 8 + k;

		if (n < sb->data_start || n >= sb->blocks)
			block[k / 8] |= (uint8_t)(1u << (k % 8));
	}
}

static void make_root(uint8_t *block)
{
	struct tfs_dinode *d = (struct tfs_dinode *)block + TFS_ROOT;
	uint64_t now = (uint64_t)time(NULL) * 1000000000u;

	d->mode = 0040755;
	d->nlink = 2;
	d->ino = TFS_ROOT;
	d->parent = TFS_ROOT;
	d->atime = d->mtime = d->ctime = now;
	d->crc = tfs_crc(d, sizeof(*d));
}

static int make(struct tfs_image *im, struct tfs_super *sb)
{
	static uint8_t block[TFS_BLOCK];

	for (uint64_t b = 0; b < sb->bitmap_blocks; b++) {
		fill_bitmap(sb, b, block);
		if (tfs_image_write(im, sb->bitmap_start + b, block))
			return -1;
	}
	for (uint64_t b = 0; b < sb->inode_blocks; b++) {
		memset(block, 0, sizeof(block));
		if (!b)
			make_root(block);
		if (tfs_image_write(im, sb->inode_start + b, block))
			return -1;
	}
	/* Last, so that half an image is none. */
	if (tfs_image_write_super(im, sb) || fsync(im->fd))
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	struct tfs_image im;
	struct tfs_super sb;
	uint64_t inodes = 0;
	int c;

	while ((c = getopt(argc, argv, "i:")) != -1) {
		if (c != 'i')
			goto usage;
		inodes = (uint64_t)option_number("mkfs.tfs", "-i", optarg, 1, (1u << 31) - 1);
	}
	if (optind + 1 != argc)
		goto usage;
	if (tfs_image_open(&im, argv[optind], true))
		return 1;
	if (im.blocks > TFS_MAX_BLOCKS)
		im.blocks = TFS_MAX_BLOCKS;
	if (!inodes)
		inodes = im.blocks / BLOCKS_PER_INODE > 64 ? im.blocks / BLOCKS_PER_INODE : 64;
	if (im.blocks < TFS_MIN_BLOCKS) {
		fprintf(stderr, "mkfs.tfs: %s: %llu bytes, at least %u needed\n", im.path,
			(unsigned long long)im.blocks * TFS_BLOCK, TFS_MIN_BLOCKS * TFS_BLOCK);
		return 1;
	}
	plan(&sb, im.blocks, inodes);
	if (sb.data_start >= sb.blocks) {
		fprintf(stderr, "mkfs.tfs: %s: %llu inodes leave no room for files\n", im.path,
			(unsigned long long)inodes);
		return 1;
	}
	if (make(&im, &sb)) {
		fprintf(stderr, "mkfs.tfs: %s: not made\n", im.path);
		return 1;
	}
	printf("%s: %llu blocks of 4 KiB, %llu for files, %llu inodes\n", im.path,
	       (unsigned long long)sb.blocks, (unsigned long long)(sb.blocks - sb.data_start),
	       (unsigned long long)(sb.inode_blocks * TFS_INODES_PER_BLOCK - 1));
	return 0;
usage:
	fprintf(stderr, "usage: mkfs.tfs [-i INODES] DEVICE\n");
	return 2;
}
