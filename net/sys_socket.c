/* SPDX-License-Identifier: MIT */
/*
 * System calls of sockets: descriptors to sockets, program memory to kernel
 * structures and back.
 */
#include "net/sock.h"
#include "net/net.h"
#include "net/sys_socket.h"
#include "kernel/signal.h"
#include "kernel/process.h"
#include "kernel/syscall.h"
#include "fs/vfs.h"
#include "mm/slab.h"

#define OPT_MAX 1024u /* bytes of an option's value */

/* The socket of a descriptor, with the file referenced: -EBADF, -ENOTSOCK. */
static struct sock *sock_get(int fd, struct file **f)
{
	struct sock *s;

	*f = fget(fd);
	if (!*f)
		return ERR_PTR(-EBADF);
	s = file_to_sock(*f);
	if (!s) {
		fput(*f);
		return ERR_PTR(-ENOTSOCK);
	}
	return s;
}

static bool file_nonblock(struct file *f)
{
	return atomic_load_explicit(&f->flags, memory_order_relaxed) & O_NONBLOCK;
}

static bool is_root(void)
{
	return current_process()->euid == 0;
}

/* Ports below 1024 are for the machine's own services. */
static bool may_bind(const union sockaddr_any *a)
{
	unsigned port = get_be16(&a->in.port); /* at the same place in both families */

	return (a->family != AF_INET && a->family != AF_INET6) || !port || port >= 1024 || is_root();
}

static int addr_in(union sockaddr_any *a, const void __user *addr, unsigned len)
{
	if (len > sizeof(*a))
		return -EINVAL;
	memset(a, 0, sizeof(*a));
	return len ? copy_from_user(a, addr, len) : 0;
}

/* Copies an address out as far as *@ulen reaches, and its true length. */
static int addr_out(const union sockaddr_any *a, unsigned len, void __user *addr, int __user *ulen)
{
	int room;

	if (get_user(room, ulen))
		return -EFAULT;
	if (room < 0)
		return -EINVAL;
	if (room && len && copy_to_user(addr, a, min((unsigned)room, len)))
		return -EFAULT;
	return put_user((int)len, ulen);
}

long sys_socket(int family, int type, int protocol)
{
	unsigned flags = (type & SOCK_NONBLOCK ? O_NONBLOCK : 0) | (type & SOCK_CLOEXEC ? O_CLOEXEC : 0);
	struct file *f;

	if (type & ~(SOCK_TYPE_MASK | SOCK_NONBLOCK | SOCK_CLOEXEC))
		return -EINVAL;
	/* Whoever has one can forge and overhear. */
	if ((family == AF_PACKET || ((type & SOCK_TYPE_MASK) == SOCK_RAW && (family == AF_INET || family == AF_INET6))) &&
	    !is_root())
		return -EPERM;
	f = socket_file(family, type, protocol);
	return IS_ERR(f) ? PTR_ERR(f) : fd_file(f, flags);
}

long sys_socketpair(int family, int type, int protocol, int __user *fds)
{
	unsigned flags = (type & SOCK_NONBLOCK ? O_NONBLOCK : 0), cloexec = type & SOCK_CLOEXEC ? O_CLOEXEC : 0;
	struct sock *a, *b;
	struct file *fa, *fb;
	int fd[2], ret;

	if (family != AF_UNIX)
		return family == AF_INET || family == AF_INET6 ? -EOPNOTSUPP : -EAFNOSUPPORT;
	if (type & ~(SOCK_TYPE_MASK | SOCK_NONBLOCK | SOCK_CLOEXEC))
		return -EINVAL;
	a = sock_create(family, type & SOCK_TYPE_MASK, protocol);
	if (IS_ERR(a))
		return PTR_ERR(a);
	b = sock_create(family, type & SOCK_TYPE_MASK, protocol);
	if (IS_ERR(b)) {
		a->ops->close(a);
		return PTR_ERR(b);
	}
	ret = unix_pair(a, b);
	if (ret) {
		a->ops->close(a);
		b->ops->close(b);
		return ret;
	}
	fa = sock_to_file(a, flags);
	if (!fa) {
		b->ops->close(b);
		return -ENFILE;
	}
	fb = sock_to_file(b, flags);
	if (!fb) {
		fput(fa);
		return -ENFILE;
	}
	ret = fd[0] = fd_alloc(flags | cloexec, 0);
	if (ret >= 0) {
		ret = fd[1] = fd_alloc(flags | cloexec, 0);
		if (ret < 0)
			fd_release(fd[0]);
	}
	if (ret >= 0 && copy_to_user(fds, fd, sizeof(fd))) {
		fd_release(fd[0]);
		fd_release(fd[1]);
		ret = -EFAULT;
	}
	if (ret < 0) {
		fput(fa);
		fput(fb);
		return ret;
	}
	fd_install(fd[0], fa);
	fd_install(fd[1], fb);
	return 0;
}

