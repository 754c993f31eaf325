/* SPDX-License-Identifier: MIT */
/*
 * What the files of fs/ share with each other and with nobody else: path walk,
 * mounts, opening, user path names, locks.
 */
#ifndef FS_INTERNAL_H
#define FS_INTERNAL_H

#include "fs/vfs.h"
#include "kernel/process.h"
#include "kernel/string.h"
#include "kernel/log.h"
#include "mm/slab.h"
#include "mm/memcg.h"

#define PATH_MAX_BYTES 4096 /* with the NUL */
#define NAME_MAX_BYTES 255
#define MAX_LINKS      40   /* symbolic links in one walk */
#define MAX_RW_COUNT   0x7ffff000UL /* one read or write moves at most this */

#define AT_FDCWD            (-100)
#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_EACCESS          0x200
#define AT_REMOVEDIR        0x200
#define AT_SYMLINK_FOLLOW   0x400
#define AT_NO_AUTOMOUNT     0x800
#define AT_EMPTY_PATH       0x1000

#define MS_RDONLY  1u
#define MS_NOSUID  2u
#define MS_NODEV   4u
#define MS_NOEXEC  8u
#define MS_REMOUNT 32u
#define MS_NOATIME 1024u
#define MS_BIND    4096u
#define MS_MOVE    8192u
#define MS_RELATIME (1u << 21)
#define MNT_FORCE       1u
#define MNT_DETACH      2u
#define MNT_EXPIRE      4u
#define UMOUNT_NOFOLLOW 8u

#define SEEK_SET  0
#define SEEK_CUR  1
#define SEEK_END  2
#define SEEK_DATA 3
#define SEEK_HOLE 4

/* Path walk (fs/namei.c). */
#define WALK_FOLLOW    (1u << 0) /* follow a link in last place */
#define WALK_PARENT    (1u << 1) /* stop before the last component */
#define WALK_DIRECTORY (1u << 2) /* the result must be a directory */
#define WALK_EMPTY     (1u << 3) /* "" stands for the start itself */
#define WALK_NOMOUNT   (1u << 4) /* do not cross a mount in last place (umount) */

enum last_kind { LAST_NORMAL, LAST_ROOT, LAST_DOT, LAST_DOTDOT };

struct walk {
	struct dentry *d;    /* where it stands; referenced unless rcu */
	struct dentry *root; /* the process's root; referenced unless rcu */
	const char *p;       /* what is left of the path */
	char *buf;           /* holds p once a link was followed, or NULL */
	const char *last;    /* WALK_PARENT: last component, not terminated */
	size_t last_len;
	enum last_kind kind;
	bool trailing;       /* slashes behind the last component */
	bool rcu;
	unsigned seq, flags, links;
};

/* Result: referenced dentry in @out.  0 or -errno. */
int path_lookup(int dirfd, const char *path, unsigned flags, struct dentry **out);
/*
 * Walk to the parent of the last component: w->d (referenced) is it.  The
 * caller ends with walk_end() whatever was returned.
 */
int walk_parent(struct walk *w, int dirfd, const char *path);
/* Goes on from a WALK_PARENT result through the text link @link. */
int walk_through(struct walk *w, struct dentry *link);
void walk_end(struct walk *w);
/* The entry of w's last component, looked up or made by the file system: referenced, or NULL if absent, or ERR_PTR. w->d's inode lock is not held. */
struct dentry *walk_last(struct walk *w);
/* Same with the directory's lock held. */
struct dentry *lookup_locked(struct dentry *dir, const char *name, size_t len);
struct dentry *cross_mounts(struct dentry *d); /* consumes and returns a reference */

/* Path from user memory: buffer from a cache, or ERR_PTR(-EFAULT, -ENAMETOOLONG, -ENOMEM). */
char *getname(const char __user *path);
void putname(char *name);
char *name_buffer(void); /* PATH_MAX_BYTES; NULL without memory */

/* Opening (fs/open.c). */
struct file *do_open(int dirfd, const char *path, unsigned flags, unsigned mode);
struct file *file_open_dentry(struct dentry *d, unsigned flags);
struct file *file_new(const struct file_ops *ops, struct dentry *d, unsigned flags, void *priv);

/* Directory changes with kernel paths (fs/dirops.c); 0 or -errno. */
int do_mkdirat(int dirfd, const char *path, unsigned mode);
int do_mknodat(int dirfd, const char *path, unsigned mode, uint64_t rdev);
int do_symlinkat(const char *target, int dirfd, const char *path);
int do_unlinkat(int dirfd, const char *path, unsigned flags);
int do_linkat(int ofd, const char *opath, int nfd, const char *npath, unsigned flags);
int do_renameat(int ofd, const char *opath, int nfd, const char *npath, unsigned flags);
int may_create(struct dentry *dir);
int may_delete(struct dentry *dir, struct dentry *victim);

