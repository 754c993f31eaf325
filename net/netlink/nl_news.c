/* SPDX-License-Identifier: MIT */
/*
 * News over netlink: net/netlink/nl_sock.h.  They are charged to the socket's group and
 * bounded by its receive buffer; who does not read them loses some, and is told.
 */
#include "net/netlink/nl_sock.h"
#include "fs/vfs.h"
#include "mm/slab.h"

/* Sockets that news are for.  Locks: nl_listeners_lock, then a socket's news_lock. */
static struct spinlock nl_listeners_lock = SPINLOCK_INIT("nl_listeners");
static struct list_head listeners = LIST_HEAD_INIT(listeners);
static _Atomic unsigned nr_listeners;

void nl_update_ready(struct nl_sock *n)
{
	spin_lock(&n->news_lock); /* nl_news() stores true under it */
	atomic_store_explicit(&n->ready, n->first || n->dumping || n->news, memory_order_seq_cst);
	spin_unlock(&n->news_lock);
}

void nl_fetch_news(struct nl_sock *n)
{
	struct nl_reply *r;

	spin_lock(&n->news_lock);
	r = n->news;
	if (r) {
		*n->end = r;
		n->end = n->news_end;
		n->news = NULL;
		n->news_end = &n->news;
		for (; r; r = r->next)
			n->queued += r->len;
	}
	spin_unlock(&n->news_lock);
}

static uint32_t news_size(const struct nl_reply *r)
{
	return (uint32_t)(sizeof(*r) + r->len);
}

void nl_free_reply(struct nl_sock *n, struct nl_reply *r)
{
	if (r->group) {
		spin_lock(&n->news_lock);
		sock_mem_uncharge(&n->sk.mem, news_size(r));
		spin_unlock(&n->news_lock);
	}
	kfree(r);
}

/* nl_listeners_lock held. */
static void queue_news(struct nl_sock *n, unsigned group, const struct nl_buf *b)
{
	struct nl_reply *r = kmalloc(sizeof(*r) + b->len, GFP_ATOMIC);
	bool ok = false;

	spin_lock(&n->news_lock);
	if (r && sock_mem_used(&n->sk.mem) + sizeof(*r) + b->len <=
			 atomic_load_explicit(&n->sk.rcvbuf, memory_order_relaxed) &&
	    !sock_mem_charge(&n->sk.mem, sizeof(*r) + b->len, CHARGE_NOSLEEP)) {
		r->next = NULL;
		r->group = group;
		r->len = b->len;
		memcpy(r->data, b->data, b->len);
		*n->news_end = r;
		n->news_end = &r->next;
		ok = true;
	}
	if (!ok)
		atomic_store_explicit(&n->sk.err, ENOBUFS, memory_order_relaxed);
	atomic_store_explicit(&n->ready, true, memory_order_seq_cst);
	spin_unlock(&n->news_lock);
	if (!ok)
		kfree(r);
	if (atomic_load_explicit(&n->sk.rd.count, memory_order_seq_cst))
		wake_up_poll(&n->sk.rd, EPOLLIN | EPOLLRDNORM);
}

bool nl_listening(void)
{
	return atomic_load_explicit(&nr_listeners, memory_order_acquire) != 0;
}

void nl_news(const struct nl_proto *proto, unsigned group, const struct nl_buf *b)
{
	struct nl_sock *n;

	spin_lock(&nl_listeners_lock);
	list_for_each_entry (n, &listeners, link) {
		if (n->proto == proto && (atomic_load_explicit(&n->groups, memory_order_relaxed) &
					  1u << (group - 1)))
			queue_news(n, group, b);
	}
	spin_unlock(&nl_listeners_lock);
}

void nl_set_groups(struct nl_sock *n, uint32_t groups)
{
	spin_lock(&nl_listeners_lock);
	if (groups && list_empty(&n->link)) {
		list_add_tail(&n->link, &listeners);
		atomic_fetch_add_explicit(&nr_listeners, 1, memory_order_release);
	} else if (!groups && !list_empty(&n->link)) {
		list_del(&n->link);
		list_init(&n->link);
		atomic_fetch_sub_explicit(&nr_listeners, 1, memory_order_release);
	}
	atomic_store_explicit(&n->groups, groups, memory_order_relaxed);
	spin_unlock(&nl_listeners_lock);
}
