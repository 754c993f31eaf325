/* SPDX-License-Identifier: MIT */
/*
 * Netlink sockets: net/netlink/netlink.h.
 *
 * Locks: each socket's mutex protects everything in it but news, which come where
 *        nobody sleeps and have a spinlock; a reader waits outside.  Requests and lists
 *        take the network's own locks inside.
 * Bounds: a request is at most REQUEST_MAX bytes; a socket keeps answers up to its
 *        receive buffer, charged to its group, and one list at a time; news the same.
 */
#include "net/netlink/nl_sock.h"
#include "fs/vfs.h"
#include "kernel/lock.h"
#include "kernel/log.h"
#include "kernel/process.h"
#include "mm/slab.h"

#define REQUEST_MAX 32768u
#define REPLY_SIZE  4096u /* what readers with small buffers still take in one go */
#define NLMSG_NOOP  1
#define NLMSG_ERROR 2
#define NLMSG_DONE  3
#define NLMSG_MIN   16 /* first type of a protocol */
#define NETLINK_ROUTE     0
#define NETLINK_SOCK_DIAG 4
#define SOL_NETLINK 270
#define NETLINK_ADD_MEMBERSHIP  1
#define NETLINK_DROP_MEMBERSHIP 2

struct sa_nl {
	uint16_t family, pad;
	uint32_t pid, groups;
};

static const struct sock_ops nl_ops;

static struct sock *netlink_create(int type, int protocol)
{
	static _Atomic uint32_t next_pid = 0x80000000;
	struct nl_sock *n;

	if (type != SOCK_RAW && type != SOCK_DGRAM)
		return ERR_PTR(-ESOCKTNOSUPPORT);
	if (protocol != NETLINK_ROUTE && protocol != NETLINK_SOCK_DIAG)
		return ERR_PTR(-EPROTONOSUPPORT);
	n = kzalloc(sizeof(*n), GFP_KERNEL | GFP_ACCOUNT);
	if (!n)
		return ERR_PTR(-ENOMEM);
	sock_common_init(&n->sk, &nl_ops, AF_NETLINK, type, protocol, current_owner());
	mutex_init(&n->lock, "netlink");
	n->proto = protocol == NETLINK_ROUTE ? &nl_route : &nl_sock_diag;
	n->end = &n->first;
	n->news_end = &n->news;
	spin_init(&n->news_lock, "netlink_news");
	list_init(&n->link);
	n->pid = atomic_fetch_add_explicit(&next_pid, 1, memory_order_relaxed);
	return &n->sk;
}

/* lock held.  Queues a copy of @b's messages. */
static int queue_reply(struct nl_sock *n, const struct nl_buf *b)
{
	struct nl_reply *r;

	if (n->queued + b->len > atomic_load_explicit(&n->sk.rcvbuf, memory_order_relaxed))
		return -ENOBUFS;
	r = kmalloc(sizeof(*r) + b->len, GFP_KERNEL | GFP_ACCOUNT);
	if (!r)
		return -ENOBUFS;
	r->next = NULL;
	r->group = 0;
	r->len = b->len;
	memcpy(r->data, b->data, b->len);
	*n->end = r;
	n->end = &r->next;
	n->queued += r->len;
	return 0;
}

/* NLMSG_ERROR: an error, or with 0 the acknowledgement; quotes the request's header. */
static void put_ack(struct nl_buf *b, const struct nlmsghdr *h, int err)
{
	uint8_t *p = nl_begin(b, NLMSG_ERROR, 4 + sizeof(*h));

	memcpy(p, &err, 4);
	memcpy(p + 4, h, sizeof(*h));
	nl_end(b);
}

static bool may_change(void)
{
	return current_process()->euid == 0;
}

/* lock held. */
static int one_request(struct nl_sock *n, const struct nlmsghdr *h, struct nl_buf *b)
{
	struct nl_request r = { .h = h,
				.body = (const uint8_t *)(h + 1),
				.body_len = h->len - (unsigned)sizeof(*h) };
	bool get = n->proto == &nl_sock_diag ||
		   (h->type & 3) == 2; /* rtnetlink: NEW, DEL, GET, SET in fours */

	if (!get && !may_change())
		return -EPERM;
	if (get && (h->flags & NLM_F_DUMP)) {
		int ret;

		if (n->dumping)
			return -EBUSY;
		memset(&n->dump, 0, sizeof(n->dump));
		memcpy(n->dump.args, r.body, min_t(size_t, r.body_len, sizeof(n->dump.args)));
		n->dump.family = r.body_len ? r.body[0] : 0;
		ret = n->proto->dump(&r, &n->dump);
		n->dumping = !ret;
		n->dump_seq = h->seq;
		return ret ? ret : 1; /* the list is the answer */
	}
	return n->proto->request(&r, b);
}