/* Attributes (fs/attr.c). */
int inode_stat(struct inode *i, struct kstat *st);
int do_truncate(struct inode *i, loff_t size);
/* The entry that a user's (dirfd, path) names, referenced; @flags: WALK_*. */
int user_lookup(int dirfd, const char __user *path, unsigned flags, struct dentry **out);
unsigned at_flags(int flags); /* WALK_* for AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH */

/* Dentries (fs/dcache.c). */
extern struct spinlock dcache_lock;
extern _Atomic unsigned rename_seq; /* odd while a dentry moves */
uint32_t name_hash(const char *name, size_t len);
struct dentry *dentry_find_rcu(struct dentry *parent, const char *name, size_t len, uint32_t hash);
void dentry_unhash(struct dentry *d);
struct dname *dname_alloc(const char *name, size_t len); /* kfree() if not used; NULL */
void dentry_move(struct dentry *d, struct dentry *parent, struct dname *n, struct dentry *victim);
bool dentry_is_below(struct dentry *d, struct dentry *ancestor);
struct dentry *dentry_parent_get(struct dentry *d);
char *dentry_path_from(struct dentry *root, struct dentry *d, char *buf, size_t n);
/* A dentry in no tree around @i (takes its reference over), or NULL (reference dropped). */
struct dentry *dentry_anon(struct super *s, struct inode *i, const char *name);
void dcache_init(void);
void inode_init(void);
void files_init(void);
void file_init(void);
void namei_init(void);

/* Working directory (fs/fs_context.c). */
struct fs_context *current_fs(void);
struct dentry *fs_root_get(void);
struct dentry *fs_cwd_get(void);
/* Under RCU, no references. */
struct dentry *fs_root_rcu(void);
struct dentry *fs_cwd_rcu(void);
void fs_set_root(struct dentry *d); /* take over the reference */
void fs_set_cwd(struct dentry *d);
unsigned fs_umask(void);
unsigned fs_set_umask(unsigned m);
struct dentry *fs_context_get_path(struct fs_context *c, bool root); /* for procfs */

/* Mounts (fs/mount.c). */
extern struct super *root_super;
int do_mount(const char *source, const char *target, const char *type, unsigned long flags,
	     const char *data);
int do_umount(const char *target, unsigned flags);
/* Each mounted instance (or just one) to its store, and wait: 0 or the first error. */
int supers_sync(struct super *only);
void supers_drop_caches(bool pages, bool inodes);
bool super_readonly(const struct super *s);
struct fs_type *fs_type_first(void);
/* Calls @fn for each mount with its path, in mounting order; may sleep. */
void mounts_for_each(void (*fn)(const struct super *s, const char *path, void *arg), void *arg);

/* Kinds of files. */
extern const struct file_ops fifo_file_ops, chrdev_file_ops, dir_no_ops, nodev_file_ops,
	blkdev_file_ops;
extern const struct inode_ops ramfs_dir_ops;
extern const struct file_ops ramfs_dir_file_ops, ramfs_file_ops;
void ramfs_init(void);
void tfs_init(void);
void sync_init(void); /* after proc_init() */
void initramfs_unpack(void);
int initramfs_unpack_archive(const void *data, size_t len); /* 0 or -EINVAL at a bad header */
void devfs_init(void);     /* devices, file-system type */
void devfs_populate(void); /* links in /dev; devices registered later appear there */
void mem_devices_init(void);
void proc_init(void);
void pipe_init(void);
void anon_init(void);
void pipe_release_inode(struct inode *i);
void file_locks_release(struct file *f);  /* flock of @f goes with its last reference */
void file_locks_close(struct inode *i, void *owner); /* fcntl locks of a process: each close() */
void eventpoll_release(struct file *f);

/* Descriptors (fs/files.c). */
struct file *files_get_file(struct files *t, int fd); /* for procfs: referenced or NULL */
int files_next_fd(struct files *t, int from);         /* first open descriptor >= from, or -1 */
unsigned files_size(struct files *t);
struct files *current_files(void);
int do_close(int fd);
int fd_replace(int fd, struct file *f, unsigned flags); /* dup2; takes f's reference over */
int fd_cloexec(int fd, int set);                        /* F_GETFD (set < 0), F_SETFD */

/* Reading and writing (fs/rw.c): no permission to be checked any more. */
ssize_t file_read_iter(struct file *f, struct iov_iter *to, loff_t *pos);
ssize_t file_write_iter(struct file *f, struct iov_iter *from, loff_t *pos);

static inline bool capable(void)
{
	struct process *p = current->process;

	return !p || p->euid == 0;
}

#endif /* FS_INTERNAL_H */
