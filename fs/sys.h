/* SPDX-License-Identifier: MIT */
/*
 * The file system calls (Linux x86-64 arguments; 0 or more, or -errno), and the
 * few functions that serve only them.  kernel/syscall.c has the table.
 */
#ifndef FS_SYS_H
#define FS_SYS_H

#include "kernel/syscall.h"

struct file;
struct kstat;
struct statx_buf;
struct statfs_buf;
struct upollfd;
struct epoll_event;
struct itimerspec64;
struct poll_table;

void mount_root(void);
void file_locks_init(void);
int file_lock_flock(struct file *f, int op);
long file_lock_fcntl(struct file *f, unsigned cmd, void __user *arg);
long pipe_fcntl(struct file *f, bool set, unsigned long arg); /* F_SETPIPE_SZ, F_GETPIPE_SZ */
int pipe_files(struct file *out[2], unsigned flags);
unsigned file_poll(struct file *f, struct poll_table *pt); /* events ready now */

/* fs/inotify.c */
long sys_inotify_init(void);
long sys_inotify_init1(int flags);
long sys_inotify_add_watch(int fd, const char __user *path, uint32_t mask);
long sys_inotify_rm_watch(int fd, int wd);

/* fs/anon.c */
long sys_eventfd2(unsigned init, int flags);
long sys_eventfd(unsigned init);
long sys_timerfd_create(int clock, int flags);
long sys_timerfd_settime(int fd, int flags, const struct itimerspec64 __user *unew,
	struct itimerspec64 __user *uold);
long sys_timerfd_gettime(int fd, struct itimerspec64 __user *out);
long sys_memfd_create(const char __user *uname, unsigned flags);

/* fs/attr.c */
long sys_fchmodat(int dirfd, const char __user *path, unsigned mode);
long sys_chmod(const char __user *path, unsigned mode);
long sys_fchmod(int fd, unsigned mode);
long sys_fchownat(int dirfd, const char __user *path, uint32_t uid, uint32_t gid, int flags);
long sys_chown(const char __user *path, uint32_t uid, uint32_t gid);
long sys_lchown(const char __user *path, uint32_t uid, uint32_t gid);
long sys_fchown(int fd, uint32_t uid, uint32_t gid);
long sys_utimensat(int dirfd, const char __user *path, const struct timespec64 __user *uts,
	int flags);
long sys_futimesat(int dirfd, const char __user *path, const struct timeval64 __user *utv);
long sys_utimes(const char __user *path, const struct timeval64 __user *utv);
long sys_utime(const char __user *path, const int64_t __user *ut);
long sys_truncate(const char __user *path, int64_t size);
long sys_ftruncate(int fd, int64_t size);

/* fs/eventpoll.c */
long sys_epoll_create1(int flags);
long sys_epoll_create(int size);
long sys_epoll_ctl(int epfd, int op, int fd, struct epoll_event __user *uev);
long sys_epoll_wait(int epfd, struct epoll_event __user *out, int max, int ms);
long sys_epoll_pwait(int epfd, struct epoll_event __user *out, int max, int ms,
	const uint64_t __user *mask, size_t size);
long sys_epoll_pwait2(int epfd, struct epoll_event __user *out, int max,
	const struct timespec64 __user *ts, const uint64_t __user *mask, size_t size);

/* fs/mount.c */
long sys_mount(const char __user *source, const char __user *target, const char __user *type,
	unsigned long flags, const char __user *data);
long sys_umount2(const char __user *target, int flags);
long sys_statfs(const char __user *path, struct statfs_buf __user *out);
long sys_fstatfs(int fd, struct statfs_buf __user *out);

/* fs/pipe.c */
long sys_pipe2(int __user *fds, int flags);
long sys_pipe(int __user *fds);

/* fs/poll.c */
long sys_poll(struct upollfd __user *u, unsigned n, int timeout_ms);
long sys_ppoll(struct upollfd __user *u, unsigned n, struct timespec64 __user *ts,
	const uint64_t __user *mask, size_t size);
long sys_select(int n, void __user *in, void __user *out, void __user *ex,
	struct timeval64 __user *utv);
long sys_pselect6(int n, void __user *in, void __user *out, void __user *ex,
	struct timespec64 __user *ts, const void __user *sig);

/* fs/rw.c */
long sys_read(int fd, void __user *buf, size_t n);
long sys_write(int fd, const void __user *buf, size_t n);
long sys_pread64(int fd, void __user *buf, size_t n, int64_t off);
long sys_pwrite64(int fd, const void __user *buf, size_t n, int64_t off);
long sys_readv(int fd, const void __user *v, unsigned long nr);
long sys_writev(int fd, const void __user *v, unsigned long nr);
long sys_preadv(int fd, const void __user *v, unsigned long nr, unsigned long lo, unsigned long hi);
long sys_pwritev(int fd, const void __user *v, unsigned long nr, unsigned long lo,
	unsigned long hi);
