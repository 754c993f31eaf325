/* SPDX-License-Identifier: MIT */
/*
 * tfs: in which block of a directory a name may be.
 *
 * A table in memory for directories of some size: hashes with the blocks that have a
 * name of that hash, by open addressing, and for each block the longest entry that still
 * fits.  It is a help and no more: what it says is looked up in the block, and without
 * memory for it the blocks are searched from the front.
 *
 * Locks: the directory's inode->lock, held by callers.
 */
#include "fs/tfs/tfs.h"

#define FIRST_SLOTS 512u

/* A slot: hash in the upper half, block + 1 in the lower; 0: empty. */
struct tfs_names {
	uint64_t *slot;
	unsigned nr, mask;      /* slots in use; number of slots - 1, slots being a power of two */
	uint16_t *room;         /* by block, bytes */
	unsigned nr_blocks, cap_blocks;
};

static uint64_t slot_of(uint32_t hash, uint32_t block)
{
	return (uint64_t)hash << 32 | (block + 1);
}

struct tfs_names *tfs_names_new(void)
{
	struct tfs_names *n = kzalloc(sizeof(*n), GFP_ACCOUNT | GFP_NOWARN);

	if (!n)
		return NULL;
	n->slot = kzalloc(FIRST_SLOTS * sizeof(*n->slot), GFP_ACCOUNT | GFP_NOWARN);
	if (!n->slot) {
		kfree(n);
		return NULL;
	}
	n->mask = FIRST_SLOTS - 1;
	return n;
}

void tfs_names_free(struct tfs_names *n)
{
	if (!n)
		return;
	kfree(n->slot);
	kfree(n->room);
	kfree(n);
}

static void put(struct tfs_names *n, uint64_t v)
{
	unsigned at = (unsigned)(v >> 32) & n->mask;

	while (n->slot[at])
		at = (at + 1) & n->mask;
	n->slot[at] = v;
}

/* Twice as many slots: false without memory. */
static bool double_slots(struct tfs_names *n)
{
	unsigned was = n->mask + 1;
	uint64_t *old = n->slot, *new;

	if (was > UINT_MAX / 2)
		return false;
	new = kzalloc(2 * (size_t)was * sizeof(*new), GFP_ACCOUNT | GFP_NOWARN);
	if (!new)
		return false;
	n->slot = new;
	n->mask = 2 * was - 1;
	for (unsigned i = 0; i < was; i++)
		if (old[i])
			put(n, old[i]);
	kfree(old);
	return true;
}

bool tfs_names_add(struct tfs_names *n, uint32_t hash, uint32_t block)
{
	if (n->nr >= (n->mask + 1) / 4 * 3 && !double_slots(n))
		return false;
	put(n, slot_of(hash, block));
	n->nr++;
	return true;
}

void tfs_names_del(struct tfs_names *n, uint32_t hash, uint32_t block)
{
	unsigned at = hash & n->mask, i;

	while (n->slot[at] != slot_of(hash, block)) {
		if (WARN_ON(!n->slot[at]))
			return;
		at = (at + 1) & n->mask;
	}
	/* What comes behind and would be looked for from before the gap moves into it. */
	for (i = (at + 1) & n->mask; n->slot[i]; i = (i + 1) & n->mask) {
		unsigned home = (unsigned)(n->slot[i] >> 32) & n->mask;

		if (((i - home) & n->mask) < ((i - at) & n->mask))
			continue;
		n->slot[at] = n->slot[i];
		at = i;
	}
	n->slot[at] = 0;
	n->nr--;
}

bool tfs_names_next(const struct tfs_names *n, uint32_t hash, unsigned *turn, uint32_t *block)
{
	for (;; (*turn)++) {
		uint64_t v = n->slot[(hash + *turn) & n->mask];

		if (!v)
			return false;
		if (v >> 32 != hash)
			continue;
		(*turn)++;
		*block = (uint32_t)v - 1;
		return true;
	}
}

bool tfs_names_set_room(struct tfs_names *n, uint32_t block, unsigned bytes)
{
	if (block >= n->cap_blocks) {
		unsigned cap = max(2 * n->cap_blocks, block + 64);
		uint16_t *room = kzalloc(cap * sizeof(*room), GFP_ACCOUNT | GFP_NOWARN);

		if (!room)
			return false;
		if (n->nr_blocks)
			memcpy(room, n->room, n->nr_blocks * sizeof(*room));
		kfree(n->room);
		n->room = room;
		n->cap_blocks = cap;
	}
	n->nr_blocks = max(n->nr_blocks, block + 1);
	n->room[block] = (uint16_t)bytes;
	return true;
}

uint32_t tfs_names_find_room(const struct tfs_names *n, unsigned bytes)
{
	uint32_t b = 0;

	while (b < n->nr_blocks && n->room[b] < bytes)
		b++;
	return b;
}
