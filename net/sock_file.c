/* SPDX-License-Identifier: MIT */
/* Sockets as files: read, write, poll, ioctl, sendfile into them. */
#include "net/sock.h"
#include "net/net.h"
#include "net/netdev.h"
#include "kernel/signal.h"
#include "kernel/process.h"
#include "fs/vfs.h"
#include "mm/slab.h"

static const struct file_ops sock_fops;

static inline struct sock *sock_of(struct file *f)
{
	return f->priv;
}

struct sock *file_to_sock(struct file *f)
{
	return f->ops == &sock_fops ? sock_of(f) : NULL;
}

struct file *sock_to_file(struct sock *s, unsigned flags)
{
	struct file *f = file_alloc(&sock_fops, O_RDWR | flags, s);

	if (!f)
		s->ops->close(s);
	return f;
}

struct file *socket_file(int family, int type, int protocol)
{
	struct sock *s = sock_create(family, type & SOCK_TYPE_MASK, protocol);
	struct file *f;

	if (IS_ERR(s))
		return (void *)s;
	f = sock_to_file(s, type & SOCK_NONBLOCK ? O_NONBLOCK : 0);
	return f ? f : ERR_PTR(-ENFILE);
}

static inline bool nonblocking(struct file *f)
{
	return atomic_load_explicit(&f->flags, memory_order_relaxed) & O_NONBLOCK;
}

static ssize_t sock_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	struct sock_msg m = { .it = to, .nonblock = nonblocking(f) };

	(void)pos;
	if (!to->count)
		return 0;
	return sock_of(f)->ops->recvmsg(sock_of(f), &m);
}

static ssize_t broken_pipe(ssize_t ret)
{
	if (ret == -EPIPE)
		signal_process(current_process(), SIGPIPE);
	return ret;
}

static ssize_t sock_write(struct file *f, struct iov_iter *from, loff_t *pos)
{
	struct sock_msg m = { .it = from, .nonblock = nonblocking(f) };

	(void)pos;
	return broken_pipe(sock_of(f)->ops->sendmsg(sock_of(f), &m));
}

static ssize_t sock_send_pages(struct file *f, const struct page_part *v, unsigned n, bool more)
{
	struct sock *s = sock_of(f);
	unsigned flags = (more ? MSG_MORE : 0) | (nonblocking(f) ? MSG_DONTWAIT : 0);
	ssize_t done = 0;

	if (s->ops->send_pages)
		return broken_pipe(s->ops->send_pages(s, v, n, flags));
	for (; n; v++, n--) {
		struct iov iov = { (char *)page_virt(v->page) + v->off, v->len };
		struct iov_iter it;
		struct sock_msg m = { .it = &it, .flags = flags };
		ssize_t k;

		iov_iter_init(&it, &iov, 1, false);
		k = s->ops->sendmsg(s, &m);
		if (k <= 0)
			return done ? done : broken_pipe(k);
		done += k;
		if ((size_t)k < v->len)
			break;
	}
	return done;
}

static ssize_t sock_send_page(struct file *f, struct page *page, size_t off, size_t len, bool more)
{
	struct page_part v = { page, (uint32_t)off, (uint32_t)len };

	return sock_send_pages(f, &v, 1, more);
}

static unsigned sock_poll(struct file *f, struct poll_table *pt)
{
	return sock_of(f)->ops->poll(sock_of(f), f, pt);
}

/* Interface requests that ifconfig and libraries make. */
struct abi_ifreq {
	char name[16];
	union {
		struct sa_in addr;
		int value;
		int16_t flags;
		uint8_t hw[24];
	};
};
#define SIOCGIFNAME    0x8910
#define SIOCGIFCONF    0x8912
#define SIOCGIFFLAGS   0x8913
#define SIOCSIFFLAGS   0x8914
#define SIOCGIFADDR    0x8915
#define SIOCSIFADDR    0x8916
#define SIOCGIFDSTADDR 0x8917
#define SIOCGIFBRDADDR 0x8919
#define SIOCGIFNETMASK 0x891b
#define SIOCSIFNETMASK 0x891c
#define SIOCGIFMETRIC  0x891d
#define SIOCGIFMTU     0x8921
#define SIOCGIFHWADDR  0x8927
#define SIOCGIFINDEX   0x8933
#define SIOCGIFTXQLEN  0x8942
#define SIOCGIFMAP     0x8970
#define IFF_UP         0x1
#define IFF_LOOPBACK   0x8
#define IFF_RUNNING    0x40

/* The device's first IPv4 address. */
static const struct ifaddr *first_v4(struct netdev *dev)
{
	const struct ifaddr *t = ifaddr_table();

	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		if (atomic_load_explicit(&t[i].dev, memory_order_acquire) == dev && addr_is_v4(&t[i].addr))
			return &t[i];
	}
	return NULL;
}

static void put_v4(struct abi_ifreq *r, const struct ip_addr *a)
{
	memset(&r->addr, 0, sizeof(r->addr));
	r->addr.family = AF_INET;
	memcpy(r->addr.addr, &a->b[12], 4);
}

