/* SPDX-License-Identifier: MIT */
/*
 * Damaged images of tfs: a good image with bytes of it changed is mounted, walked,
 * read, written to and unmounted.  Whatever the image says, calls may fail and nothing
 * more.
 *
 * The input is a list of changes: block (1 byte), offset (2), length (1), bytes.  Bit 7
 * of the block asks that sums be put right afterwards, so that what they protect is
 * reached as well.
 *
 * SOURCES: @fs tests/host/uaccess.c fs/block.c fs/blkdev_file.c fs/cached_file.c fs/tfs/alloc.c fs/tfs/dir.c fs/tfs/dir_block.c fs/tfs/extent.c fs/tfs/file.c fs/tfs/inode.c fs/tfs/names.c fs/tfs/super.c fs/tfs/sync.c mm/page_cache.c mm/page_lock.c mm/dirty.c mm/readahead.c mm/writeback.c
 */
#include "tests/host/mm_stub.h"
#include "fs/block.h"
#include "fs/internal.h"
#include "fs/sys.h"
#include "fs/tfs/format.h"
#include "mm/dirty.h"
#include "mm/psi.h"
#include "tests/fuzz/fuzz.h"
#include "tests/host/fs_host.h"

#define BLOCKS 48u

void owner_get(struct owner *o)
{
}
void owner_put(struct owner *o)
{
}
void memcg_gauge_add(struct owner *o, enum memcg_gauge g, int64_t pages)
{
}
bool memcg_dirty_over(struct owner *o, unsigned percent)
{
	return false;
}
void lru_add_pages(struct page *const *p, unsigned n)
{
}
void lru_remove(struct page *p)
{
}
void lru_used_again(struct page *p)
{
}
void psi_stall_begin(struct psi_stall *s)
{
}
void psi_stall_end(struct psi_stall *s)
{
}
uintptr_t workingset_eviction(struct page *p)
{
	return 0;
}
void workingset_refault(struct page *p, uintptr_t shadow)
{
}
bool rmap_unmap(struct mapping *m, struct page *p)
{
	return false;
}
void rmap_write_protect(struct mapping *m, uint64_t first, uint64_t last)
{
}

/* ---- the device ---- */

static uint8_t image[BLOCKS * TFS_BLOCK], good[BLOCKS * TFS_BLOCK];
static struct block_device dev;

static void submit(struct block_device *b, struct block_request *r)
{
	uint8_t *at = image + r->sector * 512;

	for (unsigned i = 0; i < r->nr_pages; i++, at += TFS_BLOCK) {
		if (r->write)
			memcpy(at, page_virt(r->pages[i]), TFS_BLOCK);
		else
			memcpy(page_virt(r->pages[i]), at, TFS_BLOCK);
	}
	r->done(r, 0);
}

/* An empty image, as mkfs.tfs makes it. */
static void make(void)
{
	struct tfs_super *sb = (void *)image;
	struct tfs_dinode *root = (void *)(image + 2 * TFS_BLOCK + TFS_ROOT * sizeof(*root));

	*sb = (struct tfs_super){ .magic = TFS_MAGIC, .version = TFS_VERSION,
				  .block_size = TFS_BLOCK, .state = TFS_CLEAN, .blocks = BLOCKS,
				  .bitmap_start = 1, .bitmap_blocks = 1, .inode_start = 2,
				  .inode_blocks = 2, .data_start = 4 };
	memset(image + TFS_BLOCK, 0xff, TFS_BLOCK);
	for (unsigned n = sb->data_start; n < BLOCKS; n++)
		image[TFS_BLOCK + n / 8] &= (uint8_t)~(1u << n % 8);
	*root = (struct tfs_dinode){ .mode = S_IFDIR | 0755, .nlink = 2, .ino = TFS_ROOT,
				     .parent = TFS_ROOT };
}

static void put_sums_right(void)
{
	struct tfs_super *sb = (void *)image;

	sb->crc = 0;
	sb->crc = tfs_crc(sb, sizeof(*sb));
	for (unsigned k = 0; k < 2 * TFS_INODES_PER_BLOCK; k++) {
		struct tfs_dinode *d = (void *)(image + 2 * TFS_BLOCK + k * sizeof(*d));

		d->crc = 0;
		if (d->mode)
			d->crc = tfs_crc(d, sizeof(*d));
	}
}

/* ---- what is done with it ---- */

static void write_file(const char *path, size_t n)
{
	static char b[3 * TFS_BLOCK];
	struct file *f = vfs_open(path, O_CREAT | O_RDWR | O_NONBLOCK, 0644);
	loff_t pos = 0;

	if (IS_ERR(f))
		return;
	(void)vfs_write(f, b, min(n, sizeof(b)), &pos);
	fput(f);
}

