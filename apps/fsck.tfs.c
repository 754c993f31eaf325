/* SPDX-License-Identifier: MIT */
/*
 * fsck.tfs: checks a tfs, and with -y repairs it.
 *
 *	fsck.tfs [-y] DEVICE
 *
 * Pass 1 reads the inode table and counts whose each block is, pass 2 walks the
 * directories from the root, pass 3 compares link counts and looks for inodes without
 * a name, pass 4 compares the bitmap.  A repair takes away what cannot be believed: an
 * inode that is damaged or claims a block that another has, an entry without an inode.
 * A file that lost its name gets one in the root directory, lost.NUMBER.
 *
 * Status, as of other fscks: 0 clean, 1 repaired, 4 errors left, 8 cannot work, 16 usage.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/lib/tfs_image.h"

#define MODE_FMT 0170000u
#define MODE_DIR 0040000u
#define MODE_LNK 0120000u

struct ino {
	uint32_t mode;    /* 0: free, or not to be believed */
	uint32_t nlink;   /* as stored */
	uint32_t names;   /* entries found, and for directories the dots */
	uint64_t size, parent;
	bool seen;        /* directory: walked */
	struct tfs_extent *ext; /* directories only: where their blocks are */
	unsigned nr_ext;
};

static struct tfs_image im;
static struct tfs_super sb;
static struct ino *inos;
static uint64_t nr_inos;
static uint8_t *used;   /* per block of the device */
static bool repair;
static unsigned found, left_over;

/* Reports a mistake.  Return: is it to be repaired? */
static bool wrong(const char *fmt, ...)
{
	va_list ap;

	found++;
	printf("%s: ", im.path);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("%s\n", repair ? ": repaired" : "");
	left_over += !repair;
	return repair;
}

static void *must(void *p)
{
	if (!p) {
		fprintf(stderr, "fsck.tfs: no memory\n");
		exit(8);
	}
	return p;
}

static void must_io(int err)
{
	if (err)
		exit(8); /* the reason was printed */
}

/* ---- inodes ---- */

static void read_inode(uint64_t n, struct tfs_dinode *d)
{
	char block[TFS_BLOCK];

	must_io(tfs_image_read(&im, sb.inode_start + n / TFS_INODES_PER_BLOCK, block));
	memcpy(d, block + n % TFS_INODES_PER_BLOCK * sizeof(*d), sizeof(*d));
}

static void write_inode(uint64_t n, struct tfs_dinode *d)
{
	char block[TFS_BLOCK];
	uint64_t at = sb.inode_start + n / TFS_INODES_PER_BLOCK;

	d->crc = 0;
	if (d->mode)
		d->crc = tfs_crc(d, sizeof(*d));
	must_io(tfs_image_read(&im, at, block));
	memcpy(block + n % TFS_INODES_PER_BLOCK * sizeof(*d), d, sizeof(*d));
	must_io(tfs_image_write(&im, at, block));
}

static bool data_range(uint64_t start, uint64_t len)
{
	return len && start >= sb.data_start && start < sb.blocks && len <= sb.blocks - start;
}

/* Adds @n extents to @out after looking at them: 0, or what is wrong. */
static const char *take_extents(const struct tfs_extent *e, unsigned n, struct tfs_extent *out,
				unsigned *nr)
{
	for (; n--; e++) {
		const struct tfs_extent *last = *nr ? &out[*nr - 1] : NULL;

		if (!data_range(e->start, e->len))
			return "an extent leaves the data area";
		if (last && e->block < (uint64_t)last->block + last->len)
			return "extents are out of order";
		out[(*nr)++] = *e;
	}
	return NULL;
}