static long ifconf(void __user *arg)
{
	struct { int32_t len, pad; uint64_t buf; } c;
	int32_t done = 0;

	if (copy_from_user(&c, arg, sizeof(c)))
		return -EFAULT;
	for (struct netdev *d = netdev_first(); d; d = d->next) {
		const struct ifaddr *a = first_v4(d);
		struct { struct abi_ifreq r; } one;

		if (!a)
			continue;
		memset(&one, 0, sizeof(one));
		str_copy(one.r.name, d->name, sizeof(one.r.name));
		put_v4(&one.r, &a->addr);
		if (c.buf) {
			if (done + (int)sizeof(one) > c.len)
				break;
			if (copy_to_user((void *)(uintptr_t)(c.buf + (unsigned)done), &one, sizeof(one)))
				return -EFAULT;
		}
		done += (int)sizeof(one);
	}
	c.len = done;
	return copy_to_user(arg, &c, sizeof(c));
}

static long if_ioctl(unsigned cmd, void __user *arg)
{
	struct abi_ifreq r;
	const struct ifaddr *a;
	struct netdev *dev;
	uint32_t mask;

	if (cmd == SIOCGIFCONF)
		return ifconf(arg);
	if (copy_from_user(&r, arg, sizeof(r)))
		return -EFAULT;
	r.name[15] = 0;
	dev = cmd == SIOCGIFNAME ? netdev_by_index((unsigned)r.value) : netdev_by_name(r.name);
	if (!dev)
		return -ENODEV;
	a = first_v4(dev);
	switch (cmd) {
	case SIOCGIFNAME:
		str_copy(r.name, dev->name, sizeof(r.name));
		break;
	case SIOCGIFFLAGS:
		r.flags = (int16_t)((dev->up ? IFF_UP | IFF_RUNNING : 0) | (dev->loopback ? IFF_LOOPBACK : 0));
		break;
	case SIOCSIFFLAGS:
	case SIOCSIFADDR:
	case SIOCSIFNETMASK:
		/* "ifconfig lo up" and its like: already so. */
		return dev->loopback ? 0 : -EOPNOTSUPP;
	case SIOCGIFADDR:
	case SIOCGIFDSTADDR:
		if (!a)
			return -EADDRNOTAVAIL;
		put_v4(&r, &a->addr);
		break;
	case SIOCGIFNETMASK:
	case SIOCGIFBRDADDR:
		if (!a)
			return -EADDRNOTAVAIL;
		put_v4(&r, &a->addr);
		mask = a->prefix > 96 ? ~0u << (128 - a->prefix) : 0;
		if (cmd == SIOCGIFNETMASK)
			put_be32(r.addr.addr, mask);
		else if (dev->loopback)
			put_be32(r.addr.addr, 0);
		else
			put_be32(r.addr.addr, get_be32(r.addr.addr) | ~mask);
		break;
	case SIOCGIFMETRIC:
		r.value = 0;
		break;
	case SIOCGIFMTU:
		r.value = (int)dev->mtu;
		break;
	case SIOCGIFINDEX:
		r.value = (int)dev->index;
		break;
	case SIOCGIFTXQLEN:
		r.value = 1000;
		break;
	case SIOCGIFHWADDR:
		memset(r.hw, 0, sizeof(r.hw));
		r.hw[0] = 0x04; /* ARPHRD_LOOPBACK 772 */
		r.hw[1] = 0x03;
		break;
	case SIOCGIFMAP:
		memset(r.hw, 0, sizeof(r.hw));
		break;
	default:
		return -ENOTTY;
	}
	return copy_to_user(arg, &r, sizeof(r));
}

#define FIONBIO  0x5421
#define FIOASYNC 0x5452
static long sock_ioctl(struct file *f, unsigned cmd, unsigned long arg)
{
	struct sock *s = sock_of(f);
	int v, ret;

	switch (cmd) {
	case FIONBIO:
		if (get_user(v, (int *)arg))
			return -EFAULT;
		if (v)
			atomic_fetch_or_explicit(&f->flags, O_NONBLOCK, memory_order_relaxed);
		else
			atomic_fetch_and_explicit(&f->flags, ~(unsigned)O_NONBLOCK, memory_order_relaxed);
		return 0;
	case FIOASYNC:
		return 0;
	}
	ret = s->ops->ioctl ? s->ops->ioctl(s, cmd, &v) : -ENOTTY;
	if (!ret)
		return put_user(v, (int *)arg);
	if (ret != -ENOTTY)
		return ret;
	return (cmd & 0xff00) == 0x8900 ? if_ioctl(cmd, (void *)arg) : -ENOTTY;
}

static void sock_release(struct file *f)
{
	sock_of(f)->ops->close(sock_of(f));
}

static loff_t sock_lseek(struct file *f, loff_t off, int whence)
{
	(void)f;
	(void)off;
	(void)whence;
	return -ESPIPE;
}

static const struct file_ops sock_fops = {
	.read = sock_read,
	.write = sock_write,
	.poll = sock_poll,
	.ioctl = sock_ioctl,
	.lseek = sock_lseek,
	.send_page = sock_send_page,
	.send_pages = sock_send_pages,
	.release = sock_release,
};
