/* SPDX-License-Identifier: MIT */
/*
 * System calls that take paths: open, directories, links, working directory.
 */
#include "fs/internal.h"
#include "fs/sys.h"

/* Flags that open() knows; others are ignored by open and refused by openat2. */
#define O_KNOWN                                                                                    \
	(O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_DSYNC |      \
	 O_DIRECT | O_LARGEFILE | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_PATH | O_TMPFILE |      \
	 020000 /* O_ASYNC */ | 01000000 /* O_NOATIME */ | 04000000 /* O_SYNC */)

static long open_user(int dirfd, const char __user *path, unsigned flags, unsigned mode)
{
	char *name = getname(path);
	struct file *f;
	int fd;

	if (IS_ERR(name))
		return PTR_ERR(name);
	fd = fd_alloc(flags, 0);
	if (fd >= 0) {
		f = do_open(dirfd, name, (flags & O_KNOWN) | O_LARGEFILE, mode);
		if (IS_ERR(f)) {
			fd_release(fd);
			fd = (int)PTR_ERR(f);
		} else {
			fd_install(fd, f);
		}
	}
	putname(name);
	return fd;
}

long sys_open(const char __user *path, int flags, unsigned mode)
{
	return open_user(AT_FDCWD, path, (unsigned)flags, mode);
}

long sys_openat(int dirfd, const char __user *path, int flags, unsigned mode)
{
	return open_user(dirfd, path, (unsigned)flags, mode);
}

long sys_openat2(int dirfd, const char __user *path, const void __user *how, size_t size)
{
	struct { uint64_t flags, mode, resolve; } h;

	if (size < sizeof(h))
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (copy_from_user(&h, how, sizeof(h)))
		return -EFAULT;
	if (h.flags & ~(uint64_t)O_KNOWN)
		return -EINVAL;
	if (h.mode & ~07777ULL)
		return -EINVAL;
	if (h.resolve) /* restricted walks: unsupported, and saying so is part of the interface */
		return -EINVAL;
	return open_user(dirfd, path, (unsigned)h.flags, (unsigned)h.mode);
}

