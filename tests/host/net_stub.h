/* SPDX-License-Identifier: MIT */
/*
 * For network tests: the accounting that net/ calls, with a limit that the test
 * sets, and helpers around sockets.
 */
#ifndef TESTS_HOST_NET_STUB_H
#define TESTS_HOST_NET_STUB_H

#include "tests/host/mm_stub.h"
#include "kernel/param.h"
#include "kernel/string.h"
#include "kernel/wait.h"
#include "mm/slab.h"
#include "net/net.h"
#include "net/tcp.h"

bool memcg_sock_total;
static _Atomic uint64_t stub_dropped;
void owner_get(struct owner *o)
{
}
void owner_put(struct owner *o)
{
}
void memcg_user_get(struct owner *o)
{
}
void memcg_user_put(struct owner *o)
{
}
uint64_t memcg_headroom(struct owner *o)
{
	int64_t left = atomic_load(&stub_limit) - atomic_load(&stub_pages);

	return left > 0 ? (uint64_t)min(left, (int64_t)1 << 40) << PAGE_SHIFT : 0;
}
unsigned memcg_sock_credit(struct owner *o)
{
	return memcg_headroom(o) > 1024 * PAGE_SIZE ? 4 : 0;
}
unsigned memcg_charge_sock(struct owner *o, unsigned pages, unsigned flags)
{
	unsigned ahead = memcg_sock_credit(o);

	if (ahead && memcg_charge(o, pages + ahead, MEMCG_SOCK, flags) == 0)
		return pages + ahead;
	return memcg_charge(o, pages, MEMCG_SOCK, flags) == 0 ? pages : 0;
}
int memcg_owner_path(struct owner *o, char *buf, size_t n)
{
	return -ENAMETOOLONG;
}
bool memcg_under_pressure(struct owner *o)
{
	return memcg_headroom(o) < 64 * PAGE_SIZE;
}
void memcg_event_sock_dropped(struct owner *o)
{
	atomic_fetch_add(&stub_dropped, 1);
}
__weak size_t copy_to_user_part(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
	return n;
}
__weak size_t copy_from_user_part(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
	return n;
}
size_t clear_user_part(void *dst, size_t n);
__weak size_t clear_user_part(void *dst, size_t n)
{
	memset(dst, 0, n);
	return n;
}
__weak bool user_range_ok(const void *p, size_t n)
{
	return true;
}
__weak int copy_from_user(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
	return 0;
}
__weak void fput(struct file *f)
{
}
struct dentry;
__weak struct sock *file_to_sock(struct file *f)
{
	return NULL;
}
__weak int vfs_socket_make(const char *path, struct dentry **out)
{
	return -EACCES;
}
__weak int vfs_socket_find(const char *path, struct dentry **out)
{
	return -ENOENT;
}
__weak struct inode *vfs_socket_inode(const struct dentry *d)
{
	return NULL;
}
__weak void vfs_socket_put(struct dentry *d)
{
}

/* Pseudo-random byte at each position of a stream. */
static inline uint8_t pattern(uint64_t seed, uint64_t pos)
{
	uint64_t x = (pos >> 3) * 0x9e3779b97f4a7c15ULL + seed;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ULL;
	return (uint8_t)(x >> (8 * (pos & 7)));
}
static inline void pattern_fill(void *buf, size_t n, uint64_t seed, uint64_t pos)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)buf)[i] = pattern(seed, pos + i);
}
static inline size_t pattern_bad(const void *buf, size_t n, uint64_t seed, uint64_t pos)
{
	size_t bad = 0;

	for (size_t i = 0; i < n; i++)
		bad += ((const uint8_t *)buf)[i] != pattern(seed, pos + i);
	return bad;
}

