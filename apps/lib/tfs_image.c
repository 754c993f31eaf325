/* SPDX-License-Identifier: MIT */
/* A tfs image or device, block by block: implements apps/lib/tfs_image.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apps/lib/tfs_image.h"

int tfs_image_open(struct tfs_image *im, const char *path, bool writable)
{
	off_t size;

	im->path = path;
	im->fd = open(path, writable ? O_RDWR : O_RDONLY);
	if (im->fd < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	size = lseek(im->fd, 0, SEEK_END); /* devices, too */
	if (size < 0) {
		fprintf(stderr, "%s: size: %s\n", path, strerror(errno));
		return -1;
	}
	im->blocks = (uint64_t)size / TFS_BLOCK;
	return 0;
}

static int transfer(struct tfs_image *im, uint64_t block, void *buf, bool write_it)
{
	size_t done = 0;

	if (block >= im->blocks) {
		fprintf(stderr, "%s: block %llu is beyond the end\n", im->path,
			(unsigned long long)block);
		return -1;
	}
	if (lseek(im->fd, (off_t)(block * TFS_BLOCK), SEEK_SET) < 0)
		goto fail;
	while (done < TFS_BLOCK) {
		ssize_t n = write_it ? write(im->fd, (char *)buf + done, TFS_BLOCK - done) :
				       read(im->fd, (char *)buf + done, TFS_BLOCK - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			goto fail;
		done += (size_t)n;
	}
	return 0;
fail:
	fprintf(stderr, "%s: block %llu: %s\n", im->path, (unsigned long long)block, strerror(errno));
	return -1;
}

int tfs_image_read(struct tfs_image *im, uint64_t block, void *buf)
{
	return transfer(im, block, buf, false);
}

int tfs_image_write(struct tfs_image *im, uint64_t block, const void *buf)
{
	return transfer(im, block, (void *)buf, true);
}

int tfs_image_write_super(struct tfs_image *im, struct tfs_super *sb)
{
	char block[TFS_BLOCK] = { 0 };

	sb->crc = 0;
	sb->crc = tfs_crc(sb, sizeof(*sb));
	memcpy(block, sb, sizeof(*sb));
	return tfs_image_write(im, 0, block);
}

const char *tfs_super_wrong(const struct tfs_super *sb, uint64_t blocks)
{
	struct tfs_super copy = *sb;

	copy.crc = 0;
	if (sb->magic != TFS_MAGIC)
		return "no tfs here";
	if (sb->crc != tfs_crc(&copy, sizeof(copy)))
		return "superblock damaged";
	if (sb->version != TFS_VERSION || sb->block_size != TFS_BLOCK)
		return "version or block size unknown";
	if (sb->blocks < TFS_MIN_BLOCKS || sb->blocks > blocks || sb->blocks > TFS_MAX_BLOCKS)
		return "size does not fit the device";
	if (sb->bitmap_start != 1 ||
	    sb->bitmap_blocks != (sb->blocks + TFS_BLOCK * 8 - 1) / (TFS_BLOCK * 8) ||
	    sb->inode_start != sb->bitmap_start + sb->bitmap_blocks || !sb->inode_blocks ||
	    sb->inode_blocks > sb->blocks || sb->data_start != sb->inode_start + sb->inode_blocks ||
	    sb->data_start >= sb->blocks)
		return "regions overlap or leave the device";
	return NULL;
}
