/* SPDX-License-Identifier: MIT */
/*
 * tfs: a small file system with extents.  What its files share; docs/fs.md has the
 * description.
 *
 * In memory: inodes with their whole list of extents, the bitmap of blocks and that of
 * inode numbers; on the device's mapping: the blocks of the bitmap, the inode table and
 * the lists of extents; file data and directories in mappings of their own.
 *
 * Order of writing (fs/tfs/sync.c), so that a crash leaves nothing worse than blocks
 * and inodes that nobody uses:
 *
 *	file data -> bitmap, lists of extents -> inodes -> directories
 *
 * and what was freed is used again only after a sync that began later has ended.
 *
 * Locks: inode->lock -> map_lock -> alloc_lock -> icache_lock; sync: the device
 *        mapping's wb_lock -> inode->lock.  Nothing under inode->lock waits for a sync.
 */
#ifndef FS_TFS_TFS_H
#define FS_TFS_TFS_H

#include "fs/block.h"
#include "fs/cached_file.h"
#include "fs/internal.h"
#include "fs/tfs/format.h"

#define ICACHE_BUCKETS 256u
#define ICACHE_MAX     8192u /* inodes kept though nobody uses them; more: unused ones go */
#define RESERVE        64u   /* blocks that a growing file takes at once */

/* Blocks, or one inode number (len 0), that a sync will make free. */
struct tfs_freed {
	uint64_t start, len;
};
struct tfs_freed_list {
	struct tfs_freed *v;
	unsigned nr, cap;
};

/*
 * Legend: [I] constant once mounted, [A] alloc_lock, [C] icache_lock, [a] atomic,
 *         [s] only by who syncs (the device mapping's wb_lock)
 */
struct tfs {
	struct super *super;       /* [I] */
	struct block_device *dev;  /* [I] */
	struct mapping *meta;      /* [I] the device's */
	struct tfs_super sb;       /* [I] but state [s] */
	struct mutex alloc_lock;
	uint64_t *bitmap;          /* [A] bit per block */
	uint8_t *bitmap_dirty;     /* [A] per block of the bitmap */
	uint64_t free_blocks;      /* [A] */
	uint64_t hint;             /* [A] where to look first */
	uint64_t *inos;            /* [A] bit per inode number */
	uint64_t nr_inos, free_inos; /* [I], [A] */
	struct tfs_freed_list freed; /* [A] since the last sync began */
	struct spinlock icache_lock;
	struct list_head icache[ICACHE_BUCKETS]; /* [C] each holds a reference */
	unsigned nr_cached;        /* [C] */
	struct list_head dirty;    /* [C] inodes to be stored */
	_Atomic unsigned live;     /* [a] inodes in memory, unlinked ones included */
	bool lost;                 /* [C] unmounting, and the device takes no more: dirty pages may go */
	_Atomic bool wanted;       /* [a] somebody asked the thread for a sync */
	_Atomic bool stop, stopped; /* [a] */
	struct wait_queue wait;    /* the thread, and who waits for its end */
	struct thread *thread;     /* [I] referenced */
};

/* Legend as above; [i] inode->lock, [m] map_lock */
struct tfs_inode {
	struct mapping map;        /* [I] pages */
	struct rcu_head rcu;
	struct inode *inode;       /* [I] */
	struct tfs *fs;            /* [I] */
	struct list_head hash;     /* [C] */
	struct list_head dirty;    /* [C] */
	bool hashed;               /* [C] */
	uint64_t parent;           /* [i of the parents] directories */
	struct tfs_names *names;   /* [i] directories of some size, while there is memory for it */
	struct mutex map_lock;
	struct tfs_extent *ext;    /* [m] by block */
	unsigned nr, cap;          /* [m] */
	uint64_t *lists;           /* [m] blocks of struct tfs_list, as many as nr needs */
	unsigned nr_lists;         /* [m] */
	uint64_t resv, resv_len;   /* [m] blocks taken and not yet part of the file */
};

static inline struct tfs *tfs_of(const struct super *s)
{
	return s->priv;
}
static inline struct tfs_inode *tfs_i(const struct inode *i)
{
	return i->priv;
}

/* alloc.c */
int tfs_load_bitmap(struct tfs *fs); /* 0, -ENOMEM, -EIO */
/* A run of 1..*len free blocks, near @goal if it can be; *len says how many.  0, -ENOSPC. */
int tfs_alloc(struct tfs *fs, uint64_t goal, uint64_t *start, uint64_t *len);
void tfs_unalloc(struct tfs *fs, uint64_t start, uint64_t len); /* never written to: free at once */
/* Free after the next sync.  Without memory to remember it they stay in use until fsck.tfs finds them. */
void tfs_free(struct tfs *fs, uint64_t start, uint64_t len);
uint64_t tfs_alloc_ino(struct tfs *fs); /* 0: none left */
void tfs_free_ino(struct tfs *fs, uint64_t ino);
bool tfs_can_free(struct tfs *fs);      /* would a sync give space back? */
int tfs_store_bitmap(struct tfs *fs);   /* into the mapping */
void tfs_take_freed(struct tfs *fs, struct tfs_freed_list *out);
void tfs_release_freed(struct tfs *fs, struct tfs_freed_list *l);
/* Is [start, start + len) within the data area? */
static inline bool tfs_data_range(const struct tfs *fs, uint64_t start, uint64_t len)
{
	return start >= fs->sb.data_start && len && start < fs->sb.blocks &&
	       len <= fs->sb.blocks - start;
}

