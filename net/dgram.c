/* SPDX-License-Identifier: MIT */
/* Queues of datagram sockets: net/dgram.h. */
#include "net/dgram.h"
#include "fs/vfs.h"
#include "mm/slab.h"

static struct kmem_cache *dgram_cache;

int dgram_init(void)
{
	dgram_cache = kmem_cache_create("dgram_sock", sizeof(struct dgram_sock), 0, SLAB_ACCOUNT);
	return dgram_cache ? 0 : -ENOMEM;
}

struct dgram_sock *dgram_alloc(const struct sock_ops *ops, int family, int type, int protocol)
{
	struct dgram_sock *d = kmem_cache_alloc(dgram_cache, GFP_KERNEL);

	if (!d)
		return NULL;
	memset(d, 0, sizeof(*d));
	sock_common_init(&d->sk, ops, family, type, protocol, current_owner());
	mutex_init(&d->naming, "dgram_naming");
	spin_init(&d->lock, "dgram");
	atomic_init(&d->refs, 1);
	list_init(&d->port.link);
	d->laddr = family == AF_INET ? addr_from_v4("\0\0\0\0") : ADDR_ANY6;
	d->raddr = d->laddr;
	return d;
}

static void dgram_free_rcu(struct rcu_head *h)
{
	kmem_cache_free(dgram_cache, container_of(h, struct dgram_sock, sk.rcu));
}

void dgram_put(struct dgram_sock *d)
{
	struct pbuf *p;

	if (atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) != 1)
		return;
	while ((p = pqueue_pop(&d->queue)) || (p = pqueue_pop(&d->errors))) {
		sock_mem_uncharge(&d->sk.mem, p->charged);
		pbuf_free(p);
	}
	sock_common_destroy(&d->sk);
	call_rcu(&d->sk.rcu, dgram_free_rcu);
}

bool dgram_try_get(struct dgram_sock *d)
{
	int n = atomic_load_explicit(&d->refs, memory_order_relaxed);

	while (n > 0) {
		if (atomic_compare_exchange_weak_explicit(&d->refs, &n, n + 1, memory_order_acquire,
							  memory_order_relaxed))
			return true;
	}
	return false;
}

void dgram_queue(struct dgram_sock *d, struct pbuf *p)
{
	uint32_t ts = pdata_truesize(p->data, p->off, p->len);
	bool ok;

	if (unlikely(d->sk.timestamp))
		p->stamp = clock_ns() + clock_realtime_offset_ns();
	spin_lock(&d->lock);
	ok = d->rmem + ts <= atomic_load_explicit(&d->sk.rcvbuf, memory_order_relaxed) ||
	     !d->queue.first;
	if (ok && sock_mem_charge(&d->sk.mem, ts, CHARGE_NOSLEEP)) {
		sock_mem_count_dropped(&d->sk.mem);
		ok = false;
	}
	if (ok) {
		p->charged = ts;
		d->rmem += ts;
		pqueue_push(&d->queue, p);
		atomic_fetch_add_explicit(&d->queued, 1, memory_order_seq_cst);
	}
	spin_unlock(&d->lock);
	if (!ok) {
		atomic_fetch_add_explicit(&d->drops, 1, memory_order_relaxed);
		net_count(udp_dropped);
		pbuf_free(p);
		return;
	}
	if (atomic_load_explicit(&d->sk.rd.count, memory_order_seq_cst))
		wake_up_poll(&d->sk.rd, EPOLLIN | EPOLLRDNORM);
}

static bool dgram_ready(struct dgram_sock *d)
{
	return atomic_load_explicit(&d->queued, memory_order_acquire) ||
	       atomic_load_explicit(&d->sk.err, memory_order_relaxed) ||
	       (sock_shut(&d->sk) & SOCK_RCV_SHUT);
}

struct pbuf *dgram_next(struct dgram_sock *d, struct sock_msg *m, int *err)
{
	bool nonblock = m->nonblock || (m->flags & MSG_DONTWAIT);
	uint64_t deadline = nonblock ? 0 : sock_deadline(d->sk.rcvtimeo);
	struct pbuf *p;

	for (;;) {
		*err = sock_take_error(&d->sk);
		if (*err)
			return NULL;
		spin_lock(&d->lock);
		if (m->flags & MSG_PEEK) {
			p = d->queue.first ? pbuf_clone(d->queue.first) : NULL;
		} else {
			p = pqueue_pop(&d->queue);
			if (p) {
				d->rmem -= p->charged;
				sock_mem_uncharge(&d->sk.mem, p->charged);
				atomic_fetch_sub_explicit(&d->queued, 1, memory_order_relaxed);
			}
		}
		spin_unlock(&d->lock);
		if (p)
			return p;
		/* As on Linux, the end is told only to those who would wait for more. */
		if (nonblock)
			*err = -EAGAIN;
		if (nonblock || (sock_shut(&d->sk) & SOCK_RCV_SHUT))
			return NULL;
		*err = wait_event_interruptible_timeout(&d->sk.rd, dgram_ready(d), deadline);
		if (*err) {
			*err = sock_intr(*err, d->sk.rcvtimeo);
			return NULL;
		}
	}
}

unsigned dgram_poll(struct sock *s, struct file *f, struct poll_table *pt)
{
	unsigned ev = 0;

	poll_wait(f, &s->rd, pt);
	poll_wait(f, &s->wr, pt);
	if (dgram_writable(dgram_of(s)))
		ev |= EPOLLOUT | EPOLLWRNORM;
	if (atomic_load_explicit(&dgram_of(s)->queued, memory_order_acquire))
		ev |= EPOLLIN | EPOLLRDNORM;
	if (atomic_load_explicit(&s->err, memory_order_relaxed) ||
	    atomic_load_explicit(&dgram_of(s)->nr_errors, memory_order_relaxed))
		ev |= EPOLLERR;
	if (sock_shut(s) & SOCK_RCV_SHUT)
		ev |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (sock_shut(s) == (SOCK_RCV_SHUT | SOCK_SND_SHUT))
		ev |= EPOLLHUP;
	return ev;
}

int dgram_ioctl(struct sock *s, unsigned cmd, int *value)
{
	struct dgram_sock *d = dgram_of(s);

	if (cmd == 0x5411) { /* SIOCOUTQ */
		*value = (int)atomic_load_explicit(&d->wmem, memory_order_relaxed);
		return 0;
	}
	if (cmd != 0x541B) /* SIOCINQ: the next datagram */
		return -ENOTTY;
	spin_lock(&d->lock);
	*value = d->queue.first ? (int)d->queue.first->len : 0;
	spin_unlock(&d->lock);
	return 0;
}

int dgram_shutdown(struct sock *s, int how)
{
	struct dgram_sock *d = dgram_of(s);
	unsigned bits = (how != SHUT_WR ? SOCK_RCV_SHUT : 0) | (how != SHUT_RD ? SOCK_SND_SHUT : 0);

	atomic_fetch_or_explicit(&s->shut, bits, memory_order_seq_cst);
	wake_up_poll(&s->rd, EPOLLIN | EPOLLHUP);
	wake_up_poll(&s->wr, EPOLLOUT | EPOLLHUP);
	return d->rport ? 0 : -ENOTCONN;
}

int dgram_getname(struct sock *s, union sockaddr_any *a, enum sock_end end)
{
	struct dgram_sock *d = dgram_of(s);

	if (end == SOCK_END_OWN)
		return addr_export(s->family, &d->laddr, d->lport, a);
	return d->rport ? addr_export(s->family, &d->raddr, d->rport, a) : -ENOTCONN;
}