/* lock held.  All messages of one send. */
static int requests(struct nl_sock *n, const uint8_t *data, size_t len)
{
	uint8_t *page = kmalloc(REPLY_SIZE, GFP_KERNEL | GFP_ACCOUNT);
	int ret = page ? 0 : -ENOBUFS;

	while (!ret && len >= sizeof(struct nlmsghdr)) {
		const struct nlmsghdr *h = (const struct nlmsghdr *)data;
		struct nl_buf b = {
			.data = page, .size = REPLY_SIZE, .seq = h->seq, .pid = n->pid
		};
		size_t step;
		int err = 0;

		if (h->len < sizeof(*h) || h->len > len)
			break;
		if ((h->flags & NLM_F_REQUEST) && h->type >= NLMSG_MIN) {
			err = one_request(n, h, &b);
			if (err < 0) {
				b.len = 0;
				put_ack(&b, h, err);
			} else if (!err && (h->flags & NLM_F_ACK)) {
				put_ack(&b, h, 0);
			}
			if (b.len)
				ret = queue_reply(n, &b);
		}
		step = ALIGN_UP((size_t)h->len, (size_t)4);
		if (step >= len)
			break;
		data += step;
		len -= step;
	}
	kfree(page);
	return ret;
}

static ssize_t nl_sendmsg(struct sock *s, struct sock_msg *m)
{
	struct nl_sock *n = nl_of(s);
	size_t len = m->it->count;
	uint8_t *data;
	int ret;

	if (len > REQUEST_MAX)
		return -EMSGSIZE;
	data = kmalloc(max_t(size_t, len, 1), GFP_KERNEL | GFP_ACCOUNT);
	if (!data)
		return -ENOBUFS;
	if (copy_from_iter(data, len, m->it) != len) {
		kfree(data);
		return -EFAULT;
	}
	mutex_lock(&n->lock);
	ret = requests(n, data, len);
	nl_update_ready(n);
	mutex_unlock(&n->lock);
	kfree(data);
	if (atomic_load_explicit(&n->ready, memory_order_seq_cst))
		wake_up_poll(&s->rd, EPOLLIN | EPOLLRDNORM);
	return ret ? ret : (ssize_t)len;
}

/* lock held.  The list's next buffer as a reply: 0, -ENOBUFS. */
static int continue_dump(struct nl_sock *n)
{
	struct nl_buf b = {
		.size = REPLY_SIZE, .seq = n->dump_seq, .pid = n->pid, .flags = NLM_F_MULTI
	};
	bool done;
	int ret;

	b.data = kmalloc(REPLY_SIZE, GFP_KERNEL | GFP_ACCOUNT);
	if (!b.data)
		return -ENOBUFS;
	done = n->dump.step(&n->dump, &b);
	if (!done && !b.len) { /* an entry that fits no buffer: end rather than go round for ever */
		pr_warn("netlink: an entry does not fit a message");
		done = true;
	}
	if (done) {
		nl_begin(&b, NLMSG_DONE, 4);
		if (nl_end(&b))
			n->dumping = false; /* else it comes alone in the next one */
	}
	ret = queue_reply(n, &b);
	kfree(b.data);
	return ret;
}

/* The first reply, making one from the list if there is none; NULL with *err. */
static struct nl_reply *take(struct nl_sock *n, bool peek, int *err)
{
	struct nl_reply *r;

	mutex_lock(&n->lock);
	*err = sock_take_error(&n->sk); /* news were lost */
	if (*err) {
		mutex_unlock(&n->lock);
		return NULL;
	}
	if (!n->first && n->dumping)
		*err = continue_dump(n);
	nl_fetch_news(n);
	r = n->first;
	if (r && !peek) {
		n->first = r->next;
		if (!n->first)
			n->end = &n->first;
		n->queued -= r->len;
	} else if (r) {
		struct nl_reply *c = kmalloc(sizeof(*r) + r->len, GFP_KERNEL | GFP_ACCOUNT);

		if (c) {
			memcpy(c, r, sizeof(*r) + r->len);
			c->group = 0; /* the copy is not charged to the socket */
		} else {
			*err = -ENOBUFS;
		}
		r = c;
	}
	nl_update_ready(n);
	mutex_unlock(&n->lock);
	return r;
}

