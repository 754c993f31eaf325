/* SPDX-License-Identifier: MIT */
/* System calls that send and receive: bytes, messages with control data, many messages at once. */
#include "net/sock.h"
#include "net/net.h"
#include "net/sys_socket.h"
#include "kernel/signal.h"
#include "kernel/process.h"
#include "kernel/syscall.h"
#include "fs/vfs.h"
#include "mm/slab.h"

static ssize_t send_common(struct sock *s, struct file *f, struct sock_msg *m)
{
	ssize_t ret;

	m->nonblock = sock_file_nonblock(f);
	if ((m->flags & MSG_OOB) && (s->type != SOCK_STREAM || s->family == AF_UNIX))
		return -EOPNOTSUPP;
	ret = s->ops->sendmsg(s, m);
	if (ret == -EPIPE && !(m->flags & MSG_NOSIGNAL) && s->type == SOCK_STREAM)
		signal_process(current_process(), SIGPIPE);
	return ret;
}

long sys_sendto(int fd, const void __user *buf, size_t n, unsigned flags, const void __user *addr,
		int len)
{
	struct iov v = { (void *)buf, min_t(size_t, n, LONG_MAX) };
	struct iov_iter it;
	union sockaddr_any a;
	struct sock_msg m = { .it = &it, .flags = flags };
	struct file *f;
	struct sock *s = sock_of_fd(fd, &f);
	long ret = 0;

	if (IS_ERR(s))
		return PTR_ERR(s);
	if (!user_range_ok(buf, v.len))
		ret = -EFAULT;
	iov_iter_init(&it, &v, 1, true);
	if (!ret && addr) {
		ret = sockaddr_import(&a, addr, (unsigned)len);
		m.name = &a;
		m.name_len = (unsigned)len;
	}
	if (!ret)
		ret = send_common(s, f, &m);
	fput(f);
	return ret;
}

long sys_recvfrom(int fd, void __user *buf, size_t n, unsigned flags, void __user *addr,
		  int __user *ulen)
{
	struct iov v = { buf, min_t(size_t, n, LONG_MAX) };
	struct iov_iter it;
	union sockaddr_any a;
	struct sock_msg m = { .it = &it, .flags = flags, .name = addr ? &a : NULL };
	struct file *f;
	struct sock *s = sock_of_fd(fd, &f);
	long ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	iov_iter_init(&it, &v, 1, true);
	m.nonblock = sock_file_nonblock(f);
	ret = user_range_ok(buf, v.len) ? s->ops->recvmsg(s, &m) : -EFAULT;
	scm_free(m.files); /* this call has no place for them */
	if (ret >= 0 && addr) {
		int err = sockaddr_export(&a, m.name_len, addr, ulen);

		if (err)
			ret = err;
	}
	fput(f);
	return ret;
}

static long do_sendmsg(struct sock *s, struct file *f, void __user *msg, unsigned flags)
{
	struct iov stackv[8], *v = NULL;
	struct iov_iter it;
	struct abi_msghdr h;
	union sockaddr_any a;
	struct sock_msg m = { .it = &it, .flags = flags };
	long ret;

	if (copy_from_user(&h, msg, sizeof(h)))
		return -EFAULT;
	if ((int)h.namelen < 0)
		return -EINVAL;
	h.namelen = min_t(unsigned, h.namelen, sizeof(a));
	if (h.name && h.namelen) {
		ret = sockaddr_import(&a, h.name, h.namelen);
		if (ret)
			return ret;
		m.name = &a;
		m.name_len = h.namelen;
	}
	ret = import_iovec(h.iov, h.iovlen, stackv, &v, &it);
	if (ret < 0)
		return ret;
	ret = cmsg_in(s, &m, &h);
	if (!ret)
		ret = send_common(s, f, &m);
	scm_free(m.files); /* NULL once taken over */
	if (v && v != stackv)
		kfree(v);
	return ret;
}

