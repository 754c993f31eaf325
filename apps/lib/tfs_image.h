/* SPDX-License-Identifier: MIT */
/* A tfs image or device, block by block; for mkfs.tfs and fsck.tfs. */
#ifndef APPS_LIB_TFS_IMAGE_H
#define APPS_LIB_TFS_IMAGE_H

#include <stdbool.h>
#include <tfs_format.h> /* fs/tfs/format.h, copied by the build */

struct tfs_image {
	const char *path;
	int fd;
	uint64_t blocks; /* of the file or device */
};

/* 0, or -1 with a message.  @writable: else for reading only. */
int tfs_image_open(struct tfs_image *im, const char *path, bool writable);
/* One block: 0, or -1 with a message. */
int tfs_image_read(struct tfs_image *im, uint64_t block, void *buf);
int tfs_image_write(struct tfs_image *im, uint64_t block, const void *buf);
/* Superblock with its sum. */
int tfs_image_write_super(struct tfs_image *im, struct tfs_super *sb);
/* NULL if @sb can be believed, else what is wrong. */
const char *tfs_super_wrong(const struct tfs_super *sb, uint64_t blocks);

#endif /* APPS_LIB_TFS_IMAGE_H */