static ssize_t nl_recvmsg(struct sock *s, struct sock_msg *m)
{
	struct nl_sock *n = nl_of(s);
	bool nonblock = m->nonblock || (m->flags & MSG_DONTWAIT);
	uint64_t deadline = nonblock ? 0 : sock_deadline(s->rcvtimeo);
	struct nl_reply *r;
	size_t want, got;
	ssize_t ret;
	int err;

	while (!(r = take(n, m->flags & MSG_PEEK, &err))) {
		if (err || nonblock)
			return err ? err : -EAGAIN;
		err = wait_event_interruptible_timeout(
			&s->rd, atomic_load_explicit(&n->ready, memory_order_acquire), deadline);
		if (err)
			return sock_intr(err, s->rcvtimeo);
	}
	want = min_t(size_t, r->len, m->it->count);
	got = copy_to_iter(r->data, want, m->it);
	if (want < r->len)
		m->out_flags |= MSG_TRUNC;
	ret = got < want ? -EFAULT : (ssize_t)(m->flags & MSG_TRUNC ? r->len : want);
	if (m->name) {
		struct sa_nl from = { .family = AF_NETLINK,
				      .groups = r->group ? 1u << (r->group - 1) : 0 };

		memcpy(m->name, &from, sizeof(from));
		m->name_len = sizeof(from);
	}
	nl_free_reply(n, r);
	return ret;
}

static int nl_bind(struct sock *s, const union sockaddr_any *a, unsigned len)
{
	struct nl_sock *n = nl_of(s);
	struct sa_nl sa;

	if (len < sizeof(sa) || a->family != AF_NETLINK)
		return -EINVAL;
	memcpy(&sa, a, sizeof(sa));
	mutex_lock(&n->lock);
	if (sa.pid)
		n->pid = sa.pid;
	mutex_unlock(&n->lock);
	nl_set_groups(n, sa.groups);
	return 0;
}

static int nl_connect(struct sock *s, const union sockaddr_any *a, unsigned len, bool nonblock)
{
	(void)s;
	(void)nonblock;
	return len >= 2 && (a->family == AF_NETLINK || a->family == AF_UNSPEC) ? 0 : -EINVAL;
}

static int nl_getname(struct sock *s, union sockaddr_any *a, enum sock_end end)
{
	struct nl_sock *n = nl_of(s);
	bool peer = end != SOCK_END_OWN;
	struct sa_nl sa = { .family = AF_NETLINK,
			    .pid = peer ? 0 : n->pid,
			    .groups = peer ? 0 :
				      atomic_load_explicit(&n->groups, memory_order_relaxed) };

	memcpy(a, &sa, sizeof(sa));
	return sizeof(sa);
}

static unsigned nl_poll(struct sock *s, struct file *f, struct poll_table *pt)
{
	poll_wait(f, &s->rd, pt);
	return EPOLLOUT | EPOLLWRNORM |
	       (atomic_load_explicit(&nl_of(s)->ready, memory_order_acquire) ? EPOLLIN | EPOLLRDNORM
									     : 0);
}

/*
 * Extended acknowledgements, strict checking and the like are offers that a program can do
 * without.  A group that nothing is ever told to may be joined, too.
 */
static int nl_setsockopt(struct sock *s, int level, int name, const void *val, unsigned len)
{
	struct nl_sock *n = nl_of(s);
	uint32_t groups;
	int group, ret;

	if (level != SOL_NETLINK)
		return -EOPNOTSUPP;
	if (name != NETLINK_ADD_MEMBERSHIP && name != NETLINK_DROP_MEMBERSHIP)
		return -ENOPROTOOPT;
	ret = sockopt_int(val, len, &group);
	if (ret || group < 1 || group > 32)
		return ret ? ret : group > 32 && group < 1024 ? 0 : -EINVAL;
	groups = atomic_load_explicit(&n->groups, memory_order_relaxed);
	if (name == NETLINK_ADD_MEMBERSHIP)
		groups |= 1u << (group - 1);
	else
		groups &= ~(1u << (group - 1));
	nl_set_groups(n, groups);
	return 0;
}

static void nl_close(struct sock *s)
{
	struct nl_sock *n = nl_of(s);
	struct nl_reply *r;

	nl_set_groups(n, 0);
	nl_fetch_news(n);
	while ((r = n->first)) {
		n->first = r->next;
		nl_free_reply(n, r);
	}
	sock_common_destroy(s);
	kfree(n);
}

static const struct sock_ops nl_ops = {
	.bind = nl_bind,
	.connect = nl_connect,
	.getname = nl_getname,
	.sendmsg = nl_sendmsg,
	.recvmsg = nl_recvmsg,
	.poll = nl_poll,
	.setsockopt = nl_setsockopt,
	.close = nl_close,
};

void netlink_init(void)
{
	sock_register_family(AF_NETLINK, netlink_create);
	rtnl_init();
}
