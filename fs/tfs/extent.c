/* SPDX-License-Identifier: MIT */
/*
 * tfs: from blocks of a file to blocks of the device.
 *
 * An inode in memory has all its extents in one sorted array.  On the device the first
 * few are in the inode, the rest in a chain of lists, whose blocks are taken when the
 * array grows, so that storing an inode needs no space.
 */
#include "fs/tfs/tfs.h"

#define MAX_EXTENTS (1u << 18) /* 4 MiB in memory */

static unsigned lists_for(unsigned nr)
{
	return nr > TFS_INLINE_EXTENTS ? DIV_ROUND_UP(nr - TFS_INLINE_EXTENTS, TFS_LIST_EXTENTS) : 0;
}

/* Index of the last extent that begins at or before @n, or -1.  map_lock held. */
static int find(const struct tfs_inode *ti, uint64_t n)
{
	int lo = 0, hi = (int)ti->nr;

	while (lo < hi) {
		int mid = lo + (hi - lo) / 2;

		if (ti->ext[mid].block <= n)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

static bool mapped(const struct tfs_inode *ti, uint64_t n, uint64_t *start, uint64_t *len)
{
	int i = find(ti, n);
	const struct tfs_extent *e;

	if (i < 0)
		return false;
	e = &ti->ext[i];
	if (n - e->block >= e->len)
		return false;
	*start = e->start + (n - e->block);
	*len = e->len - (n - e->block);
	return true;
}

bool tfs_map(struct tfs_inode *ti, uint64_t n, uint64_t *start, uint64_t *len)
{
	bool yes;

	mutex_lock(&ti->map_lock);
	yes = mapped(ti, n, start, len);
	mutex_unlock(&ti->map_lock);
	return yes;
}

/* Room for one more extent, in memory and on the device.  map_lock held. */
static int make_room(struct tfs_inode *ti)
{
	if (ti->nr == MAX_EXTENTS)
		return -EFBIG;
	if (ti->nr == ti->cap) {
		unsigned cap = ti->cap ? 2 * ti->cap : 4;
		struct tfs_extent *v = kmalloc(cap * sizeof(*v), GFP_ACCOUNT);

		if (!v)
			return -ENOMEM;
		if (ti->nr)
			memcpy(v, ti->ext, ti->nr * sizeof(*v));
		kfree(ti->ext);
		ti->ext = v;
		ti->cap = cap;
	}
	if (lists_for(ti->nr + 1) > ti->nr_lists) {
		uint64_t *v = kmalloc((ti->nr_lists + 1) * sizeof(*v), GFP_ACCOUNT), len = 1;
		int err;

		if (!v)
			return -ENOMEM;
		err = tfs_alloc(ti->fs, 0, &v[ti->nr_lists], &len);
		if (err) {
			kfree(v);
			return err;
		}
		if (ti->nr_lists)
			memcpy(v, ti->lists, ti->nr_lists * sizeof(*v));
		kfree(ti->lists);
		ti->lists = v;
		ti->nr_lists++;
	}
	return 0;
}

/* Lists that are not needed any more go.  map_lock held. */
static void trim_lists(struct tfs_inode *ti)
{
	while (ti->nr_lists > lists_for(ti->nr)) {
		uint64_t block = ti->lists[--ti->nr_lists];

		mapping_forget(ti->fs->meta, block); /* or its old bytes would go over what comes there next */
		tfs_free(ti->fs, block, 1);
	}
}

/* Takes one block for block @n: from the reserve, or a new reserve near the block before.  map_lock held. */
static int take_block(struct tfs_inode *ti, uint64_t n, uint64_t *block)
{
	int i = find(ti, n), err;

	if (!ti->resv_len) {
		uint64_t goal = i >= 0 ? ti->ext[i].start + (n - ti->ext[i].block) : 0;
		uint64_t len = RESERVE;

		err = tfs_alloc(ti->fs, goal, &ti->resv, &len);
		if (err)
			return err;
		ti->resv_len = len;
	}
	*block = ti->resv++;
	ti->resv_len--;
	return 0;
}

/* The extent that block @n, to be @block of the device, just makes longer, or NULL.  map_lock held. */
static struct tfs_extent *continues(struct tfs_inode *ti, uint64_t n, uint64_t block)
{
	int i = find(ti, n);
	struct tfs_extent *e = i >= 0 ? &ti->ext[i] : NULL;

	return e && e->block + (uint64_t)e->len == n && e->start + e->len == block ? e : NULL;
}

/* Block @n, not mapped yet, is @block from now on: a new extent, for which there is room.  map_lock held. */
static void insert(struct tfs_inode *ti, uint64_t n, uint64_t block)
{
	int i = find(ti, n) + 1;

	memmove(&ti->ext[i + 1], &ti->ext[i], (ti->nr - (unsigned)i) * sizeof(*ti->ext));
	ti->ext[i] = (struct tfs_extent){ block, (uint32_t)n, 1 };
	ti->nr++;
}

int tfs_map_new(struct tfs_inode *ti, uint64_t n, bool within)
{
	uint64_t block, len;
	int err = 0;

	if (n >= TFS_MAX_BLOCKS)
		return -EFBIG;
	mutex_lock(&ti->map_lock);
	/* A truncate changes the size first and takes this lock to cut off the blocks: it finds ours or we its size. */
	if (within && (loff_t)(n * TFS_BLOCK) >=
			      atomic_load_explicit(&ti->inode->size, memory_order_seq_cst)) {
		err = -ENODATA;
	} else if (!mapped(ti, n, &block, &len)) {
		struct tfs_extent *e;

		err = take_block(ti, n, &block);
		e = err ? NULL : continues(ti, n, block);
		if (e) {
			e->len++;
		} else if (!err) {
			/* Only an extent that does come makes the lists longer: an empty one would be nobody's. */
			err = make_room(ti);
			if (!err)
				insert(ti, n, block);
			else
				ti->resv--, ti->resv_len++;
		}
	}
	mutex_unlock(&ti->map_lock);
	return err;
}

void tfs_cut(struct tfs_inode *ti, uint64_t from)
{
	mutex_lock(&ti->map_lock);
	while (ti->nr) {
		struct tfs_extent *e = &ti->ext[ti->nr - 1];
		uint64_t keep = from > e->block ? min(from - e->block, (uint64_t)e->len) : 0;

		if (keep == e->len)
			break;
		tfs_free(ti->fs, e->start + keep, e->len - keep);
		e->len = (uint32_t)keep;
		if (!keep)
			ti->nr--;
	}
	trim_lists(ti);
	mutex_unlock(&ti->map_lock);
}

void tfs_drop_reserve(struct tfs_inode *ti)
{
	mutex_lock(&ti->map_lock);
	tfs_unalloc(ti->fs, ti->resv, ti->resv_len);
	ti->resv_len = 0;
	mutex_unlock(&ti->map_lock);
}

uint64_t tfs_blocks(struct tfs_inode *ti)
{
	uint64_t n;

	mutex_lock(&ti->map_lock);
	n = ti->nr_lists;
	for (unsigned i = 0; i < ti->nr; i++)
		n += ti->ext[i].len;
	mutex_unlock(&ti->map_lock);
	return n;
}

/* Checks and appends what the device says; the inode is not known to others yet. */
static int load(struct tfs_inode *ti, const struct tfs_extent *e, unsigned n)
{
	for (; n--; e++) {
		const struct tfs_extent *last = ti->nr ? &ti->ext[ti->nr - 1] : NULL;

		if (!tfs_data_range(ti->fs, e->start, e->len) ||
		    e->len > TFS_MAX_BLOCKS - e->block ||
		    (last && e->block < last->block + (uint64_t)last->len))
			return -EIO;
		ti->ext[ti->nr++] = *e;
	}
	return 0;
}

int tfs_load_extents(struct tfs_inode *ti, const struct tfs_dinode *d)
{
	unsigned inl = min(d->nr_extents, TFS_INLINE_EXTENTS), nr = d->nr_extents;
	uint64_t block = d->list;
	int err;

	if (nr > MAX_EXTENTS)
		return -EIO;
	if (!nr)
		return 0;
	ti->ext = kmalloc(nr * sizeof(*ti->ext), GFP_ACCOUNT);
	ti->lists = lists_for(nr) ? kmalloc(lists_for(nr) * sizeof(*ti->lists), GFP_ACCOUNT) : NULL;
	if (!ti->ext || (lists_for(nr) && !ti->lists))
		return -ENOMEM;
	ti->cap = nr;
	err = load(ti, d->extent, inl);
	while (!err && ti->nr < nr) {
		unsigned want = min(nr - ti->nr, TFS_LIST_EXTENTS);
		struct tfs_list *l;
		struct page *p;

		if (!tfs_data_range(ti->fs, block, 1))
			return -EIO;
		p = tfs_meta_page(ti->fs, block, false);
		if (IS_ERR(p))
			return (int)PTR_ERR(p);
		l = kmalloc(sizeof(*l), GFP_KERNEL);
		if (l) {
			uint32_t crc;

			memcpy(l, page_virt(p), sizeof(*l));
			crc = l->crc;
			l->crc = 0;
			err = l->magic != TFS_LIST_MAGIC || l->ino != d->ino || l->count != want ||
					      crc != tfs_crc(l, sizeof(*l)) ?
				      -EIO :
				      load(ti, l->extent, want);
			ti->lists[ti->nr_lists++] = block;
			block = l->next;
			kfree(l);
		} else {
			err = -ENOMEM;
		}
		page_put(p);
	}
	return err;
}

int tfs_store_extents(struct tfs_inode *ti, struct tfs_dinode *d)
{
	unsigned done;
	int err = 0;

	mutex_lock(&ti->map_lock);
	done = min(ti->nr, TFS_INLINE_EXTENTS);
	d->nr_extents = ti->nr;
	d->list = ti->nr_lists ? ti->lists[0] : 0;
	if (done)
		memcpy(d->extent, ti->ext, done * sizeof(*d->extent));
	for (unsigned k = 0; k < ti->nr_lists && !err; k++) {
		struct page *p = tfs_meta_page(ti->fs, ti->lists[k], true);
		struct tfs_list *l;

		if (IS_ERR(p)) {
			err = (int)PTR_ERR(p);
			break;
		}
		l = page_virt(p);
		memset(l, 0, sizeof(*l));
		l->magic = TFS_LIST_MAGIC;
		l->ino = d->ino;
		l->next = k + 1 < ti->nr_lists ? ti->lists[k + 1] : 0;
		l->count = min(ti->nr - done, TFS_LIST_EXTENTS);
		memcpy(l->extent, &ti->ext[done], l->count * sizeof(*l->extent));
		done += l->count;
		l->crc = tfs_crc(l, sizeof(*l));
		page_mark_dirty(p);
		page_put(p);
	}
	mutex_unlock(&ti->map_lock);
	return err;
}