/* extent.c */
/* Block of the device for block @n of the file and how many follow in a row: false: a hole. */
bool tfs_map(struct tfs_inode *ti, uint64_t n, uint64_t *start, uint64_t *len);
/* Makes sure there is one: 0, -ENOSPC, -ENOMEM; @within: -ENODATA if the file does not reach there. */
int tfs_map_new(struct tfs_inode *ti, uint64_t n, bool within);
void tfs_cut(struct tfs_inode *ti, uint64_t from); /* blocks >= from go */
void tfs_drop_reserve(struct tfs_inode *ti);
uint64_t tfs_blocks(struct tfs_inode *ti);
int tfs_load_extents(struct tfs_inode *ti, const struct tfs_dinode *d);
int tfs_store_extents(struct tfs_inode *ti, struct tfs_dinode *d);

/* inode.c */
extern const struct mapping_ops tfs_mapping_ops;
/* The inode, referenced; ERR_PTR(-EIO: not there or damaged; -ENOMEM). */
struct inode *tfs_iget(struct super *s, uint64_t ino);
struct inode *tfs_new_inode(struct super *s, struct inode *dir, unsigned mode, uint64_t rdev);
void tfs_dirty(struct tfs_inode *ti);  /* what its slot in the table holds has changed */
int tfs_store(struct tfs_inode *ti);   /* into the mapping; inode->lock held */
void tfs_unlinked(struct tfs_inode *ti); /* nlink is 0: it goes with its last user */
void tfs_linked(struct tfs_inode *ti);   /* about to get a name: the opposite */
void tfs_evict(struct inode *i);
void tfs_icache_shrink(struct tfs *fs, bool pages, bool all);
/*
 * Nobody can find the file system any more: drops stored inodes and waits until all are
 * gone.  False: after 20 s somebody still has one; then the file system must stay.
 */
bool tfs_icache_drain(struct tfs *fs) __must_check;

/* dir.c, file.c */
extern const struct inode_ops tfs_dir_iops, tfs_file_iops, tfs_link_iops, tfs_node_iops;
extern const struct file_ops tfs_dir_fops, tfs_file_fops;

/* dir_block.c: a directory's inode->lock held; 0 or an error (-EIO, -ENOMEM, -ENOSPC). */
int tfs_check_block(const char *block); /* entries of a directory's block: 0 or -EIO */
struct page *tfs_dir_block(struct inode *dir, uint64_t n); /* whose entries can be walked; ERR_PTR */
int tfs_dir_find(struct inode *dir, const struct dname *name, uint32_t *ino); /* -ENOENT */
int tfs_dir_count(struct inode *dir, uint32_t ino); /* entries that name @ino, 0: all; or an error */
int tfs_dir_add(struct inode *dir, const struct dname *name, const struct inode *i);
int tfs_dir_remove(struct inode *dir, const struct dname *name);
/* One store of a word puts @i in the place of what @name names. */
int tfs_dir_replace(struct inode *dir, const struct dname *name, const struct inode *i);
static inline struct tfs_dirent *tfs_entry(struct page *p, unsigned off)
{
	return (struct tfs_dirent *)((char *)page_virt(p) + off);
}
static inline uint64_t tfs_dir_blocks(const struct inode *dir)
{
	return (uint64_t)dir->size / TFS_BLOCK;
}

/* names.c: false: no memory; then the table is of no use any more. */
struct tfs_names *tfs_names_new(void); /* empty; or NULL */
void tfs_names_free(struct tfs_names *n); /* NULL is fine */
bool tfs_names_add(struct tfs_names *n, uint32_t hash, uint32_t block);
void tfs_names_del(struct tfs_names *n, uint32_t hash, uint32_t block); /* one that was added */
/* The next block that may have such a name; *turn is 0 at first.  False: none. */
bool tfs_names_next(const struct tfs_names *n, uint32_t hash, unsigned *turn, uint32_t *block);
bool tfs_names_set_room(struct tfs_names *n, uint32_t block, unsigned bytes);
uint32_t tfs_names_find_room(const struct tfs_names *n, unsigned bytes); /* a block; or how many there are */

/* sync.c */
int tfs_sync(struct tfs *fs);
void tfs_want_sync(struct tfs *fs);    /* soon, by the thread.  Context: any thread, spinlocks held */
void tfs_forget_dirty(struct tfs *fs); /* gives up what could not be stored */
int tfs_start_thread(struct tfs *fs);
void tfs_stop_thread(struct tfs *fs);
int tfs_write_super(struct tfs *fs, uint32_t state);
/* A page of metadata with @block, to be changed and marked dirty; @fresh: its old bytes do not matter. ERR_PTR. */
struct page *tfs_meta_page(struct tfs *fs, uint64_t block, bool fresh);

void tfs_init(void);

#endif /* FS_TFS_TFS_H */
