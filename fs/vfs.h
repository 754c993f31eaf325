/* SPDX-License-Identifier: MIT */
/*
 * The virtual file system: inodes, directory entries, open files.
 *
 * What:      a tree of dentries (names) over inodes (objects); file systems
 *            give an inode its inode_ops and file_ops.  Mounts hang a file
 *            system's root on a dentry.
 * Locks:     inode->lock (mutex) over a directory's entries and a file's size
 *            and data; dcache_lock (spinlock) over the dentry tree's links.
 *            Order: parent directory before child, then dcache_lock.
 * Life time: dentry->refs, inode->refs, file->refs.  An unlinked inode lives
 *            until its last reference goes.
 */
#ifndef FS_VFS_H
#define FS_VFS_H

#include "kernel/lock.h"
#include "kernel/wait.h"
#include "kernel/rcu.h"
#include "mm/uaccess.h"
#include "mm/page.h"

struct file;
struct inode;
struct dentry;
struct super;
struct poll_table;
struct vm_space;

/* Linux x86-64 struct stat. */
struct kstat {
	uint64_t dev, ino, nlink;
	uint32_t mode, uid, gid, pad0;
	uint64_t rdev;
	int64_t size, blksize, blocks;
	uint64_t atime, atime_ns, mtime, mtime_ns, ctime, ctime_ns;
	int64_t unused[3];
};
_Static_assert(sizeof(struct kstat) == 144, "struct stat is ABI");

#define S_IFMT   0170000
#define S_IFSOCK 0140000
#define S_IFLNK  0120000
#define S_IFREG  0100000
#define S_IFBLK  0060000
#define S_IFDIR  0040000
#define S_IFCHR  0020000
#define S_IFIFO  0010000
#define S_ISREG(m)  (((m) & S_IFMT) == S_IFREG)
#define S_ISDIR(m)  (((m) & S_IFMT) == S_IFDIR)
#define S_ISLNK(m)  (((m) & S_IFMT) == S_IFLNK)
#define S_ISCHR(m)  (((m) & S_IFMT) == S_IFCHR)
#define S_ISBLK(m)  (((m) & S_IFMT) == S_IFBLK)
#define S_ISFIFO(m) (((m) & S_IFMT) == S_IFIFO)
#define S_ISSOCK(m) (((m) & S_IFMT) == S_IFSOCK)

#define O_ACCMODE   3
#define O_RDONLY    0
#define O_WRONLY    1
#define O_RDWR      2
#define O_CREAT     0100
#define O_EXCL      0200
#define O_NOCTTY    0400
#define O_TRUNC     01000
#define O_APPEND    02000
#define O_NONBLOCK  04000
#define O_DSYNC     010000
#define O_DIRECT    040000
#define O_LARGEFILE 0100000
#define O_DIRECTORY 0200000
#define O_NOFOLLOW  0400000
#define O_CLOEXEC   02000000
#define O_PATH      010000000
#define O_TMPFILE   020200000

#define EPOLLIN     0x001
#define EPOLLPRI    0x002
#define EPOLLOUT    0x004
#define EPOLLERR    0x008
#define EPOLLHUP    0x010
#define EPOLLNVAL   0x020
#define EPOLLRDNORM 0x040
#define EPOLLWRNORM 0x100
#define EPOLLRDHUP  0x2000

typedef int (*filldir_t)(void *ctx, const char *name, size_t len, uint64_t ino, unsigned dtype, loff_t next);

/* A run of bytes in a page. */
struct page_part {
	struct page *page;
	uint32_t off, len;
};

