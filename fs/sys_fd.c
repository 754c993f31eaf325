/* SPDX-License-Identifier: MIT */
/*
 * System calls on descriptors: close, dup, fcntl, ioctl.
 */
#include "fs/internal.h"
#include "fs/sys.h"

#define F_DUPFD 0
#define F_GETFD 1
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4
#define F_GETLK 5
#define F_SETLK 6
#define F_SETLKW 7
#define F_SETOWN 8
#define F_GETOWN 9
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#define F_OFD_SETLKW 38
#define F_DUPFD_CLOEXEC 1030
#define F_SETPIPE_SZ 1031
#define F_GETPIPE_SZ 1032
#define F_ADD_SEALS 1033
#define F_GET_SEALS 1034
#define F_SETFL_BITS (O_APPEND | O_NONBLOCK | O_DIRECT | 020000 /* O_ASYNC */ | 01000000)

#define FIOCLEX  0x5451
#define FIONCLEX 0x5450
#define FIONBIO  0x5421
#define FIONREAD 0x541b
#define FIOASYNC 0x5452


long sys_close(int fd)
{
	return do_close(fd);
}

long sys_close_range(unsigned first, unsigned last, unsigned flags)
{
	struct files *t = current_files();
	int fd;

	if (first > last || (flags & ~6u)) /* CLOSE_RANGE_UNSHARE, _CLOEXEC */
		return -EINVAL;
	if (flags & 2)
		return -EINVAL; /* tables are not unshared here */
	for (fd = (int)min(first, (unsigned)INT_MAX); fd >= 0; fd++) {
		fd = files_next_fd(t, fd);
		if (fd < 0 || (unsigned)fd > last)
			break;
		if (flags & 4)
			fd_cloexec(fd, 1);
		else
			do_close(fd);
	}
	return 0;
}

static struct file *fget_any(int fd)
{
	struct files *t = current_files();

	return t ? files_get_file(t, fd) : NULL;
}

static long dup_from(int fd, int from, unsigned flags)
{
	struct file *f = fget_any(fd);
	int n;

	if (!f)
		return -EBADF;
	n = fd_alloc(flags, from);
	if (n < 0)
		fput(f);
	else
		fd_install(n, f);
	return n;
}

long sys_dup(int fd)
{
	return dup_from(fd, 0, 0);
}

long sys_dup3(int from, int to, int flags)
{
	struct file *f;

	if (flags & ~O_CLOEXEC)
		return -EINVAL;
	if (from == to)
		return -EINVAL;
	f = fget_any(from);
	if (!f)
		return -EBADF;
	return fd_replace(to, f, (unsigned)flags);
}

long sys_dup2(int from, int to)
{
	if (from == to) {
		struct fdref r = fdget_path(from);

		if (!r.file)
			return -EBADF;
		fdput(r);
		return to;
	}
	return sys_dup3(from, to, 0);
}

static void set_flag_bits(struct file *f, unsigned mask, unsigned bits)
{
	unsigned old = atomic_load_explicit(&f->flags, memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(&f->flags, &old, (old & ~mask) | (bits & mask),
						      memory_order_relaxed, memory_order_relaxed))
		;
}

long sys_fcntl(int fd, unsigned cmd, unsigned long arg)
{
	struct process *p = current_process();
	struct fdref r = fdget_path(fd);
	struct file *f = r.file;
	long ret;

	if (!f)
		return -EBADF;
	if (f->mode & FMODE_PATH) {
		switch (cmd) {
		case F_DUPFD:
		case F_DUPFD_CLOEXEC:
		case F_GETFD:
		case F_SETFD:
		case F_GETFL:
			break;
		default:
			fdput(r);
			return -EBADF;
		}
	}
	switch (cmd) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		if (arg >= p->rlimits[RLIMIT_NOFILE][0])
			ret = -EINVAL;
		else
			ret = dup_from(fd, (int)arg, cmd == F_DUPFD_CLOEXEC ? O_CLOEXEC : 0);
		break;
	case F_GETFD:
		ret = fd_cloexec(fd, -1);
		break;
	case F_SETFD:
		ret = fd_cloexec(fd, (int)(arg & 1));
		break;
	case F_GETFL:
		ret = (long)atomic_load_explicit(&f->flags, memory_order_relaxed);
		break;
	case F_SETFL:
		set_flag_bits(f, F_SETFL_BITS, (unsigned)arg);
		ret = 0;
		break;
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		ret = file_lock_fcntl(f, cmd, (void __user *)arg);
		break;
	case F_SETOWN:
	case F_GETOWN:
		ret = 0;
		break;
	case F_SETPIPE_SZ:
	case F_GETPIPE_SZ:
		ret = pipe_fcntl(f, cmd == F_SETPIPE_SZ, arg);
		break;
	case F_ADD_SEALS:
		ret = 0;
		break;
	case F_GET_SEALS:
		ret = 0;
		break;
	default:
		ret = -EINVAL;
		break;
	}
	fdput(r);
	return ret;
}

long sys_flock(int fd, int op)
{
	struct fdref r = fdget(fd);
	long ret;

	if (!r.file)
		return -EBADF;
	ret = file_lock_flock(r.file, op);
	fdput(r);
	return ret;
}

long sys_ioctl(int fd, unsigned cmd, unsigned long arg)
{
	struct fdref r = fdget(fd);
	struct file *f = r.file;
	int on;
	long ret = -ENOTTY;

	if (!f)
		return -EBADF;
	switch (cmd) {
	case FIOCLEX:
	case FIONCLEX:
		ret = fd_cloexec(fd, cmd == FIOCLEX);
		break;
	case FIONBIO:
		ret = get_user(on, (int __user *)arg);
		if (!ret)
			set_flag_bits(f, O_NONBLOCK, on ? O_NONBLOCK : 0);
		break;
	case FIOASYNC:
		ret = 0;
		break;
	case FIONREAD:
		if (f->inode && S_ISREG(f->inode->mode) && !f->ops->ioctl) {
			loff_t left = atomic_load_explicit(&f->inode->size, memory_order_relaxed) -
				      f->pos;

			ret = put_user((int)left, (int __user *)arg);
			break;
		}
		/* fall through */
	default:
		if (f->ops && f->ops->ioctl)
			ret = f->ops->ioctl(f, cmd, arg);
		break;
	}
	fdput(r);
	return ret;
}