/* All extents of @d, malloced, and the blocks of its lists: NULL, or what is wrong. */
static const char *load_extents(const struct tfs_dinode *d, struct tfs_extent **out, unsigned *nr,
				uint64_t **lists, unsigned *nr_lists)
{
	unsigned inl = d->nr_extents < TFS_INLINE_EXTENTS ? d->nr_extents : TFS_INLINE_EXTENTS;
	const char *why;
	uint64_t block = d->list;

	*nr = *nr_lists = 0;
	*out = NULL;
	*lists = NULL;
	if (d->nr_extents > sb.blocks)
		return "too many extents";
	*out = must(malloc((d->nr_extents + 1) * sizeof(**out)));
	*lists = must(malloc((d->nr_extents / TFS_LIST_EXTENTS + 2) * sizeof(**lists)));
	why = take_extents(d->extent, inl, *out, nr);
	while (!why && *nr < d->nr_extents) {
		struct tfs_list l;
		uint32_t crc, want = d->nr_extents - *nr;

		want = want < TFS_LIST_EXTENTS ? want : TFS_LIST_EXTENTS;
		if (!data_range(block, 1))
			return "a list of extents leaves the data area";
		must_io(tfs_image_read(&im, block, &l));
		crc = l.crc;
		l.crc = 0;
		if (l.magic != TFS_LIST_MAGIC || l.ino != d->ino || l.count != want ||
		    crc != tfs_crc(&l, sizeof(l)))
			return "a list of extents is damaged";
		(*lists)[(*nr_lists)++] = block;
		block = l.next;
		why = take_extents(l.extent, want, *out, nr);
	}
	return why;
}

/* Takes or gives back the blocks: false if one is another's (then none is taken). */
static bool own(const struct tfs_extent *e, unsigned nr, const uint64_t *lists, unsigned nr_lists,
		int by)
{
	bool ok = true;

	for (unsigned i = 0; i < nr && ok; i++)
		for (uint64_t b = 0; b < e[i].len && ok; b++)
			ok = by < 0 || !used[e[i].start + b];
	for (unsigned i = 0; i < nr_lists && ok; i++)
		ok = by < 0 || !used[lists[i]];
	for (unsigned i = 0; i < nr && ok; i++)
		for (uint64_t b = 0; b < e[i].len; b++)
			used[e[i].start + b] = by > 0;
	for (unsigned i = 0; i < nr_lists && ok; i++)
		used[lists[i]] = by > 0;
	return ok;
}

static const char *check_inode(uint64_t n, struct tfs_dinode *d)
{
	struct tfs_dinode copy = *d;
	struct tfs_extent *ext;
	unsigned nr, nr_lists;
	uint64_t *lists;
	const char *why;

	copy.crc = 0;
	if (d->ino != n || !d->mode || d->crc != tfs_crc(&copy, sizeof(copy)))
		return "damaged";
	if (d->size > TFS_MAX_BLOCKS * TFS_BLOCK ||
	    ((d->mode & MODE_FMT) == MODE_DIR && (d->size % TFS_BLOCK || d->parent >= nr_inos)) ||
	    ((d->mode & MODE_FMT) == MODE_LNK && (!d->size || d->size >= TFS_BLOCK)))
		return "size makes no sense";
	why = load_extents(d, &ext, &nr, &lists, &nr_lists);
	if (!why && !own(ext, nr, lists, nr_lists, 1))
		why = "has a block of another";
	if (!why) {
		inos[n] = (struct ino){ .mode = d->mode, .nlink = d->nlink, .size = d->size,
					.parent = d->parent };
		if ((d->mode & MODE_FMT) == MODE_DIR) {
			inos[n].ext = ext;
			inos[n].nr_ext = nr;
			ext = NULL;
		}
	}
	free(ext);
	free(lists);
	return why;
}

static void pass_inodes(void)
{
	static const struct tfs_dinode none;

	for (uint64_t n = 1; n < nr_inos; n++) {
		struct tfs_dinode d;
		const char *why;

		read_inode(n, &d);
		if (!memcmp(&d, &none, sizeof(d)))
			continue;
		why = check_inode(n, &d);
		if (why && n != TFS_ROOT && wrong("inode %llu: %s", (unsigned long long)n, why)) {
			memset(&d, 0, sizeof(d));
			write_inode(n, &d);
		}
	}
}

static void free_inode(uint64_t n)
{
	struct tfs_dinode d;
	struct tfs_extent *ext;
	unsigned nr, nr_lists;
	uint64_t *lists;

	read_inode(n, &d);
	if (!load_extents(&d, &ext, &nr, &lists, &nr_lists))
		own(ext, nr, lists, nr_lists, -1);
	free(ext);
	free(lists);
	memset(&d, 0, sizeof(d));
	write_inode(n, &d);
	inos[n].mode = 0;
}

/* ---- directories ---- */

static bool is_dir(uint64_t n)
{
	return (inos[n].mode & MODE_FMT) == MODE_DIR;
}

