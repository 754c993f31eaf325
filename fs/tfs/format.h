/* SPDX-License-Identifier: MIT */
/*
 * tfs on disk.
 *
 *	block 0         superblock
 *	bitmap_start    one bit per block of the device, 1: in use
 *	inode_start     inode table, 16 inodes per block; number 0 is never used
 *	data_start      files, directories, lists of extents
 *
 * Blocks are 4096 bytes, numbers little-endian.  A block is named by its place on the
 * device, counted from 0.  Superblock, inodes and lists of extents carry a CRC-32C over
 * themselves, taken with the field at 0.
 *
 * Included by the kernel and, through a copy made by the build, by mkfs.tfs and fsck.tfs;
 * so it stands alone.
 */
#ifndef TFS_FORMAT_H
#define TFS_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define TFS_MAGIC       0x313053464c4c4154ULL /* "TALLFS01" */
#define TFS_VERSION     1
#define TFS_BLOCK       4096u
#define TFS_ROOT        1u                    /* inode number of the root directory */
#define TFS_NAME_MAX    255u
#define TFS_MIN_BLOCKS  16u
#define TFS_MAX_BLOCKS  (1ULL << 32)          /* 16 TiB; also of one file */

#define TFS_CLEAN  1u /* unmounted; nothing is under way */
#define TFS_IN_USE 2u /* mounted for writing, or it was when the machine stopped */

struct tfs_super {
	uint64_t magic;
	uint32_t version;
	uint32_t crc;
	uint32_t block_size;    /* TFS_BLOCK */
	uint32_t state;         /* TFS_CLEAN or TFS_IN_USE */
	uint64_t blocks;        /* of the whole file system */
	uint64_t bitmap_start, bitmap_blocks;
	uint64_t inode_start, inode_blocks;
	uint64_t data_start;
	uint8_t uuid[16];
};

struct tfs_extent {
	uint64_t start;         /* block on the device */
	uint32_t block;         /* block in the file */
	uint32_t len;           /* blocks, not 0 */
};

#define TFS_INLINE_EXTENTS 10u

/* All zero: free. */
struct tfs_dinode {
	uint32_t crc;
	uint32_t mode;          /* as st_mode */
	uint32_t uid, gid;
	uint32_t nlink;         /* 0: unlinked, but was open */
	uint32_t nr_extents;    /* here and in the lists */
	uint64_t ino;
	uint64_t size;          /* bytes */
	uint64_t atime, mtime, ctime; /* nanoseconds since 1970 */
	uint64_t parent;        /* of a directory: the one that names it; the root its own */
	uint64_t rdev;
	uint64_t list;          /* first struct tfs_list, 0: none */
	struct tfs_extent extent[TFS_INLINE_EXTENTS]; /* by block, without overlap */
	uint64_t pad;
};

#define TFS_INODES_PER_BLOCK (TFS_BLOCK / 256u)
#define TFS_LIST_MAGIC       0x5453494cu
#define TFS_LIST_EXTENTS     254u

/* One block of further extents of a file. */
struct tfs_list {
	uint32_t magic;
	uint32_t crc;
	uint64_t ino;
	uint64_t next;          /* 0: the last */
	uint32_t count;
	uint32_t pad;
	struct tfs_extent extent[TFS_LIST_EXTENTS];
};

/*
 * Directories are files of whole blocks; the entries of a block fill it exactly and
 * none crosses its end.  "." and ".." are not stored.
 */
struct tfs_dirent {
	uint32_t ino;           /* 0: free space */
	uint16_t rec_len;       /* bytes to the next entry, a multiple of 8 */
	uint8_t name_len;
	uint8_t type;           /* (mode & S_IFMT) >> 12 */
	char name[];            /* not terminated; neither '/' nor NUL in it */
};
#define TFS_DIRENT_LEN(name_len) ((sizeof(struct tfs_dirent) + (name_len) + 7u) & ~7u)

_Static_assert(sizeof(struct tfs_dinode) == 256, "16 inodes to the block");
_Static_assert(sizeof(struct tfs_list) == TFS_BLOCK, "a list is a block");
_Static_assert(sizeof(struct tfs_dirent) == 8, "entries are aligned to 8");

/* CRC-32C (Castagnoli, reflected 0x82f63b78), four bits at a time. */
static inline uint32_t tfs_crc(const void *data, size_t n)
{
	static const uint32_t t[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	const uint8_t *p = data;
	uint32_t c = ~0u;

	while (n--) {
		c ^= *p++;
		c = c >> 4 ^ t[c & 15];
		c = c >> 4 ^ t[c & 15];
	}
	return ~c;
}

#endif /* TFS_FORMAT_H */