long sys_preadv2(int fd, const void __user *v, unsigned long nr, unsigned long lo,
	unsigned long hi, int flags);
long sys_pwritev2(int fd, const void __user *v, unsigned long nr, unsigned long lo,
	unsigned long hi, int flags);
long sys_lseek(int fd, int64_t off, int whence);
long sys_fsync(int fd);
long sys_fdatasync(int fd);
long sys_sync(void);
long sys_syncfs(int fd);
long sys_sync_file_range(int fd, int64_t off, int64_t n, unsigned flags);
long sys_readahead(int fd, int64_t off, size_t n);
long sys_fadvise64(int fd, int64_t off, int64_t n, int advice);
long sys_fallocate(int fd, int mode, int64_t off, int64_t n);

/* fs/sendfile.c */
long sys_sendfile(int out_fd, int in_fd, int64_t __user *uoff, size_t count);
long sys_copy_file_range(int in_fd, int64_t __user *uin, int out_fd, int64_t __user *uout,
	size_t count, unsigned flags);

/* fs/splice.c */
long sys_splice(int in_fd, int64_t __user *uin, int out_fd, int64_t __user *uout, size_t count,
	unsigned flags);
long sys_tee(int in_fd, int out_fd, size_t count, unsigned flags);
long sys_vmsplice(int fd, const void __user *v, unsigned long nr, unsigned flags);

/* fs/sys_fd.c */
long sys_close(int fd);
long sys_close_range(unsigned first, unsigned last, unsigned flags);
long sys_dup(int fd);
long sys_dup3(int from, int to, int flags);
long sys_dup2(int from, int to);
long sys_fcntl(int fd, unsigned cmd, unsigned long arg);
long sys_flock(int fd, int op);
long sys_ioctl(int fd, unsigned cmd, unsigned long arg);

/* fs/sys_path.c */
long sys_open(const char __user *path, int flags, unsigned mode);
long sys_openat(int dirfd, const char __user *path, int flags, unsigned mode);
long sys_openat2(int dirfd, const char __user *path, const void __user *how, size_t size);
long sys_creat(const char __user *path, unsigned mode);
long sys_mkdirat(int dirfd, const char __user *path, unsigned mode);
long sys_mkdir(const char __user *path, unsigned mode);
long sys_mknodat(int dirfd, const char __user *path, unsigned mode, unsigned dev);
long sys_mknod(const char __user *path, unsigned mode, unsigned dev);
long sys_unlinkat(int dirfd, const char __user *path, int flags);
long sys_unlink(const char __user *path);
long sys_rmdir(const char __user *path);
long sys_symlinkat(const char __user *target, int dirfd, const char __user *path);
long sys_symlink(const char __user *target, const char __user *path);
long sys_linkat(int ofd, const char __user *opath, int nfd, const char __user *npath, int flags);
long sys_link(const char __user *opath, const char __user *npath);
long sys_renameat2(int ofd, const char __user *opath, int nfd, const char __user *npath,
	unsigned flags);
long sys_renameat(int ofd, const char __user *opath, int nfd, const char __user *npath);
long sys_rename(const char __user *opath, const char __user *npath);
long sys_readlinkat(int dirfd, const char __user *path, char __user *buf, int size);
long sys_readlink(const char __user *path, char __user *buf, int size);
long sys_getcwd(char __user *buf, size_t size);
long sys_chdir(const char __user *path);
long sys_fchdir(int fd);
long sys_chroot(const char __user *path);
long sys_umask(unsigned mask);
long sys_getdents(int fd, void __user *buf, unsigned n);
long sys_getdents64(int fd, void __user *buf, unsigned n);

/* fs/sys_stat.c */
long sys_newfstatat(int dirfd, const char __user *path, struct kstat __user *out, int flags);
long sys_stat(const char __user *path, struct kstat __user *out);
long sys_lstat(const char __user *path, struct kstat __user *out);
long sys_fstat(int fd, struct kstat __user *out);
long sys_statx(int dirfd, const char __user *path, int flags, unsigned mask,
	struct statx_buf __user *out);
long sys_faccessat2(int dirfd, const char __user *path, int mode, int flags);
long sys_faccessat(int dirfd, const char __user *path, int mode);
long sys_access(const char __user *path, int mode);

#endif /* FS_SYS_H */
