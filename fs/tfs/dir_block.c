/* SPDX-License-Identifier: MIT */
/*
 * tfs: the blocks of a directory and the entries in them.
 *
 * They are read through the directory's mapping.  Small directories are searched from the
 * front, others by a table (fs/tfs/names.c).  A name and its inode number change in one
 * place in one block, so no crash shows half an entry.
 *
 * Locks: the directory's inode->lock is held by whoever reads or changes it (the VFS sees
 * to that).
 */
#include "fs/tfs/tfs.h"

#define SEARCHED 4u /* blocks of a directory that needs no table */

/* Where an entry is: its page, referenced, and place. */
struct place {
	struct page *page;
	uint32_t block;
	unsigned off, prev; /* prev: the entry before it in the block, or off itself */
};

int tfs_check_block(const char *block)
{
	unsigned off = 0;

	while (off < TFS_BLOCK) {
		const struct tfs_dirent *e = (const void *)(block + off);

		if (e->rec_len < TFS_DIRENT_LEN(e->name_len) || e->rec_len % 8 ||
		    e->rec_len > TFS_BLOCK - off || (e->ino && !e->name_len))
			return -EIO;
		for (unsigned k = 0; e->ino && k < e->name_len; k++)
			if (e->name[k] == '/' || !e->name[k])
				return -EIO;
		off += e->rec_len;
	}
	return 0;
}

struct page *tfs_dir_block(struct inode *dir, uint64_t n)
{
	struct page *p = page_cache_read(&tfs_i(dir)->map, NULL, n, 1);

	if (IS_ERR(p))
		return PTR_ERR(p) == -ENODATA ? ERR_PTR(-EIO) : p;
	if (page_has(p, PG_checked))
		return p;
	if (tfs_check_block(page_virt(p))) {
		pr_warn("tfs: directory %llu: block %llu is damaged",
			(unsigned long long)dir->ino, (unsigned long long)n);
		page_put(p);
		return ERR_PTR(-EIO);
	}
	page_flag_set(p, PG_checked);
	return p;
}

static unsigned used_by(const struct tfs_dirent *e)
{
	return e->ino ? TFS_DIRENT_LEN(e->name_len) : 0;
}

/* The longest entry that fits into the block. */
static unsigned room_in(struct page *p)
{
	unsigned room = 0;

	for (unsigned off = 0; off < TFS_BLOCK; off += tfs_entry(p, off)->rec_len)
		room = max(room, tfs_entry(p, off)->rec_len - used_by(tfs_entry(p, off)));
	return room;
}

/* ---- the table of names ---- */

static void drop_table(struct inode *dir)
{
	tfs_names_free(tfs_i(dir)->names);
	tfs_i(dir)->names = NULL;
}

static bool list_block(struct tfs_names *t, uint32_t b, struct page *p)
{
	for (unsigned off = 0; off < TFS_BLOCK; off += tfs_entry(p, off)->rec_len) {
		struct tfs_dirent *e = tfs_entry(p, off);

		if (e->ino && !tfs_names_add(t, name_hash(e->name, e->name_len), b))
			return false;
	}
	return tfs_names_set_room(t, b, room_in(p));
}

/* The table of a directory of some size; NULL: search it. */
static struct tfs_names *table_of(struct inode *dir)
{
	struct tfs_inode *ti = tfs_i(dir);

	if (ti->names || tfs_dir_blocks(dir) <= SEARCHED)
		return ti->names;
	ti->names = tfs_names_new();
	for (uint64_t b = 0; ti->names && b < tfs_dir_blocks(dir); b++) {
		struct page *p = tfs_dir_block(dir, b);

		/* The search will meet the same damage, or get along without memory. */
		if (IS_ERR(p) || !list_block(ti->names, (uint32_t)b, p))
			drop_table(dir);
		if (!IS_ERR(p))
			page_put(p);
		cond_resched();
	}
	return ti->names;
}

/* Block @b has got or lost @name. */
static void note(struct inode *dir, uint32_t b, struct page *p, uint32_t hash, bool added)
{
	struct tfs_names *t = tfs_i(dir)->names;

	if (!t)
		return;
	if (!added)
		tfs_names_del(t, hash, b);
	if ((added && !tfs_names_add(t, hash, b)) || !tfs_names_set_room(t, b, room_in(p)))
		drop_table(dir);
}

/* ---- finding ---- */

/* 0 with @at filled (its page referenced), -ENOENT, or an error. */
static int find_in(struct inode *dir, uint64_t b, const struct dname *name, struct place *at)
{
	struct page *p = tfs_dir_block(dir, b);
	unsigned prev = 0;

	if (IS_ERR(p))
		return (int)PTR_ERR(p);
	for (unsigned off = 0; off < TFS_BLOCK; prev = off, off += tfs_entry(p, off)->rec_len) {
		struct tfs_dirent *e = tfs_entry(p, off);

		if (e->ino && e->name_len == name->len && !memcmp(e->name, name->s, name->len)) {
			*at = (struct place){ p, (uint32_t)b, off, off ? prev : off };
			return 0;
		}
	}
	page_put(p);
	return -ENOENT;
}