long sys_bind(int fd, const void __user *addr, int len)
{
	union sockaddr_any a;
	struct file *f;
	struct sock *s = sock_get(fd, &f);
	long ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = addr_in(&a, addr, (unsigned)len);
	if (!ret && !may_bind(&a))
		ret = -EACCES;
	if (!ret)
		ret = s->ops->bind ? s->ops->bind(s, &a, (unsigned)len) : -EOPNOTSUPP;
	fput(f);
	return ret;
}

long sys_connect(int fd, const void __user *addr, int len)
{
	union sockaddr_any a;
	struct file *f;
	struct sock *s = sock_get(fd, &f);
	long ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = addr_in(&a, addr, (unsigned)len);
	if (!ret)
		ret = s->ops->connect ? s->ops->connect(s, &a, (unsigned)len, file_nonblock(f)) : -EOPNOTSUPP;
	fput(f);
	return ret;
}

long sys_listen(int fd, int backlog)
{
	struct file *f;
	struct sock *s = sock_get(fd, &f);
	long ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = s->ops->listen ? s->ops->listen(s, backlog) : -EOPNOTSUPP;
	fput(f);
	return ret;
}

long sys_accept4(int fd, void __user *addr, int __user *ulen, int flags)
{
	union sockaddr_any a;
	struct file *f, *nf = NULL;
	struct sock *s, *n;
	int ret, nfd;

	if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
		return -EINVAL;
	s = sock_get(fd, &f);
	if (IS_ERR(s))
		return PTR_ERR(s);
	nfd = fd_alloc(flags & SOCK_CLOEXEC ? O_CLOEXEC : 0, 0);
	if (nfd < 0) {
		fput(f);
		return nfd;
	}
	ret = s->ops->accept ? s->ops->accept(s, &n, file_nonblock(f)) : -EOPNOTSUPP;
	if (!ret) {
		nf = sock_to_file(n, flags & SOCK_NONBLOCK ? O_NONBLOCK : 0);
		ret = nf ? 0 : -ENFILE;
	}
	if (!ret && addr) {
		/* The connection may be gone already: then there is no peer to name. */
		int len = n->ops->getname(n, &a, true);

		ret = addr_out(&a, len > 0 ? (unsigned)len : 0, addr, ulen);
	}
	if (ret) {
		fd_release(nfd);
		if (nf)
			fput(nf);
	} else {
		fd_install(nfd, nf);
		ret = nfd;
	}
	fput(f);
	return ret;
}

long sys_accept(int fd, void __user *addr, int __user *ulen)
{
	return sys_accept4(fd, addr, ulen, 0);
}

static long getname(int fd, void __user *addr, int __user *ulen, bool peer)
{
	union sockaddr_any a;
	struct file *f;
	struct sock *s = sock_get(fd, &f);
	long ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = s->ops->getname(s, &a, peer);
	if (ret >= 0)
		ret = addr_out(&a, (unsigned)ret, addr, ulen);
	fput(f);
	return ret;
}

long sys_getsockname(int fd, void __user *addr, int __user *ulen)
{
	return getname(fd, addr, ulen, false);
}

long sys_getpeername(int fd, void __user *addr, int __user *ulen)
{
	return getname(fd, addr, ulen, true);
}

long sys_shutdown(int fd, int how)
{
	struct file *f;
	struct sock *s = sock_get(fd, &f);
	long ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	if (how < SHUT_RD || how > SHUT_RDWR)
		ret = -EINVAL;
	else
		ret = s->ops->shutdown ? s->ops->shutdown(s, how) : -EOPNOTSUPP;
	fput(f);
	return ret;
}

