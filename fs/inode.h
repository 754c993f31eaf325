/* SPDX-License-Identifier: MIT */
/* Inodes, dentries, supers: fs/'s own detail, included by fs/vfs.h. */
#ifndef FS_INODE_H
#define FS_INODE_H

#ifndef FS_VFS_H
#error "include fs/vfs.h"
#endif

struct inode {
	const struct inode_ops *ops;
	const struct file_ops *fops;
	struct super *super;
	uint64_t ino;
	uint32_t mode; /* under lock */
	uint32_t uid, gid;
	_Atomic uint32_t nlink;
	_Atomic int refs;
	uint64_t rdev;
	_Atomic loff_t size;
	uint64_t atime, mtime, ctime; /* ns since 1970 */
	struct mutex lock;
	void *priv;
	struct page_index *pages; /* page cache of the file (mm/page_cache.h), or NULL */
	struct owner *owner;      /* group of the creator, referenced; charged for metadata */
};

struct dentry {
	struct dentry *parent; /* dcache_lock */
	struct inode *inode;   /* NULL: negative or being created */
	struct list_head children, sibling; /* parent's inode->lock and dcache_lock */
	struct dentry *mounted; /* root of the file system mounted here */
	struct dentry *covers;  /* for a mounted root: the dentry it hangs on */
	struct super *super;
	_Atomic int refs;
	uint32_t hash;
	uint16_t name_len;
	bool deleted;
	char *name;
	struct rcu_head rcu;
};

struct super {
	struct fs_type *type;
	struct dentry *root;
	uint64_t dev;
	_Atomic uint64_t next_ino;
	char *source, *options;
	void *priv;
	int (*statfs)(struct super *s, uint64_t out[8]); /* blocks, bfree, files, ffree, bsize, type */
};

void inode_get(struct inode *i);
void inode_put(struct inode *i);
struct inode *inode_alloc(struct super *s, uint32_t mode); /* one reference; charged; NULL */
struct dentry *dentry_alloc(struct dentry *parent, const char *name, size_t len);
void dentry_get(struct dentry *d);
void dentry_put(struct dentry *d);
void dentry_attach(struct dentry *d, struct inode *i); /* takes over the inode reference */
void dentry_detach(struct dentry *d);                  /* unlinked from its directory */

#endif /* FS_INODE_H */
