/* SPDX-License-Identifier: MIT */
/*
 * Inodes, dentries, supers: what a file system builds its tree from.
 *
 * What:      a dentry is a name in a directory, hashed by (parent, name); an
 *            inode is the object; a super is one mounted instance.
 * Interface: super_alloc(), inode_alloc(), and the inode_ops that the VFS
 *            calls with an allocated, unhashed dentry to fill by
 *            dentry_attach().
 * Invariant: parent, inode and super of a dentry that somebody can find are
 *            set before it is hashed; inode and super never change after.  A
 *            dentry holds one reference to its parent and one to its inode.
 * Locks:     inode->lock of a directory over what it contains; dcache_lock
 *            (spinlock, private to fs/dcache.c) over links, hash chains and
 *            mounts.  Look-up takes none of them (RCU).
 *
 * Two kinds of file systems:
 *  - pinned (ramfs, devfs): every entry is in the dentry tree; the entry
 *    itself is one reference (DENTRY_PINNED) that unlink gives back.
 *  - computed (procfs, cgroupfs): inode_ops.lookup makes a dentry when asked;
 *    it goes when its last reference goes.
 */
#ifndef FS_INODE_H
#define FS_INODE_H

#ifndef FS_VFS_H
#error "include fs/vfs.h"
#endif

/*
 * Legend: [I] constant once the inode is attached, [l] under lock, read
 *         without it where a stale value does no harm, [a] atomic
 */
struct inode {
	const struct inode_ops *ops; /* [I] */
	const struct file_ops *fops; /* [I] what open files of it start with */
	struct super *super;         /* [I] */
	uint64_t ino;                /* [I] */
	_Atomic uint32_t mode;       /* [l] type and permission bits; the type is [I] */
	_Atomic uint32_t uid, gid;   /* [l] */
	_Atomic uint32_t nlink;      /* [l] 0: gone when the last reference goes */
	bool nameless;               /* [l] made by O_TMPFILE and may still get its first name */
	_Atomic int refs;            /* [a] */
	uint64_t rdev;               /* [I] */
	_Atomic loff_t size;         /* [l] bytes */
	_Atomic uint64_t atime, mtime, ctime; /* [l] ns since 1970 */
	struct mutex lock;
	void *priv;                  /* the file system's */
	struct page_index *pages;    /* [I] the file's pages, or NULL */
	struct mapping *mapping;     /* [I] between pages and a backing store; NULL: memory file */
	struct owner *owner;         /* [I] group of the creator, referenced */
	_Atomic(void *) pipe;        /* [a] FIFO: its buffer while somebody has it open */
	_Atomic(void *) locks;       /* [a] flock and fcntl locks (fs/locks.c) */
	_Atomic bool mapped;         /* [a] some space has mapped it; never goes back */
	_Atomic int writers;         /* [a] files open for writing; < 0: writing denied (exec) */
	struct rcu_head rcu;
};

/* A name: constant, replaced as a whole by rename. */
struct dname {
	uint32_t hash;
	uint16_t len;
	bool external;   /* allocated by itself, freed after a grace period */
	struct rcu_head rcu;
	char s[];        /* NUL terminated */
};
#define DNAME_INLINE 32 /* bytes with the NUL; longer names are allocated */

#define DENTRY_HASHED  (1u << 0) /* can be found */
#define DENTRY_DELETED (1u << 1) /* unlinked; as a directory: takes no new entries */
#define DENTRY_PINNED  (1u << 2) /* one of refs is for being in the tree */
#define DENTRY_ANON    (1u << 3) /* in no tree (pipes, memfd): its path is its name */

/* Legend: [d] changed under dcache_lock, read under RCU; [I] constant once hashed */
struct dentry {
	_Atomic(struct dentry *) parent;    /* [d] itself for a root */
	_Atomic(struct dname *) name;       /* [d] */
	struct inode *inode;                /* [I] NULL until attached */
	struct super *super;                /* [I] */
	_Atomic(struct dentry *) hash_next; /* [d] */
	_Atomic(struct dentry *) mounted;   /* [d] root of what is mounted here */
	_Atomic(struct dentry *) covers;    /* [d] of a mounted root: where it hangs */
	struct list_head children, sibling; /* [d] and the parent's inode->lock */
	uint64_t cookie;                    /* [d] position in readdir, grows along the list */
	_Atomic int refs;
	_Atomic uint32_t flags;             /* [d] DENTRY_* */
	struct rcu_head rcu;
	uint64_t inline_name[(sizeof(struct dname) + DNAME_INLINE + 7) / 8];
};

