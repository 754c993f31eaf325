/* SPDX-License-Identifier: MIT */
/*
 * System calls that ask about files: stat, statx, access.
 */
#include "fs/internal.h"
#include "fs/sys.h"

/* stat family. */
static long stat_path(int dirfd, const char __user *path, int flags, struct kstat *st)
{
	struct dentry *d;
	char *name;
	int err;

	if ((flags & AT_EMPTY_PATH) && dirfd >= 0) {
		char c;

		/* fstat() of today's C libraries; also for files without a dentry. */
		if (!path || (!get_user(c, path) && !c)) {
			struct fdref r = fdget_path(dirfd);

			if (!r.file)
				return -EBADF;
			err = vfs_stat_file(r.file, st);
			fdput(r);
			return err;
		}
	}
	name = getname(path);
	if (IS_ERR(name))
		return PTR_ERR(name);
	err = path_lookup(dirfd, name, at_flags(flags), &d);
	putname(name);
	if (err)
		return err;
	err = inode_stat(d->inode, st);
	dentry_put(d);
	return err;
}

long sys_newfstatat(int dirfd, const char __user *path, struct kstat __user *out, int flags)
{
	struct kstat st;
	long err;

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH))
		return -EINVAL;
	err = stat_path(dirfd, path, flags, &st);
	return err ? err : copy_to_user(out, &st, sizeof(st));
}

long sys_stat(const char __user *path, struct kstat __user *out)
{
	return sys_newfstatat(AT_FDCWD, path, out, 0);
}

long sys_lstat(const char __user *path, struct kstat __user *out)
{
	return sys_newfstatat(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

long sys_fstat(int fd, struct kstat __user *out)
{
	struct fdref r = fdget_path(fd);
	struct kstat st;
	long err;

	if (!r.file)
		return -EBADF;
	err = vfs_stat_file(r.file, &st);
	fdput(r);
	return err ? err : copy_to_user(out, &st, sizeof(st));
}

/* Linux struct statx (uapi layout). */
struct statx_ts { int64_t sec; uint32_t nsec; int32_t pad; };
struct statx_buf {
	uint32_t mask, blksize;
	uint64_t attributes;
	uint32_t nlink, uid, gid;
	uint16_t mode, pad1;
	uint64_t ino, size, blocks, attributes_mask;
	struct statx_ts atime, btime, ctime, mtime;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t mnt_id, spare[13];
};
_Static_assert(sizeof(struct statx_buf) == 256, "struct statx is ABI");
#define STATX_BASIC_STATS 0x7ffu

long sys_statx(int dirfd, const char __user *path, int flags, unsigned mask,
	       struct statx_buf __user *out)
{
	struct statx_buf b = { .mask = STATX_BASIC_STATS };
	struct kstat st;
	long err;

	/* 0x6000: AT_STATX_SYNC_TYPE. */
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | 0x6000))
		return -EINVAL;
	if (mask & 0x80000000u)
		return -EINVAL;
	err = stat_path(dirfd, path, flags, &st);
	if (err)
		return err;
	b.blksize = (uint32_t)st.blksize;
	b.nlink = (uint32_t)st.nlink;
	b.uid = st.uid;
	b.gid = st.gid;
	b.mode = (uint16_t)st.mode;
	b.ino = st.ino;
	b.size = (uint64_t)st.size;
	b.blocks = (uint64_t)st.blocks;
	b.atime = (struct statx_ts){ (int64_t)st.atime, (uint32_t)st.atime_ns, 0 };
	b.mtime = (struct statx_ts){ (int64_t)st.mtime, (uint32_t)st.mtime_ns, 0 };
	b.ctime = (struct statx_ts){ (int64_t)st.ctime, (uint32_t)st.ctime_ns, 0 };
	b.rdev_major = (uint32_t)(st.rdev >> 8) & 0xfff;
	b.rdev_minor = (uint32_t)st.rdev & 0xff;
	b.dev_major = (uint32_t)(st.dev >> 8) & 0xfff;
	b.dev_minor = (uint32_t)st.dev & 0xff;
	return copy_to_user(out, &b, sizeof(b));
}

/* access family. */
long sys_faccessat2(int dirfd, const char __user *path, int mode, int flags)
{
	struct process *p = current_process();
	uint32_t euid = p->euid, egid = p->egid;
	struct dentry *d;
	int err;

	if ((mode & ~7) || (flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)))
		return -EINVAL;
	err = user_lookup(dirfd, path, at_flags(flags), &d);
	if (err)
		return err;
	if (!(flags & AT_EACCESS)) { /* asks for the real ids */
		p->euid = p->uid;
		p->egid = p->gid;
	}
	err = mode ? inode_permission(d->inode, (unsigned)mode) : 0;
	if (!(flags & AT_EACCESS)) {
		p->euid = euid;
		p->egid = egid;
	}
	if (!err && (mode & MAY_WRITE) && super_readonly(d->super) && !S_ISCHR(d->inode->mode))
		err = -EROFS;
	dentry_put(d);
	return err;
}

long sys_faccessat(int dirfd, const char __user *path, int mode)
{
	return sys_faccessat2(dirfd, path, mode, 0);
}

long sys_access(const char __user *path, int mode)
{
	return sys_faccessat2(AT_FDCWD, path, mode, 0);
}
