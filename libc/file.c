/* SPDX-License-Identifier: MIT */
/*
 * Files: open and fcntl flags, struct stat and directory entries differ
 * between newlib and Linux and are translated here; the rest passes through.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "libc/syscall.h"

#define LINUX_O_CREAT	  00000100
#define LINUX_O_EXCL	  00000200
#define LINUX_O_NOCTTY	  00000400
#define LINUX_O_TRUNC	  00001000
#define LINUX_O_APPEND	  00002000
#define LINUX_O_NONBLOCK  00004000
#define LINUX_O_DIRECTORY 00200000
#define LINUX_O_NOFOLLOW  00400000
#define LINUX_O_CLOEXEC	  02000000
#define LINUX_O_SYNC	  04010000

static const struct {
	int newlib, linux_;
} open_flags[] = {
	{ O_CREAT, LINUX_O_CREAT },	    { O_EXCL, LINUX_O_EXCL },
	{ O_NOCTTY, LINUX_O_NOCTTY },	    { O_TRUNC, LINUX_O_TRUNC },
	{ O_APPEND, LINUX_O_APPEND },	    { O_NONBLOCK, LINUX_O_NONBLOCK },
	{ O_DIRECTORY, LINUX_O_DIRECTORY }, { O_NOFOLLOW, LINUX_O_NOFOLLOW },
	{ O_CLOEXEC, LINUX_O_CLOEXEC },	    { O_SYNC, LINUX_O_SYNC },
};

#define NR_OPEN_FLAGS (sizeof(open_flags) / sizeof(open_flags[0]))

static int flags_to_linux(int flags)
{
	int out = flags & O_ACCMODE;

	for (size_t i = 0; i < NR_OPEN_FLAGS; i++)
		if (flags & open_flags[i].newlib)
			out |= open_flags[i].linux_;
	return out;
}

static int flags_from_linux(int flags)
{
	int out = flags & O_ACCMODE;

	for (size_t i = 0; i < NR_OPEN_FLAGS; i++)
		if ((flags & open_flags[i].linux_) == open_flags[i].linux_)
			out |= open_flags[i].newlib;
	return out;
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode = 0;

	if (flags & O_CREAT) {
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	return (int)sysret(
		sys_call4(NR_openat, LINUX_AT_FDCWD, path, flags_to_linux(flags), mode));
}

int close(int fd)
{
	return (int)sysret(sys_call1(NR_close, fd));
}

/* newlib declares these with its own return type, which is ssize_t. */
_READ_WRITE_RETURN_TYPE read(int fd, void *buf, size_t len)
{
	return sysret(sys_call3(NR_read, fd, buf, len));
}

_READ_WRITE_RETURN_TYPE write(int fd, const void *buf, size_t len)
{
	return sysret(sys_call3(NR_write, fd, buf, len));
}

ssize_t readv(int fd, const struct iovec *iov, int n)
{
	return sysret(sys_call3(NR_readv, fd, iov, n));
}

ssize_t writev(int fd, const struct iovec *iov, int n)
{
	return sysret(sys_call3(NR_writev, fd, iov, n));
}

off_t lseek(int fd, off_t off, int whence)
{
	return sysret(sys_call3(NR_lseek, fd, off, whence));
}

ssize_t sendfile(int out, int in, off_t *off, size_t count)
{
	return sysret(sys_call4(NR_sendfile, out, in, off, count));
}

int fsync(int fd)
{
	return (int)sysret(sys_call1(NR_fsync, fd));
}

int ftruncate(int fd, off_t len)
{
	return (int)sysret(sys_call2(NR_ftruncate, fd, len));
}

int dup(int fd)
{
	return (int)sysret(sys_call1(NR_dup, fd));
}

int dup2(int from, int to)
{
	return (int)sysret(sys_call2(NR_dup2, from, to));
}

int pipe(int fds[2])
{
	return (int)sysret(sys_call2(NR_pipe2, fds, 0));
}

