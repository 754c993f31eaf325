/* SPDX-License-Identifier: MIT */
/*
 * tfs: which blocks and inode numbers are in use.
 *
 * The bitmap is a copy in memory; its changed blocks go to the device's mapping when a
 * sync comes to them.  What is freed waits in a list for the end of a sync, since until
 * then the inode on the device may still point to it.
 */
#include "fs/tfs/tfs.h"
#include "mm/vmalloc.h"

#define BITS_PER_BLOCK (TFS_BLOCK * 8u)

static bool test(const uint64_t *map, uint64_t n)
{
	return map[n / 64] >> (n % 64) & 1;
}

/* Sets or clears a run of blocks.  alloc_lock held. */
static void mark(struct tfs *fs, uint64_t start, uint64_t len, bool used)
{
	for (uint64_t n = start; n < start + len; n++) {
		if (used)
			fs->bitmap[n / 64] |= 1ULL << (n % 64);
		else
			fs->bitmap[n / 64] &= ~(1ULL << (n % 64));
	}
	for (uint64_t b = start / BITS_PER_BLOCK; b <= (start + len - 1) / BITS_PER_BLOCK; b++)
		fs->bitmap_dirty[b] = 1;
}

int tfs_load_bitmap(struct tfs *fs)
{
	uint64_t n = fs->sb.bitmap_blocks;

	fs->bitmap = vmalloc(n * TFS_BLOCK, GFP_NOWARN);
	fs->bitmap_dirty = kzalloc(n, GFP_NOWARN);
	if (!fs->bitmap || !fs->bitmap_dirty)
		return -ENOMEM;
	for (uint64_t b = 0; b < n; b++) {
		struct page *p = tfs_meta_page(fs, fs->sb.bitmap_start + b, false);

		if (IS_ERR(p))
			return (int)PTR_ERR(p);
		memcpy((char *)fs->bitmap + b * TFS_BLOCK, page_virt(p), TFS_BLOCK);
		page_put(p);
		cond_resched();
	}
	fs->free_blocks = 0;
	for (uint64_t b = fs->sb.data_start; b < fs->sb.blocks; b++)
		fs->free_blocks += !test(fs->bitmap, b);
	fs->hint = fs->sb.data_start;
	return 0;
}

/* First free block in [from, to), or @to.  alloc_lock held. */
static uint64_t next_free(const struct tfs *fs, uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t w = ~fs->bitmap[from / 64] >> (from % 64);

		if (w)
			return min(to, from + (uint64_t)__builtin_ctzll(w));
		from = (from / 64 + 1) * 64;
	}
	return to;
}

int tfs_alloc(struct tfs *fs, uint64_t goal, uint64_t *start, uint64_t *len)
{
	uint64_t want = *len, at, n = 1;

	mutex_lock(&fs->alloc_lock);
	if (goal < fs->sb.data_start || goal >= fs->sb.blocks)
		goal = fs->hint;
	at = next_free(fs, goal, fs->sb.blocks);
	if (at == fs->sb.blocks) {
		at = next_free(fs, fs->sb.data_start, goal);
		if (at == goal) {
			mutex_unlock(&fs->alloc_lock);
			return -ENOSPC;
		}
	}
	while (n < want && at + n < fs->sb.blocks && !test(fs->bitmap, at + n))
		n++;
	mark(fs, at, n, true);
	fs->free_blocks -= n;
	fs->hint = at + n < fs->sb.blocks ? at + n : fs->sb.data_start;
	mutex_unlock(&fs->alloc_lock);
	*start = at;
	*len = n;
	return 0;
}

void tfs_unalloc(struct tfs *fs, uint64_t start, uint64_t len)
{
	if (!len)
		return;
	mutex_lock(&fs->alloc_lock);
	mark(fs, start, len, false);
	fs->free_blocks += len;
	mutex_unlock(&fs->alloc_lock);
}

