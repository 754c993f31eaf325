/* SPDX-License-Identifier: MIT */
/* Sockets as files: read, write, poll, ioctl, sendfile into them. */
#include "net/sock.h"
#include "net/net.h"
#include "net/ether.h"
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

/*
 * Inode numbers of sockets: per CPU, so that no two CPUs share a counter, and in a
 * range that files of other kinds don't reach.
 */
static DEFINE_PER_CPU(uint32_t, sock_inos);
static uint32_t new_ino(void)
{
	return 0x10000000u + (this_cpu(sock_inos)++ * nr_cpus + cpu_id()) % 0xe0000000u;
}

struct file *sock_to_file(struct sock *s, unsigned flags)
{
	struct file *f = file_alloc(&sock_fops, O_RDWR | flags, s);

	if (!f) {
		s->ops->close(s);
		return NULL;
	}
	s->ino = new_ino();
	s->uid = current_process()->euid;
	f->anon_mode = S_IFSOCK | 0777;
	atomic_store_explicit(&f->anon_ino, s->ino, memory_order_relaxed);
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
	struct sock_msg m = { .it = to, .nonblock = nonblocking(f), .spliced = !to->user };
	ssize_t ret;

	(void)pos;
	if (!to->count)
		return 0;
	ret = sock_of(f)->ops->recvmsg(sock_of(f), &m);
	scm_free(m.files); /* read() has no place for them */
	return ret;
}

static ssize_t broken_pipe(const struct sock *s, ssize_t ret)
{
	if (ret == -EPIPE && s->type == SOCK_STREAM)
		signal_process(current_process(), SIGPIPE);
	return ret;
}

static ssize_t sock_write(struct file *f, struct iov_iter *from, loff_t *pos)
{
	struct sock_msg m = { .it = from, .nonblock = nonblocking(f) };

	(void)pos;
	return broken_pipe(sock_of(f), sock_of(f)->ops->sendmsg(sock_of(f), &m));
}

static ssize_t sock_send_pages(struct file *f, const struct page_part *v, unsigned n, bool more)
{
	struct sock *s = sock_of(f);
	unsigned flags = (more ? MSG_MORE : 0) | (nonblocking(f) ? MSG_DONTWAIT : 0);
	ssize_t done = 0;

	if (s->ops->send_pages)
		return broken_pipe(s, s->ops->send_pages(s, v, n, flags));
	for (; n; v++, n--) {
		struct iov iov = { (char *)page_virt(v->page) + v->off, v->len };
		struct iov_iter it;
		struct sock_msg m = { .it = &it, .flags = flags };
		ssize_t k;

		iov_iter_init(&it, &iov, 1, false);
		k = s->ops->sendmsg(s, &m);
		if (k <= 0)
			return done ? done : broken_pipe(s, k);
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

#define FIONBIO  0x5421
#define FIOASYNC 0x5452
#define SIOCATMARK 0x8905 /* TCP's alone */
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
			atomic_fetch_and_explicit(&f->flags, ~(unsigned)O_NONBLOCK,
						  memory_order_relaxed);
		return 0;
	case FIOASYNC:
		return 0;
	}
	ret = s->ops->ioctl ? s->ops->ioctl(s, cmd, &v) : -ENOTTY;
	if (!ret)
		return put_user(v, (int *)arg);
	if (ret != -ENOTTY)
		return ret;
	return (cmd & 0xff00) == 0x8900 && cmd != SIOCATMARK ? if_ioctl(s->family, cmd, (void *)arg)
							     : -ENOTTY;
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