struct file_ops {
	/* Transfer at *pos and advance it.  Return bytes or -errno; short counts are fine. */
	ssize_t (*read)(struct file *f, struct iov_iter *to, loff_t *pos);
	ssize_t (*write)(struct file *f, struct iov_iter *from, loff_t *pos);
	/* Directory: calls @fill from *pos on until it returns nonzero. */
	int (*readdir)(struct file *f, filldir_t fill, void *ctx, loff_t *pos);
	/* Ready events now; registers with poll_wait() if @pt is not NULL. */
	unsigned (*poll)(struct file *f, struct poll_table *pt);
	long (*ioctl)(struct file *f, unsigned cmd, unsigned long arg);
	loff_t (*lseek)(struct file *f, loff_t off, int whence);
	/* A page of the file for mmap and sendfile, referenced; ERR_PTR. Beyond the end: ERR_PTR(-EIO). */
	struct page *(*get_page)(struct file *f, uint64_t index);
	/* sendfile()/splice into this file: @len bytes of @page from @off; the callee takes its own reference. */
	ssize_t (*send_page)(struct file *f, struct page *page, size_t off, size_t len, bool more);
	/* The same for several runs at once; NULL: one by one. */
	ssize_t (*send_pages)(struct file *f, const struct page_part *v, unsigned n, bool more);
	int (*open)(struct inode *i, struct file *f);
	void (*release)(struct file *f); /* last reference gone */
	int (*flush)(struct file *f);    /* each close() */
	int (*fsync)(struct file *f);
	/* May it be mapped?  0, -ENODEV … ; NULL: -ENODEV. */
	int (*mmap)(struct file *f, unsigned vm_flags);
};

struct file {
	const struct file_ops *ops; /* constant after open */
	struct dentry *dentry;      /* constant; NULL for pipes, sockets */
	struct inode *inode;        /* constant; may be NULL (anonymous files) */
	void *priv;                 /* the file system's */
	_Atomic unsigned flags;     /* O_* status flags */
	unsigned mode;              /* FMODE_*, constant */
	_Atomic int refs;
	uint32_t anon_mode;         /* without an inode: st_mode (file_alloc: 0600; sockets set S_IFSOCK | 0777) */
	_Atomic uint64_t anon_ino;  /* without an inode: st_ino, given when first asked for */
	struct mutex pos_lock;      /* protects pos */
	loff_t pos;
	struct list_head ep_links;  /* epoll sets that watch it; under epoll's lock */
};
#define FMODE_READ   1u
#define FMODE_WRITE  2u
#define FMODE_PATH   4u
#define FMODE_STREAM 8u /* no position: pipes, sockets, terminals */

/* File-descriptor side, used by system calls of every part. */
struct files; /* a process's descriptor table */
struct file *fget(int fd);               /* current process; NULL if closed; takes a reference */
void fput(struct file *f);               /* may sleep (release) */
/*
 * A descriptor for the length of one call.  A process with one thread needs no
 * reference: only it can close the descriptor.
 */
struct fdref {
	struct file *file; /* NULL: bad descriptor (or O_PATH) */
	bool put;
};
struct fdref fdget(int fd);
struct fdref fdget_path(int fd); /* O_PATH is welcome */
static inline void fdput(struct fdref r)
{
	if (r.put)
		fput(r.file);
}
static inline void file_get(struct file *f)
{
	atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
}
/* Without dentry and inode; mode from the access bits of @flags, plus FMODE_STREAM. Charged; NULL: no memory or limit. */
struct file *file_alloc(const struct file_ops *ops, unsigned flags, void *priv);
int fd_alloc(unsigned flags, int from);  /* reserves a number (O_CLOEXEC honoured); -EMFILE, -ENOMEM */
void fd_install(int fd, struct file *f); /* takes over the reference */
void fd_release(int fd);                 /* give back a reserved number */
int fd_file(struct file *f, unsigned flags); /* both in one; on error drops f */

struct files *files_create(void);
struct files *files_clone(struct files *f); /* fork; NULL without memory */
void files_get(struct files *f);
void files_put(struct files *f);
void files_close_on_exec(struct files *f);

/* Working directory, root, umask: shared or copied by clone. */
struct fs_context;
struct fs_context *fs_context_create(void); /* root and cwd "/", umask 022 */
struct fs_context *fs_context_clone(struct fs_context *c);
void fs_context_get(struct fs_context *c);
void fs_context_put(struct fs_context *c);