int fcntl(int fd, int cmd, ...)
{
	va_list ap;
	long arg;
	long ret;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	switch (cmd) {
	case F_DUPFD:
	case F_GETFD:
	case F_SETFD:
		return (int)sysret(sys_call3(NR_fcntl, fd, cmd, arg));
	case F_GETFL:
		ret = sys_call3(NR_fcntl, fd, cmd, 0);
		return ret < 0 ? (int)sysret(ret) : flags_from_linux((int)ret);
	case F_SETFL:
		return (int)sysret(sys_call3(NR_fcntl, fd, cmd, flags_to_linux((int)arg)));
	}
	errno = EINVAL;
	return -1;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	long arg;

	va_start(ap, request);
	arg = va_arg(ap, long);
	va_end(ap);
	return (int)sysret(sys_call3(NR_ioctl, fd, request, arg));
}

int isatty(int fd)
{
	char termios[64];
	long ret = sys_call3(NR_ioctl, fd, TCGETS, termios);

	if (ret == 0)
		return 1;
	sysret(ret);
	return 0;
}

/* Linux x86-64 struct stat. */
struct linux_stat {
	uint64_t dev, ino, nlink;
	uint32_t mode, uid, gid, pad;
	uint64_t rdev;
	int64_t size, blksize, blocks;
	int64_t atime, atime_ns, mtime, mtime_ns, ctime, ctime_ns;
	int64_t unused[3];
};

#define LINUX_AT_SYMLINK_NOFOLLOW 0x100
#define LINUX_AT_EMPTY_PATH	  0x1000

static int stat_at(int fd, const char *path, struct stat *st, int flags)
{
	struct linux_stat ls;
	long ret = sys_call4(NR_newfstatat, fd, path, &ls, flags);

	if (ret < 0)
		return (int)sysret(ret);
	memset(st, 0, sizeof(*st));
	st->st_dev = (dev_t)ls.dev;
	st->st_ino = (ino_t)ls.ino;
	st->st_mode = ls.mode;
	st->st_nlink = (nlink_t)ls.nlink;
	st->st_uid = (uid_t)ls.uid;
	st->st_gid = (gid_t)ls.gid;
	st->st_rdev = (dev_t)ls.rdev;
	st->st_size = ls.size;
	st->st_atim = (struct timespec){ ls.atime, ls.atime_ns };
	st->st_mtim = (struct timespec){ ls.mtime, ls.mtime_ns };
	st->st_ctim = (struct timespec){ ls.ctime, ls.ctime_ns };
	st->st_blksize = ls.blksize;
	st->st_blocks = ls.blocks;
	return 0;
}

int stat(const char *path, struct stat *st)
{
	return stat_at(LINUX_AT_FDCWD, path, st, 0);
}

int lstat(const char *path, struct stat *st)
{
	return stat_at(LINUX_AT_FDCWD, path, st, LINUX_AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *st)
{
	return stat_at(fd, "", st, LINUX_AT_EMPTY_PATH);
}

int access(const char *path, int mode)
{
	struct stat st;

	(void)mode;
	return stat(path, &st);
}

int unlink(const char *path)
{
	return (int)sysret(sys_call1(NR_unlink, path));
}

ssize_t readlink(const char *path, char *buf, size_t n)
{
	return sysret(sys_call3(NR_readlink, path, buf, n));
}

int rename(const char *from, const char *to)
{
	return (int)sysret(sys_call2(NR_rename, from, to));
}

int _rename(const char *from, const char *to)
{
	return rename(from, to);
}

/* newlib's remove() and rename() fall back to link(); no program of ours has links. */
int link(const char *from, const char *to)
{
	(void)from;
	(void)to;
	errno = ENOSYS;
	return -1;
}

int mkdir(const char *path, mode_t mode)
{
	return (int)sysret(sys_call2(NR_mkdir, path, mode));
}

int rmdir(const char *path)
{
	return (int)sysret(sys_call1(NR_rmdir, path));
}

int chdir(const char *path)
{
	return (int)sysret(sys_call1(NR_chdir, path));
}

char *getcwd(char *buf, size_t size)
{
	return sysret(sys_call2(NR_getcwd, buf, size)) < 0 ? NULL : buf;
}

mode_t umask(mode_t mask)
{
	return (mode_t)sys_call1(NR_umask, mask);
}

int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data)
{
	return (int)sysret(sys_call6(NR_mount, (long)source, (long)target, (long)type, (long)flags, (long)data, 0));
}

int umount(const char *target)
{
	return (int)sysret(sys_call2(NR_umount2, target, 0));
}