/* Device block of block @b of directory @n, 0: none. */
static uint64_t dir_block(uint64_t n, uint64_t b)
{
	for (unsigned i = 0; i < inos[n].nr_ext; i++) {
		const struct tfs_extent *e = &inos[n].ext[i];

		if (b >= e->block && b - e->block < e->len)
			return e->start + (b - e->block);
	}
	return 0;
}

static bool block_sane(const char *block)
{
	for (unsigned off = 0; off < TFS_BLOCK;) {
		const struct tfs_dirent *e = (const void *)(block + off);

		if (e->rec_len < TFS_DIRENT_LEN(e->name_len) || e->rec_len % 8 ||
		    e->rec_len > TFS_BLOCK - off || (e->ino && !e->name_len))
			return false;
		for (unsigned k = 0; e->ino && k < e->name_len; k++)
			if (e->name[k] == '/' || !e->name[k])
				return false;
		off += e->rec_len;
	}
	return true;
}

/* What is wrong with an entry of directory @dir, or NULL; counts its name. */
static const char *check_entry(uint64_t dir, const struct tfs_dirent *e)
{
	uint32_t n = e->ino;

	if (n >= nr_inos || !inos[n].mode || n == TFS_ROOT)
		return "names no inode";
	if (is_dir(n)) {
		if (inos[n].seen || inos[n].parent != dir)
			return "is a second name of a directory";
		inos[n].seen = true;
		inos[n].names += 2; /* this one and its own dot */
		inos[dir].names++;  /* its two dots */
		return NULL;
	}
	inos[n].names++;
	return NULL;
}

static void walk_block(uint64_t dir, uint64_t at)
{
	char block[TFS_BLOCK];
	bool changed = false;

	must_io(tfs_image_read(&im, at, block));
	if (!block_sane(block)) {
		if (wrong("directory %llu: a block is damaged", (unsigned long long)dir)) {
			memset(block, 0, sizeof(block));
			((struct tfs_dirent *)block)->rec_len = TFS_BLOCK;
			must_io(tfs_image_write(&im, at, block));
		}
		return;
	}
	for (unsigned off = 0; off < TFS_BLOCK;) {
		struct tfs_dirent *e = (void *)(block + off);
		const char *why = e->ino ? check_entry(dir, e) : NULL;

		if (why && wrong("directory %llu: \"%.*s\" %s", (unsigned long long)dir, e->name_len,
				 e->name, why)) {
			e->ino = 0;
			changed = true;
		}
		off += e->rec_len;
	}
	if (changed)
		must_io(tfs_image_write(&im, at, block));
}

/* Every directory that has been seen and not walked, until there is none. */
static void pass_directories(void)
{
	bool *walked = must(calloc(nr_inos, sizeof(*walked)));
	bool more = true;

	inos[TFS_ROOT].seen = true;
	inos[TFS_ROOT].names = 2;
	while (more) {
		more = false;
		for (uint64_t n = 1; n < nr_inos; n++) {
			if (!is_dir(n) || !inos[n].seen || walked[n])
				continue;
			walked[n] = more = true;
			for (uint64_t b = 0; b < inos[n].size / TFS_BLOCK; b++) {
				uint64_t at = dir_block(n, b);

				if (at)
					walk_block(n, at);
				else
					(void)wrong("directory %llu: block %llu is missing",
						    (unsigned long long)n, (unsigned long long)b);
			}
		}
	}
	free(walked);
}

/* Puts "lost.N" into the root directory: false if it has no gap. */
static bool name_lost(uint64_t n)
{
	char name[32];
	unsigned len = (unsigned)snprintf(name, sizeof(name), "lost.%llu", (unsigned long long)n);
	unsigned need = TFS_DIRENT_LEN(len);

	for (uint64_t b = 0; b < inos[TFS_ROOT].size / TFS_BLOCK; b++) {
		uint64_t at = dir_block(TFS_ROOT, b);
		char block[TFS_BLOCK];

		if (!at)
			continue;
		must_io(tfs_image_read(&im, at, block));
		for (unsigned off = 0; off < TFS_BLOCK;) {
			struct tfs_dirent *e = (void *)(block + off);
			unsigned taken = e->ino ? TFS_DIRENT_LEN(e->name_len) : 0;

			if (e->rec_len - taken >= need) {
				struct tfs_dirent *w = (void *)(block + off + taken);

				w->rec_len = (uint16_t)(e->rec_len - taken);
				if (taken)
					e->rec_len = (uint16_t)taken;
				w->ino = (uint32_t)n;
				w->name_len = (uint8_t)len;
				w->type = (uint8_t)((inos[n].mode & MODE_FMT) >> 12);
				memcpy(w->name, name, len);
				must_io(tfs_image_write(&im, at, block));
				return true;
			}
			off += e->rec_len;
		}
	}
	return false;
}