/* For the kernel's own use: path from the root or the cwd. ERR_PTR(-errno). */
struct file *vfs_open(const char *path, unsigned flags, unsigned mode);
ssize_t vfs_read(struct file *f, void *buf, size_t n, loff_t *pos);   /* kernel buffer */
ssize_t vfs_write(struct file *f, const void *buf, size_t n, loff_t *pos);
int vfs_stat_file(struct file *f, struct kstat *st);
/* Absolute path of a dentry into the end of buf; returns its start. */
char *dentry_path(struct dentry *d, char *buf, size_t n);
int vfs_mkdir(const char *path, unsigned mode);
int vfs_mkdir_parents(const char *path, unsigned mode); /* and what is missing above it; existing is fine */
int vfs_symlink(const char *target, const char *path);
int vfs_mknod(const char *path, unsigned mode, uint64_t rdev);

/*
 * Names of AF_UNIX sockets (fs/socket_node.c); relative to the caller's directory.
 * Both give the node's entry, referenced; it may sleep to put it.  The inode tells
 * which node it is as long as the entry is held, also after it was unlinked.
 */
int vfs_socket_make(const char *path, struct dentry **out); /* -EADDRINUSE: something is there; … */
int vfs_socket_find(const char *path, struct dentry **out); /* -ECONNREFUSED: no socket; -EACCES; … */
struct inode *vfs_socket_inode(const struct dentry *d);
void vfs_socket_put(struct dentry *d); /* NULL is fine */
/* exec: forbids writing while the file runs.  0 or -ETXTBSY. */
int file_deny_write(struct file *f);
void file_allow_write(struct file *f);
int vfs_mount(const char *source, const char *target, const char *fstype, unsigned long flags, const char *data);

/* Poll. */
struct poll_table {
	void (*queue)(struct poll_table *pt, struct file *f, struct wait_queue *q);
	unsigned events; /* that the caller wants */
};
static inline void poll_wait(struct file *f, struct wait_queue *q, struct poll_table *pt)
{
	if (pt && pt->queue)
		pt->queue(pt, f, q);
}

/*
 * Text files that are computed when read (procfs, cgroupfs): show() prints
 * into a growing buffer; see text_open() in fs/inode.h.
 */
struct seq {
	char *buf;
	size_t size, len;
	bool overflow; /* set when the buffer was too small: the core grows it and calls again */
	void *priv;
};
void seq_printf(struct seq *s, const char *fmt, ...) __printf(2, 3);
void seq_write(struct seq *s, const void *p, size_t n);

/* procfs: register a file /proc/PATH. show: 0 or -errno. write: whole string, bytes or -errno; may be NULL. */
int proc_register(const char *path, unsigned mode, int (*show)(struct seq *s, void *arg),
		  ssize_t (*write)(const char *text, size_t n, void *arg), void *arg);
/* The same for /proc/net, /proc/sys … with a path that is a symbolic link. */
int proc_symlink(const char *path, const char *target);
/* devfs: register /dev/NAME as a character device. */
int dev_register(const char *name, unsigned mode, uint64_t rdev, const struct file_ops *ops, void *priv);
/* The same for a node of a block device, which fs/block.c opens. */
int dev_register_block(const char *name, unsigned mode, uint64_t rdev);
#define MKDEV(ma, mi) (((uint64_t)(ma) << 8) | (mi)) /* enough for majors < 4096, minors < 256 */

struct fs_type {
	const char *name;
	int (*mount)(struct fs_type *t, const char *source, const char *data, struct super **out);
	int (*remount)(struct super *s, const char *data); /* 0 or -errno; NULL: options do not change */
	bool needs_device; /* /proc/filesystems: no "nodev" */
	struct fs_type *next;
};
void fs_register(struct fs_type *t);

void vfs_init(void);       /* rootfs, initramfs unpacked */

#include "fs/inode.h" /* struct inode, dentry, super: fs/'s own detail */

#endif /* FS_VFS_H */
