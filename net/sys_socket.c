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

struct sock *sock_of_fd(int fd, struct file **f)
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

bool sock_file_nonblock(struct file *f)
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

	return (a->family != AF_INET && a->family != AF_INET6) || !port || port >= 1024 ||
	       is_root();
}

int sockaddr_import(union sockaddr_any *a, const void __user *addr, unsigned len)
{
	if (len > sizeof(*a))
		return -EINVAL;
	memset(a, 0, sizeof(*a));
	return len ? copy_from_user(a, addr, len) : 0;
}

int sockaddr_export(const union sockaddr_any *a, unsigned len, void __user *addr, int __user *ulen)
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
	unsigned flags =
		(type & SOCK_NONBLOCK ? O_NONBLOCK : 0) | (type & SOCK_CLOEXEC ? O_CLOEXEC : 0);
	struct file *f;

	if (type & ~(SOCK_TYPE_MASK | SOCK_NONBLOCK | SOCK_CLOEXEC))
		return -EINVAL;
	/* Whoever has one can forge and overhear. */
	if ((family == AF_PACKET ||
	     ((type & SOCK_TYPE_MASK) == SOCK_RAW && (family == AF_INET || family == AF_INET6))) &&
	    !is_root())
		return -EPERM;
	f = socket_file(family, type, protocol);
	return IS_ERR(f) ? PTR_ERR(f) : fd_file(f, flags);
}

long sys_socketpair(int family, int type, int protocol, int __user *fds)
{
	unsigned flags = (type & SOCK_NONBLOCK ? O_NONBLOCK : 0),
		 cloexec = type & SOCK_CLOEXEC ? O_CLOEXEC : 0;
	struct sock *a, *b;
	struct file *fa, *fb;
	int fd[2], ret;

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
	ret = family == AF_UNIX ? unix_pair(a, b) : -EOPNOTSUPP;
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
	struct sock *s = sock_of_fd(fd, &f);
	long ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = sockaddr_import(&a, addr, (unsigned)len);
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
	struct sock *s = sock_of_fd(fd, &f);
	long ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = sockaddr_import(&a, addr, (unsigned)len);
	if (!ret)
		ret = s->ops->connect ? s->ops->connect(s, &a, (unsigned)len, sock_file_nonblock(f))
				      : -EOPNOTSUPP;
	fput(f);
	return ret;
}

long sys_listen(int fd, int backlog)
{
	struct file *f;
	struct sock *s = sock_of_fd(fd, &f);
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
	s = sock_of_fd(fd, &f);
	if (IS_ERR(s))
		return PTR_ERR(s);
	nfd = fd_alloc(flags & SOCK_CLOEXEC ? O_CLOEXEC : 0, 0);
	if (nfd < 0) {
		fput(f);
		return nfd;
	}
	ret = s->ops->accept ? s->ops->accept(s, &n, sock_file_nonblock(f)) : -EOPNOTSUPP;
	if (!ret) {
		nf = sock_to_file(n, flags & SOCK_NONBLOCK ? O_NONBLOCK : 0);
		ret = nf ? 0 : -ENFILE;
	}
	if (!ret && addr) {
		int len = n->ops->getname(n, &a, SOCK_END_ACCEPTED);

		ret = len < 0 ? -ECONNABORTED : sockaddr_export(&a, (unsigned)len, addr, ulen);
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
	struct sock *s = sock_of_fd(fd, &f);
	long ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = s->ops->getname(s, &a, peer ? SOCK_END_PEER : SOCK_END_OWN);
	if (ret >= 0)
		ret = sockaddr_export(&a, (unsigned)ret, addr, ulen);
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
	struct sock *s = sock_of_fd(fd, &f);
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

long sys_setsockopt(int fd, int level, int name, const void __user *val, int len)
{
	uint64_t buf[OPT_MAX / 8];
	struct file *f;
	struct sock *s;
	long ret;

	s = sock_of_fd(fd, &f);
	if (IS_ERR(s))
		return PTR_ERR(s);
	len = min(len, (int)OPT_MAX);
	ret = len < 0 ? -EINVAL : copy_from_user(buf, val, (size_t)len);
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

	s = sock_of_fd(fd, &f);
	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = get_user(len, ulen);
	n = !ret && len > 0 ? min_t(unsigned, (unsigned)len, OPT_MAX) : 0;
	if (!ret)
		ret = len < 0 ? -EINVAL : sock_getsockopt(s, level, name, buf, &n);
	if (!ret && n && copy_to_user(val, buf, n))
		ret = -EFAULT;
	if (!ret)
		ret = put_user((int)n, ulen);
	fput(f);
	return ret;
}