struct super {
	struct fs_type *type;
	struct dentry *root;
	uint64_t dev;
	_Atomic uint64_t next_ino;
	_Atomic int refs;                 /* dentries and the mount */
	unsigned mount_flags;             /* MS_RDONLY … */
	struct list_head link;            /* all mounted supers, under dcache_lock */
	char *source, *options;
	void *priv;
	/* blocks, bfree, files, ffree, bsize, magic */
	int (*statfs)(struct super *s, uint64_t out[6]);
	void (*show_options)(const struct super *s, struct seq *out); /* each after a comma; NULL: options */
	int (*sync)(struct super *s);     /* everything to the store, and wait; NULL: there is none */
	/* Clean pages, unused inodes go; may be NULL. */
	void (*drop_caches)(struct super *s, bool pages, bool inodes);
	/* Last reference gone: free priv; may be NULL.  False: somebody has an inode for good, so @s must stay. */
	bool (*kill)(struct super *s);
	struct rcu_head rcu;
};

struct inode_ops {
	/*
	 * Computed trees only, NULL otherwise: attach the inode that @d's name
	 * stands for, or return -ENOENT.  @dir's lock is held.
	 */
	int (*lookup)(struct inode *dir, struct dentry *d);
	/* Computed trees: is what @i stood for gone?  Under RCU: must not sleep. */
	bool (*stale)(struct inode *i);
	/*
	 * Changes.  @dir->lock is held, the caller has checked permissions, @d is
	 * new (for create, mkdir, link, symlink: attach an inode to it) or
	 * existing (for rmdir, unlink: its inode's lock is held as well).  The
	 * VFS hashes and unhashes.  0 or -errno; a missing operation is -EPERM.
	 */
	int (*create)(struct inode *dir, struct dentry *d, unsigned mode, uint64_t rdev);
	int (*mkdir)(struct inode *dir, struct dentry *d, unsigned mode);
	int (*rmdir)(struct inode *dir, struct dentry *d);
	int (*unlink)(struct inode *dir, struct dentry *d);
	int (*link)(struct inode *dir, struct dentry *d, struct inode *target);
	int (*symlink)(struct inode *dir, struct dentry *d, const char *target);
	/* @nd is NULL or an existing entry that is replaced, @name the new one's; the VFS moves the dentry. */
	int (*rename)(struct inode *odir, struct dentry *od, struct inode *ndir,
		      struct dentry *nd, const struct dname *name);
	/* Nameless inode for O_TMPFILE; ERR_PTR. */
	struct inode *(*tmpfile)(struct inode *dir, unsigned mode);
	/* The target: constant text, or computed into @buf; ERR_PTR. */
	const char *(*readlink)(struct inode *i, char *buf, size_t n);
	/* Links that are not text (/proc/PID/exe, fd/N): a referenced dentry, or ERR_PTR. */
	struct dentry *(*follow)(struct inode *i);
	int (*truncate)(struct inode *i, loff_t size); /* i->lock held */
	int (*getattr)(struct inode *i, struct kstat *st); /* the VFS has filled @st from @i */
	int (*setattr)(struct inode *i);               /* mode or owner changed; may be NULL */
	const void *(*watch_key)(struct inode *i);     /* inotify: what events go by; NULL: the inode */
	void (*evict)(struct inode *i);                /* last reference gone; may sleep */
};