static void pass_links(void)
{
	for (uint64_t n = 1; n < nr_inos; n++) {
		struct tfs_dinode d;

		if (!inos[n].mode)
			continue;
		if (!inos[n].names && (!inos[n].nlink || is_dir(n))) {
			/* Unlinked while open, or a directory that nobody can reach. */
			if (wrong("inode %llu has no name", (unsigned long long)n))
				free_inode(n);
			continue;
		}
		if (!inos[n].names && wrong("file %llu has lost its name", (unsigned long long)n)) {
			if (name_lost(n)) {
				inos[n].names = 1;
			} else {
				printf("%s: no room in the root directory for lost.%llu\n", im.path,
				       (unsigned long long)n);
				left_over++;
			}
		}
		if (inos[n].names && inos[n].names != inos[n].nlink &&
		    wrong("inode %llu: %u links, but %u names", (unsigned long long)n, inos[n].nlink,
			  inos[n].names)) {
			read_inode(n, &d);
			d.nlink = inos[n].names;
			write_inode(n, &d);
		}
	}
}

/* ---- the bitmap ---- */

static void pass_bitmap(void)
{
	uint64_t missing = 0, leaked = 0;

	for (uint64_t b = 0; b < sb.bitmap_blocks; b++) {
		uint8_t block[TFS_BLOCK], want[TFS_BLOCK] = { 0 };

		must_io(tfs_image_read(&im, sb.bitmap_start + b, block));
		for (uint64_t k = 0; k < TFS_BLOCK * 8; k++) {
			uint64_t n = b * TFS_BLOCK * 8 + k;
			bool is = block[k / 8] >> (k % 8) & 1;
			bool should = n >= sb.blocks || n < sb.data_start || used[n];

			missing += should && !is;
			leaked += !should && is;
			if (should)
				want[k / 8] |= (uint8_t)(1u << (k % 8));
		}
		if (repair && memcmp(block, want, TFS_BLOCK))
			must_io(tfs_image_write(&im, sb.bitmap_start + b, want));
	}
	if (missing)
		(void)wrong("%llu blocks in use are marked free", (unsigned long long)missing);
	if (leaked)
		(void)wrong("%llu blocks marked in use are nobody's", (unsigned long long)leaked);
}

static int check(void)
{
	char block[TFS_BLOCK];
	const char *why;

	must_io(tfs_image_read(&im, 0, block));
	memcpy(&sb, block, sizeof(sb));
	why = tfs_super_wrong(&sb, im.blocks);
	if (why) {
		printf("%s: %s\n", im.path, why);
		return 8;
	}
	nr_inos = sb.inode_blocks * TFS_INODES_PER_BLOCK;
	inos = must(calloc(nr_inos, sizeof(*inos)));
	used = must(calloc(sb.blocks, 1));
	pass_inodes();
	if (!is_dir(TFS_ROOT) || inos[TFS_ROOT].parent != TFS_ROOT) {
		printf("%s: the root directory is damaged\n", im.path);
		return 8;
	}
	pass_directories();
	pass_links();
	pass_bitmap();
	if (sb.state != TFS_CLEAN && wrong("was not unmounted")) {
		sb.state = TFS_CLEAN;
		must_io(tfs_image_write_super(&im, &sb));
	}
	if (repair && fsync(im.fd))
		return 8;
	printf("%s: %u errors%s\n", im.path, found,
	       !found ? "" : left_over ? ", not all repaired" : ", repaired");
	return !found ? 0 : left_over ? 4 : 1;
}

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "y")) != -1) {
		if (c != 'y')
			goto usage;
		repair = true;
	}
	if (optind + 1 != argc)
		goto usage;
	if (tfs_image_open(&im, argv[optind], repair))
		return 8;
	return check();
usage:
	fprintf(stderr, "usage: fsck.tfs [-y] DEVICE\n");
	return 16;
}