/* alloc_lock held. */
static void remember(struct tfs *fs, uint64_t start, uint64_t len)
{
	struct tfs_freed_list *l = &fs->freed;

	if (l->nr == l->cap) {
		unsigned cap = l->cap ? 2 * l->cap : 64;
		struct tfs_freed *v = kmalloc(cap * sizeof(*v), GFP_NOWARN);

		if (!v) {
			pr_warn("tfs: no memory to free %llu blocks of %s: fsck.tfs will",
				(unsigned long long)max(len, (uint64_t)1), fs->dev->name);
			return;
		}
		if (l->nr)
			memcpy(v, l->v, l->nr * sizeof(*v));
		kfree(l->v);
		l->v = v;
		l->cap = cap;
	}
	l->v[l->nr++] = (struct tfs_freed){ start, len };
}

void tfs_free(struct tfs *fs, uint64_t start, uint64_t len)
{
	mutex_lock(&fs->alloc_lock);
	remember(fs, start, len);
	mutex_unlock(&fs->alloc_lock);
}

uint64_t tfs_alloc_ino(struct tfs *fs)
{
	uint64_t ino = 0;

	mutex_lock(&fs->alloc_lock);
	for (uint64_t w = 0; w < DIV_ROUND_UP(fs->nr_inos, 64) && !ino; w++) {
		uint64_t room = ~fs->inos[w];

		if (room && w * 64 + (uint64_t)__builtin_ctzll(room) < fs->nr_inos)
			ino = w * 64 + (uint64_t)__builtin_ctzll(room);
	}
	if (ino) {
		fs->inos[ino / 64] |= 1ULL << (ino % 64);
		fs->free_inos--;
	}
	mutex_unlock(&fs->alloc_lock);
	return ino;
}

void tfs_free_ino(struct tfs *fs, uint64_t ino)
{
	mutex_lock(&fs->alloc_lock);
	remember(fs, ino, 0);
	mutex_unlock(&fs->alloc_lock);
}

bool tfs_can_free(struct tfs *fs)
{
	bool yes;

	mutex_lock(&fs->alloc_lock);
	yes = fs->freed.nr;
	mutex_unlock(&fs->alloc_lock);
	return yes;
}

int tfs_store_bitmap(struct tfs *fs)
{
	for (uint64_t b = 0; b < fs->sb.bitmap_blocks; b++) {
		struct page *p;

		bool changed;

		mutex_lock(&fs->alloc_lock);
		changed = fs->bitmap_dirty[b];
		mutex_unlock(&fs->alloc_lock);
		if (!changed)
			continue;
		p = tfs_meta_page(fs, fs->sb.bitmap_start + b, true);
		if (IS_ERR(p))
			return (int)PTR_ERR(p);
		mutex_lock(&fs->alloc_lock);
		memcpy(page_virt(p), (char *)fs->bitmap + b * TFS_BLOCK, TFS_BLOCK);
		fs->bitmap_dirty[b] = 0;
		mutex_unlock(&fs->alloc_lock);
		page_mark_dirty(p);
		page_put(p);
	}
	return 0;
}

void tfs_take_freed(struct tfs *fs, struct tfs_freed_list *out)
{
	mutex_lock(&fs->alloc_lock);
	*out = fs->freed;
	fs->freed = (struct tfs_freed_list){ 0 };
	mutex_unlock(&fs->alloc_lock);
}

void tfs_release_freed(struct tfs *fs, struct tfs_freed_list *l)
{
	mutex_lock(&fs->alloc_lock);
	for (unsigned i = 0; i < l->nr; i++) {
		struct tfs_freed *f = &l->v[i];

		if (f->len) {
			mark(fs, f->start, f->len, false);
			fs->free_blocks += f->len;
		} else {
			fs->inos[f->start / 64] &= ~(1ULL << (f->start % 64));
			fs->free_inos++;
		}
	}
	mutex_unlock(&fs->alloc_lock);
	kfree(l->v);
}