static void read_file(const char *path)
{
	static char b[2 * TFS_BLOCK];
	struct file *f = vfs_open(path, O_RDONLY | O_NONBLOCK, 0); /* it may be a fifo by now */
	loff_t pos = 0;

	if (IS_ERR(f))
		return;
	if (!S_ISDIR(f->inode->mode) && S_ISREG(f->inode->mode))
		for (unsigned k = 0; k < 16 && vfs_read(f, b, sizeof(b), &pos) > 0; k++)
			;
	fput(f);
}

static int count_entry(void *ctx, const char *name, size_t len, uint64_t ino, unsigned type,
		       loff_t next)
{
	MUST(len && len <= NAME_MAX_BYTES && next > 0);
	return ++*(unsigned *)ctx > 1000;
}

static void list(const char *path)
{
	struct file *f = vfs_open(path, O_RDONLY | O_DIRECTORY, 0);
	unsigned n = 0;
	loff_t pos = 0;

	if (IS_ERR(f))
		return;
	mutex_lock(&f->inode->lock);
	if (f->ops->readdir)
		(void)f->ops->readdir(f, count_entry, &n, &pos);
	mutex_unlock(&f->inode->lock);
	fput(f);
}

static const char *const names[] = { "/m/a", "/m/b", "/m/d", "/m/d/c", "/m/d/e", "/m/l", "/m/l2" };

static void use(void)
{
	list("/m");
	list("/m/d");
	list("/m/d/e");
	for (size_t k = 0; k < ARRAY_SIZE(names); k++)
		read_file(names[k]);
	write_file("/m/new", 100);
	write_file("/m/a", 2 * TFS_BLOCK);
	(void)do_renameat(AT_FDCWD, "/m/a", AT_FDCWD, "/m/d/a", 0);
	(void)do_renameat(AT_FDCWD, "/m/d", AT_FDCWD, "/m/b", 0);
	(void)do_renameat(AT_FDCWD, "/m/d/e", AT_FDCWD, "/m/e", 0);
	(void)do_linkat(AT_FDCWD, "/m/b", AT_FDCWD, "/m/d/h", 0);
	for (size_t k = 0; k < ARRAY_SIZE(names); k++)
		(void)do_unlinkat(AT_FDCWD, names[k], k == 2 || k == 4 ? AT_REMOVEDIR : 0);
	(void)do_mkdirat(AT_FDCWD, "/m/dir", 0755);
	(void)supers_sync(NULL);
}

static void build_good(void)
{
	make();
	put_sums_right();
	MUST(!do_mount("/fz", "/m", "tfs", 0, NULL));
	write_file("/m/a", 100);
	write_file("/m/b", 3 * TFS_BLOCK);
	MUST(!do_mkdirat(AT_FDCWD, "/m/d", 0755));
	write_file("/m/d/c", 10);
	MUST(!do_mkdirat(AT_FDCWD, "/m/d/e", 0755));
	MUST(!do_symlinkat("a", AT_FDCWD, "/m/l"));
	MUST(!do_linkat(AT_FDCWD, "/m/a", AT_FDCWD, "/m/l2", 0));
	MUST(!do_umount("/m", 0));
	memcpy(good, image, sizeof(good));
}

void fuzz_setup(void)
{
	fs_host_up();
	current->process = fs_host_process();
	page_cache_init();
	wq_init(&writeback_done, "writeback.done");
	tfs_init();
	dev = (struct block_device){ .name = "fz", .rdev = MKDEV(1, 0), .pages = BLOCKS,
				     .submit = submit };
	MUST(!block_register(&dev));
	MUST(!do_mknodat(AT_FDCWD, "/fz", S_IFBLK | 0600, dev.rdev));
	MUST(!do_mkdirat(AT_FDCWD, "/m", 0755));
	build_good();
}

void fuzz_one(const uint8_t *data, size_t n)
{
	bool sums = false;

	memcpy(image, good, sizeof(image));
	while (n >= 5) {
		unsigned block = data[0] & 127, off = (data[1] | data[2] << 8) % TFS_BLOCK;
		size_t len = min(min((size_t)data[3], n - 4), (size_t)(TFS_BLOCK - off));

		sums |= data[0] >> 7;
		if (block < BLOCKS)
			memcpy(image + block * TFS_BLOCK + off, data + 4, len);
		data += 4 + len;
		n -= 4 + len;
	}
	if (sums)
		put_sums_right();
	(void)mapping_shrink(&dev.mapping);
	if (do_mount("/fz", "/m", "tfs", 0, NULL))
		return;
	use();
	MUST(!do_umount("/m", 0));
}