/* One reference for the caller; its creator's group is charged.  NULL without memory. */
struct inode *inode_alloc(struct super *s, uint32_t mode);
static inline void inode_get(struct inode *i)
{
	atomic_fetch_add_explicit(&i->refs, 1, memory_order_relaxed);
}
void inode_put(struct inode *i); /* may sleep */
static inline void inode_init_ops(struct inode *i, const struct inode_ops *ops,
				  const struct file_ops *fops)
{
	i->ops = ops;
	i->fops = fops;
}
void inode_touch(struct inode *i); /* mtime and ctime = now */
uint64_t realtime_ns(void);        /* since 1970 */
/* Tolerant of concurrent changes.  @want: MAY_*.  0 or -EACCES. */
#define MAY_EXEC  1u
#define MAY_WRITE 2u
#define MAY_READ  4u
int inode_permission(const struct inode *i, unsigned want);

/* Unhashed dentry of @parent with one reference, or NULL.  Takes a reference to the parent. */
struct dentry *dentry_alloc(struct dentry *parent, const char *name, size_t len);
static inline void dentry_get(struct dentry *d)
{
	atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
}
bool dentry_tryget(struct dentry *d); /* false if it is dying; under RCU */
void dentry_put(struct dentry *d);    /* may sleep; NULL is fine */
/* Gives @d its inode; takes over the inode reference. */
static inline void dentry_attach(struct dentry *d, struct inode *i)
{
	d->inode = i;
}
/* Makes @d findable.  @pin: keep it until dentry_remove().  The parent's inode->lock is held. */
void dentry_add(struct dentry *d, bool pin);
void dentry_remove(struct dentry *d); /* unlinked from its directory */
/* Child of @parent with a reference, or NULL; no locks needed. */
struct dentry *dentry_find(struct dentry *parent, const char *name, size_t len);
static inline bool dentry_deleted(const struct dentry *d)
{
	return atomic_load_explicit(&d->flags, memory_order_relaxed) & DENTRY_DELETED;
}
static inline const struct dname *dentry_name(const struct dentry *d)
{
	return rcu_dereference(d->name);
}

/* New instance with a root directory inode's dentry still to be made: see super_set_root(). */
struct super *super_alloc(struct fs_type *t, const char *source, const char *data);
/* Root dentry for @root; takes over the inode reference.  0 or -ENOMEM (inode dropped). */
int super_set_root(struct super *s, struct inode *root);
void super_put(struct super *s); /* drops an instance that was never mounted, or the mount's reference */

/*
 * Helpers for pinned trees made by the kernel itself (devfs, mount points).
 */
struct inode *ramfs_new_inode(struct super *s, unsigned mode, uint64_t rdev);
int ramfs_mount(struct fs_type *t, const char *source, const char *data, struct super **out);

/*
 * Text files: show() prints all of the content when the file is first read;
 * reads from position 0 print anew.  A file system's file_ops.open calls
 * text_open() and its file_ops uses the text_* functions (or text_file_ops).
 * show: 0 or -errno.  write: the whole write(2) as a NUL-terminated string
 * (without it counted), at most 4096 bytes; bytes consumed or -errno.
 */
typedef int (*text_show_t)(struct seq *s, void *arg);
typedef ssize_t (*text_write_t)(const char *text, size_t n, void *arg);
int text_open(struct file *f, text_show_t show, text_write_t write, void *arg);
void *text_arg(struct file *f);
uint64_t *text_cookie(struct file *f); /* a word of the open file for the file system's use; 0 at first */
ssize_t text_read(struct file *f, struct iov_iter *to, loff_t *pos);
ssize_t text_write(struct file *f, struct iov_iter *from, loff_t *pos);
loff_t text_lseek(struct file *f, loff_t off, int whence);
void text_release(struct file *f);
extern const struct file_ops text_file_ops;

/* For readdir(): "." and ".." at positions 0 and 1.  False: the buffer is full. */
bool dir_emit_dots(struct file *f, filldir_t fill, void *ctx, loff_t *pos);
#define DT_UNKNOWN 0
#define DT_FIFO 1
#define DT_CHR 2
#define DT_DIR 4
#define DT_BLK 6
#define DT_REG 8
#define DT_LNK 10
#define DT_SOCK 12
static inline unsigned mode_dtype(unsigned mode)
{
	return (mode & S_IFMT) >> 12;
}

#endif /* FS_INODE_H */