static ssize_t send_common(struct sock *s, struct file *f, struct sock_msg *m)
{
	ssize_t ret;

	m->nonblock = file_nonblock(f);
	if ((m->flags & MSG_OOB) && (s->type != SOCK_STREAM || s->family == AF_UNIX))
		return -EOPNOTSUPP;
	ret = s->ops->sendmsg(s, m);
	if (ret == -EPIPE && !(m->flags & MSG_NOSIGNAL) && s->type == SOCK_STREAM)
		signal_process(current_process(), SIGPIPE);
	return ret;
}

long sys_sendto(int fd, const void __user *buf, size_t n, unsigned flags, const void __user *addr, int len)
{
	struct iov v = { (void *)buf, min_t(size_t, n, LONG_MAX) };
	struct iov_iter it;
	union sockaddr_any a;
	struct sock_msg m = { .it = &it, .flags = flags };
	struct file *f;
	struct sock *s = sock_get(fd, &f);
	long ret = 0;

	if (IS_ERR(s))
		return PTR_ERR(s);
	if (!user_range_ok(buf, v.len))
		ret = -EFAULT;
	iov_iter_init(&it, &v, 1, true);
	if (!ret && addr && len) {
		ret = addr_in(&a, addr, (unsigned)len);
		m.name = &a;
		m.name_len = (unsigned)len;
	}
	if (!ret)
		ret = send_common(s, f, &m);
	fput(f);
	return ret;
}

long sys_recvfrom(int fd, void __user *buf, size_t n, unsigned flags, void __user *addr, int __user *ulen)
{
	struct iov v = { buf, min_t(size_t, n, LONG_MAX) };
	struct iov_iter it;
	union sockaddr_any a;
	struct sock_msg m = { .it = &it, .flags = flags, .name = addr ? &a : NULL };
	struct file *f;
	struct sock *s = sock_get(fd, &f);
	long ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	iov_iter_init(&it, &v, 1, true);
	m.nonblock = file_nonblock(f);
	ret = user_range_ok(buf, v.len) ? s->ops->recvmsg(s, &m) : -EFAULT;
	scm_free(m.files); /* this call has no place for them */
	if (ret >= 0 && addr) {
		int err = addr_out(&a, m.name_len, addr, ulen);

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
	if (h.name && h.namelen) {
		ret = addr_in(&a, h.name, h.namelen);
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
	struct sock *s = sock_get(fd, &f);
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
	m.nonblock = file_nonblock(f);
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
	struct sock *s = sock_get(fd, &f);
	long ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = do_recvmsg(s, f, msg, flags);
	fput(f);
	return ret;
}

/* Addresses of a program need not be aligned, nor be addresses of anything: no pointer arithmetic. */
static void __user *mmsg_at(void __user *msgs, unsigned i)
{
	return (void __user *)((uintptr_t)msgs + i * sizeof(struct abi_mmsghdr));
}

static int put_mmsg_len(void __user *msg, uint32_t len)
{
	return copy_to_user((void __user *)((uintptr_t)msg + offsetof(struct abi_mmsghdr, len)), &len,
			    sizeof(len));
}

long sys_sendmmsg(int fd, void __user *msgs, unsigned n, unsigned flags)
{
	struct file *f;
	struct sock *s = sock_get(fd, &f);
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
	s = sock_get(fd, &f);
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

long sys_setsockopt(int fd, int level, int name, const void __user *val, int len)
{
	uint64_t buf[OPT_MAX / 8];
	struct file *f;
	struct sock *s;
	long ret;

	if (len < 0)
		return -EINVAL;
	len = min(len, (int)OPT_MAX);
	s = sock_get(fd, &f);
	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = copy_from_user(buf, val, (size_t)len);
	if (!ret)
		ret = sock_setsockopt(s, level, name, buf, (unsigned)len);
	fput(f);
	return ret;
}

long sys_getsockopt(int fd, int level, int name, void __user *val, int __user *ulen)
{
	uint64_t buf[OPT_MAX / 8];
	struct file *f;
	struct sock *s;
	unsigned n;
	int len;
	long ret;

	if (get_user(len, ulen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	s = sock_get(fd, &f);
	if (IS_ERR(s))
		return PTR_ERR(s);
	n = min_t(unsigned, (unsigned)len, OPT_MAX);
	ret = sock_getsockopt(s, level, name, buf, &n);
	if (!ret && n && copy_to_user(val, buf, n))
		ret = -EFAULT;
	if (!ret)
		ret = put_user((int)n, ulen);
	fput(f);
	return ret;
}