long sys_creat(const char __user *path, unsigned mode)
{
	return open_user(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

long sys_mkdirat(int dirfd, const char __user *path, unsigned mode)
{
	char *name = getname(path);
	long err;

	if (IS_ERR(name))
		return PTR_ERR(name);
	err = do_mkdirat(dirfd, name, mode);
	putname(name);
	return err;
}

long sys_mkdir(const char __user *path, unsigned mode)
{
	return sys_mkdirat(AT_FDCWD, path, mode);
}

long sys_mknodat(int dirfd, const char __user *path, unsigned mode, unsigned dev)
{
	char *name = getname(path);
	long err;

	if (IS_ERR(name))
		return PTR_ERR(name);
	err = do_mknodat(dirfd, name, mode, dev);
	putname(name);
	return err;
}

long sys_mknod(const char __user *path, unsigned mode, unsigned dev)
{
	return sys_mknodat(AT_FDCWD, path, mode, dev);
}

long sys_unlinkat(int dirfd, const char __user *path, int flags)
{
	char *name = getname(path);
	long err;

	if (IS_ERR(name))
		return PTR_ERR(name);
	err = do_unlinkat(dirfd, name, (unsigned)flags);
	putname(name);
	return err;
}

long sys_unlink(const char __user *path)
{
	return sys_unlinkat(AT_FDCWD, path, 0);
}

long sys_rmdir(const char __user *path)
{
	return sys_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

/* Two paths from user memory; on success both must be given back. */
static long get_two(const char __user *ua, const char __user *ub, char **a, char **b)
{
	*a = getname(ua);
	if (IS_ERR(*a))
		return PTR_ERR(*a);
	*b = getname(ub);
	if (IS_ERR(*b)) {
		putname(*a);
		return PTR_ERR(*b);
	}
	return 0;
}

long sys_symlinkat(const char __user *target, int dirfd, const char __user *path)
{
	char *t, *p;
	long err = get_two(target, path, &t, &p);

	if (err)
		return err;
	err = do_symlinkat(t, dirfd, p);
	putname(t);
	putname(p);
	return err;
}

long sys_symlink(const char __user *target, const char __user *path)
{
	return sys_symlinkat(target, AT_FDCWD, path);
}

long sys_linkat(int ofd, const char __user *opath, int nfd, const char __user *npath, int flags)
{
	char *o, *n;
	long err = get_two(opath, npath, &o, &n);

	if (err)
		return err;
	err = do_linkat(ofd, o, nfd, n, (unsigned)flags);
	putname(o);
	putname(n);
	return err;
}

long sys_link(const char __user *opath, const char __user *npath)
{
	return sys_linkat(AT_FDCWD, opath, AT_FDCWD, npath, 0);
}

long sys_renameat2(int ofd, const char __user *opath, int nfd, const char __user *npath,
		   unsigned flags)
{
	char *o, *n;
	long err = get_two(opath, npath, &o, &n);

	if (err)
		return err;
	err = do_renameat(ofd, o, nfd, n, flags);
	putname(o);
	putname(n);
	return err;
}

long sys_renameat(int ofd, const char __user *opath, int nfd, const char __user *npath)
{
	return sys_renameat2(ofd, opath, nfd, npath, 0);
}

long sys_rename(const char __user *opath, const char __user *npath)
{
	return sys_renameat2(AT_FDCWD, opath, AT_FDCWD, npath, 0);
}

long sys_readlinkat(int dirfd, const char __user *path, char __user *buf, int size)
{
	struct dentry *d;
	const char *t;
	char *name;
	size_t n;
	long err;

	if (size <= 0)
		return -EINVAL;
	name = getname(path);
	if (IS_ERR(name))
		return PTR_ERR(name);
	err = path_lookup(dirfd, name, WALK_EMPTY, &d);
	if (err)
		goto out;
	if (!S_ISLNK(d->inode->mode) || !d->inode->ops->readlink) {
		err = *name ? -EINVAL : -ENOENT;
	} else {
		/* The path buffer has served: it holds a computed target now. */
		t = d->inode->ops->readlink(d->inode, name, PATH_MAX_BYTES);
		if (IS_ERR(t)) {
			err = PTR_ERR(t);
		} else {
			n = min(strlen(t), (size_t)size);
			err = copy_to_user(buf, t, n) ? -EFAULT : (long)n;
		}
	}
	dentry_put(d);
out:
	putname(name);
	return err;
}

long sys_readlink(const char __user *path, char __user *buf, int size)
{
	return sys_readlinkat(AT_FDCWD, path, buf, size);
}

/* Working directory and root. */

long sys_getcwd(char __user *buf, size_t size)
{
	struct dentry *cwd = fs_cwd_get(), *root = fs_root_get();
	char *b = name_buffer(), *p;
	long ret;

	if (!b) {
		ret = -ENOMEM;
	} else if (dentry_deleted(cwd)) {
		ret = -ENOENT;
	} else {
		p = dentry_path_from(root, cwd, b, PATH_MAX_BYTES);
		if (!p) {
			ret = -ENAMETOOLONG;
		} else {
			size_t n = strlen(p) + 1;

			if (n > size)
				ret = -ERANGE;
			else
				ret = copy_to_user(buf, p, n) ? -EFAULT : (long)n;
		}
	}
	putname(b);
	dentry_put(cwd);
	dentry_put(root);
	return ret;
}

static long lookup_dir(const char __user *path, struct dentry **out)
{
	char *name = getname(path);
	long err;

	if (IS_ERR(name))
		return PTR_ERR(name);
	err = path_lookup(AT_FDCWD, name, WALK_FOLLOW | WALK_DIRECTORY, out);
	putname(name);
	if (err)
		return err;
	err = inode_permission((*out)->inode, MAY_EXEC);
	if (err)
		dentry_put(*out);
	return err;
}

long sys_chdir(const char __user *path)
{
	struct dentry *d;
	long err = lookup_dir(path, &d);

	if (!err)
		fs_set_cwd(d);
	return err;
}

long sys_fchdir(int fd)
{
	struct fdref r = fdget_path(fd);
	struct dentry *d;
	long err = 0;

	if (!r.file)
		return -EBADF;
	d = r.file->dentry;
	if (!d || !S_ISDIR(d->inode->mode))
		err = -ENOTDIR;
	else
		err = inode_permission(d->inode, MAY_EXEC);
	if (!err) {
		dentry_get(d);
		fs_set_cwd(d);
	}
	fdput(r);
	return err;
}

long sys_chroot(const char __user *path)
{
	struct dentry *d;
	long err = lookup_dir(path, &d);

	if (err)
		return err;
	if (!capable()) {
		dentry_put(d);
		return -EPERM;
	}
	fs_set_root(d);
	return 0;
}

long sys_umask(unsigned mask)
{
	return (long)fs_set_umask(mask);
}

/* Directory listing. */

struct getdents_ctx {
	char __user *buf;
	size_t room, done;
	bool old;  /* struct linux_dirent: type in the last byte */
	int err;
};

struct dirent_head {
	uint64_t ino;
	int64_t next;
	uint16_t reclen;
} __packed;

static int fill_user(void *arg, const char *name, size_t len, uint64_t ino, unsigned dtype,
		     loff_t next)
{
	struct getdents_ctx *c = arg;
	size_t head = sizeof(struct dirent_head) + (c->old ? 0 : 1);
	size_t reclen = ALIGN_UP(head + len + 1 + (c->old ? 1 : 0), 8UL);
	char tmp[sizeof(struct dirent_head) + NAME_MAX_BYTES + 16] __attribute__((aligned(8)));
	struct dirent_head *h = (void *)tmp;

	if (reclen > c->room - c->done) {
		c->err = c->done ? 0 : -EINVAL;
		return 1;
	}
	memset(tmp, 0, reclen);
	h->ino = ino;
	h->next = next;
	h->reclen = (uint16_t)reclen;
	if (c->old)
		tmp[reclen - 1] = (char)dtype;
	else
		tmp[sizeof(*h)] = (char)dtype;
	memcpy(tmp + head, name, len);
	/* A number, not a pointer: what the caller named may be anything, NULL as well. */
	if (copy_to_user((char __user *)((uintptr_t)c->buf + c->done), tmp, reclen)) {
		c->err = -EFAULT;
		return 1;
	}
	c->done += reclen;
	return 0;
}

static long getdents(int fd, void __user *buf, unsigned n, bool old)
{
	struct fdref r = fdget(fd);
	struct getdents_ctx c = { .buf = buf, .room = n, .old = old };
	struct file *f = r.file;
	long ret;

	if (!f)
		return -EBADF;
	if (!f->inode || !S_ISDIR(f->inode->mode) || !f->ops->readdir) {
		ret = -ENOTDIR;
	} else if (dentry_deleted(f->dentry)) {
		ret = -ENOENT;
	} else {
		mutex_lock(&f->pos_lock);
		mutex_lock(&f->inode->lock);
		ret = f->ops->readdir(f, fill_user, &c, &f->pos);
		mutex_unlock(&f->inode->lock);
		mutex_unlock(&f->pos_lock);
		if (c.done)
			ret = (long)c.done;
		else if (!ret)
			ret = c.err;
	}
	fdput(r);
	return ret;
}

long sys_getdents(int fd, void __user *buf, unsigned n)
{
	return getdents(fd, buf, n, true);
}

long sys_getdents64(int fd, void __user *buf, unsigned n)
{
	return getdents(fd, buf, n, false);
}