static inline ssize_t t_send(struct sock *s, const void *buf, size_t n, unsigned flags)
{
	struct iov v = { (void *)buf, n };
	struct iov_iter it;
	struct sock_msg m = { .it = &it, .flags = flags };

	iov_iter_init(&it, &v, 1, false);
	return s->ops->sendmsg(s, &m);
}
static inline ssize_t t_recv(struct sock *s, void *buf, size_t n, unsigned flags)
{
	struct iov v = { buf, n };
	struct iov_iter it;
	struct sock_msg m = { .it = &it, .flags = flags };

	iov_iter_init(&it, &v, 1, false);
	return s->ops->recvmsg(s, &m);
}
static inline unsigned t_addr(union sockaddr_any *a, int family, uint16_t port)
{
	struct ip_addr lo = family == AF_INET ? addr_from_v4("\x7f\0\0\1") :
						(struct ip_addr){ .b[15] = 1 };

	return addr_export(family, &lo, port, a);
}
static inline struct sock *t_listen(int family, uint16_t port, int backlog)
{
	struct sock *s = tcp_create(family);
	union sockaddr_any a;
	unsigned len = t_addr(&a, family, port);

	HOST_CHECK(!IS_ERR(s));
	s->reuseaddr = true; /* connections that have ended hold the port for a while */
	HOST_CHECK_EQ(s->ops->bind(s, &a, len), 0);
	HOST_CHECK_EQ(s->ops->listen(s, backlog), 0);
	return s;
}
static inline int t_connect(struct sock *s, int family, uint16_t port, bool nonblock)
{
	union sockaddr_any a;
	unsigned len = t_addr(&a, family, port);

	return s->ops->connect(s, &a, len, nonblock);
}
static inline void t_close(struct sock *s)
{
	s->ops->close(s);
}
/* A connected pair through a listener of its own. */
static inline void t_pair(int family, uint16_t port, struct sock **client, struct sock **server)
{
	struct sock *l = t_listen(family, port, 5);

	*client = tcp_create(family);
	HOST_CHECK(!IS_ERR(*client));
	HOST_CHECK_EQ(t_connect(*client, family, port, false), 0);
	HOST_CHECK_EQ(l->ops->accept(l, server, false), 0);
	t_close(l);
}
static inline void t_param(const char *name, const char *value)
{
	HOST_CHECK_EQ(param_set(param_find(name), value), 0);
}

/* Threads that a test waits for. */
static struct wait_queue t_wq;
static _Atomic int t_running;
struct t_thread {
	void (*fn)(void *);
	void *arg;
};
static void t_main(void *arg)
{
	struct t_thread t = *(struct t_thread *)arg;

	kfree(arg);
	t.fn(t.arg);
	atomic_fetch_sub(&t_running, 1);
	wake_up(&t_wq);
}
static inline void t_go(void (*fn)(void *), void *arg)
{
	struct t_thread *t = kmalloc(sizeof(*t), 0);
	struct thread *th;

	t->fn = fn;
	t->arg = arg;
	atomic_fetch_add(&t_running, 1);
	th = thread_create("test", t_main, t, -1);
	HOST_CHECK(!IS_ERR(th));
	thread_start(th);
	thread_put(th);
}
static inline void t_wait(void)
{
	wait_event(&t_wq, atomic_load(&t_running) == 0);
}
static inline void t_init(void)
{
	wq_init(&t_wq, "test");
	stub_charging = true;
	net_init_core();
}
/* Nothing may be charged once the sockets are gone (a lost FIN takes a time-out or two); TIME_WAIT is nobody's. */
static inline void t_check_empty(void)
{
	for (int i = 0; i < 3000 && (atomic_load(&stub_pages) || atomic_load(&stub_bytes)); i++) {
		synchronize_rcu();
		rcu_barrier();
		thread_sleep_until(clock_ns() + 10 * NSEC_PER_MSEC, false);
	}
	HOST_CHECK_EQ(atomic_load(&stub_pages), 0);
	HOST_CHECK_EQ(atomic_load(&stub_bytes), 0);
}

#endif /* TESTS_HOST_NET_STUB_H */