static int find(struct inode *dir, const struct dname *name, struct place *at)
{
	struct tfs_names *t = table_of(dir);
	int err = -ENOENT;

	if (t) {
		uint32_t hash = name_hash(name->s, name->len), b;
		unsigned turn = 0;

		while (err == -ENOENT && tfs_names_next(t, hash, &turn, &b))
			err = find_in(dir, b, name, at);
		return err;
	}
	for (uint64_t b = 0; b < tfs_dir_blocks(dir) && err == -ENOENT; b++) {
		err = find_in(dir, b, name, at);
		cond_resched();
	}
	return err;
}

int tfs_dir_find(struct inode *dir, const struct dname *name, uint32_t *ino)
{
	struct place at;
	int err = find(dir, name, &at);

	if (err)
		return err;
	*ino = tfs_entry(at.page, at.off)->ino;
	page_put(at.page);
	return 0;
}

int tfs_dir_count(struct inode *dir, uint32_t ino)
{
	int n = 0;

	for (uint64_t b = 0; b < tfs_dir_blocks(dir); b++) {
		struct page *p = tfs_dir_block(dir, b);

		if (IS_ERR(p))
			return (int)PTR_ERR(p);
		for (unsigned off = 0; off < TFS_BLOCK; off += tfs_entry(p, off)->rec_len)
			n += ino ? tfs_entry(p, off)->ino == ino : tfs_entry(p, off)->ino != 0;
		page_put(p);
		cond_resched();
	}
	return n;
}

/* ---- changing ---- */

static void changed(struct inode *dir, struct page *p)
{
	page_mark_dirty(p);
	page_put(p);
	inode_touch(dir);
	tfs_dirty(tfs_i(dir));
}

static void set_entry(struct tfs_dirent *e, const struct dname *name, const struct inode *i)
{
	e->ino = (uint32_t)i->ino;
	e->name_len = (uint8_t)name->len;
	e->type = (uint8_t)mode_dtype(i->mode);
	memcpy(e->name, name->s, name->len);
}

/* Puts an entry into the first gap of block @p that is large enough: false if there is none. */
static bool put_entry(struct page *p, const struct dname *name, const struct inode *i)
{
	unsigned need = TFS_DIRENT_LEN(name->len);

	for (unsigned off = 0; off < TFS_BLOCK; off += tfs_entry(p, off)->rec_len) {
		struct tfs_dirent *e = tfs_entry(p, off);
		unsigned used = used_by(e);

		if (e->rec_len - used < need)
			continue;
		if (used) {
			struct tfs_dirent *n = tfs_entry(p, off + used);

			n->rec_len = (uint16_t)(e->rec_len - used);
			set_entry(n, name, i);
			e->rec_len = (uint16_t)used;
		} else {
			set_entry(e, name, i);
		}
		return true;
	}
	return false;
}

/* Another block at the end of @dir, all free space: referenced page or ERR_PTR. */
static struct page *grow(struct inode *dir)
{
	struct tfs_inode *ti = tfs_i(dir);
	uint64_t n = tfs_dir_blocks(dir);
	struct page *p = page_alloc(0, PAGE_FILE, GFP_ZERO);
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);
	tfs_entry(p, 0)->rec_len = TFS_BLOCK;
	err = tfs_map_new(ti, n, false);
	tfs_drop_reserve(ti); /* nobody closes a directory */
	if (!err)
		err = page_cache_add(&ti->map, n, p);
	if (err) {
		tfs_cut(ti, n);
		page_put(p);
		return ERR_PTR(err);
	}
	page_mark_dirty(p);
	atomic_store_explicit(&dir->size, dir->size + TFS_BLOCK, memory_order_release);
	return p;
}

int tfs_dir_add(struct inode *dir, const struct dname *name, const struct inode *i)
{
	struct tfs_names *t = table_of(dir);
	uint64_t b = t ? tfs_names_find_room(t, TFS_DIRENT_LEN(name->len)) : 0;
	struct page *p;

	for (; b < tfs_dir_blocks(dir); b++) {
		p = tfs_dir_block(dir, b);
		if (IS_ERR(p))
			return (int)PTR_ERR(p);
		if (put_entry(p, name, i))
			goto added;
		page_put(p);
		cond_resched();
	}
	p = grow(dir);
	if (IS_ERR(p))
		return (int)PTR_ERR(p);
	(void)put_entry(p, name, i); /* a whole block takes any name */
added:
	note(dir, (uint32_t)b, p, name_hash(name->s, name->len), true);
	changed(dir, p);
	return 0;
}

int tfs_dir_remove(struct inode *dir, const struct dname *name)
{
	struct tfs_dirent *e;
	struct place at;
	int err = find(dir, name, &at);

	if (err)
		return err;
	e = tfs_entry(at.page, at.off);
	e->ino = 0;
	if (at.prev != at.off)
		tfs_entry(at.page, at.prev)->rec_len += e->rec_len;
	note(dir, at.block, at.page, name_hash(name->s, name->len), false);
	changed(dir, at.page);
	return 0;
}

int tfs_dir_replace(struct inode *dir, const struct dname *name, const struct inode *i)
{
	struct place at;
	int err = find(dir, name, &at);

	if (err)
		return err;
	tfs_entry(at.page, at.off)->ino = (uint32_t)i->ino;
	tfs_entry(at.page, at.off)->type = (uint8_t)mode_dtype(i->mode);
	changed(dir, at.page);
	return 0;
}