long sys_sendmsg(int fd, void __user *msg, unsigned flags)
{
	struct file *f;
	struct sock *s = sock_of_fd(fd, &f);
	long ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = do_sendmsg(s, f, msg, flags);
	fput(f);
	return ret;
}

static long do_recvmsg(struct sock *s, struct file *f, void __user *msg, unsigned flags)
{
	struct iov stackv[8], *v = NULL;
	struct iov_iter it;
	struct abi_msghdr h;
	union sockaddr_any a;
	struct sock_msg m = { .it = &it, .flags = flags };
	long ret;
	int err;

	if (copy_from_user(&h, msg, sizeof(h)))
		return -EFAULT;
	ret = import_iovec(h.iov, h.iovlen, stackv, &v, &it);
	if (ret < 0)
		return ret;
	m.nonblock = sock_file_nonblock(f);
	if (h.name)
		m.name = &a;
	ret = s->ops->recvmsg(s, &m);
	if (v && v != stackv)
		kfree(v);
	if (ret < 0) {
		scm_free(m.files);
		return ret;
	}
	if (h.name && m.name_len && copy_to_user(h.name, &a, min(h.namelen, m.name_len)))
		ret = -EFAULT;
	h.namelen = h.name ? m.name_len : 0;
	err = cmsg_out(s, &m, &h);
	if (err)
		ret = err;
	h.flags = m.out_flags;
	if (copy_to_user(msg, &h, sizeof(h)))
		return -EFAULT;
	return ret;
}

long sys_recvmsg(int fd, void __user *msg, unsigned flags)
{
	struct file *f;
	struct sock *s = sock_of_fd(fd, &f);
	long ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = do_recvmsg(s, f, msg, flags);
	fput(f);
	return ret;
}

/*
 * Addresses of a program need not be aligned, nor be addresses of anything: no pointer
 * arithmetic.
 */
static void __user *mmsg_at(void __user *msgs, unsigned i)
{
	return (void __user *)((uintptr_t)msgs + i * sizeof(struct abi_mmsghdr));
}

static int put_mmsg_len(void __user *msg, uint32_t len)
{
	return copy_to_user((void __user *)((uintptr_t)msg + offsetof(struct abi_mmsghdr, len)),
			    &len, sizeof(len));
}

long sys_sendmmsg(int fd, void __user *msgs, unsigned n, unsigned flags)
{
	struct file *f;
	struct sock *s = sock_of_fd(fd, &f);
	unsigned done = 0;
	long ret = 0;

	if (IS_ERR(s))
		return PTR_ERR(s);
	for (n = min(n, 1024u); done < n; done++) {
		ret = do_sendmsg(s, f, mmsg_at(msgs, done), flags);
		if (ret < 0)
			break;
		if (put_mmsg_len(mmsg_at(msgs, done), (uint32_t)ret)) {
			ret = -EFAULT;
			break;
		}
		cond_resched();
	}
	fput(f);
	return done ? done : ret;
}

long sys_recvmmsg(int fd, void __user *msgs, unsigned n, unsigned flags, const void __user *timeout)
{
	uint64_t deadline;
	struct file *f;
	struct sock *s;
	unsigned done = 0;
	long ret = deadline_from_timespec(timeout, &deadline);

	if (ret)
		return ret;
	s = sock_of_fd(fd, &f);
	if (IS_ERR(s))
		return PTR_ERR(s);
	for (n = min(n, 1024u); done < n; done++) {
		ret = do_recvmsg(s, f, mmsg_at(msgs, done), flags & ~MSG_WAITFORONE);
		if (ret < 0)
			break;
		if (put_mmsg_len(mmsg_at(msgs, done), (uint32_t)ret)) {
			ret = -EFAULT;
			break;
		}
		if (flags & MSG_WAITFORONE)
			flags |= MSG_DONTWAIT;
		if (clock_ns() >= deadline) {
			done++;
			break;
		}
		cond_resched();
	}
	fput(f);
	return done ? done : ret;
}
